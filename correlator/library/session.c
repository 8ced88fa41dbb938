/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.c -- one correlation from samples to dumps: the stream aligns, the
 * levels set gains, an engine per band channelises and correlates, and each
 * finished dump is post-processed, its bands side by side, and delivered.
 *
 * A dump depends only on the plan, the gains and its own samples: engine blocks
 * are counted from the start of the dump, independent of the blocks pushed.
 */
#include "config/base/clock.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/library/plan.h"
#include "correlator/library/session_private.h"

/* --- spectra ----------------------------------------------------- */

static void note_signal(struct fx8_session *s, size_t n_spectra)
{
    const size_t n_words = fx8_bit_words(n_spectra);
    for (size_t row = 0; row < s->axes.n_rows; row++) {
        const uint64_t *valid = s->valid + row * n_words;
        for (size_t word = 0; word < n_words; word++)
            s->valid_in_dump[row] += __builtin_popcountll(valid[word]);
        if (!s->has_signal[row])
            s->has_signal[row] =
                fx8_stream_first_signal(s->stream, row, valid, 0, n_spectra) <
                n_spectra;
    }
}

/* Push the first n_spectra spectra of the stream, each band to its engine. */
static enum fx8_status push_bands(struct fx8_session *s, size_t n_spectra,
                                  struct fx8_error *error)
{
    FX8_TRY(fx8_spot_begin(&s->spots[s->dump % 2], s->operations, s->engines,
                           s->dump, error));
    if (s->tracker != NULL)
        FX8_TRY(fx8_tracker_rotations(s->tracker,
                                      fx8_stream_spectrum(s->stream), n_spectra,
                                      s->rotations, error));
    for (size_t band = 0; band < s->plan.n_bands; band++) {
        const size_t row = band * s->axes.n_inputs;
        const struct fx8_engine_block block = {
            .samples = fx8_stream_row(s->stream, row),
            .row_stride = fx8_stream_row_stride(s->stream),
            .dump_sample =
                s->plan.first_sample +
                fx8_dump_first(&s->plan, s->dump) * (int64_t)s->bank.fft_length,
            .first_spectrum = s->position,
            .n_spectra = n_spectra,
            .valid = s->valid + row * fx8_bit_words(n_spectra),
            .rotation = s->tracker == NULL
                            ? NULL
                            : s->rotations + row * fx8_groups(n_spectra),
        };
        FX8_TRY(s->operations->push(s->engines[band], &block, error));
    }
    s->n_pushed++;
    return FX8_OK;
}

/* Correlate the first n_spectra spectra of the stream, unless they start a
 * round of level setting. */
static enum fx8_status correlate_block(struct fx8_session *s, size_t n_spectra,
                                       struct fx8_error *error)
{
    double start = fx8_clock_seconds();
    FX8_TRY(fx8_stream_validity(s->stream, n_spectra, s->valid, error));
    if (s->gains != NULL) {
        size_t n_set = 0;
        bool needed = false;
        const enum fx8_status status =
            fx8_gains_begin(s->gains, s->stream, s->valid, n_spectra,
                            fx8_session_looks_back(s), &n_set, &needed, error);
        if (status == FX8_OK && needed)
            s->seen_behind =
                fx8_gains_next_sample(s->gains) - fx8_session_reach(s);
        s->statistics.n_gain_rounds += n_set > 0;
        s->statistics.gains_s += fx8_clock_seconds() - start;
        if (status != FX8_OK || needed)
            return status;
        start = fx8_clock_seconds();
    }
    note_signal(s, n_spectra);
    if (s->few_bits != NULL)
        FX8_TRY(fx8_few_bits_count(s->few_bits, s->stream, s->valid, n_spectra,
                                   error));
    s->statistics.align_s += fx8_clock_seconds() - start;
    FX8_TRY(push_bands(s, n_spectra, error));
    start = fx8_clock_seconds();
    fx8_stream_take(s->stream, n_spectra);
    s->statistics.align_s += fx8_clock_seconds() - start;
    s->position += (int64_t)n_spectra;
    return FX8_OK;
}

