/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digital_rf_reader.h -- parts of the Digital RF reader.  A channel is a folder
 * of files that are consecutive in time; its samples are counted from the epoch
 * (absolute indices).
 *
 * Source: github.com/MITHaystack/digital_rf, c/lib/rf_write_hdf5.c.
 */
#ifndef FX8_IO_DIGITAL_RF_DIGITAL_RF_READER_H
#define FX8_IO_DIGITAL_RF_DIGITAL_RF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/settings.h"
#include "correlator/fx8.h"
#include "io/h5/dataset.h"
#include "io/h5/h5.h"
#include "io/reader.h"

/** File that marks a folder as a channel. */
#define FX8_DRF_PROPERTIES "drf_properties.h5"
#define FX8_DRF_DATA       "rf_data"
#define FX8_DRF_INDEX      "rf_data_index"

/** Largest absolute index: twice that fits int64, as
 *  fx8_time_add_half_samples() requires. */
#define FX8_DRF_MAX_INDEX (INT64_MAX / 2)

/** Shift of the smallest gain, 1/16384: reduces 16 bits to +-2. */
#define FX8_DRF_MAX_SHIFT 14

/** Samples of an input used to choose its gain. */
#define FX8_DRF_LEVEL_SAMPLES 65536

/* --- names.c: names of folders and files ---------------------------- */

/** A file of a channel, from its name. */
struct fx8_drf_name {
    int64_t milliseconds; /**< since the epoch, of the earliest sample */
    char *path;
};

/** Files "PREFIX@SECONDS[.MILLISECONDS].h5" in the time-named subfolders of a
 *  folder, sorted by time. */
struct fx8_drf_list {
    struct fx8_drf_name *files; /**< [n_files] ascending */
    size_t n_files;
};

/**
 * fx8_drf_find_channels -- find the channels of a recording, sorted by name.
 *
 * Given:    path      folder of channels, or a single channel
 * Given:    channels  empty
 * Returned: channels  their paths; none if `path` is not a recording
 * Status:   FX8_ERR_INPUT: the folder cannot be read; FX8_ERR_SYSTEM
 * Ownership: release with fx8_text_list_clear(), also after failure
 */
enum fx8_status fx8_drf_find_channels(const char *path,
                                      struct fx8_text_list *channels,
                                      struct fx8_error *error);

/**
 * fx8_drf_list_files -- list the files of a folder; unfinished files (tmp.*)
 * and everything else are skipped.
 *
 * Given:    prefix  "rf", or the prefix of metadata
 * Status:   FX8_ERR_INPUT: a folder cannot be read; two files with the same
 *           time
 * Ownership: release with fx8_drf_clear_list(), also after failure
 */
enum fx8_status fx8_drf_list_files(const char *path, const char *prefix,
                                   struct fx8_drf_list *list,
                                   struct fx8_error *error);
void fx8_drf_clear_list(struct fx8_drf_list *list);

/** Index of the first sample at or after an instant, exact; both within
 *  FX8_DRF_MAX_INDEX; clamped to it beyond. */
int64_t fx8_drf_first_index(struct fx8_rate rate, int64_t milliseconds);

/* --- channel.c, digital_rf_file.c: a channel, one file of it open
 * -------------- */

/** A row of rf_data_index: from this row on, samples are consecutive. */
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
    bool is_chunked;    /**< ... or are left out, if samples are chunked as in
                           non-continuous channels */
    size_t n_subchannels;
    size_t part_bytes;  /**< bytes of a real number: 1 or 2 */
    int64_t cadence_ms; /**< of files */
    struct fx8_drf_list list;
    int64_t first, end; /**< its samples are [first, end) */
    /* the open file, if any */
    size_t file_number;
    const char *file_path; /**< of `list` */
    hid_t file;
    struct fx8_h5_dataset data;
    int64_t n_rows;
    struct fx8_drf_stretch *stretches; /**< [n_stretches] ascending */
    size_t n_stretches;
};

