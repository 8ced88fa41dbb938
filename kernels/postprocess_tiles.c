/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * postprocess_tiles.c -- post-processing by the operation `unscale` of a
 * variant: the values of postprocess.c, bit for bit, at the speed of memory.
 *
 * Sums are ordered by channel, then pair; results by baseline, then channel,
 * then product.  A tile is a block of pairs, COLUMNS inputs i by ROWS inputs j,
 * in up to CHANNELS channels of results: each row of pairs is read where it is
 * contiguous, the results wait in the second-level cache, and every baseline is
 * written once, in whole cache lines.
 *
 * What does not depend on the pair (gains, flags of inputs) is fetched once per
 * tile; what does not depend on the channel (counts, weights) too.
 */
#include <string.h>

#include "config/base/parallel.h"
#include "kernels/baseline.h"
#include "kernels/numeric/visibility.h"

enum {
    CHANNELS = 16,
    ROWS = 8, /* of whole antennas */
    COLUMNS = 64,
    PADDED = COLUMNS + FX8_UNSCALE_PAD,
    /* where a row keeps the conjugate of its last pair but one: product YX of
     * an antenna with itself */
    CONJUGATE = COLUMNS,
};

/* A value, a weight and a flag; least bytes of results that bypass the caches:
 * a second level. */
#define CELL_BYTES   (2 * sizeof(float) + sizeof(float) + sizeof(uint8_t))
#define STREAM_BYTES ((size_t)1 << 20)

struct context {
    const struct fx8_postprocess *plan;
    const void *sums;
    bool is_int8;
    const int64_t *counts;
    const struct fx8_result *results;
    void (*copy)(size_t n, const void *from, void *to);
    size_t n_polarizations;
    size_t width;            /* inputs i: all, or those of a strip */
    size_t n_blocks, n_rows; /* of inputs: COLUMNS, ROWS */
};

/* A tile: pairs (first_i + 0 .. n_i - 1, first_j + 0 .. n_j - 1), i <= j. */
struct tile {
    const struct context *job;
    size_t first_i, n_i, first_j, n_j;
    size_t first_row; /* the first one with a pair */
    /* by input channel, from `first_channel` on */
    size_t first_channel;
    double gain_i[CHANNELS][PADDED], gain_j[CHANNELS][ROWS];
    uint8_t flag_i[CHANNELS][PADDED], flag_j[CHANNELS][ROWS];
    /* by pair */
    double counts[ROWS][PADDED], nsamples[ROWS][PADDED];
    uint8_t is_empty[ROWS][PADDED]; /* no valid product */
    /* the sums of an average */
    double all[ROWS][2 * PADDED], unflagged[ROWS][2 * PADDED];
    uint32_t n_unflagged[ROWS][PADDED];
    uint8_t pair_flags[CHANNELS][PADDED];
    /* by channel of the results */
    struct fx8_cf32 values[CHANNELS][ROWS][PADDED];
    float weights[CHANNELS][ROWS][PADDED]; /* without averages: [0] only */
    uint8_t flags[CHANNELS][ROWS][PADDED];
};

static size_t at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

/* Pairs of a row of a tile; its last one is the auto where it ends at j. */
static size_t row_length(const struct tile *tile, size_t row)
{
    const size_t j = tile->first_j + row;
    return at_most(j + 1 - tile->first_i, tile->n_i);
}

static bool ends_on_auto(const struct tile *tile, size_t row)
{
    return tile->first_j + row < tile->first_i + tile->n_i;
}

/* --- what is fetched once ------------------------------------------------- */

static void fetch_counts(struct tile *tile)
{
    const double per_dump = (double)tile->job->plan->spectra_per_dump;
    for (size_t row = tile->first_row; row < tile->n_j; row++) {
        const int64_t *counts =
            tile->job->counts + fx8_strip_index(tile->job->width, tile->first_i,
                                                tile->first_j + row);
        for (size_t k = 0; k < row_length(tile, row); k++) {
            tile->counts[row][k] = (double)counts[k];
            tile->nsamples[row][k] = (double)counts[k] / per_dump;
            tile->weights[0][row][k] = (float)tile->nsamples[row][k];
            tile->is_empty[row][k] = counts[k] == 0;
        }
    }
}

