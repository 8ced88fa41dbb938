/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_reader_digital_rf.c -- Digital RF recordings: any range of a read; one
 * channel by itself, and more channels than files may be open; metadata beside
 * the samples; bad recordings by their message.
 * python/test_digital_rf.py compares every sample and every gap.
 *
 * Shows (recordings, Digital RF): any range reads as the same part of the
 * whole; fill values, gains and rounding follow their definitions; more
 * channels than files may be open work; bad recordings give their message
 * Within: equal
 * In: test_digital_rf_samples.c, test_hostile.c
 */
#include <unistd.h>

#include "io/digital_rf/digital_rf_reader.h"
#include "validation/digital_rf_file.h"
#include "validation/disk_limit.h"
#include "validation/reader_calls.h"

#define FILE_ROWS DRF_FILE_ROWS

enum { N_INPUTS = 4, N_SAMPLES = 5 * FILE_ROWS };

/* --- a recording ------------------------------------------------------- */

static const struct drf_properties properties_a = {1000, 1, 500, 1, 1, 2};
static const struct drf_properties properties_b = {1000, 1, 500, 1, 0, 2};

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
    mkdir(scratch_path("tree"), 0700);
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

static int8_t whole[N_INPUTS][N_SAMPLES][2];

static int8_t whole_sample(const struct fx8_input_position *input, int64_t t,
                           int part)
{
    return whole[input->antenna][t][part];
}

TEST(test_any_range)
{
    static bool lost[N_INPUTS][N_SAMPLES], found[N_INPUTS][N_SAMPLES];
    const struct fx8_input_position some[] = {{3, 0, 0}, {0, 0, 0}, {3, 0, 0}};
    struct generator g = {54};
    struct fx8_error error;
    ptrdiff_t offset[N_INPUTS];
    struct fx8_sample_layout layout = {.input_offset = offset};
    make_tree();
    struct fx8_reader *reader = open_recording("tree", NULL);
    assert_int_equal(reader->observation.n_samples, N_SAMPLES);
    int8_t *buffer = read_rows(reader, 0, N_SAMPLES, &layout);
    for (size_t i = 0; i < N_INPUTS; i++)
        for (ptrdiff_t t = 0; t < N_SAMPLES; t++)
            memcpy(whole[i][t], buffer + offset[i] + t * layout.time_stride, 2);
    free(buffer);
    mark_found(reader, lost);
    assert_true(reader->n_found > 20 && reader->n_clamped > 0);
    must(reader->select(reader, some, LENGTH(some), &error), error);
    for (int round = 0; round < 200; round++) {
        const int64_t first = random_in(&g, 0, N_SAMPLES - 1);
        const int64_t most = N_SAMPLES - first;
        const int64_t n =
            random_in(&g, 1, round % 2 == 0 || most < 20 ? most : 20);
        check_samples(reader, some, LENGTH(some), first, n, whole_sample);
        mark_found(reader, found);
        for (size_t k = 0; k < LENGTH(some); k++)
            assert_memory_equal(&found[some[k].antenna][first],
                                &lost[some[k].antenna][first], (size_t)n);
    }
    fx8_reader_close(&reader);
}

/* A channel of one file of int8, in which rows begin at sample `first`. */
static void put_bytes(const char *channel,
                      const struct drf_properties *properties, int64_t first,
                      hsize_t n_rows, const int8_t *rows)
{
    const struct drf_storage storage = {H5T_NATIVE_INT8, 0, false};
    const uint64_t index[2] = {(uint64_t)first, 0};
    drf_put_properties(channel, properties);
    drf_put_file(channel, properties, storage, DRF_FIRST_MS, n_rows, rows, 1,
                 index);
}

