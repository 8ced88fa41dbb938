/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_hostile_files.c -- recordings that are cut, empty, of no format, or
 * contradict one another are refused with one line.
 *
 * Shows: as test_hostile.c
 */
#include "validation/hostile.h"

/* Change one element of a dataset, or a member of one. */
static void put_element(hid_t file, const char *name, const char *member,
                        int row, double value)
{
    const hsize_t start[2] = {(hsize_t)row, 0}, one[2] = {1, 1};
    hid_t type = H5Tcopy(H5T_NATIVE_DOUBLE);
    if (member != NULL) {
        H5Tclose(type);
        type = H5Tcreate(H5T_COMPOUND, sizeof(double));
        H5Tinsert(type, member, 0, H5T_NATIVE_DOUBLE);
    }
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    write_part(dataset, type, member != NULL ? 1 : 2, start, one, &value);
    H5Dclose(dataset);
    H5Tclose(type);
}

TEST(test_native_tables)
{
    static const struct {
        int row;
        const char *member;
        double value;
        const char *expected;
    } antennas[] = {
        {3, "number", 9, "number 9: twice"},
        {0, "number", -1,
         "row 0: number: -1: expected an integer from 0 to 2147483647"},
        {1, "number", 2147483648.0,
         "row 1: number: 2147483648: expected an integer from 0 to 2147483647"},
        {2, "east_m", INFINITY,
         "row 2: east_m: inf: expected a finite number of metres, or NaN"},
        {4, "cable_delay_s", NAN,
         "row 4: cable_delay_s: nan: expected a finite number of seconds, at "
         "most 1"},
        {3, "cable_delay_s", -1.001,
         "row 3: cable_delay_s: -1.001: expected a finite number of seconds"},
    };
    for (size_t i = 0; i < LENGTH(antennas); i++) {
        hid_t file = make_good_file(&native);
        put_element(file, "antennas", antennas[i].member, antennas[i].row,
                    antennas[i].value);
        H5Fclose(file);
        refuse(&native, antennas[i].expected);
    }
    for (size_t n = 0; n < N_ANT; n += 4) {
        hid_t file = make_good_file(&native);
        put_antennas(file, n);
        H5Fclose(file);
        refuse(&native, n == 0 ? "antennas: 0 rows: expected 5"
                               : "antennas: 4 rows: expected 5");
    }
    static const struct missing_row missing[] = {
        {N_ANT, 0, 0, 1},      {-2, 0, 0, 1},
        {0, N_POL, 0, 1},      {0, -2, 0, 1},
        {0, 0, N_TIME, 1},     {0, 0, 0, 0},
        {0, 0, 1, N_TIME},     {0, 0, UINT64_MAX, 1},
        {0, 0, 0, UINT32_MAX}, {INT64_C(1) << 40, 0, 0, 1}};
    for (size_t i = 0; i < LENGTH(missing); i++) {
        hid_t file = make_good_file(&native);
        put_missing(file, &missing[i], 1);
        H5Fclose(file);
        refuse(&native, missing[i].first_sample == UINT64_MAX
                            ? "missing: row 0: first_sample "
                              "18446744073709551615: expected at most"
                            : "missing: row 0: antenna");
    }
}

/* Bad labels, and labels that h5py allocated and never set. */
TEST(test_native_labels)
{
    static const char *const cases[][4] = {
        {"antenna", "pol", "pol", "expected antenna, pol and time"},
        {"antenna", "", "time", "expected antenna, pol and time"},
        {"a label that is far too long for any axis", "pol", "time",
         "DIMENSION_LABELS: "},
        {NULL, NULL, NULL, NULL},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        hid_t file = make_good_file(&native);
        put_labels(file, cases[i]);
        H5Fclose(file);
        if (cases[i][3] != NULL)
            refuse(&native, cases[i][3]);
    }
    struct fx8_reader *reader = open_recording(native.opened, NULL);
    check_all(reader, 0, 10);
    fx8_reader_close(&reader);
}

/* Sizes that nothing stores, chunks of a time axis that a recorder allocated
 * and never reached, and a group. */
