/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "io/native/native.h"
#include "validation/digital_rf_file.h"
#include "validation/fuzz/claims.h"
#include "validation/fuzz/good_recordings.h"

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

void make_good_digital_rf(const char *folder)
{
    static const int16_t rows[500][2] = {{1}, {-1, 7}};
    static const char *const channels[] = {"tree/ch0", "tree/ch1"};
    const struct drf_entry entry = {(uint64_t)DRF_FIRST_MS, 150e6};
    /* the header's scratch folder is separate in each source file */
    drf_make_folder("tree");
    for (int i = 0; i < 2; i++) {
        const struct drf_storage storage = {
            i == 0 ? H5T_NATIVE_INT8 : H5T_NATIVE_INT16, 0, false};
        drf_put_properties(channels[i], &drf_usual);
        for (int64_t ms = DRF_FIRST_MS; ms < DRF_FIRST_MS + 1000; ms += 500) {
            const uint64_t index[2] = {(uint64_t)ms, 0};
            drf_put_file(channels[i], &drf_usual, storage, ms, 500, rows, 1,
                         index);
        }
        drf_note(channels[i], &entry, 1);
    }
    claim(rename(scratch_path("tree"), folder) == 0, "%s", folder);
}
