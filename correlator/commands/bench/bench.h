/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.h -- the sections of `fx8 bench`; each measures and prints, to stdout,
 * a table or, with json, one object per line.
 */
#ifndef FX8_CORRELATOR_COMMANDS_BENCH_BENCH_H
#define FX8_CORRELATOR_COMMANDS_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An array: complex samples of two polarisations. */
struct fx8_bench_case {
    size_t n_inputs, n_channels;
    bool is_time_major; /**< recorded as [time][input], else [input][time] */
};

#define FX8_N_BENCH_CASES 4

/** From small and wide to large and narrow. */
extern const struct fx8_bench_case fx8_bench_cases[FX8_N_BENCH_CASES];

/** Stages and the whole of four arrays, one thread; kernel: a level of the
 *  operations, or "auto". */
enum fx8_status fx8_bench_arrays(const char *kernel, bool json,
                                 struct fx8_error *error);

/** Functions of post-processing and conversions to half precision, one
 *  thread. */
enum fx8_status fx8_bench_functions(const char *kernel, bool json,
                                    struct fx8_error *error);

/** Whole jobs, from samples as a reader delivers them to files in TMPDIR: what
 *  post-processing and writing take of them. */
enum fx8_status fx8_bench_jobs(const char *kernel, bool json,
                               struct fx8_error *error);

/** Recordings in every storage, written to TMPDIR and removed, against read()
 *  of the same file; the turn of time-major samples against a copy. */
enum fx8_status fx8_bench_reading(const char *kernel, bool json,
                                  struct fx8_error *error);

/** Random samples, -30 .. 30. */
void fx8_bench_fill(int8_t *samples, size_t size);

/** Median of values, which are sorted; n at least 1. */
double fx8_bench_median(double *values, size_t n);

#ifdef __cplusplus
}
#endif

#endif
