/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_reader_aavs.c -- channel files of AAVS: tiles and parts in any order,
 * bands, column orders, gaps, sample by sample; what is refused, in which
 * words.
 */
#include "validation/aavs_file.h"

enum { MOST_PIECES = 80 };

/* Files of the pieces in a given order, opened. */
static enum fx8_status open_pieces(const struct piece *pieces, size_t n,
                                   const struct fx8_settings *settings,
                                   unsigned turn, struct fx8_reader **reader,
                                   struct fx8_error *error)
{
    static char paths[MOST_PIECES][SCRATCH_PATH_SIZE];
    const char *list[MOST_PIECES];
    for (size_t i = 0; i < n; i++) {
        snprintf(paths[i], SCRATCH_PATH_SIZE, "%s", put_piece(&pieces[i]));
        list[(i * 7 + turn) % n] = paths[i];
    }
    return fx8_reader_open(list, n, settings, reader, error);
}

static struct fx8_settings plain(const char *order)
{
    struct fx8_settings settings;
    memset(&settings, 0, sizeof settings);
    snprintf(settings.input.column_order, sizeof settings.input.column_order,
             "%s", order);
    return settings;
}

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

/* Three tiles of 2, 3 and 1 antennas; parts, a lost stretch in a file, one
 * between parts, other beginnings and ends, rows in store. */
static void test_tiles_and_parts(void **state)
{
    (void)state;
    const struct piece pieces[] = {
        {.name = "channel_cont_4_20200217_0_0.hdf5",
         .tile = 4,
         .n_antennas = 2,
         .first_antenna = 0,
         .first_channel = 204,
         .n_channels = 1,
         .first = 0,
         .n = 1024,
         .block = 256,
         .order = "cap"},
        {.name = "channel_cont_4_20200217_0_1.hdf5",
         .tile = 4,
         .n_antennas = 2,
         .first_antenna = 0,
         .first_channel = 204,
         .n_channels = 1,
         .first = 1024,
         .n = 512,
         .block = 256,
         .is_packed = true,
         .spare = 300,
         .order = "cap"},
        {.name = "channel_cont_5_20200217_0_0.hdf5",
         .tile = 5,
         .n_antennas = 3,
         .first_antenna = 2,
         .first_channel = 204,
         .n_channels = 1,
         .first = 100,
         .n = 900,
         .block = 300,
         .gap_at = 300,
         .gap = 111,
         .order = "cap",
         .tsamp = -1},
        {.name = "channel_cont_5_20200217_0_1.hdf5",
         .tile = 5,
         .n_antennas = 3,
         .first_antenna = 2,
         .first_channel = 204,
         .n_channels = 1,
         .first = 1500,
         .n = 300,
         .block = 300,
         .order = "cap"},
        {.name = "channel_cont_6_20200217_0_0.hdf5",
         .tile = 6,
         .n_antennas = 1,
         .first_antenna = 5,
         .first_channel = 204,
         .n_channels = 1,
         .first = 31,
         .n = 1100,
         .block = 1,
         .gap_at = 77,
         .gap = 1,
         .order = "cap"},
    };
    const struct fx8_settings settings = plain("channel,antenna,pol");
    expect_held(pieces, 5, 6, 1, &settings);
    expect_held(pieces, 2, 2, 1, &settings);
}

/* Long blocks, of which only some stamps are read; gaps at their borders and
 * where they should not be. */
