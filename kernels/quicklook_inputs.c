/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook_inputs.c -- the autos of one input: levels in dB, and scales,
 * weights and steps for its baselines.
 */
#include <math.h>
#include <string.h>

#include "kernels/numeric/coherence.h"
#include "kernels/quicklook_private.h"

/* Powers of one input in channels [first, first + n), and whether any product
 * was valid there. */
static void gather_autos(const struct fx8_quicklook_job *job, size_t input,
                         size_t first, size_t n, float *powers, float *weights)
{
    const struct fx8_quicklook_plan *plan = &job->quicklook->plan;
    const size_t product = job->quicklook->autos[input];
    size_t at = fx8_quicklook_cell(plan, product / plan->n_products, first) +
                product % plan->n_products;
    for (size_t k = 0; k < n; k++, at += plan->n_products) {
        powers[k] = job->in->visibilities[2 * at];
        weights[k] = job->in->nsamples[at];
    }
}

static bool has_power(float power)
{
    return power >= FX8_LEAST_POWER && power <= FLT_MAX;
}

/* 10 log10 of powers; without power 0 dB, which correct_levels() replaces. */
static void find_levels(const struct fx8_functions *functions, size_t n,
                        const float *powers, float *levels)
{
    for (size_t k = 0; k < n; k++)
        levels[k] = has_power(powers[k]) ? powers[k] : 1.0f;
    functions->log10(n, levels, levels);
    for (size_t k = 0; k < n; k++)
        levels[k] *= 10.0f;
}

static void correct_levels(size_t n, const float *powers, const float *weights,
                           struct fx8_quicklook_counts *counts, float *levels)
{
    counts->n_spectra += (int64_t)n;
    for (size_t k = 0; k < n; k++) {
        if (!(weights[k] > 0.0f)) {
            levels[k] = NAN;
            counts->spectra_no_data++;
        } else if (!fx8_is_finite(powers[k])) {
            levels[k] = NAN;
            counts->spectra_infinite++;
        } else if (!has_power(powers[k])) {
            levels[k] = FX8_NO_POWER_DB;
            counts->spectra_no_power++;
        }
    }
}

/* rsqrt(P), 0 without power. */
static void find_scales(const struct fx8_functions *functions, size_t n,
                        const float *powers, float *scales)
{
    for (size_t k = 0; k < n; k++)
        scales[k] = has_power(powers[k]) ? powers[k] : 1.0f;
    functions->rsqrt(n, scales, scales);
    for (size_t k = 0; k < n; k++)
        scales[k] = has_power(powers[k]) ? scales[k] : 0.0f;
}

/* Mean |X|^2, in quantiser steps squared, above which an input clips: 32 rms,
 * where one sample in 10^4 is beyond 127. */
static const float LOUD = 2.0f * 32.0f * 32.0f;

/* 1 / (2 sigma^2) of a row of channels of one input, with the least gain in the
 * channel; whether it is LOUD is decided with the greatest. */
static void find_steps(const struct fx8_quicklook_job *job, size_t input,
                       size_t first, size_t n, const float *powers,
                       float *steps)
{
    const struct fx8_quicklook_plan *plan = &job->quicklook->plan;
    const size_t n_gains = plan->channel_average;
    for (size_t k = 0; k < n; k++) {
        steps[k] = 0.0f;
        if (job->gain == NULL || !has_power(powers[k]))
            continue;
        const float *gain =
            job->gain + (input * plan->n_channels + first + k) * n_gains;
        float least = gain[0], most = gain[0];
        for (size_t g = 1; g < n_gains; g++) {
            least = fminf(least, gain[g]);
            most = fmaxf(most, gain[g]);
        }
        steps[k] = powers[k] * most * most > LOUD
                       ? FX8_QUICKLOOK_LOUD
                       : 1.0f / (powers[k] * least * least);
    }
}

void fx8_quicklook_input(void *context, size_t input, size_t thread)
{
    const struct fx8_quicklook_job *job = context;
    const struct fx8_quicklook *q = job->quicklook;
    const struct fx8_functions *functions = q->plan.functions;
    struct fx8_quicklook_note *note = &q->notes[thread];
    float powers[FX8_QUICKLOOK_TILE], weights[FX8_QUICKLOOK_TILE];
    float checked[FX8_QUICKLOOK_TILE];
    for (size_t first = 0; first < q->plan.n_channels;
         first += FX8_QUICKLOOK_TILE) {
        const size_t rest = q->plan.n_channels - first;
        const size_t n = rest < FX8_QUICKLOOK_TILE ? rest : FX8_QUICKLOOK_TILE;
        const size_t at = input * q->plan.n_channels + first;
        float *levels = job->out->spectra_db + at;
        gather_autos(job, input, first, n, powers, weights);
        memcpy(q->power + at, powers, n * sizeof *powers);
        memcpy(q->weight + at, weights, n * sizeof *weights);
        find_steps(job, input, first, n, powers, q->steps + at);
        for (int mode = 0; mode < FX8_N_FUNCTIONS_MODES; mode++)
            if (mode == (int)q->plan.mode || q->is_checked)
                find_scales(&functions[mode], n, powers, q->scale[mode] + at);
        find_levels(&functions[q->plan.mode], n, powers, levels);
        if (q->is_checked) {
            find_levels(&functions[FX8_FUNCTIONS_IEEE], n, powers, checked);
            fx8_quicklook_compare_spectra(&q->bounds, n, checked, levels,
                                          &note->differences);
        }
        correct_levels(n, powers, weights, &note->counts, levels);
    }
}
