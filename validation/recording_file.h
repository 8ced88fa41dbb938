/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recording_file.h -- a recording made with HDF5 alone, in every axis order,
 * type and layout, its tables, and the check of what fx8 reads, sample by
 * sample.
 */
#ifndef FX8_VALIDATION_RECORDING_FILE_H
#define FX8_VALIDATION_RECORDING_FILE_H

#include "validation/hdf5_items.h"
#include "validation/reader_calls.h"

enum { N_ANT = 5, N_POL = 2, N_TIME = 101, CHUNK_TIME = 16 };
enum layout { CONTIGUOUS, CHUNKED, PACKED, N_LAYOUTS };

/** Any byte, including -128; varies along every axis. */
static inline int8_t sample(size_t a, size_t p, size_t t, size_t part)
{
    const unsigned value =
        (unsigned)(a * 37 + p * 101 + t * 7 + t * t * 3 + part * 53 + 128);
    return (int8_t)(uint8_t)(value & 0xff);
}

static const char *const axes[3] = {"antenna", "pol", "time"};
static const size_t extents[3] = {N_ANT, N_POL, N_TIME};
static const int orders[6][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1},
                                 {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

static inline void put_labels(hid_t file, const char *const labels[3])
{
    const hsize_t n = 3;
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    put_item(file, "voltages@DIMENSION_LABELS", type, 1, &n, type, labels);
    H5Tclose(type);
}

static inline void put_attributes(hid_t file)
{
    put_text(file, "@format", 0, "fx8-voltages");
    put_number(file, "@version", H5T_STD_I32LE, 1);
    put_number(file, "@sample_rate_numerator_hz", H5T_STD_U64LE, 50000);
    put_number(file, "@sample_rate_denominator", H5T_STD_U64LE, 54);
    put_number(file, "@dc_frequency_hz", H5T_IEEE_F64LE, 150e6);
    put_fixed_text(file, "@sideband", "lower");
    put_number(file, "@start_time_unix_s", H5T_STD_I64LE, 1567105200);
    put_number(file, "@start_time_ns", H5T_STD_I64LE, 123456789);
    put_fixed_text(file, "@telescope", "test array");
}

/** {r, i} of int8: plain, or in reverse order with gaps. */
static inline hid_t complex_type(bool odd)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, odd ? 7 : 2);
    H5Tinsert(type, odd ? "i" : "r", odd ? 1 : 0, H5T_NATIVE_INT8);
    H5Tinsert(type, odd ? "r" : "i", odd ? 5 : 1, H5T_NATIVE_INT8);
    return type;
}

/** The samples, axes in the order `order`. */
static inline void put_voltages(hid_t file, const int order[3], bool is_complex,
                                bool odd_type, enum layout layout,
                                bool labelled)
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
    hid_t dataset =
        create_dataset(file, "voltages", type, 3, extent, NULL,
                       layout == CONTIGUOUS ? NULL : chunk, layout == PACKED);
    assert_true(
        H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, samples) >= 0);
    H5Dclose(dataset);
    if (labelled)
        put_labels(file, labels);
    H5Tclose(type);
    H5Tclose(memory);
}

/** A whole recording: antenna, pol, time; complex, contiguous. */
static inline void make_good(const char *name)
{
    hid_t file = create_file(name);
    put_attributes(file);
    put_voltages(file, orders[0], true, false, CONTIGUOUS, false);
    H5Fclose(file);
}

/* --- tables ----------------------------------------------------------- */

/** Rows as other programs may lay them out: members in any order and width. */
struct antenna_row {
    int64_t number;
    char name[20];
    float up_m;
    double north_m, east_m, cable_delay_s;
};

struct missing_row {
    int64_t antenna;
    int8_t pol;
    uint64_t first_sample;
    uint32_t count;
};

/** Put a table of n rows in place of any other; closes its type. */
static inline void put_table(hid_t file, const char *name, hid_t type, size_t n,
                             const void *rows)
{
    const hsize_t extent = n;
    put_item(file, name, type, 1, &extent, type, n > 0 ? rows : NULL);
    H5Tclose(type);
}

