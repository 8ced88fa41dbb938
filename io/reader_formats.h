/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader_formats.h -- the formats in the table of readers.c, and their shared
 * helpers.
 */
#ifndef FX8_IO_READER_FORMATS_H
#define FX8_IO_READER_FORMATS_H

#include "io/reader.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct fx8_reader_format
    fx8_reader_fx8; /**< native/native_reader.c */
extern const struct fx8_reader_format
    fx8_reader_aavs; /**< aavs/aavs_reader.c */
extern const struct fx8_reader_format
    fx8_reader_tart; /**< tart/tart_reader.c */

extern const struct fx8_reader_format
    fx8_reader_digital_rf; /**< digital_rf/digital_rf_reader.c */

/** Most antennas of a recording: bounds the memory a hostile file can make us
 *  allocate. */
#define FX8_READER_MAX_ANTENNAS 65536

/** Bytes per read: amortises the call and still fits a cache or a queue. */
#define FX8_READER_BYTES ((size_t)8 << 20)

/** Most bytes per read for large chunks. */
#define FX8_READER_MAX_BYTES ((size_t)64 << 20)

/**
 * fx8_reader_allocate -- allocate the reader of a single-path recording, and
 * copy that path.
 *
 * Given:    what    the recording, as in "a recording of format tart is a
 *                   single file"
 *           size    bytes of the reader
 * Returned: reader  zeroed; the caller frees it and the path
 * Status:   FX8_ERR_USAGE: several paths; FX8_ERR_SYSTEM: memory
 */
enum fx8_status fx8_reader_allocate(const char *const *paths, size_t n_paths,
                                    const char *what, size_t size,
                                    void **reader, char **path,
                                    struct fx8_error *error);

/** Refuse a range of samples outside [0, n_samples). */
enum fx8_status fx8_reader_check_range(const struct fx8_reader *reader,
                                       const char *dataset, int64_t first,
                                       int64_t n_samples,
                                       struct fx8_error *error);

/** Refuse positions outside the recording, and an empty list. */
enum fx8_status fx8_reader_check_inputs(const struct fx8_reader *reader,
                                        const struct fx8_input_position *inputs,
                                        size_t n_inputs,
                                        struct fx8_error *error);

/**
 * fx8_reader_select_all -- default selection: every input, bands slowest, then
 * antennas.
 *
 * Given: select  the reader's `select` member
 */
enum fx8_status fx8_reader_select_all(
    struct fx8_reader *reader,
    enum fx8_status (*select)(struct fx8_reader *reader,
                              const struct fx8_input_position *inputs,
                              size_t n_inputs, struct fx8_error *error),
    struct fx8_error *error);

/**
 * fx8_reader_samples -- samples per read for samples of `sample_bytes` in
 * chunks of `chunk_samples`: whole chunks, about FX8_READER_BYTES; part of a
 * chunk only if one chunk exceeds FX8_READER_MAX_BYTES.
 */
int64_t fx8_reader_samples(size_t sample_bytes, int64_t chunk_samples);

#ifdef __cplusplus
}
#endif

#endif
