/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_ranges.h -- dumps computed in ranges, against those of a whole run.
 */
#ifndef FX8_VALIDATION_SESSION_RANGES_H
#define FX8_VALIDATION_SESSION_RANGES_H

#include "validation/session_run.h"

/** A session that computes ranges of dumps. */
struct ranges {
    const struct voltages *v;
    const struct collected *whole; /**< what is expected */
    int64_t block_samples;
    enum layout layout;
    bool is_pulled;
    struct fx8_session *session;
    int64_t next; /**< index of the next dump */
    struct fx8_error error;
};

static inline void check_row(const void *array, const void *got, size_t row,
                             size_t bytes)
{
    check_bytes((const char *)array + row * bytes, got, bytes);
}

/** The next dump must be equal to the whole run's. */
static inline enum fx8_status check_range_dump(void *context,
                                               const struct fx8_dump *dump,
                                               struct fx8_error *error)
{
    struct ranges *r = context;
    const struct collected *c = r->whole;
    const size_t d = (size_t)dump->index, n = c->n_cells;
    (void)error;
    assert_int_equal(dump->index, r->next++);
    for (size_t k = 0; k < FX8_N_RESULTS; k++) {
        const struct fx8_result *result = &dump->results[k];
        if (result->visibilities == NULL)
            continue;
        check_row(c->visibilities[k], result->visibilities, d,
                  2 * n * sizeof(float));
        check_row(c->flags[k], result->flags, d, n);
        check_row(c->nsamples[k], result->nsamples, d, n * sizeof(float));
    }
    check_row(c->dead, dump->dead, d, c->n_inputs);
    if (dump->quicklook.coherence == NULL)
        return FX8_OK;
    check_row(c->quicklook[0], dump->quicklook.coherence, d, 4 * n);
    check_row(c->quicklook[3], dump->quicklook.spectra_db, d,
              c->n_inputs * c->n_written * sizeof(float));
    return FX8_OK;
}

/** Push a block, or finish if NULL, and check the dumps. */
static inline void push_range(struct ranges *r, const struct fx8_block *block)
{
    for (;;) {
        const enum fx8_status status =
            block == NULL ? fx8_finish(r->session, NULL, &r->error)
                          : fx8_push(r->session, block, &r->error);
        must(status < 0 ? status : FX8_OK, r->error);
        if (status != FX8_DUMP_READY)
            return;
        check_range_dump(r, fx8_take_dump(r->session), &r->error);
    }
}

/** Compute dumps [first, end) from samples that begin with the first one that
 *  they need. */
static inline void check_range(struct ranges *r, int64_t first, int64_t end)
{
    int8_t *before = NULL; /* may still be in use */
    int64_t at;
    r->next = first;
    must(fx8_seek(r->session, first, end - first, &at, &r->error), r->error);
    while (r->next < end && at < r->v->n_samples) {
        const int64_t left = r->v->n_samples - at;
        const int64_t n = left < r->block_samples ? left : r->block_samples;
        const struct packed p = pack(r->v, r->layout, at, n);
        push_range(r, &p.block);
        release_early(before);
        before = p.memory;
        at += n;
    }
    if (r->next < end)
        push_range(r, NULL);
    assert_int_equal(r->next, end);
}

/** Open a session for ranges; is_set [n_inputs]: with the whole run's gains of
 *  these rows, NULL: of all that have any. */
static inline void open_ranges(struct ranges *r, const struct fx8_plan *plan,
                               const uint8_t *is_set)
{
    const struct collected *c = r->whole;
    const struct fx8_input_gains gains = {c->gains, c->zero,
                                          is_set != NULL ? is_set : c->is_set};
    must(fx8_open(plan, r->is_pulled ? NULL : check_range_dump, r, &r->session,
                  &r->error),
         r->error);
    if (gains.gain != NULL)
        must(fx8_set_gains(r->session, &gains, &r->error), r->error);
}

/** Every range of dumps, each in a session of its own, and many in one session,
 *  in no order. */
static inline void check_ranges(const struct fx8_plan *plan,
                                const struct voltages *v,
                                const struct collected *whole)
{
    static const int64_t sizes[] = {1000000, 640, 97};
    const int64_t n = (int64_t)whole->n_dumps;
    struct ranges r = {.v = v, .whole = whole};
    size_t k = 0;
    struct ranges one = r;
    one.block_samples = 333;
    open_ranges(&one, plan, NULL);
    for (int64_t first = n; first-- > 0;)
        for (int64_t end = first + 1; end <= n; end++, k++) {
            r.block_samples = sizes[k % 3];
            r.layout = (enum layout)(k % N_LAYOUTS);
            r.is_pulled = k % 2 == 1;
            open_ranges(&r, plan, NULL);
            check_range(&r, first, end);
            fx8_close(&r.session);
            check_range(&one, first, end);
        }
    fx8_close(&one.session);
}

/** The averages of the quick-look are those of the whole run. */
static inline void check_averages(const struct fx8_session *session,
                                  const struct collected *whole)
{
    struct fx8_quicklook_counts counts;
    struct fx8_quicklook_differences differences;
    struct fx8_quicklook_average *averages =
        temporary(whole->n_averages * sizeof *averages);
    fx8_get_quicklook(session, &counts, &differences);
    check_bytes(&counts, &whole->looks, sizeof counts);
    check_bytes(&differences, &whole->differences, sizeof differences);
    fx8_get_coherences(session, averages);
    for (size_t i = 0; i < whole->n_averages; i++)
        check_bytes(&averages[i].coherence, &whole->averages[i].coherence,
                    3 * sizeof(double));
}

/** The quick-look of dumps that the whole run computed, one computed again
 *  among them. */
static inline void check_looks(const struct fx8_plan *plan,
                               const struct voltages *v,
                               const struct collected *whole)
{
    const enum fx8_result_kind kind =
        (plan->precision & FX8_PRECISION_INT8) != 0 ? FX8_RESULT_INT8
                                                    : FX8_RESULT_FP32;
    struct ranges r = {.v = v, .whole = whole, .block_samples = 500};
    struct fx8_dump dump = {.index = 0};
    open_ranges(&r, plan, NULL);
    assert_int_equal(fx8_look(r.session, &dump, &r.error), FX8_ERR_USAGE);
    for (int64_t d = 0; d < (int64_t)whole->n_dumps; d++) {
        const size_t at = (size_t)d * whole->n_cells;
        if (d == 2) {
            check_range(&r, d, d + 1);
            continue;
        }
        dump.index = d;
        dump.results[kind] = (struct fx8_result){
            whole->visibilities[kind] + 2 * at, whole->flags[kind] + at,
            whole->nsamples[kind] + at};
        must(fx8_look(r.session, &dump, &r.error), r.error);
        check_row(whole->quicklook[0], dump.quicklook.coherence, (size_t)d,
                  4 * whole->n_cells);
    }
    check_averages(r.session, whole);
    fx8_close(&r.session);
}

#endif
