/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_reader_digital_rf.c -- Digital RF recordings: any range of a read; one
 * channel by itself; bad recordings by their message.
 * python/test_digital_rf.py compares every sample and every gap.
 *
 * Shows (recordings, Digital RF): any range reads as the same part of the
 * whole; fill values, gains and rounding follow their definitions; more
 * channels than files may be open work; bad recordings give their message
 * Within: equal
 * In: test_digital_rf_samples.c, test_digital_rf_folders.c
 */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "io/digital_rf/digital_rf_reader.h"
#include "io/reader.h"
#include "validation/digital_rf_file.h"
#include "validation/reader_rows.h"

#define FILE_ROWS 500

enum { N_INPUTS = 4, N_SAMPLES = 5 * FILE_ROWS };

/* --- a recording ------------------------------------------------------- */

static const struct drf_properties properties_a = {
    1000, 1, 500, 1, 1, 2, "1970-01-01T00:00:00Z"};
static const struct drf_properties properties_b = {
    1000, 1, 500, 1, 0, 2, "1970-01-01T00:00:00Z"};

/* File `number` of a channel of two sub-channels: noise with runs of the fill
 * value, or with 100 samples left out. */
static void make_file(const char *channel,
                      const struct drf_properties *properties, hid_t part,
                      size_t number)
{
    static int16_t rows[FILE_ROWS][4];
    int8_t *bytes = (int8_t *)rows;
    struct generator g = {number};
    const bool is_narrow = H5Tget_size(part) == 1;
    const bool is_whole = properties->is_continuous != 0;
    bool is_fill = false;
    for (size_t k = 0; k < LENGTH(rows) * 4; k++) {
        if (k % 4 == 0 && is_whole)
            is_fill = random_below(&g, 8) < (is_fill ? 6 : 1);
        if (is_narrow)
            bytes[k] = is_fill ? INT8_MIN : random_noise(&g, 40);
        else
            rows[k / 4][k % 4] =
                (int16_t)(random_noise(&g, 50) * (k < 99 ? 68 : 17));
    }
    const struct drf_storage storage = {part, 0, false};
    const int64_t ms = DRF_FIRST_MS + 500 * (int64_t)number;
    const uint64_t index[4] = {(uint64_t)ms, 0, (uint64_t)ms + 300, 200};
    drf_put_file(channel, properties, storage, ms, is_whole ? FILE_ROWS : 400,
                 rows, is_whole ? 1 : 2, index);
}

/* "a" in files 0, 1, 3, "b" in 1, 2, 3, 4: one starts late, one ends early,
 * files are absent. */
static void make_tree(void)
{
    drf_make_folder("tree");
    drf_put_properties("tree/a", &properties_a);
    drf_put_properties("tree/b", &properties_b);
    static const size_t files_a[] = {0, 1, 3}, files_b[] = {1, 2, 3, 4};
    for (size_t i = 0; i < 3; i++)
        make_file("tree/a", &properties_a, H5T_NATIVE_INT8, files_a[i]);
    for (size_t i = 0; i < 4; i++)
        make_file("tree/b", &properties_b, H5T_NATIVE_INT16, files_b[i]);
    /* not part of it: an unfinished file, an unrelated one, metadata */
    scratch_text("tree/a/2020-09-13T12-26-40/tmp.rf@1600000001.000.h5", "x");
    scratch_text("tree/a/2020-09-13T12-26-40/rf@1600000001.h5.bak", "x");
    scratch_text("tree/notes.txt", "x");
}

/* The samples that a read found missing. */
static void mark_found(const struct fx8_reader *reader,
                       bool found[N_INPUTS][N_SAMPLES])
{
    memset(found, 0, N_INPUTS * sizeof *found);
    for (size_t k = 0; k < reader->n_found; k++)
        for (int32_t i = 0; i < N_INPUTS; i++)
            if (reader->found[k].antenna < 0 || reader->found[k].antenna == i)
                memset(&found[i][reader->found[k].first_sample], 1,
                       (size_t)reader->found[k].n_samples);
}

