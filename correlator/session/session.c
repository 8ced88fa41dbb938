/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.c -- one correlation from samples to dumps: the stream aligns, the
 * levels set gains, an engine per band channelises and correlates, and each
 * finished dump is post-processed, its bands side by side, and handed to the
 * caller.
 *
 * A dump depends on the plan, the gains and its own samples alone: spectra are
 * cut into engine blocks from the start of their dump, whatever the blocks
 * that were pushed.
 */
#include <math.h>

#include "config/shape.h"
#include "correlator/session/baseline.h"
#include "correlator/session/session_private.h"
#include "kernels/clock.h"

/* --- dumps ------------------------------------------------------- */

/* Flag antennas by configuration, and inputs that delivered nothing but zeros
 * although nothing of them was missing. */
static void flag_inputs(struct fx8_session *s)
{
    for (size_t row = 0; row < s->n_rows; row++) {
        const size_t antenna = row % s->n_inputs / s->plan.n_polarizations;
        s->dead[row] = s->valid_in_dump[row] > 0 && !s->has_signal[row];
        s->flag_input[row] = s->dead[row] || s->flag_antenna[antenna];
    }
}

/* Results from a cell of the first baseline on. */
static struct fx8_visibilities target_of(
    const struct fx8_session_buffers *buffers, size_t cell)
{
    if (buffers->visibilities == NULL) /* not planned */
        return (struct fx8_visibilities){NULL, NULL, NULL};
    return (struct fx8_visibilities){buffers->visibilities + 2 * cell,
                                     buffers->flags + cell,
                                     buffers->nsamples + cell};
}

static struct fx8_result result_of(const struct fx8_session_buffers *buffers)
{
    return (struct fx8_result){buffers->visibilities, buffers->flags,
                               buffers->nsamples};
}

/* Where the results of a band begin. */
static size_t cell_of(const struct fx8_session *s, size_t band)
{
    return band * (s->n_kept / s->results.channel_average) *
           s->results.n_products;
}

/* Post-processing of one band among the others. */
static struct fx8_postprocess plan_band(const struct fx8_session *s,
                                        size_t band)
{
    const size_t row = band * s->n_inputs;
    struct fx8_postprocess plan = s->results;
    plan.flag_input = s->flag_input + row;
    if (s->plan.input_gain != NULL)
        plan.input_gain = s->plan.input_gain + row;
    return plan;
}

/* What becomes of the sums of a band, in INT8 and in FP32. */
struct band_results {
    struct fx8_postprocess int8, fp32;
    struct fx8_visibilities to_int8, to_fp32;
};

static struct band_results plan_results(const struct fx8_session *s,
                                        size_t band)
{
    struct band_results results = {
        .int8 = plan_band(s, band),
        .fp32 = plan_band(s, band),
        .to_int8 = target_of(&s->int8, cell_of(s, band)),
        .to_fp32 = target_of(&s->fp32, cell_of(s, band)),
    };
    if (s->levels != NULL) {
        const size_t channel = band * s->n_kept;
        results.int8.gain = fx8_levels_gains(s->levels) + channel;
        results.int8.flag_cell = fx8_levels_zero(s->levels) + channel;
    }
    return results;
}

/* Sums of a band to visibilities, in every precision whose sums are here. */
static void process_band(const struct fx8_session *s, size_t band,
                         const struct band_results *results)
{
    const struct fx8_engine_dump *sums = &s->sums;
    if (sums->sums_int8 != NULL)
        fx8_postprocess_int8(&results->int8, sums->sums_int8, sums->counts,
                             &results->to_int8);
    if (sums->sums_fp32 != NULL)
        fx8_postprocess_fp32(&results->fp32, sums->sums_fp32, sums->counts,
                             &results->to_fp32);
    if (sums->sums_down != NULL) {
        const size_t cell = cell_of(s, band);
        const struct fx8_visibilities down = target_of(&s->down, cell);
        const struct fx8_visibilities up = target_of(&s->up, cell);
        fx8_postprocess_interval(&results->fp32, sums->sums_down, sums->sums_up,
                                 sums->counts, &down, &up);
    }
}

