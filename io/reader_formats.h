/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader_formats.h -- the formats in the table of readers.c, and their shared
 * helpers.
 */
#ifndef FX8_IO_READER_FORMATS_H
#define FX8_IO_READER_FORMATS_H

#include "io/reader.h"

extern const struct fx8_reader_format
    fx8_reader_fx8; /**< native/native_reader.c */
extern const struct fx8_reader_format
    fx8_reader_aavs; /**< aavs/aavs_reader.c */
extern const struct fx8_reader_format
    fx8_reader_tart; /**< tart/tart_reader.c */
extern const struct fx8_reader_format
    fx8_reader_digital_rf; /**< digital_rf/digital_rf_reader.c */
extern const struct fx8_reader_format
    fx8_reader_guppi; /**< guppi/guppi_reader.c */
extern const struct fx8_reader_format
    fx8_reader_vdif; /**< vdif/vdif_reader.c */
extern const struct fx8_reader_format
    fx8_reader_dada; /**< dada/dada_reader.c */

struct fx8_h5_chunks;

/** Most antennas of a recording: bounds the memory a hostile file can make us
 *  allocate. */
#define FX8_READER_MAX_ANTENNAS 65536

/** Most bytes per read for large chunks. */
#define FX8_READER_MAX_BYTES ((size_t)64 << 20)

/** Longest recording of several files, as in the configuration: 116 days. */
#define FX8_READER_LONGEST_S 1e7

/** Tolerance, in samples, of a file against the sampling of the others, besides
 *  rounding of its times. */
#define FX8_READER_MOST_OFF 0.1

/** Append a gap to a list [*n]; FX8_ERR_SYSTEM: no memory. */
enum fx8_status fx8_missing_add(struct fx8_missing **list, size_t *n,
                                const struct fx8_missing *gap,
                                struct fx8_error *error);

/** Record why HDF5 must undo the filters of a file, if so; the first one with a
 *  reason counts. */
void fx8_reader_note_slow(struct fx8_reader *reader,
                          const struct fx8_h5_chunks *chunks);

#endif
