/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * functions.c -- the functions of post-processing on one thread: all forms,
 * and the system's vector libraries, compared with the C library (form
 * "ieee"). The C library is not an upper limit: shares may exceed 1.  Also
 * conversions to half precision, compared with a copy.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "correlator/bench/ceilings.h"
#include "correlator/bench/peers.h"

/* Elements per call: three arrays stay within a first-level cache. */
#define N_ELEMENTS 2048

/* Elements of the conversions: larger than the caches, like a dump. */
#define N_HALVES ((size_t)16 << 20)

/* Parts of a measurement, and the least time of each. */
#define N_PARTS 8
#define PART_S  2e-3

/* Arguments are drawn uniformly from a range in which the C library cannot take
 * a shortcut for all of them. */
static const struct {
    const char *function;
    float from, to;
} ranges[] = {
    {"reciprocal", 0.01f, 100.0f}, {"rsqrt", 0.01f, 100.0f},
    {"sin_turns", -4.0f, 4.0f},    {"cos_turns", -4.0f, 4.0f},
    {"exp2", -20.0f, 20.0f},       {"log2", 0.01f, 100.0f},
    {"log10", 0.01f, 100.0f},      {"tanh", -4.0f, 4.0f},
    {"atanh", -0.99f, 0.99f},      {"divide", -100.0f, 100.0f},
    {"atan2", -1.0f, 1.0f},
};

/* One function to time: our form, or a library's. */
struct candidate {
    const char *name;
    const struct fx8_function_form *form; /* NULL: a library's */
    struct fx8_peer_function peer;
    bool is_there; /* on this system */
    float *a, *b, *y;
};

static void call(void *context, size_t n)
{
    const struct candidate *c = context;
    for (size_t k = 0; k < n; k++)
        if (c->form == NULL)
            c->peer.loop(&c->peer, N_ELEMENTS, c->a, c->b, c->y);
        else if (c->form->unary != NULL)
            c->form->unary(N_ELEMENTS, c->a, c->y);
        else
            c->form->binary(N_ELEMENTS, c->a, c->b, c->y);
}

/* Results per second, in every round. */
static void measure_rates(const struct fx8_bench_run *run,
                          struct candidate *candidate, double *rates)
{
    for (size_t r = 0; r < run->n_rounds; r++)
        rates[r] =
            N_ELEMENTS / fx8_bench_time(call, candidate, PART_S, N_PARTS);
}

static void fill(float *values, float from, float to, uint32_t state)
{
    for (size_t k = 0; k < N_ELEMENTS; k++) {
        state = state * 1664525u + 1013904223u; /* the high bits are used */
        values[k] = from + (to - from) * (float)(state >> 8) / 16777216.0f;
    }
}

/* --- one function ------------------------------------------------- */

/* The candidates for a function: our forms, then the libraries; returns how
 * many. */
static size_t list_candidates(const struct fx8_operations *operations,
                              const char *function,
                              struct candidate list[FX8_BENCH_QUANTITIES])
{
    size_t n = 0;
    memset(list, 0, FX8_BENCH_QUANTITIES * sizeof *list);
    for (size_t f = 0; f < operations->n_forms &&
                       n < FX8_BENCH_QUANTITIES - FX8_N_PEER_LIBRARIES;
         f++)
        if (strcmp(operations->forms[f].function, function) == 0) {
            list[n].form = &operations->forms[f];
            list[n].is_there = true;
            list[n++].name = operations->forms[f].form;
        }
    for (enum fx8_peer_library library = 0; library < FX8_N_PEER_LIBRARIES;
         library++) {
        list[n].is_there =
            fx8_peer_find(library, operations->name, function, &list[n].peer);
        list[n++].name = fx8_peer_name(library);
    }
    return n;
}

static enum fx8_status measure_function(const struct fx8_bench_run *run,
                                        const char *function, float *a,
                                        float *b, float *y,
                                        struct fx8_error *error)
{
    struct fx8_bench_figure figure = {.variant = run->operations->name,
                                      .unit = "result/s",
                                      .ruler = "C library"};
    struct candidate list[FX8_BENCH_QUANTITIES];
    double library[FX8_BENCH_ROUNDS] = {0}, rates[FX8_BENCH_ROUNDS];
    const size_t n = list_candidates(run->operations, function, list);
    size_t ieee = n;
    for (size_t k = 0; k < n; k++) {
        list[k].a = a;
        list[k].b = b;
        list[k].y = y;
        if (list[k].form != NULL && strcmp(list[k].name, "ieee") == 0)
            ieee = k;
    }
    if (ieee < n)
        measure_rates(run, &list[ieee], library);
    for (size_t k = 0; k < n; k++) {
        if (!list[k].is_there)
            continue;
        if (k != ieee)
            measure_rates(run, &list[k], rates);
        figure.quantity = list[k].name;
        FX8_TRY(fx8_bench_put(run, figure, k == ieee ? library : rates, library,
                              error));
    }
    return FX8_OK;
}