/* Gain and flag of one input in n channels, `step` items apart. */
static void fetch_input(const struct tile *tile, size_t input, size_t n,
                        double *gains, uint8_t *flags, size_t gain_step,
                        size_t flag_step)
{
    const struct fx8_postprocess *plan = tile->job->plan;
    const bool is_int8 = tile->job->is_int8;
    const size_t at = input * fx8_postprocess_row(plan) + tile->first_channel;
    const float *gain = is_int8 && plan->gain != NULL ? plan->gain + at : NULL;
    const uint8_t *cell = is_int8 ? plan->flag_cell : plan->flag_float_cell;
    const double input_gain =
        plan->input_gain == NULL ? 1.0 : plan->input_gain[input];
    const uint8_t *channel = plan->flag_channel + tile->first_channel;
    const bool is_flagged = plan->flag_input[input];
    for (size_t c = 0; c < n; c++)
        gains[c * gain_step] = gain == NULL ? input_gain : (double)gain[c];
    for (size_t c = 0; c < n; c++)
        flags[c * flag_step] = is_flagged | (channel[c] != 0);
    for (size_t c = 0; c < n && cell != NULL; c++)
        flags[c * flag_step] |= cell[at + c] != 0;
}

/* Gains and flags of the inputs of a tile in the channels from `first` on. */
static void fetch_channels(struct tile *tile, size_t first)
{
    const size_t n = at_most(tile->job->plan->n_channels - first, CHANNELS);
    tile->first_channel = first;
    for (size_t i = 0; i < tile->n_i; i++)
        fetch_input(tile, tile->first_i + i, n, &tile->gain_i[0][i],
                    &tile->flag_i[0][i], PADDED, PADDED);
    for (size_t j = 0; j < tile->n_j; j++)
        fetch_input(tile, tile->first_j + j, n, &tile->gain_j[0][j],
                    &tile->flag_j[0][j], ROWS, ROWS);
}

/* --- rows ----------------------------------------------------------------- */

/* A row in some of the channels that are fetched. */
static struct fx8_unscale open_row(const struct tile *tile, size_t row,
                                   size_t first, size_t n)
{
    const struct context *job = tile->job;
    const struct fx8_postprocess *plan = job->plan;
    const size_t c = first - tile->first_channel;
    const size_t sum_step = 2 * fx8_postprocess_pairs(plan);
    const size_t at =
        first * sum_step +
        2 * fx8_strip_index(job->width, tile->first_i, tile->first_j + row);
    return (struct fx8_unscale){
        .n = row_length(tile, row),
        .n_channels = n,
        .int8 = job->is_int8 ? (const int64_t *)job->sums + at : NULL,
        .fp32 = job->is_int8 ? NULL : (const double *)job->sums + at,
        .sum_step = sum_step,
        .counts = tile->counts[row],
        .gain_i = tile->gain_i[c],
        .gain_j = &tile->gain_j[c][row],
        .step = PADDED,
        .gain_j_step = ROWS,
        .ripple = plan->ripple == NULL ? NULL : plan->ripple + first,
        .negates = plan->negate_imaginary,
        .ends_on_auto = ends_on_auto(tile, row),
        .noise =
            job->is_int8 && plan->gain != NULL ? fx8_rounding_noise(plan) : 0.0,
        .first_is_real = plan->first_is_real && first == 0,
    };
}

static void flag_pairs(const struct tile *tile, size_t row, size_t channel,
                       uint8_t flags[PADDED])
{
    const size_t c = channel - tile->first_channel;
    for (size_t k = 0; k < COLUMNS; k++)
        flags[k] =
            tile->flag_i[c][k] | tile->flag_j[c][row] | tile->is_empty[row][k];
}

/* Without averages: channels of the sums are channels of the results. */
static void take_row(struct tile *tile, size_t row, size_t first, size_t n)
{
    struct fx8_unscale pairs = open_row(tile, row, first, n);
    pairs.values = tile->values[0][row];
    pairs.value_step = ROWS * PADDED;
    tile->job->plan->operations->unscale(&pairs);
    for (size_t t = 0; t < n; t++)
        flag_pairs(tile, row, first + t, tile->flags[t][row]);
    if (pairs.n < 2)
        return;
    const size_t k = pairs.n - 2;
    for (size_t t = 0; t < n; t++) {
        struct fx8_cf32 *values = tile->values[t][row];
        values[CONJUGATE].re = values[k].re;
        values[CONJUGATE].im = tile->is_empty[row][k] ? 0.0f : -values[k].im;
    }
}

/* Add n input channels to the averages of a row. */
static void add_channels(struct tile *tile, size_t row, size_t first, size_t n)
{
    struct fx8_unscale pairs = open_row(tile, row, first, n);
    pairs.flags = tile->pair_flags[0];
    pairs.all = tile->all[row];
    pairs.unflagged = tile->unflagged[row];
    for (size_t c = 0; c < n; c++) {
        flag_pairs(tile, row, first + c, tile->pair_flags[c]);
        for (size_t k = 0; k < COLUMNS; k++)
            tile->n_unflagged[row][k] += !tile->pair_flags[c][k];
    }
    tile->job->plan->operations->unscale(&pairs);
}

