/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aavs_reader.h -- shared declarations of the SKA-Low/AAVS reader: one file,
 * its gap-free stretches, and the tiles made up of many files.
 *
 * Source: ska-low-mccs-daq, pydaq/persisters (aavs_file.py, channel.py)
 */
#ifndef FX8_IO_AAVS_AAVS_READER_H
#define FX8_IO_AAVS_AAVS_READER_H

#include <hdf5.h>

#include "io/h5/dataset.h"
#include "io/reader_formats.h"

/** Datasets of a channel file. */
#define FX8_AAVS_SAMPLES "chan_/data"
#define FX8_AAVS_STAMPS  "sample_timestamps/data"
#define FX8_AAVS_ROOT    "root"

/** Spacing of the coarse channels: channel c is centred at c times this. */
#define FX8_AAVS_SPACING_HZ 781250.0

/** The rate of a station's coarse channels: 800 MHz / 1024 x 32/27. */
extern const struct fx8_rate fx8_aavs_usual_rate;

/** Bytes of a complex sample in memory. */
#define FX8_AAVS_SAMPLE_BYTES ((size_t)2)

/** Rows [first_row, first_row + n_rows) of a file, with steady time stamps. */
struct fx8_aavs_stretch {
    size_t file;
    size_t group; /**< index among the groups, once these are sorted */
    int64_t first_row;
    int64_t n_rows;
    double stamp_s; /**< Unix time of the file's row 0 */
    double
        lag; /**< samples: first_row is at stamp_s + (first_row + lag) / fs */
    double doubt; /**< uncertainty of `lag` from rounded stamps, in samples */
    int64_t first_sample; /**< index in the recording, once it is known */
};

/** Stretches of all files, in a growing array. */
struct fx8_aavs_stretches {
    struct fx8_aavs_stretch *items; /**< [n] */
    size_t n;
};

/** One file. */
struct fx8_aavs_file {
    const char *path;
    int64_t tile; /**< -1: merged, no tile */
    size_t n_antennas;
    size_t n_polarizations;
    size_t n_channels;
    int64_t first_channel;
    bool has_channel; /**< whether the file records which channels it holds */
    size_t n_columns; /**< channels x antennas x polarisations */
    int64_t n_rows;   /**< rows written: blocks x samples per block */
    int64_t block_rows;
    int64_t chunk_rows;   /**< that are unpacked together; else 1 */
    struct fx8_rate rate; /**< recorded; numerator 0: not recorded */
    double start_s; /**< Unix time of the first part's start; NaN: unknown */
    char station[FX8_TEXT_SIZE];
    size_t group;
    int64_t file_size; /**< bytes of its storage at first opening; -1: never
                            opened */
    hid_t file;        /**< open, or 0 or FX8_H5_NONE: fx8_aavs_file_open() */
    struct fx8_h5_dataset samples;
    uint64_t last_use; /**< of the reader's count of uses */
};

/** Files of one tile and the same coarse channels, consecutive in time.  A
 *  missing tile is a group without stretches. */
struct fx8_aavs_group {
    int64_t tile;
    size_t n_antennas;
    size_t n_channels;
    int64_t first_channel;
    size_t n_columns;
    size_t file;          /**< one of them, for messages */
    size_t first_antenna; /**< position in the recording */
    size_t first_band;
    size_t first_stretch; /**< of the sorted stretches */
    size_t n_stretches;
    bool is_selected;
    size_t slot; /**< place in the buffer, if selected */
};

/** A recording of many files. */
struct fx8_aavs_reader {
    struct fx8_reader base;      /**< first: the interface */
    struct fx8_aavs_file *files; /**< [n_files] */
    size_t n_files;
    struct fx8_aavs_stretches stretches; /**< by group, then time */
    struct fx8_aavs_group *groups;       /**< [n_groups] by tile, channel */
    size_t n_groups;
    int axis[3]; /**< enum fx8_aavs_axis of the columns, slowest first */
    size_t n_open;
    uint64_t n_uses;
    size_t n_wide; /**< columns of the widest selected group */
};

/** Axes of the sample columns, as named in [input] column_order. */
enum fx8_aavs_axis {
    FX8_AAVS_CHANNEL = 0,
    FX8_AAVS_ANTENNA,
    FX8_AAVS_POLARIZATION
};

/**
 * fx8_aavs_file_load -- read all metadata of a file except its time stamps; the
 * file stays open.
 *
 * Given:     file  zeroed but for its path
 * Status:    FX8_ERR_INPUT: not HDF5, not a channel file, wrong types, ranks or
 *            sizes, fewer rows stored than recorded as written
 */
enum fx8_status fx8_aavs_file_load(struct fx8_aavs_file *file,
                                   struct fx8_error *error);

/** Open the samples (again); FX8_ERR_INPUT also if they have changed. */
enum fx8_status fx8_aavs_file_open(struct fx8_aavs_file *file,
                                   struct fx8_error *error);

/** Close all handles; the file can be opened again. */
void fx8_aavs_file_close(struct fx8_aavs_file *file);

/**
 * fx8_aavs_fit -- find the gap-free stretches of a file from its time stamps.
 *
 * Given:     file, index  open; its index among the files
 *            rate         the rate of all files
 * Returned:  stretches    the file's stretches are appended
 * Status:    FX8_ERR_INPUT: stamps missing, not finite, not ascending, not at a
 *            steady rate (with row and offset)
 * Notes: 1) for blocks of 4096 rows or more, only the first and last stamp of
 *           every 65536 rows or fewer are read, and the stamps between them
 *           only if these two do not match the row count; for smaller blocks,
 *           every stamp is read
 *        2) stamps are doubles with a resolution of 0.24 us in this century,
 *           0.22 samples; hence a stretch is fitted as a whole
 */
enum fx8_status fx8_aavs_fit(const struct fx8_aavs_file *file, size_t index,
                             struct fx8_rate rate,
                             struct fx8_aavs_stretches *stretches,
                             struct fx8_error *error);

/**
 * fx8_aavs_put_back -- correct parts whose stamps are late by the time elapsed
 * before them.
 *
 * Given:    reader  files and stretches, grouped by file
 * Returned: reader  stretches of such parts follow the previous part
 * Status:   FX8_ERR_SYSTEM: no memory
 */
enum fx8_status fx8_aavs_put_back(struct fx8_aavs_reader *reader,
                                  struct fx8_error *error);

/**
 * fx8_aavs_join -- join files: tiles side by side, parts in sequence.
 *
 * Given:     reader  files and stretches; may_lack_tiles from the settings
 * Returned:  reader  groups, stretches sorted and placed, missing, observation
 * Status:    FX8_ERR_INPUT: files that contradict or overlap each other, a
 *            missing tile
 */
enum fx8_status fx8_aavs_join(struct fx8_aavs_reader *reader,
                              bool may_lack_tiles, struct fx8_error *error);

#endif
