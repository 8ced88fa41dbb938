/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_reader_digital_rf.c -- Digital RF recordings: every sample and every
 * missing sample against a plain model, for any range of a read; bad recordings
 * by their message.
 *
 * Shows (recordings, Digital RF): every sample, missing sample and clamped
 *     number agrees with a plain model, for any range of a read; fill values,
 *     gains and rounding follow their definitions; more channels than files may
 *     be open work; bad recordings give their message
 * Within: equal
 * In: test_digital_rf_samples.c, test_digital_rf_folders.c
 */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "io/digital_rf/digital_rf_reader.h"
#include "io/reader.h"
#include "validation/digital_rf_file.h"
#include "validation/digital_rf_plain.h"
#include "validation/reader_rows.h"

#define FILE_ROWS 500

enum { N_INPUTS = 4, N_FILES = 5, N_SAMPLES = N_FILES * FILE_ROWS };

/* --- a recording and its model ----------------------------------------- */

/* The recording: inputs 0, 1 are sub-channels of "a", complex int8 with the
 * fill value where samples are missing; 2, 3 are of "b", int16 with gaps left
 * out. */
struct model {
    int16_t value[N_INPUTS][N_SAMPLES][2];
    bool valid[N_INPUTS][N_SAMPLES];
};

static struct model model;

static const struct drf_properties properties_a = {
    1000, 1, 500, 1, 1, 2, "1970-01-01T00:00:00Z"};
static const struct drf_properties properties_b = {
    1000, 1, 500, 1, 0, 2, "1970-01-01T00:00:00Z"};

/* File `number` of "a": noise, with runs of the fill value here and there. */
static void make_a(struct generator *generator, size_t number)
{
    int8_t rows[FILE_ROWS][2][2];
    bool is_fill[FILE_ROWS] = {false};
    for (int run = 0; run < 30; run++) {
        const size_t length = 1 + random_below(generator, run == 0 ? 90 : 4);
        size_t first = random_below(generator, FILE_ROWS - length);
        if (run == 1)
            first = 0;
        if (run == 2)
            first = FILE_ROWS - length;
        for (size_t i = first; i < first + length; i++)
            is_fill[i] = true;
    }
    for (size_t i = 0; i < FILE_ROWS; i++)
        for (size_t s = 0; s < 2; s++)
            for (size_t part = 0; part < 2; part++)
                rows[i][s][part] =
                    is_fill[i] ? INT8_MIN
                               : (int8_t)random_in(generator, -127, 127);
    for (size_t i = 0; i < FILE_ROWS; i++)
        for (size_t s = 0; s < 2; s++) {
            const size_t t = number * FILE_ROWS + i;
            model.valid[s][t] =
                !plain_fill(is_fill, FILE_ROWS, i, 2, true, true);
            for (size_t part = 0; part < 2; part++)
                model.value[s][t][part] = rows[i][s][part];
        }
    const struct drf_storage storage = {H5T_NATIVE_INT8, 0, false};
    const int64_t ms = DRF_FIRST_MS + 500 * (int64_t)number;
    const uint64_t index[2] = {(uint64_t)ms, 0};
    drf_put_file("tree/a", &properties_a, storage, ms, FILE_ROWS, rows, 1,
                 index);
}

/* File `number` of "b": samples with gaps between them. */
static void make_b(struct generator *generator, size_t number)
{
    int16_t rows[FILE_ROWS][2][2];
    uint64_t index[FILE_ROWS][2];
    const int64_t ms = DRF_FIRST_MS + 500 * (int64_t)number;
    size_t n_rows = 0, n_index = 0;
    size_t t = number * FILE_ROWS;
    const size_t end = t + FILE_ROWS;
    while (t < end) {
        const size_t length = 1 + random_below(generator, 120);
        const size_t gap = random_below(generator, 60);
        index[n_index][0] = (uint64_t)DRF_FIRST_MS + t;
        index[n_index++][1] = n_rows;
        for (size_t i = 0; i < length && t < end; i++, t++, n_rows++)
            for (size_t s = 0; s < 2; s++) {
                model.valid[2 + s][t] = true;
                for (size_t part = 0; part < 2; part++)
                    rows[n_rows][s][part] = model.value[2 + s][t][part] =
                        (int16_t)(random_noise(generator, 50) *
                                  (t < 1900 ? 4 : 1) * (s == 0 ? 17 : 3));
            }
        t += gap;
    }
    const struct drf_storage storage = {H5T_NATIVE_INT16, 64, true};
    drf_put_file("tree/b", &properties_b, storage, ms, n_rows, rows, n_index,
                 index[0]);
}