/** Rows of a file that hold samples [first, first + n). */
struct fx8_drf_piece {
    int64_t first;
    int64_t n;                   /**< 0: none */
    int64_t row;                 /**< of sample `first` */
    int64_t least_row, rows_end; /**< bounds of their stretch */
};

/**
 * fx8_drf_open -- open a channel: properties, files, type and extent.
 *
 * Given:     like  a channel it must agree with, or NULL
 * Status:    FX8_ERR_INPUT: "FILE: ATTRIBUTE: value: what was expected"; no
 *            files; first or last file unusable
 * Ownership: release with fx8_drf_close(), also after failure
 */
enum fx8_status fx8_drf_open(const char *path,
                             const struct fx8_drf_channel *like,
                             struct fx8_drf_channel *channel,
                             struct fx8_error *error);
void fx8_drf_close(struct fx8_drf_channel *channel);

/** sample_rate_numerator and _denominator in lowest terms; FX8_ERR_INPUT if
 *  they are missing or invalid, or the denominator is above a million. */
enum fx8_status fx8_drf_read_rate(const struct fx8_h5_place *place,
                                  struct fx8_rate *rate,
                                  struct fx8_error *error);

/** Open file `number`, closing any other; FX8_ERR_INPUT: it is damaged, or
 *  contradicts the properties or its name. */
enum fx8_status fx8_drf_open_file(struct fx8_drf_channel *channel,
                                  size_t number, struct fx8_error *error);

/** Close its open file, if any. */
void fx8_drf_close_file(struct fx8_drf_channel *channel);

/** Bytes of a row: one sample of every sub-channel. */
size_t fx8_drf_row_bytes(const struct fx8_drf_channel *channel);

/** Range [*first, *end) of samples that file `number` can hold, from its name;
 *  +-1 at the ends if the rate is not a whole number of hertz (writers round in
 *  floating point). */
void fx8_drf_file_range(const struct fx8_drf_channel *channel, size_t number,
                        int64_t *first, int64_t *end);

/**
 * fx8_drf_next -- find the first samples recorded in [from, end) and open their
 * file.
 *
 * Given:  by_name  open no file: all samples that a file can hold by its name
 *                  count as recorded, within the extent of the channel; the
 *                  rows of the piece are 0
 * Status: FX8_ERR_INPUT: a file is damaged, contradicts the properties or its
 *         name
 */
enum fx8_status fx8_drf_next(struct fx8_drf_channel *channel, int64_t from,
                             int64_t end, bool by_name,
                             struct fx8_drf_piece *piece,
                             struct fx8_error *error);

/** Rows [row, row + n) of the open file as native integers,
 *  [n][n_subchannels][1 or 2] of part_bytes each; unpacked by n_threads. */
enum fx8_status fx8_drf_read_rows(struct fx8_drf_channel *channel,
                                  size_t n_threads, int64_t row, int64_t n,
                                  void *rows, struct fx8_error *error);

/* --- metadata.c ----------------------------------------------------- */

/** Samples of a channel that will be processed. */
struct fx8_drf_span {
    int64_t origin;     /**< absolute index from which messages count seconds */
    int64_t first, end; /**< absolute, first < end */
    struct fx8_rate rate;
};

/**
 * fx8_drf_center_frequency -- read a channel's centre frequency for a span from
 * its metadata.
 *
 * Returned: frequency_hz  common to all sub-channels; NaN if the metadata, or
 *                         an entry in force during the span, do not record it
 * Status:   FX8_ERR_INPUT "FILE: ENTRY/center_frequencies: value: what was
 *           expected": two sub-channels, or two entries in force, contradict
 *           each other; FX8_ERR_SYSTEM when memory is short
 */
enum fx8_status fx8_drf_center_frequency(const char *channel,
                                         const struct fx8_drf_span *span,
                                         double *frequency_hz,
                                         struct fx8_error *error);

/* --- samples.c: numbers alone --------------------------------------- */

