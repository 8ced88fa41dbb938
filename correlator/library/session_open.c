/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_open.c -- opens and closes a session: engine, stream.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/library/plan.h"
#include "correlator/library/session_private.h"
#include "kernels/baseline.h"
#include "kernels/engine_find.h"

/* --- engines --------------------------------------------------------------
 */

static void close_engines(struct fx8_session *s)
{
    /* close the first last: it pinned the memory that all of them copy */
    for (size_t band = s->plan.n_bands; s->engines != NULL && band > 0; band--)
        if (s->engines[band - 1] != NULL)
            s->operations->close(&s->engines[band - 1]);
}

/* A key of the dither: the same whichever bands a session has. */
static uint32_t band_hz(const struct fx8_plan *plan, size_t band)
{
    const double offset =
        plan->band_offset_hz == NULL ? 0.0 : plan->band_offset_hz[band];
    return (uint32_t)(int64_t)fmod(rint(plan->dc_frequency_hz + offset),
                                   0x1p32);
}

/* Open an engine per band, all of the same kind. */
static enum fx8_status open_alike(struct fx8_session *s,
                                  enum fx8_engine_wish wish,
                                  struct fx8_engine_plan *plan,
                                  struct fx8_error *error)
{
    struct fx8_engine_found found;
    plan->n_engines = s->plan.n_bands;
    for (size_t band = 0; band < s->plan.n_bands; band++) {
        plan->n_opened = band;
        plan->band_hz = band_hz(&s->plan, band);
        const enum fx8_status status =
            fx8_engine_open(wish, plan, &found, error);
        if (status != FX8_OK) {
            close_engines(s);
            return status;
        }
        s->engines[band] = found.engine;
        if (band > 0)
            continue;
        s->operations = found.operations;
        memcpy(s->reason, found.reason, sizeof s->reason);
        s->is_spare = found.is_spare;
        wish = found.operations == &fx8_engine_cpu ? FX8_ENGINE_CPU
                                                   : FX8_ENGINE_CUDA;
    }
    return FX8_OK;
}

/* With FX8_BACKEND_AUTO, use the CPU if a GPU fails to take all bands. */
static enum fx8_status open_engines(struct fx8_session *s,
                                    struct fx8_engine_plan *plan,
                                    struct fx8_error *error)
{
    static const enum fx8_engine_wish wishes[] = {
        [FX8_BACKEND_AUTO] = FX8_ENGINE_ANY,
        [FX8_BACKEND_CPU] = FX8_ENGINE_CPU,
        [FX8_BACKEND_CUDA] = FX8_ENGINE_CUDA,
    };
    const enum fx8_engine_wish wish = wishes[s->plan.machine.backend];
    struct fx8_error why;
    const enum fx8_status status = open_alike(s, wish, plan, &why);
    if (status == FX8_OK)
        return FX8_OK;
    if (wish != FX8_ENGINE_ANY || s->operations == NULL ||
        s->operations == &fx8_engine_cpu ||
        strcmp(plan->machine.kernel, "auto") != 0)
        return fx8_fail(error, status, "%s", why.message);
    const enum fx8_status on_cpu = open_alike(s, FX8_ENGINE_CPU, plan, error);
    snprintf(s->reason, sizeof s->reason, "%.*s", (int)sizeof s->reason - 1,
             why.message);
    s->is_spare = true;
    return on_cpu;
}

/* Open engines; fail if the session as a whole exceeds the limit. */
static enum fx8_status open_within_limit(struct fx8_session *s,
                                         struct fx8_engine_plan *plan,
                                         struct fx8_error *error)
{
    FX8_TRY(open_engines(s, plan, error));
    size_t engines = 0;
    for (size_t band = 0; band < s->plan.n_bands; band++)
        engines += s->operations->facts(s->engines[band])->memory;
    const enum fx8_status status = fx8_session_check_memory(s, engines, error);
    if (status != FX8_OK)
        close_engines(s);
    return status;
}

static enum fx8_status plan_engines(struct fx8_session *s,
                                    struct fx8_error *error)
{
    const struct fx8_plan *plan = &s->plan;
    const struct fx8_filterbank bank = s->bank;
    const bool has_results = !fx8_session_needs_sums(s);
    int devices[FX8_MAX_DEVICES];
    size_t n_devices;
    FX8_AUTO_FREE float *coefficients = NULL;
    FX8_TRY(
        fx8_engine_devices(plan->machine.device, devices, &n_devices, error));
    FX8_TRY(fx8_allocate(bank.n_taps * fx8_filterbank_row(&bank),
                         sizeof *coefficients, "filter coefficients",
                         &coefficients, error));
    fx8_filterbank_coefficients(&bank, s->weights, plan->lower_sideband,
                                plan->first_sample % 2 != 0, coefficients);
    struct fx8_engine_plan engine_plan = {
        .bank = bank,
        .coefficients =
            plan->channelizer.method == FX8_METHOD_NONE ? NULL : coefficients,
        .n_inputs = s->axes.n_inputs,
        .needed = s->needed,
        .spectra_per_dump = plan->spectra_per_dump,
        .margin = s->axes.margin,
        .has_moments = plan->sk_false_alarm > 0.0,
        .precisions = (unsigned)plan->precision,
        .channelizer = plan->channelizer,
        .quantizer = plan->quantizer,
        .machine = plan->machine,
        .devices = devices,
        .n_devices = n_devices,
        .admit = fx8_session_admit,
        .admit_context = s,
        .n_result_antennas = has_results ? plan->n_antennas : 0,
        .n_result_products = s->axes.n_products,
        .channel_average = s->axes.band_average,
        .consumed_channels =
            has_results && plan->quicklook ? s->axes.n_channels : 0,
        .n_watched_inputs = plan->machine.spot_check == FX8_SPOT_NO
                                ? 0
                                : fx8_spot_inputs(&s->axes),
    };
    FX8_TRY(open_within_limit(s, &engine_plan, error));
    return s->axes.has_quantiser
               ? fx8_power_open(&bank, coefficients,
                                s->operations->facts(s->engines[0])->operations,
                                plan->machine.threads.count, &s->power, error)
               : FX8_OK;
}

