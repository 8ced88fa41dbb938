/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * growth.c -- how the time of a whole correlation grows with antennas, channels
 * and the length of the recording: times, and the exponent of the power law
 * fitted to them, so that it is known what twice as many cost.
 *
 * The time is that from opening a session to closing it, on samples in memory
 * and one thread, with a single dump: plans, levels and post-processing count.
 * A power law is a summary: with antennas the exponent grows from 1, where the
 * filter bank takes the time, towards 2, where the correlator does.
 */
#include <math.h>
#include <stdio.h>

#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "correlator/bench/memory.h"

#define N_POINTS 5

/* Samples of a second of an input. */
#define RATE 1000000

enum size { ANTENNAS, CHANNELS, SECONDS, N_SIZES };

/* Points of a curve. */
struct series {
    size_t values[N_POINTS];
    const char *quantities[N_POINTS];
};

static const struct series antennas = {{8, 16, 32, 64, 128},
                                       {"8", "16", "32", "64", "128"}};
static const struct series channels = {{64, 256, 1024, 4096, 16384},
                                       {"64", "256", "1024", "4096", "16384"}};
static const struct series lengths = {{4, 8, 16, 32, 64},
                                      {"4", "8", "16", "32", "64"}};

/* What grows; the other two sizes are fixed. */
static const struct curve {
    const char *name;
    enum size size;
    enum fx8_precision precision;
    size_t fixed[N_SIZES]; /* antennas of two polarisations */
    const struct series *series;
} curves[] = {
    {"growth with antennas int8",
     ANTENNAS,
     FX8_PRECISION_INT8,
     {0, 64, 2},
     &antennas},
    {"growth with antennas fp32",
     ANTENNAS,
     FX8_PRECISION_FP32,
     {0, 64, 2},
     &antennas},
    {"growth with channels int8",
     CHANNELS,
     FX8_PRECISION_INT8,
     {8, 0, 4},
     &channels},
    {"growth with seconds int8",
     SECONDS,
     FX8_PRECISION_INT8,
     {8, 1024, 0},
     &lengths},
};

#define N_CURVES (sizeof curves / sizeof curves[0])

struct fx8_bench_power fx8_bench_fit(const double *sizes, const double *seconds,
                                     size_t n)
{
    double x_mean = 0.0, y_mean = 0.0, xx = 0.0, xy = 0.0, left = 0.0;
    for (size_t k = 0; k < n; k++) {
        x_mean += log(sizes[k]) / (double)n;
        y_mean += log(seconds[k]) / (double)n;
    }
    for (size_t k = 0; k < n; k++) {
        const double x = log(sizes[k]) - x_mean;
        xx += x * x;
        xy += x * (log(seconds[k]) - y_mean);
    }
    const double exponent = xy / xx;
    for (size_t k = 0; k < n; k++) {
        const double off =
            log(seconds[k]) - y_mean - exponent * (log(sizes[k]) - x_mean);
        left += off * off;
    }
    return (struct fx8_bench_power){exponent,
                                    sqrt(left / (double)(n - 2) / xx)};
}

/* A point of a curve, and its times. */
struct point {
    struct fx8_plan plan;
    struct fx8_bench_samples samples;
    int64_t n_samples;
    double seconds[FX8_BENCH_ROUNDS];
};

struct points {
    struct point at[N_POINTS];
};

static void clear_points(struct points *points)
{
    for (size_t k = 0; k < N_POINTS; k++)
        fx8_bench_samples_clear(&points->at[k].samples);
}

static enum fx8_status make_point(const struct fx8_bench_run *run, size_t value,
                                  struct point *point, struct fx8_error *error)
{
    const struct curve *curve = &curves[run->which->index];
    size_t sizes[N_SIZES];
    for (size_t k = 0; k < N_SIZES; k++)
        sizes[k] = k == curve->size ? value : curve->fixed[k];
    struct fx8_plan plan =
        fx8_bench_plan(run, sizes[ANTENNAS], 2, sizes[CHANNELS]);
    point->n_samples = (int64_t)sizes[SECONDS] * RATE;
    plan.precision = curve->precision;
    plan.spectra_per_dump = point->n_samples / (int64_t)sizes[CHANNELS] -
                            (int64_t)plan.channelizer.n_taps + 1;
    point->plan = plan;
    return fx8_bench_samples_make(&plan, false, &point->samples, error);
}

static enum fx8_status put_power(const struct fx8_bench_run *run,
                                 const struct points *points,
                                 struct fx8_error *error)
{
    const struct curve *curve = &curves[run->which->index];
    double exponents[FX8_BENCH_ROUNDS], errors[FX8_BENCH_ROUNDS];
    double twice[FX8_BENCH_ROUNDS], sizes[N_POINTS], seconds[N_POINTS];
    for (size_t r = 0; r < run->n_rounds; r++) {
        for (size_t k = 0; k < N_POINTS; k++) {
            sizes[k] = (double)curve->series->values[k];
            seconds[k] = points->at[k].seconds[r];
        }
        const struct fx8_bench_power power =
            fx8_bench_fit(sizes, seconds, N_POINTS);
        exponents[r] = power.exponent;
        errors[r] = power.standard_error;
        twice[r] = exp2(power.exponent);
    }
    const struct {
        const char *quantity, *unit;
        const double *values;
    } figures[] = {{"exponent", "power", exponents},
                   {"standard error", "power", errors},
                   {"twice as many", "times", twice}};
    for (size_t k = 0; k < sizeof figures / sizeof figures[0]; k++) {
        const struct fx8_bench_figure figure = {
            .quantity = figures[k].quantity,
            .variant = run->operations->name,
            .unit = figures[k].unit,
        };
        FX8_TRY(fx8_bench_put(run, figure, figures[k].values, NULL, error));
    }
    return FX8_OK;
}

/* --- the section ------------------------------------------------- */

static void name_case(size_t index, char name[FX8_BENCH_NAME_SIZE])
{
    snprintf(name, FX8_BENCH_NAME_SIZE, "%s", curves[index].name);
}

static enum fx8_status measure_case(const struct fx8_bench_run *run,
                                    struct fx8_error *error)
{
    const struct curve *curve = &curves[run->which->index];
    FX8_AUTO(clear_points) struct points points = {0};
    for (size_t k = 0; k < N_POINTS; k++)
        FX8_TRY(
            make_point(run, curve->series->values[k], &points.at[k], error));
    for (size_t k = 0; k < run->n_rounds * N_POINTS; k++) {
        struct point *point = &points.at[k % N_POINTS];
        FX8_TRY(fx8_bench_correlation_time(
            &point->plan, &point->samples, point->n_samples,
            &point->seconds[k / N_POINTS], error));
    }
    for (size_t k = 0; k < N_POINTS; k++) {
        const struct fx8_bench_figure figure = {
            .quantity = curve->series->quantities[k],
            .variant = run->operations->name,
            .unit = "s",
        };
        FX8_TRY(fx8_bench_put(run, figure, points.at[k].seconds, NULL, error));
    }
    return put_power(run, &points, error);
}

const struct fx8_bench_section fx8_bench_growth = {
    .name = "growth",
    .about = "time of a whole correlation from memory, to a single dump, and "
             "the power law fitted to it; one thread",
    .n_cases = N_CURVES,
    .n_rounds = 3,
    .has_variants = true,
    .is_on_request = true,
    .name_case = name_case,
    .measure = measure_case,
};
