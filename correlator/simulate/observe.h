/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * observe.h -- what a simulated recording says of itself.
 */
#ifndef FX8_CORRELATOR_SIMULATE_OBSERVE_H
#define FX8_CORRELATOR_SIMULATE_OBSERVE_H

#include "config/observation.h"
#include "config/settings.h"
#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * fx8_simulator_observe -- the recording that a configuration asks for.
 *
 * Rate, frequency, start and names come from [observation], site and antennas
 * from [array], kind and length of the samples from [simulate]; two
 * polarisations unless [array] says otherwise.  The recording holds every
 * antenna of the table, whichever are correlated; with positions = none as
 * many as [array] antennas needs, and no table.
 *
 * Returned:  observation  antennas in order of position
 * Status:    FX8_ERR_USAGE: a key that correlate could take from a recording
 *            is missing; the table leaves positions out
 * Ownership: fx8_observation_clear() releases it, also after a failure
 */
enum fx8_status fx8_simulator_observe(const struct fx8_settings *settings,
                                      struct fx8_observation *observation,
                                      struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
