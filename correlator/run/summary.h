/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * summary.h -- the summary printed at the end of a run.
 */
#ifndef FX8_CORRELATOR_RUN_SUMMARY_H
#define FX8_CORRELATOR_RUN_SUMMARY_H

#include <stdio.h>

#include "correlator/run/pipeline.h"

/** Print kernels, time per stage, fractions, flagged inputs, peak memory and
 *  outputs: what was not known before; see forecast.h. */
void fx8_summary_print(const struct fx8_run_request *request,
                       const struct fx8_run_report *reports, FILE *stream);

/** Peak resident memory of the process, MiB; 0 if the system does not report
 *  it. */
double fx8_summary_peak_mib(void);

#endif
