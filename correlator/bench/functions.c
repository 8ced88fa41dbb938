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

#include "config/base/clock.h"
#include "config/base/shape.h"
#include "correlator/bench/bench.h"
#include "correlator/bench/ceilings.h"
#include "correlator/bench/peers.h"
#include "kernels/operations.h"

/* Elements per call: three arrays stay within a first-level cache. */
#define N_ELEMENTS 2048

/* Elements of the conversions: larger than the caches, like a dump. */
#define N_HALVES ((size_t)16 << 20)

/* A figure is the best of so many parts: other load only makes parts slower. */
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

struct arrays {
    float *a, *b, *y;
};

/* One function to time: our form, or a peer's. */
struct candidate {
    const struct fx8_function_form *form; /* or NULL */
    struct fx8_peer_function peer;
};

static void call(const struct candidate *candidate, const struct arrays *arrays)
{
    const struct fx8_function_form *form = candidate->form;
    if (form == NULL)
        fx8_peer_run(&candidate->peer, N_ELEMENTS, arrays->a, arrays->b,
                     arrays->y);
    else if (form->unary != NULL)
        form->unary(N_ELEMENTS, arrays->a, arrays->y);
    else
        form->binary(N_ELEMENTS, arrays->a, arrays->b, arrays->y);
}

static double time_calls(const struct candidate *candidate,
                         const struct arrays *arrays, size_t n_calls)
{
    const double start = fx8_clock_seconds();
    for (size_t k = 0; k < n_calls; k++)
        call(candidate, arrays);
    return fx8_clock_seconds() - start;
}

/* Results per second. */
static double measure_rate(const struct candidate *candidate,
                           const struct arrays *arrays)
{
    size_t n_calls = 1;
    while (time_calls(candidate, arrays, n_calls) < PART_S)
        n_calls *= 2;
    double best_s = time_calls(candidate, arrays, n_calls);
    for (size_t part = 1; part < N_PARTS; part++) {
        const double seconds = time_calls(candidate, arrays, n_calls);
        best_s = seconds < best_s ? seconds : best_s;
    }
    return (double)(n_calls * N_ELEMENTS) / best_s;
}

static void fill(float *values, float from, float to, uint32_t state)
{
    for (size_t k = 0; k < N_ELEMENTS; k++) {
        state = state * 1664525u + 1013904223u; /* the high bits are used */
        values[k] = from + (to - from) * (float)(state >> 8) / 16777216.0f;
    }
}

/* --- one function ------------------------------------------------- */

/* Our form `index` at a level, in the order of its list; NULL: no more. */
static const struct fx8_function_form *find_form(
    const struct fx8_operations *operations, const char *function, size_t index)
{
    for (size_t f = 0; f < operations->n_forms; f++)
        if (strcmp(operations->forms[f].function, function) == 0 &&
            index-- == 0)
            return &operations->forms[f];
    return NULL;
}

/* The candidate `index` and its *name.  False: not on this system; with *name
 * NULL: no more candidates. */
static bool find_candidate(const struct fx8_operations *operations,
                           const char *function, size_t index,
                           struct candidate *candidate, const char **name)
{
    size_t n_forms = 0;
    *candidate = (struct candidate){.form = NULL};
    while (find_form(operations, function, n_forms) != NULL)
        n_forms++;
    *name = NULL;
    if (index < n_forms) {
        candidate->form = find_form(operations, function, index);
        *name = candidate->form->form;
        return true;
    }
    if (index - n_forms >= FX8_N_PEER_LIBRARIES)
        return false;
    const enum fx8_peer_library library =
        (enum fx8_peer_library)(index - n_forms);
    *name = fx8_peer_name(library);
    return fx8_peer_find(library, operations->name, function, &candidate->peer);
}

/* Measure a form against the C library. */
static enum fx8_status measure_candidate(const struct fx8_bench_run *run,
                                         const struct candidate *candidate,
                                         const char *name,
                                         const double *library,
                                         const struct arrays *arrays,
                                         struct fx8_error *error)
{
    const struct fx8_bench_figure figure = {.quantity = name,
                                            .variant = run->operations->name,
                                            .unit = "result/s",
                                            .ruler = "C library"};
    const bool is_library =
        candidate->form != NULL && strcmp(name, "ieee") == 0;
    double rates[FX8_BENCH_ROUNDS];
    for (size_t r = 0; r < run->n_rounds; r++)
        rates[r] = is_library ? library[r] : measure_rate(candidate, arrays);
    return fx8_bench_put_rounds(run, figure, rates, library, error);
}

/* Measure the form "ieee" in every round. */
static void measure_library(const struct fx8_bench_run *run,
                            const char *function, const struct arrays *arrays,
                            double *rates)
{
    const struct fx8_function_form *form;
    for (size_t f = 0; (form = find_form(run->operations, function, f)) != NULL;
         f++)
        if (strcmp(form->form, "ieee") == 0)
            for (size_t r = 0; r < run->n_rounds; r++)
                rates[r] =
                    measure_rate(&(struct candidate){.form = form}, arrays);
}