/* Spectra that the current dump still lacks; 0 behind the last one. */
static int64_t lacking(const struct fx8_session *s)
{
    return fx8_session_spectra(s) - s->position;
}

/* Whether the last dump has ended. */
static bool is_over(const struct fx8_session *s)
{
    return fx8_session_spectra(s) == 0;
}

/* Correlate while the stream holds whole engine blocks with known gains. */
static enum fx8_status drain(struct fx8_session *s, struct fx8_error *error)
{
    const size_t most = s->operations->facts(s->engines[0])->block_spectra;
    /* a dump may have had to wait until the caller took the previous one */
    FX8_TRY(fx8_session_end_dump(s, error));
    while (!fx8_session_sets_gains(s) && !is_over(s)) {
        if (atomic_load(&s->is_cancelled))
            return fx8_fail(error, FX8_ERR_CANCELLED, "cancelled");
        const int64_t rest = lacking(s);
        const size_t wanted = rest < (int64_t)most ? (size_t)rest : most;
        if (fx8_stream_ready(s->stream) < wanted)
            return FX8_OK;
        FX8_TRY(correlate_block(s, wanted, error));
        FX8_TRY(fx8_session_end_dump(s, error));
        FX8_TRY(fx8_session_take_dump(s, false, error));
    }
    /* behind the last dump there is nothing to do while its results return */
    return is_over(s) ? fx8_session_take_dump(s, true, error) : FX8_OK;
}

/* Skip spectra that lie in a gap before sample `first`, in the current dump and
 * the next ones: whole engine blocks, or the rest of a dump. */
static enum fx8_status skip_gap(struct fx8_session *s, int64_t first,
                                struct fx8_error *error)
{
    const int64_t block =
        (int64_t)s->operations->facts(s->engines[0])->block_spectra;
    for (;;) {
        if (atomic_load(&s->is_cancelled))
            return fx8_fail(error, FX8_ERR_CANCELLED, "cancelled");
        FX8_TRY(fx8_session_end_dump(s, error));
        s->position += fx8_stream_skip(s->stream, first, lacking(s), block);
        if (lacking(s) > 0 || is_over(s))
            return FX8_OK;
    }
}

/* Every dump in a gap is delivered, so a gap that is too long must be a wrong
 * index. */
static enum fx8_status check_gap(const struct fx8_session *s,
                                 const struct fx8_block *block,
                                 struct fx8_error *error)
{
    int64_t next = fx8_stream_next_sample(s->stream);
    if (next < s->pushed_end)
        next = s->pushed_end;
    const int64_t n = fx8_dump_of(&s->plan, (block->first_sample - next) /
                                                (int64_t)s->axes.step);
    if (n <= FX8_MAX_MISSING_DUMPS)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_USAGE,
                    "block: %lld samples from %lld: %lld dumps are missing "
                    "since sample %lld: expected at most %d",
                    (long long)block->n_samples, (long long)block->first_sample,
                    (long long)n, (long long)next, FX8_MAX_MISSING_DUMPS);
}

enum fx8_status fx8_session_settle(struct fx8_session *s,
                                   struct fx8_error *error)
{
    if (s->operations->settle == NULL)
        return FX8_OK;
    for (size_t band = 0; band < s->plan.n_bands; band++)
        FX8_TRY(s->operations->settle(s->engines[band], error));
    return FX8_OK;
}

/* Return a block used in place to the caller, unless `next` can take over the
 * samples held in it. */
static enum fx8_status give_back(struct fx8_session *s,
                                 const struct fx8_block *next,
                                 struct fx8_error *error)
{
    if (fx8_stream_lender(s->stream) == NULL ||
        (next != NULL && fx8_stream_may_borrow(s->stream, next)))
        return FX8_OK;
    const enum fx8_status status = fx8_session_settle(s, error);
    const double start = fx8_clock_seconds();
    fx8_stream_keep(s->stream);
    s->statistics.align_s += fx8_clock_seconds() - start;
    return status;
}

/* Return the previous block to the caller.  Once engines have accepted spectra
 * of another block, they no longer read the previous one. */