TEST(test_native_without_samples)
{
    static const hsize_t extent[3] = {N_ANT, N_POL, N_TIME}, start[3] = {0};
    static const hsize_t chunk[3] = {N_ANT, 1, CHUNK_TIME}, ones[3] = {1, 1, 1};
    static const hsize_t count[3] = {N_ANT, N_POL, 2 * CHUNK_TIME};
    static const hsize_t absurd[3] = {65536, 2, (hsize_t)1 << 46};
    static const int8_t samples[N_ANT * N_POL * 2 * CHUNK_TIME];
    for (int kind = 0; kind < 4; kind++) {
        hid_t file = make_good_file(&native);
        remove_item(file, "voltages");
        if (kind == 3) {
            H5Gclose(H5Gcreate2(file, "voltages", H5P_DEFAULT, H5P_DEFAULT,
                                H5P_DEFAULT));
        } else {
            hid_t dataset = create_dataset(file, "voltages", H5T_STD_I8LE, 3,
                                           kind == 2 ? absurd : extent, NULL,
                                           kind == 2 ? ones : chunk, kind == 1);
            if (kind < 2)
                write_part(dataset, H5T_NATIVE_INT8, 3, start, count, samples);
            H5Dclose(dataset);
        }
        H5Fclose(file);
        refuse(&native, kind == 3   ? "voltages: not a dataset"
                        : kind == 2 ? "expected fewer than 2^63 bytes"
                                    : "voltages: 10 of 14 chunks were never "
                                      "written: expected a whole recording");
    }
}

/* Cut anywhere, or with samples that would end behind the file. */
TEST(test_native_cut)
{
    struct stat whole;
    H5Fclose(make_good_file(&native));
    assert_int_equal(stat(scratch_path(native.changed), &whole), 0);
    for (off_t n = 0; n < whole.st_size; n += 61) {
        H5Fclose(make_good_file(&native));
        assert_int_equal(truncate(scratch_path(native.changed), n), 0);
        refuse(&native, n < 8 ? "no HDF5 signature: expected an HDF5 file"
                              : ": expected a whole HDF5 file");
    }
    hid_t file = make_good_file(&native);
    hid_t dataset = H5Dopen2(file, "voltages", H5P_DEFAULT);
    /* as the layout message holds them */
    const uint64_t place[2] = {H5Dget_offset(dataset),
                               H5Dget_storage_size(dataset)};
    H5Dclose(dataset);
    H5Fclose(file);
    char bytes[1 << 14], expected[64];
    FILE *stream = fopen(scratch_path(native.changed), "rb");
    assert_int_equal(fread(bytes, 1, sizeof bytes, stream), whole.st_size);
    fclose(stream);
    uint64_t *at = memmem(bytes, (size_t)whole.st_size, place, sizeof place);
    assert_non_null(at);
    const uint64_t moved = (uint64_t)whole.st_size - 100;
    memcpy(at, &moved, sizeof moved);
    scratch_write(native.changed, bytes, (size_t)whole.st_size);
    snprintf(expected, sizeof expected, "in a file of %lld bytes: expected a ",
             (long long)whole.st_size);
    refuse(&native, expected);
}

/* Cut after it was opened: reads fail, whether or not HDF5 notices; so do reads
 * outside the recording. */
TEST(test_cut_while_read)
{
    static const struct {
        const struct format *format;
        const char *expected;
    } cases[] = {
        {&native, "good.h5: voltages: samples 60 to 89: the file has shrunk "},
        {&tart, "data: samples 56 to 95: the file has shrunk from "},
        {&drf_samples, "the file has shrunk from "},
        {&aavs, "the file has shrunk from "},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        H5Fclose(make_good_file(cases[i].format));
        struct fx8_reader *reader =
            open_recording(cases[i].format->opened, NULL);
        ptrdiff_t offset[64];
        struct fx8_sample_layout layout = {.input_offset = offset};
        free(read_rows(reader, 0, 5, &layout));
        assert_int_equal(truncate(scratch_path(cases[i].format->changed), 100),
                         0);
        refuse_read(reader, 60, 30, cases[i].expected);
        refuse_read(reader, 60, 30, " to 100 bytes: expected ");
        refuse_ranges(reader);
        fx8_reader_close(&reader);
    }
    for (int layout = 0; layout < N_LAYOUTS; layout++) {
        hid_t file = create_file("shrunk.h5");
        put_attributes(file);
        put_voltages(file, orders[4], true, false, (enum layout)layout, true);
        H5Fclose(file);
        struct fx8_reader *reader = open_recording("shrunk.h5", NULL);
        check_all(reader, 0, 5);
        assert_int_equal(truncate(scratch_path("shrunk.h5"), 2000), 0);
        refuse_read(reader, 60, 30, cases[0].expected + strlen("good"));
        fx8_reader_close(&reader);
    }
}

