/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job_bands.h -- checks that the coarse bands of a job do not overlap.
 */
#ifndef FX8_CORRELATOR_RUN_JOB_BANDS_H
#define FX8_CORRELATOR_RUN_JOB_BANDS_H

#include "correlator/run/job.h"

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

#endif
