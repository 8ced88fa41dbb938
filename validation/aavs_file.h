/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aavs_file.h -- channel files of tiles, made with HDF5 alone, as the
 * acquisition of AAVS lays them out, and the check that fx8 reads many of them
 * as one recording: every sample and every missing sample.
 */
#ifndef FX8_VALIDATION_AAVS_FILE_H
#define FX8_VALIDATION_AAVS_FILE_H

#include <math.h>

#include <hdf5.h>

#include "config/settings.h"
#include "io/reader.h"
#include "validation/hdf5_items.h"
#include "validation/reader_rows.h"
#include "validation/scratch.h"
#include "validation/testing.h"

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

/** A compound of members `re` and `im` of type `of`. */
static inline hid_t aavs_type(const char *re, const char *im, hid_t of)
{
    const size_t size = H5Tget_size(of);
    hid_t type = H5Tcreate(H5T_COMPOUND, 2 * size);
    H5Tinsert(type, re, 0, of);
    H5Tinsert(type, im, size, of);
    return type;
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

/** A dataset of two axes that grows along the first, chunks of `block` rows. */
static inline hid_t growing(hid_t group, const char *name, hid_t type, int rows,
                            int columns, int block, bool is_packed)
{
    const hsize_t extent[2] = {(hsize_t)rows, (hsize_t)columns};
    const hsize_t most[2] = {H5S_UNLIMITED, (hsize_t)columns};
    const hsize_t chunk[2] = {(hsize_t)block, (hsize_t)columns};
    hid_t space = H5Screate_simple(2, extent, most);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 2, chunk);
    if (is_packed)
        H5Pset_deflate(creation, 1);
    hid_t dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, creation,
                               H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Pclose(creation);
    H5Sclose(space);
    return dataset;
}

/** Write the first `rows` rows. */
static inline void put_rows(hid_t dataset, hid_t memory, int rows, int columns,
                            const void *values)
{
    const hsize_t start[2] = {0, 0};
    const hsize_t count[2] = {(hsize_t)rows, (hsize_t)columns};
    hid_t file_space = H5Dget_space(dataset);
    hid_t space = H5Screate_simple(2, count, NULL);
    H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL);
    assert_true(
        H5Dwrite(dataset, memory, space, file_space, H5P_DEFAULT, values) >= 0);
    H5Sclose(space);
    H5Sclose(file_space);
    H5Dclose(dataset);
}

