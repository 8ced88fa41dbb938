/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lzf.h -- the LZF filter, pyuvdata's default for flags and weights, which
 * libhdf5 lacks.
 */
#ifndef FX8_IO_H5_LZF_H
#define FX8_IO_H5_LZF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hdf5.h>

/**
 * fx8_h5_lzf_unpack -- unpack LZF.
 *
 * Given:    packed     [n_packed] bytes
 * Returned: bytes      room for `capacity`
 * Status:   bytes unpacked; 0: not LZF, or more than `capacity`
 * Source:   liblzf 3.6, lzf_d.c: a byte below 32 is a run of one more literal
 *           bytes; else its top three bits are a length (7: and the next byte)
 *           plus 2, the rest and the next byte a distance less 1
 */
size_t fx8_h5_lzf_unpack(const uint8_t *packed, size_t n_packed, uint8_t *bytes,
                         size_t capacity);

/** Whether the LZF parameters of a dataset declare the size of a whole chunk,
 *  which libhdf5 relies on; true without LZF. */
bool fx8_h5_lzf_is_whole(hid_t dataset);

/** Make libhdf5 read LZF (filter 32000, as h5py writes it).  Writing is not
 *  supported. */
void fx8_h5_lzf_register(void);

#endif
