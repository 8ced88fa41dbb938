/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_uvh5_hostile.c -- UVH5 files that fx8 did not write: bad ones by their
 * message, odd ones that are still read.
 *
 * Shows: as test_uvh5_header.c
 */
#include <hdf5.h>

#include "validation/hdf5_items.h"
#include "validation/uvh5_file.h"

/* A good file to damage. */
static hid_t open_good(void)
{
    struct fixture f;
    fill(&f, 2, 4, 4);
    struct fx8_uvh5_writer *writer =
        create("odd.uvh5", &f.header, FX8_COMPRESSION_NONE);
    write_dump(writer, &f.header, 0);
    write_dump(writer, &f.header, 1);
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(fx8_uvh5_close(&writer, 2, &error), FX8_OK);
    hid_t file = H5Fopen(scratch_path("odd.uvh5"), H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

static void expect_refused(const char *part)
{
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header h;
    struct fx8_error error;
    const char *path = scratch_path("odd.uvh5");
    must_fail_with(fx8_uvh5_open(path, &file, &h, &error), error, FX8_ERR_INPUT,
                   part);
    assert_memory_equal(error.message, path, strlen(path));
    assert_null(file);
    assert_null(h.ant_1);
}

TEST(test_missing_items)
{
    static const char *const required[] = {"Header/latitude",
                                           "Header/longitude",
                                           "Header/altitude",
                                           "Header/telescope_name",
                                           "Header/instrument",
                                           "Header/history",
                                           "Header/Nants_telescope",
                                           "Header/Nbls",
                                           "Header/Nblts",
                                           "Header/Ntimes",
                                           "Header/Nfreqs",
                                           "Header/Npols",
                                           "Header/antenna_numbers",
                                           "Header/antenna_names",
                                           "Header/antenna_positions",
                                           "Header/ant_1_array",
                                           "Header/ant_2_array",
                                           "Header/uvw_array",
                                           "Header/time_array",
                                           "Header/integration_time",
                                           "Header/freq_array",
                                           "Header/channel_width",
                                           "Header/polarization_array",
                                           "Data/visdata",
                                           "Data/flags",
                                           "Data/nsamples",
                                           "Data",
                                           "Header"};
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
        hid_t file = open_good();
        assert_true(H5Ldelete(file, required[i], H5P_DEFAULT) >= 0);
        H5Fclose(file);
        const char *slash = strchr(required[i], '/');
        char expected[64];
        snprintf(expected, sizeof expected, "%s: missing",
                 slash != NULL ? slash + 1 : required[i]);
        expect_refused(expected);
    }
}

TEST(test_odd_counts)
{
    static const struct {
        const char *name;
        int64_t value;
        const char *expected;
    } cases[] = {
        {"Header/Nbls", 0, "Nbls: 0: expected 1 to"},
        {"Header/Nbls", -1, "Nbls: -1: expected 1 to"},
        {"Header/Nbls", 11, "expected Nbls x Ntimes"},
        {"Header/Nbls", 9, "expected Nbls x Ntimes"},
        {"Header/Nblts", INT64_MAX, "expected 1 to"},
        {"Header/Nants_telescope", INT32_MAX, "expected a count that a file"},
        {"Header/Nants_telescope", 5, "antenna_numbers: shape 4 x 1"},
        {"Header/Nfreqs", 5, "freq_array: shape 4 x 1: expected 5 x 1"},
        {"Header/Npols", 5, "Npols: 5: expected 1 to 4"},
        {"Header/Npols", 3, "polarization_array: shape 4 x 1: expected 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hid_t file = open_good();
        put_dataset(file, cases[i].name, H5T_STD_I64LE, 0, NULL,
                    H5T_NATIVE_INT64, &cases[i].value);
        H5Fclose(file);
        expect_refused(cases[i].expected);
    }
}

TEST(test_odd_types)
{
    const hsize_t cube[3] = {2 * N_BL, 4, 4};
    const hsize_t rows[2] = {2 * N_BL, 3};
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 8);
    const struct {
        const char *name;
        hid_t type;
        int rank;
        const hsize_t *extent;
        const char *expected;
    } cases[] = {
        {"Data/visdata", H5T_IEEE_F32LE, 3, cube,
         "visdata: float32: expected compound {r, i}"},
        {"Data/visdata", H5T_IEEE_F32LE, 2, cube, "visdata: float32"},
        {"Data/flags", H5T_IEEE_F32LE, 3, cube, "flags: float32"},
        {"Data/flags", H5T_STD_I8LE, 2, cube, "flags: 2 axes"},
        {"Data/nsamples", H5T_STD_I8LE, 3, cube, "nsamples: int8"},
        {"Data/nsamples", H5T_IEEE_F32LE, 3, rows, "nsamples: 3 axes"},
        {"Header/Nbls", text, 0, NULL, "Nbls: string: expected a whole"},
        {"Header/latitude", text, 0, NULL, "latitude: string: expected a num"},
        {"Header/time_array", text, 1, rows, "time_array: string: expected"},
        {"Header/uvw_array", H5T_IEEE_F64LE, 1, rows, "uvw_array: shape"},
        {"Header/history", H5T_STD_I8LE, 0, NULL, "history: int8: expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hsize_t extent[3] = {2 * N_BL, 3, 4};
        if (cases[i].extent == cube)
            extent[1] = 4;
        hid_t file = open_good();
        put_dataset(file, cases[i].name, cases[i].type, cases[i].rank, extent,
                    H5I_INVALID_HID, NULL);
        H5Fclose(file);
        expect_refused(cases[i].expected);
    }
    H5Tclose(text);
}

TEST(test_rows_out_of_order)
{
    const hsize_t n = 2 * N_BL;
    int64_t ant_2[2 * N_BL];
    double dates[2 * N_BL];
    struct fixture f;
    fill(&f, 2, 4, 4);
    for (size_t i = 0; i < n; i++) {
        ant_2[i] = f.ant_2[i % N_BL];
        dates[i] = 2458000.5 + (double)(i / N_BL);
    }
    ant_2[13] = 99;
    hid_t file = open_good();
    put_dataset(file, "Header/ant_2_array", H5T_STD_I64LE, 1, &n,
                H5T_NATIVE_INT64, ant_2);
    H5Fclose(file);
    expect_refused("row 13: antennas 1 and 99");
    dates[4] += 1;
    file = open_good();
    put_dataset(file, "Header/time_array", H5T_IEEE_F64LE, 1, &n,
                H5T_NATIVE_DOUBLE, dates);
    H5Fclose(file);
    expect_refused("row 4: antennas");
}

/* What other writers write: counts of other widths as arrays of length 1,
 * strings of variable length, integer and double visibilities, flags over 32
 * bits. */
TEST(test_other_writers)
{
    const hsize_t one = 1;
    const hsize_t cube[3] = {2 * N_BL, 4, 4};
    enum { N = 2 * N_BL * 4 * 4 };
    static int32_t visibilities[N][2];
    static int32_t flags[N];
    for (size_t i = 0; i < N; i++) {
        visibilities[i][0] = (int32_t)i - 100;
        visibilities[i][1] = -3 * (int32_t)i;
        flags[i] = i % 2 == 0;
    }
    hid_t file = open_good();
    const uint16_t n_bl = N_BL;
    put_dataset(file, "Header/Nbls", H5T_STD_U16BE, 1, &one, H5T_NATIVE_UINT16,
                &n_bl);
    const char *name = "variable";
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    put_dataset(file, "Header/telescope_name", text, 0, NULL, text, &name);
    H5Tclose(text);
    hid_t complex = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(complex, "r", 0, H5T_NATIVE_INT32);
    H5Tinsert(complex, "i", 4, H5T_NATIVE_INT32);
    put_dataset(file, "Data/visdata", complex, 3, cube, complex, visibilities);
    H5Tclose(complex);
    hid_t boolean = H5Tenum_create(H5T_NATIVE_INT32);
    int32_t number = 0;
    H5Tenum_insert(boolean, "FALSE", &number);
    number = 1;
    H5Tenum_insert(boolean, "TRUE", &number);
    put_dataset(file, "Data/flags", boolean, 3, cube, boolean, flags);
    H5Tclose(boolean);
    const hsize_t two = 2;
    const double pair[2] = {1, 2};
    put_dataset(file, "Header/extra_keywords/PAIR", H5T_IEEE_F64LE, 1, &two,
                H5T_NATIVE_DOUBLE, pair);
    put_dataset(file, "Header/extra_keywords/a long name", H5T_IEEE_F64LE, 0,
                NULL, H5T_NATIVE_DOUBLE, pair);
    H5Fclose(file);
    struct fx8_uvh5_file *odd = NULL;
    struct fx8_uvh5_header h;
    struct fx8_error error;
    must(fx8_uvh5_open(scratch_path("odd.uvh5"), &odd, &h, &error), error);
    assert_string_equal(h.telescope, "variable");
    assert_int_equal(h.n_keywords, 3);
    static double got[N][2];
    static uint8_t got_flags[N];
    assert_int_equal(
        fx8_uvh5_read_rows(odd, 0, 2 * N_BL, got[0], got_flags, NULL, &error),
        FX8_OK);
    for (size_t i = 0; i < N; i++) {
        assert_true(got[i][0] == visibilities[i][0]);
        assert_true(got[i][1] == visibilities[i][1]);
        assert_int_equal(got_flags[i], flags[i]);
    }
    assert_int_equal(
        fx8_uvh5_read_rows(odd, 2 * N_BL, 1, NULL, NULL, NULL, &error),
        FX8_ERR_USAGE);
    assert_int_equal(
        fx8_uvh5_read_rows(odd, 1, SIZE_MAX, NULL, NULL, NULL, &error),
        FX8_ERR_USAGE);
    fx8_uvh5_header_clear(&h);
    fx8_uvh5_file_close(&odd);
}
