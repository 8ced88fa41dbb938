/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "kernels/operations.h"
#include "kernels/parallel.h"
#include "kernels/postprocess.h"

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

struct cell {
    double re, im, nsamples;
    bool is_flagged;
};

/* One product of one baseline: all that does not change from channel to
 * channel. */
struct series {
    const int64_t *sums_int8; /* of channel 0; one of the two is NULL */
    const double *sums_fp32;
    size_t stride; /* from channel to channel */
    double count, nsamples;
    const float *gain_1, *gain_2;             /* [n_channels] or NULL */
    const uint8_t *flag_channel;              /* [n_channels] */
    const uint8_t *flag_cell_1, *flag_cell_2; /* [n_channels] or NULL */
    bool is_flagged;                          /* in every channel */
    bool is_auto, is_negated, removes_bias;
};

static struct series open_series(const struct context *job,
                                 const struct fx8_product *product)
{
    const struct fx8_postprocess *plan = job->plan;
    const int64_t count = job->counts[product->pair];
    const size_t first = 2 * (size_t)product->pair;
    const size_t row_1 = product->input_1 * plan->n_channels;
    const size_t row_2 = product->input_2 * plan->n_channels;
    const bool is_int8 = job->sums_int8 != NULL;
    const bool has_gain = is_int8 && plan->gain != NULL;
    const bool is_auto = product->input_1 == product->input_2;
    return (struct series){
        .sums_int8 = is_int8 ? job->sums_int8 + first : NULL,
        .sums_fp32 = is_int8 ? NULL : job->sums_fp32 + first,
        .stride = 2 * fx8_pair_count(plan->n_inputs),
        .count = (double)count,
        .nsamples = (double)count / (double)plan->spectra_per_dump,
        .gain_1 = has_gain ? plan->gain + row_1 : NULL,
        .gain_2 = has_gain ? plan->gain + row_2 : NULL,
        .flag_channel = plan->flag_channel,
        .flag_cell_1 = plan->flag_cell == NULL ? NULL : plan->flag_cell + row_1,
        .flag_cell_2 = plan->flag_cell == NULL ? NULL : plan->flag_cell + row_2,
        .is_flagged = plan->flag_input[product->input_1] ||
                      plan->flag_input[product->input_2],
        .is_auto = is_auto,
        .is_negated = product->conjugate != plan->negate_imaginary,
        .removes_bias = has_gain && is_auto && plan->remove_bias,
    };
}

static struct cell read_cell(const struct series *series, size_t channel)
{
    struct cell cell = {.is_flagged = true};
    if (series->count == 0.0)
        return cell;
    const size_t at = channel * series->stride;
    const bool is_int8 = series->sums_int8 != NULL;
    double re = is_int8 ? (double)series->sums_int8[at] : series->sums_fp32[at];
    double im =
        is_int8 ? (double)series->sums_int8[at + 1] : series->sums_fp32[at + 1];
    re /= series->count;
    im /= series->count;
    if (series->removes_bias &&
        sqrt(fmax(re - ROUNDING_NOISE, 0.0) / 2.0) >= LEAST_LEVEL)
        re -= ROUNDING_NOISE;
    if (series->gain_1 != NULL) {
        const double scale =
            (double)series->gain_1[channel] * (double)series->gain_2[channel];
        re /= scale;
        im /= scale;
    }
    cell.re = re;
    cell.im = series->is_auto ? 0.0 : series->is_negated ? -im : im;
    cell.nsamples = series->nsamples;
    cell.is_flagged =
        series->is_flagged || series->flag_channel[channel] ||
        (series->flag_cell_1 != NULL &&
         (series->flag_cell_1[channel] || series->flag_cell_2[channel]));
    return cell;
}

/* Mean of n channels, of the unflagged ones where there are any. */
static struct cell average_cells(const struct series *series,
                                 size_t first_channel, size_t n)
{
    struct cell sums[2] = {0}; /* unflagged, flagged */
    bool has_unflagged = false;
    for (size_t k = 0; k < n; k++) {
        const struct cell cell = read_cell(series, first_channel + k);
        struct cell *sum = &sums[cell.is_flagged];
        sum->re += cell.nsamples * cell.re;
        sum->im += cell.nsamples * cell.im;
        sum->nsamples += cell.nsamples;
        has_unflagged = has_unflagged || !cell.is_flagged;
    }
    struct cell mean = sums[!has_unflagged];
    if (mean.nsamples > 0) {
        mean.re /= mean.nsamples;
        mean.im /= mean.nsamples;
    }
    mean.nsamples /= (double)n;
    mean.is_flagged = !has_unflagged;
    return mean;
}

/* Channels [begin, end) of one product of one baseline. */
static void write_series(const struct context *job, size_t baseline,
                         size_t product, size_t begin, size_t end)
{
    const struct fx8_postprocess *plan = job->plan;
    const struct fx8_visibilities *results = job->results;
    const size_t n = plan->channel_average;
    const struct series series = open_series(
        job, &plan->products[baseline * plan->n_products + product]);
    for (size_t channel = begin; channel < end; channel++) {
        const struct cell cell = n == 1
                                     ? read_cell(&series, channel)
                                     : average_cells(&series, channel * n, n);
        const size_t at =
            (baseline * (plan->n_channels / n) + channel) * plan->n_products +
            product;
        results->visibilities[2 * at] = (float)cell.re;
        results->visibilities[2 * at + 1] = (float)cell.im;
        results->flags[at] = cell.is_flagged;
        results->nsamples[at] = (float)cell.nsamples;
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