/* A channel folder alone, of real samples of one sub-channel: one axis. */
TEST(test_one_channel)
{
    const struct drf_properties properties = {25000000, 54, 1, 0, 1, 1};
    const struct fx8_rate rate = {12500000, 27};
    const int64_t first = fx8_drf_first_index(rate, DRF_FIRST_MS);
    const int64_t end = fx8_drf_first_index(rate, DRF_FIRST_MS + 1);
    int8_t rows[512];
    for (int i = 0; i < 512; i++)
        rows[i] = (int8_t)(i % 250 - 125);
    put_bytes("one", &properties, first, (hsize_t)(end - first), rows);
    const struct fx8_settings settings = {.input.format =
                                              FX8_FORMAT_DIGITAL_RF};
    struct fx8_reader *reader = open_recording("one", &settings);
    const struct fx8_observation *o = &reader->observation;
    assert_string_equal(reader->format->name, "digital_rf");
    assert_false(o->is_complex);
    assert_false(reader->is_16bit);
    assert_int_equal(o->n_antennas, 1);
    assert_int_equal(o->n_samples, end - first);
    assert_int_equal(o->sample_rate.numerator_hz, 12500000);
    assert_int_equal(o->sample_rate.denominator, 27);
    /* first = 740740740740741 samples of 2.16 us: 560 ns after the second */
    assert_int_equal(o->start_time.unix_s, 1600000000);
    assert_int_equal(o->start_time.picosecond, 560000);
    ptrdiff_t offset;
    struct fx8_sample_layout layout = {.input_offset = &offset};
    int8_t *buffer = read_rows(reader, 5, 100, &layout);
    assert_memory_equal(buffer + offset, rows + 5, 100);
    free(buffer);
    assert_int_equal(reader->n_found, 0);
    assert_int_equal(reader->n_missing, 0);
    fx8_reader_close(&reader);
}

/* More channels than files may be open: files are closed and reopened. */
TEST(test_many_channels)
{
    enum { MANY = 260, MOST_OPEN = 100 };
    const struct drf_properties properties = {1000, 1, 10, 0, 1, 1};
    mkdir(scratch_path("many"), 0700);
    for (int c = 0; c < MANY; c++) {
        char name[32];
        int8_t rows[10];
        memset(rows, c % 100 + 1, sizeof rows);
        snprintf(name, sizeof name, "many/%03d", c);
        put_bytes(name, &properties, DRF_FIRST_MS, 10, rows);
    }
    limit_open_files(MOST_OPEN);
    struct fx8_reader *reader = open_recording("many", NULL);
    assert_int_equal(reader->observation.n_antennas, MANY);
    int8_t buffer[MANY * 10];
    ptrdiff_t offset[MANY];
    struct fx8_sample_layout layout = {.input_offset = offset};
    struct fx8_error error;
    for (int64_t first = 0; first < 10; first += 5) {
        must(reader->read(reader, first, 5, buffer, &layout, &error), error);
        for (int c = 0; c < MANY; c++)
            assert_int_equal(buffer[offset[c] + 4], c % 100 + 1);
    }
    fx8_reader_close(&reader);
    limit_open_files(RLIM_INFINITY);
}

/* Write half a second of samples, with two frequencies in the metadata. */
static void note(double first, double second, uint64_t second_entry)
{
    static const int8_t rows[2 * FILE_ROWS];
    put_bytes("noted", &drf_usual, DRF_FIRST_MS, FILE_ROWS, rows);
    const struct drf_entry entries[] = {{1599999000000, 1.0}, /* long over */
                                        {1599999500000, first},
                                        {second_entry, second}};
    drf_note("noted", entries, 3);
}

/* The frequency that the reader gives for a part of that recording. */
static double noted(double first, double second, uint64_t second_entry,
                    double start_s, double duration_s)
{
    note(first, second, second_entry);
    const struct fx8_settings settings = {
        .observation.dc_frequency_hz = NAN,
        .input = {.start_s = start_s, .duration_s = duration_s}};
    struct fx8_reader *reader = open_recording("noted", &settings);
    const double hz = reader->observation.dc_frequency_hz;
    fx8_reader_close(&reader);
    return hz;
}

TEST(test_center_frequency)
{
    assert_true(noted(4.4e8, 4.4e8, DRF_FIRST_MS + 100, 0, INFINITY) == 4.4e8);
    assert_true(noted(4.4e8, 4.5e8, DRF_FIRST_MS + 500, 0, INFINITY) == 4.4e8);
    assert_true(noted(4.4e8, 4.5e8, DRF_FIRST_MS, 0, INFINITY) == 4.5e8);
    assert_true(isnan(noted(NAN, 4.5e8, DRF_FIRST_MS + 500, 0, INFINITY)));
    assert_true(isnan(noted(-1.0, 4.5e8, DRF_FIRST_MS + 500, 0, INFINITY)));
    /* no frequency in the entry in force at the start, only in a later one */
    assert_true(isnan(noted(NAN, 4.5e8, DRF_FIRST_MS + 100, 0, INFINITY)));
}

