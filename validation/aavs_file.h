/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aavs_file.h -- channel files of tiles, made with HDF5 alone, as the
 * acquisition of AAVS lays them out.
 */
#ifndef FX8_VALIDATION_AAVS_FILE_H
#define FX8_VALIDATION_AAVS_FILE_H

#include "validation/hdf5_items.h"
#include "validation/reader_calls.h"

/* Upper limits of a test recording: samples in time, antennas, channels. */
enum { MOST_TIME = 20000, MOST_ANT = 8, MOST_CHAN = 6 };

/** 2020-02-17T00:00:00.5Z; doubles there are 0.22 samples apart. */
#define AAVS_START_S 1581897600.5
#define AAVS_RATE_HZ (25e6 / 27.0)

/** Rows of one file: samples [first, first + n) of some antennas. */
struct piece {
    const char *name;
    int tile;
    int n_antennas;
    int first_antenna; /**< position in the recording */
    int first_channel;
    int n_channels;
    int first;
    int n;
    int block;         /**< rows per block */
    int spare;         /**< unused rows allocated behind them */
    int gap_at;        /**< samples are lost before this row, 0: none */
    int gap;           /**< samples lost */
    const char *order; /**< columns, slowest first: letters c, a, p */
    double shift;      /**< samples by which all stamps are late */
    double tsamp;      /**< 0: as usual; -1: no attribute */
    int station;       /**< 1: a name without a tile */
    const struct piece *before; /**< a part whose length is added to stamps */
    bool is_packed;             /**< deflated, as some merging scripts do */
};

/** Any byte, including -128; varies along every axis. */
static inline int8_t aavs_sample(int channel, int antenna, int pol, int t,
                                 int part)
{
    const unsigned value = (unsigned)(antenna * 37 + pol * 101 + t * 7 +
                                      t / 251 * 13 + channel * 59 + part * 53);
    return (int8_t)(uint8_t)(value & 0xff);
}

/** Index in the recording of the sample in row `row`. */
static inline int time_of_row(const struct piece *p, int row)
{
    return p->first + row + (p->gap > 0 && row >= p->gap_at ? p->gap : 0);
}

/** Stamps as the acquisition makes them: the start of a block is rounded to
 *  double, and the rows of the block count from there. */
static inline double stamp_of_row(const struct piece *p, int row)
{
    const int in_block = row % p->block;
    double start =
        AAVS_START_S +
        ((double)time_of_row(p, row - in_block) + p->shift) / AAVS_RATE_HZ;
    if (p->before != NULL) {
        /* the acquisition adds in this order */
        const double pad =
            stamp_of_row(p->before, p->before->n - 1) + 1 / AAVS_RATE_HZ;
        start += pad;
        start -= AAVS_START_S;
    }
    const int lost = time_of_row(p, row) - time_of_row(p, row - in_block);
    return start + (double)lost / AAVS_RATE_HZ;
}

/** A dataset "data" of a group, which grows along its first axis in chunks of
 *  `block` rows; only the used rows are written.  Closes the type. */
