/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_reader_native.c -- recordings: every axis order, type, layout and
 * selection, element by element; the facts of the observation; tables of
 * antennas and of missing samples; calls out of range.
 *
 * Shows (recordings, readers): every order and type, tables and TART recordings
 *     are read; fx8 reads what it writes
 * Within: sample by sample
 * In: test_reader_tart.c, test_native_writer.c
 */
#include "validation/recording_file.h"

TEST(test_every_order_type_layout_selection)
{
    for (int order = 0; order < 6; order++)
        for (int kind = 0; kind < 3; kind++)
            for (int layout = 0; layout < N_LAYOUTS; layout++) {
                hid_t file = create_file("orders.h5");
                put_attributes(file);
                put_voltages(file, orders[order], kind > 0, kind == 2,
                             (enum layout)layout, true);
                H5Fclose(file);
                struct fx8_reader *reader = open_recording("orders.h5", NULL);
                assert_int_equal(reader->observation.n_antennas, N_ANT);
                assert_int_equal(reader->observation.n_polarizations, N_POL);
                assert_int_equal(reader->observation.n_samples, N_TIME);
                assert_int_equal(reader->observation.is_complex, kind > 0);
                check_selections(reader);
                const int64_t n = reader->read_samples(reader);
                assert_true(n > 0);
                if (layout != CONTIGUOUS)
                    assert_int_equal(n % CHUNK_TIME, 0);
                fx8_reader_close(&reader);
                assert_null(reader);
            }
}

TEST(test_metadata)
{
    make_good("meta.h5");
    struct fx8_reader *reader = open_recording("meta.h5", NULL);
    const struct fx8_observation *o = &reader->observation;
    assert_string_equal(reader->format->name, "fx8");
    assert_int_equal(o->sample_rate.numerator_hz, 25000);
    assert_int_equal(o->sample_rate.denominator, 27);
    assert_true(o->has_start_time);
    assert_int_equal(o->start_time.unix_s, 1567105200);
    assert_int_equal(o->start_time.picosecond, INT64_C(123456789000));
    assert_true(o->dc_frequency_hz == 150e6);
    assert_int_equal(o->sideband, FX8_SIDEBAND_LOWER);
    assert_string_equal(o->telescope, "test array");
    assert_true(isnan(o->site.latitude_deg));
    assert_null(o->antennas);
    assert_int_equal(reader->n_missing, 0);
    /* about 8 MiB in two bytes of ten inputs */
    assert_in_range((uintmax_t)reader->read_samples(reader) * 20, 4 << 20,
                    16 << 20);
    assert_true(reader->buffer_size(reader, INT64_MAX) == SIZE_MAX);
    assert_true(reader->buffer_size(reader, -1) == SIZE_MAX);
    fx8_reader_close(&reader);
    fx8_reader_close(&reader);
}

/* Texts that would move a terminal's cursor or change its colours. */
TEST(test_texts_are_printable)
{
    make_good("texts.h5");
    hid_t file = reopen("texts.h5");
    put_text(file, "@telescope", 0, "\x1b[2Jmy array\r\n");
    put_fixed_text(file, "@instrument", "caf\xc3\xa9\t\x7f");
    put_fixed_text(file, "@object", "~ plain text");
    H5Fclose(file);
    struct fx8_reader *reader = open_recording("texts.h5", NULL);
    assert_string_equal(reader->observation.telescope, "?[2Jmy array??");
    assert_string_equal(reader->observation.instrument, "caf\?\?\?\?");
    assert_string_equal(reader->observation.object, "~ plain text");
    fx8_reader_close(&reader);
}

TEST(test_antenna_table)
{
    make_good("antennas.h5");
    hid_t file = reopen("antennas.h5");
    put_antennas(file, N_ANT);
    H5Fclose(file);
    struct fx8_reader *reader = open_recording("antennas.h5", NULL);
    const struct fx8_observation *o = &reader->observation;
    assert_int_equal(o->n_table, N_ANT);
    for (size_t i = 0; i < N_ANT; i++) {
        const struct fx8_antenna *antenna = &o->antennas[i];
        const char name[] = {'A', (char)('0' + i), '\0'};
        assert_int_equal(antenna->number, 10 - i);
        assert_string_equal(antenna->name, name);
        assert_int_equal(antenna->position, i);
        assert_true(antenna->enu_m[0] == 3.0 * (double)i);
        assert_true(antenna->enu_m[1] == 2.0 * (double)i);
        assert_true(antenna->enu_m[2] == 0.5 * (double)i);
        for (int p = 0; p < 2; p++)
            assert_true(antenna->cable_delay_s[p] == 1e-9 * (double)i);
    }
    assert_true(o->site.latitude_deg == -26.5);
    assert_true(o->site.longitude_deg == 116.0);
    assert_true(o->site.altitude_m == 377.0);
    fx8_reader_close(&reader);
}

TEST(test_missing_table)
{
    const struct missing_row rows[] = {
        {3, 1, 90, 11}, {0, -1, 5, 1}, {-1, -1, 40, 2}, {0, 0, 40, 61}};
    static const int expected[4] = {1, 2, 3, 0}; /* by first_sample, antenna */
    for (size_t n = 0; n <= 4; n += 4) {
        make_good("missing.h5");
        hid_t file = reopen("missing.h5");
        put_missing(file, rows, n);
        H5Fclose(file);
        struct fx8_reader *reader = open_recording("missing.h5", NULL);
        assert_int_equal(reader->n_missing, n);
        for (size_t i = 0; i < n; i++) {
            const struct missing_row *row = &rows[expected[i]];
            const struct fx8_missing *missing = &reader->missing[i];
            assert_int_equal(missing->antenna, row->antenna);
            assert_int_equal(missing->polarization, row->pol);
            assert_int_equal(missing->first_sample, row->first_sample);
            assert_int_equal(missing->n_samples, row->count);
        }
        fx8_reader_close(&reader);
    }
}

/* First sample, then antenna, polarisation, band; -1, all of them, first. */
TEST(test_order_of_missing)
{
    static const struct fx8_missing rows[] = {
        {.first_sample = 4, .antenna = 9, .polarization = 1, .band = 7},
        {.first_sample = 5, .antenna = -1, .polarization = 1, .band = 7},
        {.first_sample = 5, .antenna = 2, .polarization = -1, .band = 7},
        {.first_sample = 5, .antenna = 2, .polarization = 0, .band = -1},
        {.first_sample = 5, .antenna = 2, .polarization = 0, .band = 3},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        for (size_t j = 0; j < LENGTH(rows); j++) {
            const int order = fx8_missing_order(&rows[i], &rows[j]);
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
}

TEST(test_wrong_calls)
{
    make_good("calls.h5");
    struct fx8_reader *reader = open_recording("calls.h5", NULL);
    refuse_ranges(reader);
    const struct fx8_input_position outside[] = {{N_ANT, 0, 0}, {0, N_POL, 0}};
    struct fx8_error error;
    for (size_t i = 0; i < 2; i++)
        must_fail_with(reader->select(reader, &outside[i], 1, &error), error,
                       FX8_ERR_USAGE, "");
    must_fail_with(reader->select(reader, outside, 0, &error), error,
                   FX8_ERR_USAGE, "");
    /* a refused choice keeps the previous one */
    check_all(reader, 0, 5);
    fx8_reader_close(&reader);
}
