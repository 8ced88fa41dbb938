/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames.h -- recordings in plain files of frames: headers and samples of 8
 * bits, without HDF5.  A format parses headers; what is the same for all of
 * them is here: one set of files for each antenna (or group of antennas), in
 * order of time, sets placed on one grid of samples, gaps, reading.
 */
#ifndef FX8_IO_FRAMES_FRAMES_H
#define FX8_IO_FRAMES_FRAMES_H

#include "io/reader_formats.h"

/** Largest rate of samples, and largest denominator of a rate. */
#define FX8_FRAMES_FASTEST_HZ       INT64_C(100000000000)
#define FX8_FRAMES_MOST_DENOMINATOR 1000000

/** Longest header that judge() sees. */
#define FX8_FRAMES_MOST_HEADER 32

/** The steps to the next antenna, polarisation or band of a file: streams,
 *  rows of a stream, bytes in a record. */
struct fx8_frames_step {
    size_t stream;
    size_t row;
    size_t byte;
};

/** What is the same in all files of a recording. */
struct fx8_frames_shape {
    size_t n_antennas; /**< of a file */
    size_t n_polarizations;
    size_t n_bands;
    bool is_complex;
    bool is_descending; /**< the first band has the highest frequency */
    bool is_offset;     /**< a byte is the sample + 128 */
    struct fx8_rate rate;
    double dc_frequency_hz; /**< of the lowest band; NaN: not recorded */
    double band_step_hz;    /**< above 0; unused with one band */
    enum fx8_sideband sideband;
    int64_t most_overlap; /**< samples that neighbours may repeat */
    /* a frame is [n_rows][samples][record_bytes] */
    size_t n_streams; /**< of a file, each with frames of its own */
    size_t n_rows;
    size_t record_bytes;
    size_t header_bytes; /**< before a frame, for judge(); 0: none, at most
                            FX8_FRAMES_MOST_HEADER */
    struct fx8_frames_step antenna, polarization, band;
};

/** What a file says of itself. */
struct fx8_frames_header {
    struct fx8_frames_shape shape;
    struct fx8_time start; /**< instant of sample 0 of the file's runs */
    int64_t station;       /**< files of other stations are other antennas */
    char telescope[FX8_TEXT_SIZE];
    char instrument[FX8_TEXT_SIZE];
    char object[FX8_TEXT_SIZE];
};

/** Frames of one length at equal distances, without a gap in time. */
struct fx8_frames_run {
    size_t file;
    size_t stream;    /**< of the file; of the recording once all are loaded */
    int64_t offset;   /**< byte where the first frame's samples begin */
    int64_t distance; /**< bytes from a frame to the next */
    int64_t first_sample;  /**< from the file's start; then the recording's */
    int64_t n_samples;     /**< of all frames */
    int64_t frame_samples; /**< of a frame */
    uint64_t mark;         /**< what judge() expects in the headers */
};

struct fx8_frames_file {
    const char *path;
    int64_t size;
    size_t set;
    int64_t origin;     /**< the recording's sample at the file's start */
    int64_t first, end; /**< samples from the first file's start */
    struct fx8_frames_header header;
};

/** A row of a stream that is read. */
struct fx8_frames_row {
    size_t stream;
    size_t row;
};

struct fx8_frames_reader;

/** What a format adds. */
struct fx8_frames_format {
    /** Fill the header of the open file and add its runs. */
    enum fx8_status (*parse)(struct fx8_frames_reader *reader, size_t file,
                             const struct fx8_settings *settings,
                             struct fx8_frames_header *header,
                             struct fx8_error *error);
    /** Whether the samples of a frame are valid; an error if it is another
     *  frame than the run promised.  `sample`: its first. */
    enum fx8_status (*judge)(const struct fx8_frames_reader *reader,
                             const struct fx8_frames_run *run, int64_t sample,
                             const uint8_t *header, bool *is_valid,
                             struct fx8_error *error);
};

struct fx8_frames_reader {
    struct fx8_reader base; /* first: the interface */
    const struct fx8_frames_format *format;
    struct fx8_frames_file *files; /* [paths] */
    size_t n_files, n_sets;
    struct fx8_frames_run *runs; /* by stream, then time */
    size_t n_runs;
    int descriptor; /* of the file that is open; -1: none */
    size_t open_file;
    struct fx8_frames_row *rows; /* [base.n_rows] selected, sorted */
    struct fx8_missing *found;
};

/** Read bytes of the open file; FX8_ERR_INPUT if it ends before. */
enum fx8_status fx8_frames_bytes(const struct fx8_frames_reader *reader,
                                 int64_t offset, size_t n, void *bytes,
                                 struct fx8_error *error);

/** Add a run, in any order; FX8_ERR_INPUT: outside its file, or its samples
 *  below 0 or beyond 2^53. */
enum fx8_status fx8_frames_add(struct fx8_frames_reader *reader,
                               const struct fx8_frames_run *run,
                               struct fx8_error *error);

/** Whether shapes are the same; else FX8_ERR_INPUT names the first difference.
 */
enum fx8_status fx8_frames_agree(const char *path,
                                 const struct fx8_frames_shape *a,
                                 const char *other,
                                 const struct fx8_frames_shape *b,
                                 struct fx8_error *error);

/** load() of a format: every file, sets, grid, gaps. */
enum fx8_status fx8_frames_load(struct fx8_reader *base,
                                const struct fx8_settings *settings,
                                const struct fx8_frames_format *format,
                                struct fx8_error *error);

/* The other operations of a struct fx8_reader_format. */
enum fx8_status fx8_frames_select(struct fx8_reader *base,
                                  const struct fx8_input_position *inputs,
                                  size_t n_inputs, struct fx8_error *error);
enum fx8_status fx8_frames_read(struct fx8_reader *base, int64_t first,
                                int64_t n_samples, int64_t row_samples,
                                int8_t *buffer, struct fx8_error *error);
void fx8_frames_close(struct fx8_reader *base);

#endif
