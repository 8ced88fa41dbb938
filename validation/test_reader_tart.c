/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_reader_tart.c -- TART recordings: order of the bits, header in JSON,
 * positions in a separate file.
 *
 * Shows: as test_reader_native.c
 */
#include <unistd.h>

#include "validation/good_files.h"

/* A bit as +1 or -1, the most significant one first. */
static int8_t bit_at(const struct fx8_input_position *input, int64_t t,
                     int part)
{
    (void)part;
    const size_t at = (size_t)t;
    return tart_byte(input->antenna, at / 8) >> (7 - at % 8) & 1 ? 1 : -1;
}

TEST(test_tart)
{
    put_tart("tart.hdf", tart_config, tart_time);
    struct fx8_reader *reader = open_recording("tart.hdf", NULL);
    const struct fx8_observation *o = &reader->observation;
    assert_string_equal(reader->format->name, "tart");
    assert_int_equal(o->n_antennas, TART_ANTENNAS);
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
    struct fx8_error error;
    must(reader->select(reader, inputs, 2, &error), error);
    const int64_t n = o->n_samples;
    const int64_t ranges[][2] = {{0, n},  {0, 1},  {3, 4},   {3, 5},
                                 {5, 11}, {8, 16}, {7, 200}, {n - 1, 1}};
    for (size_t r = 0; r < LENGTH(ranges); r++)
        check_samples(reader, inputs, 2, ranges[r][0], ranges[r][1], bit_at);
    fx8_reader_close(&reader);
}

TEST(test_tart_sidebands)
{
    static const struct {
        const char *local; /* oscillator */
        enum fx8_sideband sideband;
        double dc_hz;
    } cases[] = {
        {"\"L0_frequency\": 1579512000, ", FX8_SIDEBAND_LOWER, 1579512000},
        {"", FX8_SIDEBAND_UPPER, 1571328000},
    };
    for (size_t i = 0; i < 2; i++) {
        char config[256];
        snprintf(config, sizeof config,
                 "{\"frequency\": 1575420000, \"sampling_frequency\": "
                 "16368000, %s\"lat\": 1, \"lon\": 2, \"alt\": 3}",
                 cases[i].local);
        put_tart("tart.hdf", config, "2026-06-12 11:20:40Z");
        struct fx8_reader *reader = open_recording("tart.hdf", NULL);
        assert_int_equal(reader->observation.sideband, cases[i].sideband);
        assert_true(reader->observation.dc_frequency_hz == cases[i].dc_hz);
        assert_string_equal(reader->observation.telescope, "TART");
        fx8_reader_close(&reader);
    }
}

TEST(test_tart_positions)
{
    put_tart("tart.hdf", tart_config, tart_time);
    scratch_text(
        "antenna_positions.json",
        "{\"antenna_positions\": [[0, 1, 2], [3, 4, 5], [6, 7, 8.5]]}");
    struct fx8_reader *reader = open_recording("tart.hdf", NULL);
    assert_int_equal(reader->observation.n_table, 3);
    assert_true(reader->observation.antennas[2].enu_m[2] == 8.5);
    fx8_reader_close(&reader);
    const char *path = scratch_path("tart.hdf");
    const struct fx8_settings none = {0};
    struct fx8_error error;
    scratch_text("antenna_positions.json", "[[0, 1, 2], [3, 4, 5]]");
    must_fail_with(fx8_reader_open(&path, 1, &none, &reader, &error), error,
                   FX8_ERR_INPUT, "2 antennas: expected 3");
    scratch_text("antenna_positions.json",
                 "[[0, 1, 2],\n[-2559454, 5095372, -2849057], [0, 0, 0]]");
    must_fail_with(fx8_reader_open(&path, 1, &none, &reader, &error), error,
                   FX8_ERR_USAGE,
                   "antenna_positions.json: antenna_positions[1]: position: "
                   "-2559454, 5095372, -2849057: expected metres east");
    /* the user's own table replaces it */
    char positions[] = "none";
    const struct fx8_settings settings = {.array.positions = positions};
    reader = open_recording("tart.hdf", &settings);
    fx8_reader_close(&reader);
    unlink(scratch_path("antenna_positions.json"));
}
