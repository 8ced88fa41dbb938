/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * forecast.h -- what a run will do, printed before it begins.
 */
#ifndef FX8_CORRELATOR_RUN_FORECAST_H
#define FX8_CORRELATOR_RUN_FORECAST_H

#include <stddef.h>
#include <stdio.h>

#include "correlator/run/pipeline.h"

/** A size in the unit that suits it, "1.23 GB". */
void fx8_forecast_format_bytes(double bytes, char text[32]);

/** Print input, plan and channels; `brief` names the input. */
void fx8_forecast_print_plan(const struct fx8_job *job, const char *brief,
                             FILE *stream);

/** Print input, plan, channels, what is left out, delays, the sizes of the
 *  result and of the memory (bytes), the number of slices in which each dump is
 *  written, and what an earlier run has left, as request->ready() gets them. */
void fx8_forecast_print(const struct fx8_run_request *request, size_t memory,
                        size_t n_slices, int64_t n_earlier, FILE *stream);

/** Print the time that the whole run will take, as a trial of it found. */
void fx8_forecast_print_time(const struct fx8_run_request *request,
                             const struct fx8_run_report *reports,
                             FILE *stream);

#endif
