/* SPDX-License-Identifier: BSD-3-Clause */
/* tart_file.h -- a TART recording made with HDF5 alone. */
#ifndef FX8_VALIDATION_TART_FILE_H
#define FX8_VALIDATION_TART_FILE_H

#include "validation/hdf5_items.h"

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

#endif
