/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_reader_aavs.c -- channel files of AAVS: tiles and parts in any order,
 * bands, column orders, rates, gaps, sample by sample.
 *
 * Shows (recordings, tiles): channel files of AAVS: tiles, parts, gaps inside
 *     and between them, bands, every order of the columns and missing tiles are
 *     read; wrong time stamps, contradicting files, hostile attributes and
 *     types are refused
 * Within: sample by sample, missing samples too; start within 0.13 µs; one line
 * Because: half a step of such time stamps, which are doubles of seconds since
 *     1970
 * In: test_hostile.c, test_hostile_files.c, scenario/bad_tiles.py
 */
#include <math.h>

#include "validation/aavs_file.h"

/* Which samples the pieces hold: [channel][antenna][time], counted from the
 * lowest channel and the first sample of all pieces. */
static struct {
    bool is_held[MOST_CHAN][MOST_ANT][MOST_TIME];
    int n_channels, n_antennas;
    int lowest;     /* channel */
    int first, end; /* samples */
} held;

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static void note_pieces(const struct piece *pieces, size_t n)
{
    memset(&held, 0, sizeof held);
    held.lowest = held.first = INT32_MAX;
    int end = 0; /* behind the highest channel */
    for (const struct piece *p = pieces; p < pieces + n; p++) {
        held.first = smaller(held.first, p->first);
        held.end = larger(held.end, time_of_row(p, p->n - 1) + 1);
        held.lowest = smaller(held.lowest, p->first_channel);
        end = larger(end, p->first_channel + p->n_channels);
        held.n_antennas =
            larger(held.n_antennas, p->first_antenna + p->n_antennas);
    }
    held.n_channels = end - held.lowest;
    for (const struct piece *p = pieces; p < pieces + n; p++)
        for (int row = 0; row < p->n; row++)
            for (int a = 0; a < p->n_antennas; a++)
                for (int c = 0; c < p->n_channels; c++)
                    held.is_held[p->first_channel - held.lowest + c]
                                [p->first_antenna + a]
                                [time_of_row(p, row) - held.first] = true;
}

/* The list of missing samples has each sample that no piece holds once. */
static void check_missing(const struct fx8_reader *reader)
{
    static unsigned char count[MOST_CHAN][MOST_ANT][MOST_TIME];
    memset(count, 0, sizeof count);
    int64_t last = 0;
    for (size_t i = 0; i < reader->n_missing; i++) {
        const struct fx8_missing *m = &reader->missing[i];
        assert_true(m->first_sample >= last);
        last = m->first_sample;
        assert_true(m->n_samples > 0 && m->polarization == -1);
        assert_true(m->first_sample + m->n_samples <=
                    reader->observation.n_samples);
        for (int c = 0; c < held.n_channels; c++)
            for (int a = 0; a < held.n_antennas; a++)
                if ((m->band < 0 || m->band == c) &&
                    (m->antenna < 0 || m->antenna == a))
                    for (int64_t t = 0; t < m->n_samples; t++)
                        count[c][a][m->first_sample + t]++;
    }
    for (int c = 0; c < held.n_channels; c++)
        for (int a = 0; a < held.n_antennas; a++)
            for (int t = 0; t < held.end - held.first; t++)
                if (count[c][a][t] != (held.is_held[c][a][t] ? 0 : 1))
                    fail_msg("channel %d, antenna %d, sample %d: listed %d "
                             "times, held %d",
                             c, a, t, count[c][a][t], held.is_held[c][a][t]);
}

/* Samples in no piece are zero. */
static int8_t held_sample(const struct fx8_input_position *input, int64_t t,
                          int part)
{
    const int c = (int)input->band, a = (int)input->antenna;
    return held.is_held[c][a][t]
               ? aavs_sample(held.lowest + c, a, (int)input->polarization,
                             held.first + (int)t, part)
               : (int8_t)0;
}