static enum fx8_status free_before(struct fx8_session *s, const int8_t *before,
                                   int64_t n_pushed, struct fx8_error *error)
{
    if (fx8_stream_lender(s->stream) == before)
        return give_back(s, NULL, error);
    return n_pushed == s->n_pushed ? fx8_session_settle(s, error) : FX8_OK;
}

/* --- samples in order -------------------------------------------- */

/* Call the reread callback for samples from `sample` on; cut to those pushed.
 */
static enum fx8_status reread(struct fx8_session *s, int64_t sample,
                              struct fx8_error *error)
{
    struct fx8_block *again = &s->again;
    struct fx8_error why = {FX8_OK, ""};
    s->is_delivering = true;
    *again = (struct fx8_block){.first_sample = sample};
    const enum fx8_status status =
        s->plan.reread(s->plan.reread_context, sample, again, &why);
    s->is_delivering = false;
    if (status < 0)
        return fx8_fail(error, status, "%s",
                        why.message[0] == '\0'
                            ? "reread callback failed without a message"
                            : why.message);
    FX8_TRY(fx8_stream_check(s->stream, again, error));
    const int64_t end = again->first_sample + again->n_samples;
    if (end <= sample)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "reread: %lld samples from %lld: expected those from "
                        "%lld on",
                        (long long)again->n_samples,
                        (long long)again->first_sample, (long long)sample);
    if (end > s->samples_end)
        again->n_samples = s->samples_end > again->first_sample
                               ? s->samples_end - again->first_sample
                               : 0;
    again->in_place = NULL;
    return FX8_OK;
}

/* The first block that ends behind `sample`, or NULL: one pushed before (kept
 * or reread), an empty block if these end with a gap, or else `newest`, which
 * may be NULL. */
static enum fx8_status block_behind(struct fx8_session *s, int64_t sample,
                                    const struct fx8_block *newest,
                                    const struct fx8_block **block,
                                    struct fx8_error *error)
{
    const struct fx8_block *again = &s->again;
    if (sample < 0) /* of a margin */
        sample = 0;
    *block = NULL;
    if (sample < s->samples_end && s->plan.reread != NULL) {
        if (sample < again->first_sample ||
            sample >= again->first_sample + again->n_samples)
            FX8_TRY(reread(s, sample, error));
        if (again->n_samples > 0)
            *block = again;
    } else if (sample < s->samples_end) {
        *block = fx8_kept_at(&s->kept, sample);
    }
    if (*block == NULL && sample < s->pushed_end) {
        s->gap.first_sample = s->pushed_end;
        *block = &s->gap;
    }
    if (*block == NULL && newest != NULL &&
        newest->first_sample + newest->n_samples > sample)
        *block = newest;
    return FX8_OK;
}

/* The gains of a round are known.  If its samples exceeded the limit, the size
 * that would have sufficed is now known too: fail with it. */
static enum fx8_status end_round(struct fx8_session *s, struct fx8_error *error)
{
    s->statistics.n_gain_rounds++;
    const size_t bytes = s->memory + s->beside + s->kept.bytes;
    if (!fx8_kept_is_over(&s->kept))
        return FX8_OK;
    return fx8_fail(
        error, FX8_ERR_SYSTEM,
        "plan: memory_limit: %zu MiB: expected at least %zu MiB, to "
        "keep the samples that gains are set from, or a reread "
        "callback",
        s->plan.machine.memory_limit >> 20,
        (bytes >> 20) + (bytes % ((size_t)1 << 20) != 0));
}

/* The next sample that the gains need.  When a round looks back, samples before
 * the first may make it missing: all within reach come first. */
static int64_t next_for_gains(const struct fx8_session *s)
{
    const int64_t next = fx8_gains_next_sample(s->gains);
    const bool is_behind = fx8_session_looks_back(s) && s->seen_behind < next;
    return is_behind ? s->seen_behind : next;
}

