/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader.h -- the parts of the reader of Digital RF: a channel is a folder of
 * files side by side in time, samples in it are counted from the epoch
 * (absolute indices).
 *
 * Source: github.com/MITHaystack/digital_rf, c/lib/rf_write_hdf5.c.
 */
#ifndef FX8_IO_DIGITAL_RF_READER_H
#define FX8_IO_DIGITAL_RF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "io/h5/chunks.h"
#include "io/h5/h5.h"
#include "io/workers.h"

#ifdef __cplusplus
extern "C" {
#endif

/** File that makes a folder a channel. */
#define FX8_DRF_PROPERTIES "drf_properties.h5"
#define FX8_DRF_DATA       "rf_data"
#define FX8_DRF_INDEX      "rf_data_index"

/** Largest absolute index: twice that fits int64, as fx8_time_add_half_samples
 *  wants it. */
#define FX8_DRF_MAX_INDEX (INT64_MAX / 2)

/** Shift of the smallest gain, 1/16384, which leaves +-2 of 16 bits. */
#define FX8_DRF_MAX_SHIFT 14

/** Samples of an input that its gain is chosen from. */
#define FX8_DRF_LEVEL_SAMPLES 65536

/* --- names.c: what the names of folders and files tell -------------- */

/** A file of a channel, by its name. */
struct fx8_drf_name {
    int64_t milliseconds; /**< since the epoch, of the earliest sample */
    size_t folder;        /**< of the list that it is in */
};

/** Files "PREFIX@SECONDS[.MILLISECONDS].h5" in the folders of a folder that
 *  are named after an instant, by time. */
struct fx8_drf_list {
    char **folders; /**< [n_folders] paths */
    size_t n_folders;
    struct fx8_drf_name *files; /**< [n_files] ascending */
    size_t n_files;
};

/** Whether a folder is a channel: it has properties, or, the properties lost,
 *  folders named after an instant and none of metadata. */
bool fx8_drf_is_channel(const char *path);

/**
 * fx8_drf_find_channels -- the channels of a recording, by name.
 *
 * Given:    path      the folder that holds them, or a single one
 * Returned: channels  [n] paths, none where it is no recording
 * Status:   FX8_ERR_INPUT: the folder cannot be read; FX8_ERR_SYSTEM
 * Ownership: release with fx8_drf_free_paths(), also after failure
 */
enum fx8_status fx8_drf_find_channels(const char *path, char ***channels,
                                      size_t *n, struct fx8_error *error);

/** Release a list of paths; NULL is legal. */
void fx8_drf_free_paths(char **paths, size_t n);

/**
 * fx8_drf_list_files -- what a folder holds; unfinished files (tmp.*) and
 * everything else are passed over.
 *
 * Given:    prefix  "rf", or that of metadata
 * Status:   FX8_ERR_INPUT: a folder cannot be read; two files of one instant
 * Ownership: release with fx8_drf_clear_list(), also after failure
 */
enum fx8_status fx8_drf_list_files(const char *path, const char *prefix,
                                   struct fx8_drf_list *list,
                                   struct fx8_error *error);
void fx8_drf_clear_list(struct fx8_drf_list *list);

/** Path of a file of the list as it is on the disk, in the form that has
 *  milliseconds or the one without; NULL when memory is short; free() it. */
char *fx8_drf_file_path(const struct fx8_drf_list *list, const char *prefix,
                        size_t file, bool has_milliseconds);

/** Index of the first sample at or after an instant, exact; both within
 *  FX8_DRF_MAX_INDEX, beyond it FX8_DRF_MAX_INDEX. */
int64_t fx8_drf_first_index(struct fx8_rate rate, int64_t milliseconds);

/* --- channel.c, file.c: a channel, one file of it open -------------- */

/** A row of rf_data_index: from this row on samples follow one another. */
struct fx8_drf_stretch {
    int64_t index;
    int64_t row;
};

/** A channel. */
struct fx8_drf_channel {
    char *path;
    struct fx8_rate rate;
    struct fx8_time epoch;
    bool is_complex;
    bool is_continuous; /**< gaps within a file hold its fill value ... */
    bool is_chunked;    /**< ... or, where its samples stand in chunks as in
                             channels that are not continuous, are left out */
    size_t n_subchannels;
    size_t part_bytes;  /**< of a real number: 1 or 2 */
    int64_t cadence_ms; /**< of files */
    struct fx8_drf_list list;
    int64_t first, end; /**< its samples are [first, end) */
    /* the open file, if `file` is one */
    size_t file_number;
    char *file_path;
    hid_t file, data, space, memory_type;
    struct fx8_h5_chunks *chunks;
    struct fx8_h5_storage *storage;
    int64_t n_rows;
    struct fx8_drf_stretch *stretches; /**< [n_stretches] ascending */
    size_t n_stretches;
};

/** Rows of a file that hold samples [first, first + n). */
struct fx8_drf_piece {
    int64_t first;
    int64_t n;                   /**< 0: there is none */
    int64_t row;                 /**< of sample `first` */
    int64_t least_row, rows_end; /**< of the stretch they are of */
};

/**
 * fx8_drf_open -- properties, files, type and extent of a channel.
 *
 * Given:     like  a channel that it must not contradict, or NULL
 * Status:    FX8_ERR_INPUT: "FILE: ATTRIBUTE: value: what was expected"; no
 *            files; first or last file unusable
 * Ownership: release with fx8_drf_close(), also after failure
 */
enum fx8_status fx8_drf_open(const char *path,
                             const struct fx8_drf_channel *like,
                             struct fx8_drf_channel *channel,
                             struct fx8_error *error);
void fx8_drf_close(struct fx8_drf_channel *channel);

/** sample_rate_numerator and _denominator in lowest terms; FX8_ERR_INPUT where
 *  they are none, or the denominator is above a million. */
enum fx8_status fx8_drf_read_rate(const struct fx8_h5_place *place,
                                  struct fx8_rate *rate,
                                  struct fx8_error *error);

/** Open file `number` in place of another; FX8_ERR_INPUT: it is damaged, or
 *  contradicts the properties or its name. */
enum fx8_status fx8_drf_open_file(struct fx8_drf_channel *channel,
                                  size_t number, struct fx8_error *error);

/** Close its open file, if any. */
void fx8_drf_close_file(struct fx8_drf_channel *channel);

/** Bytes of a row: one sample of every sub-channel. */
size_t fx8_drf_row_bytes(const struct fx8_drf_channel *channel);

/** Samples [*first, *end) that file `number` has by its name: at most those,
 *  give or take one at the ends where the rate is no whole number of hertz
 *  (writers round in floating point). */
void fx8_drf_file_range(const struct fx8_drf_channel *channel, size_t number,
                        int64_t *first, int64_t *end);

/**
 * fx8_drf_next -- the first samples recorded at or after `from`, before `end`;
 * opens the file that they are in.
 *
 * Status: FX8_ERR_INPUT: a file is damaged, contradicts the properties or its
 *         name
 */
enum fx8_status fx8_drf_next(struct fx8_drf_channel *channel, int64_t from,
                             int64_t end, struct fx8_drf_piece *piece,
                             struct fx8_error *error);

/** The same by the names of files alone, opening none: samples that a file can
 *  have within the extent of the channel count as recorded.  Rows are 0. */
void fx8_drf_next_by_name(const struct fx8_drf_channel *channel, int64_t from,
                          int64_t end, struct fx8_drf_piece *piece);

/** Rows [row, row + n) of the open file as native integers,
 *  [n][n_subchannels][1 or 2] of part_bytes each; `workers` unpack them. */
enum fx8_status fx8_drf_read_rows(struct fx8_drf_channel *channel,
                                  const struct fx8_workers *workers,
                                  int64_t row, int64_t n, void *rows,
                                  struct fx8_error *error);

/* --- metadata.c ----------------------------------------------------- */

/** Samples of a channel that will be processed. */
struct fx8_drf_span {
    int64_t origin;     /**< absolute index that seconds are told from */
    int64_t first, end; /**< absolute, first < end */
    struct fx8_rate rate;
};

/**
 * fx8_drf_center_frequency -- what the channel's metadata notes for a span.
 *
 * Returned: frequency_hz  one for all sub-channels; NaN where they, or an
 *                         entry in force during the span, do not say
 * Status:   FX8_ERR_INPUT "FILE: ENTRY/center_frequencies: value: what was
 *           expected": two sub-channels, or two entries in force, contradict
 *           one another; FX8_ERR_SYSTEM when memory is short
 */
enum fx8_status fx8_drf_center_frequency(const char *channel,
                                         const struct fx8_drf_span *span,
                                         double *frequency_hz,
                                         struct fx8_error *error);

/* --- samples.c: numbers alone --------------------------------------- */

/** Rows [first, first + n) that hold data, or fill. */
struct fx8_drf_run {
    size_t first;
    size_t n;
    bool is_fill;
};

/**
 * fx8_drf_next_run -- split rows into runs of data and of the fill value.
 *
 * Given:    rows       [n_rows][n_numbers] of part_bytes
 *           from       where the run begins
 *           starts, ends  whether row 0 begins, and the last row ends, what the
 *                      recorder wrote without a gap
 * Returned: the run from `from` on
 * Notes:    a row is of the fill value when all its numbers are; a run of them
 *           is a gap when they have fx8_drf_shortest_fill() rows, or touch
 *           either end: there the recorder began or stopped
 */
struct fx8_drf_run fx8_drf_next_run(const void *rows, size_t n_rows,
                                    size_t n_numbers, size_t part_bytes,
                                    size_t from, bool starts, bool ends);

/** Rows of the fill value that are a gap wherever they stand: 8 bytes of it,
 *  since a clipped sample may equal it. */
size_t fx8_drf_shortest_fill(size_t row_bytes);

/**
 * fx8_drf_convert -- one sub-channel of rows as int8.
 *
 * Given:    rows     [n_rows][stride] of part_bytes; the sub-channel's
 *                    n_parts numbers stand at `offset` of each row
 *           shift    numbers of 2 bytes are divided by 2^shift, half to even,
 *                    and clamped to +-127; of 1 byte: 0, copied
 * Returned: samples  [n_rows][n_parts]
 *           numbers that were clamped
 */
int64_t fx8_drf_convert(const void *rows, size_t n_rows, size_t stride,
                        size_t offset, size_t n_parts, size_t part_bytes,
                        int shift, int8_t *samples);

/** Add |numbers| of a sub-channel of rows of 16 bits to a histogram
 *  [32769]; arguments as fx8_drf_convert(). */
void fx8_drf_count_levels(const int16_t *rows, size_t n_rows, size_t stride,
                          size_t offset, size_t n_parts, uint32_t *histogram);

/** Largest gain 2^-shift with which the robust rms, median(|x|) / 0.6745, is
 *  at most 32 counts; 0 for an empty histogram. */
int fx8_drf_choose_shift(const uint32_t histogram[32769]);

#ifdef __cplusplus
}
#endif

#endif
