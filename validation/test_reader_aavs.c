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
 * In: test_reader_aavs_hostile.c, scenario/bad_tiles.py
 */
#include "validation/aavs_file.h"

static void expect_held(const struct piece *pieces, size_t n, int n_antennas,
                        int n_channels, const struct fx8_settings *settings)
{
    const struct held *held = note_pieces(pieces, n, n_antennas, n_channels);
    for (unsigned turn = 0; turn < 2; turn++) {
        struct fx8_reader *reader = NULL;
        struct fx8_error error;
        must(open_pieces(pieces, n, settings, turn, &reader, &error), error);
        assert_string_equal(reader->format->name, "aavs");
        assert_string_equal(reader->observation.telescope, "test station");
        assert_int_equal(reader->observation.sample_rate.numerator_hz,
                         25000000);
        assert_int_equal(reader->observation.sample_rate.denominator, 27);
        check_aavs(reader, held);
        fx8_reader_close(&reader);
    }
}

/* --- what is read --------------------------------------------------------- */

/* Long blocks, of which only some stamps are read; gaps at their edges and at
 * unusual places. */
TEST(test_long_blocks)
{
    struct piece piece = {.name = "long.hdf5",
                          .n_antennas = 1,
                          .first_channel = 64,
                          .n_channels = 1,
                          .n = 18000,
                          .block = 6000,
                          .gap = 1000,
                          .order = "cap"};
    static const int gaps[] = {6000, 12000, 1, 5999, 6001, 17999, 9000};
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        piece.gap_at = gaps[i];
        const struct fx8_settings settings = plain("");
        expect_held(&piece, 1, 1, 1, &settings);
    }
}

/* Every order of the columns; three channels, the third in a file of its own
 * that is later and shorter. */
TEST(test_orders_and_bands)
{
    static const char *const words[6][2] = {
        {"cap", "channel,antenna,pol"}, {"cpa", "channel,pol,antenna"},
        {"acp", "antenna,channel,pol"}, {"apc", "antenna,pol,channel"},
        {"pca", "pol,channel,antenna"}, {"pac", "pol,antenna,channel"}};
    for (size_t i = 0; i < 6; i++) {
        const struct piece pieces[] = {
            {.name = "a.hdf5",
             .tile = 0,
             .n_antennas = 3,
             .first_channel = 100,
             .n_channels = 2,
             .n = 600,
             .block = 100,
             .order = words[i][0]},
            {.name = "b.hdf5",
             .tile = 0,
             .n_antennas = 3,
             .first_channel = 102,
             .n_channels = 1,
             .first = 250,
             .n = 200,
             .block = 50,
             .order = words[i][0]},
            {.name = "c.hdf5",
             .tile = 1,
             .n_antennas = 2,
             .first_antenna = 3,
             .first_channel = 100,
             .n_channels = 2,
             .first = 20,
             .n = 580,
             .block = 290,
             .order = words[i][0]},
            {.name = "d.hdf5",
             .tile = 1,
             .n_antennas = 2,
             .first_antenna = 3,
             .first_channel = 102,
             .n_channels = 1,
             .n = 600,
             .block = 600,
             .order = words[i][0]},
        };
        const struct fx8_settings settings = plain(words[i][1]);
        expect_held(pieces, 4, 5, 3, &settings);
    }
}

/* A merged file: its name has no tile, its antenna count is that of one tile.
 */
TEST(test_merged_station)
{
    const struct piece whole = {.name = "channel_cont_20200217_41581_0.hdf5",
                                .n_antennas = 6,
                                .first_channel = 204,
                                .n_channels = 1,
                                .n = 500,
                                .block = 100,
                                .order = "cap",
                                .station = 1};
    put_piece(&whole);
    const char *path = scratch_path(whole.name);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t root = H5Dopen2(file, "root", H5P_DEFAULT);
    H5Adelete(root, "n_antennas");
    put_integer(root, "n_antennas", H5T_STD_I64LE, 2);
    H5Dclose(root);
    H5Fclose(file);
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    const struct fx8_settings settings = plain("");
    must(fx8_reader_open(&path, 1, &settings, &reader, &error), error);
    check_aavs(reader, note_pieces(&whole, 1, 6, 1));
    fx8_reader_close(&reader);
}

