/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * supply.h -- what the user gives wins over what a recording says of itself.
 */
#ifndef FX8_CONFIG_SUPPLY_H
#define FX8_CONFIG_SUPPLY_H

#include "config/observation.h"
#include "config/settings.h"
#include "correlator/fx8.h"

/** Receives a warning of one line. */
typedef void fx8_supply_warn(void *context, const char *text);

/**
 * fx8_supply -- put the values that the user gave in place of the recorded
 * ones: [observation], input.sideband, the site and table of [array].
 *
 * Given:    observation  as recorded
 *           warn         called for every recorded value that differs from the
 *                        given one, and for a table of antennas that does not
 *                        fit the recording
 * Returned: observation  as it is to be used; what neither the user nor the
 *                        recording knows stays unknown
 * Status:   FX8_ERR_USAGE: array.positions cannot be read;
 *           FX8_ERR_SYSTEM: memory
 * Notes:    1) array.positions = none keeps the recorded table
 *           2) a table of antennas replaces the recorded one, except that the
 *              cable delays of a polarisation for which it has no column are
 *              the recorded ones, by position in the recording
 */
enum fx8_status fx8_supply(const struct fx8_settings *settings,
                           struct fx8_observation *observation,
                           fx8_supply_warn *warn, void *context,
                           struct fx8_error *error);

/** The keys that fx8_supply() may use, in order; NULL behind the last. */
extern const char *const fx8_supply_keys[];

/** Whether the user gave a table of antennas. */
bool fx8_supply_has_table(const struct fx8_settings *settings);

/**
 * fx8_supply_range -- the samples that input.start_s and duration_s select.
 *
 * Given:    observation   from fx8_supply()
 *           path          the recording, for messages
 * Returned: first_sample, n_samples  within the recording, at least one
 * Status:   FX8_ERR_USAGE: a start behind the end, less than a sample, or one
 *           of the keys without a sampling rate
 * Notes:    warns if the recording ends before duration_s
 */
enum fx8_status fx8_supply_range(const struct fx8_settings *settings,
                                 const struct fx8_observation *observation,
                                 const char *path, int64_t *first_sample,
                                 int64_t *n_samples, fx8_supply_warn *warn,
                                 void *context, struct fx8_error *error);

#endif
