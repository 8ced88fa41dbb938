/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * antennas.h -- antenna tables from CSV, and from the JSON file beside a TART
 * recording.
 */
#ifndef FX8_CONFIG_ANTENNAS_H
#define FX8_CONFIG_ANTENNAS_H

#include <stdbool.h>
#include <stddef.h>

#include "config/observation.h"
#include "correlator/fx8.h"

/** What a table says of its antennas; the rest has default values. */
struct fx8_antennas_given {
    bool name;
    bool cable_delay[FX8_MAX_POLARIZATIONS];
};

/**
 * fx8_antennas_load -- read an antenna table.  A first character '{' or '['
 * means JSON, anything else CSV.
 *
 * Returned:  antennas    [n_antennas] in file order
 *            given       may be NULL
 * Status:    FX8_ERR_USAGE with FILE:LINE (the member's path for valid JSON):
 *            unreadable file; unknown, missing or duplicate column; wrong
 *            number of fields; a value that is not a finite number; a
 *            position too far from the site; duplicate numbers or inputs; two
 *            antennas less than 1 mm apart (UVH5 readers refuse them); no rows
 * Ownership: the caller releases `antennas` with free(); NULL after failure
 * Notes: 1) CSV: header line; columns number, name, east_m, north_m, up_m,
 *           cable_delay_ns (or cable_delay_x_ns, cable_delay_y_ns or both),
 *           optional input (0-based position in the recording, default: row
 *           order); number defaults to row order, name to "ANTnnn"
 *        2) JSON: {"antenna_positions": [[east, north, up], ...]} in metres,
 *           or the bare array
 *        3) '#' starts a comment line in CSV; blank lines are skipped
 */
enum fx8_status fx8_antennas_load(const char *path,
                                  struct fx8_antenna **antennas,
                                  size_t *n_antennas,
                                  struct fx8_antennas_given *given,
                                  struct fx8_error *error);

/**
 * fx8_antennas_check_distance -- check that a position can be east, north and
 * up relative to the site.
 *
 * Given:  where  file, and line or row, for the message
 * Status: FX8_ERR_USAGE: more than 1000 km away, so perhaps geocentric; an
 *         unknown position (NaN) passes
 */
enum fx8_status fx8_antennas_check_distance(const char *where,
                                            const double enu_m[3],
                                            struct fx8_error *error);

#endif