/* The averages of a row are results, the next ones begin. */
static void end_averages(struct tile *tile, size_t row, size_t t)
{
    const size_t n = tile->job->plan->channel_average;
    const size_t length = row_length(tile, row);
    struct fx8_cf32 *values = tile->values[t][row];
    for (size_t k = 0; k < length; k++) {
        const size_t n_unflagged = tile->n_unflagged[row][k];
        const bool is_flagged = n_unflagged == 0;
        const size_t n_used = is_flagged ? n : n_unflagged;
        const double *sum =
            (is_flagged ? tile->all : tile->unflagged)[row] + 2 * k;
        const double nsamples = tile->nsamples[row][k];
        values[k].re = (float)(sum[0] / (double)n_used);
        values[k].im = (float)(sum[1] / (double)n_used);
        tile->flags[t][row][k] = is_flagged;
        tile->weights[t][row][k] =
            (float)(n_used == n ? nsamples
                                : nsamples * (double)n_used / (double)n);
        if (k + 2 == length) {
            /* minus a sum of 0 is 0, as is a sum of -0 */
            values[CONJUGATE].re = values[k].re;
            values[CONJUGATE].im = (float)((0.0 - sum[1]) / (double)n_used);
        }
    }
    memset(tile->all[row], 0, sizeof tile->all[row]);
    memset(tile->unflagged[row], 0, sizeof tile->unflagged[row]);
    memset(tile->n_unflagged[row], 0, sizeof tile->n_unflagged[row]);
}

/* Averages of the input channels [first, first + n), fetched in parts. */
static void take_averages(struct tile *tile, size_t first, size_t n)
{
    const size_t average = tile->job->plan->channel_average;
    const size_t begin = first * average, end = begin + n * average;
    size_t part;
    memset(tile->all, 0, sizeof tile->all);
    memset(tile->unflagged, 0, sizeof tile->unflagged);
    memset(tile->n_unflagged, 0, sizeof tile->n_unflagged);
    for (size_t channel = begin; channel < end; channel += part) {
        /* neither beyond what is fetched nor beyond an average */
        const size_t fetched = (channel - begin) % CHANNELS;
        if (fetched == 0)
            fetch_channels(tile, channel);
        part = at_most(CHANNELS - fetched, average - channel % average);
        for (size_t row = tile->first_row; row < tile->n_j; row++) {
            add_channels(tile, row, channel, part);
            if ((channel + part) % average == 0)
                end_averages(tile, row, channel / average - first);
        }
    }
}

/* Channels [first, first + n) of the results. */
static void take_channels(struct tile *tile, size_t first, size_t n)
{
    if (tile->job->plan->channel_average > 1) {
        take_averages(tile, first, n);
        return;
    }
    fetch_channels(tile, first);
    for (size_t row = tile->first_row; row < tile->n_j; row++)
        take_row(tile, row, first, n);
}

/* --- results -------------------------------------------------------------- */

/* Where a product of a baseline is in a row of a tile. */
struct place {
    size_t row, column, value;
};

static inline struct place find_place(const struct tile *tile, size_t antenna_1,
                                      size_t antenna_2, size_t product)
{
    const size_t pols = tile->job->n_polarizations;
    const size_t i = antenna_1 * pols + fx8_baseline_feeds[product][0];
    const size_t j = antenna_2 * pols + fx8_baseline_feeds[product][1];
    if (i > j)
        return (struct place){i - tile->first_j, j - tile->first_i, CONJUGATE};
    return (struct place){j - tile->first_j, i - tile->first_i,
                          i - tile->first_i};
}

