/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job_antennas.h -- the antennas of a job: selection, positions, order.
 */
#ifndef FX8_CORRELATOR_RUN_JOB_ANTENNAS_H
#define FX8_CORRELATOR_RUN_JOB_ANTENNAS_H

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

#endif
