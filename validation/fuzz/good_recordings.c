/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "io/native/native.h"
#include "validation/fuzz/claims.h"
#include "validation/fuzz/good_recordings.h"
#include "validation/hdf5_items.h"
#include "validation/scratch.h"

/* Long enough for a dump: at least a millisecond. */
enum { ANTENNAS = 3, SAMPLES = 200, TART_BYTES = 2100 };

/* FOLDER/NAME, valid until the next call. */
static const char *in(const char *folder, const char *name)
{
    static char path[SCRATCH_PATH_SIZE];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    claim(length > 0 && (size_t)length < sizeof path, "%s: too long", folder);
    return path;
}

static hid_t create(const char *path)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    claim(file >= 0, "%s", path);
    return file;
}

void make_good_fx8(const char *folder)
{
    struct fx8_observation o = fx8_observation_unknown();
    struct fx8_antenna antennas[ANTENNAS];
    memset(antennas, 0, sizeof antennas);
    for (size_t i = 0; i < ANTENNAS; i++) {
        antennas[i].number = (int64_t)i;
        antennas[i].enu_m[0] = 10.0 * (double)i;
        antennas[i].position = i;
        snprintf(antennas[i].name, sizeof antennas[i].name, "A%zu", i);
    }
    o.is_complex = true;
    o.n_antennas = o.n_table = ANTENNAS;
    o.antennas = antennas;
    o.n_polarizations = 2;
    o.n_samples = SAMPLES;
    o.sample_rate = (struct fx8_rate){25000, 27};
    o.has_start_time = true;
    o.start_time = (struct fx8_time){1567105200, INT64_C(987654321000)};
    o.dc_frequency_hz = 1.5e8;
    o.sideband = FX8_SIDEBAND_UPPER;
    strcpy(o.telescope, "fuzzed");
    o.site = (struct fx8_site){-26.7, 116.6, 377.8};
    const struct fx8_missing missing[] = {{3, 1, -1, -1, -1},
                                          {50, 7, 2, 0, -1}};
    static const int8_t samples[ANTENNAS * 2 * SAMPLES * 2] = {1, -128, 127};
    struct fx8_native_writer *writer = NULL;
    struct fx8_error error = no_error();
    claim(fx8_native_create(in(folder, "good.h5"), true, &o, "antenna,pol,time",
                            missing, 2, &writer, &error) == FX8_OK &&
              fx8_native_write(writer, 0, SAMPLES, samples, &error) == FX8_OK &&
              fx8_native_close(&writer, true, &error) == FX8_OK,
          "no good recording: %s", error.message);
}

static void put_string(hid_t file, const char *name, const char *text)
{
    const hsize_t one = 1;
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    put_dataset(file, name, type, 1, &one, type, &text);
    H5Tclose(type);
}

void make_good_tart(const char *folder)
{
    hid_t file = create(in(folder, "good.h5"));
    static const uint8_t bytes[ANTENNAS * TART_BYTES] = {0x5a, 0xff};
    const hsize_t extent[2] = {ANTENNAS, TART_BYTES};
    put_dataset(file, "data", H5T_STD_U8LE, 2, extent, H5T_NATIVE_UINT8, bytes);
    put_string(file, "config",
               "{\"name\": \"Here\", \"frequency\": 1575420000.0, "
               "\"L0_frequency\": 1571328000.0, "
               "\"baseband_frequency\": 4092000.0, "
               "\"sampling_frequency\": 16368000.0, \"lat\": -18.5, "
               "\"lon\": 47.25, \"alt\": 1280.0, \"num_antenna\": 3}");
    put_string(file, "timestamp", "2026-06-12T11:20:40+00:00");
    H5Fclose(file);
}

/* --- Digital RF
 * ---------------------------------------------------------------- */

enum { DRF_RATE = 1000, DRF_ROWS = 1000 };
static const int64_t drf_start_s = 1500000000;

