/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spoil.h -- changes to a good HDF5 file that keep it valid HDF5: other values,
 * types, ranks, sizes, chunks, filters, links, attributes; and changes to a
 * plain file.
 */
#ifndef FX8_VALIDATION_FUZZ_SPOIL_H
#define FX8_VALIDATION_FUZZ_SPOIL_H

#include <hdf5.h>

#include "validation/fuzz/choices.h"

/** One change to one object of an open file, by the choices.  Changes that HDF5
 *  refuses are skipped. */
void spoil_object(hid_t file, struct choices *choices);

/** Any of HDF5's kinds of elements; only strings of variable length hold
 *  pointers.  The caller closes it. */
hid_t spoil_type(struct choices *choices);

/** No element, one, or axes of sizes from 0 to 2^62; the caller closes it. */
hid_t spoil_space(struct choices *choices);

/** A creation list: layout, chunks, filters and fill value for a dataset of
 *  that shape and type; the caller closes it. */
hid_t spoil_layout(hid_t space, hid_t type, struct choices *choices);

/** One change to a plain file of at most 128 KiB, by the choices. */
void spoil_bytes(const char *path, struct choices *choices);

#endif
