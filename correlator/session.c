/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.c -- one correlation from samples to dumps: the stream aligns, the
 * levels set gains, an engine channelises and correlates, and each finished
 * dump is post-processed and handed to the caller.
 *
 * A dump depends on the plan, the gains and its own samples alone: spectra are
 * cut into engine blocks from the start of their dump, whatever the blocks
 * that were pushed.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "config/shape.h"
#include "correlator/baseline.h"
#include "correlator/fx8.h"
#include "correlator/levels.h"
#include "correlator/plan.h"
#include "correlator/stream.h"
#include "kernels/clock.h"
#include "kernels/engine.h"
#include "kernels/parallel.h"
#include "kernels/postprocess.h"

/* Results of one precision, [n_baselines][n_channels][n_products]. */
struct buffers {
    float *visibilities;
    uint8_t *flags;
    float *nsamples;
};

struct fx8_session {
    struct fx8_plan plan;
    uint8_t *flag_antenna; /* [n_antennas], the copy that plan points to */
    char kernel[64];
    size_t n_inputs;
    size_t n_out; /* cells of a result */
    fx8_dump_callback *callback;
    void *context;
    const struct fx8_engine_operations *operations;
    struct fx8_engine *engine;
    struct fx8_stream *stream;
    struct fx8_levels *levels; /* NULL: no quantiser */
    struct fx8_postprocess results;
    struct fx8_product *products;
    uint8_t *flag_channel, *flag_input;
    struct fx8_engine_dump sums;
    struct buffers int8, fp32;
    uint64_t *valid;        /* [n_inputs][words of a block] */
    int64_t *valid_in_dump; /* [n_inputs] */
    bool *has_signal;       /* [n_inputs] in this dump */
    uint8_t *dead;          /* [n_inputs] */
    int64_t *clips;         /* [n_inputs][n_channels] */
    int64_t *valid_spectra; /* [n_inputs] */
    int64_t dump;           /* index of the current dump */
    int64_t position;       /* spectra of it that are done */
    struct fx8_statistics statistics;
    atomic_bool is_cancelled;
};

/* --- opening ---------------------------------------------------------------
 */

/* One array of the session: where its pointer stands and how much it holds. */
struct array {
    void *memory; /* address of the pointer */
    size_t n_items, item_size;
    bool wanted;
};

static enum fx8_status allocate(struct fx8_session *s, size_t block_spectra,
                                struct fx8_error *error)
{
    const struct fx8_plan *plan = &s->plan;
    const size_t inputs = s->n_inputs, channels = plan->n_channels;
    const size_t pairs = fx8_pair_count(inputs);
    const size_t baselines = fx8_baseline_count(plan->n_antennas);
    const size_t products = fx8_baseline_products(plan->n_polarizations);
    const size_t out =
        fx8_product(baselines, products, channels / plan->channel_average, 1);
    const size_t sums = fx8_product(channels, pairs, 2, 1);
    const size_t cells = fx8_product(inputs, channels, 1, 1);
    const bool int8 = (plan->precision & FX8_PRECISION_INT8) != 0;
    const bool fp32 = (plan->precision & FX8_PRECISION_FP32) != 0;
    s->n_out = out;
    const struct array arrays[] = {
        {&s->products, baselines * products, sizeof *s->products, true},
        {&s->flag_channel, channels, 1, true},
        {&s->flag_input, inputs, 1, true},
        {&s->sums.sums_int8, sums, sizeof(int64_t), int8},
        {&s->sums.sums_fp32, sums, sizeof(double), fp32},
        {&s->sums.counts, pairs, sizeof(int64_t), true},
        {&s->sums.clips, cells, sizeof(int64_t), true},
        {&s->int8.visibilities, fx8_product(out, 2, 1, 1), sizeof(float), int8},
        {&s->int8.flags, out, 1, int8},
        {&s->int8.nsamples, out, sizeof(float), int8},
        {&s->fp32.visibilities, fx8_product(out, 2, 1, 1), sizeof(float), fp32},
        {&s->fp32.flags, out, 1, fp32},
        {&s->fp32.nsamples, out, sizeof(float), fp32},
        {&s->valid, fx8_product(inputs, fx8_bit_words(block_spectra), 1, 1),
         sizeof(uint64_t), true},
        {&s->valid_in_dump, inputs, sizeof(int64_t), true},
        {&s->has_signal, inputs, sizeof(bool), true},
        {&s->dead, inputs, 1, true},
        {&s->clips, cells, sizeof(int64_t), true},
        {&s->valid_spectra, inputs, sizeof(int64_t), true},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        if (!arrays[i].wanted)
            continue;
        void *memory;
        const enum fx8_status status = fx8_allocate(
            arrays[i].n_items, arrays[i].item_size, "results", &memory, error);
        if (status != FX8_OK)
            return status;
        memcpy(arrays[i].memory, &memory, sizeof memory);
    }
    return FX8_OK;
}