/* Attributes of a channel, some of which its files repeat. */
static void put_drf_properties(const char *path)
{
    hid_t file = create(path);
    put_integer(file, "is_complex", H5T_STD_I32LE, 1);
    put_integer(file, "is_continuous", H5T_STD_I32LE, 1);
    put_integer(file, "num_subchannels", H5T_STD_I32LE, 1);
    put_integer(file, "subdir_cadence_secs", H5T_STD_U64LE, 3600);
    put_integer(file, "file_cadence_millisecs", H5T_STD_U64LE, 1000);
    put_integer(file, "sample_rate_numerator", H5T_STD_U64LE, DRF_RATE);
    put_integer(file, "sample_rate_denominator", H5T_STD_U64LE, 1);
    put_integer(file, "samples_per_second", H5T_STD_U64LE, DRF_RATE);
    put_text(file, "epoch", "1970-01-01T00:00:00Z", false);
    put_text(file, "digital_rf_version", "2.6.0", false);
    H5Fclose(file);
}

/* The file of one second, all of it written. */
static void put_drf_second(const char *path, int64_t second, hid_t part)
{
    static const uint8_t rows[DRF_ROWS * 4] = {1, 0, 255, 255, 7};
    const size_t bytes = H5Tget_size(part);
    hid_t type = H5Tcreate(H5T_COMPOUND, 2 * bytes);
    H5Tinsert(type, "r", 0, part);
    H5Tinsert(type, "i", bytes, part);
    hid_t file = create(path);
    const hsize_t extent[2] = {DRF_ROWS, 1};
    const hsize_t index_extent[2] = {1, 2};
    const uint64_t index[2] = {(uint64_t)(second * DRF_RATE), 0};
    put_dataset(file, "rf_data", type, 2, extent, type, rows);
    put_dataset(file, "rf_data_index", H5T_STD_U64LE, 2, index_extent,
                H5T_NATIVE_UINT64, index);
    H5Fclose(file);
    H5Tclose(type);
}

/* Frequencies that a recorder noted. */
static void put_drf_metadata(const char *folder)
{
    mkdir(in(folder, "metadata"), 0777);
    hid_t file = create(in(folder, "metadata/dmd_properties.h5"));
    put_text(file, "file_name", "metadata", false);
    put_integer(file, "sample_rate_numerator", H5T_STD_U64LE, DRF_RATE);
    put_integer(file, "sample_rate_denominator", H5T_STD_U64LE, 1);
    put_integer(file, "file_cadence_secs", H5T_STD_U64LE, 3600);
    put_integer(file, "subdir_cadence_secs", H5T_STD_U64LE, 3600);
    H5Fclose(file);
    mkdir(in(folder, "metadata/2017-07-14T02-00-00"), 0777);
    file = create(
        in(folder, "metadata/2017-07-14T02-00-00/metadata@1499997600.h5"));
    char name[32];
    snprintf(name, sizeof name, "%lld", (long long)(drf_start_s * DRF_RATE));
    hid_t entry = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t one = 1;
    const double frequency_hz = 150e6;
    put_dataset(entry, "center_frequencies", H5T_IEEE_F64LE, 1, &one,
                H5T_NATIVE_DOUBLE, &frequency_hz);
    H5Gclose(entry);
    H5Fclose(file);
}

void make_good_digital_rf(const char *folder)
{
    static const char *const channels[] = {"ch0", "ch1"};
    for (size_t i = 0; i < 2; i++) {
        char channel[SCRATCH_PATH_SIZE];
        snprintf(channel, sizeof channel, "%s", in(folder, channels[i]));
        mkdir(channel, 0777);
        put_drf_properties(in(channel, "drf_properties.h5"));
        mkdir(in(channel, "2017-07-14T02-00-00"), 0777);
        for (int64_t second = 0; second < 2; second++) {
            char name[64];
            snprintf(name, sizeof name, "2017-07-14T02-00-00/rf@%lld.000.h5",
                     (long long)(drf_start_s + second));
            put_drf_second(in(channel, name), drf_start_s + second,
                           i == 0 ? H5T_STD_I8LE : H5T_STD_I16LE);
        }
        put_drf_metadata(channel);
    }
}
