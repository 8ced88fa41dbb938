/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * variants_look.c -- the quick-look as a trial of section "variants".
 */
#include <stdint.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/bench/variants.h"
#include "kernels/baseline.h"
#include "kernels/quicklook.h"

#define N_CHANNELS 64

/* Bytes read and written per cell. */
#define CELL_IN  (2 * sizeof(float) + sizeof(uint8_t) + sizeof(float))
#define CELL_OUT (4 * sizeof(uint16_t))

/* A quick-look, with its arrays in the memory of the trial. */
struct fx8_trial_look {
    struct fx8_quicklook *quicklook;
    struct fx8_result in;
    struct fx8_quicklook_dump out;
};

/* Autos of 1000 and cross products of a few per cent of that. */
static void fill_results(const struct fx8_quicklook_plan *plan,
                         const struct fx8_result *in)
{
    size_t cell = 0;
    for (size_t b = 0; b < plan->n_baselines; b++)
        for (size_t c = 0; c < plan->n_channels; c++)
            for (size_t p = 0; p < plan->n_products; p++, cell++) {
                const struct fx8_product *product =
                    &plan->products[b * plan->n_products + p];
                const bool is_auto = product->input_1 == product->input_2;
                in->visibilities[2 * cell] =
                    is_auto ? 1000.0f : (float)(cell * 37 % 101) - 50.0f;
                in->visibilities[2 * cell + 1] =
                    is_auto ? 0.0f : (float)(cell * 53 % 101) - 50.0f;
                in->flags[cell] = 0;
                in->nsamples[cell] = 1.0f;
            }
}

/* `from` holds visibilities, weights and flags, `to` the results. */
static void place_results(struct fx8_trial *trial, size_t n_cells)
{
    struct fx8_trial_look *quicklook = trial->state;
    quicklook->in.visibilities = trial->from;
    quicklook->in.nsamples = quicklook->in.visibilities + 2 * n_cells;
    quicklook->in.flags = (uint8_t *)(quicklook->in.nsamples + n_cells);
    quicklook->out.spectra_db = trial->to;
    quicklook->out.coherence =
        (uint16_t *)(quicklook->out.spectra_db + trial->size * N_CHANNELS);
    quicklook->out.amplitude = quicklook->out.coherence + 2 * n_cells;
    quicklook->out.phase = quicklook->out.amplitude + n_cells;
}

enum fx8_status fx8_trial_open_look(struct fx8_trial *trial,
                                    struct fx8_error *error)
{
    struct fx8_quicklook_plan plan = {
        .n_products = fx8_baseline_products(2),
        .n_inputs = trial->size,
        .n_baselines = fx8_baseline_count(trial->size / 2),
        .n_channels = N_CHANNELS,
        .products_per_cell = 4096.0,
        .real_channel = N_CHANNELS,
        .channel_average = 1,
        .mode = (enum fx8_functions_mode)trial->variety,
        .functions = trial->operations->functions,
        .half = &trial->operations->half,
        .threads.count = 1,
    };
    const size_t n_cells = plan.n_baselines * N_CHANNELS * plan.n_products;
    /* more than CELL_OUT: room for half of all bytes copied */
    FX8_TRY(fx8_trial_allocate(
        trial, n_cells * CELL_IN,
        n_cells * CELL_IN + trial->size * N_CHANNELS * sizeof(float),
        plan.n_baselines * plan.n_products * sizeof(struct fx8_product),
        error));
    FX8_TRY(
        fx8_allocate(1, sizeof *trial->state, "a trial", &trial->state, error));
    trial->bytes = (double)(n_cells * (CELL_IN + CELL_OUT));
    trial->n_copies = FX8_QUICKLOOK_CHECK_DUMPS;
    trial->work = (double)(n_cells * FX8_QUICKLOOK_CHECK_DUMPS);
    fx8_baseline_table(trial->size / 2, 2, trial->extra);
    plan.products = trial->extra;
    place_results(trial, n_cells);
    struct fx8_trial_look *quicklook = trial->state;
    fill_results(&plan, &quicklook->in);
    return fx8_quicklook_open(&plan, &quicklook->quicklook, error);
}

/* One check interval of dumps, of which one is evaluated in both modes. */
void fx8_trial_step_look(struct fx8_trial *trial, size_t k)
{
    (void)k;
    struct fx8_trial_look *quicklook = trial->state;
    for (int dump = 0; dump < FX8_QUICKLOOK_CHECK_DUMPS; dump++)
        fx8_quicklook_process(quicklook->quicklook, &quicklook->in, NULL,
                              &quicklook->out);
}

void fx8_trial_close_look(struct fx8_trial *trial)
{
    if (trial->state != NULL)
        fx8_quicklook_close(&trial->state->quicklook);
    free(trial->state);
}
