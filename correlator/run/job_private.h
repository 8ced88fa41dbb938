/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job_private.h -- what job.c, job_antennas.c, job_bands.c, job_baselines.c,
 * job_delays.c and job_flags.c share.
 */
#ifndef FX8_CORRELATOR_RUN_JOB_PRIVATE_H
#define FX8_CORRELATOR_RUN_JOB_PRIVATE_H

#include "correlator/run/job.h"

/** Add a warning to the job; beyond FX8_JOB_WARNINGS warnings are dropped. */
void fx8_job_warn(struct fx8_job *job, const char *format, ...)
    FX8_PRINTF(2, 3);

/**
 * fx8_job_choose_antennas -- fill in the antennas, inputs, flags and site.
 *
 * Given:  job   observation as recorded and amended; its antennas are still
 *               the recording's table
 * Status: as fx8_job_resolve()
 */
enum fx8_status fx8_job_choose_antennas(struct fx8_job *job,
                                        struct fx8_error *error);

/**
 * fx8_job_choose_baselines -- fill in plan.baselines, of a job whose antennas
 * are chosen; NULL if all are to be written.
 *
 * Status: FX8_ERR_USAGE: a number that is not correlated; lengths without
 *         positions, or of which the least exceeds the most; no baseline left;
 *         a quick-look, which needs all
 */
enum fx8_status fx8_job_choose_baselines(struct fx8_job *job,
                                         struct fx8_error *error);

/**
 * fx8_job_check_bands -- no frequency may be in two bands.
 *
 * Given:  job   observation complete; plan with samples, bands and channels set
 * Status: FX8_ERR_USAGE: the kept channels of neighbouring bands overlap; the
 *         message gives the largest keep_fraction without overlap.
 *         FX8_ERR_INPUT: bands of real samples, which are kept whole, overlap
 * Notes:  method none keeps the recorded bands whatever their width: each
 *         becomes one channel
 */
enum fx8_status fx8_job_check_bands(const struct fx8_job *job,
                                    struct fx8_error *error);

/**
 * fx8_job_load_ripple -- fill in plan.ripple; NULL without `[channelizer]
 * ripple_file`.
 *
 * Given:  job   observation complete; plan with samples, bands and channels set
 * Status: FX8_ERR_USAGE: as fx8_ripple_load(); the table does not cover all
 *         channels, or samples of a few bits are corrected
 */
enum fx8_status fx8_job_load_ripple(struct fx8_job *job,
                                    struct fx8_error *error);

/**
 * fx8_job_load_gains -- fill in job->gains; 1 without `[array] gains`.
 *
 * Given:  table   [n_table] antennas that rows may name, correlated or not
 *         chosen  [plan.n_antennas]
 * Status: FX8_ERR_USAGE: as fx8_gain_table_load()
 */
enum fx8_status fx8_job_load_gains(struct fx8_job *job,
                                   const struct fx8_antenna *table,
                                   size_t n_table,
                                   const struct fx8_antenna *chosen,
                                   struct fx8_error *error);

/**
 * fx8_job_plan_delays -- gains, delays and phase centres of a job whose
 * antennas and dumps are chosen.
 *
 * Status: FX8_ERR_USAGE: keys of [delay] that contradict each other, the
 *         antennas, the channelizer or the recording; a bad table
 * Notes:  warns of a centre below the horizon
 */
enum fx8_status fx8_job_plan_delays(struct fx8_job *job,
                                    struct fx8_error *error);

/**
 * fx8_job_flag_channels -- find the channels that [flag] channels names.
 *
 * Given:  job     plan complete
 * Status: FX8_ERR_SYSTEM: memory
 * Notes:  1) a channel is flagged if a listed frequency lies in it or on its
 *            border: from centre - width / 2 to centre + width / 2
 *         2) warns if the list flags no channel, or all of them
 */
enum fx8_status fx8_job_flag_channels(struct fx8_job *job,
                                      struct fx8_error *error);

#endif