/** Rows [first, first + n) of data or of fill values. */
struct fx8_drf_rows {
    size_t first;
    size_t n;
    bool is_fill;
};

/**
 * fx8_drf_next_rows -- split rows into runs of data and of fill values.
 *
 * Given:    rows       [n_rows][n_numbers] of part_bytes
 *           from       where the run begins
 *           starts, ends  whether row 0 is the first, and the last row the
 *                      last, that the recorder wrote without a gap
 * Returned: the run that starts at `from`
 * Notes:    a row is fill if all its numbers are; a run of fill rows is a gap
 *           if it has fx8_drf_shortest_fill() rows or touches a recorder start
 *           or stop
 */
struct fx8_drf_rows fx8_drf_next_rows(const void *rows, size_t n_rows,
                                      size_t n_numbers, size_t part_bytes,
                                      size_t from, bool starts, bool ends);

/** Number of fill rows that always make a gap: 8 bytes, since a single clipped
 *  sample may equal the fill value. */
size_t fx8_drf_shortest_fill(size_t row_bytes);

/**
 * fx8_drf_convert -- convert one sub-channel of rows to int8.
 *
 * Given:    rows     [n_rows][stride] of part_bytes; the sub-channel's n_parts
 *                    numbers start at `offset` in each row
 *           shift    numbers of 2 bytes are divided by 2^shift, half to even,
 *                    and clamped to +-127; of 1 byte: 0, copied
 * Returned: samples  [n_rows][n_parts]
 *           number of values clamped
 */
int64_t fx8_drf_convert(const void *rows, size_t n_rows, size_t stride,
                        size_t offset, size_t n_parts, size_t part_bytes,
                        int shift, int8_t *samples);

/** Add the absolute values of a 16-bit sub-channel to a histogram [32769];
 *  arguments as fx8_drf_convert(). */
void fx8_drf_count_levels(const int16_t *rows, size_t n_rows, size_t stride,
                          size_t offset, size_t n_parts, uint32_t *histogram);

/** Largest gain 2^-shift with which the robust rms, median(|x|) / 0.6745, is
 *  at most 32 counts; 0 for an empty histogram. */
int fx8_drf_choose_shift(const uint32_t histogram[32769]);

/* --- load.c: the reader, filled by opening and used by reading ------- */

/** A selected input. */
struct fx8_drf_wanted {
    size_t channel;
    size_t subchannel;
    size_t row; /**< in the selection and in the buffer */
    struct fx8_input_position at;
};

/** An open recording. */
struct fx8_drf_reader {
    struct fx8_reader base;           /**< first: the interface */
    struct fx8_drf_channel *channels; /**< [n_channels] */
    size_t n_channels;
    size_t *first_input; /**< [n_channels + 1] inputs before each channel */
    size_t sample_bytes; /**< of int8: 1 real, 2 complex */
    int64_t origin;      /**< absolute index of sample 0 */
    int64_t from, until; /**< absolute: range given by start_s and duration_s */
    int *shifts;         /**< [inputs recorded] gain 2^-shift; -1: unknown */
    struct fx8_drf_wanted *wanted; /**< [n_wanted] by channel */
    size_t n_wanted;
    double *gains;             /**< [n_wanted] by row */
    struct fx8_missing *found; /**< what base.found shows */
    void *rows; /**< buffer for the rows read at once, large enough for any
                   channel */
};

/** Rows of a channel read at once, without the margins for the fill value. */
int64_t fx8_drf_rows_at_once(const struct fx8_drf_channel *channel);

/**
 * fx8_drf_load -- load() of the format: open all channels and fill everything
 * but the selection.
 *
 * Status: FX8_ERR_INPUT: an unusable channel, or channels that contradict each
 *         other; FX8_ERR_USAGE: an odd number of inputs for two polarisations
 */
enum fx8_status fx8_drf_load(struct fx8_reader *base,
                             const struct fx8_settings *settings,
                             struct fx8_error *error);

#endif