/* Measure levels as far as there are samples. */
static enum fx8_status look_ahead(struct fx8_session *s,
                                  const struct fx8_block *newest,
                                  struct fx8_error *error)
{
    bool is_done = false;
    while (!is_done && !atomic_load(&s->is_cancelled)) {
        const struct fx8_block *block;
        FX8_TRY(block_behind(s, next_for_gains(s), newest, &block, error));
        if (block == NULL)
            return FX8_OK;
        struct fx8_block read = *block;
        read.in_place = NULL;
        const double start = fx8_clock_seconds();
        const enum fx8_status status =
            fx8_gains_push(s->gains, &read, &is_done, error);
        s->statistics.gains_s += fx8_clock_seconds() - start;
        s->seen_behind = read.first_sample + read.n_samples;
        FX8_TRY(status);
    }
    return is_done ? end_round(s, error)
                   : fx8_fail(error, FX8_ERR_CANCELLED, "cancelled");
}

/* A block used in place that will go back to the caller, and n_pushed when the
 * stream last held samples in it. */
struct lent {
    const int8_t *before;
    int64_t n_pushed;
};

/* Correlate all pushed samples, up to and including `newest`, as far as the
 * gains are known; look ahead for unknown gains. */
static enum fx8_status advance(struct fx8_session *s,
                               const struct fx8_block *newest,
                               struct lent *lent, struct fx8_error *error)
{
    /* append the newest even if it ends before the first sample: a run of
     * markers may begin in it */
    bool is_seen = newest == NULL;
    for (;;) {
        if (fx8_session_sets_gains(s))
            FX8_TRY(look_ahead(s, newest, error));
        if (fx8_session_sets_gains(s) || is_over(s))
            return FX8_OK;
        const int64_t next = fx8_stream_next_sample(s->stream);
        const struct fx8_block *block;
        fx8_kept_drop(&s->kept, next);
        FX8_TRY(block_behind(s, next, newest, &block, error));
        if (block == NULL && !is_seen)
            block = newest;
        if (block == NULL)
            return FX8_OK;
        is_seen = is_seen || block == newest;
        FX8_TRY(skip_gap(s, block->first_sample, error));
        const double start = fx8_clock_seconds();
        enum fx8_status status = fx8_stream_append(s->stream, block, error);
        s->statistics.align_s += fx8_clock_seconds() - start;
        if (status == FX8_OK)
            status = drain(s, error);
        if (lent != NULL && fx8_stream_lender(s->stream) == lent->before)
            lent->n_pushed = s->n_pushed;
        FX8_TRY(status);
    }
}

/* Keep the rest of a block that waits for gains. */
static enum fx8_status keep_rest(struct fx8_session *s,
                                 const struct fx8_block *block,
                                 struct fx8_error *error)
{
    const int64_t next = fx8_stream_next_sample(s->stream);
    int64_t first = block->first_sample;
    first = first < next ? next : first;
    first = first < s->pushed_end ? s->pushed_end : first;
    FX8_TRY(give_back(s, NULL, error));
    return s->plan.reread != NULL ? FX8_OK
                                  : fx8_kept_add(&s->kept, block, first, error);
}

/* No more samples: correlate all that is left. */
static enum fx8_status run_out(struct fx8_session *s, struct fx8_error *error)
{
    for (;;) {
        FX8_TRY(advance(s, NULL, NULL, error));
        if (fx8_session_sets_gains(s)) {
            FX8_TRY(fx8_gains_end(s->gains, error));
            FX8_TRY(end_round(s, error));
            continue;
        }
        fx8_stream_end(s->stream);
        FX8_TRY(drain(s, error));
        /* the last spectra may have begun a round, which first looks back */
        if (!fx8_session_sets_gains(s))
            return FX8_OK;
    }
}

/* --- calls ------------------------------------------------------- */

enum fx8_status fx8_session_enter(const struct fx8_session *s,
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

enum fx8_status fx8_session_leave(struct fx8_session *s, enum fx8_status status)
{
    if (status < FX8_OK)
        s->stopped = status;
    return status;
}

/* As enter(), and check a block. */
static enum fx8_status enter_with(const struct fx8_session *s,
                                  const struct fx8_block *block,
                                  struct fx8_error *error)
{
    FX8_TRY(fx8_session_enter(s, error));
    if (s->has_finished)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "session: finished: expected no more samples");
    return fx8_stream_check(s->stream, block, error);
}