TEST(test_not_recordings)
{
    const struct fx8_settings settings = {0},
                              unknown = {.input.format = (enum fx8_format)(
                                             FX8_FORMAT_DADA + 1)};
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    scratch_text("text.h5", "time,value\n");
    H5Fclose(create_file("empty.h5"));
    mkdir(scratch_path("folder"), 0700);
    static const char *const cases[][2] = {
        {"text.h5", "no HDF5 signature: expected a recording in HDF5, or "},
        {"absent.h5", "No such file or directory"},
        {"folder", "folder without channels of Digital RF"},
        {"empty.h5", "unknown format: expected one of fx8, tart"}};
    for (size_t i = 0; i < LENGTH(cases); i++)
        refuse_recording(cases[i][0], NULL, FX8_ERR_INPUT, cases[i][1]);
    must_fail_with(fx8_reader_open(NULL, 0, &settings, &reader, &error), error,
                   FX8_ERR_USAGE, "");
    H5Fclose(make_good_file(&tart));
    const char *path = scratch_path(tart.opened);
    must_fail_with(fx8_reader_open((const char *[]){path, path}, 2, &settings,
                                   &reader, &error),
                   error, FX8_ERR_USAGE, "2 files: expected one");
    refuse_recording(tart.opened, &unknown, FX8_ERR_UNSUPPORTED, "");
}

/* --- tiles ---------------------------------------------------------------- */

static void refuse_pieces(const struct piece *pieces, size_t n,
                          const char *part)
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

/* Files that contradict one another, in what scenario/bad_tiles.py does not
 * try. */
TEST(test_aavs_contradictions)
{
    struct piece two[] = {good_piece, good_piece};
    two[1].name = "other.hdf5";
    two[1].first = 599;
    refuse_pieces(two, 2, "also tile 0: expected each tile number once");
    two[1].first = 600;
    two[1].n_antennas = 3;
    refuse_pieces(two, 2, "n_antennas: ");
    two[1].n_antennas = good_piece.n_antennas;
    two[1].first = 0;
    two[1].n_channels = 2;
    two[1].first_channel = 203;
    refuse_pieces(two, 2, "or none of them");
}

/* Wrong stamps: in a whole file, at another rate, in one row. */
TEST(test_aavs_stamps)
{
    struct piece two[] = {good_piece, good_piece};
    two[1].name = "other.hdf5";
    two[1].tile = 1;
    /* three blocks: 0.1 samples, plus rounding in their mean */
    two[1].shift = 0.35;
    refuse_pieces(two, 2, "row 0: +0.");
    two[1].shift = -0.35;
    refuse_pieces(two, 2, " samples off the sampling of ");
    two[1].shift = 0;
    two[1].tsamp = 1.08e-6 * 1.002;
    refuse_pieces(&two[1], 1, "samples off: expected time stamps at a steady");
    two[1].tsamp = 1.0 / 3e6; /* 0.7 samples between two doubles */
    refuse_pieces(&two[1], 1,
                  "s resolved: expected a sampling rate of at most 1.8");
    static const struct {
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
    for (size_t i = 0; i < LENGTH(cases); i++) {
        hid_t file = make_good_file(&aavs);
        put_element(file, "sample_timestamps/data", NULL, cases[i].row,
                    cases[i].value);
        H5Fclose(file);
        refuse(&aavs, cases[i].part);
    }
    const struct fx8_settings settings = plain("antenna,pol,time");
    refuse_recording(aavs.opened, &settings, FX8_ERR_USAGE,
                     "input.column_order: antenna,pol,time");
}
