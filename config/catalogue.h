/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * catalogue.h -- several phase centres, from CSV.
 */
#ifndef FX8_CONFIG_CATALOGUE_H
#define FX8_CONFIG_CATALOGUE_H

#include <stddef.h>

#include "config/observation.h"
#include "correlator/fx8.h"

/** Most phase centres of a catalogue. */
#define FX8_MAX_PHASE_CENTERS 1024

/** A phase centre with a result of its own. */
struct fx8_phase_center {
    char name[FX8_TEXT_SIZE]; /**< 1 to 63 ASCII characters, part of the name
                                   of a file */
    double icrs_deg[2];       /**< right ascension, declination */
};

/**
 * fx8_catalogue_load -- read `[delay] phase_centers`.
 *
 * Returned:  centers  [n_centers] in file order
 * Status:    FX8_ERR_USAGE with FILE:LINE: unreadable file; unknown, missing or
 *            duplicate column; a name twice, or one that cannot be part of the
 *            name of a file; a value out of range; no rows or too many;
 *            FX8_ERR_SYSTEM: memory
 * Ownership: the caller releases `centers` with free(); NULL after failure
 * Notes:     CSV with the columns name, ra_deg (0 to 360) and dec_deg (-90 to
 *            90)
 */
enum fx8_status fx8_catalogue_load(const char *path,
                                   struct fx8_phase_center **centers,
                                   size_t *n_centers, struct fx8_error *error);

#endif