TEST(test_any_range)
{
    static bool lost[N_INPUTS][N_SAMPLES], found[N_INPUTS][N_SAMPLES];
    const struct fx8_settings settings = {0};
    const struct fx8_input_position some[] = {{3, 0, 0}, {0, 0, 0}, {3, 0, 0}};
    struct generator g = {54};
    struct fx8_error error;
    ptrdiff_t offset[N_INPUTS], offset_of_all[N_INPUTS];
    make_tree();
    struct fx8_reader *reader = drf_open_tree("tree", &settings);
    const int64_t n_samples = reader->observation.n_samples;
    assert_int_equal(n_samples, N_SAMPLES);
    struct fx8_sample_layout all = {.input_offset = offset_of_all};
    struct fx8_sample_layout layout = {.input_offset = offset};
    int8_t *whole = read_rows(reader, 0, n_samples, &all);
    mark_found(reader, lost);
    assert_true(reader->n_found > 20 && reader->n_clamped > 0);
    must(reader->select(reader, some, LENGTH(some), &error), error);
    for (int round = 0; round < 200; round++) {
        const int64_t first = random_in(&g, 0, n_samples - 1);
        const int64_t most = n_samples - first;
        const int64_t n =
            random_in(&g, 1, round % 2 == 0 || most < 20 ? most : 20);
        int8_t *part = read_rows(reader, first, n, &layout);
        mark_found(reader, found);
        for (size_t k = 0; k < LENGTH(some); k++) {
            const size_t i = some[k].antenna;
            assert_memory_equal(&found[i][first], &lost[i][first], (size_t)n);
            for (int64_t t = 0; t < n; t++)
                assert_memory_equal(part + offset[k] + t * layout.time_stride,
                                    whole + offset_of_all[i] +
                                        (first + t) * all.time_stride,
                                    2);
        }
        free(part);
    }
    free(whole);
    fx8_reader_close(&reader);
}

/* A channel folder alone, of real samples of one sub-channel: one axis. */
TEST(test_one_channel)
{
    const struct drf_properties properties = {
        25000000, 54, 1, 0, 1, 1, "1970-01-01T00:00:00Z"};
    drf_put_properties("one", &properties);
    const struct fx8_rate rate = {12500000, 27};
    const int64_t first = fx8_drf_first_index(rate, DRF_FIRST_MS);
    const int64_t end = fx8_drf_first_index(rate, DRF_FIRST_MS + 1);
    int8_t rows[512];
    for (int i = 0; i < 512; i++)
        rows[i] = (int8_t)(i % 250 - 125);
    const struct drf_storage storage = {H5T_NATIVE_INT8, 0, false};
    const uint64_t index[2] = {(uint64_t)first, 0};
    drf_put_file("one", &properties, storage, DRF_FIRST_MS,
                 (hsize_t)(end - first), rows, 1, index);
    const struct fx8_settings settings = {.input.format =
                                              FX8_FORMAT_DIGITAL_RF};
    struct fx8_reader *reader = drf_open_tree("one", &settings);
    const struct fx8_observation *o = &reader->observation;
    assert_false(o->is_complex);
    assert_false(reader->is_16bit);
    assert_int_equal(o->n_antennas, 1);
    assert_int_equal(o->n_samples, end - first);
    assert_int_equal(o->sample_rate.numerator_hz, 12500000);
    assert_int_equal(o->sample_rate.denominator, 27);
    /* first = 740740740740741 samples of 2.16 us: 560 ns after the second */
    assert_int_equal(o->start_time.unix_s, 1600000000);
    assert_int_equal(o->start_time.picosecond, 560000);
    int8_t buffer[512];
    ptrdiff_t offset;
    struct fx8_sample_layout layout = {.input_offset = &offset};
    struct fx8_error error;
    must(reader->read(reader, 5, 100, buffer, &layout, &error), error);
    assert_memory_equal(buffer + offset, rows + 5, 100);
    assert_int_equal(reader->n_found, 0);
    assert_int_equal(reader->n_missing, 0);
    fx8_reader_close(&reader);
}

/* --- faults ------------------------------------------------------------ */

static void refuse_tree(const char *name, const struct fx8_settings *settings,
                        enum fx8_status status, const char *part)
{
    const char *path = scratch_path(name);
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    must_fail_with(fx8_reader_open(&path, 1, settings, &reader, &error), error,
                   status, part);
    assert_null(reader);
}