static enum fx8_status open_engine(struct fx8_session *s,
                                   struct fx8_error *error)
{
    const struct fx8_plan *plan = &s->plan;
    if (plan->backend == FX8_BACKEND_CUDA)
        return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                        "correlator.backend: cuda: this build has no CUDA "
                        "engine: expected cpu or auto");
    const struct fx8_filterbank bank = fx8_plan_filterbank(plan);
    const size_t n_weights = fx8_samples_per_window(plan);
    double *weights = NULL;
    float *coefficients = NULL;
    void *memory;
    enum fx8_status status = fx8_allocate(n_weights, sizeof *weights,
                                          "filter weights", &memory, error);
    if (status != FX8_OK)
        return status;
    weights = memory;
    status = fx8_allocate(bank.n_taps * fx8_filterbank_row(&bank),
                          sizeof *coefficients, "coefficients", &memory, error);
    if (status != FX8_OK)
        goto done;
    coefficients = memory;
    fx8_plan_weights(plan, weights);
    fx8_filterbank_coefficients(&bank, weights, plan->lower_sideband,
                                plan->first_sample % 2 != 0, coefficients);
    const struct fx8_engine_plan engine_plan = {
        .bank = bank,
        .coefficients = plan->method == FX8_METHOD_NONE ? NULL : coefficients,
        .n_inputs = s->n_inputs,
        .spectra_per_dump = plan->spectra_per_dump,
        .precisions = (unsigned)plan->precision,
        .kernel = plan->kernel,
        .n_threads = plan->n_threads,
        .pin_threads = plan->pin_threads,
        .measure_fft = plan->measure_fft,
        .memory_limit = plan->memory_limit,
    };
    s->operations = &fx8_engine_cpu;
    status = s->operations->open(&engine_plan, &s->engine, error);
done:
    free(weights);
    free(coefficients);
    return status;
}

static void set_up_results(struct fx8_session *s)
{
    const struct fx8_plan *plan = &s->plan;
    fx8_baseline_table(plan->n_antennas, plan->n_polarizations, s->products);
    fx8_plan_flag_channels(plan, s->flag_channel);
    s->results = (struct fx8_postprocess){
        .n_antennas = plan->n_antennas,
        .n_products = fx8_baseline_products(plan->n_polarizations),
        .n_inputs = s->n_inputs,
        .n_channels = plan->n_channels,
        .channel_average = plan->channel_average,
        .products = s->products,
        .spectra_per_dump = plan->spectra_per_dump,
        .flag_channel = s->flag_channel,
        .flag_input = s->flag_input,
        .remove_bias = plan->remove_quantization_bias,
        /* without a filter bank nothing conjugated the samples */
        .negate_imaginary =
            plan->method == FX8_METHOD_NONE && plan->lower_sideband,
        .n_threads = plan->n_threads,
        .pin_threads = plan->pin_threads,
    };
}

static enum fx8_status open_stream(struct fx8_session *s,
                                   struct fx8_error *error)
{
    const struct fx8_plan *plan = &s->plan;
    const struct fx8_stream_shape shape = {
        .n_inputs = s->n_inputs,
        .sample_size = plan->is_complex ? 2 : 1,
        .step = (int64_t)fx8_samples_per_spectrum(plan),
        .window = (int64_t)fx8_samples_per_window(plan),
        .most_spectra = s->operations->block_spectra(s->engine),
        .has_marker = plan->has_marker,
        .marker_value = plan->marker_value,
        .marker_run = plan->marker_run,
        .n_threads = plan->n_threads,
        .pin_threads = plan->pin_threads,
        .operations = s->operations->operations(s->engine),
    };
    return fx8_stream_open(&shape, plan->first_sample, &s->stream, error);
}