static void set_up_results(struct fx8_session *s)
{
    const struct fx8_plan *plan = &s->plan;
    fx8_session_set_slice(s, 0);
    fx8_plan_flag_channels(plan, s->flag_channel);
    s->postprocess = (struct fx8_postprocess){
        .operations = s->operations->facts(s->engines[0])->operations,
        .n_antennas = plan->n_antennas,
        .n_products = s->axes.n_products,
        .n_inputs = s->axes.n_inputs,
        .n_channels = s->axes.n_kept,
        .row_channels = s->axes.n_fine,
        .channel_average = s->axes.band_average,
        .products = s->products,
        .spectra_per_dump = plan->spectra_per_dump,
        .remove_bias = plan->quantizer.remove_bias,
        .has_dither = plan->quantizer.dither,
        .adds_flags = plan->min_weight > 0.0,
        .first_is_real = fx8_session_has_real(s),
        /* without a filter bank, samples were not conjugated */
        .negate_imaginary =
            plan->channelizer.method == FX8_METHOD_NONE && plan->lower_sideband,
        .threads = plan->machine.threads,
    };
}

static void set_up_spot(struct fx8_session *s)
{
    const struct fx8_plan *plan = &s->plan;
    const bool is_on = plan->machine.spot_check == FX8_SPOT_AUTO
                           ? s->operations != &fx8_engine_cpu
                           : plan->machine.spot_check == FX8_SPOT_YES;
    s->spots[0] = (struct fx8_spot){
        .n_pairs = is_on ? fx8_spot_pairs(&s->axes) : 0,
        .precisions = (unsigned)plan->precision,
        .n_inputs = s->axes.n_inputs,
        .n_polarizations = plan->n_polarizations,
        .n_channels = s->axes.n_kept,
        .n_bands = plan->n_bands,
        .needed = s->needed,
    };
    s->spots[1] = s->spots[0];
}

static enum fx8_status open_stream(struct fx8_session *s,
                                   struct fx8_error *error)
{
    struct fx8_stream_shape shape = fx8_session_stream_shape(
        s, s->operations, s->operations->facts(s->engines[0])->block_spectra);
    shape.operations = s->operations->facts(s->engines[0])->operations;
    s->kept.shape = shape;
    s->kept.limit = s->plan.machine.memory_limit == 0
                        ? SIZE_MAX
                        : s->plan.machine.memory_limit - s->memory - s->beside;
    return fx8_stream_open(&shape, s->plan.first_sample, &s->stream, error);
}

/* Pin the memory that engines copy from and to. */
static void pin_memory(struct fx8_session *s)
{
    if (s->operations->pin == NULL)
        return;
    const size_t n_cells = fx8_session_cells(s);
    s->operations->pin(s->engines[0], fx8_stream_memory(s->stream),
                       fx8_stream_size(&s->kept.shape));
    for (enum fx8_result_kind kind = 0; kind < FX8_RESULT_DOWN; kind++) {
        const struct fx8_result *result = &s->results[kind];
        if (result->visibilities == NULL)
            continue;
        s->operations->pin(s->engines[0], result->visibilities,
                           n_cells * 2 * sizeof(float));
        s->operations->pin(s->engines[0], result->nsamples,
                           n_cells * sizeof(float));
        s->operations->pin(s->engines[0], result->flags, n_cells);
    }
}

/* Blocks of inputs by blocks of inputs, and on the diagonal. */
static size_t count_blocks(const struct fx8_session *s)
{
    const size_t n = fx8_round_up(s->axes.n_inputs, FX8_ROW_BLOCK);
    return fx8_pair_count(n / FX8_ROW_BLOCK);
}

/* Mark the pairs of inputs of the baselines that are delivered. */
static void mark_needed(struct fx8_session *s)
{
    const size_t n = s->plan.n_polarizations;
    for (size_t row = 0; row < s->plan.n_baselines; row++) {
        size_t a, b;
        fx8_baseline_antennas(s->plan.n_antennas, s->baselines[row], &a, &b);
        for (size_t i = n * a; i < n * (a + 1); i++)
            for (size_t j = n * b; j < n * (b + 1); j++)
                s->needed[fx8_pair_index(i / FX8_ROW_BLOCK,
                                         j / FX8_ROW_BLOCK)] = 1;
    }
}

