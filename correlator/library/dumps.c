/* SPDX-License-Identifier: BSD-3-Clause */
/* dumps.c -- see session_private.h: ends dumps, from the sums of each band to
 * the caller. */
#include <string.h>

#include "config/base/clock.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/library/session_private.h"
#include "kernels/baseline.h"

/* Flag configured antennas, and inputs whose valid samples were all zero. */
static void flag_inputs(struct fx8_session *s)
{
    for (size_t row = 0; row < s->axes.n_rows; row++) {
        const size_t antenna = row % s->axes.n_inputs / s->plan.n_polarizations;
        s->valid_of_dump[row] = s->valid_in_dump[row];
        s->dead[row] = s->valid_in_dump[row] > 0 && !s->has_signal[row];
        s->flag_input[row] = s->dead[row] || s->flag_antenna[antenna];
    }
}

void fx8_session_set_slice(struct fx8_session *s, size_t begin)
{
    const size_t n_antennas = s->plan.n_antennas;
    const struct fx8_slice slice =
        fx8_slice_from(n_antennas, begin, s->slice_baselines);
    if (slice.begin != s->slice.begin || slice.end != s->slice.end)
        fx8_baseline_strip(n_antennas - slice.begin, slice.end - slice.begin,
                           s->plan.n_polarizations, s->products);
    s->slice = slice;
    s->n_taken = 0;
}

/* Reduce a plan to the slice that is taken. */
static void cut_plan(const struct fx8_session *s, struct fx8_postprocess *plan)
{
    const size_t input = s->slice.begin * s->plan.n_polarizations;
    plan->n_antennas -= s->slice.begin;
    plan->n_inputs -= input;
    plan->n_starts = s->slice.end - s->slice.begin;
    plan->flag_input += input;
    if (plan->input_gain != NULL)
        plan->input_gain += input;
    if (plan->gain != NULL)
        plan->gain += input * s->axes.n_fine;
    if (plan->flag_cell != NULL)
        plan->flag_cell += input * s->axes.n_fine;
    if (plan->flag_float_cell != NULL)
        plan->flag_float_cell += input * s->axes.n_fine;
}

/* Plan the post-processing of one band, and find the place of its results among
 * all bands. */
static struct fx8_postprocess plan_band(const struct fx8_session *s,
                                        size_t band, struct fx8_result *results)
{
    const size_t row = band * s->axes.n_inputs;
    const size_t channel = band * s->axes.n_kept;
    struct fx8_postprocess plan = s->postprocess;
    plan.flag_channel = s->flag_channel + channel;
    plan.flag_input = s->flag_input + row;
    if (s->plan.input_gain != NULL)
        plan.input_gain = s->plan.input_gain + row;
    if (s->plan.ripple != NULL)
        plan.ripple = s->plan.ripple + channel;
    if (s->gains != NULL) {
        const struct fx8_input_gains gains = fx8_gains_get(s->gains);
        plan.gain = gains.gain + channel;
        plan.flag_cell = gains.is_zero + channel;
    }
    if (s->flag_sk != NULL) {
        plan.flag_cell = s->flag_cell + channel;
        plan.flag_float_cell = s->flag_sk + channel;
    }
    if (fx8_session_has_slices(s))
        cut_plan(s, &plan);
    for (size_t kind = 0; kind < FX8_N_RESULTS; kind++)
        results[kind] =
            fx8_result_from(&s->results[kind], channel / plan.channel_average *
                                                   s->axes.n_products);
    return plan;
}

/* Average across bands of one channel each, for every planned kind. */
static void average_bands(struct fx8_session *s)
{
    const size_t n = s->plan.channel_average / s->postprocess.channel_average;
    const double start = fx8_clock_seconds();
    for (enum fx8_result_kind kind = 0; n > 1 && kind < FX8_N_RESULTS; kind++)
        if (s->results[kind].visibilities != NULL)
            fx8_postprocess_bands(
                fx8_slice_baselines(s->plan.n_antennas, s->slice),
                s->plan.n_bands, s->axes.n_products, n, kind,
                &s->results[kind]);
    s->statistics.postprocess_s += fx8_clock_seconds() - start;
}

/* Flag the cells of every planned kind that have too little weight. */
static void flag_light(struct fx8_session *s)
{
    const double start = fx8_clock_seconds();
    const size_t n_baselines =
        fx8_slice_baselines(s->plan.n_antennas, s->slice);
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++)
        if (s->results[kind].visibilities != NULL)
            fx8_postprocess_flag_light(
                n_baselines * s->axes.n_channels * s->axes.n_products,
                s->plan.min_weight, s->plan.machine.threads, &s->results[kind]);
    s->statistics.postprocess_s += fx8_clock_seconds() - start;
}

