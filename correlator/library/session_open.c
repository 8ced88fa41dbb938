/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_open.c -- opens and closes a session: engine, stream, memory.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/parallel.h"
#include "config/base/dump_arrays.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/library/plan.h"
#include "correlator/library/session_private.h"
#include "kernels/baseline.h"
#include "kernels/engine_find.h"

/* A stream for engine blocks of block_spectra.  Engines that pin memory may
 * still copy one block while the next is gathered: two sets.  The caller sets
 * shape.operations. */
static struct fx8_stream_shape stream_shape(
    const struct fx8_session *s, const struct fx8_engine_operations *operations,
    size_t block_spectra)
{
    const struct fx8_plan *plan = &s->plan;
    return (struct fx8_stream_shape){
        .n_inputs = s->axes.n_rows,
        .sample_size = plan->is_complex ? 2 : 1,
        .step = (int64_t)s->axes.step,
        .window = (int64_t)s->axes.window,
        .tracker = s->tracker,
        .margin = (int64_t)s->axes.margin,
        .n_delays = s->axes.n_inputs,
        .most_spectra = block_spectra,
        .has_two = operations->pin != NULL,
        .marker = plan->marker,
        .blanking = plan->blanking,
        .threads = plan->machine.threads,
    };
}

/* --- memory ---------------------------------------------------------------
 */

/* Size of the list of list_arrays(). */
enum { N_ARRAYS = 32 };

/* List sums and results of every precision, [n_sums] and [n_cells]; size 0 if
 * not planned, and for sums that stay in an engine.  Returns the number of
 * arrays. */
static size_t list_results(struct fx8_session *s,
                           const struct fx8_engine_operations *operations,
                           size_t n_sums, size_t n_cells,
                           struct fx8_array *arrays)
{
    size_t n = 0;
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++) {
        const bool is_planned = s->plan.precision >> kind & 1;
        const bool has_sums =
            is_planned &&
            (fx8_session_has_sums(s, operations) || kind >= FX8_RESULT_DOWN);
        arrays[n++] = (struct fx8_array){&s->band.sums[kind], n_sums,
                                         has_sums * sizeof(double)};
        fx8_list_result(&s->results[kind], n_cells, is_planned, arrays + n);
        n += FX8_RESULT_ARRAYS;
    }
    return n;
}

/* Cells of the results of a slice, before bands are averaged. */
static size_t count_cells(const struct fx8_session *s)
{
    return fx8_product(s->slice_baselines, s->axes.n_products,
                       s->axes.n_fine / s->axes.band_average, 1);
}

/* Pairs of inputs of a slice: a baseline has at most one for each product. */
static size_t count_pairs(const struct fx8_session *s)
{
    const size_t most = s->slice_baselines * s->axes.n_products;
    const size_t all = fx8_pair_count(s->axes.n_inputs);
    return most < all ? most : all;
}

/* List the session's own arrays for engines of these operations; returns their
 * number. */
static size_t list_arrays(struct fx8_session *s,
                          const struct fx8_engine_operations *operations,
                          size_t block_spectra,
                          struct fx8_array arrays[N_ARRAYS])
{
    const size_t inputs = s->axes.n_inputs, rows = s->axes.n_rows,
                 kept = s->axes.n_kept;
    const size_t baselines = s->slice_baselines;
    const size_t products = s->axes.n_products;
    const size_t pairs = count_pairs(s);
    const bool has_sk = s->plan.sk_false_alarm > 0.0;
    const struct fx8_array fixed[] = {
        FX8_ITEMS(s->products, baselines * products),
        {&s->flag_channel, s->axes.n_fine, 1},
        {&s->flag_input, rows, 1},
        FX8_ITEMS(s->band.counts, pairs),
        FX8_ITEMS(s->band.clips, fx8_product(inputs, kept, 1, 1)),
        FX8_ITEMS(s->valid,
                  fx8_product(rows, fx8_bit_words(block_spectra), 1, 1)),
        {&s->rotations, fx8_product(rows, fx8_groups(block_spectra), 1, 1),
         s->tracker != NULL ? sizeof *s->rotations : 0},
        {&s->band.moments, fx8_product(inputs, kept, 2, 1),
         has_sk * sizeof(double)},
        {&s->flag_sk, fx8_product(inputs, s->axes.n_fine, 1, 1), has_sk},
        {&s->flag_cell, fx8_product(inputs, s->axes.n_fine, 1, 1), has_sk},
        FX8_ITEMS(s->valid_in_dump, rows),
        FX8_ITEMS(s->valid_of_dump, rows),
        FX8_ITEMS(s->has_signal, rows),
        {&s->dead, rows, 1},
        FX8_ITEMS(s->clips, fx8_product(rows, kept, 1, 1)),
        FX8_ITEMS(s->valid_spectra, rows),
    };
    const size_t n = sizeof fixed / sizeof *fixed;
    _Static_assert(sizeof fixed / sizeof *fixed +
                           FX8_N_RESULTS * (1 + FX8_RESULT_ARRAYS) ==
                       N_ARRAYS,
                   "as many as are listed");
    memcpy(arrays, fixed, sizeof fixed);
    return n + list_results(s, operations, fx8_product(kept, pairs, 2, 1),
                            count_cells(s), arrays + n);
}

