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
    int64_t next;         /**< index of the next dump */
    size_t next_baseline; /**< of its next slice */
    struct fx8_error error;
};

static inline void check_row(const void *array, const void *got, size_t row,
                             size_t bytes)
{
    check_bytes((const char *)array + row * bytes, got, bytes);
}

/** The next dump, or slice of it, must be equal to the whole run's. */
static inline enum fx8_status check_range_dump(void *context,
                                               const struct fx8_dump *dump,
                                               struct fx8_error *error)
{
    struct ranges *r = context;
    const struct collected *c = r->whole;
    const size_t d = (size_t)dump->index, n = c->n_cells;
    const size_t row = n / c->n_baselines, rows = dump->n_baselines * row;
    const size_t cell = d * n + dump->first_baseline * row;
    (void)error;
    assert_int_equal(dump->index, r->next);
    assert_int_equal(dump->first_baseline, r->next_baseline);
    for (size_t k = 0; k < FX8_N_RESULTS; k++) {
        const struct fx8_result *result = &dump->results[k];
        if (result->visibilities == NULL)
            continue;
        check_bytes(c->visibilities[k] + 2 * cell, result->visibilities,
                    2 * rows * sizeof(float));
        check_bytes(c->flags[k] + cell, result->flags, rows);
        check_bytes(c->nsamples[k] + cell, result->nsamples,
                    rows * sizeof(float));
    }
    r->next_baseline += dump->n_baselines;
    if (r->next_baseline < c->n_baselines)
        return FX8_OK;
    r->next_baseline = 0;
    r->next++;
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

/** Compute segments [first, end) of a dump, into the caller's memory. */
static inline void compute_part(struct ranges *r, int64_t dump, int64_t first,
                                int64_t end, void *part)
{
    int8_t *before = NULL; /* may still be in use */
    int64_t at;
    enum fx8_status status = FX8_OK;
    must(fx8_seek_part(r->session, dump, first, end - first, &at, &r->error),
         r->error);
    while (status == FX8_OK && at < r->v->n_samples) {
        const int64_t left = r->v->n_samples - at;
        const int64_t n = left < r->block_samples ? left : r->block_samples;
        const struct packed p = pack(r->v, r->layout, at, n);
        status = fx8_push(r->session, &p.block, &r->error);
        release_early(before);
        before = p.memory;
        at += n;
    }
    if (status == FX8_OK)
        status = fx8_finish(r->session, NULL, &r->error);
    must(status < 0 ? status : FX8_OK, r->error);
    assert_int_equal(status, FX8_DUMP_READY);
    assert_null(fx8_take_dump(r->session));
    must(fx8_take_part(r->session, part, &r->error), r->error);
}

/** Segments in a dump. */
static inline int64_t count_segments(const struct fx8_plan *plan, int64_t dump)
{
    return (fx8_dump_spectra(plan, dump) - 1) / fx8_segment_spectra(plan) + 1;
}

enum { N_PARTNERS = 3 };

/** Every dump in parts of n_segments, the last may have fewer, by turns in
 *  several sessions, added and delivered by the first of them. */
static inline void check_parts(const struct fx8_plan *plan,
                               const struct voltages *v,
                               const struct collected *whole,
                               const uint8_t *is_set, int64_t n_segments)
{
    static const int64_t sizes[N_PARTNERS] = {30011, 1000000, 4096};
    struct ranges partners[N_PARTNERS];
    for (size_t k = 0; k < N_PARTNERS; k++) {
        partners[k] = (struct ranges){.v = v,
                                      .whole = whole,
                                      .block_samples = sizes[k],
                                      .layout = (enum layout)k,
                                      .is_pulled = n_segments == 1};
        open_ranges(&partners[k], plan, is_set);
    }
    struct ranges *owner = &partners[0];
    const size_t size = fx8_part_size(owner->session);
    void *const sum = temporary(size), *const part = temporary(size);
    size_t turn = 0;
    for (int64_t dump = 0; dump < (int64_t)whole->n_dumps; dump++) {
        const int64_t n = count_segments(plan, dump);
        for (int64_t first = 0; first < n; first += n_segments) {
            const int64_t end = first + n_segments;
            compute_part(&partners[turn++ % N_PARTNERS], dump, first,
                         end < n ? end : n, first == 0 ? sum : part);
            if (first > 0)
                fx8_add_part(owner->session, sum, part);
        }
        owner->next = dump;
        const enum fx8_status status =
            fx8_end_parts(owner->session, dump, sum, &owner->error);
        must(status < 0 ? status : FX8_OK, owner->error);
        if (status == FX8_DUMP_READY)
            check_range_dump(owner, fx8_take_dump(owner->session),
                             &owner->error);
        assert_int_equal(owner->next, dump + 1);
    }
    const struct fx8_input_counts counts = fx8_inputs(owner->session);
    check_bytes(counts.clips, whole->clips,
                whole->n_inputs * whole->n_channels * sizeof *counts.clips);
    check_bytes(counts.valid_spectra, whole->valid_spectra,
                whole->n_inputs * sizeof *counts.valid_spectra);
    /* whole dumps after parts */
    check_range(owner, 0, (int64_t)whole->n_dumps);
    for (size_t k = 0; k < N_PARTNERS; k++)
        fx8_close(&partners[k].session);
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