/** A table of n antennas and the site; row i is antenna 10 - i. */
static inline void put_antennas(hid_t file, size_t n)
{
    struct antenna_row rows[N_ANT];
    for (int i = 0; i < N_ANT; i++)
        rows[i] = (struct antenna_row){.number = 10 - i,
                                       .name = {'A', (char)('0' + i)},
                                       .up_m = 0.5f * (float)i,
                                       .north_m = 2.0 * i,
                                       .east_m = 3.0 * i,
                                       .cable_delay_s = 1e-9 * i};
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct antenna_row));
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, sizeof rows[0].name);
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
    put_table(file, "antennas", type, n, rows);
    put_number(file, "antennas@latitude_deg", H5T_IEEE_F64LE, -26.5);
    put_number(file, "antennas@longitude_deg", H5T_STD_I16BE, 116);
    put_number(file, "antennas@altitude_m", H5T_IEEE_F64LE, 377);
}

static inline void put_missing(hid_t file, const struct missing_row *rows,
                               size_t n)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct missing_row));
    H5Tinsert(type, "count", offsetof(struct missing_row, count),
              H5T_NATIVE_UINT32);
    H5Tinsert(type, "antenna", offsetof(struct missing_row, antenna),
              H5T_NATIVE_INT64);
    H5Tinsert(type, "pol", offsetof(struct missing_row, pol), H5T_NATIVE_INT8);
    H5Tinsert(type, "first_sample", offsetof(struct missing_row, first_sample),
              H5T_NATIVE_UINT64);
    put_table(file, "missing", type, n, rows);
}

/* --- what fx8 must read ----------------------------------------------- */

/** The same as check_samples() asks for it. */
static inline int8_t sample_at(const struct fx8_input_position *input,
                               int64_t t, int part)
{
    return sample(input->antenna, input->polarization, (size_t)t, (size_t)part);
}

/** Read [first, first + n) of n_inputs inputs, numbered with polarisations
 *  fastest; NULL: of all, in that order. */
static inline void check_read(struct fx8_reader *reader, const size_t *inputs,
                              size_t n_inputs, int64_t first, int64_t n)
{
    struct fx8_input_position positions[N_ANT * N_POL] = {0};
    for (size_t i = 0; i < n_inputs; i++) {
        const size_t input = inputs == NULL ? i : inputs[i];
        positions[i].antenna = input / N_POL;
        positions[i].polarization = input % N_POL;
    }
    struct fx8_error error;
    if (inputs != NULL)
        must(reader->select(reader, positions, n_inputs, &error), error);
    check_samples(reader, positions, n_inputs, first, n, sample_at);
}

/** Inputs that are not chosen: all of them, antennas slowest. */
static inline void check_all(struct fx8_reader *reader, int64_t first,
                             int64_t n)
{
    check_read(reader, NULL, N_ANT * N_POL, first, n);
}

/** All inputs, one, some in and out of order, one twice; ranges on and off the
 *  chunks' edges. */
static inline void check_selections(struct fx8_reader *reader)
{
    static const struct {
        size_t n, inputs[10];
    } choices[] = {
        {10, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
        {1, {9}},
        {5, {0, 2, 4, 6, 8}},
        {7, {9, 1, 6, 2, 0, 7, 3}},
        {4, {5, 5, 8, 1}},
    };
    static const int64_t ranges[][2] = {{0, 1},          {0, N_TIME}, {15, 2},
                                        {N_TIME - 1, 1}, {16, 32},    {7, 83}};
    check_all(reader, 3, 50);
    for (size_t c = 0; c < LENGTH(choices); c++)
        for (size_t r = 0; r < LENGTH(ranges); r++)
            check_read(reader, choices[c].inputs, choices[c].n, ranges[r][0],
                       ranges[r][1]);
}

#endif
