/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_reader_native.c -- recordings: every axis order, type, layout and
 * selection, element by element; the facts of the observation; calls out of
 * range.
 *
 * Shows (recordings, readers): every order and type, tables and TART recordings
 *     are read; fx8 reads what it writes
 * Within: sample by sample
 * In: test_reader_tables.c, test_reader_tart.c, test_native_writer.c
 */
#include <math.h>

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
                struct fx8_reader *reader = open_good("orders.h5");
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
    struct fx8_reader *reader = open_good("meta.h5");
    const struct fx8_observation *o = &reader->observation;
    assert_string_equal(reader->format->name, "fx8");
    assert_int_equal(o->sample_rate.numerator_hz, 25000000);
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
    assert_true(H5Adelete(file, "telescope") >= 0);
    put_text(file, "telescope", "\x1b[2Jmy array\r\n", true);
    put_text(file, "instrument", "caf\xc3\xa9\t\x7f", false);
    put_text(file, "object", "~ plain text", false);
    H5Fclose(file);
    struct fx8_reader *reader = open_good("texts.h5");
    assert_string_equal(reader->observation.telescope, "?[2Jmy array??");
    assert_string_equal(reader->observation.instrument, "caf\?\?\?\?");
    assert_string_equal(reader->observation.object, "~ plain text");
    fx8_reader_close(&reader);
}

TEST(test_wrong_calls)
{
    make_good("calls.h5");
    struct fx8_reader *reader = open_good("calls.h5");
    static const int64_t ranges[][2] = {{-1, 2},
                                        {0, 0},
                                        {0, N_TIME + 1},
                                        {N_TIME, 1},
                                        {INT64_MAX, INT64_MAX},
                                        {1, INT64_MAX}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        int8_t buffer[1] = {0x5a};
        struct fx8_sample_layout layout = {.input_offset = NULL};
        struct fx8_error error = {FX8_OK, ""};
        assert_int_equal(reader->read(reader, ranges[i][0], ranges[i][1],
                                      buffer, &layout, &error),
                         FX8_ERR_INPUT);
        assert_non_null(strstr(error.message, "voltages: "));
        assert_non_null(strstr(error.message, "expected samples within"));
        assert_int_equal(buffer[0], 0x5a);
    }
    const struct fx8_input_position outside[] = {
        {N_ANT, 0, 0}, {0, N_POL, 0}, {0, 0, 1}};
    struct fx8_error error = {FX8_OK, ""};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(reader->select(reader, &outside[i], 1, &error),
                         FX8_ERR_USAGE);
    assert_int_equal(reader->select(reader, outside, 0, &error), FX8_ERR_USAGE);
    /* a refused choice keeps the previous one */
    check_read(reader, selections[0].inputs, selections[0].n, 0, 5);
    fx8_reader_close(&reader);
}
