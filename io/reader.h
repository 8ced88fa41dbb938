/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader.h -- one interface to all recording formats.  To add a format, export
 * a struct fx8_reader_format and add it to the table of readers.c.
 */
#ifndef FX8_IO_READER_H
#define FX8_IO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/observation.h"
#include "config/settings.h"
#include "correlator/fx8.h"

/** A stretch of samples that were not recorded. */
struct fx8_missing {
    int64_t first_sample; /**< absolute index in the recording */
    int64_t n_samples;
    int32_t antenna;      /**< position in the recording; -1: all */
    int32_t polarization; /**< slot in the recording; -1: all */
    int32_t band;         /**< -1: all */
};

/** For qsort(): ascending first sample, then antenna, polarisation, band. */
int fx8_missing_order(const void *a, const void *b);

/** Position of one input in the recording. */
struct fx8_input_position {
    size_t antenna;
    size_t polarization;
    size_t band; /**< of observation.n_bands */
};

/** Where a read places one input: a row of the buffer, and the byte in each of
 *  its samples. */
struct fx8_input_place {
    size_t row;
    size_t byte;
};

/** Where a read places its samples in the caller's buffer. */
struct fx8_sample_layout {
    ptrdiff_t *input_offset; /**< [n_inputs selected] bytes, caller's memory */
    ptrdiff_t time_stride;   /**< bytes between consecutive samples */
    int64_t row_samples;     /**< set by the caller: row pitch of the buffer, at
                                least the samples read; 0: equal to them */
};

/** Row pitch, in samples, of a buffer for reads of n_samples. */
static inline int64_t fx8_row_samples(const struct fx8_sample_layout *layout,
                                      int64_t n_samples)
{
    return layout->row_samples > n_samples ? layout->row_samples : n_samples;
}

struct fx8_h5_place;
struct fx8_reader_format;

/** Name of the format that `path` looks like; NULL if this build reads no such
 *  format. */
const char *fx8_reader_format_name(const char *path);

/** An open recording; each reader embeds one of these at its start. */
struct fx8_reader {
    const struct fx8_reader_format *format;
    struct fx8_text_list paths; /**< files of one recording, or its folder */
    const char *path;           /**< the first, for messages */
    struct fx8_observation observation;
    /** [n_missing] gaps known to open() without reading samples: within the
     *  recording, may overlap and repeat; sorted by fx8_missing_order() */
    struct fx8_missing *missing;
    size_t n_missing;
    /** [n_found] gaps that the last read() found in its range, where it wrote
     *  zeros: in any order, may overlap and repeat `missing`.  Owned by the
     *  reader, valid until the next call. */
    const struct fx8_missing *found;
    size_t n_found;
    /** [n_inputs selected] factors applied to recorded values to fit 8 bits:
     *  powers of two, at most 1; NULL: values are as recorded.  Set by
     *  select(), owned by the reader. */
    const double *input_gain;
    size_t n_threads; /**< that read() may use; set by the caller; 0: 1 */
    /** Why HDF5 has to undo the filters, on one thread; NULL: it does not, or
     *  there are no filters.  Set by open(), owned by the reader. */
    const char *slow_reason;
    char slow_text[FX8_TEXT_SIZE]; /**< where the reason is kept */
    /* what is selected: a buffer is [n_rows][time][sample_bytes] */
    struct fx8_input_place *places; /**< [n_inputs selected] */
    size_t n_inputs;
    size_t n_rows;
    size_t sample_bytes;   /**< of a row at one time */
    int64_t chunk_samples; /**< that suit a read, or 1 */
    bool is_16bit;     /**< recorded with more than 8 bits: input_gain is set */
    int64_t n_clamped; /**< in the last read(): real numbers that exceeded 8
                          bits despite input_gain */

    /* the operations, checked and passed to the format: readers.c */

    /** Choose inputs [n_inputs], in correlator order, by band; copied. */
    enum fx8_status (*select)(struct fx8_reader *reader,
                              const struct fx8_input_position *inputs,
                              size_t n_inputs, struct fx8_error *error);