static inline void put_rows(hid_t file, const char *group, hid_t type,
                            const struct piece *p, int columns,
                            const void *values)
{
    const hsize_t extent[2] = {(hsize_t)(p->n + p->spare), (hsize_t)columns};
    const hsize_t most[2] = {H5S_UNLIMITED, extent[1]};
    const hsize_t chunk[2] = {(hsize_t)p->block, extent[1]};
    const hsize_t start[2] = {0, 0}, count[2] = {(hsize_t)p->n, extent[1]};
    hid_t parent =
        H5Gcreate2(file, group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t dataset = create_dataset(parent, "data", type, 2, extent, most, chunk,
                                   p->is_packed);
    write_part(dataset, type, 2, start, count, values);
    H5Dclose(dataset);
    H5Gclose(parent);
    H5Tclose(type);
}

static inline void put_root(hid_t file, const struct piece *p)
{
    const hsize_t one = 1;
    const struct {
        const char *item;
        int value;
    } numbers[] = {
        {"root@n_antennas", p->n_antennas},
        {"root@n_pols", 2},
        {"root@n_beams", 1},
        {"root@tile_id", p->station ? -1 : p->tile},
        {"root@n_chans", p->n_channels},
        {"root@n_samples", p->block},
        {"root@n_blocks", p->n / p->block},
        {"root@type", 2},
        {"root@n_baselines", 0},
        {"root@n_stokes", 4},
        {"root@station_id", 0},
        {"root@channel_id", p->first_channel},
    };
    /* the last two are stale in every later part */
    static const char *const times[] = {"root@timestamp", "root@ts_start",
                                        "root@ts_end"};
    put_item(file, "root", H5T_IEEE_F32LE, 1, &one, H5T_NATIVE_FLOAT, NULL);
    for (size_t i = 0; i < LENGTH(numbers); i++)
        put_number(file, numbers[i].item, H5T_STD_I64LE, numbers[i].value);
    for (size_t i = 0; i < LENGTH(times); i++)
        put_number(file, times[i], H5T_IEEE_F64LE, AAVS_START_S);
    if (p->tsamp >= 0.0)
        put_number(file, "root@tsamp", H5T_IEEE_F64LE,
                   p->tsamp > 0.0 ? p->tsamp : 1 / AAVS_RATE_HZ);
    put_text(file, "root@data_type", 0, "complex");
    put_text(file, "root@station_name", 0, "test station");
}

static inline int column_of_piece(const struct piece *p, int c, int a, int pol)
{
    const int extent[3] = {p->n_channels, p->n_antennas, 2};
    const int index[3] = {c, a, pol};
    int column = 0;
    for (const char *axis = p->order; *axis != '\0'; axis++) {
        const int k = *axis == 'c' ? 0 : *axis == 'a' ? 1 : 2;
        column = column * extent[k] + index[k];
    }
    return column;
}

/** Write a piece. */
static inline void put_piece(const struct piece *p)
{
    const int columns = p->n_channels * p->n_antennas * 2;
    int8_t *samples = exact((size_t)p->n * (size_t)columns * 2);
    double *stamps = exact((size_t)p->n * sizeof *stamps);
    for (int row = 0; row < p->n; row++) {
        stamps[row] = stamp_of_row(p, row);
        for (int c = 0; c < p->n_channels; c++)
            for (int a = 0; a < p->n_antennas; a++)
                for (int pol = 0; pol < 2; pol++)
                    for (int part = 0; part < 2; part++)
                        samples[2 * (row * columns +
                                     column_of_piece(p, c, a, pol)) +
                                part] = aavs_sample(p->first_channel + c,
                                                    p->first_antenna + a, pol,
                                                    time_of_row(p, row), part);
    }
    hid_t file = create_file(p->name);
    put_root(file, p);
    put_rows(file, "chan_", pair_type("real", "imag", H5T_STD_I8LE), p, columns,
             samples);
    put_rows(file, "sample_timestamps", H5Tcopy(H5T_NATIVE_DOUBLE), p, 1,
             stamps);
    H5Fclose(file);
    free(stamps);
    free(samples);
}

/* --- pieces as a recording ------------------------------------------------ */

/** A tile of two antennas and three blocks. */
static const struct piece good_piece = {.name = "good.hdf5",
                                        .tile = 0,
                                        .n_antennas = 2,
                                        .first_channel = 204,
                                        .n_channels = 1,
                                        .n = 600,
                                        .block = 200,
                                        .order = "cap"};

/** Limit on pieces of a recording. */
enum { MOST_PIECES = 80 };

/** Open the files of the pieces, in an order that depends on `turn`. */
static inline enum fx8_status open_pieces(const struct piece *pieces, size_t n,
                                          const struct fx8_settings *settings,
                                          unsigned turn,
                                          struct fx8_reader **reader,
                                          struct fx8_error *error)
{
    static char paths[MOST_PIECES][SCRATCH_PATH_SIZE];
    const char *list[MOST_PIECES];
    for (size_t i = 0; i < n; i++) {
        put_piece(&pieces[i]);
        snprintf(paths[i], SCRATCH_PATH_SIZE, "%s",
                 scratch_path(pieces[i].name));
        list[(i * 7 + turn) % n] = paths[i];
    }
    return fx8_reader_open(list, n, settings, reader, error);
}

/** Settings with an order of columns. */
static inline struct fx8_settings plain(const char *order)
{
    struct fx8_settings settings = {0};
    snprintf(settings.input.column_order, sizeof settings.input.column_order,
             "%s", order);
    return settings;
}

#endif