/* a + b; SIZE_MAX on overflow. */
static size_t plus(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

/* Bytes that a session needs. */
struct need {
    size_t spectra; /* engines and gains */
    size_t samples;
    size_t results;
};

static size_t sum_of(const struct need *need)
{
    return plus(plus(need->spectra, need->samples), need->results);
}

/* With engines of these operations that need `engines` bytes.  Gains need a
 * copy of the samples to look ahead. */
static struct need find_need(struct fx8_session *s,
                             const struct fx8_engine_operations *operations,
                             size_t engines, size_t block_spectra)
{
    const struct fx8_stream_shape stream =
        stream_shape(s, operations, block_spectra);
    struct fx8_stream_shape ahead = stream;
    ahead.has_two = false;
    const bool has_levels = s->axes.has_quantiser;
    struct fx8_array arrays[N_ARRAYS];
    const size_t n = list_arrays(s, operations, block_spectra, arrays);
    const size_t delays = s->tracker != NULL ? fx8_tracker_size(&s->axes) : 0;
    struct need need = {
        .spectra = engines,
        .samples = plus(plus(fx8_stream_size(&stream), delays),
                        has_levels ? fx8_stream_size(&ahead) : 0),
        .results = plus(
            plus(fx8_arrays_size(arrays, n), fx8_session_quicklook_size(s)),
            fx8_few_bits_size(&s->plan, s->axes.n_rows)),
    };
    if (has_levels)
        need.spectra =
            plus(plus(engines, fx8_gains_size(s)),
                 fx8_power_size(&s->bank, s->plan.machine.threads.count));
    return need;
}

static size_t whole_mib(size_t bytes)
{
    return (bytes >> 20) + (bytes % ((size_t)1 << 20) != 0);
}

/* Report the smallest sufficient limit and its parts, in whole MiB that add up.
 */
static enum fx8_status refuse(const struct need *need, const char *reason,
                              struct fx8_error *error)
{
    const size_t spectra = whole_mib(need->spectra);
    const size_t with_samples = whole_mib(plus(need->spectra, need->samples));
    const size_t all = whole_mib(sum_of(need));
    return fx8_fail(error, FX8_ERR_USAGE,
                    "plan: memory_limit: expected at least %zu MiB: %zu for "
                    "spectra, levels and sums, %zu for samples, %zu for "
                    "results%s",
                    all, spectra, with_samples - spectra, all - with_samples,
                    reason);
}

/* Choose slices as large as `most` bytes allow, or the smallest ones. */
static void choose_slices(struct fx8_session *s, size_t engines,
                          size_t block_spectra, size_t most)
{
    size_t fits = fx8_slices_least(s->plan.n_antennas);
    size_t beyond = s->slice_baselines;
    while (fits + 1 < beyond) {
        s->slice_baselines = fits + (beyond - fits) / 2;
        const struct need need =
            find_need(s, &fx8_engine_cpu, engines, block_spectra);
        *(sum_of(&need) <= most ? &fits : &beyond) = s->slice_baselines;
    }
    s->slice_baselines = fits;
}

/* Called by the CPU engine before it allocates: check the limit for engines of
 * all bands and everything else, and deliver dumps in slices if it asks for
 * that. */
static enum fx8_status admit(void *context, size_t bytes, size_t block_spectra,
                             struct fx8_error *error)
{
    struct fx8_session *s = context;
    const size_t engines = fx8_product(bytes, s->plan.n_bands, 1, 1);
    const size_t slices_above = s->plan.machine.slices_above;
    struct need need = find_need(s, &fx8_engine_cpu, engines, block_spectra);
    if (slices_above > 0 && sum_of(&need) > slices_above) {
        choose_slices(s, engines, block_spectra, slices_above);
        need = find_need(s, &fx8_engine_cpu, engines, block_spectra);
    }
    return s->plan.machine.memory_limit == 0 ||
                   sum_of(&need) <= s->plan.machine.memory_limit
               ? FX8_OK
               : refuse(&need, "", error);
}

static enum fx8_status allocate(struct fx8_session *s, struct fx8_error *error)
{
    struct fx8_array arrays[N_ARRAYS];
    const size_t n =
        list_arrays(s, s->operations,
                    s->operations->facts(s->engines[0])->block_spectra, arrays);
    return fx8_allocate_arrays(arrays, n, "results", error);
}

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
    const size_t limit = s->plan.machine.memory_limit;
    FX8_TRY(open_engines(s, plan, error));
    size_t engines = 0;
    for (size_t band = 0; band < s->plan.n_bands; band++)
        engines = plus(engines, s->operations->facts(s->engines[band])->memory);
    const struct need need =
        find_need(s, s->operations, engines,
                  s->operations->facts(s->engines[0])->block_spectra);
    s->memory = sum_of(&need);
    if (limit == 0 || s->memory <= limit)
        return FX8_OK;
    close_engines(s);
    return refuse(&need,
                  s->plan.machine.slices_above > 0 &&
                          s->operations->end_dump != NULL
                      ? "; the CPU takes less: it can deliver slices of dumps"
                      : "",
                  error);
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
        .admit = admit,
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
    struct fx8_stream_shape shape = stream_shape(
        s, s->operations, s->operations->facts(s->engines[0])->block_spectra);
    shape.operations = s->operations->facts(s->engines[0])->operations;
    s->kept.shape = shape;
    s->kept.limit = s->plan.machine.memory_limit == 0
                        ? SIZE_MAX
                        : s->plan.machine.memory_limit - s->memory;
    return fx8_stream_open(&shape, s->plan.first_sample, &s->stream, error);
}

/* Pin the memory that engines copy from and to. */
static void pin_memory(struct fx8_session *s)
{
    if (s->operations->pin == NULL)
        return;
    const size_t n_cells = count_cells(s);
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
    FX8_TRY(allocate(s, error));
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
    struct fx8_array arrays[N_ARRAYS];
    const size_t n = list_arrays(s, &fx8_engine_cpu, 0, arrays);
    fx8_free_arrays(arrays, n);
    free(s->engines);
    free(s->flag_antenna);
    free(s->input_gain);
    free(s->ripple);
    free(s->baselines);
    free(s->needed);
    free(s);
    *session = NULL;
}