/* Correlate a checked block, and keep what has to wait for gains. */
static enum fx8_status consume(struct fx8_session *s,
                               const struct fx8_block *block,
                               struct fx8_error *error)
{
    FX8_TRY(give_back(s, block, error));
    struct lent lent = {fx8_stream_is_in(s->stream, block)
                            ? NULL
                            : fx8_stream_lender(s->stream),
                        s->n_pushed};
    const enum fx8_status status = advance(s, block, &lent, error);
    if (status >= FX8_OK && lent.before != NULL)
        FX8_TRY(free_before(s, lent.before, lent.n_pushed, error));
    FX8_TRY(status);
    if (fx8_session_sets_gains(s))
        FX8_TRY(keep_rest(s, block, error));
    const int64_t end = block->first_sample + block->n_samples;
    if (end > s->pushed_end)
        s->pushed_end = end;
    if (block->n_samples > 0 && end > s->samples_end)
        s->samples_end = end;
    return FX8_OK;
}

enum fx8_status fx8_push(struct fx8_session *session,
                         const struct fx8_block *block, struct fx8_error *error)
{
    FX8_TRY(enter_with(session, block, error));
    if (session->is_part_ready)
        return FX8_DUMP_READY;
    FX8_TRY(
        fx8_session_leave(session, fx8_session_take_slices(session, error)));
    FX8_TRY(check_gap(session, block, error));
    session->has_begun = true;
    return fx8_session_leave(session, consume(session, block, error));
}

enum fx8_status fx8_set_gains(struct fx8_session *session,
                              const struct fx8_input_gains *gains,
                              struct fx8_error *error)
{
    struct fx8_session *s = session;
    FX8_TRY(fx8_session_enter(s, error));
    if (gains == NULL || gains->gain == NULL || gains->is_zero == NULL ||
        gains->is_set == NULL)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "gains: NULL: expected gains from fx8_gains()");
    if (s->gains == NULL || s->has_begun)
        return fx8_fail(error, FX8_ERR_USAGE,
                        s->gains == NULL
                            ? "gains: expected a plan with a quantiser"
                            : "gains: cannot be set after the first block");
    const enum fx8_status status = fx8_gains_set(s->gains, gains, error);
    return status == FX8_ERR_USAGE ? status : fx8_session_leave(s, status);
}

enum fx8_status fx8_flush(struct fx8_session *session, struct fx8_error *error)
{
    FX8_TRY(fx8_session_enter(session, error));
    enum fx8_status status = fx8_session_end_dump(session, error);
    if (status == FX8_OK)
        status = fx8_session_take_dump(session, true, error);
    return fx8_session_leave(session, status);
}

const struct fx8_dump *fx8_take_dump(struct fx8_session *session)
{
    const bool is_ready = session->is_ready;
    session->is_ready = false;
    return is_ready ? &session->ready : NULL;
}

enum fx8_status fx8_finish(struct fx8_session *session,
                           int64_t *dropped_spectra, struct fx8_error *error)
{
    struct fx8_session *s = session;
    FX8_TRY(fx8_session_enter(s, error));
    enum fx8_status status = FX8_OK;
    if (!s->has_finished && s->axes.margin > 0) {
        /* a gap: the last windows may reach it */
        s->pushed_end += (int64_t)s->axes.margin;
        status = give_back(s, NULL, error);
    }
    s->has_finished = true;
    if (status == FX8_OK)
        status = fx8_session_take_slices(s, error);
    if (status == FX8_OK)
        status = run_out(s, error);
    if (status == FX8_OK)
        status = give_back(s, NULL, error);
    if (status == FX8_OK)
        status = fx8_session_take_dump(s, true, error);
    if (dropped_spectra != NULL)
        *dropped_spectra =
            is_over(s) ? 0 : s->position + (int64_t)fx8_stream_ready(s->stream);
    return fx8_session_leave(s, status);
}

void fx8_cancel(struct fx8_session *session)
{
    atomic_store(&session->is_cancelled, true);
}
