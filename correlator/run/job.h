/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.h -- one correlation, fully resolved: what the recording says, amended
 * by the configuration, checked for contradictions, with every list of
 * antennas and inputs in the order of the correlator.
 */
#ifndef FX8_CORRELATOR_RUN_JOB_H
#define FX8_CORRELATOR_RUN_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/observation.h"
#include "config/settings.h"
#include "correlator/fx8.h"
#include "io/reader.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most warnings a job collects: more than there are kinds of them. */
#define FX8_JOB_WARNINGS 16

/**
 * A resolved job.
 *
 * Ownership: filled by fx8_job_resolve(), released by fx8_job_clear()
 * Notes: 1) observation.antennas is [plan.n_antennas], the correlated antennas
 *           in order, all members filled in; n_antennas, n_polarizations and
 *           n_samples of it are those of the recording
 *        2) plan points into the job and into the settings given
 */
struct fx8_job {
    struct fx8_plan plan;
    struct fx8_axes axes; /**< of the plan */
    struct fx8_observation observation;
    struct fx8_input_position
        *inputs;           /**< [n_inputs] correlator order, band
                                by band as the observation has them */
    size_t n_inputs;       /**< in all bands: axes.n_rows */
    uint8_t *flag_antenna; /**< [plan.n_antennas] */
    int64_t n_samples;     /**< samples to process, from plan.first_sample on */
    int64_t n_dumps;       /**< complete dumps in them, at least 1 */
    int64_t dropped_samples;  /**< samples after the last complete dump */
    bool positions_are_faked; /**< positions = none: 1 m apart eastward */
    size_t n_warnings;
    char warnings[FX8_JOB_WARNINGS][FX8_TEXT_SIZE];
};

/**
 * fx8_job_resolve -- settings over recording.
 *
 * Given:  settings   loaded and validated
 *         recorded   what the recording says
 *         path       the recording, for messages
 * Status: FX8_ERR_USAGE: a key contradicts or lacks what the recording holds
 *         (too many antennas, no positions, integration longer than the
 *         recording, ...), naming the key through its origin;
 *         FX8_ERR_INPUT: the recording contradicts itself
 * Notes:  after failure the job is empty
 */
enum fx8_status fx8_job_resolve(const struct fx8_settings *settings,
                                const struct fx8_observation *recorded,
                                const char *path, struct fx8_job *job,
                                struct fx8_error *error);

/** Release a job; a zeroed one is legal. */
void fx8_job_clear(struct fx8_job *job);

#ifdef __cplusplus
}
#endif

#endif
