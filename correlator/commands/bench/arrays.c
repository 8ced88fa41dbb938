/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arrays.c -- the stages of a correlation, four arrays, from samples in
 * memory to averaged visibilities.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/shape.h"
#include "correlator/commands/bench/bench.h"
#include "correlator/fx8.h"
#include "kernels/clock.h"
#include "kernels/cpu/ceilings.h"

/* Rounds per case; the median is printed. */
#define N_ROUNDS 5

/* Spectra per round: two dumps, so that folding and averaging are in it. */
#define SPECTRA_PER_DUMP 4096
#define DUMPS_PER_ROUND  2

const struct fx8_bench_case fx8_bench_cases[FX8_N_BENCH_CASES] = {
    {16, 1024, false},
    {64, 512, false},
    {256, 64, true},
    {512, 32, true},
};

/* What one round measures. */
struct figures {
    double ceiling; /* CMAC/s */
    double align;   /* samples/s over all inputs, as the next ones */
    double channelize;
    double correlate; /* CMAC/s */
    double share;     /* of the ceiling */
    double whole;     /* samples/s */
};

/* The ruler that belongs to a precision and the kernels in use. */
static enum fx8_ceiling ruler(enum fx8_precision precision, const char *kernel)
{
    const bool is_wide = strcmp(kernel, "avx512") == 0;
    if (precision == FX8_PRECISION_INT8)
        return is_wide ? FX8_CEILING_DPBUSD_ZMM : FX8_CEILING_MADDWD_YMM;
    return is_wide ? FX8_CEILING_FMA_ZMM : FX8_CEILING_FMA_YMM;
}

/* --- samples ----------------------------------------------------- */

/* Random samples that are pushed again and again under new indices. */
struct recording {
    struct fx8_block block;
    int8_t *samples;
    ptrdiff_t *offset;
};

static enum fx8_status make_recording(const struct fx8_bench_case *bench,
                                      struct recording *recording,
                                      struct fx8_error *error)
{
    /* about 32 MiB: beyond the caches, as a recording is */
    const size_t sample = 2 * bench->n_inputs;
    const size_t n = ((size_t)32 << 20) / sample;
    void *memory;
    enum fx8_status status = fx8_allocate(n, sample, "samples", &memory, error);
    if (status != FX8_OK)
        return status;
    recording->samples = memory;
    fx8_bench_fill(recording->samples, n * sample);
    status = fx8_allocate(bench->n_inputs, sizeof *recording->offset, "samples",
                          &memory, error);
    if (status != FX8_OK)
        return status;
    recording->offset = memory;
    for (size_t i = 0; i < bench->n_inputs; i++)
        recording->offset[i] =
            (ptrdiff_t)(bench->is_time_major ? 2 * i : 2 * n * i);
    recording->block = (struct fx8_block){
        .samples = recording->samples,
        .input_offset = recording->offset,
        .time_stride = bench->is_time_major ? (ptrdiff_t)sample : 2,
        .n_samples = (int64_t)n,
    };
    return FX8_OK;
}

/* --- rounds ------------------------------------------------------ */

static enum fx8_status drop_dump(void *context, const struct fx8_dump *dump,
                                 struct fx8_error *error)
{
    (void)error;
    *(int64_t *)context = dump->index + 1;
    return FX8_OK;
}

static enum fx8_status push(struct fx8_session *session,
                            struct recording *recording,
                            struct fx8_error *error)
{
    enum fx8_status status;
    while ((status = fx8_push(session, &recording->block, error)) ==
           FX8_LEVEL_NEEDED) {
        struct fx8_block ahead = recording->block;
        bool done = false;
        while (!done) {
            status = fx8_level(session, &ahead, &done, error);
            if (status != FX8_OK)
                return status;
            ahead.first_sample += ahead.n_samples;
        }
    }
    recording->block.first_sample += recording->block.n_samples;
    return status;
}

static enum fx8_status measure_round(
    const struct fx8_bench_case *bench, enum fx8_ceiling ceiling,
    struct fx8_session *session, struct recording *recording,
    const int64_t *n_dumps, struct figures *figures, struct fx8_error *error)
{
    struct fx8_statistics before, after;
    const int64_t end = *n_dumps + DUMPS_PER_ROUND;
    double peak = fx8_ceiling_measure(ceiling);
    fx8_get_statistics(session, &before);
    const double start = fx8_clock_seconds();
    while (*n_dumps < end) {
        const enum fx8_status status = push(session, recording, error);
        if (status != FX8_OK)
            return status;
    }
    const double whole_s = fx8_clock_seconds() - start;
    fx8_get_statistics(session, &after);
    const double again = fx8_ceiling_measure(ceiling);
    peak = peak > again ? peak : again;
    const double n = (double)bench->n_inputs;
    /* samples of the dumps that were finished; blocks begun for the next
     * dump, and left from the last one, cancel on average */
    const double samples = (double)(after.n_spectra - before.n_spectra) *
                           (double)bench->n_channels * n;
    const double correlate_s = after.correlate_s - before.correlate_s;
    *figures = (struct figures){
        .ceiling = peak,
        .align = samples / (after.align_s - before.align_s),
        .channelize = samples / (after.channelize_s - before.channelize_s),
        .correlate = samples * (n + 1.0) / 2.0 / correlate_s,
        .whole = samples / (whole_s - (after.level_s - before.level_s)),
    };
    figures->share = figures->correlate / peak;
    return FX8_OK;
}

