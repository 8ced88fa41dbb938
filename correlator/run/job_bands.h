/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job_bands.h -- the coarse bands of a job: whether they fit side by side.
 */
#ifndef FX8_CORRELATOR_RUN_JOB_BANDS_H
#define FX8_CORRELATOR_RUN_JOB_BANDS_H

#include "correlator/run/job.h"

/**
 * fx8_job_check_bands -- no frequency may be in two bands.
 *
 * Given:  job   observation complete; of the plan the samples, bands and
 *               channels
 * Status: FX8_ERR_USAGE: the channels kept of neighbours overlap, with the
 *         keep_fraction that leaves the most without; FX8_ERR_INPUT: bands of
 *         real samples do, which are kept whole
 * Notes:  method none keeps the recorded bands as they are, whatever their
 *         width: they make one channel each
 */
enum fx8_status fx8_job_check_bands(const struct fx8_job *job,
                                    const struct fx8_settings *settings,
                                    const char *path, struct fx8_error *error);

#endif