/* Averages across bands of one channel each, in every precision planned. */
static void average_bands(struct fx8_session *s)
{
    const struct {
        const struct fx8_session_buffers *buffers;
        enum fx8_rounding rounding;
    } kinds[] = {{&s->int8, FX8_ROUND_NEAREST},
                 {&s->fp32, FX8_ROUND_NEAREST},
                 {&s->down, FX8_ROUND_DOWN},
                 {&s->up, FX8_ROUND_UP}};
    const size_t n = s->plan.channel_average / s->results.channel_average;
    const double start = fx8_clock_seconds();
    for (size_t k = 0; n > 1 && k < sizeof kinds / sizeof *kinds; k++) {
        const struct fx8_visibilities results = target_of(kinds[k].buffers, 0);
        if (results.visibilities != NULL)
            fx8_postprocess_bands(fx8_baseline_count(s->plan.n_antennas),
                                  s->plan.n_bands, s->results.n_products, n,
                                  kinds[k].rounding, &results);
    }
    s->statistics.postprocess_s += fx8_clock_seconds() - start;
}

/* INT8 where there is any: it is what people get. */
static enum fx8_status look_at_results(struct fx8_session *s,
                                       struct fx8_dump *dump,
                                       struct fx8_error *error)
{
    if (s->look == NULL)
        return FX8_OK;
    const double start = fx8_clock_seconds();
    const bool is_int8 = (s->plan.precision & FX8_PRECISION_INT8) != 0;
    const struct fx8_visibilities results =
        target_of(is_int8 ? &s->int8 : &s->fp32, 0);
    const enum fx8_status status = fx8_look_process(
        s->look, s->engines[0], &results, is_int8 ? fx8_gains(s) : NULL,
        &dump->quicklook, error);
    s->statistics.quicklook_s += fx8_clock_seconds() - start;
    return status;
}

static void count_dump(struct fx8_session *s)
{
    struct fx8_statistics *counters = &s->statistics;
    counters->n_dumps++;
    counters->n_spectra += s->plan.spectra_per_dump;
    for (size_t row = 0; row < s->n_rows; row++) {
        s->valid_spectra[row] += s->valid_in_dump[row];
        counters->n_valid_spectra += s->valid_in_dump[row];
        s->valid_in_dump[row] = 0;
        s->has_signal[row] = false;
    }
}

static void count_clips(struct fx8_session *s, size_t band)
{
    for (size_t input = 0; input < s->n_inputs; input++)
        for (size_t channel = 0; channel < s->n_kept; channel++) {
            const int64_t n = s->sums.clips[input * s->n_kept + channel];
            const size_t row = input * s->plan.n_bands + band;
            s->clips[row * s->n_kept + channel] += n;
            s->statistics.n_clipped += n;
        }
}

/* An engine that makes results itself begins with those of the dump. */
static enum fx8_status end_band(struct fx8_session *s, size_t band,
                                struct fx8_error *error)
{
    const struct band_results results = plan_results(s, band);
    const struct fx8_engine_results int8 = {&results.int8, results.to_int8};
    const struct fx8_engine_results fp32 = {&results.fp32, results.to_fp32};
    if (s->operations->end_dump == NULL)
        return FX8_OK;
    return s->operations->end_dump(s->engines[band], &int8, &fp32, error);
}

/* What the engine of a band made of the dump that ended; is_taken as for
 * take_dump(). */
static enum fx8_status take_band(struct fx8_session *s, size_t band,
                                 bool *is_taken, struct fx8_error *error)
{
    struct fx8_engine *engine = s->engines[band];
    enum fx8_status status =
        s->operations->end_dump == NULL
            ? s->operations->finish_dump(engine, &s->sums, error)
            : s->operations->take_dump(engine, &s->sums, is_taken, error);
    if (status != FX8_OK || (is_taken != NULL && !*is_taken))
        return status;
    status = fx8_spot_end(&s->spots[(s->dump - 1) % 2], s->operations,
                          s->engines, band, &s->sums, error);
    if (status != FX8_OK)
        return status;
    const double start = fx8_clock_seconds();
    const struct band_results results = plan_results(s, band);
    process_band(s, band, &results);
    count_clips(s, band);
    s->statistics.postprocess_s += fx8_clock_seconds() - start;
    return FX8_OK;
}

/* A record of its own: the caller may want none, and a callback that gives no
 * reason must not leave one that is older. */
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
                        "callback: dump %lld: expected to be taken",
                        (long long)dump->index);
    return fx8_fail(error, status, "%s", why.message);
}

