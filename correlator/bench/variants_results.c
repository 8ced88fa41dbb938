/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * variants_results.c -- what follows the sums as trials of section "variants":
 * post-processing and images.
 */
#include <stdint.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/bench/variants.h"
#include "kernels/baseline.h"
#include "kernels/postprocess.h"

/* --- post-processing: INT8 dumps of 64 channels ------------------- */

#define N_CHANNELS 64
#define N_SPECTRA  4096

/* Bytes of a cell of the results: visibility, weight, flag. */
#define CELL_SIZE (3 * sizeof(float) + sizeof(uint8_t))

/* `extra` holds them one after the other. */
struct tables {
    struct fx8_product *products; /* [n_baselines][4] */
    int64_t *counts;              /* [pair] */
    float *gain;                  /* [n_inputs][N_CHANNELS] */
    uint8_t *flag_channel;        /* [N_CHANNELS], 0 as allocated */
    uint8_t *flag_input;          /* [n_inputs], likewise */
};

static struct tables place_tables(void *extra, size_t n_inputs)
{
    const size_t n_products = 4 * fx8_baseline_count(n_inputs / 2);
    struct tables tables = {.products = extra};
    tables.counts = (int64_t *)(tables.products + n_products);
    tables.gain = (float *)(tables.counts + fx8_pair_count(n_inputs));
    tables.flag_channel = (uint8_t *)(tables.gain + n_inputs * N_CHANNELS);
    tables.flag_input = tables.flag_channel + N_CHANNELS;
    return tables;
}

static size_t tables_bytes(size_t n_inputs)
{
    return 4 * fx8_baseline_count(n_inputs / 2) * sizeof(struct fx8_product) +
           fx8_pair_count(n_inputs) * sizeof(int64_t) +
           n_inputs * N_CHANNELS * sizeof(float) + N_CHANNELS + n_inputs;
}

enum fx8_status fx8_trial_open_postprocess(struct fx8_trial *trial,
                                           struct fx8_error *error)
{
    const size_t n = trial->size, n_pairs = fx8_pair_count(n);
    const size_t n_sums = N_CHANNELS * n_pairs * 2;
    const size_t n_cells = 4 * fx8_baseline_count(n / 2) * N_CHANNELS;
    const size_t from = n_sums * sizeof(int64_t), to = n_cells * CELL_SIZE;
    /* `to` has room for half of all bytes copied */
    FX8_TRY(fx8_trial_allocate(trial, from, from > to ? from : to,
                               tables_bytes(n), error));
    const struct tables tables = place_tables(trial->extra, n);
    fx8_baseline_table(n / 2, 2, tables.products);
    int64_t *sums = trial->from;
    for (size_t k = 0; k < n_sums; k++)
        sums[k] = (int64_t)(k * 37 % 100001);
    for (size_t pair = 0; pair < n_pairs; pair++)
        tables.counts[pair] = N_SPECTRA;
    for (size_t k = 0; k < n * N_CHANNELS; k++)
        tables.gain[k] = 0.9f;
    trial->bytes = (double)(from + to);
    trial->work = (double)n_cells;
    return FX8_OK;
}

void fx8_trial_step_postprocess(struct fx8_trial *trial, size_t k)
{
    const struct tables tables = place_tables(trial->extra, trial->size);
    const size_t n_antennas = trial->size / 2;
    const size_t n_cells = 4 * fx8_baseline_count(n_antennas) * N_CHANNELS;
    const struct fx8_postprocess plan = {
        .operations = trial->operations,
        .n_antennas = n_antennas,
        .n_products = 4,
        .n_inputs = trial->size,
        .n_channels = N_CHANNELS,
        .channel_average = 1,
        .products = tables.products,
        .spectra_per_dump = N_SPECTRA,
        .gain = tables.gain,
        .flag_channel = tables.flag_channel,
        .flag_input = tables.flag_input,
        .remove_bias = true,
        .threads.count = 1,
    };
    void *const sums[FX8_N_RESULTS] = {[FX8_RESULT_INT8] = trial->from};
    float *visibilities = trial->to;
    const struct fx8_result results[FX8_N_RESULTS] = {
        [FX8_RESULT_INT8] = {
            .visibilities = visibilities,
            .nsamples = visibilities + 2 * n_cells,
            .flags = (uint8_t *)(visibilities + 3 * n_cells),
        }};
    (void)k;
    fx8_postprocess_dump(&plan, sums, tables.counts, results);
}

/* --- images: one channel ------------------------------------------- */

/* Calls of a step: one is too short for the clock. */
#define N_CALLS 64

/* `from` holds the matrix, `extra` positions and directions, `to` phasors and
 * sums. */
enum fx8_status fx8_trial_open_image(struct fx8_trial *trial,
                                     struct fx8_error *error)
{
    const size_t n = trial->size, lanes = FX8_IMAGE_LANES;
    const size_t n_rows = fx8_round_up(n, FX8_IMAGE_ROWS);
    FX8_TRY(fx8_trial_allocate(trial, n_rows * n * sizeof(struct fx8_cf32),
                               (2 * n + 1) * lanes * sizeof(float),
                               3 * (n + N_CALLS * lanes) * sizeof(double),
                               error));
    struct fx8_cf32 *matrix = trial->from;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            matrix[(i / FX8_IMAGE_ROWS * n + j) * FX8_IMAGE_ROWS +
                   i % FX8_IMAGE_ROWS] =
                (struct fx8_cf32){(float)(j * 37 % 101), (float)(i * 53 % 101)};
    double *values = trial->extra;
    for (size_t k = 0; k < 3 * (n + N_CALLS * lanes); k++)
        values[k] = (double)(k * 37 % 101) / 101.0;
    trial->work = (double)(n * (n - 1) / 2 * lanes * N_CALLS);
    return FX8_OK;
}

void fx8_trial_step_image(struct fx8_trial *trial, size_t k)
{
    const size_t n = trial->size, lanes = FX8_IMAGE_LANES;
    const double *turns = trial->extra;
    const struct fx8_image_channel channel = {n, turns, trial->from};
    float *phasors = trial->to;
    (void)k;
    for (size_t call = 0; call < N_CALLS; call++)
        trial->operations->image(&channel, turns + 3 * (n + call * lanes),
                                 phasors, phasors + 2 * n * lanes);
}
