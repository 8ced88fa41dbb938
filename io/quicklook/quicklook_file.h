/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook_file.h -- writing quick-look files; data/README.md, "Quick-look",
 * lists every dataset.
 */
#ifndef FX8_IO_QUICKLOOK_QUICKLOOK_FILE_H
#define FX8_IO_QUICKLOOK_QUICKLOOK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "io/uvh5/uvh5.h"

/** Format name and version in the root attributes. */
#define FX8_QUICKLOOK_FORMAT  "fx8-quicklook"
#define FX8_QUICKLOOK_VERSION 1

/** Description of a quick-look; the caller owns the memory. */
struct fx8_quicklook_header {
    const struct fx8_uvh5_header *uvh5; /**< of the same run */
    size_t n_polarizations;             /**< inputs of an antenna */
    int64_t spectra_per_dump;
    double coherence_scale; /**< of coherence and amplitude */
    const char *math;       /**< "ieee", "fast" */
    const char *precision; /**< "INT8", "FP32": precision of the visibilities */
};

/** Type of an item, in memory and in the file. */
enum fx8_quicklook_type {
    FX8_QUICKLOOK_REAL = 0, /**< double, float64 */
    FX8_QUICKLOOK_INTEGER,  /**< int64_t, int64 */
    FX8_QUICKLOOK_BYTE,     /**< uint8_t, uint8 */
    FX8_QUICKLOOK_TYPES
};

/** A small dataset GROUP/NAME whose values are known only at the end. */
struct fx8_quicklook_item {
    const char *group;
    const char *name;
    enum fx8_quicklook_type type;
    size_t rank; /**< 0 to 2 */
    size_t shape[2];
    const void *values;
    const char *text; /**< one line, attribute `description` */
};

struct fx8_quicklook_file;

/** Whether a file is a quick-look of this configuration and recording. */
bool fx8_quicklook_file_is_of(const char *path,
                              const struct fx8_quicklook_header *header);

/** Bytes of the datasets with a row for each dump. */
uint64_t fx8_quicklook_file_bytes(size_t n_dumps, size_t n_baselines,
                                  size_t n_inputs, size_t n_channels,
                                  size_t n_products);

/**
 * fx8_quicklook_file_create -- lock PATH.part and write everything but the
 * dumps.
 *
 * Given:    path, force  as fx8_uvh5_create()
 *           header       copied as far as it is needed later
 * Returned: file         fx8_quicklook_file_close() releases it
 * Status:   as fx8_uvh5_create()
 * Notes:    the file has its full size at once and unwritten dumps are flagged,
 *           so it is readable at any time, even if the run fails
 */
enum fx8_status fx8_quicklook_file_create(
    const char *path, bool force, const struct fx8_quicklook_header *header,
    struct fx8_quicklook_file **file, struct fx8_error *error);

/** Write one dump and flush it; dumps may come in any order.  Flags come from
 *  the result of that dump. */
enum fx8_status fx8_quicklook_file_write(struct fx8_quicklook_file *file,
                                         size_t dump,
                                         const struct fx8_quicklook_dump *look,
                                         const uint8_t *flags,
                                         struct fx8_error *error);

/** Cut the file to its first n_dumps dumps; call once, after the last. */
enum fx8_status fx8_quicklook_file_cut(struct fx8_quicklook_file *file,
                                       size_t n_dumps, struct fx8_error *error);

/** Write an item known only at the end. */
enum fx8_status fx8_quicklook_file_put(struct fx8_quicklook_file *file,
                                       const struct fx8_quicklook_item *item,
                                       struct fx8_error *error);

/**
 * fx8_quicklook_file_close -- rename the file to its final name, or remove it;
 * nulls the handle, a NULL handle is legal.
 *
 * Given:  keep  the file is complete; else remove it
 * Status: an earlier failure is repeated; errors of closing and renaming
 */
enum fx8_status fx8_quicklook_file_close(struct fx8_quicklook_file **file,
                                         bool keep, struct fx8_error *error);

#endif
