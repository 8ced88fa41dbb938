/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_reader_tables.c -- tables of antennas and of missing samples in
 * recordings, good and bad.
 *
 * Shows: as test_reader_native.c
 */
#include <math.h>

#include "validation/recording_file.h"

struct antenna_row {
    int64_t number;
    char name[20];
    float up_m;
    double north_m;
    double east_m;
    double cable_delay_s;
};

static hid_t antenna_type(void)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct antenna_row));
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 20);
    H5Tset_strpad(text, H5T_STR_NULLPAD);
    H5Tinsert(type, "up_m", offsetof(struct antenna_row, up_m),
              H5T_NATIVE_FLOAT);
    H5Tinsert(type, "number", offsetof(struct antenna_row, number),
              H5T_NATIVE_INT64);
    H5Tinsert(type, "name", offsetof(struct antenna_row, name), text);
    H5Tinsert(type, "east_m", offsetof(struct antenna_row, east_m),
              H5T_NATIVE_DOUBLE);
    H5Tinsert(type, "north_m", offsetof(struct antenna_row, north_m),
              H5T_NATIVE_DOUBLE);
    H5Tinsert(type, "cable_delay_s",
              offsetof(struct antenna_row, cable_delay_s), H5T_NATIVE_DOUBLE);
    H5Tclose(text);
    return type;
}

static void put_table(hid_t file, const char *name, hid_t type, size_t n,
                      const void *rows)
{
    const hsize_t extent = n;
    put_dataset(file, name, type, 1, &extent, type, n > 0 ? rows : NULL);
}

static void fill_antennas(struct antenna_row rows[N_ANT])
{
    for (int i = 0; i < N_ANT; i++) {
        rows[i] = (struct antenna_row){.number = 10 - i,
                                       .up_m = 0.5f * (float)i,
                                       .north_m = 2.0 * i,
                                       .east_m = 3.0 * i,
                                       .cable_delay_s = 1e-9 * i};
        snprintf(rows[i].name, sizeof rows[i].name, "A%d", i);
    }
}

/* Write a whole recording with a table of n rows; closes its type.  Returns the
 * file, still open. */
static hid_t make_with_table(const char *name, const char *table, hid_t type,
                             size_t n, const void *rows)
{
    make_good(name);
    hid_t file = reopen(name);
    put_table(file, table, type, n, rows);
    H5Tclose(type);
    return file;
}

static hid_t make_antennas(const char *name, const struct antenna_row *rows,
                           size_t n)
{
    return make_with_table(name, "antennas", antenna_type(), n, rows);
}

TEST(test_antenna_table)
{
    struct antenna_row rows[N_ANT];
    fill_antennas(rows);
    hid_t file = make_antennas("antennas.h5", rows, N_ANT);
    hid_t table = H5Dopen2(file, "antennas", H5P_DEFAULT);
    put_real(table, "latitude_deg", -26.5);
    put_integer(table, "longitude_deg", H5T_STD_I16BE, 116);
    put_real(table, "altitude_m", 377.0);
    H5Dclose(table);
    H5Fclose(file);
    struct fx8_reader *reader = open_good("antennas.h5");
    const struct fx8_observation *o = &reader->observation;
    assert_int_equal(o->n_table, N_ANT);
    for (size_t i = 0; i < N_ANT; i++) {
        assert_int_equal(o->antennas[i].number, 10 - i);
        assert_string_equal(o->antennas[i].name, rows[i].name);
        assert_int_equal(o->antennas[i].position, i);
        assert_true(o->antennas[i].enu_m[0] == rows[i].east_m);
        assert_true(o->antennas[i].enu_m[1] == rows[i].north_m);
        assert_true(o->antennas[i].enu_m[2] == (double)rows[i].up_m);
        for (int p = 0; p < 2; p++)
            assert_true(o->antennas[i].cable_delay_s[p] ==
                        rows[i].cable_delay_s);
    }
    assert_true(o->site.latitude_deg == -26.5);
    assert_true(o->site.longitude_deg == 116.0);
    assert_true(o->site.altitude_m == 377.0);
    fx8_reader_close(&reader);
}

/* A table whose site lacks `missing`, or lies at `latitude`. */
static void bad_site(const char *missing, double latitude, const char *expected)
{
    static const char *const names[3] = {"latitude_deg", "longitude_deg",
                                         "altitude_m"};
    struct antenna_row rows[N_ANT];
    fill_antennas(rows);
    hid_t file = make_antennas("badant.h5", rows, N_ANT);
    hid_t table = H5Dopen2(file, "antennas", H5P_DEFAULT);
    for (int i = 0; i < 3; i++)
        if (missing == NULL || strcmp(names[i], missing) != 0)
            put_real(table, names[i], latitude);
    H5Dclose(table);
    H5Fclose(file);
    expect_refused("badant.h5", expected);
}