static enum fx8_status count_dump(struct fx8_session *s,
                                  struct fx8_error *error)
{
    struct fx8_statistics *counters = &s->statistics;
    counters->n_dumps++;
    counters->n_spectra += s->postprocess.spectra_per_dump;
    for (size_t row = 0; row < s->axes.n_rows; row++) {
        s->valid_spectra[row] += s->valid_in_dump[row];
        counters->n_valid_spectra += s->valid_in_dump[row];
        s->valid_in_dump[row] = 0;
        s->has_signal[row] = false;
    }
    return s->few_bits == NULL ? FX8_OK
                               : fx8_few_bits_measure(s->few_bits, error);
}

static void count_clips(struct fx8_session *s, size_t band,
                        const int64_t *clips)
{
    for (size_t input = 0; input < s->axes.n_inputs; input++)
        for (size_t channel = 0; channel < s->axes.n_kept; channel++) {
            const int64_t n = clips[input * s->axes.n_kept + channel];
            const size_t row = input * s->plan.n_bands + band;
            s->clips[row * s->axes.n_kept + channel] += n;
            s->statistics.n_clipped += n;
        }
}

/* Start the post-processing of a dump on an engine that does it itself. */
static enum fx8_status end_band(struct fx8_session *s, size_t band,
                                struct fx8_error *error)
{
    struct fx8_result results[FX8_N_RESULTS];
    const struct fx8_postprocess plan = plan_band(s, band, results);
    if (fx8_session_has_sums(s, s->operations))
        return FX8_OK;
    return s->operations->end_dump(s->engines[band], &plan, results, error);
}

/* The results of a band from its sums. */
static void process_band(struct fx8_session *s, size_t band,
                         const struct fx8_engine_dump *sums)
{
    const double start = fx8_clock_seconds();
    struct fx8_result results[FX8_N_RESULTS];
    fx8_session_judge(s, band, sums->moments);
    const struct fx8_postprocess plan = plan_band(s, band, results);
    fx8_postprocess_dump(&plan, sums->sums, sums->counts, results);
    count_clips(s, band, sums->clips);
    for (size_t kind = 0; s->few_bits != NULL && kind < FX8_N_RESULTS; kind++)
        if (results[kind].visibilities != NULL)
            fx8_few_bits_correct(s->few_bits,
                                 band * s->axes.n_inputs +
                                     s->slice.begin * s->plan.n_polarizations,
                                 &plan, &results[kind]);
    s->statistics.postprocess_s += fx8_clock_seconds() - start;
}

/* Take the sums, or the results, of one band of the slice of the dump that
 * ended; is_taken as for take_dump() of the engine. */
static enum fx8_status take_sums(struct fx8_session *s, size_t band,
                                 bool *is_taken, struct fx8_error *error)
{
    struct fx8_engine *engine = s->engines[band];
    s->band.strip = (struct fx8_strip){s->slice.begin * s->plan.n_polarizations,
                                       s->slice.end * s->plan.n_polarizations};
    FX8_TRY(fx8_session_has_sums(s, s->operations)
                ? s->operations->finish_dump(engine, &s->band, error)
                : s->operations->take_dump(engine, &s->band, is_taken, error));
    if (is_taken != NULL && !*is_taken)
        return FX8_OK;
    return fx8_spot_end(&s->spots[(s->dump - 1) % 2], s->operations, s->engines,
                        band, &s->band, error);
}

/* Call the callback with a separate record: the caller's may be NULL, or hold
 * an old message that could pass for the callback's reason. */
static enum fx8_status deliver(struct fx8_session *s,
                               const struct fx8_dump *dump,
                               struct fx8_error *error)
{
    struct fx8_error why = {FX8_OK, ""};
    s->is_delivering = true;
    const enum fx8_status status = s->callback(s->context, dump, &why);
    s->is_delivering = false;
    if (status >= FX8_OK)
        return FX8_OK;
    if (why.message[0] == '\0')
        return fx8_fail(error, status,
                        "dump callback failed for dump %lld without a message",
                        (long long)dump->index);
    return fx8_fail(error, status, "%s", why.message);
}