/* Hand over the dump whose bands were taken. */
static enum fx8_status hand_over(struct fx8_session *s, struct fx8_error *error)
{
    average_bands(s);
    struct fx8_dump dump = {
        .index = s->dump - 1,
        .n_baselines = fx8_baseline_count(s->plan.n_antennas),
        .n_channels = fx8_channels(&s->plan) / s->plan.channel_average,
        .n_products = s->results.n_products,
        .int8 = result_of(&s->int8),
        .fp32 = result_of(&s->fp32),
        .down = result_of(&s->down),
        .up = result_of(&s->up),
        .dead = s->dead,
    };
    const enum fx8_status status = look_at_results(s, &dump, error);
    if (status != FX8_OK)
        return status;
    return deliver(s, &dump, error);
}

/* The dump that ended, if there is one: when all of its bands are there, or,
 * where it must be, after a wait. */
static enum fx8_status take_dump(struct fx8_session *s, bool must_be,
                                 struct fx8_error *error)
{
    for (bool is_taken = true; s->has_ended; s->n_taken++) {
        if (s->n_taken == s->plan.n_bands) {
            s->has_ended = false;
            return hand_over(s, error);
        }
        const enum fx8_status status =
            take_band(s, s->n_taken, must_be ? NULL : &is_taken, error);
        if (status != FX8_OK || !is_taken)
            return status;
    }
    return FX8_OK;
}

/* The next dump may begin while results of this one return; sums that are left
 * to the session, and bounds, must be taken before. */
static enum fx8_status end_dump(struct fx8_session *s, struct fx8_error *error)
{
    enum fx8_status status = take_dump(s, true, error);
    if (status != FX8_OK)
        return status;
    flag_inputs(s);
    for (size_t band = 0; band < s->plan.n_bands && status == FX8_OK; band++)
        status = end_band(s, band, error);
    if (status != FX8_OK)
        return status;
    count_dump(s);
    s->dump++;
    s->position = 0;
    s->has_ended = true;
    s->n_taken = 0;
    if (s->operations->end_dump == NULL ||
        (s->plan.precision & FX8_PRECISION_INTERVAL) != 0)
        return take_dump(s, true, error);
    return FX8_OK;
}

/* --- spectra ----------------------------------------------------- */

static void note_signal(struct fx8_session *s, size_t n_spectra)
{
    const size_t n_words = fx8_bit_words(n_spectra);
    for (size_t row = 0; row < s->n_rows; row++) {
        const uint64_t *valid = s->valid + row * n_words;
        for (size_t word = 0; word < n_words; word++)
            s->valid_in_dump[row] += __builtin_popcountll(valid[word]);
        if (!s->has_signal[row])
            s->has_signal[row] =
                fx8_stream_first_signal(s->stream, row, valid, 0, n_spectra) <
                n_spectra;
    }
}

/* Hand each engine its band of the first n_spectra spectra of the stream. */
static enum fx8_status push_bands(struct fx8_session *s, size_t n_spectra,
                                  struct fx8_error *error)
{
    enum fx8_status status = fx8_spot_begin(
        &s->spots[s->dump % 2], s->operations, s->engines, s->dump, error);
    for (size_t band = 0; band < s->plan.n_bands && status == FX8_OK; band++) {
        const size_t row = band * s->n_inputs;
        const struct fx8_engine_block block = {
            .samples = fx8_stream_row(s->stream, row),
            .row_stride = fx8_stream_row_stride(s->stream),
            .first_spectrum = s->position,
            .n_spectra = n_spectra,
            .valid = s->valid + row * fx8_bit_words(n_spectra),
        };
        status = s->operations->push(s->engines[band], &block, error);
    }
    return status;
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
    const enum fx8_status status = push_bands(s, n_spectra, error);
    if (status != FX8_OK)
        return status;
    start = fx8_clock_seconds();
    fx8_stream_take(s->stream, n_spectra);
    s->statistics.align_s += fx8_clock_seconds() - start;
    s->position += (int64_t)n_spectra;
    if (s->position == s->plan.spectra_per_dump)
        return end_dump(s, error);
    return FX8_OK;
}

/* Correlate while the stream holds whole engine blocks. */
static enum fx8_status drain(struct fx8_session *s, struct fx8_error *error)
{
    const size_t most = s->operations->block_spectra(s->engines[0]);
    for (;;) {
        if (atomic_load(&s->is_cancelled))
            return fx8_fail(error, FX8_ERR_CANCELLED, "cancelled");
        const int64_t rest = s->plan.spectra_per_dump - s->position;
        const size_t wanted = rest < (int64_t)most ? (size_t)rest : most;
        if (fx8_stream_ready(s->stream) < wanted)
            return FX8_OK;
        enum fx8_status status = correlate_block(s, wanted, error);
        if (status == FX8_OK)
            status = take_dump(s, false, error);
        if (status != FX8_OK)
            return status;
    }
}