/* --- halves ------------------------------------------------------ */

static const char *const conversions[] = {"half_to_float", "float_to_half"};

#define N_RANGES      (sizeof ranges / sizeof ranges[0])
#define N_CONVERSIONS (sizeof conversions / sizeof conversions[0])

/* A conversion, in the direction of `is_to_half`. */
struct conversion {
    const struct fx8_half_functions *half;
    bool is_to_half;
    float *values;
    uint16_t *halves;
};

static void convert(void *context, size_t n)
{
    const struct conversion *c = context;
    for (size_t k = 0; k < n; k++)
        if (c->is_to_half)
            c->half->from_float(N_HALVES, 16384.0f, c->values, c->halves);
        else
            c->half->to_float(N_HALVES, c->halves, c->values);
}

static enum fx8_status measure_halves(const struct fx8_bench_run *run,
                                      bool is_to_half, struct fx8_error *error)
{
    const struct fx8_bench_figure figure = {.quantity = "rate",
                                            .variant = run->operations->name,
                                            .unit = "byte/s",
                                            .ruler = "memcpy"};
    FX8_AUTO_FREE float *values = NULL;
    FX8_AUTO_FREE uint16_t *halves = NULL;
    const struct fx8_array arrays[] = {FX8_ITEMS(values, N_HALVES),
                                       FX8_ITEMS(halves, N_HALVES)};
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "halves", error));
    struct conversion c = {&run->operations->half, is_to_half, values, halves};
    double rates[FX8_BENCH_ROUNDS], copies[FX8_BENCH_ROUNDS];
    for (size_t r = 0; r < run->n_rounds; r++) {
        copies[r] = fx8_ceiling_measure(FX8_CEILING_MEMCPY);
        rates[r] = (double)N_HALVES * (sizeof *values + sizeof *halves) /
                   fx8_bench_time(convert, &c, 0.0, N_PARTS);
    }
    return fx8_bench_put(run, figure, rates, copies, error);
}

/* --- the section ------------------------------------------------- */

static void name_case(size_t index, char name[FX8_BENCH_NAME_SIZE])
{
    snprintf(name, FX8_BENCH_NAME_SIZE, "%s",
             index < N_RANGES ? ranges[index].function
                              : conversions[index - N_RANGES]);
}

static void list_quantities(size_t index, const char *quantities[])
{
    const struct fx8_operations *operations;
    struct candidate list[FX8_BENCH_QUANTITIES];
    if (index >= N_RANGES)
        quantities[0] = "rate";
    else if (fx8_operations_select("auto", &operations, NULL) == FX8_OK)
        for (size_t k =
                 list_candidates(operations, ranges[index].function, list);
             k-- > 0;)
            quantities[k] = list[k].name;
}

static enum fx8_status measure_case(const struct fx8_bench_run *run,
                                    struct fx8_error *error)
{
    const size_t index = run->which->index;
    if (index >= N_RANGES)
        return measure_halves(run, index - N_RANGES == 1, error);
    FX8_AUTO_FREE float *a = NULL, *b = NULL, *y = NULL;
    const struct fx8_array arrays[] = {FX8_ITEMS(a, N_ELEMENTS),
                                       FX8_ITEMS(b, N_ELEMENTS),
                                       FX8_ITEMS(y, N_ELEMENTS)};
    FX8_TRY(fx8_allocate_arrays(arrays, 3, "functions", error));
    fill(a, ranges[index].from, ranges[index].to, 1);
    fill(b, ranges[index].from, ranges[index].to, 2);
    return measure_function(run, ranges[index].function, a, b, y, error);
}

const struct fx8_bench_section fx8_bench_functions = {
    .name = "functions",
    .about = "of post-processing, in cache, every form; conversions to half "
             "precision beyond the caches; one thread",
    .n_cases = N_RANGES + N_CONVERSIONS,
    .n_rounds = 1,
    .has_variants = true,
    .list = list_quantities,
    .name_case = name_case,
    .measure = measure_case,
};