static enum fx8_status measure_function(const struct fx8_bench_run *run,
                                        const char *function,
                                        const struct arrays *arrays,
                                        struct fx8_error *error)
{
    struct candidate candidate;
    const char *name;
    double library[FX8_BENCH_ROUNDS] = {0};
    measure_library(run, function, arrays, library);
    enum fx8_status status = FX8_OK;
    for (size_t k = 0; status == FX8_OK; k++) {
        const bool is_there =
            find_candidate(run->operations, function, k, &candidate, &name);
        if (name == NULL)
            break;
        if (is_there)
            status = measure_candidate(run, &candidate, name, library, arrays,
                                       error);
    }
    return status;
}

/* --- halves ------------------------------------------------------ */

static const char *const conversions[] = {"half_to_float", "float_to_half"};

#define N_RANGES      (sizeof ranges / sizeof ranges[0])
#define N_CONVERSIONS (sizeof conversions / sizeof conversions[0])

/* Bytes read and written per second, best of the parts. */
static double measure_conversion(const struct fx8_operations *operations,
                                 bool to_half, float *values, uint16_t *halves)
{
    double best_s = 0.0;
    for (size_t part = 0; part < N_PARTS; part++) {
        const double start = fx8_clock_seconds();
        if (to_half)
            operations->half.from_float(N_HALVES, 16384.0f, values, halves);
        else
            operations->half.to_float(N_HALVES, halves, values);
        const double seconds = fx8_clock_seconds() - start;
        best_s = part == 0 || seconds < best_s ? seconds : best_s;
    }
    return (double)N_HALVES * (sizeof *values + sizeof *halves) / best_s;
}

static enum fx8_status measure_halves(const struct fx8_bench_run *run,
                                      bool to_half, struct fx8_error *error)
{
    const struct fx8_bench_figure figure = {.quantity = "rate",
                                            .variant = run->operations->name,
                                            .unit = "byte/s",
                                            .ruler = "memcpy"};
    float *values = NULL;
    uint16_t *halves = NULL;
    double rates[FX8_BENCH_ROUNDS], copies[FX8_BENCH_ROUNDS];
    const struct fx8_array arrays[] = {{&values, N_HALVES, sizeof *values},
                                       {&halves, N_HALVES, sizeof *halves}};
    enum fx8_status status = fx8_allocate_arrays(arrays, 2, "halves", error);
    for (size_t r = 0; r < run->n_rounds && status == FX8_OK; r++) {
        copies[r] = fx8_ceiling_measure(FX8_CEILING_MEMCPY);
        rates[r] = measure_conversion(run->operations, to_half, values, halves);
    }
    if (status == FX8_OK)
        status = fx8_bench_put_rounds(run, figure, rates, copies, error);
    free(values);
    free(halves);
    return status;
}

/* --- the section ------------------------------------------------- */

static void name_case(size_t index, char name[FX8_BENCH_NAME_SIZE])
{
    snprintf(name, FX8_BENCH_NAME_SIZE, "%s",
             index < N_RANGES ? ranges[index].function
                              : conversions[index - N_RANGES]);
}

static size_t list_quantities(size_t index,
                              const char *list[FX8_BENCH_QUANTITIES])
{
    const struct fx8_operations *operations;
    struct candidate candidate;
    size_t n = 0;
    if (index >= N_RANGES) {
        list[0] = "rate";
        return 1;
    }
    if (fx8_operations_select("auto", &operations, NULL) != FX8_OK)
        return 0;
    for (const char *name; n < FX8_BENCH_QUANTITIES; n++) {
        (void)find_candidate(operations, ranges[index].function, n, &candidate,
                             &name);
        if (name == NULL)
            break;
        list[n] = name;
    }
    return n;
}

static enum fx8_status measure_case(const struct fx8_bench_run *run,
                                    size_t index, struct fx8_error *error)
{
    if (index >= N_RANGES)
        return measure_halves(run, index - N_RANGES == 1, error);
    struct arrays arrays = {NULL, NULL, NULL};
    const struct fx8_array memory[] = {{&arrays.a, N_ELEMENTS, sizeof(float)},
                                       {&arrays.b, N_ELEMENTS, sizeof(float)},
                                       {&arrays.y, N_ELEMENTS, sizeof(float)}};
    enum fx8_status status = fx8_allocate_arrays(memory, 3, "functions", error);
    if (status == FX8_OK) {
        fill(arrays.a, ranges[index].from, ranges[index].to, 1);
        fill(arrays.b, ranges[index].from, ranges[index].to, 2);
        status = measure_function(run, ranges[index].function, &arrays, error);
    }
    free(arrays.a);
    free(arrays.b);
    free(arrays.y);
    return status;
}

const struct fx8_bench_section fx8_bench_functions = {
    .name = "functions",
    .about = "of post-processing, in cache, every form; conversions to half "
             "precision beyond the caches; one thread",
    .n_cases = N_RANGES + N_CONVERSIONS,
    .n_rounds = 1,
    .has_levels = true,
    .name_case = name_case,
    .list = list_quantities,
    .measure = measure_case,
};