static void test_long_blocks(void **state)
{
    (void)state;
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
static void test_orders_and_bands(void **state)
{
    (void)state;
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

/* A merged file: no tile in the name, the antenna count of one tile. */
static void test_merged_station(void **state)
{
    (void)state;
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

static void test_missing_tile(void **state)
{
    (void)state;
    const struct piece pieces[] = {
        {.name = "t1.hdf5",
         .tile = 1,
         .n_antennas = 2,
         .first_antenna = 0,
         .first_channel = 70,
         .n_channels = 1,
         .n = 300,
         .block = 100,
         .order = "cap"},
        {.name = "t3.hdf5",
         .tile = 3,
         .n_antennas = 2,
         .first_antenna = 4,
         .first_channel = 70,
         .n_channels = 1,
         .n = 300,
         .block = 100,
         .order = "cap"},
    };
    struct fx8_settings settings = plain("");
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    must_fail_with(open_pieces(pieces, 2, &settings, 0, &reader, &error), error,
                   FX8_ERR_INPUT, "tile 2 of 1 to 3 is missing");
    settings.input.allow_missing_tiles = true;
    expect_held(pieces, 2, 6, 1, &settings);
    /* tiles of different sizes: a missing one has 16 */
    struct piece other = pieces[1];
    other.n_antennas = 1;
    must(open_pieces((struct piece[]){pieces[0], other}, 2, &settings, 0,
                     &reader, &error),
         error);
    assert_int_equal(reader->observation.n_antennas, 2 + 16 + 1);
    fx8_reader_close(&reader);
}

/* More files than are kept open. */
static void test_many_parts(void **state)
{
    (void)state;
    static char names[MOST_PIECES][40];
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

/* --- what is refused ------------------------------------------------------ */

static const struct piece good = {.name = "good.hdf5",
                                  .tile = 0,
                                  .n_antennas = 2,
                                  .first_channel = 204,
                                  .n_channels = 1,
                                  .n = 600,
                                  .block = 200,
                                  .order = "cap"};

static void refuse(const struct piece *pieces, size_t n, const char *part)
{
    const struct fx8_settings settings = plain("");
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    must_fail_with(open_pieces(pieces, n, &settings, 0, &reader, &error), error,
                   FX8_ERR_INPUT, part);
    assert_memory_equal(error.message, scratch_folder(),
                        strlen(scratch_folder()));
    assert_null(reader);
}

static void test_contradictions(void **state)
{
    (void)state;
    struct piece other = good;
    other.name = "other.hdf5";
    refuse((struct piece[]){good, other}, 2,
           "row 0: 600 samples before the end of ");
    other.first = 599;
    refuse((struct piece[]){good, other}, 2,
           "also tile 0: expected each tile "
           "number once");
    other.first = 600;
    other.n_antennas = 3;
    refuse((struct piece[]){good, other}, 2, "n_antennas: ");
    other = good;
    other.name = "channel_cont_3_20200217_0_0.hdf5";
    refuse(&other, 1, "tile_id: 0: expected 3, the tile in the file's name");
    other.name = "other.hdf5";
    other.tile = 1;
    other.first_channel = 205;
    refuse((struct piece[]){good, other}, 2,
           "tile 1 has other channels than tile 0 in ");
    other.tile = 0;
    other.n_channels = 2;
    other.first_channel = 203;
    refuse((struct piece[]){good, other}, 2, "or none of them");
    other = good;
    other.name = "other.hdf5";
    other.tile = 1;
    other.tsamp = 1e-6;
    refuse((struct piece[]){good, other}, 2, " Hz, as in ");
}

/* Stamps that are off: of one row, of a whole file, at another rate. */
static void test_stamps_off(void **state)
{
    (void)state;
    struct piece other = good;
    other.name = "other.hdf5";
    other.tile = 1;
    /* three blocks: 0.1 samples and what rounding leaves in their mean */
    other.shift = 0.35;
    refuse((struct piece[]){good, other}, 2, "row 0: +0.");
    other.shift = -0.35;
    refuse((struct piece[]){good, other}, 2, " samples off the sampling of ");
    other.shift = 0;
    other.tsamp = 1.08e-6 * 1.002;
    refuse(&other, 1, "samples off: expected time stamps at a steady");
    const struct {
        int row;
        double value;
        const char *part;
    } cases[] = {
        {0, NAN, "row 0: nan: expected seconds since 1970"},
        {17, INFINITY, "row 17: inf: expected seconds since 1970"},
        {599, -1.0, "row 599: -1: expected seconds since 1970"},
        {17, AAVS_START_S, "row 17: -17 samples off: expected ascending"},
        {17, AAVS_START_S + 17.45 / AAVS_RATE_HZ, "row 17: +0.4"},
        {17, AAVS_START_S + 18.5 / AAVS_RATE_HZ, " samples off"},
        /* 3.4 years, a whole number of samples */
        {599, AAVS_START_S + 1.08e8, "row 599: +1.08e+08 s from "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_piece(&good);
        const char *path = scratch_path(good.name);
        hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        hid_t data = H5Dopen2(file, "sample_timestamps/data", H5P_DEFAULT);
        hid_t space = H5Dget_space(data);
        const hsize_t start[2] = {(hsize_t)cases[i].row, 0}, one[2] = {1, 1};
        hid_t memory = H5Screate_simple(2, one, NULL);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, one, NULL);
        assert_true(H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space,
                             H5P_DEFAULT, &cases[i].value) >= 0);
        H5Sclose(memory);
        H5Sclose(space);
        H5Dclose(data);
        H5Fclose(file);
        struct fx8_reader *reader = NULL;
        struct fx8_error error;
        const struct fx8_settings settings = plain("");
        const enum fx8_status status =
            fx8_reader_open(&path, 1, &settings, &reader, &error);
        assert_int_equal(status, FX8_ERR_INPUT);
        if (strstr(error.message, cases[i].part) == NULL)
            fail_msg("'%s' lacks '%s'", error.message, cases[i].part);
    }
}

/* Attributes and datasets that make no sense. */
static void test_hostile(void **state)
{
    (void)state;
    const struct {
        const char *name; /* attribute of /root */
        int64_t value;
        const char *part;
    } attributes[] = {
        {"n_antennas", 0, "n_antennas: 0: expected 1 to"},
        {"n_antennas", 1 << 20, "n_antennas: 1048576: expected 1 to"},
        {"n_antennas", 3, "columns: expected n_chans x n_antennas x n_pols"},
        {"n_pols", 3, "n_pols: 3: expected 1 to 2"},
        {"n_chans", -1, "n_chans: -1"},
        {"n_blocks", 0, "n_blocks: 0"},
        {"n_blocks", 4, "600 rows: expected at least 800"},
        {"n_samples", INT64_MAX, "n_samples: 9223372036854775807"},
        {"tile_id", 1 << 20, "tile_id: 1048576"},
        {"channel_id", 1 << 20, "channel_id: 1048576"},
        {"tsamp", -1, "tsamp: -1: expected a sampling time"},
    };
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        put_piece(&good);
        const char *path = scratch_path(good.name);
        hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        hid_t root = H5Dopen2(file, "root", H5P_DEFAULT);
        H5Adelete(root, attributes[i].name);
        put_integer(root, attributes[i].name, H5T_STD_I64LE,
                    attributes[i].value);
        H5Dclose(root);
        H5Fclose(file);
        struct fx8_reader *reader = NULL;
        struct fx8_error error;
        const struct fx8_settings settings = plain("");
        must_fail_with(fx8_reader_open(&path, 1, &settings, &reader, &error),
                       error, FX8_ERR_INPUT, attributes[i].part);
    }
    hid_t pair16 = aavs_type("real", "imag", H5T_STD_I16LE);
    hid_t pair8 = aavs_type("r", "i", H5T_STD_I8LE);
    hid_t other = aavs_type("re", "im", H5T_STD_I8LE);
    const struct {
        const char *name;
        hid_t type;
        int rank;
        hsize_t extent[3];
        const char *part;
    } datasets[] = {
        {"chan_/data", pair16, 2, {600, 4}, "int16}: expected compound {real"},
        {"chan_/data", other, 2, {600, 4}, "{re: int8, im: int8}: expected"},
        {"chan_/data", H5T_STD_U16LE, 2, {600, 4}, "uint16: expected compound"},
        {"chan_/data", pair8, 1, {600}, "1 axes: expected 2"},
        {"chan_/data", pair8, 3, {600, 2, 2}, "3 axes: expected 2"},
        {"chan_/data", pair8, 2, {600, 4}, "never written"},
        {"sample_timestamps/data",
         H5T_IEEE_F32LE,
         2,
         {600, 1},
         "float32: expected float64"},
        {"sample_timestamps/data",
         H5T_IEEE_F64LE,
         2,
         {599, 1},
         "599 x 1: expected one column"},
        {"sample_timestamps/data",
         H5T_IEEE_F64LE,
         2,
         {600, 2},
         "600 x 2: expected one column"},
        {"sample_timestamps/data", H5T_IEEE_F64LE, 1, {600}, "never written"},
    };
    for (size_t i = 0; i < sizeof datasets / sizeof *datasets; i++) {
        put_piece(&good);
        const char *path = scratch_path(good.name);
        hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        put_dataset(file, datasets[i].name, datasets[i].type, datasets[i].rank,
                    datasets[i].extent, H5T_NATIVE_DOUBLE, NULL);
        H5Fclose(file);
        struct fx8_reader *reader = NULL;
        struct fx8_error error;
        const struct fx8_settings settings = plain("");
        must_fail_with(fx8_reader_open(&path, 1, &settings, &reader, &error),
                       error, FX8_ERR_INPUT, datasets[i].part);
    }
    H5Tclose(other);
    H5Tclose(pair8);
    H5Tclose(pair16);
    struct fx8_settings settings = plain("antenna,pol,time");
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    must_fail_with(open_pieces(&good, 1, &settings, 0, &reader, &error), error,
                   FX8_ERR_USAGE, "input.column_order: antenna,pol,time");
}

/* The user's rate wins; a recorded one is understood as a fraction. */
static void test_rates(void **state)
{
    (void)state;
    struct piece piece = good;
    struct fx8_settings settings = plain("");
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    piece.tsamp = 1.0799999e-6; /* as a float holds it */
    must(open_pieces(&piece, 1, &settings, 0, &reader, &error), error);
    assert_int_equal(reader->observation.sample_rate.numerator_hz, 25000000);
    assert_int_equal(reader->observation.sample_rate.denominator, 27);
    fx8_reader_close(&reader);
    piece.tsamp = 1e-3;
    settings.observation.sample_rate_hz = (struct fx8_rate){50000000, 54};
    must(open_pieces(&piece, 1, &settings, 0, &reader, &error), error);
    assert_int_equal(reader->observation.sample_rate.numerator_hz, 25000000);
    fx8_reader_close(&reader);
    /* one row has no rate of its own, any fits */
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
    piece.tsamp = 1.0 / 3e6; /* 0.7 samples between two doubles */
    refuse(&piece, 1, "s resolved: expected a sampling rate of at most 1.8");
}

/* Without a channel the frequency is not known. */
static void test_unknown_channel(void **state)
{
    (void)state;
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

/* A file that shrinks or goes while it is read. */
static void test_cut_while_read(void **state)
{
    (void)state;
    const struct fx8_settings settings = plain("");
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    must(open_pieces(&good, 1, &settings, 0, &reader, &error), error);
    int8_t *buffer = exact(reader->buffer_size(reader, 600));
    ptrdiff_t offset[4];
    struct fx8_sample_layout layout = {.input_offset = offset};
    assert_int_equal(truncate(scratch_path(good.name), 5000), 0);
    must_fail_with(reader->read(reader, 0, 600, buffer, &layout, &error), error,
                   FX8_ERR_INPUT, "the file has shrunk");
    static const int64_t ranges[][2] = {{-1, 2}, {0, 0}, {0, 601}, {600, 1}};
    for (size_t i = 0; i < 4; i++)
        must_fail_with(reader->read(reader, ranges[i][0], ranges[i][1], buffer,
                                    &layout, &error),
                       error, FX8_ERR_INPUT, "expected samples within");
    free(buffer);
    fx8_reader_close(&reader);
}

int main(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles_and_parts),
        cmocka_unit_test(test_long_blocks),
        cmocka_unit_test(test_orders_and_bands),
        cmocka_unit_test(test_merged_station),
        cmocka_unit_test(test_missing_tile),
        cmocka_unit_test(test_many_parts),
        cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_stamps_off),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_unknown_channel),
        cmocka_unit_test(test_cut_while_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