static inline void put_root(hid_t file, const struct piece *p)
{
    const hsize_t one = 1;
    hid_t half = H5Tcopy(H5T_IEEE_F32LE);
    put_dataset(file, "root", half, 1, &one, H5T_NATIVE_FLOAT, NULL);
    H5Tclose(half);
    hid_t root = H5Dopen2(file, "root", H5P_DEFAULT);
    const struct {
        const char *name;
        int64_t value;
    } integers[] = {
        {"n_antennas", p->n_antennas},
        {"n_pols", 2},
        {"n_beams", 1},
        {"tile_id", p->station ? -1 : p->tile},
        {"n_chans", p->n_channels},
        {"n_samples", p->block},
        {"n_blocks", p->n / p->block},
        {"type", 2},
        {"n_baselines", 0},
        {"n_stokes", 4},
        {"station_id", 0},
        {"channel_id", p->first_channel},
    };
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        put_integer(root, integers[i].name, H5T_STD_I64LE, integers[i].value);
    put_real(root, "timestamp", AAVS_START_S);
    put_real(root, "ts_start", AAVS_START_S); /* stale in every later part */
    put_real(root, "ts_end", AAVS_START_S);
    if (p->tsamp >= 0.0)
        put_real(root, "tsamp", p->tsamp > 0.0 ? p->tsamp : 1 / AAVS_RATE_HZ);
    put_text(root, "data_type", "complex", true);
    put_text(root, "station_name", "test station", true);
    H5Dclose(root);
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

/** Write a piece; returns its path. */
static inline const char *put_piece(const struct piece *p)
{
    const int columns = p->n_channels * p->n_antennas * 2;
    int8_t *samples = (int8_t *)exact((size_t)p->n * (size_t)columns * 2);
    double *stamps = (double *)exact((size_t)p->n * sizeof *stamps);
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
    const char *path = scratch_path(p->name);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    put_root(file, p);
    hid_t type = aavs_type("real", "imag", H5T_STD_I8LE);
    hid_t chan =
        H5Gcreate2(file, "chan_", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t times = H5Gcreate2(file, "sample_timestamps", H5P_DEFAULT,
                             H5P_DEFAULT, H5P_DEFAULT);
    put_rows(growing(chan, "data", type, p->n + p->spare, columns, p->block,
                     p->is_packed),
             type, p->n, columns, samples);
    put_rows(growing(times, "data", H5T_IEEE_F64LE, p->n + p->spare, 1,
                     p->block, p->is_packed),
             H5T_NATIVE_DOUBLE, p->n, 1, stamps);
    H5Gclose(times);
    H5Gclose(chan);
    H5Tclose(type);
    H5Fclose(file);
    free(stamps);
    free(samples);
    return path;
}

/* --- pieces as a recording ------------------------------------------------ */

/** A tile of two antennas and three blocks. */
static const struct piece good = {.name = "good.hdf5",
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
        snprintf(paths[i], SCRATCH_PATH_SIZE, "%s", put_piece(&pieces[i]));
        list[(i * 7 + turn) % n] = paths[i];
    }
    return fx8_reader_open(list, n, settings, reader, error);
}

/** Settings with an order of columns. */
static inline struct fx8_settings plain(const char *order)
{
    struct fx8_settings settings;
    memset(&settings, 0, sizeof settings);
    snprintf(settings.input.column_order, sizeof settings.input.column_order,
             "%s", order);
    return settings;
}

/* --- what fx8 must read --------------------------------------------------- */

/** Which samples the pieces hold: [channel][antenna][time], counted from the
 *  lowest channel and the first sample of all pieces. */
struct held {
    bool is_held[MOST_CHAN][MOST_ANT][MOST_TIME];
    int n_channels, n_antennas;
    int lowest;     /**< channel */
    int first, end; /**< samples */
};

static inline struct held *note_pieces(const struct piece *pieces, size_t n,
                                       int n_antennas, int n_channels)
{
    static struct held held;
    memset(&held, 0, sizeof held);
    held.n_antennas = n_antennas;
    held.n_channels = n_channels;
    held.lowest = held.first = INT32_MAX;
    for (size_t i = 0; i < n; i++) {
        const struct piece *p = &pieces[i];
        const int end = time_of_row(p, p->n - 1) + 1;
        held.first = p->first < held.first ? p->first : held.first;
        held.end = end > held.end ? end : held.end;
        held.lowest =
            p->first_channel < held.lowest ? p->first_channel : held.lowest;
    }
    for (size_t i = 0; i < n; i++)
        for (int row = 0; row < pieces[i].n; row++)
            for (int a = 0; a < pieces[i].n_antennas; a++)
                for (int c = 0; c < pieces[i].n_channels; c++)
                    held.is_held[pieces[i].first_channel - held.lowest + c]
                                [pieces[i].first_antenna + a]
                                [time_of_row(&pieces[i], row) - held.first] =
                        true;
    return &held;
}

/** The list of missing samples has each sample that no piece holds once. */
static inline void check_missing(const struct fx8_reader *reader,
                                 const struct held *held)
{
    static unsigned char count[MOST_CHAN][MOST_ANT][MOST_TIME];
    memset(count, 0, sizeof count);
    int64_t last = 0;
    for (size_t i = 0; i < reader->n_missing; i++) {
        const struct fx8_missing *m = &reader->missing[i];
        assert_true(m->first_sample >= last);
        last = m->first_sample;
        assert_true(m->n_samples > 0 && m->polarization == -1);
        assert_true(m->first_sample + m->n_samples <=
                    reader->observation.n_samples);
        for (int c = 0; c < held->n_channels; c++)
            for (int a = 0; a < held->n_antennas; a++)
                if ((m->band < 0 || m->band == c) &&
                    (m->antenna < 0 || m->antenna == a))
                    for (int64_t t = 0; t < m->n_samples; t++)
                        count[c][a][m->first_sample + t]++;
    }
    for (int c = 0; c < held->n_channels; c++)
        for (int a = 0; a < held->n_antennas; a++)
            for (int t = 0; t < held->end - held->first; t++)
                if (count[c][a][t] != (held->is_held[c][a][t] ? 0 : 1))
                    fail_msg("channel %d, antenna %d, sample %d: listed %d "
                             "times, held %d",
                             c, a, t, count[c][a][t], held->is_held[c][a][t]);
}

/** Read [first, first + n) of chosen inputs and compare every sample; samples
 *  in no piece are zero. */
static inline void check_aavs_read(struct fx8_reader *reader,
                                   const struct held *held,
                                   const struct fx8_input_position *inputs,
                                   size_t n_inputs, int64_t first, int64_t n)
{
    ptrdiff_t *offset = (ptrdiff_t *)exact(n_inputs * sizeof *offset);
    struct fx8_sample_layout layout;
    memset(&layout, 0, sizeof layout);
    layout.input_offset = offset;
    int8_t *buffer = read_rows(reader, first, n, &layout);
    for (size_t i = 0; i < n_inputs; i++)
        for (int64_t t = 0; t < n; t++)
            for (int part = 0; part < 2; part++) {
                const int c = (int)inputs[i].band, a = (int)inputs[i].antenna;
                const int at = (int)(first + t);
                const size_t place =
                    (size_t)(offset[i] + t * layout.time_stride) + (size_t)part;
                const int8_t want =
                    held->is_held[c][a][at]
                        ? aavs_sample(held->lowest + c, a,
                                      (int)inputs[i].polarization,
                                      held->first + at, part)
                        : 0;
                if (buffer[place] != want)
                    fail_msg("band %d, antenna %d, pol %zu, sample %d: %d, "
                             "expected %d",
                             c, a, inputs[i].polarization, at, buffer[place],
                             want);
            }
    free(offset);
    free(buffer);
}

/** Everything about a recording: axes, times, frequencies, samples, gaps. */
static inline void check_aavs(struct fx8_reader *reader,
                              const struct held *held)
{
    const struct fx8_observation *o = &reader->observation;
    assert_int_equal(o->n_antennas, held->n_antennas);
    assert_int_equal(o->n_polarizations, 2);
    assert_int_equal(o->n_bands, held->n_channels);
    assert_int_equal(o->n_samples, held->end - held->first);
    assert_true(o->is_complex && o->has_start_time);
    assert_true(o->dc_frequency_hz == held->lowest * 781250.0);
    for (int c = 0; c < held->n_channels && held->n_channels > 1; c++)
        assert_true(o->band_offset_hz[c] == c * 781250.0);
    /* the mean of stamps, each rounded by 0.12 us at most */
    const double start = (double)(o->start_time.unix_s - 1581897600) +
                         (double)o->start_time.picosecond * 1e-12;
    assert_true(fabs(start - (0.5 + held->first / AAVS_RATE_HZ)) < 0.13e-6);
    check_missing(reader, held);
    struct fx8_input_position inputs[MOST_CHAN * MOST_ANT * 2];
    memset(inputs, 0, sizeof inputs);
    size_t n = 0;
    for (int c = 0; c < held->n_channels; c++)
        for (int a = 0; a < held->n_antennas; a++)
            for (int pol = 0; pol < 2; pol++)
                inputs[n++] = (struct fx8_input_position){
                    (size_t)a, (size_t)pol, (size_t)c};
    const int64_t length = o->n_samples;
    /* before inputs are chosen: all of them, bands slowest */
    check_aavs_read(reader, held, inputs, n, 0, length);
    const int64_t ranges[][2] = {
        {0, 1}, {length - 1, 1}, {length / 3, length / 3}, {7, length - 20}};
    struct fx8_error error;
    for (size_t choice = 0; choice < 3; choice++) {
        /* all; every third, backwards; the last antenna alone */
        struct fx8_input_position some[MOST_CHAN * MOST_ANT * 2];
        memset(some, 0, sizeof some);
        size_t n_some = 0;
        if (choice == 0)
            for (size_t i = 0; i < n; i++)
                some[n_some++] = inputs[i];
        if (choice == 1)
            for (size_t i = n; i > 0; i -= i < 3 ? i : 3)
                some[n_some++] = inputs[i - 1];
        if (choice == 2)
            some[n_some++] = inputs[n - 1];
        must(reader->select(reader, some, n_some, &error), error);
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++)
            check_aavs_read(reader, held, some, n_some, ranges[r][0],
                            ranges[r][1]);
    }
}

#endif
