/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_reader_tart.c -- TART recordings: order of the bits, header in JSON,
 * positions in a separate file, bad files by their message.
 *
 * Shows: as test_reader_native.c
 */
#include <unistd.h>

#include "validation/reader_rows.h"
#include "validation/recording_file.h"

enum { TART_ANT = 3, TART_BYTES = 40 };

static const char good_config[] =
    "{\"name\": \"Here \\\"x\\\"\", \"frequency\": 1575420000.0, "
    "\"L0_frequency\": 1571328000.0, \"baseband_frequency\": 4092000.0, "
    "\"sampling_frequency\": 16368000.0, \"lat\": -18.5, \"lon\": 47.25, "
    "\"alt\": 1280.0, \"num_antenna\": 3, \"axes\": [\"East\", {\"]\": 1}]}";

static uint8_t tart_byte(size_t antenna, size_t index)
{
    return (uint8_t)(antenna * 91 + index * index * 29 + 13);
}

static void put_string_dataset(hid_t file, const char *name, const char *text)
{
    const hsize_t one = 1;
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    put_dataset(file, name, type, 1, &one, type, &text);
    H5Tclose(type);
}

static void make_tart(const char *config, const char *instant)
{
    hid_t file = create_file("tart.hdf");
    uint8_t bytes[TART_ANT][TART_BYTES];
    for (size_t a = 0; a < TART_ANT; a++)
        for (size_t i = 0; i < TART_BYTES; i++)
            bytes[a][i] = tart_byte(a, i);
    const hsize_t extent[2] = {TART_ANT, TART_BYTES};
    put_dataset(file, "data", H5T_STD_U8LE, 2, extent, H5T_NATIVE_UINT8, bytes);
    put_string_dataset(file, "config", config);
    put_string_dataset(file, "timestamp", instant);
    H5Fclose(file);
}

TEST(test_tart)
{
    make_tart(good_config, "2026-06-12T11:20:40+00:00");
    struct fx8_reader *reader = open_good("tart.hdf");
    const struct fx8_observation *o = &reader->observation;
    assert_string_equal(reader->format->name, "tart");
    assert_int_equal(o->n_antennas, TART_ANT);
    assert_int_equal(o->n_polarizations, 1);
    assert_int_equal(o->n_samples, 8 * TART_BYTES);
    assert_false(o->is_complex);
    assert_int_equal(o->sample_rate.numerator_hz, 16368000);
    assert_int_equal(o->sample_rate.denominator, 1);
    assert_true(o->dc_frequency_hz == 1571328000.0);
    assert_int_equal(o->sideband, FX8_SIDEBAND_UPPER);
    assert_int_equal(o->start_time.unix_s, 1781263240);
    assert_true(o->site.longitude_deg == 47.25);
    assert_null(o->antennas);
    assert_int_equal(reader->read_samples(reader) % 8, 0);
    const struct fx8_input_position inputs[] = {{2, 0, 0}, {0, 0, 0}};
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(reader->select(reader, inputs, 2, &error), FX8_OK);
    static const int64_t ranges[][2] = {{0, 320}, {0, 1},  {3, 4},   {3, 5},
                                        {5, 11},  {8, 16}, {7, 200}, {319, 1}};
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
        ptrdiff_t offset[2];
        struct fx8_sample_layout layout = {.input_offset = offset};
        int8_t *buffer = read_rows(reader, ranges[r][0], ranges[r][1], &layout);
        for (size_t i = 0; i < 2; i++)
            for (int64_t t = 0; t < ranges[r][1]; t++) {
                const size_t at = (size_t)(ranges[r][0] + t);
                const int bit =
                    tart_byte(inputs[i].antenna, at / 8) >> (7 - at % 8) & 1;
                assert_int_equal(buffer[offset[i] + t * layout.time_stride],
                                 bit ? 1 : -1);
            }
        free(buffer);
    }
    fx8_reader_close(&reader);
}

TEST(test_tart_sidebands)
{
    make_tart("{\"frequency\": 1575420000, \"sampling_frequency\": 16368000, "
              "\"L0_frequency\": 1579512000, \"lat\": 1, \"lon\": 2, "
              "\"alt\": 3}",
              "2026-06-12 11:20:40Z");
    struct fx8_reader *reader = open_good("tart.hdf");
    assert_int_equal(reader->observation.sideband, FX8_SIDEBAND_LOWER);
    assert_true(reader->observation.dc_frequency_hz == 1579512000.0);
    fx8_reader_close(&reader);
    make_tart("{\"frequency\": 1575420000, \"sampling_frequency\": 16368000, "
              "\"lat\": 1, \"lon\": 2, \"alt\": 3}",
              "2026-06-12 11:20:40Z");
    reader = open_good("tart.hdf");
    assert_int_equal(reader->observation.sideband, FX8_SIDEBAND_UPPER);
    assert_true(reader->observation.dc_frequency_hz == 1571328000.0);
    assert_string_equal(reader->observation.telescope, "TART");
    fx8_reader_close(&reader);
}