static enum fx8_status copy_plan(struct fx8_session *s,
                                 const struct fx8_plan *plan,
                                 struct fx8_error *error)
{
    s->plan = *plan;
    s->n_inputs = fx8_plan_inputs(plan);
    if (s->plan.n_threads == 0)
        s->plan.n_threads = fx8_parallel_cpus();
    strncpy(s->kernel, plan->kernel, sizeof s->kernel - 1);
    s->plan.kernel = s->kernel;
    void *memory;
    const enum fx8_status status = fx8_allocate(
        plan->n_antennas, sizeof *s->flag_antenna, "plan", &memory, error);
    if (status != FX8_OK)
        return status;
    s->flag_antenna = memory;
    if (plan->flag_antenna != NULL)
        memcpy(s->flag_antenna, plan->flag_antenna, plan->n_antennas);
    s->plan.flag_antenna = s->flag_antenna;
    return FX8_OK;
}

enum fx8_status fx8_open(const struct fx8_plan *plan,
                         fx8_dump_callback *callback, void *context,
                         struct fx8_session **session, struct fx8_error *error)
{
    *session = NULL;
    enum fx8_status status = fx8_plan_check(plan, error);
    if (status != FX8_OK)
        return status;
    void *memory;
    status =
        fx8_allocate(1, sizeof(struct fx8_session), "session", &memory, error);
    if (status != FX8_OK)
        return status;
    struct fx8_session *s = memory;
    s->callback = callback;
    s->context = context;
    if ((status = copy_plan(s, plan, error)) != FX8_OK ||
        (status = open_engine(s, error)) != FX8_OK ||
        (status = open_stream(s, error)) != FX8_OK ||
        (status = allocate(s, s->operations->block_spectra(s->engine),
                           error)) != FX8_OK)
        goto fail;
    set_up_results(s);
    if (fx8_plan_has_quantiser(plan)) {
        const struct fx8_levels_shape shape = {
            .n_inputs = s->n_inputs,
            .n_channels = plan->n_channels,
            .target_rms = plan->target_rms,
            .level = plan->level,
            .n_threads = s->plan.n_threads,
            .pin_threads = plan->pin_threads,
        };
        status = fx8_levels_open(&shape, &s->levels, error);
        if (status != FX8_OK)
            goto fail;
    }
    *session = s;
    return FX8_OK;
fail:
    fx8_close(&s);
    return status;
}

void fx8_close(struct fx8_session **session)
{
    struct fx8_session *s = *session;
    if (s == NULL)
        return;
    if (s->operations != NULL)
        s->operations->close(&s->engine);
    fx8_stream_close(&s->stream);
    fx8_levels_close(&s->levels);
    void *const memory[] = {
        s->flag_antenna,  s->products,       s->flag_channel,
        s->flag_input,    s->sums.sums_int8, s->sums.sums_fp32,
        s->sums.counts,   s->sums.clips,     s->int8.visibilities,
        s->int8.flags,    s->int8.nsamples,  s->fp32.visibilities,
        s->fp32.flags,    s->fp32.nsamples,  s->valid,
        s->valid_in_dump, s->has_signal,     s->dead,
        s->clips,         s->valid_spectra,
    };
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        free(memory[i]);
    free(s);
    *session = NULL;
}

/* --- dumps ------------------------------------------------------------------
 */

/* Flag antennas by configuration, and inputs that delivered nothing but zeros
 * although nothing of them was missing. */
static void flag_inputs(struct fx8_session *s)
{
    for (size_t input = 0; input < s->n_inputs; input++) {
        s->dead[input] = s->valid_in_dump[input] > 0 && !s->has_signal[input];
        s->flag_input[input] =
            s->dead[input] || s->flag_antenna[input / s->plan.n_polarizations];
    }
}

static struct fx8_result process_result(struct fx8_session *s,
                                        const struct buffers *buffers,
                                        bool is_int8)
{
    const struct fx8_visibilities out = {buffers->visibilities, buffers->flags,
                                         buffers->nsamples};
    struct fx8_postprocess plan = s->results;
    if (is_int8) {
        if (s->levels != NULL) {
            plan.gain = fx8_levels_gains(s->levels);
            plan.flag_cell = fx8_levels_zero(s->levels);
        }
        fx8_postprocess_int8(&plan, s->sums.sums_int8, s->sums.counts, &out);
    } else {
        fx8_postprocess_fp32(&plan, s->sums.sums_fp32, s->sums.counts, &out);
    }
    return (struct fx8_result){buffers->visibilities, buffers->flags,
                               buffers->nsamples};
}

