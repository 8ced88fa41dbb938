/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config.h -- the JSON text in the dataset `config` of a TART recording.
 */
#ifndef FX8_IO_TART_CONFIG_H
#define FX8_IO_TART_CONFIG_H

#include <stdint.h>

#include "config/observation.h"
#include "correlator/fx8.h"

/**
 * fx8_tart_config -- read sampling rate, band, site and name of a TART array.
 *
 * Given:     path         file, for messages
 *            json         an object; members not named below are ignored
 * Returned:  observation  sample_rate, dc_frequency_hz, sideband, site,
 *                         telescope
 *            n_antennas   num_antenna, or 0 if absent
 * Status:    FX8_ERR_INPUT: not JSON, a member missing or not a number, an
 *            inconsistent frequency plan
 * Notes: 1) the radio mixes the sky down with an oscillator at L0_frequency and
 *           samples real voltages, so `frequency` appears at
 *           baseband_frequency.  An oscillator below the observed frequency
 *           gives the upper sideband: sky = L0_frequency + baseband,
 *           dc_frequency_hz = L0_frequency.  One above it gives the lower
 *           sideband: sky = L0_frequency - baseband
 *        2) older files lack these two members: every TART has its intermediate
 *           frequency at a quarter of the sampling rate, 4.092 MHz of 16.368
 *           MHz, with the oscillator below the sky frequency
 */
enum fx8_status fx8_tart_config(const char *path, const char *json,
                                struct fx8_observation *observation,
                                int64_t *n_antennas, struct fx8_error *error);

#endif