/* The receiver is retuned after 100 samples, 0.1 s. */
TEST(test_tuned_anew)
{
    const uint64_t at = DRF_FIRST_MS + 100;
    assert_true(noted(4.4e8, 4.5e8, at, 0.0, 0.1) == 4.4e8);
    assert_true(noted(4.4e8, 4.5e8, at, 0.099, 0.001) == 4.4e8);
    assert_true(noted(4.4e8, 4.5e8, at, 0.1, INFINITY) == 4.5e8);

    struct fx8_settings settings = {
        .observation.dc_frequency_hz = NAN,
        .input = {.start_s = 0.05, .duration_s = 0.051}};
    refuse_recording(
        "noted", &settings, FX8_ERR_INPUT,
        "noted/metadata/2020-09-13T12-00-00/notes@1599999000.h5: "
        "1599999500000/center_frequencies: 440000000 Hz: expected 450000000 Hz "
        "as from 0.1 s on (entry 1600000000100), a part of the time by "
        "input.start_s and duration_s, or observation.dc_frequency_hz");
    /* a sample rate from the settings shifts the part in time */
    settings.observation.sample_rate = (struct fx8_rate){500, 1};
    struct fx8_reader *reader = open_recording("noted", &settings);
    assert_true(reader->observation.dc_frequency_hz == 4.4e8);
    fx8_reader_close(&reader);
    /* a frequency from the settings wins, even 0 Hz */
    settings.observation.sample_rate = (struct fx8_rate){0, 0};
    settings.observation.dc_frequency_hz = 0.0;
    reader = open_recording("noted", &settings);
    assert_true(reader->observation.dc_frequency_hz == 0.0);
    fx8_reader_close(&reader);
}

/* --- faults ------------------------------------------------------------ */

TEST(test_settings_that_do_not_fit)
{
    static const int8_t rows[2 * FILE_ROWS];
    put_bytes("bad", &drf_usual, DRF_FIRST_MS, FILE_ROWS, rows);
    const struct fx8_settings scaled = {.input.scale_to_8bit = 0.5};
    refuse_recording("bad", &scaled, FX8_ERR_USAGE,
                     "input.scale_to_8bit: expected auto");
    const struct fx8_settings dual = {.array.polarizations = 2};
    refuse_recording("bad", &dual, FX8_ERR_USAGE,
                     "array.polarizations: expected 1, since ");
}

/* A file that is damaged and one that is of another kind, found while reading;
 * one that is cut: test_hostile_files.c. */
TEST(test_faults_while_reading)
{
    static const char *const middle =
        "tree/a/2020-09-13T12-26-40/rf@1600000000.500.h5";
    make_tree();
    assert_int_equal(truncate(scratch_path(middle), 3000), 0);
    struct fx8_reader *reader = open_recording("tree", NULL);
    refuse_read(reader, 400, 200, "rf@1600000000.500.h5: ");
    fx8_reader_close(&reader);
    make_file("tree/a", &properties_a, H5T_NATIVE_INT16, 1);
    reader = open_recording("tree", NULL);
    refuse_read(reader, 400, 200,
                "rf_data: compound {r: int16, i: int16}: expected compound "
                "{r, i} of int8 as in the channel's first file");
    fx8_reader_close(&reader);
}

TEST(test_bad_folders)
{
    const struct fx8_settings forced = {.input.format = FX8_FORMAT_DIGITAL_RF};
    mkdir(scratch_path("empty"), 0700);
    refuse_recording("empty", &forced, FX8_ERR_INPUT, "no channels: expected");
    make_tree();
    mkdir(scratch_path("tree/a/2020-09-13T12-26-42"), 0700);
    assert_int_equal(
        link(scratch_path("tree/a/2020-09-13T12-26-40/rf@1600000000.500.h5"),
             scratch_path("tree/a/2020-09-13T12-26-42/rf@1600000000.500.h5")),
        0);
    refuse_recording("tree", NULL, FX8_ERR_INPUT,
                     "rf@1600000000.500.h5: twice: expected one");
    const char *both[] = {scratch_path("tree/a"), scratch_path("tree/b")};
    const struct fx8_settings none = {0};
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    must_fail_with(fx8_reader_open(both, 2, &none, &reader, &error), error,
                   FX8_ERR_USAGE,
                   "input.files: 2 files: expected one, the folder");
}