/* Rows of the results that baselines before this one have. */
static size_t rows_before(const struct fx8_session *s, size_t baseline)
{
    size_t begin = 0, end = s->axes.n_baselines;
    if (s->baselines == NULL)
        return baseline;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (s->baselines[middle] < baseline)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Rows of the results in the slice: the first, and their number. */
static size_t find_rows(const struct fx8_session *s, size_t *first)
{
    const size_t n_antennas = s->plan.n_antennas;
    const size_t begin = fx8_slice_first(n_antennas, s->slice);
    *first = rows_before(s, begin);
    return rows_before(s, begin + fx8_slice_baselines(n_antennas, s->slice)) -
           *first;
}

/* Pack the rows that are delivered. */
static void pack_rows(struct fx8_session *s, size_t first, size_t n)
{
    const double start = fx8_clock_seconds();
    if (s->baselines == NULL)
        return;
    for (size_t kind = 0; kind < FX8_N_RESULTS; kind++)
        fx8_postprocess_pack(
            fx8_slice_first(s->plan.n_antennas, s->slice), s->baselines + first,
            n, s->axes.n_channels * s->axes.n_products, &s->results[kind]);
    s->statistics.postprocess_s += fx8_clock_seconds() - start;
}

/* Go to the next slice that has rows, or end the dump; the sums between are
 * taken, but not delivered. */
static enum fx8_status go_on(struct fx8_session *s, struct fx8_error *error)
{
    size_t first;
    for (;;) {
        s->has_ended = s->slice.end < s->plan.n_antennas;
        fx8_session_set_slice(s, s->has_ended ? s->slice.end : 0);
        if (!s->has_ended || find_rows(s, &first) > 0)
            return FX8_OK;
        for (size_t band = 0; band < s->plan.n_bands; band++)
            FX8_TRY(take_sums(s, band, NULL, error));
    }
}

/* Deliver the slice whose bands are all taken; the next one follows. */
static enum fx8_status hand_over(struct fx8_session *s, struct fx8_error *error)
{
    size_t first;
    const size_t n_rows = find_rows(s, &first);
    average_bands(s);
    flag_light(s);
    pack_rows(s, first, n_rows);
    s->ready = (struct fx8_dump){
        .index = s->dump - 1,
        .n_spectra = s->postprocess.spectra_per_dump,
        .first_baseline = first,
        .n_baselines = n_rows,
        .n_channels = s->axes.n_channels,
        .n_products = s->axes.n_products,
        .dead = s->dead,
    };
    memcpy(s->ready.results, s->results, sizeof s->results);
    FX8_TRY(go_on(s, error));
    if (n_rows == 0)
        return FX8_OK;
    FX8_TRY(fx8_session_quicklook_take(s, &s->ready, error));
    s->is_ready = s->callback == NULL;
    return s->is_ready ? FX8_DUMP_READY : deliver(s, &s->ready, error);
}

enum fx8_status fx8_session_take_dump(struct fx8_session *s, bool must_be,
                                      struct fx8_error *error)
{
    bool is_taken = true;
    if (s->is_ready)
        return FX8_DUMP_READY;
    while (s->has_ended) {
        for (; s->n_taken < s->plan.n_bands; s->n_taken++) {
            FX8_TRY(
                take_sums(s, s->n_taken, must_be ? NULL : &is_taken, error));
            if (!is_taken)
                return FX8_OK;
            process_band(s, s->n_taken, &s->band);
        }
        FX8_TRY(hand_over(s, error));
    }
    return FX8_OK;
}

enum fx8_status fx8_session_end_sums(struct fx8_session *s, int64_t dump,
                                     const struct fx8_engine_dump *bands,
                                     struct fx8_error *error)
{
    s->postprocess.spectra_per_dump = fx8_dump_spectra(&s->plan, dump);
    flag_inputs(s);
    FX8_TRY(count_dump(s, error));
    for (size_t band = 0; band < s->plan.n_bands; band++)
        process_band(s, band, &bands[band]);
    s->dump = s->end_dump = dump + 1;
    s->position = s->part_first = s->part_end = 0;
    return hand_over(s, error);
}

/* Leave a part whose spectra are complete to fx8_take_part(). */
static enum fx8_status end_part(struct fx8_session *s)
{
    s->is_part_ready = true;
    s->dump = s->end_dump;
    s->position = s->part_first = s->part_end = 0;
    return FX8_DUMP_READY;
}

enum fx8_status fx8_session_take_slices(struct fx8_session *s,
                                        struct fx8_error *error)
{
    return s->is_ready || s->slice.begin > 0
               ? fx8_session_take_dump(s, true, error)
               : FX8_OK;
}

enum fx8_status fx8_session_end_dump(struct fx8_session *s,
                                     struct fx8_error *error)
{
    const int64_t n_spectra = fx8_session_spectra(s);
    if (s->is_part_ready)
        return FX8_DUMP_READY;
    if (s->position < n_spectra || n_spectra == 0)
        return FX8_OK;
    if (s->part_end > 0)
        return end_part(s);
    FX8_TRY(fx8_session_take_dump(s, true, error));
    s->postprocess.spectra_per_dump = n_spectra;
    flag_inputs(s);
    for (size_t band = 0; band < s->plan.n_bands; band++)
        FX8_TRY(end_band(s, band, error));
    FX8_TRY(count_dump(s, error));
    s->dump++;
    s->position = 0;
    s->has_ended = true;
    if (fx8_session_has_sums(s, s->operations) ||
        (s->plan.precision & FX8_PRECISION_INTERVAL) != 0)
        return fx8_session_take_dump(s, true, error);
    return FX8_OK;
}
