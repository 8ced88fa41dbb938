/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.h -- one correlation, fully resolved: the recording's metadata, amended
 * by the configuration and checked for contradictions; antennas and inputs are
 * listed in correlator order.
 */
#ifndef FX8_CORRELATOR_RUN_JOB_H
#define FX8_CORRELATOR_RUN_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/catalogue.h"
#include "config/earth.h"
#include "config/gain_table.h"
#include "config/observation.h"
#include "config/settings.h"
#include "correlator/fx8.h"
#include "correlator/run/celestial.h"
#include "io/reader.h"

/** Most warnings that a job keeps: more than there are kinds of warnings. */
#define FX8_JOB_WARNINGS 16

/** One result of a job: its phase centre, or none. */
struct fx8_job_center {
    const struct fx8_job *job;
    struct fx8_celestial sky; /**< of the job's site */
    bool is_tracked;
    struct fx8_phase_center place; /**< if tracked; name: of the result */
};

/**
 * A resolved job.
 *
 * Ownership: filled by fx8_job_resolve(), released by fx8_job_clear()
 * Notes: 1) observation.antennas is [plan.n_antennas], the correlated antennas
 *           in order, all members filled in; its n_antennas, n_polarizations
 *           and n_samples describe the recording
 *        2) the job points to the given settings and path, and to itself: it
 *           must not be moved
 */
struct fx8_job {
    const struct fx8_settings *settings; /**< as given */
    const char *path;                    /**< of the recording, for messages */
    struct fx8_plan plan;
    struct fx8_axes axes; /**< of the plan */
    struct fx8_observation observation;
    struct fx8_input_position *inputs; /**< [n_inputs] correlator order, bands
                                          in the order of the observation */
    size_t n_inputs;                   /**< in all bands: axes.n_rows */
    uint8_t *flag_antenna;             /**< [plan.n_antennas] */
    uint8_t *flag_channel; /**< [axes.n_fine] of [flag] channels; NULL: none */
    size_t n_flagged_channels; /**< of them */
    double *ripple;            /**< [axes.n_fine] of [channelizer] ripple_file;
                                    NULL: none */
    size_t *baselines;         /**< [plan.n_baselines] to write; NULL: all */
    int64_t n_samples;    /**< samples to process, from plan.first_sample on */
    int64_t n_dumps;      /**< at least 1; the last may be shorter */
    int64_t most_spectra; /**< of a dump; at most plan's M */
    int64_t skipped_samples;        /**< samples before the first dump */
    int64_t dropped_samples;        /**< samples after the last dump */
    bool positions_are_faked;       /**< positions = none: 1 m apart eastward */
    struct fx8_earth_table *earth;  /**< orientation of the Earth */
    struct fx8_gain *gains;         /**< [axes.n_inputs] of [array] gains */
    double *gain_turns;             /**< [axes.n_inputs] their phases */
    double *fixed_delay_s;          /**< [axes.n_inputs] removed: cables and
                                         gains; 0 in mode none */
    struct fx8_job_center *centers; /**< [n_centers] */
    size_t n_centers; /**< results: 1 unless several are tracked */
    size_t n_warnings;
    char warnings[FX8_JOB_WARNINGS][FX8_TEXT_SIZE];
};

/**
 * fx8_job_resolve -- combine settings and recording; settings win.
 *
 * Given:  settings   loaded and validated
 *         recorded   the recording's metadata
 *         path       the recording, for messages
 * Status: FX8_ERR_USAGE: a key contradicts the recording, or is needed because
 *         the recording lacks the value (too many antennas, no positions,
 *         integration longer than the recording, ...); the message names the
 *         key by its origin.  FX8_ERR_INPUT: the recording contradicts itself
 * Notes:  after a failure the job is empty
 */
enum fx8_status fx8_job_resolve(const struct fx8_settings *settings,
                                const struct fx8_observation *recorded,
                                const char *path, struct fx8_job *job,
                                struct fx8_error *error);

/** Sky frequency of a band's baseband zero, MHz. */
double fx8_job_band_mhz(const struct fx8_job *job, size_t band);

/** Threads of a run: as configured, or all processors. */
size_t fx8_job_threads(const struct fx8_job *job);

/** Of n_threads those that compress results: with gzip all; else HDF5 does, and
 *  also with a memory limit, since it takes one chunk at a time. */
size_t fx8_job_packers(const struct fx8_job *job, size_t n_threads);

/** Release a job; a zeroed one is legal. */
void fx8_job_clear(struct fx8_job *job);

#endif
