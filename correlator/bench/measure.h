/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * measure.h -- which cases are measured, at which levels, in which order.
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

/** What the command line asks for. */
struct fx8_bench_wish {
    const char *kernel;  /**< "auto" or a level */
    const char *section; /**< NULL: all */
    const char *pattern; /**< of the cases' names, as of files; NULL: all */
    const struct fx8_bench_gate *gate; /**< its cases alone; NULL: all */
    size_t n_threads;                  /**< 0: all CPUs */
    size_t n_rounds;                   /**< 0: as many as suit the section */
};

/** Cases that a wish asks for. */
size_t fx8_bench_count(const struct fx8_bench_wish *wish);

/** A line on stdout for every case asked for: section, case, quantities. */
void fx8_bench_list(const struct fx8_bench_wish *wish);

/**
 * fx8_bench_find -- a case by its name.
 *
 * Returned: section, index  of it; NULL: none has the name
 *           nearest  then the name that agrees longest, else untouched
 */
const struct fx8_bench_section *fx8_bench_find(
    const char *name, size_t *index, char nearest[FX8_BENCH_NAME_SIZE]);

/** Measure what is asked for; figures into the report. */
enum fx8_status fx8_bench_measure(const struct fx8_bench_wish *wish,
                                  struct fx8_bench_report *report,
                                  struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
