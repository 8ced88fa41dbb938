/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sources.h -- the sky of the simulator as a table.
 */
#ifndef FX8_CORRELATOR_SIMULATE_SOURCES_H
#define FX8_CORRELATOR_SIMULATE_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "correlator/fx8.h"

/**
 * A source, fixed above the array or moving with the sky.
 *
 * Stokes parameters are in the frame of the feeds, in units of the receiver
 * noise power of one input, so I = 1 doubles the power there:
 * <conj(X) X> = I + Q, <conj(Y) Y> = I - Q, <conj(X) Y> = U + iV.  A tone with
 * I only is the same signal in X and Y, as is one with U = I.
 */
struct fx8_source {
    bool is_celestial;
    double direction_enu[3]; /**< unit vector towards it, unless celestial */
    double icrs_deg[2];      /**< right ascension, declination, if celestial */
    double stokes[4];        /**< I, Q, U, V */
    bool is_tone;
    double tone_hz; /**< sky frequency, when is_tone */
};

/**
 * fx8_sources_load -- read a table of sources.
 *
 * Given:     path  CSV with the columns az_deg (from north through east) and
 *                  el_deg, or ra_deg and dec_deg (ICRS), or all four, and then
 *                  each row fills one of the pairs; I, and optional Q, U, V,
 *                  tone_hz (empty: broad band)
 * Returned:  sources    [n_sources]
 * Status:    FX8_ERR_USAGE with FILE:LINE: a missing or unknown column, a
 *            value that is not a number, no position or two, a position outside
 *            the sphere, I below 0 or below sqrt(Q^2 + U^2 + V^2), a tone with
 *            Q, U or V that is not fully polarised (to 1e-6)
 * Ownership: the caller releases `sources` with free(); NULL after failure
 * Notes:     at the first sample, at the site's reference position, the phase
 *            of a tone is 0 in X, or in Y if it has no X
 */
enum fx8_status fx8_sources_load(const char *path, struct fx8_source **sources,
                                 size_t *n_sources, struct fx8_error *error);

#endif
