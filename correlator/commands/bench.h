/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.h -- the sections of `fx8 bench`; each measures and prints, to stdout,
 * a table or, with json, one object per line.
 */
#ifndef FX8_CORRELATOR_COMMANDS_BENCH_H
#define FX8_CORRELATOR_COMMANDS_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "config/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Stages and the whole of four arrays, one thread; kernel: a level of the
 *  operations, or "auto". */
enum fx8_status fx8_bench_arrays(const char *kernel, bool json,
                                 struct fx8_error *error);

/** Median of values, which are sorted; n at least 1. */
double fx8_bench_median(double *values, size_t n);

#ifdef __cplusplus
}
#endif

#endif
