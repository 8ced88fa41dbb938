/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * measure.h -- choice of cases, levels and order.
 */
#ifndef FX8_CORRELATOR_BENCH_MEASURE_H
#define FX8_CORRELATOR_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>

#include "correlator/bench/gate.h"
#include "correlator/bench/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What to measure, from the command line. */
struct fx8_bench_wish {
    const char *kernel;  /**< "auto" or a level */
    const char *section; /**< NULL: all */
    const char *pattern; /**< file-name pattern for case names; NULL: all */
    const struct fx8_bench_gate *gate; /**< only its cases; NULL: all */
    size_t n_threads;                  /**< 0: all CPUs */
    size_t n_rounds;                   /**< 0: the section's default */
};

/** Number of requested cases. */
size_t fx8_bench_count(const struct fx8_bench_wish *wish);

/** Print a line per requested case on stdout: section, case, quantities. */
void fx8_bench_list(const struct fx8_bench_wish *wish);

/**
 * fx8_bench_find -- find a case by its name.
 *
 * Returned: section, index  NULL: no case has the name
 *           nearest  if not found, the name with the longest common prefix;
 *                    else unchanged
 */
const struct fx8_bench_section *fx8_bench_find(
    const char *name, size_t *index, char nearest[FX8_BENCH_NAME_SIZE]);

/** Measure the requested cases and report the figures. */
enum fx8_status fx8_bench_measure(const struct fx8_bench_wish *wish,
                                  struct fx8_bench_report *report,
                                  struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
