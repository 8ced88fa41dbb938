/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shapes.c -- arrays of odd shapes: each against the line between two shapes of
 * powers of two, so that a hole in the middle shows.
 *
 * The time per sample of a perfect machine is a straight line: over the number
 * N of inputs, for the filter bank takes the same time for every sample and the
 * correlator (N + 1) / 2 products; over the logarithm of the number of
 * channels, for the filter takes the same time and the FFT log2(N) steps.  So a
 * shape's time between two others is interpolated on these axes, and the
 * quotient of both times is its share.  All three shapes take turns.  The ends
 * of a line are the sizes that kernels are made for; a size between two of them
 * must not be much slower.
 */
#include <math.h>
#include <stdio.h>

#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "correlator/bench/memory.h"

/* Samples and least spectra of a pass. */
#define PASS_SAMPLES  ((size_t)1 << 24)
#define LEAST_SPECTRA ((size_t)1024)

/* The size that varies; the other is fixed. */
static const struct axis {
    const char *name;
    size_t fixed;
    bool is_log; /* the line is straight in the logarithm of the size */
} axes[] = {{"inputs", 64, false}, {"channels", 16, true}};

enum { INPUTS, CHANNELS };

static const struct shape {
    size_t axis, low, size, high;
    enum fx8_precision precision;
} shapes[] = {
    {INPUTS, 1, 2, 4, FX8_PRECISION_INT8},
    {INPUTS, 1, 3, 4, FX8_PRECISION_INT8},
    {INPUTS, 16, 17, 64, FX8_PRECISION_INT8},
    {INPUTS, 16, 30, 64, FX8_PRECISION_INT8},
    {INPUTS, 64, 100, 256, FX8_PRECISION_INT8},
    {INPUTS, 256, 300, 512, FX8_PRECISION_INT8},
    {INPUTS, 1, 3, 4, FX8_PRECISION_FP32},
    {INPUTS, 16, 17, 64, FX8_PRECISION_FP32},
    {INPUTS, 16, 30, 64, FX8_PRECISION_FP32},
    {INPUTS, 64, 100, 256, FX8_PRECISION_FP32},
    {INPUTS, 256, 300, 512, FX8_PRECISION_FP32},
    {CHANNELS, 32, 60, 64, FX8_PRECISION_INT8},
    {CHANNELS, 64, 96, 256, FX8_PRECISION_INT8},
    {CHANNELS, 64, 100, 256, FX8_PRECISION_INT8},
    {CHANNELS, 64, 243, 256, FX8_PRECISION_INT8},
    {CHANNELS, 256, 1000, 1024, FX8_PRECISION_INT8},
    {CHANNELS, 1024, 1536, 4096, FX8_PRECISION_INT8},
    {CHANNELS, 4096, 5120, 8192, FX8_PRECISION_INT8},
};

#define N_SHAPES (sizeof shapes / sizeof shapes[0])

/* The two ends of a line, and the shape between them. */
enum { LOW, HIGH, MIDDLE, N_PLACES };

/* What is compared. */
enum { CHANNELIZE, CORRELATE, WHOLE, N_QUANTITIES };

double fx8_bench_between(const double sizes[2], const double times[2],
                         double size, bool is_log)
{
    const double part = is_log ? log(size / sizes[0]) / log(sizes[1] / sizes[0])
                               : (size - sizes[0]) / (sizes[1] - sizes[0]);
    return times[0] + part * (times[1] - times[0]);
}

struct line {
    struct fx8_bench_samples samples[N_PLACES];
    struct fx8_bench_correlation correlations[N_PLACES];
    double sizes[N_PLACES];
    /* samples per second: of the shape, and of the line at its place */
    double rates[N_QUANTITIES][FX8_BENCH_ROUNDS];
    double lines[N_QUANTITIES][FX8_BENCH_ROUNDS];
};

static void close_line(struct line *line)
{
    for (size_t k = 0; k < N_PLACES; k++) {
        fx8_bench_correlation_close(&line->correlations[k]);
        fx8_bench_samples_clear(&line->samples[k]);
    }
}