    /** Buffer size in bytes for reading up to n_samples of the selected inputs
     *  into rows of n_samples. */
    size_t (*buffer_size)(const struct fx8_reader *reader, int64_t n_samples);

    /** Samples per read that suit the file (a multiple of its chunks). */
    int64_t (*read_samples)(const struct fx8_reader *reader);

    /**
     * read -- samples [first, first + n) of the selected inputs.
     *
     * Returned: buffer  buffer_size() bytes in the recording's own order, rows
     *                   side by side; the rest of a row after its samples is
     *                   not touched
     *           layout  where each input is in `buffer`
     * Status:   FX8_ERR_INPUT: with file, dataset and sample range
     * Notes:    may be called from any thread, one at a time
     */
    enum fx8_status (*read)(struct fx8_reader *reader, int64_t first,
                            int64_t n_samples, int8_t *buffer,
                            struct fx8_sample_layout *layout,
                            struct fx8_error *error);
};

/** The start of a plain file, for formats that are not HDF5. */
struct fx8_file_start {
    const uint8_t *bytes; /**< [n] */
    size_t n;             /**< 32 KiB, or the file's size */
    int64_t size;         /**< of the file */
};

/** A recording format: what readers.c calls.  Arguments are checked. */
struct fx8_reader_format {
    const char *name; /**< as in [input] format */
    enum fx8_format format;
    const char *samples; /**< the dataset of samples, for messages */
    size_t size;         /**< of its reader, whose first member is `base` */
    const char *single;  /**< why it takes one path only, as in "a recording of
                              format tart is a single file"; NULL: many files */

    bool is_folder; /**< a path is that of a folder */

    /** Whether a recording looks like this format; reports no errors.  `root`:
     *  of the open file; without a handle for a folder. */
    bool (*probe)(const struct fx8_h5_place *root);

    /** The same for a format of plain files, which has no probe(). */
    bool (*sniff)(const struct fx8_file_start *start);

    /**
     * load -- read and check all metadata, without reading samples.
     *
     * Given:  reader    zeroed but for paths, operations and an unknown
     *                   observation; closed by the caller, also after failure
     *         settings  [input] keys
     * Status: FX8_ERR_INPUT: "FILE: DATASET: value: what was expected"
     */
    enum fx8_status (*load)(struct fx8_reader *reader,
                            const struct fx8_settings *settings,
                            struct fx8_error *error);

    /** Choose inputs: fills `places` and sets n_rows, sample_bytes and
     *  chunk_samples.  Called once after load() with every input, bands
     *  slowest, then antennas. */
    enum fx8_status (*select)(struct fx8_reader *reader,
                              const struct fx8_input_position *inputs,
                              size_t n_inputs, struct fx8_error *error);

    /** Set input_gain, from samples of the selected inputs; or NULL. */
    enum fx8_status (*measure)(struct fx8_reader *reader,
                               struct fx8_error *error);

    /** Read into rows of `row_samples` samples. */
    enum fx8_status (*read)(struct fx8_reader *reader, int64_t first,
                            int64_t n_samples, int64_t row_samples,
                            int8_t *buffer, struct fx8_error *error);

    /** Release what the reader adds to `base`. */
    void (*close)(struct fx8_reader *reader);
};

/**
 * fx8_reader_open -- probe if needed, and open.
 *
 * Given:  paths     [n_paths]; at least one
 *         settings  format and the keys that readers use
 * Status: FX8_ERR_INPUT: unreadable, not HDF5, unknown format (the message
 *         lists the known ones), or an error of the format's open()
 */
enum fx8_status fx8_reader_open(const char *const *paths, size_t n_paths,
                                const struct fx8_settings *settings,
                                struct fx8_reader **reader,
                                struct fx8_error *error);

/** Close and null the handle; a NULL handle is legal. */
void fx8_reader_close(struct fx8_reader **reader);

#endif
