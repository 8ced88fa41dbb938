/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_trial.c -- see engine_trial.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/dump_arrays.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/baseline.h"
#include "kernels/engine_trial_private.h"

/* No tile of inputs and no vector of times divides these. */
#define MOST_INPUTS  19
#define MOST_SPECTRA 67

/* Limit of all spectra, and of all sums.  With many channels, inputs and
 * spectra are reduced to meet it, but not below the least values here. */
#define MOST_CELLS    ((size_t)1 << 21)
#define LEAST_INPUTS  4
#define LEAST_SPECTRA 9

/* --- the task ------------------------------------------------------------- */

double fx8_engine_trial_deadline(void)
{
    const char *text = getenv(FX8_ENGINE_TRIAL_VARIABLE);
    return text == NULL ? FX8_ENGINE_TRIAL_SECONDS : strtod(text, NULL) / 1e3;
}

/* A small version of the plan; blocks of both engines may be even shorter. */
static void plan_trial(struct fx8_trial *trial,
                       const struct fx8_engine_plan *plan)
{
    const size_t n_channels = plan->bank.n_channels;
    const size_t n_polarizations =
        plan->n_result_antennas > 0 ? plan->n_inputs / plan->n_result_antennas
                                    : 1;
    size_t inputs = plan->n_inputs, spectra = MOST_SPECTRA;
    if (inputs > MOST_INPUTS)
        inputs = MOST_INPUTS / n_polarizations * n_polarizations;
    while (inputs > LEAST_INPUTS && inputs * inputs > MOST_CELLS / n_channels)
        inputs = inputs / 2 / n_polarizations * n_polarizations;
    while (spectra > LEAST_SPECTRA &&
           inputs * spectra > MOST_CELLS / n_channels)
        spectra = spectra / 2 + 1;
    trial->plan = *plan;
    trial->plan.n_inputs = inputs;
    trial->plan.spectra_per_dump = (int64_t)spectra;
    if (plan->n_result_antennas > 0)
        trial->plan.n_result_antennas = inputs / n_polarizations;
    trial->plan.machine.threads = (struct fx8_threads){.count = 1};
    trial->plan.machine.transform = FX8_TRANSFORM_AUTO;
    trial->plan.admit = NULL;
    trial->plan.n_engines = 1;
    trial->plan.n_opened = trial->plan.consumed_channels = 0;
    trial->plan.deadline_s = fx8_engine_trial_deadline();
}

static enum fx8_status open_engines(struct fx8_trial *trial,
                                    struct fx8_error *error)
{
    struct fx8_engine_plan plan = trial->plan;
    FX8_TRY(trial->tried->open(&plan, &trial->engine, error));
    plan.machine.kernel = "auto";
    plan.precisions |= FX8_PRECISION_FP32; /* to check quantised spectra */
    plan.has_moments = false;
    FX8_TRY(fx8_engine_cpu.open(&plan, &trial->cpu, error));
    const size_t blocks[] = {trial->tried->facts(trial->engine)->block_spectra,
                             fx8_engine_cpu.facts(trial->cpu)->block_spectra};
    trial->n_spectra = (size_t)plan.spectra_per_dump;
    for (size_t k = 0; k < 2; k++)
        if (trial->n_spectra > blocks[k])
            trial->n_spectra = blocks[k];
    return FX8_OK;
}

static enum fx8_status allocate(struct fx8_trial *trial,
                                struct fx8_error *error)
{
    const struct fx8_engine_plan *plan = &trial->plan;
    const size_t inputs = plan->n_inputs, channels = plan->bank.n_channels;
    const size_t antennas = plan->n_result_antennas;
    const size_t n_baselines = antennas * (antennas + 1) / 2;
    const size_t n_products = n_baselines * plan->n_result_products;
    trial->margin_bytes = plan->margin * (plan->bank.is_complex ? 2 : 1);
    trial->row_stride = (trial->n_spectra + plan->bank.n_taps - 1) *
                            fx8_filterbank_row(&plan->bank) +
                        2 * trial->margin_bytes;
    trial->n_gains = fx8_product(inputs, channels, 1, 1);
    trial->n_cells = fx8_product(trial->n_gains, trial->n_spectra, 1, 1);
    trial->n_pairs = fx8_pair_count(inputs);
    trial->n_sums = fx8_product(channels, trial->n_pairs, 2, 1);
    trial->n_results =
        antennas == 0
            ? 0
            : fx8_product(n_products, channels / plan->channel_average, 1, 1);
    const size_t int8 = fx8_is_planned(plan, FX8_RESULT_INT8);
    const size_t floats = plan->precisions >> FX8_RESULT_FP32 != 0;
    const struct fx8_array arrays[] = {
        {&trial->samples, fx8_product(inputs, trial->row_stride, 1, 1), 1},
        {&trial->valid, inputs * fx8_bit_words(trial->n_spectra),
         sizeof *trial->valid},
        {&trial->gains, trial->n_gains, sizeof *trial->gains},
        {&trial->int8, trial->n_cells, int8 * sizeof *trial->int8},
        {&trial->fp32, trial->n_cells, floats * sizeof *trial->fp32},
        {&trial->wanted_fp32, trial->n_cells, sizeof *trial->wanted_fp32},
        {&trial->least_clips, trial->n_gains, sizeof(int64_t)},
        {&trial->most_clips, trial->n_gains, sizeof(int64_t)},
        {&trial->got.counts, trial->n_pairs, sizeof(int64_t)},
        {&trial->got.clips, trial->n_gains, sizeof(int64_t)},
        {&trial->got.moments, 2 * trial->n_gains,
         plan->has_moments * sizeof(double)},
        {&trial->wanted.counts, trial->n_pairs, sizeof(int64_t)},
        {&trial->wanted.clips, trial->n_gains, sizeof(int64_t)},
        {&trial->products, n_products, sizeof *trial->products},
        {&trial->flag_channel, channels, 1},
        {&trial->flag_input, inputs, 1},
        {&trial->flag_cell, trial->n_gains, 1},
    };
    struct fx8_array *next = trial->arrays + sizeof arrays / sizeof *arrays;
    memcpy(trial->arrays, arrays, sizeof arrays);
    for (size_t kind = 0; kind < FX8_N_RESULTS; kind++) {
        const bool is_planned = fx8_is_planned(plan, kind);
        const bool is_wanted = is_planned || kind == FX8_RESULT_FP32;
        const bool is_made = is_planned && kind < FX8_RESULT_DOWN;
        *next++ = (struct fx8_array){&trial->got.sums[kind], trial->n_sums,
                                     is_planned * sizeof(double)};
        *next++ = (struct fx8_array){&trial->wanted.sums[kind], trial->n_sums,
                                     is_wanted * sizeof(double)};
        fx8_list_result(&trial->made[kind], trial->n_results, is_made, next);
        next += FX8_RESULT_ARRAYS;
        fx8_list_result(&trial->again[kind], trial->n_results, is_made, next);
        next += FX8_RESULT_ARRAYS;
    }
    trial->n_arrays = (size_t)(next - trial->arrays);
    return fx8_allocate_arrays(trial->arrays, trial->n_arrays,
                               "the trial of an engine", error);
}

