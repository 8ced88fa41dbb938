/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_io_readers.c -- recordings: every axis order, type, layout and
 * selection element by element; damaged and hostile files by their message.
 */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <hdf5.h>

#include "config/settings.h"
#include "io/native.h"
#include "io/reader.h"

static char folder[] = "/tmp/fx8-readers-XXXXXX";
static char path[512];

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.')
            unlink(in_folder(entry->d_name));
    closedir(directory);
    return rmdir(folder);
}

/* --- a recording made with HDF5 alone ------------------------------------ */

enum { N_ANT = 5, N_POL = 2, N_TIME = 101, CHUNK_TIME = 16 };
enum layout { CONTIGUOUS, CHUNKED, PACKED, N_LAYOUTS };

/* Any byte, -128 among them, different along every axis. */
static int8_t sample(size_t a, size_t p, size_t t, size_t part)
{
    const unsigned value =
        (unsigned)(a * 37 + p * 101 + t * 7 + t * t * 3 + part * 53 + 128);
    return (int8_t)(uint8_t)(value & 0xff);
}

static const char *const axes[3] = {"antenna", "pol", "time"};
static const size_t extents[3] = {N_ANT, N_POL, N_TIME};
static const int orders[6][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1},
                                 {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

static void put_integer(hid_t object, const char *name, hid_t type,
                        int64_t value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t id = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(id >= 0);
    assert_true(H5Awrite(id, H5T_NATIVE_INT64, &value) >= 0);
    H5Aclose(id);
    H5Sclose(space);
}

static void put_real(hid_t object, const char *name, double value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t id = H5Acreate2(object, name, H5T_IEEE_F64LE, space, H5P_DEFAULT,
                          H5P_DEFAULT);
    assert_true(H5Awrite(id, H5T_NATIVE_DOUBLE, &value) >= 0);
    H5Aclose(id);
    H5Sclose(space);
}

static void put_text(hid_t object, const char *name, const char *text,
                     bool variable)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, variable ? H5T_VARIABLE : strlen(text));
    H5Tset_strpad(type, variable ? H5T_STR_NULLTERM : H5T_STR_NULLPAD);
    hid_t id = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(id, type, variable ? (const void *)&text : text) >= 0);
    H5Aclose(id);
    H5Tclose(type);
    H5Sclose(space);
}

static void put_labels(hid_t dataset, const char *const labels[3])
{
    const hsize_t n = 3;
    hid_t space = H5Screate_simple(1, &n, NULL);
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    hid_t id = H5Acreate2(dataset, "DIMENSION_LABELS", type, space, H5P_DEFAULT,
                          H5P_DEFAULT);
    assert_true(H5Awrite(id, type, labels) >= 0);
    H5Aclose(id);
    H5Tclose(type);
    H5Sclose(space);
}

static void put_attributes(hid_t file)
{
    put_text(file, "format", "fx8-voltages", true);
    put_integer(file, "version", H5T_STD_I32LE, 1);
    put_integer(file, "sample_rate_numerator_hz", H5T_STD_U64LE, 50000000);
    put_integer(file, "sample_rate_denominator", H5T_STD_U64LE, 54);
    put_real(file, "dc_frequency_hz", 150e6);
    put_text(file, "sideband", "lower", false);
    put_integer(file, "start_time_unix_s", H5T_STD_I64LE, 1567105200);
    put_integer(file, "start_time_ns", H5T_STD_I64LE, 123456789);
    put_text(file, "telescope", "test array", false);
}

/* {r, i} of int8: plain, or turned round with gaps. */
static hid_t complex_type(bool odd)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, odd ? 7 : 2);
    H5Tinsert(type, odd ? "i" : "r", odd ? 1 : 0, H5T_NATIVE_INT8);
    H5Tinsert(type, odd ? "r" : "i", odd ? 5 : 1, H5T_NATIVE_INT8);
    return type;
}

static void put_voltages(hid_t file, const int order[3], bool is_complex,
                         bool odd_type, enum layout layout, bool labelled)
{
    static int8_t samples[N_ANT * N_POL * N_TIME * 2];
    const size_t parts = is_complex ? 2 : 1;
    hsize_t extent[3];
    hsize_t chunk[3];
    const char *labels[3];
    for (int i = 0; i < 3; i++) {
        extent[i] = extents[order[i]];
        chunk[i] = order[i] == 2 ? CHUNK_TIME : 2;
        labels[i] = axes[order[i]];
    }
    int8_t *to = samples;
    for (size_t x = 0; x < extent[0]; x++)
        for (size_t y = 0; y < extent[1]; y++)
            for (size_t z = 0; z < extent[2]; z++)
                for (size_t part = 0; part < parts; part++) {
                    size_t index[3];
                    index[order[0]] = x;
                    index[order[1]] = y;
                    index[order[2]] = z;
                    *to++ = sample(index[0], index[1], index[2], part);
                }
    hid_t memory = is_complex ? complex_type(false) : H5Tcopy(H5T_NATIVE_INT8);
    hid_t type = is_complex ? complex_type(odd_type) : H5Tcopy(H5T_NATIVE_INT8);
    hid_t space = H5Screate_simple(3, extent, NULL);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (layout != CONTIGUOUS)
        H5Pset_chunk(creation, 3, chunk);
    if (layout == PACKED)
        H5Pset_deflate(creation, 1);
    hid_t dataset = H5Dcreate2(file, "voltages", type, space, H5P_DEFAULT,
                               creation, H5P_DEFAULT);
    assert_true(
        H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, samples) >= 0);
    if (labelled)
        put_labels(dataset, labels);
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Sclose(space);
    H5Tclose(type);
    H5Tclose(memory);
}

