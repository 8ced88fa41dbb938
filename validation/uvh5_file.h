/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uvh5_file.h -- a UVH5 header of a small array, dumps of known values, and a
 * check that a file holds them.
 */
#ifndef FX8_VALIDATION_UVH5_FILE_H
#define FX8_VALIDATION_UVH5_FILE_H

#include "config/base/read_files.h"
#include "io/uvh5/uvh5.h"
#include "validation/scratch.h"
#include "validation/testing.h"

enum { N_STATIONS = 4, N_BL = 10, MAX_CHAN = 300, MAX_TIMES = 4000 };

/** Memory of a header: four antennas on the ground at Murchison. */
struct fixture {
    struct fx8_uvh5_header header;
    int64_t numbers[N_STATIONS];
    char names[N_STATIONS][64];
    double positions[N_STATIONS][3];
    int64_t ant_1[N_BL];
    int64_t ant_2[N_BL];
    double uvw[N_BL][3];
    struct fx8_time times[MAX_TIMES];
    double lst[MAX_TIMES];
    double integration_s[MAX_TIMES];
    double frequencies[MAX_CHAN];
    double widths[MAX_CHAN];
    char history[64];
    struct fx8_keyword keywords[3];
};

/** Four antennas with odd numbers, and all pairs including autos. */
static inline void fill_array(struct fixture *f)
{
    static const double enu[N_STATIONS][3] = {
        {0, 0, 0}, {100, 10, 1}, {-30, 250, -2}, {400, -90, 0.5}};
    size_t baseline = 0;
    for (size_t i = 0; i < N_STATIONS; i++) {
        f->numbers[i] = (int64_t)(2 * i + 1);
        snprintf(f->names[i], sizeof f->names[i], "ANT%03zu", 2 * i + 1);
        for (size_t k = 0; k < 3; k++)
            f->positions[i][k] = enu[i][k];
        for (size_t j = i; j < N_STATIONS; j++, baseline++) {
            f->ant_1[baseline] = (int64_t)(2 * i + 1);
            f->ant_2[baseline] = (int64_t)(2 * j + 1);
            for (size_t k = 0; k < 3; k++)
                f->uvw[baseline][k] = enu[j][k] - enu[i][k];
        }
    }
}

static inline void fill_axes(struct fixture *f, size_t n_times,
                             size_t n_channels)
{
    for (size_t t = 0; t < n_times; t++) {
        f->times[t] =
            (struct fx8_time){1567105200 + 2 * (int64_t)t, 250000000000};
        f->lst[t] = 1.0 + 1e-4 * (double)t;
        f->integration_s[t] = t + 1 < n_times ? 2.0 : 1.25;
    }
    for (size_t c = 0; c < n_channels; c++) {
        f->frequencies[c] = 150e6 + 1e4 * (double)c;
        f->widths[c] = 1e4;
    }
}

/** A header of n_times dumps [N_BL][n_channels][n_products] in `f`. */
static inline void fill(struct fixture *f, size_t n_times, size_t n_channels,
                        size_t n_products)
{
    memset(f, 0, sizeof *f);
    fill_array(f);
    fill_axes(f, n_times, n_channels);
    f->keywords[0] = (struct fx8_keyword){
        .name = "FX8VERS", .type = FX8_KEYWORD_TEXT, .text = "0.1"};
    f->keywords[1] = (struct fx8_keyword){
        .name = "NTAPS", .type = FX8_KEYWORD_INTEGER, .integer = 8};
    f->keywords[2] = (struct fx8_keyword){
        .name = "CLIPMAX", .type = FX8_KEYWORD_REAL, .real = 0.25};
    strcpy(f->history, "made by a test\nof two lines");
    f->header = (struct fx8_uvh5_header){
        .telescope = "test array",
        .instrument = "fx8",
        .x_orientation = "east",
        .site = {-26.7, 116.67, 377.8},
        .n_antennas = N_STATIONS,
        .antenna_numbers = f->numbers,
        .antenna_names = f->names,
        .antenna_positions_m = f->positions[0],
        .n_baselines = N_BL,
        .ant_1 = f->ant_1,
        .ant_2 = f->ant_2,
        .uvw_m = f->uvw[0],
        .n_times = n_times,
        .times = f->times,
        .integration_s = f->integration_s,
        .apparent_lst_rad = f->lst,
        .n_channels = n_channels,
        .frequencies_hz = f->frequencies,
        .channel_widths_hz = f->widths,
        .n_products = n_products,
        .products = {-5, -6, -7, -8},
        .history = f->history,
        .keywords = f->keywords,
        .n_keywords = LENGTH(f->keywords),
    };
}