/* Everything about a recording: axes, times, frequencies, samples, gaps. */
static void check_aavs(struct fx8_reader *reader)
{
    const struct fx8_observation *o = &reader->observation;
    assert_string_equal(reader->format->name, "aavs");
    assert_string_equal(o->telescope, "test station");
    assert_int_equal(o->sample_rate.numerator_hz, 25000000);
    assert_int_equal(o->sample_rate.denominator, 27);
    assert_int_equal(o->n_antennas, held.n_antennas);
    assert_int_equal(o->n_polarizations, 2);
    assert_int_equal(o->n_bands, held.n_channels);
    assert_int_equal(o->n_samples, held.end - held.first);
    assert_true(o->is_complex && o->has_start_time);
    assert_true(o->dc_frequency_hz == held.lowest * 781250.0);
    for (int c = 0; c < held.n_channels && held.n_channels > 1; c++)
        assert_true(o->band_offset_hz[c] == c * 781250.0);
    /* the mean of stamps, each rounded by 0.12 us at most */
    const double start = (double)(o->start_time.unix_s - 1581897600) +
                         (double)o->start_time.picosecond * 1e-12;
    assert_near(start, 0.5 + held.first / AAVS_RATE_HZ, 0.13e-6);
    check_missing(reader);
    struct fx8_input_position inputs[MOST_CHAN * MOST_ANT * 2];
    const size_t n_antennas = o->n_antennas, n = n_antennas * 2 * o->n_bands;
    for (size_t i = 0; i < n; i++)
        inputs[i] = (struct fx8_input_position){i / 2 % n_antennas, i % 2,
                                                i / 2 / n_antennas};
    const int64_t length = o->n_samples;
    /* before inputs are chosen: all of them, bands slowest */
    check_samples(reader, inputs, n, 0, length, held_sample);
    const int64_t ranges[][2] = {
        {0, 1}, {length - 1, 1}, {length / 3, length / 3}, {7, length - 20}};
    struct fx8_error error;
    for (size_t step = 1; step <= 2 * n; step += step < 3 ? 2 : 2 * n) {
        /* all; every third, backwards; the last one */
        struct fx8_input_position some[MOST_CHAN * MOST_ANT * 2];
        size_t n_some = 0;
        for (size_t i = 0; i < n; i += step)
            some[n_some++] = inputs[step == 1 ? i : n - 1 - i];
        must(reader->select(reader, some, n_some, &error), error);
        for (size_t r = 0; r < LENGTH(ranges); r++)
            check_samples(reader, some, n_some, ranges[r][0], ranges[r][1],
                          held_sample);
    }
}

static void expect_held(const struct piece *pieces, size_t n,
                        const char *column_order)
{
    const struct fx8_settings settings = plain(column_order);
    note_pieces(pieces, n);
    for (unsigned turn = 0; turn < 2; turn++) {
        struct fx8_reader *reader = NULL;
        struct fx8_error error;
        must(open_pieces(pieces, n, &settings, turn, &reader, &error), error);
        check_aavs(reader);
        fx8_reader_close(&reader);
    }
}

/* --- what is read --------------------------------------------------------- */

/* Long blocks, of which only some stamps are read; gaps at their edges and at
 * unusual places. */
TEST(test_long_blocks)
{
    struct piece piece = good_piece;
    piece.n_antennas = 1;
    piece.n = 18000;
    piece.block = 6000;
    piece.gap = 1000;
    static const int gaps[] = {6000, 12000, 1, 5999, 6001, 17999, 9000};
    for (size_t i = 0; i < LENGTH(gaps); i++) {
        piece.gap_at = gaps[i];
        expect_held(&piece, 1, "");
    }
}

/* Every order of the columns; two tiles; three channels, the third in a file of
 * its own that is later and shorter. */
TEST(test_orders_and_bands)
{
    static const char *const words[6][2] = {
        {"cap", "channel,antenna,pol"}, {"cpa", "channel,pol,antenna"},
        {"acp", "antenna,channel,pol"}, {"apc", "antenna,pol,channel"},
        {"pca", "pol,channel,antenna"}, {"pac", "pol,antenna,channel"}};
    struct piece pieces[] = {
        {"a.hdf5", .n_antennas = 3, .n = 600, .block = 100},
        {"b.hdf5", .n_antennas = 3, .first = 250, .n = 200, .block = 50},
        {"c.hdf5", .n_antennas = 2, .first = 20, .n = 580, .block = 290},
        {"d.hdf5", .n_antennas = 2, .n = 600, .block = 600},
    };
    for (int i = 0; i < 4; i++) {
        pieces[i].tile = i / 2;
        pieces[i].first_antenna = i / 2 * 3;
        pieces[i].first_channel = 100 + i % 2 * 2;
        pieces[i].n_channels = 2 - i % 2;
    }
    for (size_t i = 0; i < 6; i++) {
        for (int k = 0; k < 4; k++)
            pieces[k].order = words[i][0];
        expect_held(pieces, 4, words[i][1]);
    }
}

/* A merged file: its name has no tile, its antenna count is that of one tile.
 */
TEST(test_merged_station)
{
    struct piece whole = good_piece;
    whole.name = "channel_cont_20200217_41581_0.hdf5";
    whole.n_antennas = 6;
    whole.station = 1;
    put_piece(&whole);
    hid_t file = reopen(whole.name);
    put_number(file, "root@n_antennas", H5T_STD_I64LE, 2);
    H5Fclose(file);
    struct fx8_reader *reader = open_recording(whole.name, NULL);
    note_pieces(&whole, 1);
    check_aavs(reader);
    fx8_reader_close(&reader);
}