static hid_t create_file(const char *name)
{
    hid_t file =
        H5Fcreate(in_folder(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

static void make_good(const char *name)
{
    hid_t file = create_file(name);
    put_attributes(file);
    put_voltages(file, orders[0], true, false, CONTIGUOUS, false);
    H5Fclose(file);
}

static struct fx8_reader *open_good(const char *name)
{
    const struct fx8_settings settings = {0};
    const char *one = in_folder(name);
    struct fx8_reader *reader = NULL;
    struct fx8_error error = {FX8_OK, ""};
    if (fx8_reader_open(&one, 1, &settings, &reader, &error) != FX8_OK)
        fail_msg("%s", error.message);
    return reader;
}

/* Refused with FX8_ERR_INPUT and a message of one line that names the file
 * and holds `part`. */
static void expect_refused(const char *name, const char *part)
{
    const struct fx8_settings settings = {.input.format = FX8_FORMAT_FX8};
    const char *one = in_folder(name);
    struct fx8_reader *reader = NULL;
    struct fx8_error error = {FX8_OK, ""};
    const enum fx8_status status =
        fx8_reader_open(&one, 1, &settings, &reader, &error);
    if (status != FX8_ERR_INPUT || strstr(error.message, part) == NULL ||
        strncmp(error.message, one, strlen(one)) != 0)
        fail_msg("status %d, message '%s', expected '%s'", status,
                 error.message, part);
    assert_null(reader);
}

/* --- reading -------------------------------------------------------------- */

/* Read [first, first + n) and compare every sample of every input. */
static void check_read(struct fx8_reader *reader,
                       const struct fx8_input_position *inputs, size_t n_inputs,
                       int64_t first, int64_t n)
{
    const bool is_complex = reader->observation.is_complex;
    const size_t size = reader->buffer_size(reader, n);
    const size_t guard = 32;
    int8_t *buffer = malloc(size + guard);
    assert_non_null(buffer);
    memset(buffer, 0x5a, size + guard);
    ptrdiff_t offset[N_ANT * N_POL * 2];
    struct fx8_sample_layout layout = {.input_offset = offset};
    struct fx8_error error = {FX8_OK, ""};
    if (reader->read(reader, first, n, buffer, &layout, &error) != FX8_OK)
        fail_msg("%s", error.message);
    for (size_t i = 0; i < guard; i++)
        assert_int_equal(buffer[size + i], 0x5a);
    for (size_t i = 0; i < n_inputs; i++)
        for (int64_t t = 0; t < n; t++)
            for (size_t part = 0; part < (is_complex ? 2 : 1); part++) {
                const ptrdiff_t at = offset[i] + t * layout.time_stride;
                assert_in_range((uintmax_t)at, 0, size - 1);
                assert_int_equal(buffer[(size_t)at + part],
                                 sample(inputs[i].antenna,
                                        inputs[i].polarization,
                                        (size_t)(first + t), part));
            }
    free(buffer);
}

static const struct {
    size_t n;
    struct fx8_input_position inputs[12];
} selections[] = {
    {10,
     {{0, 0},
      {0, 1},
      {1, 0},
      {1, 1},
      {2, 0},
      {2, 1},
      {3, 0},
      {3, 1},
      {4, 0},
      {4, 1}}},
    {1, {{4, 1}}},
    {5, {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}}},
    {7, {{4, 1}, {0, 1}, {3, 0}, {1, 0}, {0, 0}, {3, 1}, {1, 1}}},
    {4, {{2, 1}, {2, 1}, {4, 0}, {0, 1}}}, /* one input twice */
};

static void check_selections(struct fx8_reader *reader)
{
    static const int64_t ranges[][2] = {{0, 1},          {0, N_TIME}, {15, 2},
                                        {N_TIME - 1, 1}, {16, 32},    {7, 83}};
    const size_t n_ranges = sizeof ranges / sizeof ranges[0];
    /* before any choice: all inputs, antennas slowest */
    check_read(reader, selections[0].inputs, selections[0].n, 3, 50);
    for (size_t s = 0; s < sizeof selections / sizeof selections[0]; s++) {
        struct fx8_error error = {FX8_OK, ""};
        assert_int_equal(reader->select(reader, selections[s].inputs,
                                        selections[s].n, &error),
                         FX8_OK);
        for (size_t r = 0; r < n_ranges; r++)
            check_read(reader, selections[s].inputs, selections[s].n,
                       ranges[r][0], ranges[r][1]);
    }
}

static void test_every_order_type_layout_selection(void **state)
{
    (void)state;
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

static void test_metadata(void **state)
{
    (void)state;
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

static void test_wrong_calls(void **state)
{
    (void)state;
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
    const struct fx8_input_position outside[] = {{N_ANT, 0}, {0, N_POL}};
    struct fx8_error error = {FX8_OK, ""};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(reader->select(reader, &outside[i], 1, &error),
                         FX8_ERR_USAGE);
    assert_int_equal(reader->select(reader, outside, 0, &error), FX8_ERR_USAGE);
    /* a refused choice leaves the former one */
    check_read(reader, selections[0].inputs, selections[0].n, 0, 5);
    fx8_reader_close(&reader);
}

/* --- tables ----------------------------------------------------------------
 */

struct antenna_row {
    uint16_t number;
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
              H5T_NATIVE_UINT16);
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
    hid_t space = H5Screate_simple(1, &extent, NULL);
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT,
                               H5P_DEFAULT, H5P_DEFAULT);
    assert_true(dataset >= 0);
    if (n > 0)
        assert_true(
            H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
}

static void fill_antennas(struct antenna_row rows[N_ANT])
{
    for (int i = 0; i < N_ANT; i++) {
        rows[i] = (struct antenna_row){.number = (uint16_t)(10 - i),
                                       .up_m = 0.5f * (float)i,
                                       .north_m = 2.0 * i,
                                       .east_m = 3.0 * i,
                                       .cable_delay_s = 1e-9 * i};
        snprintf(rows[i].name, sizeof rows[i].name, "A%d", i);
    }
}

static void test_antenna_table(void **state)
{
    (void)state;
    make_good("antennas.h5");
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    struct antenna_row rows[N_ANT];
    fill_antennas(rows);
    hid_t type = antenna_type();
    put_table(file, "antennas", type, N_ANT, rows);
    hid_t table = H5Dopen2(file, "antennas", H5P_DEFAULT);
    put_real(table, "latitude_deg", -26.5);
    put_integer(table, "longitude_deg", H5T_STD_I16BE, 116);
    put_real(table, "altitude_m", 377.0);
    H5Dclose(table);
    H5Tclose(type);
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

static void bad_antennas(const char *expected, size_t n,
                         void (*spoil)(struct antenna_row *))
{
    make_good("badant.h5");
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    struct antenna_row rows[N_ANT];
    fill_antennas(rows);
    if (spoil != NULL)
        spoil(rows);
    hid_t type = antenna_type();
    put_table(file, "antennas", type, n, rows);
    H5Tclose(type);
    H5Fclose(file);
    expect_refused("badant.h5", expected);
}

static void spoil_number(struct antenna_row *rows)
{
    rows[3].number = rows[1].number;
}

static void spoil_position(struct antenna_row *rows)
{
    rows[2].east_m = INFINITY;
}

static void spoil_delay(struct antenna_row *rows)
{
    rows[4].cable_delay_s = NAN;
}

static void test_bad_antenna_tables(void **state)
{
    (void)state;
    bad_antennas("antennas: 4 rows: expected 5", 4, NULL);
    bad_antennas("antennas: 0 rows: expected 5", 0, NULL);
    bad_antennas("number 9: twice", N_ANT, spoil_number);
    bad_antennas("antennas: row 2: expected", N_ANT, spoil_position);
    bad_antennas("antennas: row 4: expected", N_ANT, spoil_delay);
    make_good("badant.h5");
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const int32_t numbers[N_ANT] = {0, 1, 2, 3, 4};
    put_table(file, "antennas", H5T_NATIVE_INT32, N_ANT, numbers);
    H5Fclose(file);
    expect_refused("badant.h5", "antennas: int32: expected a table");
    make_good("badant.h5");
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
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
    make_good(name);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t type = missing_type();
    put_table(file, "missing", type, n, rows);
    H5Tclose(type);
    H5Fclose(file);
}

static void test_missing_table(void **state)
{
    (void)state;
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
        expect_refused("missing.h5", "missing: row 0: antenna");
    }
}

/* --- damaged and hostile files ---------------------------------------------
 */

/* Take an attribute away, or put another in its place. */
static void spoil_attribute(const char *name, const char *expected,
                            void (*put)(hid_t, const char *))
{
    make_good("bad.h5");
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(H5Adelete(file, name) >= 0);
    if (put != NULL)
        put(file, name);
    H5Fclose(file);
    expect_refused("bad.h5", expected);
}

static void put_zero(hid_t file, const char *name)
{
    put_integer(file, name, H5T_STD_I64LE, 0);
}

static void put_negative(hid_t file, const char *name)
{
    put_integer(file, name, H5T_STD_I64LE, -1);
}

static void put_billion(hid_t file, const char *name)
{
    put_integer(file, name, H5T_STD_I64LE, 1000000000);
}

static void put_huge(hid_t file, const char *name)
{
    const uint64_t value = (uint64_t)INT64_MAX + 1;
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t id =
        H5Acreate2(file, name, H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(id, H5T_NATIVE_UINT64, &value) >= 0);
    H5Aclose(id);
    H5Sclose(space);
}

static void put_word(hid_t file, const char *name)
{
    put_text(file, name, "sideways", false);
}

static void put_half(hid_t file, const char *name)
{
    put_real(file, name, 0.5);
}

static void put_nan(hid_t file, const char *name)
{
    put_real(file, name, NAN);
}

static void put_pair(hid_t file, const char *name)
{
    const hsize_t n = 2;
    hid_t space = H5Screate_simple(1, &n, NULL);
    hid_t id =
        H5Acreate2(file, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Aclose(id);
    H5Sclose(space);
}

static void put_nothing(hid_t file, const char *name)
{
    hid_t space = H5Screate(H5S_NULL);
    hid_t id =
        H5Acreate2(file, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Aclose(id);
    H5Sclose(space);
}

static void put_long_text(hid_t file, const char *name)
{
    char text[300];
    memset(text, 'x', sizeof text);
    text[299] = '\0';
    put_text(file, name, text, true);
}

static void test_bad_attributes(void **state)
{
    (void)state;
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
        spoil_attribute(required[i], expected, NULL);
    }
    static const struct {
        const char *name;
        void (*put)(hid_t, const char *);
        const char *expected;
    } cases[] = {
        {"format", put_word, "format: sideways: expected fx8-voltages"},
        {"format", put_zero, "format: int64: expected text"},
        {"version", put_zero, "version: 0: expected 1 to 1"},
        {"version", put_half, "version: float64: expected a whole number"},
        {"sample_rate_numerator_hz", put_zero, ": 0: expected 1 to"},
        {"sample_rate_numerator_hz", put_huge,
         "9223372036854775808: expected at most 9223372036854775807"},
        {"sample_rate_numerator_hz", put_word,
         "string: expected a whole number"},
        {"sample_rate_numerator_hz", put_pair, "shape 2 x 1: expected 1 x 1"},
        {"sample_rate_numerator_hz", put_nothing, "expected a value"},
        {"sample_rate_denominator", put_negative, ": -1: expected 1 to"},
        {"dc_frequency_hz", put_nan, "expected a finite number"},
        {"dc_frequency_hz", put_word, "string: expected a number"},
        {"sideband", put_word, "sideways: expected upper or lower"},
        {"sideband", put_zero, "int64: expected text"},
        {"start_time_ns", put_negative, ": -1: expected 0 to 999999999"},
        {"start_time_ns", put_billion, "expected 0 to 999999999"},
        {"start_time_unix_s", put_half, "float64: expected a whole number"},
        {"telescope", put_long_text, "299 characters: expected fewer than"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        spoil_attribute(cases[i].name, cases[i].expected, cases[i].put);
}

/* A dataset that stores nothing, of any claimed shape. */
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

static void test_bad_voltages(void **state)
{
    (void)state;
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

static void test_bad_labels(void **state)
{
    (void)state;
    static const char *const labels[][3] = {{"antenna", "pol", "pol"},
                                            {"antenna", "", "time"},
                                            {"a label that is far too long for "
                                             "any axis",
                                             "pol", "time"}};
    for (size_t i = 0; i < 3; i++) {
        make_good("bad.h5");
        hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        hid_t dataset = H5Dopen2(file, "voltages", H5P_DEFAULT);
        put_labels(dataset, labels[i]);
        H5Dclose(dataset);
        H5Fclose(file);
        expect_refused("bad.h5", i < 2 ? "expected antenna, pol and time"
                                       : "DIMENSION_LABELS: ");
    }
    /* labels that h5py made room for and never set */
    static const char *const none[3] = {NULL, NULL, NULL};
    make_good("bad.h5");
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "voltages", H5P_DEFAULT);
    put_labels(dataset, none);
    H5Dclose(dataset);
    H5Fclose(file);
    struct fx8_reader *reader = open_good("bad.h5");
    check_read(reader, selections[0].inputs, selections[0].n, 0, 10);
    fx8_reader_close(&reader);
}

static void test_unknown_filter(void **state)
{
    (void)state;
    make_good("bad.h5");
    hid_t file = create_file("bad.h5");
    put_attributes(file);
    const hsize_t extent[3] = {5, 2, 100};
    hid_t space = H5Screate_simple(3, extent, NULL);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 3, extent);
    /* a number of the range that is free for private use; optional, so that
     * the file can be made without it */
    H5Pset_filter(creation, 511, H5Z_FLAG_OPTIONAL, 0, NULL);
    hid_t dataset = H5Dcreate2(file, "voltages", H5T_STD_I8LE, space,
                               H5P_DEFAULT, creation, H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Sclose(space);
    H5Fclose(file);
    expect_refused("bad.h5", "filter 511");
}

static void copy_head(const char *from, const char *to, long n)
{
    char name[512];
    snprintf(name, sizeof name, "%s", in_folder(from));
    FILE *source = fopen(name, "rb");
    FILE *target = fopen(in_folder(to), "wb");
    assert_true(source != NULL && target != NULL);
    for (long i = 0; i < n; i++) {
        const int c = fgetc(source);
        if (c == EOF)
            break;
        fputc(c, target);
    }
    fclose(source);
    fclose(target);
}

/* Cut anywhere: refused in one line, or (behind the last byte that matters)
 * read; never a crash. */
static void test_truncated(void **state)
{
    (void)state;
    make_good("whole.h5");
    FILE *whole = fopen(path, "rb");
    fseek(whole, 0, SEEK_END);
    const long size = ftell(whole);
    fclose(whole);
    for (long n = 0; n < size; n += 61) {
        copy_head("whole.h5", "cut.h5", n);
        expect_refused("cut.h5", n < 8 ? "no HDF5 signature" : ": ");
    }
}

/*
 * A packed chunk whose bytes are damaged: the read that needs it fails and
 * says which samples, the others go on.  (Damaged structures of HDF5 itself
 * are not tried: libhdf5 1.10.8 reads beyond its buffers on some, and no
 * caller can prevent that.)
 */
static void test_damaged_chunk(void **state)
{
    (void)state;
    hid_t good = create_file("damaged.h5");
    put_attributes(good);
    put_voltages(good, orders[4], true, false, PACKED, true);
    hid_t dataset = H5Dopen2(good, "voltages", H5P_DEFAULT);
    const hsize_t third[3] = {2 * (hsize_t)CHUNK_TIME, 0, 0};
    haddr_t address = 0;
    hsize_t size = 0;
    assert_true(
        H5Dget_chunk_info_by_coord(dataset, third, NULL, &address, &size) >= 0);
    H5Dclose(dataset);
    H5Fclose(good);
    FILE *file = fopen(in_folder("damaged.h5"), "r+b");
    fseek(file, (long)address, SEEK_SET);
    for (hsize_t i = 0; i < size; i++)
        fputc(0xa5, file);
    fclose(file);
    struct fx8_reader *reader = open_good("damaged.h5");
    check_read(reader, selections[0].inputs, selections[0].n, 0,
               (int64_t)2 * CHUNK_TIME);
    int8_t buffer[N_ANT * N_POL * 2 * 3];
    ptrdiff_t offset[N_ANT * N_POL];
    struct fx8_sample_layout layout = {.input_offset = offset};
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(
        reader->read(reader, 2 * CHUNK_TIME, 3, buffer, &layout, &error),
        FX8_ERR_INPUT);
    assert_non_null(
        strstr(error.message, "damaged.h5: voltages: samples 32 to 34: "));
    check_read(reader, selections[0].inputs, selections[0].n, 3 * CHUNK_TIME,
               20);
    fx8_reader_close(&reader);
}

static void test_not_recordings(void **state)
{
    (void)state;
    const struct fx8_settings settings = {0};
    struct fx8_reader *reader = NULL;
    struct fx8_error error = {FX8_OK, ""};
    FILE *text = fopen(in_folder("text.h5"), "w");
    fputs("time,value\n", text);
    fclose(text);
    H5Fclose(create_file("empty.h5"));
    const struct {
        const char *name;
        const char *expected;
    } cases[] = {{"text.h5", "no HDF5 signature: expected an HDF5 file"},
                 {"absent.h5", "No such file or directory"},
                 {".", "not a regular file"},
                 {"empty.h5", "unknown format: expected one of fx8, tart"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *one = in_folder(cases[i].name);
        assert_int_equal(fx8_reader_open(&one, 1, &settings, &reader, &error),
                         FX8_ERR_INPUT);
        if (strstr(error.message, cases[i].expected) == NULL)
            fail_msg("'%s' lacks '%s'", error.message, cases[i].expected);
        assert_null(reader);
    }
    assert_int_equal(fx8_reader_open(NULL, 0, &settings, &reader, &error),
                     FX8_ERR_USAGE);
    make_good("two.h5");
    const char *two[2] = {path, path};
    assert_int_equal(fx8_reader_open(two, 2, &settings, &reader, &error),
                     FX8_ERR_USAGE);
    assert_non_null(strstr(error.message, "2 files: expected one"));
    const struct fx8_settings other = {.input.format = FX8_FORMAT_AAVS};
    assert_int_equal(fx8_reader_open(two, 1, &other, &reader, &error),
                     FX8_ERR_UNSUPPORTED);
}

/* --- the native writer ------------------------------------------------------
 */

static void fill_observation(struct fx8_observation *o,
                             struct fx8_antenna antennas[N_ANT],
                             bool is_complex)
{
    *o = fx8_observation_unknown();
    o->is_complex = is_complex;
    o->n_antennas = N_ANT;
    o->n_polarizations = N_POL;
    o->n_samples = N_TIME;
    o->sample_rate = (struct fx8_rate){25000000, 27};
    o->has_start_time = true;
    o->start_time = (struct fx8_time){1567105200, INT64_C(987654321000)};
    o->dc_frequency_hz = 1.5e8;
    o->sideband = FX8_SIDEBAND_UPPER;
    strcpy(o->telescope, "simulated");
    o->site = (struct fx8_site){-26.7, 116.6, 377.8};
    for (size_t i = 0; i < N_ANT; i++) {
        antennas[i] = (struct fx8_antenna){.number = (int64_t)i * 3,
                                           .enu_m = {1.0 + (double)i, 2, 3},
                                           .cable_delay_s = {1e-9, 2e-9},
                                           .position = i};
        snprintf(antennas[i].name, sizeof antennas[i].name, "S%zu", i);
    }
    o->antennas = antennas;
    o->n_table = N_ANT;
}

static void write_recording(const char *order, bool is_complex)
{
    struct fx8_observation o;
    struct fx8_antenna antennas[N_ANT];
    fill_observation(&o, antennas, is_complex);
    const struct fx8_missing missing[] = {{50, 7, 2, -1}, {3, 1, -1, -1}};
    struct fx8_native_writer *writer = NULL;
    struct fx8_error error = {FX8_OK, ""};
    if (fx8_native_create(in_folder("written.h5"), &o, order, missing, 2,
                          &writer, &error) != FX8_OK)
        fail_msg("%s", error.message);
    const size_t parts = is_complex ? 2 : 1;
    static const int64_t steps[] = {1, 40, 60};
    int64_t first = 0;
    for (size_t s = 0; s < 3; first += steps[s], s++) {
        int8_t block[N_ANT * N_POL * 60 * 2];
        int8_t *to = block;
        for (size_t i = 0; i < N_ANT * N_POL; i++)
            for (int64_t t = 0; t < steps[s]; t++)
                for (size_t part = 0; part < parts; part++)
                    *to++ =
                        sample(i / N_POL, i % N_POL, (size_t)(first + t), part);
        assert_int_equal(
            fx8_native_write(writer, first, steps[s], block, &error), FX8_OK);
    }
    assert_int_equal(fx8_native_write(writer, N_TIME, 1, NULL, &error),
                     FX8_ERR_USAGE);
    assert_int_equal(access(in_folder("written.h5"), F_OK), -1);
    assert_int_equal(fx8_native_close(&writer, true, &error), FX8_OK);
    assert_null(writer);
}

static void test_writer_round_trip(void **state)
{
    (void)state;
    for (int order = 0; order < 6; order++)
        for (int is_complex = 0; is_complex < 2; is_complex++) {
            char text[64];
            snprintf(text, sizeof text, "%s,%s,%s", axes[orders[order][0]],
                     axes[orders[order][1]], axes[orders[order][2]]);
            unlink(in_folder("written.h5"));
            write_recording(text, is_complex != 0);
            struct fx8_reader *reader = open_good("written.h5");
            const struct fx8_observation *o = &reader->observation;
            assert_int_equal(o->is_complex, is_complex);
            assert_int_equal(o->sample_rate.denominator, 27);
            assert_int_equal(o->start_time.picosecond, INT64_C(987654321000));
            assert_int_equal(o->sideband, FX8_SIDEBAND_UPPER);
            assert_true(o->site.altitude_m == 377.8);
            assert_int_equal(o->antennas[4].number, 12);
            assert_string_equal(o->antennas[4].name, "S4");
            assert_true(o->antennas[4].enu_m[0] == 5.0);
            assert_true(o->antennas[4].cable_delay_s[0] == 1e-9);
            assert_true(o->antennas[4].cable_delay_s[1] == 2e-9);
            assert_int_equal(reader->n_missing, 2);
            assert_int_equal(reader->missing[0].first_sample, 3);
            assert_int_equal(reader->missing[1].antenna, 2);
            check_selections(reader);
            fx8_reader_close(&reader);
        }
}

static void test_writer_wrong_use(void **state)
{
    (void)state;
    struct fx8_observation o;
    struct fx8_antenna antennas[N_ANT];
    struct fx8_native_writer *writer = NULL;
    struct fx8_error error = {FX8_OK, ""};
    static const char *const bad[] = {"", "antenna,pol", "antenna,pol,pol",
                                      "antenna,pol,time,time", "time"};
    fill_observation(&o, antennas, true);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(fx8_native_create(in_folder("no.h5"), &o, bad[i], NULL,
                                           0, &writer, &error),
                         FX8_ERR_USAGE);
        assert_non_null(strstr(error.message, "axis order"));
        assert_null(writer);
    }
    o.n_samples = 0;
    assert_int_equal(fx8_native_create(in_folder("no.h5"), &o,
                                       "antenna,pol,time", NULL, 0, &writer,
                                       &error),
                     FX8_ERR_USAGE);
    o.n_samples = N_TIME;
    assert_int_equal(fx8_native_create("/nonexistent/no.h5", &o,
                                       "antenna,pol,time", NULL, 0, &writer,
                                       &error),
                     FX8_ERR_SYSTEM);
    assert_int_equal(fx8_native_create(in_folder("no.h5"), &o,
                                       "antenna,pol,time", NULL, 0, &writer,
                                       &error),
                     FX8_OK);
    assert_int_equal(fx8_native_close(&writer, false, &error), FX8_OK);
    assert_int_equal(access(in_folder("no.h5"), F_OK), -1);
    assert_int_equal(access(in_folder("no.h5.part"), F_OK), -1);
}

/* --- TART --------------------------------------------------------------------
 */

enum { TART_ANT = 3, TART_BYTES = 40 };

static const char good_config[] =
    "{\"name\": \"Here \\\"x\\\"\", \"frequency\": 1575420000.0, "
    "\"L0_frequency\": 1571328000.0, \"baseband_frequency\": 4092000.0, "
    "\"sampling_frequency\": 16368000.0, \"lat\": -18.5, \"lon\": 47.25, "
    "\"alt\": 1280.0, \"num_antenna\": 3, \"axes\": [\"East\", {\"]\": 1}]}";

static uint8_t tart_byte(size_t antenna, size_t index)
{
    return (uint8_t)(antenna * 91 + index * index * 29 + 13);
}

static void put_string_dataset(hid_t file, const char *name, const char *text)
{
    const hsize_t one = 1;
    hid_t space = H5Screate_simple(1, &one, NULL);
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT,
                               H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) >=
                0);
    H5Dclose(dataset);
    H5Tclose(type);
    H5Sclose(space);
}

static void make_tart(const char *config, const char *instant)
{
    hid_t file = create_file("tart.hdf");
    uint8_t bytes[TART_ANT][TART_BYTES];
    for (size_t a = 0; a < TART_ANT; a++)
        for (size_t i = 0; i < TART_BYTES; i++)
            bytes[a][i] = tart_byte(a, i);
    const hsize_t extent[2] = {TART_ANT, TART_BYTES};
    hid_t space = H5Screate_simple(2, extent, NULL);
    hid_t dataset = H5Dcreate2(file, "data", H5T_STD_U8LE, space, H5P_DEFAULT,
                               H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL,
                         H5P_DEFAULT, bytes) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    put_string_dataset(file, "config", config);
    put_string_dataset(file, "timestamp", instant);
    H5Fclose(file);
}

static void test_tart(void **state)
{
    (void)state;
    make_tart(good_config, "2026-06-12T11:20:40+00:00");
    struct fx8_reader *reader = open_good("tart.hdf");
    const struct fx8_observation *o = &reader->observation;
    assert_string_equal(reader->format->name, "tart");
    assert_int_equal(o->n_antennas, TART_ANT);
    assert_int_equal(o->n_polarizations, 1);
    assert_int_equal(o->n_samples, 8 * TART_BYTES);
    assert_false(o->is_complex);
    assert_int_equal(o->sample_rate.numerator_hz, 16368000);
    assert_int_equal(o->sample_rate.denominator, 1);
    assert_true(o->dc_frequency_hz == 1571328000.0);
    assert_int_equal(o->sideband, FX8_SIDEBAND_UPPER);
    assert_int_equal(o->start_time.unix_s, 1781263240);
    assert_true(o->site.longitude_deg == 47.25);
    assert_null(o->antennas);
    assert_int_equal(reader->read_samples(reader) % 8, 0);
    const struct fx8_input_position inputs[] = {{2, 0}, {0, 0}};
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(reader->select(reader, inputs, 2, &error), FX8_OK);
    static const int64_t ranges[][2] = {{0, 320}, {0, 1},  {3, 4},   {3, 5},
                                        {5, 11},  {8, 16}, {7, 200}, {319, 1}};
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
        int8_t buffer[2 * 320 + 1];
        memset(buffer, 0x5a, sizeof buffer);
        ptrdiff_t offset[2];
        struct fx8_sample_layout layout = {.input_offset = offset};
        const size_t size = reader->buffer_size(reader, ranges[r][1]);
        assert_int_equal(reader->read(reader, ranges[r][0], ranges[r][1],
                                      buffer, &layout, &error),
                         FX8_OK);
        assert_int_equal(buffer[size], 0x5a);
        for (size_t i = 0; i < 2; i++)
            for (int64_t t = 0; t < ranges[r][1]; t++) {
                const size_t at = (size_t)(ranges[r][0] + t);
                const int bit =
                    tart_byte(inputs[i].antenna, at / 8) >> (7 - at % 8) & 1;
                assert_int_equal(buffer[offset[i] + t * layout.time_stride],
                                 bit ? 1 : -1);
            }
    }
    fx8_reader_close(&reader);
}

static void test_tart_sidebands(void **state)
{
    (void)state;
    make_tart("{\"frequency\": 1575420000, \"sampling_frequency\": 16368000, "
              "\"L0_frequency\": 1579512000, \"lat\": 1, \"lon\": 2, "
              "\"alt\": 3}",
              "2026-06-12 11:20:40Z");
    struct fx8_reader *reader = open_good("tart.hdf");
    assert_int_equal(reader->observation.sideband, FX8_SIDEBAND_LOWER);
    assert_true(reader->observation.dc_frequency_hz == 1579512000.0);
    fx8_reader_close(&reader);
    make_tart("{\"frequency\": 1575420000, \"sampling_frequency\": 16368000, "
              "\"lat\": 1, \"lon\": 2, \"alt\": 3}",
              "2026-06-12 11:20:40Z");
    reader = open_good("tart.hdf");
    assert_int_equal(reader->observation.sideband, FX8_SIDEBAND_UPPER);
    assert_true(reader->observation.dc_frequency_hz == 1571328000.0);
    assert_string_equal(reader->observation.telescope, "TART");
    fx8_reader_close(&reader);
}

static void test_tart_positions(void **state)
{
    (void)state;
    make_tart(good_config, "2026-06-12T11:20:40+00:00");
    FILE *json = fopen(in_folder("antenna_positions.json"), "w");
    fputs("{\"antenna_positions\": [[0, 1, 2], [3, 4, 5], [6, 7, 8.5]]}", json);
    fclose(json);
    struct fx8_reader *reader = open_good("tart.hdf");
    assert_int_equal(reader->observation.n_table, 3);
    assert_true(reader->observation.antennas[2].enu_m[2] == 8.5);
    fx8_reader_close(&reader);
    json = fopen(in_folder("antenna_positions.json"), "w");
    fputs("[[0, 1, 2], [3, 4, 5]]", json);
    fclose(json);
    const char *one = in_folder("tart.hdf");
    struct fx8_settings settings = {0};
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(fx8_reader_open(&one, 1, &settings, &reader, &error),
                     FX8_ERR_INPUT);
    assert_non_null(strstr(error.message, "2 antennas: expected 3"));
    /* the user's own table comes instead of it */
    char positions[] = "none";
    settings.array.positions = positions;
    assert_int_equal(fx8_reader_open(&one, 1, &settings, &reader, &error),
                     FX8_OK);
    fx8_reader_close(&reader);
    unlink(in_folder("antenna_positions.json"));
}

static void test_bad_tart(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        const char *expected;
    } cases[] = {
        {"", "config: : expected a JSON object"},
        {"[1]", "expected a JSON object"},
        {"{\"frequency\": 1", "expected a JSON object"},
        {"{\"frequency\" 1}", "expected a JSON object"},
        {"{\"a\": [1, 2}", "expected a JSON object"},
        {"{\"a\": \"x}", "expected a JSON object"},
        {"{} x", "expected a JSON object"},
        {"{}", "sampling_frequency: missing"},
        {"{\"sampling_frequency\": 0}", "sampling_frequency: 0"},
        {"{\"sampling_frequency\": -5}", "sampling_frequency: -5"},
        {"{\"sampling_frequency\": true}", "sampling_frequency: true"},
        {"{\"sampling_frequency\": 16368000}", "frequency: missing"},
        {"{\"sampling_frequency\": 16368000, \"frequency\": \"x\"}",
         "frequency: x"},
        {"{\"sampling_frequency\": 16368000, \"frequency\": 1575420000, "
         "\"L0_frequency\": 1570000000}",
         "L0_frequency 1570000000.000: expected"},
        {"{\"sampling_frequency\": 16368000, \"frequency\": 1575420000}",
         "lat: missing"},
        {"{\"sampling_frequency\": 16368000, \"frequency\": 1575420000, "
         "\"lat\": 91}",
         "lat: 91: expected"},
        {"{\"sampling_frequency\": 16368000, \"frequency\": 1575420000, "
         "\"lat\": 9, \"lon\": 1, \"alt\": 1, \"num_antenna\": 24}",
         "num_antenna 24: expected 3"},
    };
    const struct fx8_settings settings = {0};
    struct fx8_reader *reader = NULL;
    struct fx8_error error = {FX8_OK, ""};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_tart(cases[i].config, "2026-06-12T11:20:40+00:00");
        const char *one = path;
        assert_int_equal(fx8_reader_open(&one, 1, &settings, &reader, &error),
                         FX8_ERR_INPUT);
        if (strstr(error.message, cases[i].expected) == NULL)
            fail_msg("'%s' lacks '%s'", error.message, cases[i].expected);
    }
    make_tart(good_config, "yesterday");
    const char *one = path;
    assert_int_equal(fx8_reader_open(&one, 1, &settings, &reader, &error),
                     FX8_ERR_INPUT);
    assert_non_null(strstr(error.message, "timestamp: yesterday: expected"));
}

int main(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_order_type_layout_selection),
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_wrong_calls),
        cmocka_unit_test(test_antenna_table),
        cmocka_unit_test(test_bad_antenna_tables),
        cmocka_unit_test(test_missing_table),
        cmocka_unit_test(test_bad_attributes),
        cmocka_unit_test(test_bad_voltages),
        cmocka_unit_test(test_bad_labels),
        cmocka_unit_test(test_unknown_filter),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_damaged_chunk),
        cmocka_unit_test(test_not_recordings),
        cmocka_unit_test(test_writer_round_trip),
        cmocka_unit_test(test_writer_wrong_use),
        cmocka_unit_test(test_tart),
        cmocka_unit_test(test_tart_sidebands),
        cmocka_unit_test(test_tart_positions),
        cmocka_unit_test(test_bad_tart),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
