/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * functions.c -- the functions of post-processing, one thread: every
 * form beside the C library (form "ieee") and the vector libraries of the
 * system; and conversions to half precision beside a copy.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/shape.h"
#include "correlator/commands/bench/bench.h"
#include "kernels/clock.h"
#include "kernels/cpu/ceilings.h"
#include "kernels/cpu/peers.h"
#include "kernels/operations.h"

/* Elements per call: three arrays stay within a first-level cache. */
#define N_ELEMENTS 2048

/* Elements of the conversions: beyond the caches, as a dump is. */
#define N_HALVES ((size_t)16 << 20)

/* A figure is the best of so many parts: what else the machine does only ever
 * makes it slower. */
#define N_PARTS 8
#define PART_S  2e-3

/* Arguments are drawn evenly from a range in which the C library cannot take
 * a short way for all of them. */
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

/* One thing to be timed: a form of ours, or a peer's. */
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
        state = state * 1664525u + 1013904223u; /* the high bits serve */
        values[k] = from + (to - from) * (float)(state >> 8) / 16777216.0f;
    }
}

static void print_rate(const char *function, const char *form, double rate,
                       double library, bool json)
{
    if (json)
        printf("{\"function\":\"%s\",\"form\":\"%s\",\"results_s\":%.6g}\n",
               function, form, rate);
    else
        printf("%-11s %-10s %9.3f G/s %9.2f\n", function, form, rate * 1e-9,
               rate / library);
    fflush(stdout);
}

/* Every form of one function, the C library's first. */
static void bench_function(const struct fx8_operations *operations,
                           const char *function, const struct arrays *arrays,
                           bool json)
{
    double library = 0.0;
    for (int is_ours = 0; is_ours < 2; is_ours++)
        for (size_t f = 0; f < operations->n_forms; f++) {
            const struct fx8_function_form *form = &operations->forms[f];
            const bool is_library = strcmp(form->form, "ieee") == 0;
            if (strcmp(form->function, function) != 0 || is_library == is_ours)
                continue;
            const double rate =
                measure_rate(&(struct candidate){.form = form}, arrays);
            if (is_library)
                library = rate;
            print_rate(function, form->form, rate, library, json);
        }
    for (enum fx8_peer_library l = 0; l < FX8_N_PEER_LIBRARIES; l++) {
        struct candidate candidate = {.form = NULL};
        if (fx8_peer_find(l, operations->name, function, &candidate.peer))
            print_rate(function, fx8_peer_name(l),
                       measure_rate(&candidate, arrays), library, json);
    }
}

/* --- halves ------------------------------------------------------ */

/* Bytes read and written per second, best of the parts. */
static double measure_halves(const struct fx8_operations *operations,
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

static enum fx8_status bench_halves(const struct fx8_operations *operations,
                                    bool json, struct fx8_error *error)
{
    static const char *const names[] = {"half_to_float", "float_to_half"};
    float *values = NULL;
    uint16_t *halves = NULL;
    const struct fx8_array arrays[] = {{&values, N_HALVES, sizeof *values},
                                       {&halves, N_HALVES, sizeof *halves}};
    const enum fx8_status status =
        fx8_allocate_arrays(arrays, 2, "halves", error);
    if (status == FX8_OK) {
        const double copy = fx8_ceiling_measure(FX8_CEILING_MEMCPY);
        for (int to_half = 0; to_half < 2; to_half++) {
            const double rate =
                measure_halves(operations, to_half, values, halves);
            if (json)
                printf("{\"conversion\":\"%s\",\"bytes_s\":%.6g,"
                       "\"memcpy_bytes_s\":%.6g}\n",
                       names[to_half], rate, copy);
            else
                printf("%-22s %9.2f GB/s %8.2f of memcpy\n", names[to_half],
                       rate * 1e-9, rate / copy);
        }
    }
    free(values);
    free(halves);
    return status;
}

/* --- the section ------------------------------------------------- */

enum fx8_status fx8_bench_functions(const char *kernel, bool json,
                                    struct fx8_error *error)
{
    const struct fx8_operations *operations;
    struct arrays arrays = {NULL, NULL, NULL};
    const struct fx8_array memory[] = {{&arrays.a, N_ELEMENTS, sizeof(float)},
                                       {&arrays.b, N_ELEMENTS, sizeof(float)},
                                       {&arrays.y, N_ELEMENTS, sizeof(float)}};
    enum fx8_status status = fx8_operations_select(kernel, &operations, error);
    if (status == FX8_OK)
        status = fx8_allocate_arrays(memory, 3, "functions", error);
    if (status == FX8_OK && !json) {
        for (enum fx8_peer_library l = 0; l < FX8_N_PEER_LIBRARIES; l++)
            if (!fx8_peer_is_there(l))
                printf("%s: not on this system, left out\n", fx8_peer_name(l));
        printf("function    form          results  of C library\n");
    }
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
        if (status != FX8_OK)
            break;
        fill(arrays.a, ranges[r].from, ranges[r].to, 1);
        fill(arrays.b, ranges[r].from, ranges[r].to, 2);
        bench_function(operations, ranges[r].function, &arrays, json);
    }
    if (status == FX8_OK)
        status = bench_halves(operations, json, error);
    free(arrays.a);
    free(arrays.b);
    free(arrays.y);
    return status;
}
