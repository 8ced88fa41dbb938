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

#include "config/base/clock.h"
#include "config/base/shape.h"
#include "correlator/library/baseline.h"
#include "correlator/library/session_private.h"

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
    s->n_pushed++;
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
        return fx8_session_end_dump(s, error);
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
            status = fx8_session_take_dump(s, false, error);
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
        const enum fx8_status status = fx8_session_end_dump(s, error);
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

/* Wait until nobody reads samples of blocks any more. */
static enum fx8_status settle(struct fx8_session *s, struct fx8_error *error)
{
    enum fx8_status status = FX8_OK;
    for (size_t band = 0; band < s->plan.n_bands && status == FX8_OK &&
                          s->operations->settle != NULL;
         band++)
        status = s->operations->settle(s->engines[band], error);
    return status;
}

/* The memory of a block that was used in place is the caller's again, unless
 * the next one takes what is left in it. */
static enum fx8_status give_back(struct fx8_session *s,
                                 const struct fx8_block *next,
                                 struct fx8_error *error)
{
    if (fx8_stream_lender(s->stream) == NULL ||
        (next != NULL && fx8_stream_may_borrow(s->stream, next)))
        return FX8_OK;
    const enum fx8_status status = settle(s, error);
    const double start = fx8_clock_seconds();
    fx8_stream_keep(s->stream);
    s->statistics.align_s += fx8_clock_seconds() - start;
    return status;
}

/* Free the block before the one just taken: engines have read it when they
 * take the first spectra of another. */
static enum fx8_status free_before(struct fx8_session *s, const int8_t *before,
                                   int64_t n_pushed, struct fx8_error *error)
{
    if (fx8_stream_lender(s->stream) == before)
        return give_back(s, NULL, error);
    return n_pushed == s->n_pushed ? settle(s, error) : FX8_OK;
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
    status = give_back(s, block, error);
    const int8_t *before = fx8_stream_is_in(s->stream, block)
                               ? NULL
                               : fx8_stream_lender(s->stream);
    int64_t n_pushed = s->n_pushed; /* while the block before was the lender */
    do {
        if (status == FX8_OK)
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
        if (fx8_stream_lender(s->stream) == before)
            n_pushed = s->n_pushed;
    } while (status == FX8_OK && fx8_stream_next_sample(s->stream) < end);
    if (status >= FX8_OK && before != NULL) {
        const enum fx8_status freed = free_before(s, before, n_pushed, error);
        status = freed == FX8_OK ? status : freed;
    }
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
    struct fx8_block read = *block;
    read.in_place = NULL;
    const double start = fx8_clock_seconds();
    do {
        status = atomic_load(&s->is_cancelled)
                     ? fx8_fail(error, FX8_ERR_CANCELLED, "cancelled")
                     : fx8_levels_push(s->levels, s->operations, s->engines,
                                       &read, done, error);
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
    return status != FX8_OK
               ? status
               : leave(session, fx8_session_take_dump(session, true, error));
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
        status = give_back(s, NULL, error);
    if (status == FX8_OK)
        status = fx8_session_take_dump(s, true, error);
    if (dropped_spectra != NULL)
        *dropped_spectra = s->position + (int64_t)fx8_stream_ready(s->stream);
    return leave(s, status);
}

void fx8_cancel(struct fx8_session *session)
{
    atomic_store(&session->is_cancelled, true);
}

/* --- blocks to be used in place ---------------------------------- */

void fx8_pin(struct fx8_session *session, void *memory, size_t bytes)
{
    if (session->operations->pin != NULL)
        session->operations->pin(session->engines[0], memory, bytes);
}

/* Spectra behind the last whole block of the first n, and how many of its dump
 * or of a block that is whole come next. */
struct progress {
    int64_t rest, next;
};

static struct progress progress_after(const struct fx8_session *s, int64_t n)
{
    const int64_t block = (int64_t)s->operations->block_spectra(s->engines[0]);
    const int64_t in_dump = n % s->plan.spectra_per_dump;
    const int64_t left = s->plan.spectra_per_dump - (in_dump - in_dump % block);
    return (struct progress){in_dump % block, left < block ? left : block};
}

int64_t fx8_block_end(const struct fx8_session *session, int64_t first_sample,
                      int64_t most)
{
    const struct fx8_plan *plan = &session->plan;
    const int64_t step = (int64_t)fx8_samples_per_spectrum(plan);
    /* where the first spectrum would begin if its window were a step */
    const int64_t origin =
        plan->first_sample + (int64_t)fx8_samples_per_window(plan) - step;
    const int64_t begin = first_sample > origin ? first_sample - origin : 0;
    const int64_t n = begin / step;
    const struct progress now = progress_after(session, n);
    const int64_t next = origin + (n - now.rest + now.next) * step;
    if (next - first_sample >= most)
        return next;
    const int64_t n_most = (first_sample + most - origin) / step;
    return origin + (n_most - progress_after(session, n_most).rest) * step;
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