/** Value of element i of dump d; exact in float. */
static inline float value(size_t d, size_t i)
{
    return (float)((int)((d * 7919 + i * 104729) % 65521) - 32760);
}

static inline uint8_t flag(size_t d, size_t i)
{
    return (d + i) % 3 == 0;
}

static inline float weight(size_t d, size_t i)
{
    return (float)((d + i) % 5) / 4;
}

static inline struct fx8_result make_dump(const struct fx8_uvh5_header *h,
                                          size_t d)
{
    const size_t n = h->n_baselines * h->n_channels * h->n_products;
    struct fx8_result dump = {exact(2 * n * sizeof(float)), exact(n),
                              exact(n * sizeof(float))};
    for (size_t i = 0; i < n; i++) {
        dump.visibilities[2 * i] = value(d, 2 * i);
        dump.visibilities[2 * i + 1] = value(d, 2 * i + 1);
        dump.flags[i] = flag(d, i);
        dump.nsamples[i] = weight(d, i);
    }
    return dump;
}

static inline void free_dump(struct fx8_result *dump)
{
    free(dump->visibilities);
    free(dump->flags);
    free(dump->nsamples);
}

static inline void write_dump(struct fx8_uvh5_writer *writer,
                              const struct fx8_uvh5_header *h, size_t d)
{
    struct fx8_result dump = make_dump(h, d);
    struct fx8_error error;
    must(fx8_uvh5_write_dump(writer, d, &dump, &error), error);
    free_dump(&dump);
}

static inline struct fx8_uvh5_writer *create(const char *name,
                                             const struct fx8_uvh5_header *h,
                                             enum fx8_compression compression)
{
    struct fx8_uvh5_writer *writer = NULL;
    struct fx8_error error;
    fx8_read_files_forget(); /* an earlier case may have read this name */
    must(fx8_uvh5_create(scratch_path(name), true, h, compression, &writer,
                         &error),
         error);
    return writer;
}

/** Dumps [0, n_written) as written, the others flagged with weight 0. */
static inline void check_file(const char *name, const struct fx8_uvh5_header *h,
                              size_t n_times, size_t n_written)
{
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header read;
    struct fx8_error error;
    must(fx8_uvh5_open(scratch_path(name), &file, &read, &error), error);
    assert_int_equal(read.n_times, n_times);
    assert_int_equal(read.n_baselines, h->n_baselines);
    assert_int_equal(read.n_channels, h->n_channels);
    assert_int_equal(read.n_products, h->n_products);
    const size_t n = h->n_baselines * h->n_channels * h->n_products;
    double *visibilities = exact(2 * n * sizeof(double));
    uint8_t *flags = exact(n);
    float *nsamples = exact(n * sizeof(float));
    for (size_t d = 0; d < n_times; d++) {
        memset(visibilities, 0x5a, 2 * n * sizeof(double));
        memset(flags, 0x5a, n);
        memset(nsamples, 0x5a, n * sizeof(float));
        must(fx8_uvh5_read_rows(file, d * h->n_baselines, h->n_baselines,
                                visibilities, flags, nsamples, &error),
             error);
        for (size_t i = 0; i < n; i++) {
            const bool written = d < n_written;
            for (size_t part = 0; part < 2; part++)
                assert_true(visibilities[2 * i + part] ==
                            (written ? (double)value(d, 2 * i + part) : 0));
            assert_int_equal(flags[i], written ? flag(d, i) : 1);
            assert_true(nsamples[i] == (written ? weight(d, i) : 0));
        }
    }
    free(visibilities);
    free(flags);
    free(nsamples);
    fx8_uvh5_header_clear(&read);
    fx8_uvh5_file_close(&file);
    assert_null(file);
}

#endif