static void count_dump(struct fx8_session *s)
{
    struct fx8_statistics *counters = &s->statistics;
    counters->n_dumps++;
    counters->n_spectra += s->plan.spectra_per_dump;
    for (size_t input = 0; input < s->n_inputs; input++) {
        s->valid_spectra[input] += s->valid_in_dump[input];
        counters->n_valid_spectra += s->valid_in_dump[input];
        s->valid_in_dump[input] = 0;
        s->has_signal[input] = false;
    }
    for (size_t i = 0; i < s->n_inputs * s->plan.n_channels; i++) {
        s->clips[i] += s->sums.clips[i];
        counters->n_clipped += s->sums.clips[i];
    }
}

static enum fx8_status finish_dump(struct fx8_session *s,
                                   struct fx8_error *error)
{
    enum fx8_status status =
        s->operations->finish_dump(s->engine, &s->sums, error);
    if (status != FX8_OK)
        return status;
    const double start = fx8_clock_seconds();
    flag_inputs(s);
    struct fx8_dump dump = {
        .index = s->dump,
        .n_baselines = fx8_baseline_count(s->plan.n_antennas),
        .n_channels = s->plan.n_channels / s->plan.channel_average,
        .n_products = s->results.n_products,
        .dead = s->dead,
    };
    if (s->plan.precision & FX8_PRECISION_INT8)
        dump.int8 = process_result(s, &s->int8, true);
    if (s->plan.precision & FX8_PRECISION_FP32)
        dump.fp32 = process_result(s, &s->fp32, false);
    count_dump(s);
    s->statistics.postprocess_s += fx8_clock_seconds() - start;
    s->dump++;
    s->position = 0;
    return s->callback(s->context, &dump, error);
}

/* --- spectra ----------------------------------------------------------------
 */

static void note_signal(struct fx8_session *s, size_t n_spectra)
{
    const size_t n_words = fx8_bit_words(n_spectra);
    for (size_t input = 0; input < s->n_inputs; input++) {
        const uint64_t *valid = s->valid + input * n_words;
        for (size_t word = 0; word < n_words; word++)
            s->valid_in_dump[input] += __builtin_popcountll(valid[word]);
        if (!s->has_signal[input])
            s->has_signal[input] =
                fx8_stream_first_signal(s->stream, input, valid, 0, n_spectra) <
                n_spectra;
    }
}

/* Correlate the first n_spectra spectra of the stream. */
static enum fx8_status correlate_block(struct fx8_session *s, size_t n_spectra,
                                       struct fx8_error *error)
{
    double start = fx8_clock_seconds();
    fx8_stream_validity(s->stream, n_spectra, s->valid);
    if (s->levels != NULL) {
        bool needed = false;
        const enum fx8_status status = fx8_levels_begin(
            s->levels, s->stream, s->valid, n_spectra, &needed, error);
        s->statistics.level_s += fx8_clock_seconds() - start;
        if (status != FX8_OK)
            return status;
        if (needed)
            return FX8_LEVEL_NEEDED;
        start = fx8_clock_seconds();
    }
    note_signal(s, n_spectra);
    s->statistics.align_s += fx8_clock_seconds() - start;
    const struct fx8_engine_block block = {
        .samples = fx8_stream_row(s->stream, 0),
        .row_stride = fx8_stream_row_stride(s->stream),
        .first_spectrum = s->position,
        .n_spectra = n_spectra,
        .valid = s->valid,
    };
    const enum fx8_status status =
        s->operations->push(s->engine, &block, error);
    if (status != FX8_OK)
        return status;
    start = fx8_clock_seconds();
    fx8_stream_take(s->stream, n_spectra);
    s->statistics.align_s += fx8_clock_seconds() - start;
    s->position += (int64_t)n_spectra;
    if (s->position == s->plan.spectra_per_dump)
        return finish_dump(s, error);
    return FX8_OK;
}

/* Correlate while the stream holds whole engine blocks. */
static enum fx8_status drain(struct fx8_session *s, struct fx8_error *error)
{
    const size_t most = s->operations->block_spectra(s->engine);
    for (;;) {
        if (atomic_load(&s->is_cancelled))
            return fx8_fail(error, FX8_ERR_CANCELLED, "cancelled");
        const int64_t rest = s->plan.spectra_per_dump - s->position;
        const size_t wanted = rest < (int64_t)most ? (size_t)rest : most;
        if (fx8_stream_ready(s->stream) < wanted)
            return FX8_OK;
        const enum fx8_status status = correlate_block(s, wanted, error);
        if (status != FX8_OK)
            return status;
    }
}