TEST(test_tart_positions)
{
    make_tart(good_config, "2026-06-12T11:20:40+00:00");
    scratch_text(
        "antenna_positions.json",
        "{\"antenna_positions\": [[0, 1, 2], [3, 4, 5], [6, 7, 8.5]]}");
    struct fx8_reader *reader = open_good("tart.hdf");
    assert_int_equal(reader->observation.n_table, 3);
    assert_true(reader->observation.antennas[2].enu_m[2] == 8.5);
    fx8_reader_close(&reader);
    scratch_text("antenna_positions.json", "[[0, 1, 2], [3, 4, 5]]");
    const char *one = scratch_path("tart.hdf");
    struct fx8_settings settings = {0};
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(fx8_reader_open(&one, 1, &settings, &reader, &error),
                     FX8_ERR_INPUT);
    assert_non_null(strstr(error.message, "2 antennas: expected 3"));
    scratch_text("antenna_positions.json",
                 "[[0, 1, 2],\n[-2559454, 5095372, -2849057], [0, 0, 0]]");
    assert_int_equal(fx8_reader_open(&one, 1, &settings, &reader, &error),
                     FX8_ERR_USAGE);
    assert_non_null(strstr(error.message,
                           "antenna_positions.json: antenna_positions[1]: "
                           "position: -2559454, "
                           "5095372, -2849057: expected metres east"));
    /* the user's own table replaces it */
    char positions[] = "none";
    settings.array.positions = positions;
    assert_int_equal(fx8_reader_open(&one, 1, &settings, &reader, &error),
                     FX8_OK);
    fx8_reader_close(&reader);
    unlink(scratch_path("antenna_positions.json"));
}

TEST(test_bad_tart)
{
    static const struct {
        const char *config;
        const char *expected;
    } cases[] = {
        {"", "tart.hdf: config:1: '[' or '{' expected near end of file: "
             "expected JSON"},
        {"{\"frequency\": 1", ": '}' expected near end of file"},
        {"{\"frequency\"\n1}", "config:2: ':' expected near '1'"},
        {"{\"a\": [1, 2}", ": ']' expected near '}'"},
        {"{\"a\": \"x}", ": premature end of input near '\"x}'"},
        {"{\"a\": NaN}", ": invalid token near 'NaN'"},
        {"{} x", ": end of file expected near 'x'"},
        {"[1]", "sampling_frequency: missing"},
        {"{}", "sampling_frequency: missing"},
        {"{\"sampling_frequency\": 0}", "sampling_frequency: 0"},
        {"{\"sampling_frequency\": -5}", "sampling_frequency: -5"},
        {"{\"sampling_frequency\": true}", "sampling_frequency: true"},
        {"{\"sampling_frequency\": 16368000}", "frequency: missing"},
        {"{\"sampling_frequency\": 16368000, \"frequency\": \"x\"}",
         "frequency: x"},
        {"{\"sampling_frequency\": 16368000, \"frequency\": 1575420000, "
         "\"L0_frequency\": 1570000000}",
         "L0_frequency 1570000000.000: expected"},
        {"{\"sampling_frequency\": 16368000, \"frequency\": 1575420000}",
         "lat: missing"},
        {"{\"sampling_frequency\": 16368000, \"frequency\": 1575420000, "
         "\"lat\": 91}",
         "lat: 91: expected"},
        {"{\"sampling_frequency\": 16368000, \"frequency\": 1575420000, "
         "\"lat\": 9, \"lon\": 1, \"alt\": 1, \"num_antenna\": 24}",
         "num_antenna 24: expected 3"},
    };
    const struct fx8_settings settings = {0};
    struct fx8_reader *reader = NULL;
    struct fx8_error error = {FX8_OK, ""};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_tart(cases[i].config, "2026-06-12T11:20:40+00:00");
        const char *one = scratch_path("tart.hdf");
        must_fail_with(fx8_reader_open(&one, 1, &settings, &reader, &error),
                       error, FX8_ERR_INPUT, cases[i].expected);
    }
    make_tart(good_config, "yesterday");
    const char *one = scratch_path("tart.hdf");
    assert_int_equal(fx8_reader_open(&one, 1, &settings, &reader, &error),
                     FX8_ERR_INPUT);
    assert_non_null(strstr(error.message, "timestamp: yesterday: expected"));
}

/* A `data` that was never written, and one that is cut while it is read. */
TEST(test_tart_not_whole)
{
    make_tart(good_config, "2026-06-12T11:20:40+00:00");
    struct fx8_reader *reader = open_good("tart.hdf");
    assert_int_equal(truncate(scratch_path("tart.hdf"), 100), 0);
    int8_t buffer[TART_ANT * 8];
    ptrdiff_t offset[TART_ANT];
    struct fx8_sample_layout layout = {.input_offset = offset};
    struct fx8_error error = {FX8_OK, ""};
    must_fail_with(reader->read(reader, 300, 8, buffer, &layout, &error), error,
                   FX8_ERR_INPUT,
                   "data: samples 296 to 311: the file has shrunk from ");
    fx8_reader_close(&reader);
    make_tart(good_config, "2026-06-12T11:20:40+00:00");
    hid_t file = reopen("tart.hdf");
    assert_true(H5Ldelete(file, "data", H5P_DEFAULT) >= 0);
    const hsize_t extent[2] = {TART_ANT, TART_BYTES};
    hid_t space = H5Screate_simple(2, extent, NULL);
    H5Dclose(H5Dcreate2(file, "data", H5T_STD_U8LE, space, H5P_DEFAULT,
                        H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Fclose(file);
    const struct fx8_settings settings = {0};
    const char *path = scratch_path("tart.hdf");
    must_fail_with(fx8_reader_open(&path, 1, &settings, &reader, &error), error,
                   FX8_ERR_INPUT, "data: never written: expected a whole");
}