/* "a" in files 0, 1, 3, "b" in 1, 2, 3, 4: one starts late, one ends early,
 * files are absent. */
static void make_tree(void)
{
    struct generator generator = {53};
    memset(&model, 0, sizeof model);
    drf_make_folder("tree");
    drf_put_properties("tree/a", &properties_a);
    drf_put_properties("tree/b", &properties_b);
    static const size_t files_a[] = {0, 1, 3}, files_b[] = {1, 2, 3, 4};
    for (size_t i = 0; i < 3; i++)
        make_a(&generator, files_a[i]);
    for (size_t i = 0; i < 4; i++)
        make_b(&generator, files_b[i]);
    /* not part of it: an unfinished file, an unrelated one, metadata */
    scratch_text("tree/a/2020-09-13T12-26-40/tmp.rf@1600000001.000.h5", "x");
    scratch_text("tree/a/2020-09-13T12-26-40/rf@1600000001.h5.bak", "x");
    scratch_text("tree/notes.txt", "x");
}

/* Last sample present in the model, plus one. */
static size_t model_end(void)
{
    size_t end = 0;
    for (size_t input = 0; input < N_INPUTS; input++)
        for (size_t t = 0; t < N_SAMPLES; t++)
            if (model.valid[input][t] && t + 1 > end)
                end = t + 1;
    return end;
}

/* Gain of an input by its definition, from sample `first` on. */
static int model_shift(size_t input, size_t first)
{
    static int16_t values[2 * N_SAMPLES];
    size_t n = 0;
    if (input < 2)
        return 0;
    for (size_t t = first; t < N_SAMPLES; t++)
        for (size_t part = 0; part < 2 && model.valid[input][t]; part++)
            values[n++] = model.value[input][t][part];
    return plain_shift(values, n);
}

static void mark(bool *marks, const struct fx8_missing *gaps, size_t n,
                 const struct fx8_input_position *input)
{
    for (size_t i = 0; i < n; i++)
        if ((gaps[i].antenna < 0 ||
             (size_t)gaps[i].antenna == input->antenna) &&
            (gaps[i].polarization < 0 ||
             (size_t)gaps[i].polarization == input->polarization))
            for (int64_t t = 0; t < gaps[i].n_samples; t++)
                marks[gaps[i].first_sample + t] = true;
}

/* Read a range; compare every sample, every missing one, every clamped number.
 */
static void check_range(struct fx8_reader *reader,
                        const struct fx8_input_position *inputs,
                        size_t n_inputs, const int *shifts, int64_t first,
                        int64_t n)
{
    const size_t n_pols = reader->observation.n_polarizations;
    ptrdiff_t offset[8];
    struct fx8_sample_layout layout = {.input_offset = offset};
    int8_t *buffer = read_rows(reader, first, n, &layout);
    int64_t n_clamped = 0;
    for (size_t i = 0; i < n_inputs; i++) {
        const size_t input =
            inputs[i].antenna * n_pols + inputs[i].polarization;
        bool found[N_SAMPLES] = {false};
        mark(found, reader->found, reader->n_found, &inputs[i]);
        for (int64_t t = first; t < first + n; t++) {
            assert_int_equal(found[t], !model.valid[input][t]);
            const int8_t *at =
                buffer + offset[i] + (t - first) * layout.time_stride;
            for (size_t part = 0; part < 2; part++) {
                const double value =
                    rint(ldexp(model.value[input][t][part], -shifts[input]));
                const bool is_clamped = input >= 2 && fabs(value) > 127;
                n_clamped += model.valid[input][t] && is_clamped;
                const double most = is_clamped ? copysign(127, value) : value;
                const int expected = model.valid[input][t] ? (int)most : 0;
                assert_int_equal(at[part], expected);
            }
        }
    }
    assert_int_equal(reader->n_clamped, n_clamped);
    free(buffer);
}

