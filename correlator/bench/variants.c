/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * variants.c -- every operation alone, at every level, compared with the limit
 * of that level's instructions or of a copy.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/clock.h"
#include "config/base/shape.h"
#include "correlator/bench/bench.h"
#include "correlator/bench/trial.h"
#include "correlator/bench/ceilings.h"
#include "kernels/functions.h"

/* Least time of the steps of a round. */
#define ROUND_S 10e-3

static const struct {
    const char *name;
    const struct fx8_bench_kind *kind;
    size_t size, variety;
} trials[] = {
    {"align 16 complex", &fx8_bench_align, 16, 2},
    {"align 64 complex", &fx8_bench_align, 64, 2},
    {"align 512 complex", &fx8_bench_align, 512, 2},
    {"align 512 real", &fx8_bench_align, 512, 1},
    {"filter 32 fp32", &fx8_bench_filter, 32, 0},
    {"filter 1024 fp32", &fx8_bench_filter, 1024, 0},
    {"filter 32 int16", &fx8_bench_filter_int16, 32, 0},
    {"filter 1024 int16", &fx8_bench_filter_int16, 1024, 0},
    {"quantise 32", &fx8_bench_quantise, 32, 0},
    {"quantise 1024", &fx8_bench_quantise, 1024, 0},
    {"turn 32", &fx8_bench_turn, 32, 0},
    {"turn 1024", &fx8_bench_turn, 1024, 0},
    {"correlate 16 int8", &fx8_bench_int8, 16, 0},
    {"correlate 64 int8", &fx8_bench_int8, 64, 0},
    {"correlate 256 int8", &fx8_bench_int8, 256, 0},
    {"correlate 16 fp32", &fx8_bench_fp32, 16, 0},
    {"correlate 64 fp32", &fx8_bench_fp32, 64, 0},
    {"correlate 256 fp32", &fx8_bench_fp32, 256, 0},
    {"correlate 16 interval", &fx8_bench_interval, 16, 0},
    {"correlate 64 interval", &fx8_bench_interval, 64, 0},
    {"quick-look 64 ieee", &fx8_bench_look, 64, FX8_FUNCTIONS_IEEE},
    {"quick-look 64 fast", &fx8_bench_look, 64, FX8_FUNCTIONS_FAST},
};

/* --- memory ------------------------------------------------------ */

enum fx8_status fx8_bench_trial_allocate(struct fx8_bench_trial *trial,
                                         size_t from, size_t to, size_t extra,
                                         struct fx8_error *error)
{
    trial->from_size = from;
    trial->to_size = to;
    const struct fx8_array arrays[] = {{&trial->from, from, 1},
                                       {&trial->to, to, 1},
                                       {&trial->extra, extra, 1}};
    return fx8_allocate_arrays(arrays, 3, "a trial", error);
}

void fx8_bench_fill_floats(float *values, size_t n)
{
    for (size_t k = 0; k < n; k++)
        values[k] = (float)(k * 37 % 101) - 50.0f;
}

/* --- rounds ------------------------------------------------------ */

/* Copy as many bytes as a step reads and writes, between the same areas. */
static void copy_step(struct fx8_bench_trial *trial, size_t k)
{
    const size_t size = (size_t)(trial->bytes / 2.0);
    const size_t n_from = trial->from_size / size;
    const size_t n_to = trial->to_size / size;
    const size_t n_copies = trial->n_copies > 0 ? trial->n_copies : 1;
    for (size_t copy = 0; copy < n_copies; copy++)
        memcpy((char *)trial->to + k % n_to * size,
               (const char *)trial->from + k % n_from * size, size);
}

/* Steps per second. */
static double time_steps(struct fx8_bench_trial *trial,
                         void (*step)(struct fx8_bench_trial *trial, size_t k))
{
    const double start = fx8_clock_seconds();
    double seconds = 0.0;
    size_t k = 0;
    while (seconds < ROUND_S) {
        step(trial, k++);
        seconds = fx8_clock_seconds() - start;
    }
    return (double)k / seconds;
}

/* Rate of the ruler of a trial, in the trial's unit, and its name. */
static double measure_ruler(const struct fx8_bench_kind *kind,
                            struct fx8_bench_trial *trial, const char **name)
{
    static const enum fx8_ceiling_work works[] = {
        [FX8_BENCH_INT8] = FX8_CEILING_INT8,
        [FX8_BENCH_INT16] = FX8_CEILING_INT16,
        [FX8_BENCH_FLOAT] = FX8_CEILING_FLOAT,
        [FX8_BENCH_TWO_FLOATS] = FX8_CEILING_FLOAT,
    };
    *name = "memcpy of as much";
    if (kind->ruler == FX8_BENCH_COPY)
        return trial->work * time_steps(trial, copy_step);
    const enum fx8_ceiling ceiling =
        fx8_ceiling_of(trial->operations->name, works[kind->ruler]);
    *name = fx8_ceiling_describe(ceiling)->name;
    return fx8_ceiling_measure(ceiling) /
           (kind->ruler == FX8_BENCH_TWO_FLOATS ? 2.0 : 1.0);
}

/* --- the section ------------------------------------------------- */

static void name_case(size_t index, char name[FX8_BENCH_NAME_SIZE])
{
    snprintf(name, FX8_BENCH_NAME_SIZE, "%s", trials[index].name);
}

static enum fx8_status measure_case(const struct fx8_bench_run *run,
                                    struct fx8_error *error)
{
    const size_t index = run->which->index;
    const struct fx8_bench_kind *kind = trials[index].kind;
    struct fx8_bench_trial trial = {.kind = kind,
                                    .operations = run->operations,
                                    .size = trials[index].size,
                                    .variety = trials[index].variety};
    struct fx8_bench_figure figure = {.quantity = "rate",
                                      .variant = run->operations->name,
                                      .unit = kind->unit};
    double values[FX8_BENCH_ROUNDS], ceilings[FX8_BENCH_ROUNDS];
    enum fx8_status status = kind->open(&trial, error);
    if (status == FX8_OK)
        kind->step(&trial, 0); /* touches the memory */
    for (size_t r = 0; r < run->n_rounds && status == FX8_OK; r++) {
        ceilings[r] = measure_ruler(kind, &trial, &figure.ruler);
        values[r] = trial.work * time_steps(&trial, kind->step);
    }
    if (status == FX8_OK && ceilings[0] <= 0.0)
        figure.ruler = NULL; /* the ruler is for another CPU */
    if (status == FX8_OK)
        status = fx8_bench_put(run, figure, values, ceilings, error);
    if (kind->close != NULL)
        kind->close(&trial);
    free(trial.from);
    free(trial.to);
    free(trial.extra);
    return status;
}

const struct fx8_bench_section fx8_bench_variants = {
    .name = "variants",
    .about = "operations by themselves, inputs or channels; every level "
             "unless one is named; one thread",
    .n_cases = sizeof trials / sizeof trials[0],
    .n_rounds = 5,
    .is_every_level = true,
    .has_levels = true,
    .quantities = {"rate"},
    .name_case = name_case,
    .measure = measure_case,
};