/* Copy the plan, with the arrays used after fx8_open(). */
static enum fx8_status copy_plan(struct fx8_session *s,
                                 const struct fx8_plan *plan,
                                 struct fx8_error *error)
{
    s->plan = *plan;
    if (s->plan.machine.threads.count == 0)
        s->plan.machine.threads.count = fx8_parallel_cpus();
    const bool has_gains = plan->input_gain != NULL;
    const bool has_choice = plan->baselines != NULL;
    const bool has_ripple = plan->ripple != NULL;
    const struct fx8_array arrays[] = {
        {&s->baselines, plan->n_baselines, has_choice * sizeof *s->baselines},
        {&s->needed, count_blocks(s), has_choice},
        FX8_ITEMS(s->engines, plan->n_bands),
        FX8_ITEMS(s->flag_antenna, plan->n_antennas),
        {&s->input_gain, s->axes.n_rows, has_gains * sizeof *s->input_gain},
        {&s->ripple, s->axes.n_fine, has_ripple * sizeof *s->ripple},
    };
    FX8_TRY(fx8_allocate_arrays(arrays, sizeof arrays / sizeof *arrays, "plan",
                                error));
    if (plan->flag_antenna != NULL)
        memcpy(s->flag_antenna, plan->flag_antenna, plan->n_antennas);
    if (has_choice) {
        memcpy(s->baselines, plan->baselines,
               plan->n_baselines * sizeof *s->baselines);
        mark_needed(s);
    }
    /* products of two floats are exact */
    for (size_t row = 0; has_gains && row < s->axes.n_rows; row++)
        s->input_gain[row] = (float)plan->input_gain[row];
    if (has_ripple)
        memcpy(s->ripple, plan->ripple, s->axes.n_fine * sizeof *s->ripple);
    s->plan.flag_antenna = s->flag_antenna;
    s->plan.input_gain = s->input_gain;
    s->plan.ripple = s->ripple;
    s->plan.baselines = s->baselines;
    return FX8_OK;
}

enum fx8_status fx8_open(const struct fx8_plan *plan,
                         fx8_dump_callback *callback, void *context,
                         struct fx8_session **session, struct fx8_error *error)
{
    if (session == NULL)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "session: NULL: expected room for a handle");
    *session = NULL;
    if (plan == NULL)
        return fx8_fail(error, FX8_ERR_USAGE, "plan: NULL: expected one");
    struct fx8_axes axes;
    struct fx8_filterbank bank;
    FX8_AUTO_FREE double *weights = NULL;
    FX8_AUTO(fx8_close) struct fx8_session *s = NULL;
    FX8_TRY(fx8_plan_derive(plan, &axes, &bank, &weights, error));
    FX8_TRY(fx8_allocate(1, sizeof *s, "session", &s, error));
    s->axes = axes;
    s->bank = bank;
    s->weights = weights;
    s->end_dump = INT64_MAX;
    s->slice_baselines = fx8_baseline_count(plan->n_antennas);
    s->callback = callback;
    s->context = context;
    FX8_TRY(copy_plan(s, plan, error));
    if (fx8_plan_has_delays(plan))
        FX8_TRY(fx8_tracker_open(plan, &axes, &bank, &s->tracker, error));
    FX8_TRY(plan_engines(s, error));
    FX8_TRY(fx8_session_allocate(s, error));
    FX8_TRY(open_stream(s, error));
    pin_memory(s);
    set_up_results(s);
    set_up_spot(s);
    if (s->axes.has_quantiser)
        FX8_TRY(fx8_gains_open(s, &s->gains, error));
    FX8_TRY(fx8_session_quicklook_open(s, error));
    FX8_TRY(fx8_few_bits_open(&s->plan, s->axes.n_rows, &s->few_bits, error));
    /* the caller's, or needed only so far */
    s->plan.machine.kernel = s->plan.machine.device = NULL;
    s->plan.band_offset_hz = s->plan.delays.turns = NULL;
    s->plan.flag_channel = NULL;
    s->weights = NULL;
    *session = s;
    s = NULL;
    return FX8_OK;
}

void fx8_close(struct fx8_session **session)
{
    struct fx8_session *s = *session;
    if (s == NULL || s->is_delivering) /* still in use by its caller */
        return;
    close_engines(s);
    fx8_stream_close(&s->stream);
    fx8_tracker_close(&s->tracker);
    fx8_kept_clear(&s->kept);
    fx8_gains_close(&s->gains);
    fx8_power_close(&s->power);
    fx8_session_quicklook_close(s);
    fx8_few_bits_close(&s->few_bits);
    fx8_session_free(s);
    free(s->engines);
    free(s->flag_antenna);
    free(s->input_gain);
    free(s->ripple);
    free(s->baselines);
    free(s->needed);
    free(s);
    *session = NULL;
}