/* Leave out what a gap before sample `first` makes of the dump at hand and of
 * those behind it: whole engine blocks, or all that a dump still lacks. */
static enum fx8_status skip_gap(struct fx8_session *s, int64_t first,
                                struct fx8_error *error)
{
    const int64_t block = (int64_t)s->operations->block_spectra(s->engines[0]);
    for (;;) {
        const int64_t n = fx8_stream_skip(
            s->stream, first, s->plan.spectra_per_dump - s->position, block);
        s->position += n;
        if (s->position < s->plan.spectra_per_dump)
            return FX8_OK;
        if (atomic_load(&s->is_cancelled))
            return fx8_fail(error, FX8_ERR_CANCELLED, "cancelled");
        const enum fx8_status status = end_dump(s, error);
        if (status != FX8_OK)
            return status;
    }
}

/* A gap becomes dumps, one by one: one that is too long is a wrong index. */
static enum fx8_status check_gap(const struct fx8_session *s,
                                 const struct fx8_block *block,
                                 struct fx8_error *error)
{
    const int64_t next = fx8_stream_next_sample(s->stream);
    const int64_t n = (block->first_sample - next) /
                      (int64_t)fx8_samples_per_spectrum(&s->plan) /
                      s->plan.spectra_per_dump;
    if (n <= FX8_MAX_MISSING_DUMPS)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_USAGE,
                    "block: %lld samples from %lld: %lld dumps are missing "
                    "since sample %lld: expected at most %d",
                    (long long)block->n_samples, (long long)block->first_sample,
                    (long long)n, (long long)next, FX8_MAX_MISSING_DUMPS);
}

/* --- calls ------------------------------------------------------- */

/* Whether the session takes calls that change it. */
static enum fx8_status enter(const struct fx8_session *s,
                             struct fx8_error *error)
{
    if (s == NULL)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "session: NULL: expected one that is open");
    if (s->is_delivering)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "session: called from its own callback: expected "
                        "questions or fx8_cancel() there");
    if (atomic_load(&s->is_cancelled))
        return fx8_fail(error, FX8_ERR_CANCELLED, "cancelled");
    if (s->stopped != FX8_OK)
        return fx8_fail(error, s->stopped,
                        "session: stopped by an earlier failure: expected it "
                        "to be closed");
    return FX8_OK;
}

/* After a failure the spectra of a dump may be incomplete: none may follow. */
static enum fx8_status leave(struct fx8_session *s, enum fx8_status status)
{
    if (status < FX8_OK)
        s->stopped = status;
    return status;
}

/* Whether the session takes this block. */
static enum fx8_status enter_with(const struct fx8_session *s,
                                  const struct fx8_block *block,
                                  struct fx8_error *error)
{
    const enum fx8_status status = enter(s, error);
    if (status != FX8_OK)
        return status;
    if (s->has_finished)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "session: finished: expected no more samples");
    return fx8_stream_check(s->stream, block, error);
}

enum fx8_status fx8_push(struct fx8_session *session,
                         const struct fx8_block *block, struct fx8_error *error)
{
    struct fx8_session *s = session;
    enum fx8_status status = enter_with(s, block, error);
    if (status != FX8_OK)
        return status;
    status = check_gap(s, block, error);
    if (status != FX8_OK)
        return status;
    if (s->levels != NULL && fx8_levels_active(s->levels))
        return FX8_LEVEL_NEEDED;
    const int64_t end = block->first_sample + block->n_samples;
    do {
        status = skip_gap(s, block->first_sample, error);
        if (status != FX8_OK)
            break;
        /* a block that ends before the first sample counts too: a run of
         * markers may begin in it */
        const double start = fx8_clock_seconds();
        status = fx8_stream_append(s->stream, block, error);
        s->statistics.align_s += fx8_clock_seconds() - start;
        if (status == FX8_OK)
            status = drain(s, error);
    } while (status == FX8_OK && fx8_stream_next_sample(s->stream) < end);
    return leave(s, status);
}

