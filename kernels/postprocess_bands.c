/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * postprocess_bands.c -- average the results of bands of one channel each.
 * Bounds stay bounds: each operation is rounded in the direction of its bound,
 * in a rounding mode that is restored afterwards.  The arithmetic accesses
 * results through memory, in a function that is never inlined, so no compiler
 * can move it across the call that sets the mode; the Makefile adds
 * -frounding-math.
 */
#include <fenv.h>

#include "kernels/postprocess.h"

/* Cells averaged into one: a product in neighbouring bands. */
struct group {
    size_t first, stride, n;
    bool is_flagged; /* all cells are flagged */
};

static struct group open_group(const struct fx8_result *results, size_t first,
                               size_t stride, size_t n)
{
    struct group group = {first, stride, n, true};
    for (size_t k = 0; k < n; k++)
        group.is_flagged &= results->flags[first + k * stride] != 0;
    return group;
}

static bool uses(const struct group *group, const struct fx8_result *results,
                 size_t cell)
{
    return group->is_flagged || results->flags[cell] == 0;
}

/* Weighted mean of one component in the current rounding mode; 0 without
 * weight.  The sum of weights is rounded both ways; the divisor is the one that
 * makes the quotient err in the direction of the mode. */
__attribute__((noinline)) static void write_mean(
    const struct group *group, const struct fx8_result *results, size_t part,
    float *value)
{
    double sum = 0.0, weight = 0.0, negative = 0.0;
    for (size_t k = 0; k < group->n; k++) {
        const size_t cell = group->first + k * group->stride;
        if (!uses(group, results, cell))
            continue;
        const double w = (double)results->nsamples[cell];
        sum += w * (double)results->visibilities[2 * cell + part];
        weight += w;
        negative -= w;
    }
    *value =
        weight == 0.0 ? 0.0f : (float)(sum / (sum > 0.0 ? -negative : weight));
}

static float mean_weight(const struct group *group,
                         const struct fx8_result *results)
{
    double weight = 0.0;
    for (size_t k = 0; k < group->n; k++) {
        const size_t cell = group->first + k * group->stride;
        if (uses(group, results, cell))
            weight += (double)results->nsamples[cell];
    }
    return (float)(weight / (double)group->n);
}

/* Stages in order: each reads what the next overwrites. */
enum stage { VALUES, WEIGHTS, FLAGS };

/* Run a stage for all groups.  Results overwrite input no longer needed. */
static void run_stage(enum stage stage, size_t n_groups, size_t n_products,
                      size_t n, const struct fx8_result *results)
{
    for (size_t g = 0; g < n_groups; g++)
        for (size_t p = 0; p < n_products; p++) {
            const struct group group =
                open_group(results, g * n * n_products + p, n_products, n);
            const size_t out = g * n_products + p;
            if (stage == WEIGHTS)
                results->nsamples[out] = mean_weight(&group, results);
            if (stage == FLAGS)
                results->flags[out] = group.is_flagged;
            for (size_t part = 0; stage == VALUES && part < 2; part++)
                write_mean(&group, results, part,
                           &results->visibilities[2 * out + part]);
        }
}

void fx8_postprocess_bands(size_t n_baselines, size_t n_bands,
                           size_t n_products, size_t n,
                           enum fx8_result_kind kind,
                           const struct fx8_result *results)
{
    static const int modes[FX8_N_RESULTS] = {
        [FX8_RESULT_INT8] = FE_TONEAREST,
        [FX8_RESULT_FP32] = FE_TONEAREST,
        [FX8_RESULT_DOWN] = FE_DOWNWARD,
        [FX8_RESULT_UP] = FE_UPWARD,
    };
    /* rows of baselines hold whole groups, so groups run across rows */
    const size_t n_groups = n_baselines * (n_bands / n);
    const int mode = fegetround();
    fesetround(modes[kind]);
    run_stage(VALUES, n_groups, n_products, n, results);
    fesetround(FE_TONEAREST);
    run_stage(WEIGHTS, n_groups, n_products, n, results);
    run_stage(FLAGS, n_groups, n_products, n, results);
    fesetround(mode);
}
