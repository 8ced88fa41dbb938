/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * removed.h -- the delays that correlate will remove from a recording, for its
 * true visibilities.
 */
#ifndef FX8_CORRELATOR_SIMULATE_REMOVED_H
#define FX8_CORRELATOR_SIMULATE_REMOVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/run/job.h"

/** Instants of a segment of spectra at which its delays are known. */
enum { FX8_REMOVED_FIRST, FX8_REMOVED_MIDDLE, FX8_REMOVED_LAST, FX8_REMOVED_N };

/** Delays of the first phase centre of a job; zeroed: nothing is removed. */
struct fx8_removed {
    const struct fx8_job *job;
    struct fx8_job_center *center; /**< NULL: no delays */
    bool is_changing;              /**< with time: mode track */
    double *delay_s;  /**< [FX8_REMOVED_N][n_inputs] of a segment, s */
    double *nearby_s; /**< [n_inputs] for interpolation */
    int64_t *shifts;  /**< [n_inputs] whole samples of a group */
};

/**
 * fx8_removed_open -- prepare, and check the dates of the whole job.
 *
 * Status:    as fx8_delays_find(); FX8_ERR_SYSTEM: memory
 * Ownership: fx8_removed_clear() releases it, also after a failure
 */
enum fx8_status fx8_removed_open(const struct fx8_job *job,
                                 struct fx8_removed *removed,
                                 struct fx8_error *error);

/** Fill delay_s for a segment of `length` samples about `middle`. */
void fx8_removed_find(struct fx8_removed *removed, double middle,
                      double length);

/**
 * fx8_removed_cycles -- what correlate adds to the phase of an input at the
 * middle of the segment.
 *
 * Given: frequency_hz  of the sky
 *        path_rate     by which the signal comes ever earlier, s/s: the samples
 *                      taken are later by the delay, and those of a source that
 *                      moves are others
 * Notes: delay and phase of [array] gains
 */
double fx8_removed_cycles(const struct fx8_removed *removed, size_t input,
                          double frequency_hz, double path_rate);

/** How much its delay grows over the segment, s. */
double fx8_removed_growth(const struct fx8_removed *removed, size_t input);

/** Fill `shifts` for the group of FX8_GROUP spectra that begins with this one:
 *  the delays of its middle, rounded. */
void fx8_removed_shift(struct fx8_removed *removed, int64_t spectrum);

void fx8_removed_clear(struct fx8_removed *removed);

#endif
