/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/base/parallel.h"
#include "kernels/numeric/visibility.h"
#include "kernels/postprocess.h"

/* Output channels turned at a time: a row of results fills whole cache lines,
 * and the rows of sums in use still fit the first-level cache. */
#define CHANNEL_TILE 16

struct context {
    const struct fx8_postprocess *plan;
    const void *sums;
    bool is_int8;
    const int64_t *counts;
    const struct fx8_result *results;
};

/* Channels [begin, end) of one product of one baseline. */
static void write_series(const struct context *job, size_t baseline,
                         size_t product, size_t begin, size_t end)
{
    const struct fx8_postprocess *plan = job->plan;
    const struct fx8_result *results = job->results;
    const size_t n = plan->channel_average;
    const struct fx8_series_sums sums = fx8_series_sums_open(
        plan, job->sums, job->is_int8, job->counts,
        &plan->products[baseline * plan->n_products + product]);
    for (size_t channel = begin; channel < end; channel++) {
        const struct fx8_group group =
            fx8_group_open(&sums.series, channel * n, n);
        const struct fx8_visibility value =
            n == 1 ? fx8_visibility_single(&sums, &group)
                   : fx8_visibility_mean(&sums, &group);
        const size_t at =
            fx8_postprocess_cell(plan, baseline, channel, product);
        results->visibilities[2 * at] = (float)value.re;
        results->visibilities[2 * at + 1] = (float)value.im;
        results->flags[at] = group.is_flagged;
        results->nsamples[at] = group.nsamples;
    }
}

/* All baselines that end on one antenna.  Their sums are contiguous, but their
 * results are in rows far apart, hence the tiles of channels. */
static void process_antenna(void *context, size_t antenna_2, size_t thread)
{
    (void)thread;
    const struct context *job = context;
    const struct fx8_postprocess *plan = job->plan;
    const size_t n_channels = plan->n_channels / plan->channel_average;
    const size_t n_starts = fx8_postprocess_starts(plan);
    const size_t end_1 = antenna_2 < n_starts ? antenna_2 + 1 : n_starts;
    for (size_t tile = 0; tile < n_channels; tile += CHANNEL_TILE) {
        const size_t rest = n_channels - tile;
        const size_t end = tile + (rest < CHANNEL_TILE ? rest : CHANNEL_TILE);
        size_t baseline = antenna_2; /* (0, antenna_2) */
        for (size_t antenna_1 = 0; antenna_1 < end_1; antenna_1++) {
            for (size_t p = 0; p < plan->n_products; p++)
                write_series(job, baseline, p, tile, end);
            /* the next row of the triangle is one shorter */
            baseline += plan->n_antennas - antenna_1 - 1;
        }
    }
}

/* Every cell for itself. */
static void process_cells(const struct fx8_postprocess *plan, const void *sums,
                          bool is_int8, const int64_t *counts,
                          const struct fx8_result *results)
{
    struct context job = {plan, sums, is_int8, counts, results};
    fx8_parallel_for(plan->n_antennas, plan->threads.count, plan->threads.pin,
                     process_antenna, &job);
}

void fx8_postprocess_dump(const struct fx8_postprocess *plan, void *const *sums,
                          const int64_t *counts,
                          const struct fx8_result *results)
{
    const struct fx8_operations *operations = plan->operations;
    const bool has_tiles = operations != NULL && operations->unscale != NULL;
    for (enum fx8_result_kind kind = 0; kind < FX8_RESULT_DOWN; kind++)
        if (sums[kind] != NULL)
            (has_tiles ? fx8_postprocess_tiles : process_cells)(
                plan, sums[kind], kind == FX8_RESULT_INT8, counts,
                &results[kind]);
    if (sums[FX8_RESULT_DOWN] != NULL)
        fx8_postprocess_interval(plan, sums, counts, results);
}

/* Cells to flag at a time. */
#define LIGHT_CELLS ((size_t)65536)

struct light {
    size_t n_cells;
    float min_weight;
    const struct fx8_result *result;
};

static void flag_light(void *context, size_t item, size_t thread)
{
    (void)thread;
    const struct light *job = context;
    const size_t begin = item * LIGHT_CELLS;
    const size_t rest = job->n_cells - begin;
    const size_t end = begin + (rest < LIGHT_CELLS ? rest : LIGHT_CELLS);
    for (size_t cell = begin; cell < end; cell++)
        job->result->flags[cell] |=
            job->result->nsamples[cell] < job->min_weight;
}

void fx8_postprocess_flag_light(size_t n_cells, double min_weight,
                                struct fx8_threads threads,
                                const struct fx8_result *result)
{
    struct light job = {n_cells, (float)min_weight, result};
    if (min_weight > 0.0)
        fx8_parallel_for((n_cells + LIGHT_CELLS - 1) / LIGHT_CELLS,
                         threads.count, threads.pin, flag_light, &job);
}

void fx8_postprocess_pack(size_t first, const size_t *baselines, size_t n,
                          size_t n_cells, const struct fx8_result *result)
{
    for (size_t row = 0; row < n && result->visibilities != NULL; row++) {
        if (baselines[row] - first == row)
            continue;
        const struct fx8_result to = fx8_result_from(result, row * n_cells);
        const struct fx8_result from =
            fx8_result_from(result, (baselines[row] - first) * n_cells);
        memcpy(to.visibilities, from.visibilities,
               n_cells * 2 * sizeof *to.visibilities);
        memcpy(to.flags, from.flags, n_cells);
        memcpy(to.nsamples, from.nsamples, n_cells * sizeof *to.nsamples);
    }
}
