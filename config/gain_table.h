/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gain_table.h -- gains of antennas, as a calibration found them, from CSV.
 *
 * E_recorded = amplitude exp(i phase) exp(-2 pi i f delay) E_true at sky
 * frequency f.
 */
#ifndef FX8_CONFIG_GAIN_TABLE_H
#define FX8_CONFIG_GAIN_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "config/observation.h"
#include "correlator/fx8.h"

/** Gain of one polarisation of an antenna. */
struct fx8_gain {
    double amplitude; /**< 1e-6 to 1e6 */
    double phase_deg; /**< -360 to 360 */
    double delay_s;   /**< beside the cable's; positive: arrives late */
};

/**
 * fx8_gain_table_load -- read `[array] gains`.
 *
 * Given:    antennas    [n_antennas] all of the recording, also those that are
 *                       not correlated: rows name them by number
 *           has_delays  whether delays are removed: if not, they must be 0
 * Returned: gains       [n_antennas][FX8_MAX_POLARIZATIONS]; amplitude 1, phase
 *                       and delay 0 without a row
 * Status:   FX8_ERR_USAGE with FILE:LINE: unreadable file; unknown, missing or
 *           duplicate column; an unknown antenna; a polarisation other than X
 *           and Y; a value out of range; two rows for one input; a delay
 *           without has_delays; FX8_ERR_SYSTEM: memory
 * Notes:    CSV with the columns number, pol, amplitude, phase_deg, delay_ns
 */
enum fx8_status fx8_gain_table_load(const char *path,
                                    const struct fx8_antenna *antennas,
                                    size_t n_antennas, bool has_delays,
                                    struct fx8_gain *gains,
                                    struct fx8_error *error);

#endif
