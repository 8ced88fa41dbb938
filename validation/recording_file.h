/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recording_file.h -- a recording made with HDF5 alone, in every axis order,
 * type and layout, and the check of what fx8 reads, sample by sample.
 */
#ifndef FX8_VALIDATION_RECORDING_FILE_H
#define FX8_VALIDATION_RECORDING_FILE_H

#include <hdf5.h>

#include "config/settings.h"
#include "io/reader.h"
#include "validation/hdf5_items.h"
#include "validation/reader_rows.h"
#include "validation/scratch.h"
#include "validation/testing.h"

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

static inline void put_labels(hid_t dataset, const char *const labels[3])
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

static inline void put_attributes(hid_t file)
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

static inline hid_t create_file(const char *name)
{
    hid_t file =
        H5Fcreate(scratch_path(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

/** A whole recording: antenna, pol, time; complex, contiguous. */
static inline void make_good(const char *name)
{
    hid_t file = create_file(name);
    put_attributes(file);
    put_voltages(file, orders[0], true, false, CONTIGUOUS, false);
    H5Fclose(file);
}

/** Open an existing file to damage it. */
static inline hid_t reopen(const char *name)
{
    hid_t file = H5Fopen(scratch_path(name), H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

static inline struct fx8_reader *open_good(const char *name)
{
    struct fx8_settings settings;
    memset(&settings, 0, sizeof settings);
    const char *one = scratch_path(name);
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    must(fx8_reader_open(&one, 1, &settings, &reader, &error), error);
    return reader;
}

/** Refused with FX8_ERR_INPUT and a message of one line that names the file
 *  and holds `part`. */
static inline void expect_refused(const char *name, const char *part)
{
    struct fx8_settings settings;
    memset(&settings, 0, sizeof settings);
    settings.input.format = FX8_FORMAT_FX8;
    const char *one = scratch_path(name);
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    must_fail_with(fx8_reader_open(&one, 1, &settings, &reader, &error), error,
                   FX8_ERR_INPUT, part);
    assert_memory_equal(error.message, one, strlen(one));
    assert_null(reader);
}

/** Read [first, first + n) and compare every sample of every input. */
static inline void check_read(struct fx8_reader *reader,
                              const struct fx8_input_position *inputs,
                              size_t n_inputs, int64_t first, int64_t n)
{
    const bool is_complex = reader->observation.is_complex;
    ptrdiff_t offset[N_ANT * N_POL * 2];
    struct fx8_sample_layout layout;
    memset(&layout, 0, sizeof layout);
    layout.input_offset = offset;
    int8_t *buffer = read_rows(reader, first, n, &layout);
    for (size_t i = 0; i < n_inputs; i++)
        for (int64_t t = 0; t < n; t++)
            for (size_t part = 0; part < (is_complex ? 2 : 1); part++) {
                const ptrdiff_t at = offset[i] + t * layout.time_stride;
                assert_int_equal(buffer[(size_t)at + part],
                                 sample(inputs[i].antenna,
                                        inputs[i].polarization,
                                        (size_t)(first + t), part));
            }
    free(buffer);
}

/** Choices of inputs: all, one, in and out of order, one twice. */
static const struct {
    size_t n;
    struct fx8_input_position inputs[12];
} selections[] = {
    {10,
     {{0, 0, 0},
      {0, 1, 0},
      {1, 0, 0},
      {1, 1, 0},
      {2, 0, 0},
      {2, 1, 0},
      {3, 0, 0},
      {3, 1, 0},
      {4, 0, 0},
      {4, 1, 0}}},
    {1, {{4, 1, 0}}},
    {5, {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {4, 0, 0}}},
    {7,
     {{4, 1, 0},
      {0, 1, 0},
      {3, 0, 0},
      {1, 0, 0},
      {0, 0, 0},
      {3, 1, 0},
      {1, 1, 0}}},
    {4, {{2, 1, 0}, {2, 1, 0}, {4, 0, 0}, {0, 1, 0}}}, /* one input twice */
};

/** Every selection, over ranges on and off the chunks' edges. */
static inline void check_selections(struct fx8_reader *reader)
{
    static const int64_t ranges[][2] = {{0, 1},          {0, N_TIME}, {15, 2},
                                        {N_TIME - 1, 1}, {16, 32},    {7, 83}};
    const size_t n_ranges = sizeof ranges / sizeof ranges[0];
    /* before inputs are chosen: all of them, antennas slowest */
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

#endif