TEST(test_bad_antenna_tables)
{
    struct antenna_row rows[N_ANT];
    fill_antennas(rows);
    static const size_t counts[] = {4, 0};
    for (size_t i = 0; i < 2; i++) {
        H5Fclose(make_antennas("badant.h5", rows, counts[i]));
        expect_refused("badant.h5", i == 0 ? "antennas: 4 rows: expected 5"
                                           : "antennas: 0 rows: expected 5");
    }
    static const struct {
        int row;
        const char *member;
        double value;
        const char *expected;
    } cases[] = {
        {3, "number", 9, "number 9: twice"},
        {0, "number", -1,
         "row 0: number: -1: expected an integer from 0 to 2147483647"},
        {1, "number", 2147483648.0,
         "row 1: number: 2147483648: expected an integer from 0 to 2147483647"},
        {2, "east_m", INFINITY,
         "row 2: east_m: inf: expected a finite number of metres, or NaN"},
        {4, "cable_delay_s", NAN,
         "row 4: cable_delay_s: nan: expected a finite number of seconds"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const hsize_t row = (hsize_t)cases[i].row, one = 1;
        hid_t file = make_antennas("badant.h5", rows, N_ANT);
        hid_t table = H5Dopen2(file, "antennas", H5P_DEFAULT);
        hid_t space = H5Dget_space(table), element = H5Screate(H5S_SCALAR);
        hid_t member = H5Tcreate(H5T_COMPOUND, sizeof(double));
        H5Tinsert(member, cases[i].member, 0, H5T_NATIVE_DOUBLE);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &row, NULL, &one, NULL);
        assert_true(H5Dwrite(table, member, element, space, H5P_DEFAULT,
                             &cases[i].value) >= 0);
        H5Tclose(member);
        H5Sclose(element);
        H5Sclose(space);
        H5Dclose(table);
        H5Fclose(file);
        expect_refused("badant.h5", cases[i].expected);
    }
    bad_site("latitude_deg", 0,
             "antennas: attribute latitude_deg: missing: expected all of "
             "latitude_deg, longitude_deg, altitude_m, or none");
    bad_site(NULL, 90.5,
             "antennas: attribute latitude_deg: 90.5: expected -90 to 90");
    make_good("badant.h5");
    hid_t file = reopen("badant.h5");
    const int32_t numbers[N_ANT] = {0, 1, 2, 3, 4};
    put_table(file, "antennas", H5T_NATIVE_INT32, N_ANT, numbers);
    H5Fclose(file);
    expect_refused("badant.h5", "antennas: int32: expected a table");
    make_good("badant.h5");
    file = reopen("badant.h5");
    hid_t type = H5Tcreate(H5T_COMPOUND, 4);
    H5Tinsert(type, "number", 0, H5T_NATIVE_FLOAT);
    const float floats[N_ANT] = {0, 1, 2, 3, 4};
    put_table(file, "antennas", type, N_ANT, floats);
    H5Tclose(type);
    H5Fclose(file);
    expect_refused("badant.h5", "compound {number: float32}: expected a member "
                                "number, a whole number");
}

struct missing_row {
    int64_t antenna;
    int8_t pol;
    uint64_t first_sample;
    uint32_t count;
};

static hid_t missing_type(void)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct missing_row));
    H5Tinsert(type, "count", offsetof(struct missing_row, count),
              H5T_NATIVE_UINT32);
    H5Tinsert(type, "antenna", offsetof(struct missing_row, antenna),
              H5T_NATIVE_INT64);
    H5Tinsert(type, "pol", offsetof(struct missing_row, pol), H5T_NATIVE_INT8);
    H5Tinsert(type, "first_sample", offsetof(struct missing_row, first_sample),
              H5T_NATIVE_UINT64);
    return type;
}

static void make_missing(const char *name, const struct missing_row *rows,
                         size_t n)
{
    H5Fclose(make_with_table(name, "missing", missing_type(), n, rows));
}

TEST(test_missing_table)
{
    const struct missing_row rows[] = {
        {3, 1, 90, 11}, {0, -1, 5, 1}, {-1, -1, 40, 2}, {0, 0, 40, 61}};
    make_missing("missing.h5", rows, 4);
    struct fx8_reader *reader = open_good("missing.h5");
    static const int expected[4] = {1, 2, 3, 0}; /* by first_sample, antenna */
    assert_int_equal(reader->n_missing, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct missing_row *row = &rows[expected[i]];
        assert_int_equal(reader->missing[i].antenna, row->antenna);
        assert_int_equal(reader->missing[i].polarization, row->pol);
        assert_int_equal(reader->missing[i].first_sample, row->first_sample);
        assert_int_equal(reader->missing[i].n_samples, row->count);
    }
    fx8_reader_close(&reader);
    make_missing("missing.h5", NULL, 0);
    reader = open_good("missing.h5");
    assert_int_equal(reader->n_missing, 0);
    fx8_reader_close(&reader);
    const struct missing_row bad[] = {
        {N_ANT, 0, 0, 1},      {-2, 0, 0, 1},
        {0, N_POL, 0, 1},      {0, -2, 0, 1},
        {0, 0, N_TIME, 1},     {0, 0, 0, 0},
        {0, 0, 1, N_TIME},     {0, 0, UINT64_MAX, 1},
        {0, 0, 0, UINT32_MAX}, {INT64_C(1) << 40, 0, 0, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        make_missing("missing.h5", &bad[i], 1);
        expect_refused("missing.h5",
                       bad[i].first_sample == UINT64_MAX
                           ? "missing: row 0: first_sample "
                             "18446744073709551615: expected at most"
                           : "missing: row 0: antenna");
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
    const size_t n = sizeof rows / sizeof *rows;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const int order = fx8_missing_order(&rows[i], &rows[j]);
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
}
