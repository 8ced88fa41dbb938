/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * live.h -- a comparison of the results of a run, INT8 against FP32, from the
 * dumps themselves while they are written: the files need not be read again.
 */
#ifndef FX8_CORRELATOR_COMPARE_LIVE_H
#define FX8_CORRELATOR_COMPARE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "correlator/compare/compare.h"
#include "correlator/run/job.h"
#include "correlator/run/pipeline.h"

struct fx8_compare_live;

/**
 * fx8_compare_live_open -- prepare the comparison for a phase centre.
 *
 * Given:     center     of the run; its job must live as long
 *            subject    path of the INT8 result, which must live as long
 *            reference  path of the FP32 result
 * Status:    as fx8_describe(); FX8_ERR_SYSTEM: memory
 * Ownership: fx8_compare_live_close() releases it
 */
enum fx8_status fx8_compare_live_open(const struct fx8_job_center *center,
                                      const char *subject,
                                      const char *reference,
                                      struct fx8_compare_live **live,
                                      struct fx8_error *error);

/** The consumer of the run's output. */
struct fx8_run_consumer fx8_compare_live_consumer(
    struct fx8_compare_live *live);

/**
 * fx8_compare_live_finish -- the comparison, after the run.
 *
 * Given:    n_dumps  of the results
 * Returned: equal to that of fx8_compare_files(), bit for bit, and released
 * with `live`.  NULL: it cannot be, and the files must be compared: not all
 *           dumps came from this run, an input was levelled after the first
 *           dump, a value is not finite, or memory was short
 */
const struct fx8_comparison *fx8_compare_live_finish(
    struct fx8_compare_live *live, int64_t n_dumps);

/** Release and null the handle; a NULL handle is legal. */
void fx8_compare_live_close(struct fx8_compare_live **live);

#endif