/* Among tiles of different sizes a missing one counts as 16 antennas. */
TEST(test_missing_tile)
{
    struct piece pieces[] = {good, good};
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
        pieces[i] = (struct piece){.name = names[i],
                                   .tile = i % 2,
                                   .n_antennas = 1,
                                   .first_antenna = i % 2,
                                   .first_channel = 90,
                                   .n_channels = 1,
                                   .first = i / 2 * 33,
                                   .n = 32,
                                   .block = 32,
                                   .order = "cap"};
    }
    const struct fx8_settings settings = plain("");
    expect_held(pieces, MOST_PIECES, 2, 1, &settings);
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
        parts[i] = good;
        parts[i].name = names[i];
        parts[i].first = 600 * i + (i > 1 ? 400 : 0);
        parts[i].before = i > 0 ? &parts[i - 1] : NULL;
    }
    parts[1].gap_at = 200;
    parts[1].gap = 400;
    parts[1].tsamp = -1;
    parts[1].is_packed = true;
    parts[1].spare = 300;
    const struct fx8_settings settings = plain("");
    expect_held(parts, 4, 2, 1, &settings);
    /* parts with correct stamps stay, behind one without */
    parts[2].before = parts[3].before = NULL;
    parts[2].first += 200;
    parts[3].first += 200;
    expect_held(parts, 4, 2, 1, &settings);
}

/* The user's rate wins; a recorded one is converted to a fraction. */
TEST(test_rates)
{
    struct piece piece = good;
    struct fx8_settings settings = plain("");
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    piece.tsamp = 1.0799999e-6; /* rounded to float */
    must(open_pieces(&piece, 1, &settings, 0, &reader, &error), error);
    assert_int_equal(reader->observation.sample_rate.numerator_hz, 25000000);
    assert_int_equal(reader->observation.sample_rate.denominator, 27);
    fx8_reader_close(&reader);
    piece.tsamp = 1e-3;
    settings.observation.sample_rate = (struct fx8_rate){50000000, 54};
    must(open_pieces(&piece, 1, &settings, 0, &reader, &error), error);
    assert_int_equal(reader->observation.sample_rate.numerator_hz, 25000000);
    fx8_reader_close(&reader);
    /* one row has no rate of its own, so that any rate fits */
    static const struct {
        double tsamp;
        int64_t numerator, denominator;
    } rates[] = {{1e-6, 1000000, 1},
                 {1.0 / 1.8e6, 1800000, 1},
                 {1.28e-6, 781250, 1},
                 {0.3, 10, 3},
                 {27.0 / 32e6, 32000000, 27}};
    settings = plain("");
    piece.n = piece.block = 1;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        piece.tsamp = rates[i].tsamp;
        must(open_pieces(&piece, 1, &settings, 0, &reader, &error), error);
        const struct fx8_rate rate = reader->observation.sample_rate;
        assert_int_equal(rate.numerator_hz, rates[i].numerator);
        assert_int_equal(rate.denominator, rates[i].denominator);
        fx8_reader_close(&reader);
    }
}

/* Without a channel the frequency is not known. */
TEST(test_unknown_channel)
{
    struct piece piece = good;
    piece.first_channel = 0;
    const struct fx8_settings settings = plain("");
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    must(open_pieces(&piece, 1, &settings, 0, &reader, &error), error);
    assert_true(isnan(reader->observation.dc_frequency_hz));
    fx8_reader_close(&reader);
    piece.n_channels = 2;
    must(open_pieces(&piece, 1, &settings, 0, &reader, &error), error);
    assert_true(reader->observation.dc_frequency_hz == 0.0);
    assert_true(reader->observation.band_offset_hz[1] == 781250.0);
    fx8_reader_close(&reader);
}