static void clear(struct fx8_trial *trial)
{
    trial->tried->close(&trial->engine);
    fx8_engine_cpu.close(&trial->cpu);
    fx8_free_arrays(trial->arrays, trial->n_arrays);
}

/* Products of equal polarisations first, whatever the polarisations are. */
/* The next number of a generator (Knuth, MMIX) below `end`. */
static unsigned random_below(uint64_t *state, unsigned end)
{
    *state =
        *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((*state >> 33) % end);
}

/* Samples of the full range; one spectrum in eight is invalid.  Levels from 8
 * to 71 steps: the number of clipped spectra varies with the channel. */
static void make_task(struct fx8_trial *trial)
{
    const struct fx8_engine_plan *plan = &trial->plan;
    const size_t n_words = fx8_bit_words(trial->n_spectra);
    uint64_t state = 1;
    double power = 0.0;
    for (size_t k = 0; k < plan->n_inputs * trial->row_stride; k++)
        trial->samples[k] = (int8_t)((int)random_below(&state, 256) - 128);
    for (size_t k = 0; k < plan->n_inputs * trial->n_spectra; k++)
        if (random_below(&state, 8) > 0)
            fx8_bit_set(trial->valid + k / trial->n_spectra * n_words,
                        k % trial->n_spectra);
    const size_t n_weights =
        plan->bank.n_taps * fx8_filterbank_row(&plan->bank);
    for (size_t k = 0; plan->coefficients != NULL && k < n_weights; k++)
        power += (double)plan->coefficients[k] * (double)plan->coefficients[k];
    /* of a component of a spectrum; samples are uniform in -128 .. 127 */
    const double rms = 74.0 * sqrt(power / 2.0);
    for (size_t k = 0; k < trial->n_gains; k++) {
        trial->gains[k] =
            (float)((8.0 + (double)random_below(&state, 64)) / rms);
        trial->flag_cell[k] = random_below(&state, 16) == 0;
    }
    for (size_t k = 0; k < plan->bank.n_channels; k++)
        trial->flag_channel[k] = random_below(&state, 8) == 0;
    trial->flag_input[0] = plan->n_inputs > 2;
}

/* --- the trial ------------------------------------------------------------ */

static enum fx8_status try_one(const struct fx8_engine_operations *tried,
                               const struct fx8_engine_plan *plan,
                               const int *device, struct fx8_error *error)
{
    struct fx8_trial trial = {.tried = tried};
    plan_trial(&trial, plan);
    trial.plan.devices = device;
    trial.plan.n_devices = device != NULL;
    enum fx8_status status = open_engines(&trial, error);
    if (status == FX8_OK)
        status = allocate(&trial, error);
    if (status == FX8_OK) {
        make_task(&trial);
        if (trial.plan.n_result_antennas > 0)
            fx8_baseline_table(trial.plan.n_result_antennas,
                               trial.plan.n_inputs /
                                   trial.plan.n_result_antennas,
                               trial.products);
        status = fx8_trial_spectra(&trial, error);
    }
    if (status == FX8_OK)
        status = fx8_trial_sums(&trial, error);
    if (status == FX8_OK && trial.n_results > 0 && tried->end_dump != NULL &&
        (plan->precisions & FX8_PRECISION_BOTH) != 0)
        status = fx8_trial_results(&trial, error);
    clear(&trial);
    return status;
}

enum fx8_status fx8_engine_trial(const struct fx8_engine_operations *tried,
                                 const struct fx8_engine_plan *plan,
                                 struct fx8_error *error)
{
    if (fx8_engine_trial_deadline() <= 0.0)
        return FX8_OK;
    if (plan->n_devices == 0)
        return try_one(tried, plan, NULL, error);
    for (size_t k = 0; k < plan->n_devices; k++)
        FX8_TRY(try_one(tried, plan, &plan->devices[k], error));
    return FX8_OK;
}
