/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "kernels/operations.h"
#include "kernels/parallel.h"
#include "kernels/postprocess.h"
#include "kernels/postprocess_series.h"

/* Rounding noise of a complex product with itself, in quantiser steps
 * squared: 1/12 for each of two components. */
#define ROUNDING_NOISE (1.0 / 6.0)

/* Smallest level, in steps per real component, at which rounding noise is
 * uniform and independent enough to be removed. */
#define LEAST_LEVEL 1.0

/* Output channels turned at a time: a row of results takes whole cache lines,
 * and the rows of sums in flight still fit the first-level cache. */
#define CHANNEL_TILE 16

struct context {
    const struct fx8_postprocess *plan;
    const int64_t *sums_int8; /* one of the two is NULL */
    const double *sums_fp32;
    const int64_t *counts;
    const struct fx8_visibilities *results;
};

struct value {
    double re, im;
};

/* A series and what only these sums have. */
struct source {
    struct fx8_series series;
    const int64_t *sums_int8; /* of channel 0; one of the two is NULL */
    const double *sums_fp32;
    const float *gain_1, *gain_2; /* [n_channels] or NULL */
    bool removes_bias;
};

static struct source open_source(const struct context *job,
                                 const struct fx8_product *product)
{
    const struct fx8_postprocess *plan = job->plan;
    const bool is_int8 = job->sums_int8 != NULL;
    const bool has_gain = is_int8 && plan->gain != NULL;
    const struct fx8_series series =
        fx8_series_open(plan, job->counts, product);
    return (struct source){
        .series = series,
        .sums_int8 = is_int8 ? job->sums_int8 + series.first : NULL,
        .sums_fp32 = is_int8 ? NULL : job->sums_fp32 + series.first,
        .gain_1 =
            has_gain ? plan->gain + product->input_1 * plan->n_channels : NULL,
        .gain_2 =
            has_gain ? plan->gain + product->input_2 * plan->n_channels : NULL,
        .removes_bias = has_gain && series.is_auto && plan->remove_bias,
    };
}

/* Of a series that has valid products. */
static struct value read_value(const struct source *source, size_t channel)
{
    const struct fx8_series *series = &source->series;
    const size_t at = channel * series->stride;
    const bool is_int8 = source->sums_int8 != NULL;
    double re = is_int8 ? (double)source->sums_int8[at] : source->sums_fp32[at];
    double im =
        is_int8 ? (double)source->sums_int8[at + 1] : source->sums_fp32[at + 1];
    re /= series->count;
    im /= series->count;
    if (source->removes_bias &&
        sqrt(fmax(re - ROUNDING_NOISE, 0.0) / 2.0) >= LEAST_LEVEL)
        re -= ROUNDING_NOISE;
    if (source->gain_1 != NULL) {
        const double scale =
            (double)source->gain_1[channel] * (double)source->gain_2[channel];
        re /= scale;
        im /= scale;
    }
    return (struct value){re, series->is_auto      ? 0.0
                              : series->is_negated ? -im
                                                   : im};
}

/* Mean of the channels of a group that are used. */
static struct value mean_value(const struct source *source,
                               const struct fx8_group *group)
{
    if (source->series.count == 0.0)
        return (struct value){0.0, 0.0};
    if (group->n == 1)
        return read_value(source, group->first);
    struct value sum = {0.0, 0.0};
    for (size_t c = group->first; c < group->first + group->n; c++) {
        if (!fx8_group_uses(group, &source->series, c))
            continue;
        const struct value value = read_value(source, c);
        sum.re += value.re;
        sum.im += value.im;
    }
    return (struct value){sum.re / group->n_used, sum.im / group->n_used};
}

/* Channels [begin, end) of one product of one baseline. */
static void write_series(const struct context *job, size_t baseline,
                         size_t product, size_t begin, size_t end)
{
    const struct fx8_postprocess *plan = job->plan;
    const struct fx8_visibilities *results = job->results;
    const size_t n = plan->channel_average;
    const struct source source = open_source(
        job, &plan->products[baseline * plan->n_products + product]);
    for (size_t channel = begin; channel < end; channel++) {
        const struct fx8_group group =
            fx8_group_open(&source.series, channel * n, n);
        const struct value value = mean_value(&source, &group);
        const size_t at =
            (baseline * (plan->n_channels / n) + channel) * plan->n_products +
            product;
        results->visibilities[2 * at] = (float)value.re;
        results->visibilities[2 * at + 1] = (float)value.im;
        results->flags[at] = group.is_flagged;
        results->nsamples[at] = group.nsamples;
    }
}

/* All baselines that end on one antenna: their sums stand side by side, their
 * results in rows far apart, hence the tiles of channels. */
static void process_antenna(void *context, size_t antenna_2, size_t thread)
{
    (void)thread;
    const struct context *job = context;
    const struct fx8_postprocess *plan = job->plan;
    const size_t n_channels = plan->n_channels / plan->channel_average;
    for (size_t tile = 0; tile < n_channels; tile += CHANNEL_TILE) {
        const size_t rest = n_channels - tile;
        const size_t end = tile + (rest < CHANNEL_TILE ? rest : CHANNEL_TILE);
        size_t baseline = antenna_2; /* (0, antenna_2) */
        for (size_t antenna_1 = 0; antenna_1 <= antenna_2; antenna_1++) {
            for (size_t p = 0; p < plan->n_products; p++)
                write_series(job, baseline, p, tile, end);
            /* the next row of the triangle is one shorter */
            baseline += plan->n_antennas - antenna_1 - 1;
        }
    }
}

static void process(struct context job)
{
    fx8_parallel_for(job.plan->n_antennas, job.plan->n_threads,
                     job.plan->pin_threads, process_antenna, &job);
}

void fx8_postprocess_int8(const struct fx8_postprocess *plan,
                          const int64_t *sums, const int64_t *counts,
                          const struct fx8_visibilities *results)
{
    process((struct context){plan, sums, NULL, counts, results});
}

void fx8_postprocess_fp32(const struct fx8_postprocess *plan,
                          const double *sums, const int64_t *counts,
                          const struct fx8_visibilities *results)
{
    process((struct context){plan, NULL, sums, counts, results});
}