/* Among tiles of different sizes a missing one counts as 16 antennas. */
TEST(test_missing_tile)
{
    struct piece pieces[] = {good_piece, good_piece};
    pieces[0].tile = 1;
    pieces[1].tile = 3;
    pieces[1].name = "other.hdf5";
    pieces[1].n_antennas = 1;
    struct fx8_settings settings = plain("");
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    settings.input.allow_missing_tiles = true;
    must(open_pieces(pieces, 2, &settings, 0, &reader, &error), error);
    assert_int_equal(reader->observation.n_antennas, 2 + 16 + 1);
    fx8_reader_close(&reader);
}

/* More files than are kept open at a time. */
TEST(test_many_parts)
{
    static char names[MOST_PIECES][48];
    struct piece pieces[MOST_PIECES];
    for (int i = 0; i < MOST_PIECES; i++) {
        snprintf(names[i], sizeof names[i],
                 "channel_cont_%d_20200217_0_%d.hdf5", i % 2, i / 2);
        pieces[i] = good_piece;
        pieces[i].name = names[i];
        pieces[i].tile = pieces[i].first_antenna = i % 2;
        pieces[i].n_antennas = 1;
        pieces[i].first = i / 2 * 33;
        pieces[i].n = pieces[i].block = 32;
    }
    expect_held(pieces, MOST_PIECES, "");
}

/* Later parts with the acquisition's stamps, ahead by the time that has passed;
 * one part with a gap, packed and without a rate, one that is ahead by less and
 * stays. */
TEST(test_parts_ahead)
{
    struct piece parts[4];
    static const char *const names[] = {"p0.hdf5", "p1.hdf5", "p2.hdf5",
                                        "p3.hdf5"};
    for (int i = 0; i < 4; i++) {
        parts[i] = good_piece;
        parts[i].name = names[i];
        parts[i].first = 600 * i + (i > 1 ? 400 : 0);
        parts[i].before = i > 0 ? &parts[i - 1] : NULL;
    }
    parts[1].gap_at = 200;
    parts[1].gap = 400;
    parts[1].tsamp = -1;
    parts[1].is_packed = true;
    parts[1].spare = 300;
    expect_held(parts, 4, "");
    /* parts with correct stamps stay, behind one without */
    parts[2].before = parts[3].before = NULL;
    parts[2].first += 200;
    parts[3].first += 200;
    expect_held(parts, 4, "");
}

static struct fx8_reader *open_piece(const struct piece *piece,
                                     const struct fx8_settings *settings)
{
    put_piece(piece);
    return open_recording(piece->name, settings);
}

static void expect_rate(const struct piece *piece,
                        const struct fx8_settings *settings,
                        struct fx8_rate rate)
{
    struct fx8_reader *reader = open_piece(piece, settings);
    const struct fx8_rate got = reader->observation.sample_rate;
    assert_int_equal(got.numerator_hz, rate.numerator_hz);
    assert_int_equal(got.denominator, rate.denominator);
    fx8_reader_close(&reader);
}

/* The user's rate wins; a recorded one is converted to a fraction. */
TEST(test_rates)
{
    const struct fx8_settings given = {
        .observation.sample_rate = {50000000, 54}};
    struct piece piece = good_piece;
    piece.tsamp = 1.0799999e-6; /* rounded to float */
    expect_rate(&piece, NULL, (struct fx8_rate){25000000, 27});
    piece.tsamp = 1e-3;
    expect_rate(&piece, &given, (struct fx8_rate){25000000, 27});
    /* one row has no rate of its own, so that any rate fits */
    static const struct {
        double tsamp;
        struct fx8_rate rate;
    } rates[] = {{1e-6, {1000000, 1}},
                 {1.0 / 1.8e6, {1800000, 1}},
                 {1.28e-6, {781250, 1}},
                 {0.3, {10, 3}},
                 {27.0 / 32e6, {32000000, 27}}};
    piece.n = piece.block = 1;
    for (size_t i = 0; i < LENGTH(rates); i++) {
        piece.tsamp = rates[i].tsamp;
        expect_rate(&piece, NULL, rates[i].rate);
    }
}

/* Without a channel the frequency is not known. */
TEST(test_unknown_channel)
{
    struct piece piece = good_piece;
    piece.first_channel = 0;
    struct fx8_reader *reader = open_piece(&piece, NULL);
    assert_true(isnan(reader->observation.dc_frequency_hz));
    fx8_reader_close(&reader);
    piece.n_channels = 2;
    reader = open_piece(&piece, NULL);
    assert_true(reader->observation.dc_frequency_hz == 0.0);
    assert_true(reader->observation.band_offset_hz[1] == 781250.0);
    fx8_reader_close(&reader);
}
