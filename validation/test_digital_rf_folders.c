/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_digital_rf_folders.c -- Digital RF recordings with more channels than
 * files may be open, and with metadata beside the samples.
 *
 * Shows: as test_reader_digital_rf.c
 */
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

#include "validation/digital_rf_file.h"

#define FILE_ROWS 500

/* More channels than files may be open: files are closed and reopened. */
TEST(test_many_channels)
{
    enum { MANY = 260, MOST_OPEN = 100 };
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct rlimit low = {MOST_OPEN, limit.rlim_max};
    const struct drf_storage storage = {H5T_NATIVE_INT8, 0, false};
    const struct drf_properties properties = {
        1000, 1, 10, 0, 1, 1, "1970-01-01T00:00:00Z"};
    const uint64_t index[2] = {(uint64_t)DRF_FIRST_MS, 0};
    drf_make_folder("many");
    for (int c = 0; c < MANY; c++) {
        char name[32];
        int8_t rows[10];
        memset(rows, c % 100 + 1, sizeof rows);
        snprintf(name, sizeof name, "many/%03d", c);
        drf_put_properties(name, &properties);
        drf_put_file(name, &properties, storage, DRF_FIRST_MS, 10, rows, 1,
                     index);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    const struct fx8_settings settings = {0};
    struct fx8_reader *reader = drf_open_tree("many", &settings);
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
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Write half a second of samples, with two frequencies in the metadata. */
static void note(double first, double second, uint64_t second_entry)
{
    const uint64_t index[2] = {(uint64_t)DRF_FIRST_MS, 0};
    static const int8_t rows[2 * FILE_ROWS];
    const struct drf_storage storage = {H5T_NATIVE_INT8, 0, false};
    drf_put_properties("noted", &drf_usual);
    drf_put_file("noted", &drf_usual, storage, DRF_FIRST_MS, FILE_ROWS, rows, 1,
                 index);
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
    struct fx8_reader *reader = drf_open_tree("noted", &settings);
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
    const char *path = scratch_path("noted");
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    char expected[FX8_ERROR_MESSAGE_SIZE];
    assert_int_equal(fx8_reader_open(&path, 1, &settings, &reader, &error),
                     FX8_ERR_INPUT);
    snprintf(expected, sizeof expected,
             "%s/metadata/2020-09-13T12-00-00/notes@1599999000.h5: "
             "1599999500000/center_frequencies: 440000000 Hz: expected "
             "450000000 Hz as from 0.1 s on (entry 1600000000100), a part of "
             "the time by input.start_s and duration_s, or "
             "observation.dc_frequency_hz",
             path);
    assert_string_equal(error.message, expected);
    /* a sample rate from the settings shifts the part in time */
    settings.observation.sample_rate = (struct fx8_rate){500, 1};
    reader = drf_open_tree("noted", &settings);
    assert_true(reader->observation.dc_frequency_hz == 4.4e8);
    fx8_reader_close(&reader);
    /* a frequency from the settings wins, even 0 Hz */
    settings.observation.sample_rate = (struct fx8_rate){0, 0};
    settings.observation.dc_frequency_hz = 0.0;
    reader = drf_open_tree("noted", &settings);
    assert_true(reader->observation.dc_frequency_hz == 0.0);
    fx8_reader_close(&reader);
}