static enum fx8_status check_block(const struct fx8_block *block,
                                   struct fx8_error *error)
{
    if (block->n_samples < 0 || block->first_sample < 0 ||
        block->first_sample > INT64_MAX / 4 || block->n_samples > INT64_MAX / 4)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "block: %lld samples from %lld: expected an ascending "
                        "range from 0",
                        (long long)block->n_samples,
                        (long long)block->first_sample);
    return FX8_OK;
}

enum fx8_status fx8_push(struct fx8_session *session,
                         const struct fx8_block *block, struct fx8_error *error)
{
    struct fx8_session *s = session;
    enum fx8_status status = check_block(block, error);
    if (status != FX8_OK)
        return status;
    if (s->levels != NULL && fx8_levels_active(s->levels))
        return FX8_LEVEL_NEEDED;
    const int64_t end = block->first_sample + block->n_samples;
    do {
        /* a block that ends before the first sample counts too: a run of
         * markers may begin in it */
        const double start = fx8_clock_seconds();
        status = fx8_stream_append(s->stream, block, error);
        s->statistics.align_s += fx8_clock_seconds() - start;
        if (status == FX8_OK)
            status = drain(s, error);
    } while (status == FX8_OK && fx8_stream_next_sample(s->stream) < end);
    return status;
}

enum fx8_status fx8_level(struct fx8_session *session,
                          const struct fx8_block *block, bool *done,
                          struct fx8_error *error)
{
    struct fx8_session *s = session;
    *done = true;
    if (s->levels == NULL || !fx8_levels_active(s->levels))
        return FX8_OK;
    enum fx8_status status = check_block(block, error);
    if (status != FX8_OK)
        return status;
    if (atomic_load(&s->is_cancelled))
        return fx8_fail(error, FX8_ERR_CANCELLED, "cancelled");
    const double start = fx8_clock_seconds();
    status = fx8_levels_push(s->levels, s->operations, s->engine, block, done,
                             error);
    s->statistics.level_s += fx8_clock_seconds() - start;
    return status;
}

enum fx8_status fx8_level_end(struct fx8_session *session,
                              struct fx8_error *error)
{
    struct fx8_session *s = session;
    if (s->levels == NULL || !fx8_levels_active(s->levels))
        return FX8_OK;
    return fx8_levels_end(s->levels, s->operations, s->engine, error);
}

enum fx8_status fx8_finish(struct fx8_session *session,
                           int64_t *dropped_spectra, struct fx8_error *error)
{
    struct fx8_session *s = session;
    enum fx8_status status = fx8_level_end(s, error); /* of a round given up */
    if (status != FX8_OK)
        return status;
    fx8_stream_end(s->stream);
    while ((status = drain(s, error)) == FX8_LEVEL_NEEDED) {
        status = fx8_level_end(s, error);
        if (status != FX8_OK)
            return status;
    }
    if (dropped_spectra != NULL)
        *dropped_spectra = s->position + (int64_t)fx8_stream_ready(s->stream);
    return status;
}

void fx8_cancel(struct fx8_session *session)
{
    atomic_store(&session->is_cancelled, true);
}

/* --- answers ----------------------------------------------------------------
 */

void fx8_get_statistics(const struct fx8_session *session,
                        struct fx8_statistics *statistics)
{
    *statistics = session->statistics;
    struct fx8_engine_times times;
    session->operations->times(session->engine, &times);
    statistics->channelize_s = times.channelize_s;
    statistics->correlate_s = times.correlate_s;
}

const char *fx8_backend_name(const struct fx8_session *session)
{
    return session->operations->name;
}

const char *fx8_kernel_name(const struct fx8_session *session)
{
    return session->operations->kernel_name(session->engine);
}

const char *fx8_fft_plan_name(const struct fx8_session *session)
{
    return session->operations->fft_plan_name(session->engine);
}

const float *fx8_gains(const struct fx8_session *session)
{
    return session->levels == NULL ? NULL : fx8_levels_gains(session->levels);
}

const int64_t *fx8_clips(const struct fx8_session *session)
{
    return session->clips;
}

const uint8_t *fx8_zero_levels(const struct fx8_session *session)
{
    return session->levels == NULL ? NULL : fx8_levels_zero(session->levels);
}

const int64_t *fx8_valid_spectra(const struct fx8_session *session)
{
    return session->valid_spectra;
}
