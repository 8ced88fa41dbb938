/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_reader_aavs_hostile.c -- channel files of AAVS that are refused, and the
 * messages: files that contradict one another, wrong time stamps, meaningless
 * attributes and datasets, a file cut while it is read.
 *
 * Shows: as test_reader_aavs.c
 */
#include "validation/aavs_file.h"

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

/* What scenario/bad_tiles.py does not try. */
TEST(test_contradictions)
{
    struct piece other = good;
    other.name = "other.hdf5";
    other.first = 599;
    refuse((struct piece[]){good, other}, 2,
           "also tile 0: expected each tile number once");
    other.first = 600;
    other.n_antennas = 3;
    refuse((struct piece[]){good, other}, 2, "n_antennas: ");
    other = good;
    other.name = "other.hdf5";
    other.n_channels = 2;
    other.first_channel = 203;
    refuse((struct piece[]){good, other}, 2, "or none of them");
}

/* Wrong stamps: in one row, in a whole file, at another rate. */
TEST(test_stamps_off)
{
    struct piece other = good;
    other.name = "other.hdf5";
    other.tile = 1;
    /* three blocks: 0.1 samples, plus rounding in their mean */
    other.shift = 0.35;
    refuse((struct piece[]){good, other}, 2, "row 0: +0.");
    other.shift = -0.35;
    refuse((struct piece[]){good, other}, 2, " samples off the sampling of ");
    other.shift = 0;
    other.tsamp = 1.08e-6 * 1.002;
    refuse(&other, 1, "samples off: expected time stamps at a steady");
    other.tsamp = 1.0 / 3e6; /* 0.7 samples between two doubles */
    refuse(&other, 1, "s resolved: expected a sampling rate of at most 1.8");
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

/* Meaningless attributes and datasets. */
TEST(test_hostile)
{
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
        {"chan_/data", pair8, 1, {600}, "1 axis: expected 2"},
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

/* A file that is cut or deleted while it is read. */
TEST(test_cut_while_read)
{
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
