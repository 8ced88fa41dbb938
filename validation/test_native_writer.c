/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_native_writer.c -- recordings that fx8 writes, read back sample by
 * sample in every axis order; wrong use.
 *
 * Shows: as test_reader_native.c
 */
#include "io/native/native.h"
#include "validation/recording_file.h"

static void fill_observation(struct fx8_observation *o,
                             struct fx8_antenna antennas[N_ANT],
                             bool is_complex)
{
    *o = fx8_observation_unknown();
    o->is_complex = is_complex;
    o->n_antennas = N_ANT;
    o->n_polarizations = N_POL;
    o->n_samples = N_TIME;
    o->sample_rate = (struct fx8_rate){25000000, 27};
    o->has_start_time = true;
    o->start_time = (struct fx8_time){1567105200, INT64_C(987654321000)};
    o->dc_frequency_hz = 1.5e8;
    o->sideband = FX8_SIDEBAND_UPPER;
    strcpy(o->telescope, "simulated");
    o->site = (struct fx8_site){-26.7, 116.6, 377.8};
    for (size_t i = 0; i < N_ANT; i++) {
        antennas[i] = (struct fx8_antenna){.number = (int64_t)i * 3,
                                           .enu_m = {1.0 + (double)i, 2, 3},
                                           .cable_delay_s = {1e-9, 2e-9},
                                           .position = i};
        snprintf(antennas[i].name, sizeof antennas[i].name, "S%zu", i);
    }
    o->antennas = antennas;
    o->n_table = N_ANT;
}

static void write_recording(const char *order, bool is_complex)
{
    struct fx8_observation o;
    struct fx8_antenna antennas[N_ANT];
    fill_observation(&o, antennas, is_complex);
    const struct fx8_missing missing[] = {{50, 7, 2, -1, -1},
                                          {3, 1, -1, -1, -1}};
    struct fx8_native_writer *writer = NULL;
    struct fx8_error error;
    must(fx8_native_create(scratch_path("written.h5"), true, &o, order, missing,
                           2, &writer, &error),
         error);
    const size_t parts = is_complex ? 2 : 1;
    static const int64_t steps[] = {1, 40, 60};
    int64_t first = 0;
    for (size_t s = 0; s < 3; first += steps[s], s++) {
        int8_t block[N_ANT * N_POL * 60 * 2];
        int8_t *to = block;
        for (size_t i = 0; i < N_ANT * N_POL; i++)
            for (int64_t t = 0; t < steps[s]; t++)
                for (size_t part = 0; part < parts; part++)
                    *to++ =
                        sample(i / N_POL, i % N_POL, (size_t)(first + t), part);
        must(fx8_native_write(writer, first, steps[s], block, &error), error);
    }
    assert_int_equal(fx8_native_write(writer, N_TIME, 1, NULL, &error),
                     FX8_ERR_USAGE);
    assert_false(scratch_exists("written.h5"));
    must(fx8_native_close(&writer, true, &error), error);
    assert_null(writer);
}

TEST(test_writer_round_trip)
{
    for (int order = 0; order < 6; order++)
        for (int is_complex = 0; is_complex < 2; is_complex++) {
            char text[64];
            snprintf(text, sizeof text, "%s,%s,%s", axes[orders[order][0]],
                     axes[orders[order][1]], axes[orders[order][2]]);
            unlink(scratch_path("written.h5"));
            write_recording(text, is_complex != 0);
            struct fx8_reader *reader = open_recording("written.h5", NULL);
            const struct fx8_observation *o = &reader->observation;
            assert_int_equal(o->is_complex, is_complex);
            assert_int_equal(o->sample_rate.denominator, 27);
            assert_int_equal(o->start_time.picosecond, INT64_C(987654321000));
            assert_int_equal(o->sideband, FX8_SIDEBAND_UPPER);
            assert_true(o->site.altitude_m == 377.8);
            assert_int_equal(o->antennas[4].number, 12);
            assert_string_equal(o->antennas[4].name, "S4");
            assert_true(o->antennas[4].enu_m[0] == 5.0);
            assert_true(o->antennas[4].cable_delay_s[0] == 1e-9);
            assert_true(o->antennas[4].cable_delay_s[1] == 2e-9);
            assert_int_equal(reader->n_missing, 2);
            assert_int_equal(reader->missing[0].first_sample, 3);
            assert_int_equal(reader->missing[1].antenna, 2);
            check_selections(reader);
            fx8_reader_close(&reader);
        }
}

static enum fx8_status create(const char *path, int64_t n_samples,
                              const char *order,
                              struct fx8_native_writer **writer,
                              struct fx8_error *error)
{
    struct fx8_observation o;
    struct fx8_antenna antennas[N_ANT];
    fill_observation(&o, antennas, true);
    o.n_samples = n_samples;
    return fx8_native_create(path, true, &o, order, NULL, 0, writer, error);
}

TEST(test_writer_wrong_use)
{
    static const char *const bad[] = {"", "antenna,pol", "antenna,pol,pol",
                                      "antenna,pol,time,time", "time"};
    static const char good[] = "antenna,pol,time";
    const char *path = scratch_path("no.h5");
    struct fx8_native_writer *writer = NULL;
    struct fx8_error error;
    for (size_t i = 0; i < LENGTH(bad); i++) {
        must_fail_with(create(path, N_TIME, bad[i], &writer, &error), error,
                       FX8_ERR_USAGE, "axis order");
        assert_null(writer);
    }
    must_fail_with(create(path, 0, good, &writer, &error), error, FX8_ERR_USAGE,
                   "");
    must_fail_with(create("/nonexistent/no.h5", N_TIME, good, &writer, &error),
                   error, FX8_ERR_SYSTEM, "");
    must(create(path, N_TIME, good, &writer, &error), error);
    must(fx8_native_close(&writer, false, &error), error);
    assert_false(scratch_exists("no.h5"));
    assert_false(scratch_exists("no.h5.part"));
}