/* A channel with one file; index rows as given. */
static void make_one(const struct drf_properties *properties, hid_t part,
                     hsize_t n_rows, hsize_t n_index, const uint64_t *index)
{
    static double rows[4 * FILE_ROWS];
    const struct drf_storage storage = {part, 0, false};
    drf_put_properties("bad", properties);
    drf_put_file("bad", properties, storage, DRF_FIRST_MS, n_rows, rows,
                 n_index, index);
}

TEST(test_bad_properties)
{
    static const struct {
        struct drf_properties properties;
        const char *expected;
    } cases[] = {
        {{0, 1, 500, 1, 1, 1, "1970-01-01T00:00:00Z"},
         "sample_rate_numerator: 0: expected"},
        {{1000, 0, 500, 1, 1, 1, "1970-01-01T00:00:00Z"},
         "sample_rate_denominator: 0: expected"},
        {{1000, 1000003, 500, 1, 1, 1, "1970-01-01T00:00:00Z"},
         "sample_rate_denominator: 1000003 in lowest terms: expected at most"},
        {{1000, 1, 0, 1, 1, 1, "1970-01-01T00:00:00Z"},
         "file_cadence_millisecs: 0: expected"},
        {{1000, 1, 500, 2, 1, 1, "1970-01-01T00:00:00Z"},
         "is_complex: 2: expected"},
        {{1000, 1, 500, 1, -1, 1, "1970-01-01T00:00:00Z"},
         "is_continuous: -1: expected"},
        {{1000, 1, 500, 1, 1, 0, "1970-01-01T00:00:00Z"},
         "num_subchannels: 0: expected"},
        {{1000, 1, 500, 1, 1, 1, "the beginning"},
         "epoch: the beginning: expected"},
    };
    const struct fx8_settings settings = {0};
    const uint64_t index[2] = {(uint64_t)DRF_FIRST_MS, 0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_one(&drf_usual, H5T_NATIVE_INT8, FILE_ROWS, 1, index);
        drf_put_properties("bad", &cases[i].properties);
        refuse_tree("bad", &settings, FX8_ERR_INPUT, cases[i].expected);
    }
    make_one(&drf_usual, H5T_NATIVE_INT8, FILE_ROWS, 1, index);
    assert_int_equal(unlink(scratch_path("bad/drf_properties.h5")), 0);
    refuse_tree("bad", &settings, FX8_ERR_INPUT,
                "bad/drf_properties.h5: No such file");
}

TEST(test_bad_files)
{
    const uint64_t good = (uint64_t)DRF_FIRST_MS;
    const struct {
        hid_t part;
        hsize_t n_rows, n_index;
        uint64_t index[4];
        const char *expected;
    } cases[] = {
        {H5T_NATIVE_FLOAT,
         FILE_ROWS,
         1,
         {good, 0},
         "rf_data: compound {r: float32, i: float32}: expected compound {r, i} "
         "of int8 or int16"},
        {H5T_NATIVE_INT32, FILE_ROWS, 1, {good, 0}, "{r: int32, i: int32}"},
        {H5T_NATIVE_UINT8, FILE_ROWS, 1, {good, 0}, "{r: uint8, i: uint8}"},
        {H5T_NATIVE_INT8, FILE_ROWS, 1, {good, 1}, "rf_data_index: row 0: "},
        {H5T_NATIVE_INT8,
         FILE_ROWS,
         1,
         {good + 2, 0},
         "rf_data_index: row 0: "},
        {H5T_NATIVE_INT8,
         FILE_ROWS,
         1,
         {good - 2, 0},
         "rf_data_index: row 0: "},
        {H5T_NATIVE_INT8, FILE_ROWS, 1, {INT64_MAX, 0}, "row 0: sample 92233"},
        {H5T_NATIVE_INT8, FILE_ROWS, 1, {UINT64_MAX, 0}, "expected at most"},
        {H5T_NATIVE_INT8, 2 * FILE_ROWS, 1, {good, 0}, "in 1000 rows"},
        {H5T_NATIVE_INT8, 100, 2, {good, 0, good + 40, 50}, "row 1: "},
        {H5T_NATIVE_INT8, 100, 2, {good, 0, good + 200, 0}, "row 0: "},
        {H5T_NATIVE_INT8, 100, 2, {good, 0, good + 200, 100}, "row 1: "},
        {H5T_NATIVE_INT8, 100, 2, {good, 0, good + 200, INT64_MAX}, "row 0: "},
        {H5T_NATIVE_INT8, 1, 2, {good, 0, good + 200, 1}, "2 rows: expected"},
        {H5T_NATIVE_INT8, 100, 0, {0}, "0 rows: expected"},
    };
    const struct fx8_settings settings = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_one(&drf_usual, cases[i].part, cases[i].n_rows, cases[i].n_index,
                 cases[i].index);
        refuse_tree("bad", &settings, FX8_ERR_INPUT, cases[i].expected);
    }
    /* sub-channels that are not in the properties */
    struct drf_properties other = drf_usual;
    other.n_subchannels = 2;
    const uint64_t index[2] = {good, 0};
    make_one(&other, H5T_NATIVE_INT8, FILE_ROWS, 1, index);
    drf_put_properties("bad", &drf_usual);
    refuse_tree("bad", &settings, FX8_ERR_INPUT,
                "rf_data: 2 axes, 500 x 2: expected rows of 1 sub-channel");
    /* a gain that is not needed, two polarisations of one input */
    make_one(&drf_usual, H5T_NATIVE_INT8, FILE_ROWS, 1, index);
    const struct fx8_settings scaled = {.input.scale_to_8bit = 0.5};
    refuse_tree("bad", &scaled, FX8_ERR_USAGE,
                "input.scale_to_8bit: expected auto");
    const struct fx8_settings dual = {.array.polarizations = 2};
    refuse_tree("bad", &dual, FX8_ERR_USAGE,
                "array.polarizations: expected 1, since ");
}