/* One baseline of n_products (constant) in n channels from `begin` on. */
static inline __attribute__((always_inline)) void write_products(
    const struct tile *tile, size_t n_products, size_t antenna_1,
    size_t antenna_2, size_t begin, size_t n)
{
    const struct fx8_postprocess *plan = tile->job->plan;
    /* (a, a) is after a rows of the triangle, each one shorter */
    const size_t baseline =
        antenna_1 * (2 * plan->n_antennas - antenna_1 + 1) / 2 + antenna_2 -
        antenna_1;
    const bool has_averages = plan->channel_average > 1;
    const struct fx8_result to = fx8_result_from(
        tile->job->results, fx8_postprocess_cell(plan, baseline, begin, 0));
    _Alignas(64) struct fx8_cf32 values[4 * CHANNELS];
    _Alignas(64) float nsamples[4 * CHANNELS];
    _Alignas(64) uint8_t flags[4 * CHANNELS];
    struct place at[4];
    for (size_t p = 0; p < n_products; p++)
        at[p] = find_place(tile, antenna_1, antenna_2, p);
    for (size_t t = 0; t < CHANNELS; t++)
        for (size_t p = 0; p < n_products; p++) {
            const struct place *x = &at[p];
            values[t * n_products + p] = tile->values[t][x->row][x->value];
            flags[t * n_products + p] = tile->flags[t][x->row][x->column];
        }
    for (size_t t = 0; t < CHANNELS; t++)
        for (size_t p = 0; p < n_products; p++)
            nsamples[t * n_products + p] =
                tile->weights[has_averages ? t : 0][at[p].row][at[p].column];
    tile->job->copy(n * n_products * sizeof *values, values, to.visibilities);
    tile->job->copy(n * n_products * sizeof *nsamples, nsamples, to.nsamples);
    tile->job->copy(n * n_products * sizeof *flags, flags, to.flags);
}

static void write_tile(const struct tile *tile, size_t begin, size_t n)
{
    const size_t pols = tile->job->n_polarizations;
    const size_t begin_1 = tile->first_i / pols;
    const size_t end_1 = begin_1 + tile->n_i / pols;
    const size_t begin_2 = tile->first_j / pols;
    const size_t end_2 = begin_2 + tile->n_j / pols;
    for (size_t b = begin_2; b < end_2; b++)
        for (size_t a = begin_1; a < at_most(end_1, b + 1); a++)
            if (pols == 2)
                write_products(tile, 4, a, b, begin, n);
            else
                write_products(tile, 1, a, b, begin, n);
    tile->job->plan->operations->settle();
}

/* Item: tiles of channels, in each rows, in each blocks of columns. */
static void process_item(void *context, size_t item, size_t thread)
{
    (void)thread;
    const struct context *job = context;
    const struct fx8_postprocess *plan = job->plan;
    const size_t n_channels = plan->n_channels / plan->channel_average;
    const size_t begin = item / (job->n_rows * job->n_blocks) * CHANNELS;
    const size_t n = at_most(n_channels - begin, CHANNELS);
    struct tile tile;
    tile.job = job;
    tile.first_i = item % job->n_blocks * COLUMNS;
    tile.first_j = item / job->n_blocks % job->n_rows * ROWS;
    tile.n_i = at_most(job->width - tile.first_i, COLUMNS);
    tile.n_j = at_most(plan->n_inputs - tile.first_j, ROWS);
    if (tile.first_i >= tile.first_j + tile.n_j)
        return;
    tile.first_row =
        tile.first_i > tile.first_j ? tile.first_i - tile.first_j : 0;
    fetch_counts(&tile);
    take_channels(&tile, begin, n);
    write_tile(&tile, begin, n);
}

static void copy_cached(size_t n, const void *from, void *to)
{
    memcpy(to, from, n);
}

/* Whether results are too many to be still in a cache when they are used. */
static bool is_streamed(const struct fx8_postprocess *plan)
{
    const size_t n_cells = fx8_baseline_count(plan->n_antennas) *
                           plan->n_products * plan->n_channels /
                           plan->channel_average;
    return n_cells * CELL_BYTES >= STREAM_BYTES;
}

void fx8_postprocess_tiles(const struct fx8_postprocess *plan, const void *sums,
                           bool is_int8, const int64_t *counts,
                           const struct fx8_result *results)
{
    const size_t n_channels = plan->n_channels / plan->channel_average;
    const size_t n_polarizations = plan->n_inputs / plan->n_antennas;
    const size_t width = fx8_postprocess_starts(plan) * n_polarizations;
    struct context job = {
        .plan = plan,
        .sums = sums,
        .is_int8 = is_int8,
        .counts = counts,
        .results = results,
        .copy = is_streamed(plan) ? plan->operations->stream : copy_cached,
        .n_polarizations = n_polarizations,
        .width = width,
        .n_blocks = (width + COLUMNS - 1) / COLUMNS,
        .n_rows = (plan->n_inputs + ROWS - 1) / ROWS,
    };
    const size_t n_tiles = (n_channels + CHANNELS - 1) / CHANNELS;
    fx8_parallel_for(n_tiles * job.n_rows * job.n_blocks, plan->threads.count,
                     plan->threads.pin, process_item, &job);
}
