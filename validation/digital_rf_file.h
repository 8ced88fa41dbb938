/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digital_rf_file.h -- channels and files of Digital RF, written with HDF5
 * alone: some as its C library writes them, some as it never would.
 */
#ifndef FX8_VALIDATION_DIGITAL_RF_FILE_H
#define FX8_VALIDATION_DIGITAL_RF_FILE_H

#include "validation/hdf5_items.h"

/** Start of the recordings, and rows of a file of half a second. */
#define DRF_FIRST_MS INT64_C(1600000000000)
enum { DRF_FILE_ROWS = 500 };

/** A channel: 1000 samples a second in files of half a second, starting
 *  1600000000 s after the epoch. */
struct drf_properties {
    int64_t numerator, denominator, cadence_ms;
    int64_t is_complex, is_continuous, n_subchannels;
};

static const struct drf_properties drf_usual = {1000, 1, 500, 1, 1, 1};

/** Write drf_properties.h5 of a channel; makes its folders. */
static inline void drf_put_properties(const char *channel,
                                      const struct drf_properties *properties)
{
    char name[128];
    mkdir(scratch_path(channel), 0700);
    snprintf(name, sizeof name, "%s/2020-09-13T12-26-40", channel);
    mkdir(scratch_path(name), 0700);
    snprintf(name, sizeof name, "%s/drf_properties.h5", channel);
    const struct {
        const char *item;
        int64_t value;
    } numbers[] = {
        {"@sample_rate_numerator", properties->numerator},
        {"@sample_rate_denominator", properties->denominator},
        {"@file_cadence_millisecs", properties->cadence_ms},
        {"@is_complex", properties->is_complex},
        {"@is_continuous", properties->is_continuous},
        {"@num_subchannels", properties->n_subchannels},
    };
    hid_t file = create_file(name);
    for (size_t i = 0; i < LENGTH(numbers); i++)
        put_number(file, numbers[i].item, H5T_STD_U64LE,
                   (double)numbers[i].value);
    put_fixed_text(file, "@epoch", "1970-01-01T00:00:00Z");
    H5Fclose(file);
}

/** How rf_data is stored in its file. */
struct drf_storage {
    hid_t part;     /**< type of a number, on disk and in memory */
    hsize_t chunk;  /**< rows per chunk; 0: contiguous */
    bool is_packed; /**< shuffled, deflated, with a checksum */
};

/** Write a file "rf@SECONDS.MMM.h5".  rows [n_rows][sub-channel][part], index
 *  [n_index][2]. */
static inline void drf_put_file(const char *channel,
                                const struct drf_properties *properties,
                                struct drf_storage storage,
                                int64_t milliseconds, hsize_t n_rows,
                                const void *rows, hsize_t n_index,
                                const uint64_t *index)
{
    char name[160];
    snprintf(name, sizeof name, "%s/2020-09-13T12-26-40/rf@%lld.%03d.h5",
             channel, (long long)(milliseconds / 1000),
             (int)(milliseconds % 1000));
    hid_t file = create_file(name);
    const hsize_t extent[2] = {n_rows, (hsize_t)properties->n_subchannels};
    const hsize_t chunk[2] = {storage.chunk, extent[1]};
    hid_t type = properties->is_complex != 0 ? pair_type("r", "i", storage.part)
                                             : H5Tcopy(storage.part);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (storage.chunk > 0)
        H5Pset_chunk(creation, 2, chunk);
    if (storage.is_packed) {
        H5Pset_shuffle(creation);
        H5Pset_deflate(creation, 1);
        H5Pset_fletcher32(creation);
    }
    /* the C library gives one sub-channel of real samples one axis */
    const int rank =
        properties->is_complex == 0 && extent[1] == 1 && storage.chunk == 0 ? 1
                                                                            : 2;
    hid_t space = H5Screate_simple(rank, extent, NULL);
    hid_t data = H5Dcreate2(file, "rf_data", type, space, H5P_DEFAULT, creation,
                            H5P_DEFAULT);
    assert_true(data >= 0);
    assert_true(H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    H5Dclose(data);
    H5Sclose(space);
    H5Pclose(creation);
    H5Tclose(type);
    const hsize_t index_extent[2] = {n_index, 2};
    put_item(file, "rf_data_index", H5T_STD_U64LE, 2, index_extent,
             H5T_NATIVE_UINT64, index);
    H5Fclose(file);
}

/** A frequency noted by the recorder, from sample `index` on. */
struct drf_entry {
    uint64_t index;
    double hz;
};

/** Write the metadata of a channel. */
static inline void drf_note(const char *channel,
                            const struct drf_entry *entries, size_t n)
{
    char name[160];
    snprintf(name, sizeof name, "%s/metadata", channel);
    mkdir(scratch_path(name), 0700);
    snprintf(name, sizeof name, "%s/metadata/2020-09-13T12-00-00", channel);
    mkdir(scratch_path(name), 0700);
    snprintf(name, sizeof name, "%s/metadata/dmd_properties.h5", channel);
    hid_t file = create_file(name);
    put_number(file, "@sample_rate_numerator", H5T_STD_I64LE, 1000);
    put_number(file, "@sample_rate_denominator", H5T_STD_I64LE, 1);
    put_text(file, "@file_name", 0, "notes");
    H5Fclose(file);
    snprintf(name, sizeof name,
             "%s/metadata/2020-09-13T12-00-00/notes@1599999000.h5", channel);
    file = create_file(name);
    const hsize_t one = 1;
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%llu",
                 (unsigned long long)entries[i].index);
        hid_t group =
            H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        put_item(group, "center_frequencies", H5T_IEEE_F64LE, 1, &one,
                 H5T_NATIVE_DOUBLE, &entries[i].hz);
        H5Gclose(group);
    }
    H5Fclose(file);
}

#endif