/* Median of one member over the rounds. */
#define MEDIAN_OF(rounds, member, result)                                      \
    do {                                                                       \
        double values[N_ROUNDS];                                               \
        for (size_t r = 0; r < N_ROUNDS; r++)                                  \
            values[r] = (rounds)[r].member;                                    \
        (result)->member = fx8_bench_median(values, N_ROUNDS);                 \
    } while (0)

static enum fx8_status measure_case(const struct fx8_bench_case *bench,
                                    enum fx8_precision precision,
                                    const char *kernel, struct figures *figures,
                                    struct fx8_error *error)
{
    struct fx8_plan plan = fx8_plan_default();
    plan.n_antennas = bench->n_inputs / 2;
    plan.n_polarizations = 2;
    plan.sample_rate = (struct fx8_rate){1000000, 1};
    plan.dc_frequency_hz = 0.0;
    plan.n_channels = bench->n_channels;
    plan.precision = precision;
    plan.kernel = kernel;
    plan.spectra_per_dump = SPECTRA_PER_DUMP;
    plan.n_threads = 1;
    plan.backend = FX8_BACKEND_CPU;
    int64_t n_dumps = 0;
    struct fx8_session *session = NULL;
    struct recording recording = {.samples = NULL};
    struct figures rounds[N_ROUNDS] = {0};
    enum fx8_status status = make_recording(bench, &recording, error);
    if (status == FX8_OK)
        status = fx8_open(&plan, drop_dump, &n_dumps, &session, error);
    /* the first round warms up: memory is touched, levels are set */
    for (size_t r = 0; r < N_ROUNDS + 1 && status == FX8_OK; r++)
        status = measure_round(
            bench, ruler(precision, fx8_kernel_name(session)), session,
            &recording, &n_dumps, &rounds[r == 0 ? 0 : r - 1], error);
    if (status == FX8_OK) {
        MEDIAN_OF(rounds, ceiling, figures);
        MEDIAN_OF(rounds, align, figures);
        MEDIAN_OF(rounds, channelize, figures);
        MEDIAN_OF(rounds, correlate, figures);
        MEDIAN_OF(rounds, share, figures);
        MEDIAN_OF(rounds, whole, figures);
    }
    fx8_close(&session);
    free(recording.samples);
    free(recording.offset);
    return status;
}

/* --- printing ---------------------------------------------------- */

/* Share of the whole that its stages account for: 1 is the harmonic limit. */
static double of_limit(const struct fx8_bench_case *bench,
                       const struct figures *f)
{
    const double n = (double)bench->n_inputs;
    const double correlate = f->correlate / ((n + 1.0) / 2.0);
    return f->whole * (1.0 / f->align + 1.0 / f->channelize + 1.0 / correlate);
}

static void print_case(const struct fx8_bench_case *bench,
                       const char *precision, const struct figures *f,
                       bool json)
{
    if (json)
        printf("{\"inputs\":%zu,\"channels\":%zu,\"precision\":\"%s\","
               "\"align_samples_s\":%.6g,\"channelize_samples_s\":%.6g,"
               "\"correlate_cmac_s\":%.6g,\"ceiling_cmac_s\":%.6g,"
               "\"share\":%.4f,\"whole_samples_s\":%.6g,"
               "\"of_limit\":%.4f}\n",
               bench->n_inputs, bench->n_channels, precision, f->align,
               f->channelize, f->correlate, f->ceiling, f->share, f->whole,
               of_limit(bench, f));
    else
        printf("%4zu x %-5zu %-5s %9.0f %10.0f %10.1f %9.1f %7.3f %10.0f "
               "%8.3f\n",
               bench->n_inputs, bench->n_channels, precision, f->align * 1e-6,
               f->channelize * 1e-6, f->correlate * 1e-9, f->ceiling * 1e-9,
               f->share, f->whole * 1e-6, of_limit(bench, f));
    fflush(stdout);
}

enum fx8_status fx8_bench_arrays(const char *kernel, bool json,
                                 struct fx8_error *error)
{
    static const struct {
        enum fx8_precision precision;
        const char *name;
    } precisions[] = {{FX8_PRECISION_INT8, "int8"},
                      {FX8_PRECISION_FP32, "fp32"}};
    if (!json)
        printf("inputs x channels  align   channelise  correlate   ceiling  "
               "share   whole     of stage\n"
               "                  Msamples/s Msamples/s   GCMAC/s   GCMAC/s"
               "          Msamples/s   limit\n");
    for (size_t c = 0; c < FX8_N_BENCH_CASES; c++)
        for (size_t p = 0; p < sizeof precisions / sizeof precisions[0]; p++) {
            struct figures figures = {0};
            const enum fx8_status status =
                measure_case(&fx8_bench_cases[c], precisions[p].precision,
                             kernel, &figures, error);
            if (status != FX8_OK)
                return status;
            print_case(&fx8_bench_cases[c], precisions[p].name, &figures, json);
        }
    return FX8_OK;
}