/* A file that is cut, one that is damaged, one that is of another kind, all
 * found while reading. */
TEST(test_faults_while_reading)
{
    const struct fx8_settings settings = {0};
    struct fx8_error error;
    int8_t *buffer = exact(2 * N_SAMPLES * N_INPUTS);
    ptrdiff_t offset[N_INPUTS];
    struct fx8_sample_layout layout = {.input_offset = offset};
    static const char *const middle =
        "tree/a/2020-09-13T12-26-40/rf@1600000000.500.h5";
    make_tree();
    struct fx8_reader *reader = drf_open_tree("tree", &settings);
    must(reader->read(reader, 500, 100, buffer, &layout, &error), error);
    assert_int_equal(truncate(scratch_path(middle), 3000), 0);
    must_fail_with(reader->read(reader, 600, 50, buffer, &layout, &error),
                   error, FX8_ERR_INPUT, "the file has shrunk from ");
    fx8_reader_close(&reader);
    reader = drf_open_tree("tree", &settings);
    must_fail_with(reader->read(reader, 400, 200, buffer, &layout, &error),
                   error, FX8_ERR_INPUT, "rf@1600000000.500.h5: ");
    fx8_reader_close(&reader);
    make_file("tree/a", &properties_a, H5T_NATIVE_INT16, 1);
    reader = drf_open_tree("tree", &settings);
    must_fail_with(reader->read(reader, 400, 200, buffer, &layout, &error),
                   error, FX8_ERR_INPUT,
                   "rf_data: compound {r: int16, i: int16}: expected compound "
                   "{r, i} of int8 as in the channel's first file");
    fx8_reader_close(&reader);
    free(buffer);
}

TEST(test_bad_folders)
{
    const struct fx8_settings settings = {0};
    drf_make_folder("empty");
    const struct fx8_settings forced = {.input.format = FX8_FORMAT_DIGITAL_RF};
    refuse_tree("empty", &forced, FX8_ERR_INPUT, "no channels: expected");
    make_tree();
    drf_make_folder("tree/a/2020-09-13T12-26-42");
    assert_int_equal(
        link(scratch_path("tree/a/2020-09-13T12-26-40/rf@1600000000.500.h5"),
             scratch_path("tree/a/2020-09-13T12-26-42/rf@1600000000.500.h5")),
        0);
    refuse_tree("tree", &settings, FX8_ERR_INPUT,
                "rf@1600000000.500.h5: twice: expected one");
    const char *both[] = {scratch_path("tree/a"), scratch_path("tree/b")};
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    must_fail_with(fx8_reader_open(both, 2, &settings, &reader, &error), error,
                   FX8_ERR_USAGE,
                   "input.files: 2 files: expected one, the folder");
}
