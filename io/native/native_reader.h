/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * native_reader.h -- recordings in fx8's own format: one file, or several that
 * follow each other in time.
 */
#ifndef FX8_IO_NATIVE_NATIVE_READER_H
#define FX8_IO_NATIVE_NATIVE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/h5/dataset.h"
#include "io/reader_formats.h"
#include "io/selection.h"

/** A file of a recording. */
struct fx8_native_file {
    const char *path; /**< the reader's */
    bool is_complex;
    struct fx8_axis_order order;
    struct fx8_time start_time;
    int64_t first_sample; /**< place in the recording */
    int64_t n_samples;
    struct fx8_missing *missing; /**< [n_missing] counted from its own start;
                                      free() it */
    size_t n_missing;
    int64_t file_size; /**< bytes of its storage at first opening; -1: never
                            opened */
    hid_t file;        /**< open, or 0 or FX8_H5_NONE: fx8_native_file_open() */
    struct fx8_h5_dataset voltages;
};

/** Bytes of a sample. */
static inline size_t fx8_native_sample_bytes(const struct fx8_native_file *file)
{
    return file->is_complex ? 2 : 1;
}

/** A recording. */
struct fx8_native_reader {
    struct fx8_reader base;        /**< first: the interface */
    struct fx8_native_file *files; /**< [n_files] by time */
    size_t n_files;
    struct fx8_native_file *open; /**< the open one of the files, or NULL */
    struct fx8_selection selection;
};

/**
 * fx8_native_file_load -- read all metadata of a file; it stays open.
 *
 * Given:    file         zeroed but for its path
 * Returned: observation  what the file says; the caller clears it
 * Status:   FX8_ERR_INPUT: not HDF5, not this format, wrong types, shapes or
 *           values, samples never written
 */
enum fx8_status fx8_native_file_load(struct fx8_native_file *file,
                                     struct fx8_observation *observation,
                                     struct fx8_error *error);

/** Open the samples again; FX8_ERR_INPUT also if their type or shape has
 *  changed, or if some are gone.  Samples added since then are ignored. */
enum fx8_status fx8_native_file_open(struct fx8_native_file *file,
                                     struct fx8_error *error);

/** Close all handles; the file can be opened again. */
void fx8_native_file_close(struct fx8_native_file *file);

/** Samples per read that suit an open file. */
int64_t fx8_native_file_good_samples(const struct fx8_native_file *file);

/** Check that two files may be parts of one recording: the same in all but
 *  time, length and storage. */
enum fx8_status fx8_native_agree(const struct fx8_native_file *file,
                                 const struct fx8_observation *observation,
                                 const struct fx8_native_file *other,
                                 const struct fx8_observation *expected,
                                 struct fx8_error *error);

/**
 * fx8_native_join -- place the files in time.
 *
 * Given:    reader  files, and their missing samples, counted from the start
 *                   of each file
 *           rate    of the samples
 * Returned: reader  files in order, start and length of the recording, missing
 *                   samples of the files and between them
 * Status:   FX8_ERR_INPUT: a file starts between two samples of another, or
 *           overlaps it, or is too far from it
 * Numerics: integers; a start may be FX8_READER_MOST_OFF samples off the
 *           nearest sample, and 1 ns more, to which starts are rounded, if that
 *           makes less than half a sample
 */
enum fx8_status fx8_native_join(struct fx8_native_reader *reader,
                                struct fx8_rate rate, struct fx8_error *error);

#endif