enum fx8_status fx8_level(struct fx8_session *session,
                          const struct fx8_block *block, bool *done,
                          struct fx8_error *error)
{
    struct fx8_session *s = session;
    enum fx8_status status = enter_with(s, block, error);
    if (status != FX8_OK)
        return status;
    if (done == NULL)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "done: NULL: expected room for an answer");
    *done = true;
    if (s->levels == NULL || !fx8_levels_active(s->levels))
        return FX8_OK;
    const int64_t end = block->first_sample + block->n_samples;
    const double start = fx8_clock_seconds();
    do {
        status = atomic_load(&s->is_cancelled)
                     ? fx8_fail(error, FX8_ERR_CANCELLED, "cancelled")
                     : fx8_levels_push(s->levels, s->operations, s->engines,
                                       block, done, error);
    } while (status == FX8_OK && !*done &&
             fx8_levels_next_sample(s->levels) < end);
    s->statistics.level_s += fx8_clock_seconds() - start;
    return leave(s, status);
}

enum fx8_status fx8_level_end(struct fx8_session *session,
                              struct fx8_error *error)
{
    struct fx8_session *s = session;
    const enum fx8_status status = enter(s, error);
    if (status != FX8_OK || s->levels == NULL || !fx8_levels_active(s->levels))
        return status;
    return leave(s,
                 fx8_levels_end(s->levels, s->operations, s->engines, error));
}

enum fx8_status fx8_flush(struct fx8_session *session, struct fx8_error *error)
{
    const enum fx8_status status = enter(session, error);
    return status != FX8_OK ? status
                            : leave(session, take_dump(session, true, error));
}

enum fx8_status fx8_finish(struct fx8_session *session,
                           int64_t *dropped_spectra, struct fx8_error *error)
{
    struct fx8_session *s = session;
    enum fx8_status status = fx8_level_end(s, error); /* of a round given up */
    if (status != FX8_OK)
        return status;
    s->has_finished = true;
    fx8_stream_end(s->stream);
    while ((status = drain(s, error)) == FX8_LEVEL_NEEDED) {
        status = fx8_level_end(s, error);
        if (status != FX8_OK)
            return status;
    }
    if (status == FX8_OK)
        status = take_dump(s, true, error);
    if (dropped_spectra != NULL)
        *dropped_spectra = s->position + (int64_t)fx8_stream_ready(s->stream);
    return leave(s, status);
}

void fx8_cancel(struct fx8_session *session)
{
    atomic_store(&session->is_cancelled, true);
}

/* --- answers ----------------------------------------------------- */

void fx8_get_statistics(const struct fx8_session *session,
                        struct fx8_statistics *statistics)
{
    *statistics = session->statistics;
    statistics->spot_s = session->spots[0].seconds + session->spots[1].seconds;
    for (size_t band = 0; band < session->plan.n_bands; band++) {
        struct fx8_engine_times times;
        session->operations->times(session->engines[band], &times);
        statistics->channelize_s += times.channelize_s;
        statistics->correlate_s += times.correlate_s;
        statistics->postprocess_s += times.process_s;
    }
}

void fx8_get_quicklook(const struct fx8_session *session,
                       struct fx8_quicklook_counts *counts,
                       struct fx8_quicklook_differences *differences)
{
    *counts = (struct fx8_quicklook_counts){0};
    *differences = (struct fx8_quicklook_differences){0};
    if (session->look != NULL)
        fx8_look_report(session->look, counts, differences);
}

void fx8_get_coherences(const struct fx8_session *session,
                        struct fx8_quicklook_average *averages)
{
    const size_t n = fx8_baseline_count(session->plan.n_antennas) *
                     fx8_baseline_products(session->plan.n_polarizations);
    for (size_t i = 0; i < n; i++)
        averages[i] = (struct fx8_quicklook_average){
            FX8_QUICKLOOK_NONE, NAN, NAN, NAN, 0, 0.0};
    if (session->look != NULL)
        fx8_look_averages(session->look, averages);
}

const char *fx8_backend_name(const struct fx8_session *session)
{
    return session->operations->name;
}

const char *fx8_backend_reason(const struct fx8_session *session)
{
    return session->reason;
}

bool fx8_backend_is_spare(const struct fx8_session *session)
{
    return session->is_spare;
}

const char *fx8_device_name(const struct fx8_session *session)
{
    return session->operations->device_name(session->engines[0]);
}

const char *fx8_kernel_name(const struct fx8_session *session)
{
    return session->operations->kernel_name(session->engines[0]);
}

const char *fx8_fft_plan_name(const struct fx8_session *session)
{
    return session->operations->fft_plan_name(session->engines[0]);
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