static void check_tree(const struct fx8_settings *settings, size_t n_pols,
                       size_t first_level)
{
    struct fx8_reader *reader = drf_open_tree("tree", settings);
    const struct fx8_observation *o = &reader->observation;
    const int64_t n_samples = (int64_t)model_end();
    assert_true(o->is_complex);
    assert_true(reader->is_16bit);
    assert_int_equal(o->n_polarizations, n_pols);
    assert_int_equal(o->n_antennas, N_INPUTS / n_pols);
    assert_int_equal(o->n_samples, n_samples);
    assert_int_equal(o->start_time.unix_s, 1600000000);
    assert_int_equal(o->start_time.picosecond, 0);
    assert_int_equal(o->sample_rate.numerator_hz, 1000);
    assert_true(isnan(o->dc_frequency_hz));
    int shifts[N_INPUTS];
    struct fx8_input_position all[N_INPUTS];
    for (size_t i = 0; i < N_INPUTS; i++) {
        all[i] = (struct fx8_input_position){i / n_pols, i % n_pols, 0};
        shifts[i] = settings->input.scale_to_8bit > 0
                        ? (i < 2 ? 0 : -ilogb(settings->input.scale_to_8bit))
                        : model_shift(i, first_level);
        /* gaps listed before anything is read contain no recorded sample */
        bool listed[N_SAMPLES] = {false};
        mark(listed, reader->missing, reader->n_missing, &all[i]);
        for (int64_t t = 0; t < n_samples; t++)
            assert_false(listed[t] && model.valid[i][t]);
        assert_int_equal(listed[2 * FILE_ROWS + 7], i < 2); /* absent file */
        assert_int_equal(listed[FILE_ROWS - 1], i >= 2); /* before it starts */
    }
    /* before any choice: all inputs */
    check_range(reader, all, N_INPUTS, shifts, 3, 999);
    const struct fx8_input_position some[] = {all[3], all[0], all[3]};
    struct fx8_error error;
    must(reader->select(reader, some, 3, &error), error);
    assert_true(reader->input_gain[0] == ldexp(1, -shifts[3]));
    assert_true(reader->input_gain[1] == 1);
    assert_true(reader->input_gain[2] == ldexp(1, -shifts[3]));
    check_range(reader, some, 3, shifts, 0, n_samples);
    struct generator generator = {54};
    for (int round = 0; round < 200; round++) {
        const int64_t first = random_in(&generator, 0, n_samples - 1);
        const int64_t most = n_samples - first;
        const int64_t n =
            random_in(&generator, 1, round % 2 == 0 || most < 20 ? most : 20);
        check_range(reader, some, 3, shifts, first, n);
    }
    fx8_reader_close(&reader);
}

TEST(test_every_sample)
{
    make_tree();
    struct fx8_settings settings = {0};
    check_tree(&settings, 1, 0);
    settings.array.polarizations = 2;
    check_tree(&settings, 2, 0);
    settings.input.scale_to_8bit = 1.0 / 32;
    check_tree(&settings, 2, 0);
    settings =
        (struct fx8_settings){.input.start_s = 1.9, .input.duration_s = 0.2};
    check_tree(&settings, 1, 1900);
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
    const struct drf_storage wide = {H5T_NATIVE_INT16, 0, false};
    const uint64_t index[2] = {(uint64_t)DRF_FIRST_MS + 500, 0};
    static const int16_t rows[FILE_ROWS][2][2] = {{{1}}};
    drf_put_file("tree/a", &properties_a, wide, DRF_FIRST_MS + 500, FILE_ROWS,
                 rows, 1, index);
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
    refuse_tree("empty", &settings, FX8_ERR_INPUT,
                "folder of an unknown format: expected one of ");
    const struct fx8_settings forced = {.input.format = FX8_FORMAT_DIGITAL_RF};
    refuse_tree("empty", &forced, FX8_ERR_INPUT, "no channels: expected");
    drf_put_properties("empty/ch", &drf_usual);
    refuse_tree("empty", &settings, FX8_ERR_INPUT, "ch: rf@*.h5: none");
    make_tree();
    struct drf_properties other = properties_b;
    other.numerator = 2000;
    drf_put_properties("tree/b", &other);
    refuse_tree("tree", &settings, FX8_ERR_INPUT,
                "sample_rate_numerator: 2000/1 Hz: expected 1000/1 Hz as in");
    drf_put_properties("tree/b", &properties_b);
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
