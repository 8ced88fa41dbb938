/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * delays.h -- the delays that a job removes: cables, gains of the antennas, and
 * in mode track the path to a phase centre.
 */
#ifndef FX8_CORRELATOR_RUN_DELAYS_H
#define FX8_CORRELATOR_RUN_DELAYS_H

#include <stdbool.h>

#include "correlator/fx8.h"
#include "correlator/run/job.h"

/**
 * fx8_delays_find -- delays of all inputs at an instant; the plan's
 * fx8_delay_callback.
 *
 * Given:    context  struct fx8_job_center *
 *           sample   absolute index in the recording
 * Returned: delay_s  double [n_inputs]  cable delay and delay of [array] gains,
 *                    in mode track less r . s / c, with s the apparent place of
 *                    the phase centre (diurnal aberration included, no
 *                    refraction) and r the antenna's position from the site
 *                    when the wave arrives there
 * Status:   FX8_ERR_USAGE: a date without a UTC, or outside the IERS table
 */
enum fx8_status fx8_delays_find(void *context, int64_t sample, double *delay_s,
                                struct fx8_error *error);

/** How delays change in a run, and what they cost. */
struct fx8_delay_figures {
    double most_s;       /**< largest delay, without its sign */
    double most_rate;    /**< largest change of a delay, s/s */
    double rest_samples; /**< largest part that whole samples leave */
    double delay_loss;   /**< share of the coherence that a pair may lose
                              because windows shift by whole samples alone; of
                              white noise, mean over the channels */
    double fringe_loss;  /**< and because the phase is one number for a whole
                              spectrum */
};

/**
 * fx8_delays_measure -- figures of one phase centre.
 *
 * Numerics: delays are found at 65 instants of the run, so rests are within
 * 1/64 of a sample; the losses are those of the pair with the largest
 *           difference, at the top of the band, from the filter's weights
 */
enum fx8_status fx8_delays_measure(const struct fx8_job_center *center,
                                   struct fx8_delay_figures *figures,
                                   struct fx8_error *error);

/** Turns of the fringe of any source in one dump, at most, if nothing is
 *  tracked: at the top of the band, for a baseline as long as the diagonal of
 *  the array's box. */
double fx8_delays_dump_turns(const struct fx8_job *job);

#endif
