/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * observe.h -- the metadata of a simulated recording.
 */
#ifndef FX8_CORRELATOR_SIMULATE_OBSERVE_H
#define FX8_CORRELATOR_SIMULATE_OBSERVE_H

#include "config/observation.h"
#include "config/settings.h"
#include "correlator/fx8.h"

/**
 * fx8_simulator_observe -- metadata of the recording that a configuration
 * asks for.
 *
 * Rate, frequency, start and names come from [observation], site and antennas
 * from [array], kind and length of the samples from [simulate]; there are two
 * polarisations unless [array] says otherwise.  The recording holds every
 * antenna of the table, correlated or not; with positions = none, as many as
 * [array] antennas needs, and no table.
 *
 * Returned:  observation  antennas in order of position
 * Status:    FX8_ERR_USAGE: a key is missing that correlate would take from a
 *            recording; positions are missing in the table
 * Ownership: fx8_observation_clear() releases it, also after a failure
 */
enum fx8_status fx8_simulator_observe(const struct fx8_settings *settings,
                                      struct fx8_observation *observation,
                                      struct fx8_error *error);

#endif