static enum fx8_status open_place(const struct fx8_bench_run *run, size_t size,
                                  struct fx8_bench_samples *samples,
                                  struct fx8_bench_correlation *correlation,
                                  struct fx8_error *error)
{
    const struct shape *shape = &shapes[run->which->index];
    const size_t fixed = axes[shape->axis].fixed;
    const size_t n_inputs = shape->axis == INPUTS ? size : fixed;
    const size_t n_channels = shape->axis == INPUTS ? fixed : size;
    const size_t spectra = PASS_SAMPLES / (n_inputs * n_channels);
    struct fx8_plan plan = fx8_bench_plan(run, n_inputs, 1, n_channels);
    plan.precision = shape->precision;
    plan.spectra_per_dump =
        (int64_t)(spectra > LEAST_SPECTRA ? spectra : LEAST_SPECTRA);
    FX8_TRY(fx8_bench_samples_make(&plan, false, samples, error));
    return fx8_bench_correlation_open(&plan, samples, correlation, error);
}

static enum fx8_status measure_round(const struct axis *axis, struct line *line,
                                     size_t round, struct fx8_error *error)
{
    double times[N_QUANTITIES][N_PLACES]; /* per sample */
    for (size_t k = 0; k < N_PLACES; k++) {
        struct fx8_bench_rates rates;
        FX8_TRY(fx8_bench_correlation_pass(&line->correlations[k], 1, &rates,
                                           error));
        times[CHANNELIZE][k] = 1.0 / rates.stage[FX8_BENCH_CHANNELIZE];
        times[CORRELATE][k] = 1.0 / rates.stage[FX8_BENCH_CORRELATE];
        times[WHOLE][k] = 1.0 / rates.whole;
    }
    for (size_t q = 0; q < N_QUANTITIES; q++) {
        line->rates[q][round] = 1.0 / times[q][MIDDLE];
        line->lines[q][round] =
            1.0 / fx8_bench_between(line->sizes, times[q], line->sizes[MIDDLE],
                                    axis->is_log);
    }
    return FX8_OK;
}

/* --- the section ------------------------------------------------- */

static void name_case(size_t index, char name[FX8_BENCH_NAME_SIZE])
{
    const struct shape *shape = &shapes[index];
    snprintf(name, FX8_BENCH_NAME_SIZE, "%zu %s, %zu to %zu%s", shape->size,
             axes[shape->axis].name, shape->low, shape->high,
             shape->precision == FX8_PRECISION_FP32 ? " fp32" : "");
}

static enum fx8_status measure_case(const struct fx8_bench_run *run,
                                    struct fx8_error *error)
{
    const struct shape *shape = &shapes[run->which->index];
    const size_t sizes[N_PLACES] = {
        [LOW] = shape->low, [HIGH] = shape->high, [MIDDLE] = shape->size};
    FX8_AUTO(close_line) struct line line = {0};
    for (size_t k = 0; k < N_PLACES; k++) {
        line.sizes[k] = (double)sizes[k];
        FX8_TRY(open_place(run, sizes[k], &line.samples[k],
                           &line.correlations[k], error));
    }
    for (size_t r = 0; r < run->n_rounds; r++)
        FX8_TRY(measure_round(&axes[shape->axis], &line, r, error));
    for (size_t q = 0; q < N_QUANTITIES; q++) {
        const struct fx8_bench_figure figure = {
            .quantity = fx8_bench_shapes.quantities[q],
            .variant = run->operations->name,
            .unit = "sample/s",
            .ruler = "the line between",
        };
        FX8_TRY(
            fx8_bench_put(run, figure, line.rates[q], line.lines[q], error));
    }
    return FX8_OK;
}

const struct fx8_bench_section fx8_bench_shapes = {
    .name = "shapes",
    .about = "arrays of odd shapes, against the line between two powers of "
             "two; other size 64 channels or 16 inputs; one thread",
    .n_cases = N_SHAPES,
    .n_rounds = 5,
    .has_variants = true,
    .is_on_request = true,
    .quantities = {[CHANNELIZE] = "channelize",
                   [CORRELATE] = "correlate",
                   [WHOLE] = "whole"},
    .name_case = name_case,
    .measure = measure_case,
};
