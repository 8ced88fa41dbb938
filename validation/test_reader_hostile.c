/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_reader_hostile.c -- recordings that are damaged, cut or malicious are
 * refused with one line that names the file and the item.
 *
 * Shows (recordings, damaged recordings): damaged and hostile recordings are
 *     refused
 * Within: exit 1, one line, nothing left behind
 * In: scenario/bad_recordings.py
 */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "validation/recording_file.h"

/* Remove an attribute of a good recording, or replace it by a text or by a
 * number of some type. */
static void bad_attribute(const char *name, hid_t type, double value,
                          const char *text, const char *expected)
{
    make_good("bad.h5");
    hid_t file = reopen("bad.h5");
    assert_true(H5Adelete(file, name) >= 0);
    if (text != NULL)
        put_text(file, name, text, true);
    else if (type != H5I_INVALID_HID)
        put_attribute(file, name, type, H5T_NATIVE_DOUBLE, &value);
    H5Fclose(file);
    expect_refused("bad.h5", expected);
}

TEST(test_bad_attributes)
{
    static const char *const required[] = {"format",
                                           "version",
                                           "sample_rate_numerator_hz",
                                           "sample_rate_denominator",
                                           "dc_frequency_hz",
                                           "sideband",
                                           "start_time_unix_s",
                                           "start_time_ns"};
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
        char expected[128];
        snprintf(expected, sizeof expected, "%s: missing", required[i]);
        bad_attribute(required[i], H5I_INVALID_HID, 0, NULL, expected);
    }
    const hid_t whole = H5T_STD_I64LE, real = H5T_IEEE_F64LE;
    const struct {
        const char *name;
        hid_t type;
        double value;
        const char *expected;
    } numbers[] = {
        {"format", whole, 0, "format: int64: expected text"},
        {"version", whole, 0, "version: 0: expected 1 to 1"},
        {"version", real, 0.5, "version: float64: expected a whole number"},
        {"sample_rate_numerator_hz", whole, 0, ": 0: expected 1 to"},
        {"sample_rate_numerator_hz", H5T_STD_U64LE, 0x1p63,
         "9223372036854775808: expected at most 9223372036854775807"},
        {"sample_rate_denominator", whole, -1, ": -1: expected 1 to"},
        {"dc_frequency_hz", real, -0.5, ": -0.5: expected 0 to 1e15 Hz"},
        {"dc_frequency_hz", real, 1.1e15, ": 1.1e+15: expected 0 to 1e15 Hz"},
        {"dc_frequency_hz", real, NAN, "expected a finite number"},
        {"sideband", whole, 0, "int64: expected text"},
        {"start_time_ns", whole, -1, ": -1: expected 0 to 999999999"},
        {"start_time_ns", whole, 1e9, "expected 0 to 999999999"},
        {"start_time_unix_s", real, 0.5, "float64: expected a whole number"},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        bad_attribute(numbers[i].name, numbers[i].type, numbers[i].value, NULL,
                      numbers[i].expected);
    for (int is_null = 0; is_null < 2; is_null++) {
        const hsize_t two = 2;
        make_good("bad.h5");
        hid_t file = reopen("bad.h5");
        hid_t space =
            is_null ? H5Screate(H5S_NULL) : H5Screate_simple(1, &two, NULL);
        H5Adelete(file, "sample_rate_denominator");
        H5Aclose(H5Acreate2(file, "sample_rate_denominator", whole, space,
                            H5P_DEFAULT, H5P_DEFAULT));
        H5Sclose(space);
        H5Fclose(file);
        expect_refused("bad.h5", is_null ? "expected a value"
                                         : "shape 2 x 1: expected 1 x 1");
    }
    char text[300];
    memset(text, 'x', sizeof text);
    text[299] = '\0';
    const char *const texts[][3] = {
        {"format", "sideways", "format: sideways: expected fx8-voltages"},
        {"sample_rate_numerator_hz", "many", "string: expected a whole number"},
        {"dc_frequency_hz", "high", "string: expected a number"},
        {"sideband", "sideways", "sideways: expected upper or lower"},
        {"telescope", text, "299 characters: expected fewer than"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        bad_attribute(texts[i][0], H5I_INVALID_HID, 0, texts[i][1],
                      texts[i][2]);
}

/* A dataset without stored data, of any claimed shape. */
static void bad_voltages(const char *expected, hid_t type, int rank,
                         const hsize_t *extent)
{
    hid_t file = create_file("bad.h5");
    put_attributes(file);
    hid_t space = H5Screate_simple(rank, extent, NULL);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[4] = {1, 1, 1, 1};
    H5Pset_chunk(creation, rank, chunk);
    hid_t dataset = H5Dcreate2(file, "voltages", type, space, H5P_DEFAULT,
                               creation, H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Sclose(space);
    H5Fclose(file);
    expect_refused("bad.h5", expected);
}

TEST(test_bad_voltages)
{
    const hsize_t good[4] = {5, 2, 100, 1};
    bad_voltages("voltages: uint8: expected int8", H5T_STD_U8LE, 3, good);
    bad_voltages("voltages: int16: expected int8", H5T_STD_I16LE, 3, good);
    bad_voltages("voltages: float32: expected int8", H5T_IEEE_F32LE, 3, good);
    bad_voltages("voltages: 2 axes: expected 3", H5T_STD_I8LE, 2, good);
    bad_voltages("voltages: 4 axes: expected 3", H5T_STD_I8LE, 4, good);
    hid_t type = H5Tcreate(H5T_COMPOUND, 4);
    H5Tinsert(type, "r", 0, H5T_STD_I16LE);
    H5Tinsert(type, "i", 2, H5T_STD_I16LE);
    bad_voltages("compound {r: int16, i: int16}: expected", type, 3, good);
    H5Tclose(type);
    type = H5Tcreate(H5T_COMPOUND, 2);
    H5Tinsert(type, "real", 0, H5T_STD_I8LE);
    H5Tinsert(type, "imag", 1, H5T_STD_I8LE);
    bad_voltages("compound {real: int8, imag: int8}: expected", type, 3, good);
    H5Tclose(type);
    const hsize_t shapes[][3] = {{0, 2, 100},     {5, 0, 100},
                                 {5, 2, 0},       {5, 3, 100},
                                 {65537, 2, 100}, {5, 2, (hsize_t)1 << 63}};
    static const char *const expected[] = {
        "antenna axis of length 0",     "pol axis of length 0",
        "time axis of length 0",        "pol axis of length 3",
        "antenna axis of length 65537", "expected"};
    for (size_t i = 0; i < 5; i++)
        bad_voltages(expected[i], H5T_STD_I8LE, 3, shapes[i]);
    const hsize_t absurd[3] = {65536, 2, (hsize_t)1 << 46};
    bad_voltages("expected fewer than 2^63 bytes", H5T_STD_I8LE, 3, absurd);
    hid_t file = create_file("bad.h5");
    put_attributes(file);
    H5Fclose(file);
    expect_refused("bad.h5", "voltages: missing: expected a dataset");
    file = create_file("bad.h5");
    put_attributes(file);
    H5Gclose(
        H5Gcreate2(file, "voltages", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
    expect_refused("bad.h5", "voltages: not a dataset");
}

/* Bad labels, and labels that h5py allocated and never set. */
TEST(test_labels)
{
    static const char *const cases[][4] = {
        {"antenna", "pol", "pol", "expected antenna, pol and time"},
        {"antenna", "", "time", "expected antenna, pol and time"},
        {"a label that is far too long for any axis", "pol", "time",
         "DIMENSION_LABELS: "},
        {NULL, NULL, NULL, NULL},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        make_good("bad.h5");
        hid_t file = reopen("bad.h5");
        hid_t dataset = H5Dopen2(file, "voltages", H5P_DEFAULT);
        put_labels(dataset, cases[i]);
        H5Dclose(dataset);
        H5Fclose(file);
        if (cases[i][3] != NULL)
            expect_refused("bad.h5", cases[i][3]);
    }
    struct fx8_reader *reader = open_good("bad.h5");
    check_read(reader, selections[0].inputs, selections[0].n, 0, 10);
    fx8_reader_close(&reader);
}

/* Chunks of a time axis that a recorder allocated and never reached. */
TEST(test_unwritten)
{
    const hsize_t extent[3] = {N_ANT, N_POL, N_TIME};
    const hsize_t chunk[3] = {N_ANT, 1, CHUNK_TIME};
    const hsize_t start[3] = {0, 0, 0};
    const hsize_t count[3] = {N_ANT, N_POL, 2 * CHUNK_TIME};
    static const int8_t samples[N_ANT * N_POL * 2 * CHUNK_TIME];
    for (int packed = 0; packed < 2; packed++) {
        hid_t file = create_file("bad.h5");
        put_attributes(file);
        hid_t space = H5Screate_simple(3, extent, NULL);
        hid_t memory = H5Screate_simple(3, count, NULL);
        hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_chunk(creation, 3, chunk);
        if (packed)
            H5Pset_deflate(creation, 1);
        hid_t dataset = H5Dcreate2(file, "voltages", H5T_STD_I8LE, space,
                                   H5P_DEFAULT, creation, H5P_DEFAULT);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
        assert_true(H5Dwrite(dataset, H5T_NATIVE_INT8, memory, space,
                             H5P_DEFAULT, samples) >= 0);
        H5Dclose(dataset);
        H5Pclose(creation);
        H5Sclose(memory);
        H5Sclose(space);
        H5Fclose(file);
        expect_refused("bad.h5", "voltages: 10 of 14 chunks were never "
                                 "written: expected a whole recording");
    }
    hid_t file = create_file("bad.h5");
    put_attributes(file);
    hid_t space = H5Screate_simple(3, extent, NULL);
    H5Dclose(H5Dcreate2(file, "voltages", H5T_STD_I8LE, space, H5P_DEFAULT,
                        H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Fclose(file);
    expect_refused("bad.h5",
                   "voltages: never written: expected a whole recording");
}

/* Cut anywhere, or with samples that would end behind the file. */
TEST(test_cut)
{
    struct stat whole;
    make_good("cut.h5");
    assert_int_equal(stat(scratch_path("cut.h5"), &whole), 0);
    for (off_t n = 0; n < whole.st_size; n += 61) {
        make_good("cut.h5");
        assert_int_equal(truncate(scratch_path("cut.h5"), n), 0);
        expect_refused("cut.h5",
                       n < 8 ? "no HDF5 signature: expected an HDF5 file"
                             : ": expected a whole HDF5 file");
    }
    make_good("cut.h5");
    hid_t file = reopen("cut.h5");
    hid_t dataset = H5Dopen2(file, "voltages", H5P_DEFAULT);
    /* as the layout message holds them */
    const uint64_t place[2] = {H5Dget_offset(dataset),
                               H5Dget_storage_size(dataset)};
    H5Dclose(dataset);
    H5Fclose(file);
    char bytes[1 << 14], expected[64];
    FILE *stream = fopen(scratch_path("cut.h5"), "rb");
    assert_int_equal(fread(bytes, 1, sizeof bytes, stream), whole.st_size);
    fclose(stream);
    uint64_t *at = memmem(bytes, (size_t)whole.st_size, place, sizeof place);
    assert_non_null(at);
    const uint64_t moved = (uint64_t)whole.st_size - 100;
    memcpy(at, &moved, sizeof moved);
    scratch_write("cut.h5", bytes, (size_t)whole.st_size);
    snprintf(expected, sizeof expected, "in a file of %lld bytes: expected a ",
             (long long)whole.st_size);
    expect_refused("cut.h5", expected);
}

/* Cut after it was opened: reads fail, whether or not HDF5 notices. */
TEST(test_cut_while_read)
{
    for (int layout = 0; layout < N_LAYOUTS; layout++) {
        hid_t file = create_file("shrunk.h5");
        put_attributes(file);
        put_voltages(file, orders[4], true, false, (enum layout)layout, true);
        H5Fclose(file);
        struct fx8_reader *reader = open_good("shrunk.h5");
        check_read(reader, selections[0].inputs, selections[0].n, 0, 5);
        assert_int_equal(truncate(scratch_path("shrunk.h5"), 2000), 0);
        int8_t buffer[N_ANT * N_POL * 2 * 30];
        ptrdiff_t offset[N_ANT * N_POL];
        struct fx8_sample_layout into = {.input_offset = offset};
        struct fx8_error error = {FX8_OK, ""};
        must_fail_with(reader->read(reader, 60, 30, buffer, &into, &error),
                       error, FX8_ERR_INPUT,
                       "shrunk.h5: voltages: samples 60 to 89: the file has "
                       "shrunk from ");
        assert_non_null(strstr(error.message, " to 2000 bytes: expected "));
        fx8_reader_close(&reader);
    }
}

TEST(test_not_recordings)
{
    const struct fx8_settings settings = {0};
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    scratch_text("text.h5", "time,value\n");
    H5Fclose(create_file("empty.h5"));
    const struct {
        const char *name;
        const char *expected;
    } cases[] = {{"text.h5", "no HDF5 signature: expected an HDF5 file"},
                 {"absent.h5", "No such file or directory"},
                 {".", "folder of an unknown format"},
                 {"empty.h5", "unknown format: expected one of fx8, tart"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *one = scratch_path(cases[i].name);
        must_fail_with(fx8_reader_open(&one, 1, &settings, &reader, &error),
                       error, FX8_ERR_INPUT, cases[i].expected);
        assert_null(reader);
    }
    assert_int_equal(fx8_reader_open(NULL, 0, &settings, &reader, &error),
                     FX8_ERR_USAGE);
    make_good("two.h5");
    const char *two[2] = {scratch_path("two.h5"), scratch_path("two.h5")};
    assert_int_equal(fx8_reader_open(two, 2, &settings, &reader, &error),
                     FX8_ERR_USAGE);
    assert_non_null(strstr(error.message, "2 files: expected one"));
    const struct fx8_settings other = {
        .input.format = (enum fx8_format)(FX8_FORMAT_DIGITAL_RF + 1)};
    assert_int_equal(fx8_reader_open(two, 1, &other, &reader, &error),
                     FX8_ERR_UNSUPPORTED);
}
