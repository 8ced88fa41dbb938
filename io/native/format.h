/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * format.h -- names in fx8's own recordings, shared by writer and reader.
 * data/README.md specifies the format.
 */
#ifndef FX8_IO_NATIVE_FORMAT_H
#define FX8_IO_NATIVE_FORMAT_H

#include "io/h5/h5.h"
#include "io/reader.h"
#include "io/selection.h"

#define FX8_NATIVE_FORMAT     "fx8-voltages"
#define FX8_NATIVE_VERSION    1
#define FX8_NATIVE_VOLTAGES   "voltages"
#define FX8_NATIVE_ANTENNAS   "antennas"
#define FX8_NATIVE_MISSING    "missing"
#define FX8_NATIVE_LABELS     "DIMENSION_LABELS" /**< HDF5's own attribute */
#define FX8_NATIVE_LABEL_SIZE 16

/** Labels of the axes by enum fx8_axis: antenna, pol, time. */
extern const char *const fx8_native_axes[3];

/** Members of /antennas, in rows of struct fx8_antenna. */
#define FX8_NATIVE_ANTENNA_MEMBERS 7
extern const struct fx8_h5_member
    fx8_native_antenna_members[FX8_NATIVE_ANTENNA_MEMBERS];

/** Members of /missing, in rows of struct fx8_missing. */
#define FX8_NATIVE_MISSING_MEMBERS 4
extern const struct fx8_h5_member
    fx8_native_missing_members[FX8_NATIVE_MISSING_MEMBERS];

/** Read root attributes into the observation: rate, time, frequency, texts. */
enum fx8_status fx8_native_read_attributes(const char *path, hid_t file,
                                           struct fx8_observation *observation,
                                           struct fx8_error *error);

/** Read /antennas, if present: its rows must match the antenna axis. */
enum fx8_status fx8_native_read_antennas(const char *path, hid_t file,
                                         struct fx8_observation *observation,
                                         struct fx8_error *error);

/** Read /missing, if present; the caller frees it. */
enum fx8_status fx8_native_read_missing(
    const char *path, hid_t file, const struct fx8_observation *observation,
    struct fx8_missing **missing, size_t *n_missing, struct fx8_error *error);

#endif
