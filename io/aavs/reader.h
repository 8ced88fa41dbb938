/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader.h -- what the files of the SKA-Low/AAVS reader share: one file, its
 * gap-free stretches, and the tiles that many of them make up.
 *
 * Source: ska-low-mccs-daq, pydaq/persisters (aavs_file.py, channel.py)
 */
#ifndef FX8_IO_AAVS_READER_H
#define FX8_IO_AAVS_READER_H

#include <hdf5.h>

#include "io/h5/chunks.h"
#include "io/h5/storage.h"
#include "io/reader_formats.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Datasets of a channel file. */
#define FX8_AAVS_SAMPLES "chan_/data"
#define FX8_AAVS_STAMPS  "sample_timestamps/data"
#define FX8_AAVS_ROOT    "root"

/** Spacing of the coarse channels: channel c is centred at c times this. */
#define FX8_AAVS_SPACING_HZ 781250.0

/** Bytes of a complex sample in memory. */
#define FX8_AAVS_SAMPLE_BYTES ((size_t)2)

/** Rows [first_row, first_row + n_rows) of a file, whose time stamps run
 *  steadily. */
struct fx8_aavs_stretch {
    size_t file;
    size_t group; /**< of the sorted groups, once they are */
    int64_t first_row;
    int64_t n_rows;
    double stamp_s; /**< of the file's row 0: Unix time */
    double
        lag; /**< samples: first_row is at stamp_s + (first_row + lag) / fs */
    double doubt;         /**< samples that rounded stamps may move `lag` by */
    int64_t first_sample; /**< index in the recording, once it is known */
};

/** Stretches of all files, in a growing array. */
struct fx8_aavs_stretches {
    struct fx8_aavs_stretch *items; /**< [n] */
    size_t n;
};

/** One file. */
struct fx8_aavs_file {
    char *path;
    int64_t tile; /**< -1: merged, no tile */
    size_t n_antennas;
    size_t n_polarizations;
    size_t n_channels;
    int64_t first_channel;
    bool has_channel; /**< whether the file says which channels it holds */
    size_t n_columns; /**< channels x antennas x polarisations */
    int64_t n_rows;   /**< written ones: blocks x samples a block */
    int64_t block_rows;
    int64_t chunk_rows;   /**< of the samples; 1: not chunked */
    struct fx8_rate rate; /**< recorded; numerator 0: not recorded */
    double start_s; /**< Unix time of the first part's start; NaN: unknown */
    char station[FX8_TEXT_SIZE];
    size_t group;
    /* open or FX8_H5_NONE, see fx8_aavs_file_open() */
    int64_t file_size; /**< bytes of its storage at first opening; -1: never
                            opened */
    struct fx8_h5_storage *storage;
    hid_t file;
    hid_t samples;
    hid_t space;
    hid_t memory_type;
    struct fx8_h5_chunks *chunks; /**< how the samples are read */
    uint64_t last_use;            /**< of the reader's count of uses */
};

/** The files of one tile and the same coarse channels, which follow one
 *  another in time.  A missing tile is a group without stretches. */
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
    size_t slot; /**< where it stands in the buffer, if it is selected */
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
    char slow_reason[FX8_TEXT_SIZE]; /**< of the first file that has one */
    size_t n_open;
    uint64_t n_uses;
    /* what is selected */
    size_t n_inputs;
    size_t *input_group;  /**< [n_inputs] */
    size_t *input_column; /**< [n_inputs] */
    size_t n_slots;
    size_t n_wide; /**< columns of the widest group that is selected */
};

/** What the columns of the samples count, in the words of
 *  [input] column_order. */
enum fx8_aavs_axis {
    FX8_AAVS_CHANNEL = 0,
    FX8_AAVS_ANTENNA,
    FX8_AAVS_POLARIZATION
};

/**
 * fx8_aavs_file_load -- everything that a file says but for its time stamps;
 * the file stays open.
 *
 * Given:     file  zeroed but for its path; handles FX8_H5_NONE
 * Status:    FX8_ERR_INPUT: not HDF5, no channel file, other types, ranks or
 *            sizes, fewer rows stored than said to be written
 */
enum fx8_status fx8_aavs_file_load(struct fx8_aavs_file *file,
                                   struct fx8_error *error);

/** Open the samples (again); FX8_ERR_INPUT also where they have changed. */
enum fx8_status fx8_aavs_file_open(struct fx8_aavs_file *file,
                                   struct fx8_error *error);

/** Close what is open; the file can be opened again. */
void fx8_aavs_file_close(struct fx8_aavs_file *file);

/**
 * fx8_aavs_fit -- the gap-free stretches of a file, from its time stamps.
 *
 * Given:     file, index  open; its place among the files
 *            rate         of all files
 * Returned:  stretches    those of the file appended
 * Status:    FX8_ERR_INPUT: stamps missing, not finite, not ascending, off a
 *            steady rate: names the row and the offset
 * Notes: 1) where the file was written in blocks of 4096 rows or more, the
 *           first and last stamp of every 65536 rows or fewer are read, and
 *           all between them where the two are not as far apart as their rows;
 *           of smaller blocks every stamp
 *        2) stamps are doubles: 0.24 us apart in this century, 0.22 samples.
 *           Hence a stretch is fitted as a whole.
 */
enum fx8_status fx8_aavs_fit(const struct fx8_aavs_file *file, size_t index,
                             struct fx8_rate rate,
                             struct fx8_aavs_stretches *stretches,
                             struct fx8_error *error);

/**
 * fx8_aavs_put_back -- parts whose stamps are late by the time that had passed
 * before them.
 *
 * Given:    reader  files and stretches, those of a file side by side
 * Returned: reader  stretches of such parts follow the part before them
 * Status:   FX8_ERR_SYSTEM: no memory
 */
enum fx8_status fx8_aavs_put_back(struct fx8_aavs_reader *reader,
                                  struct fx8_error *error);

/**
 * fx8_aavs_join -- tiles side by side, parts one after the other.
 *
 * Given:     reader  files and stretches; may_lack_tiles from the settings
 * Returned:  reader  groups, stretches sorted and placed, missing, observation
 * Status:    FX8_ERR_INPUT: files that contradict or overlap one another, a
 *            tile that is missing
 */
enum fx8_status fx8_aavs_join(struct fx8_aavs_reader *reader,
                              bool may_lack_tiles, struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
