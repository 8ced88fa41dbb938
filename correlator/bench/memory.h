/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.h -- correlations of random samples in memory on one thread, pass by
 * pass: what sections arrays, banks, shapes and growth measure.
 */
#ifndef FX8_CORRELATOR_BENCH_MEMORY_H
#define FX8_CORRELATOR_BENCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/bench/bench.h"
#include "correlator/fx8.h"

/** Stages of the signal path, in the order of fx8_statistics. */
enum fx8_bench_stage {
    FX8_BENCH_ALIGN,
    FX8_BENCH_CHANNELIZE,
    FX8_BENCH_CORRELATE,
    FX8_BENCH_POSTPROCESS,
    FX8_N_BENCH_STAGES
};

/** A plan on one thread of the CPU, 8 taps, at 1 MHz, with the variant of
 *  `run`; the caller fills in all that is not in the arguments. */
struct fx8_plan fx8_bench_plan(const struct fx8_bench_run *run,
                               size_t n_antennas, size_t n_polarizations,
                               size_t n_channels);

/** Samples that a spectrum of all inputs takes, real or complex. */
double fx8_bench_spectrum_samples(const struct fx8_plan *plan);

/** Random samples, to be pushed repeatedly under new indices: about 32 MiB,
 *  larger than the caches, like a recording. */
struct fx8_bench_samples {
    int8_t *memory;
    ptrdiff_t *offset;
    struct fx8_block block;
};

/** Make samples for a plan, recorded as [time][input], else [input][time].
 *  fx8_bench_samples_clear() also after a failure. */
enum fx8_status fx8_bench_samples_make(const struct fx8_plan *plan,
                                       bool is_time_major,
                                       struct fx8_bench_samples *samples,
                                       struct fx8_error *error);

void fx8_bench_samples_clear(struct fx8_bench_samples *samples);

/** A correlation of such samples, which must outlast it. */
struct fx8_bench_correlation {
    struct fx8_session *session;
    struct fx8_block block; /**< the next */
    int64_t n_dumps;        /**< delivered */
    double spectrum_samples;
};

/** Rates of a pass; samples per second over all inputs. */
struct fx8_bench_rates {
    double stage[FX8_N_BENCH_STAGES];
    double whole; /**< without level setting */
};

/** Open a correlation.  Its first pass, not counted, touches the memory and
 *  sets the gains. */
enum fx8_status fx8_bench_correlation_open(
    const struct fx8_plan *plan, const struct fx8_bench_samples *samples,
    struct fx8_bench_correlation *one, struct fx8_error *error);

/** Push samples until `n_dumps` more are delivered. */
enum fx8_status fx8_bench_correlation_pass(struct fx8_bench_correlation *one,
                                           int64_t n_dumps,
                                           struct fx8_bench_rates *rates,
                                           struct fx8_error *error);

void fx8_bench_correlation_close(struct fx8_bench_correlation *one);

/** Seconds from opening a session to closing it, with `n_samples` of each input
 *  pushed in between. */
enum fx8_status fx8_bench_correlation_time(
    const struct fx8_plan *plan, const struct fx8_bench_samples *samples,
    int64_t n_samples, double *seconds, struct fx8_error *error);

#endif
