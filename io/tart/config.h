/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config.h -- the JSON text in the dataset `config` of a TART recording.
 */
#ifndef FX8_IO_TART_CONFIG_H
#define FX8_IO_TART_CONFIG_H

#include <stdint.h>

#include "config/observation.h"
#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * fx8_tart_config -- sampling rate, band, site and name of a TART array.
 *
 * Given:     path         file, for messages
 *            json         an object; members that are not named below may hold
 *                         anything
 * Returned:  observation  sample_rate, dc_frequency_hz, sideband, site,
 *                         telescope
 *            n_antennas   num_antenna, or 0 where it is not told
 * Status:    FX8_ERR_INPUT: not JSON, a member missing or not a number, no
 *            frequency plan that fits
 * Notes: 1) the radio mixes the sky down with an oscillator at L0_frequency
 *           and samples real voltages; `frequency` then stands at
 *           baseband_frequency.  An oscillator below the observed frequency
 *           keeps the spectrum upright: sky = L0_frequency + baseband, so
 *           dc_frequency_hz is L0_frequency and the sideband upper; one above
 *           turns it round: sky = L0_frequency - baseband, sideband lower
 *        2) older files lack the two members: every TART has its intermediate
 *           frequency at a quarter of the sampling rate, 4.092 MHz of
 *           16.368 MHz, below the sky
 */
enum fx8_status fx8_tart_config(const char *path, const char *json,
                                struct fx8_observation *observation,
                                int64_t *n_antennas, struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
