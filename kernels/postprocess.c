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
#define CHANNEL_TILE 8

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

/* Mean of the products of one channel in input counts squared. */
static void mean_of_cell(const struct context *job,
                         const struct fx8_product *product, size_t channel,
                         int64_t count, struct cell *cell)
{
    const struct fx8_postprocess *plan = job->plan;
    const size_t at =
        2 * (channel * fx8_pair_count(plan->n_inputs) + product->pair);
    const bool is_int8 = job->sums_int8 != NULL;
    double re = is_int8 ? (double)job->sums_int8[at] : job->sums_fp32[at];
    double im =
        is_int8 ? (double)job->sums_int8[at + 1] : job->sums_fp32[at + 1];
    re /= (double)count;
    im /= (double)count;
    const bool is_auto = product->input_1 == product->input_2;
    if (is_int8 && plan->gain != NULL) {
        const float *gain = plan->gain;
        if (is_auto && plan->remove_bias &&
            sqrt(fmax(re - ROUNDING_NOISE, 0.0) / 2.0) >= LEAST_LEVEL)
            re -= ROUNDING_NOISE;
        const double scale =
            (double)gain[product->input_1 * plan->n_channels + channel] *
            (double)gain[product->input_2 * plan->n_channels + channel];
        re /= scale;
        im /= scale;
    }
    cell->re = re;
    cell->im = is_auto                                        ? 0.0
               : product->conjugate != plan->negate_imaginary ? -im
                                                              : im;
}

static struct cell read_cell(const struct context *job,
                             const struct fx8_product *product, size_t channel)
{
    const struct fx8_postprocess *plan = job->plan;
    const int64_t count = job->counts[product->pair];
    struct cell cell = {.is_flagged = true};
    if (count == 0)
        return cell;
    cell.nsamples = (double)count / (double)plan->spectra_per_dump;
    mean_of_cell(job, product, channel, count, &cell);
    const uint8_t *flag_cell = plan->flag_cell;
    cell.is_flagged =
        plan->flag_channel[channel] || plan->flag_input[product->input_1] ||
        plan->flag_input[product->input_2] ||
        (flag_cell != NULL &&
         (flag_cell[product->input_1 * plan->n_channels + channel] ||
          flag_cell[product->input_2 * plan->n_channels + channel]));
    return cell;
}

/* Mean of n channels, of the unflagged ones where there are any. */
static struct cell average_cells(const struct context *job,
                                 const struct fx8_product *product,
                                 size_t first_channel)
{
    const size_t n = job->plan->channel_average;
    struct cell sums[2] = {0}; /* unflagged, flagged */
    bool has_unflagged = false;
    for (size_t k = 0; k < n; k++) {
        const struct cell cell = read_cell(job, product, first_channel + k);
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

static void write_cell(const struct context *job, size_t baseline,
                       size_t channel, size_t product)
{
    const struct fx8_postprocess *plan = job->plan;
    const size_t n = plan->channel_average;
    const struct fx8_product *source =
        &plan->products[baseline * plan->n_products + product];
    const struct cell cell = n == 1 ? read_cell(job, source, channel)
                                    : average_cells(job, source, channel * n);
    const size_t at =
        (baseline * (plan->n_channels / n) + channel) * plan->n_products +
        product;
    job->results->visibilities[2 * at] = (float)cell.re;
    job->results->visibilities[2 * at + 1] = (float)cell.im;
    job->results->flags[at] = cell.is_flagged;
    job->results->nsamples[at] = (float)cell.nsamples;
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
            for (size_t channel = tile; channel < end; channel++)
                for (size_t p = 0; p < plan->n_products; p++)
                    write_cell(job, baseline, channel, p);
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
