/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * good_files.h -- one small good recording of each format, and visibilities,
 * to be damaged.  All last for a millisecond at least, which is a dump.
 */
#ifndef FX8_VALIDATION_GOOD_FILES_H
#define FX8_VALIDATION_GOOD_FILES_H

#include "validation/aavs_file.h"
#include "validation/digital_rf_file.h"
#include "validation/frames_file.h"
#include "validation/recording_file.h"
#include "validation/uvh5_file.h"

/* --- TART ------------------------------------------------------------- */

/* 2100 bytes hold more than a millisecond: a dump. */
enum { TART_ANTENNAS = 3, TART_BYTES = 2100 };

static const char tart_time[] = "2026-06-12T11:20:40+00:00";
static const char tart_config[] =
    "{\"name\": \"Here \\\"x\\\"\", \"frequency\": 1575420000.0, "
    "\"L0_frequency\": 1571328000.0, \"baseband_frequency\": 4092000.0, "
    "\"sampling_frequency\": 16368000.0, \"lat\": -18.5, \"lon\": 47.25, "
    "\"alt\": 1280.0, \"num_antenna\": 3, \"axes\": [\"East\", {\"]\": 1}]}";

static inline uint8_t tart_byte(size_t antenna, size_t index)
{
    return (uint8_t)(antenna * 91 + index * index * 29 + 13);
}

static inline void put_tart(const char *name, const char *config,
                            const char *time)
{
    uint8_t bytes[TART_ANTENNAS][TART_BYTES];
    for (size_t a = 0; a < TART_ANTENNAS; a++)
        for (size_t i = 0; i < TART_BYTES; i++)
            bytes[a][i] = tart_byte(a, i);
    const hsize_t extent[2] = {TART_ANTENNAS, TART_BYTES};
    hid_t file = create_file(name);
    put_item(file, "data", H5T_STD_U8LE, 2, extent, H5T_NATIVE_UINT8, bytes);
    put_text(file, "config", 1, config);
    put_text(file, "timestamp", 1, time);
    H5Fclose(file);
}

/* --- good files ------------------------------------------------------- */

/* Every function puts its files into an existing folder of the scratch folder.
 */

/** FOLDER/NAME, valid until the next call. */
static inline const char *name_in(const char *folder, const char *name)
{
    static char path[SCRATCH_PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/** fx8's own format, good.h5: antennas of two polarisations, complex, labelled,
 *  with a table of antennas and one of missing samples. */
static inline void make_good_fx8(const char *folder)
{
    static const struct missing_row missing[] = {{-1, -1, 3, 1}, {2, 0, 50, 7}};
    hid_t file = create_file(name_in(folder, "good.h5"));
    put_attributes(file);
    put_voltages(file, orders[0], true, false, CONTIGUOUS, true);
    put_antennas(file, N_ANT);
    put_missing(file, missing, 2);
    H5Fclose(file);
}

/** The same format, two files in a row with a gap between them. */
static inline void make_good_fx8_parts(const char *folder)
{
    for (int part = 0; part < 2; part++) {
        const struct missing_row missing = {part, -1, 90, 7};
        char name[SCRATCH_PATH_SIZE];
        snprintf(name, sizeof name, "%s/part%d.h5", folder, part);
        hid_t file = create_file(name);
        put_attributes(file);
        /* of 1.08 ms each */
        put_number(file, "@start_time_ns", H5T_STD_I64LE,
                   1080000.0 * (N_TIME + 9) * part);
        put_voltages(file, orders[0], true, false, CONTIGUOUS, true);
        put_antennas(file, N_ANT);
        put_missing(file, &missing, 1);
        H5Fclose(file);
    }
}

/** TART, good.h5. */
static inline void make_good_tart(const char *folder)
{
    put_tart(name_in(folder, "good.h5"), tart_config, tart_time);
}

/** Digital RF: channels of 8 and of 16 bits in two files each, complex, with a
 *  frequency noted. */
static inline void make_good_digital_rf(const char *folder)
{
    static const int16_t rows[DRF_FILE_ROWS][2] = {{1}, {-1, 7}};
    const struct drf_entry entry = {(uint64_t)DRF_FIRST_MS, 150e6};
    for (int i = 0; i < 2; i++) {
        char channel[64];
        const struct drf_storage storage = {
            i == 0 ? H5T_NATIVE_INT8 : H5T_NATIVE_INT16, 0, false};
        snprintf(channel, sizeof channel, "%s/ch%d", folder, i);
        drf_put_properties(channel, &drf_usual);
        for (int64_t ms = DRF_FIRST_MS; ms < DRF_FIRST_MS + 1000; ms += 500) {
            const uint64_t index[2] = {(uint64_t)ms, 0};
            drf_put_file(channel, &drf_usual, storage, ms, DRF_FILE_ROWS, rows,
                         1, index);
        }
        drf_note(channel, &entry, 1);
    }
}

/** AAVS: two tiles of two antennas in two parts each, with gaps in one. */
static inline void make_good_aavs(const char *folder)
{
    for (int tile = 0; tile < 2; tile++)
        for (int part = 0; part < 2; part++) {
            char name[SCRATCH_PATH_SIZE];
            snprintf(name, sizeof name, "%s/tile%d-%d.hdf5", folder, tile,
                     part);
            struct piece piece = good_piece;
            piece.name = name;
            piece.tile = tile;
            piece.first_antenna = 2 * tile;
            piece.n_channels = 2;
            piece.first = 700 * part;
            piece.gap_at = tile == 1 ? 400 : 0;
            piece.gap = tile == 1 ? 50 : 0;
            put_piece(&piece);
        }
}

/** GUPPI RAW: two antennas, one with a gap. */
static inline void make_good_guppi(const char *folder)
{
    put_guppi(name_in(folder, "a.raw"), 0, false);
    put_guppi(name_in(folder, "b.raw"), 1, true);
}

/** VDIF: two antennas of two threads, one with gaps. */
static inline void make_good_vdif(const char *folder)
{
    put_vdif(name_in(folder, "a.vdif"), 0, false);
    put_vdif(name_in(folder, "b.vdif"), 1, true);
}

/** PSRDADA: two antennas, one of two files that overlap. */
static inline void make_good_dada(const char *folder)
{
    put_dada(name_in(folder, "a0.dada"), 0, 0);
    put_dada(name_in(folder, "a1.dada"), 0, 1);
    put_dada(name_in(folder, "b.dada"), 1, 0);
}

/** UVH5 as fx8 writes it, good.h5: two dumps with gains. */
static inline void make_good_uvh5(const char *folder)
{
    static struct fixture f;
    fill(&f, 2, 4, 4);
    struct fx8_uvh5_writer *writer =
        create(name_in(folder, "good.h5"), &f.header, FX8_COMPRESSION_NONE);
    write_dump(writer, &f.header, 0);
    write_dump(writer, &f.header, 1);
    const size_t shape[2] = {N_STATIONS, 4};
    const double gains[N_STATIONS * 4] = {1};
    struct fx8_error error;
    must(fx8_uvh5_put(writer, "gain", 2, shape, gains, "gains", &error), error);
    must(fx8_uvh5_close(&writer, 2, &error), error);
}

#endif
