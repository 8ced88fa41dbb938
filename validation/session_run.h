/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_run.h -- a recording in memory, pushed to a session in blocks of any
 * size and layout, and all that the session delivers, collected.
 */
#ifndef FX8_VALIDATION_SESSION_RUN_H
#define FX8_VALIDATION_SESSION_RUN_H

#include "correlator/fx8.h"
#include "validation/testing.h"

/** Samples [input][time] of `size` bytes each from absolute index 0 on; with
 *  several bands, inputs are rows. */
struct voltages {
    size_t n_inputs, size;
    int64_t n_samples;
    int8_t *data;
    struct fx8_gap missing[8];
    size_t n_missing;
};

/** IN_PLACE: antenna-major, used without a copy. */
enum layout { ANTENNA_MAJOR, TIME_MAJOR, BACKWARDS, IN_PLACE, N_LAYOUTS };

/** Room in samples in front of each row used in place: enough for some
 *  filters. */
enum { ROOM = 48 };

/** How samples are pushed. */
struct delivery {
    int64_t block_samples; /**< 0: all at once */
    enum layout layout;
    int64_t overlap; /**< samples that each block repeats of the one before */
    int64_t gap_first, gap_end; /**< never delivered */
    bool ends_gap;              /**< a block without samples declares the gap */
    int64_t reread_samples;     /**< > 0: the session may ask for samples again,
                                   this many at a time */
    bool is_pulled;             /**< dumps are taken, not received */
};

enum { N_LOOKS = 4 };

/** All output of a session; arrays over all dumps, NULL for what
 *  it does not have.  The memory lasts for the case.  n_inputs counts rows,
 *  n_channels the channels of one band. */
struct collected {
    size_t n_dumps, n_baselines, n_cells, n_inputs, n_channels;
    /** INT8, FP32, DOWN, UP [dump][cell][re, im] */
    float *visibilities[FX8_N_RESULTS];
    uint8_t *flags[FX8_N_RESULTS];
    float *nsamples[FX8_N_RESULTS];
    uint8_t *dead; /**< [dump][input] */
    float *gains;
    uint8_t *zero, *is_set;
    int64_t *clips, *valid_spectra;
    int64_t dropped_spectra;
    size_t n_rereads;     /**< calls of the callback */
    size_t next_baseline; /**< of the dump of which slices were received */
    size_t n_slices;      /**< received, of all dumps */
    struct fx8_statistics statistics;
    /** Coherence, amplitude, phase [dump][cell]; spectra_db [dump][input]
     *  [n_written] */
    void *quicklook[N_LOOKS];
    size_t n_written; /**< channels of a band, averaged */
    struct fx8_quicklook_counts looks;
    struct fx8_quicklook_differences differences;
    size_t n_averages;
    struct fx8_quicklook_average *averages; /**< [baseline][product] */
};

static inline int8_t *voltages_at(const struct voltages *v, size_t input,
                                  int64_t t)
{
    return v->data + (input * (size_t)v->n_samples + (size_t)t) * v->size;
}

/** Noise of `rms` LSB on every input, partly common to all. */
static inline struct voltages make_voltages(size_t n_inputs, size_t size,
                                            int64_t n_samples, double rms,
                                            uint64_t seed)
{
    struct voltages v = {
        .n_inputs = n_inputs, .size = size, .n_samples = n_samples};
    v.data = temporary(n_inputs * (size_t)n_samples * size);
    struct generator g = {seed};
    for (int64_t t = 0; t < n_samples; t++)
        for (size_t part = 0; part < size; part++) {
            const int common = random_noise(&g, rms / 2);
            for (size_t input = 0; input < n_inputs; input++) {
                const int x = common + random_noise(&g, rms);
                voltages_at(&v, input, t)[part] = (int8_t)(x > 127    ? 127
                                                           : x < -128 ? -128
                                                                      : x);
            }
        }
    return v;
}

/** Whether an input's sample is in one of n gaps. */
static inline bool is_in_gaps(const struct fx8_gap *gaps, size_t n,
                              size_t input, int64_t t)
{
    for (size_t k = 0; k < n; k++)
        if ((gaps[k].input < 0 || gaps[k].input == (int64_t)input) &&
            t >= gaps[k].first_sample &&
            t - gaps[k].first_sample < gaps[k].n_samples)
            return true;
    return false;
}

/** `n` more items behind `n_old`, in new memory. */
static inline void *append(const void *array, size_t n_old, const void *items,
                           size_t n, size_t size)
{
    char *grown = temporary((n_old + n) * size);
    if (n_old > 0)
        memcpy(grown, array, n_old * size);
    memcpy(grown + n_old * size, items, n * size);
    return grown;
}

/** n cells behind those received `before`. */
static inline void collect_result(struct collected *c, size_t k,
                                  const struct fx8_result *result,
                                  size_t before, size_t n)
{
    assert_int_equal(result->visibilities == NULL, result->flags == NULL);
    assert_int_equal(result->visibilities == NULL, result->nsamples == NULL);
    if (result->visibilities == NULL)
        return;
    c->visibilities[k] = append(c->visibilities[k], 2 * before,
                                result->visibilities, 2 * n, sizeof(float));
    c->flags[k] = append(c->flags[k], before, result->flags, n, 1);
    c->nsamples[k] =
        append(c->nsamples[k], before, result->nsamples, n, sizeof(float));
}

static inline enum fx8_status collect_dump(void *context,
                                           const struct fx8_dump *dump,
                                           struct fx8_error *error)
{
    struct collected *c = context;
    const size_t row = dump->n_channels * dump->n_products;
    (void)error;
    assert_int_equal(dump->index, c->n_dumps);
    assert_int_equal(dump->first_baseline, c->next_baseline);
    if (c->n_baselines == 0)
        c->n_baselines = dump->n_baselines;
    c->n_cells = c->n_baselines * row;
    for (size_t kind = 0; kind < FX8_N_RESULTS; kind++)
        collect_result(c, kind, &dump->results[kind],
                       c->n_dumps * c->n_cells + c->next_baseline * row,
                       dump->n_baselines * row);
    c->n_slices++;
    c->next_baseline += dump->n_baselines;
    if (c->next_baseline < c->n_baselines)
        return FX8_OK;
    c->next_baseline = 0;
    c->dead =
        append(c->dead, c->n_dumps * c->n_inputs, dump->dead, c->n_inputs, 1);
    const struct fx8_quicklook_dump *q = &dump->quicklook;
    const struct {
        const void *items;
        size_t n_bytes;
    } looks[N_LOOKS] = {
        {q->coherence, 4 * c->n_cells},
        {q->amplitude, 2 * c->n_cells},
        {q->phase, 2 * c->n_cells},
        {q->spectra_db, c->n_inputs * c->n_written * sizeof(float)},
    };
    for (size_t k = 0; k < N_LOOKS && q->coherence != NULL; k++)
        c->quicklook[k] = append(c->quicklook[k], c->n_dumps, looks[k].items, 1,
                                 looks[k].n_bytes);
    c->n_dumps++;
    return FX8_OK;
}

/** A block in its own memory, which may be released before the case ends. */
struct packed {
    struct fx8_block block;
    int8_t *memory; /**< [n_bytes] */
    size_t n_bytes;
};

/** With so much room in front of each row, in samples; the block is used in
 *  place if that is positive. */
static inline struct packed pack_with_room(const struct voltages *v,
                                           enum layout layout, int64_t first,
                                           int64_t n_samples, size_t room)
{
    const size_t size = v->size, inputs = v->n_inputs, n = (size_t)n_samples;
    struct packed p = {
        .memory = temporary((n + room) * inputs * size),
        .n_bytes = (n + room) * inputs * size,
    };
    ptrdiff_t *offset = temporary(inputs * sizeof *offset);
    ptrdiff_t stride = (ptrdiff_t)size, origin = (ptrdiff_t)(room * size);
    if (layout == TIME_MAJOR)
        stride = (ptrdiff_t)(inputs * size);
    if (layout == BACKWARDS && n > 0) {
        stride = -(ptrdiff_t)size;
        origin = (ptrdiff_t)((n - 1) * size);
    }
    for (size_t input = 0; input < inputs; input++) {
        const size_t place = layout == BACKWARDS ? inputs - 1 - input : input;
        offset[input] =
            (ptrdiff_t)(place * size * (layout == TIME_MAJOR ? 1 : n + room));
        for (size_t t = 0; t < n; t++)
            memcpy(p.memory + origin + offset[input] + (ptrdiff_t)t * stride,
                   voltages_at(v, input, first + (int64_t)t), size);
    }
    p.block = (struct fx8_block){
        .samples = p.memory + origin,
        .input_offset = offset,
        .time_stride = stride,
        .first_sample = first,
        .n_samples = n_samples,
        .missing = v->missing,
        .n_missing = v->n_missing,
        .in_place = room > 0 ? p.memory + origin : NULL,
        .room = (int64_t)room,
    };
    return p;
}

static inline struct packed pack(const struct voltages *v, enum layout layout,
                                 int64_t first, int64_t n_samples)
{
    return pack_with_room(v, layout, first, n_samples,
                          layout == IN_PLACE ? ROOM : 0);
}

/** The next block of a delivery, from sample `first` on; n_samples 0 at the
 *  end. */
static inline void next_block(const struct voltages *v,
                              const struct delivery *d, int64_t *first,
                              int64_t *n)
{
    const int64_t size = d->block_samples > 0 ? d->block_samples : v->n_samples;
    if (*first >= d->gap_first && *first < d->gap_end)
        *first = d->gap_end;
    int64_t end = *first + size < v->n_samples ? *first + size : v->n_samples;
    if (*first < d->gap_first && end > d->gap_first)
        end = d->gap_first;
    *n = end - *first;
    const int64_t least = *first >= d->gap_end ? d->gap_end : 0;
    const int64_t back =
        d->overlap < *first - least ? d->overlap : *first - least;
    if (*n > 0) {
        *first -= back;
        *n += back;
    }
}

/** Delivers samples again. */
struct rereader {
    const struct voltages *v;
    struct delivery d;
    struct collected *c;
    struct packed packed;
};

static inline enum fx8_status reread_block(void *context, int64_t first_sample,
                                           struct fx8_block *block,
                                           struct fx8_error *error)
{
    struct rereader *r = context;
    int64_t n;
    (void)error;
    release_early(r->packed.memory);
    r->c->n_rereads++;
    next_block(r->v, &r->d, &first_sample, &n);
    if (n <= 0)
        return FX8_OK;
    r->packed = pack(r->v, r->d.layout, first_sample, n);
    *block = r->packed.block;
    return FX8_OK;
}

/** Push or finish, taking waiting dumps first; returns the final status.  A
 * call at which a dump waits changes nothing, however often it is repeated. */
static inline enum fx8_status push_or_finish(struct fx8_session *session,
                                             const struct fx8_block *block,
                                             struct collected *c,
                                             struct fx8_error *error)
{
    for (;;) {
        enum fx8_status status = FX8_OK;
        for (int call = 0; call < 2; call++) {
            status = block == NULL
                         ? fx8_finish(session, &c->dropped_spectra, error)
                         : fx8_push(session, block, error);
            if (status != FX8_DUMP_READY)
                return status;
        }
        const struct fx8_dump *dump = fx8_take_dump(session);
        assert_non_null(dump);
        assert_null(fx8_take_dump(session));
        const enum fx8_status taken = collect_dump(c, dump, error);
        if (taken != FX8_OK)
            return taken;
    }
}

static inline enum fx8_status push_all(struct fx8_session *session,
                                       const struct voltages *v,
                                       const struct delivery *d,
                                       struct collected *c,
                                       struct fx8_error *error)
{
    int8_t *before = NULL; /* may still be in use */
    for (int64_t first = 0;;) {
        int64_t n;
        const int64_t before_gap = first;
        next_block(v, d, &first, &n);
        if (d->ends_gap && before_gap < d->gap_end &&
            first + n > d->gap_first) {
            const struct fx8_block empty = {.first_sample = d->gap_end};
            must(push_or_finish(session, &empty, c, error), *error);
        }
        if (n <= 0)
            return push_or_finish(session, NULL, c, error);
        const struct packed p = pack(v, d->layout, first, n);
        const enum fx8_status status =
            push_or_finish(session, &p.block, c, error);
        if (status != FX8_OK)
            return status;
        release_early(before);
        before = p.memory;
        first += n;
    }
}

/** One session from opening to closing; `c` is zeroed. */
static inline enum fx8_status run_session(const struct fx8_plan *plan,
                                          const struct voltages *v,
                                          const struct delivery *d,
                                          struct collected *c,
                                          struct fx8_error *error)
{
    struct fx8_session *session;
    c->n_inputs = v->n_inputs;
    c->n_channels = fx8_plan_axes(plan).n_fine / plan->n_bands;
    c->n_baselines = fx8_plan_axes(plan).n_baselines;
    c->n_written = c->n_channels / plan->channel_average;
    struct rereader r = {.v = v, .d = *d, .c = c};
    r.d.block_samples = d->reread_samples;
    r.d.overlap = 0;
    struct fx8_plan mine = *plan;
    if (d->reread_samples > 0) {
        mine.reread = reread_block;
        mine.reread_context = &r;
    }
    must(
        fx8_open(&mine, d->is_pulled ? NULL : collect_dump, c, &session, error),
        *error);
    const enum fx8_status status = push_all(session, v, d, c, error);
    fx8_get_statistics(session, &c->statistics);
    const struct fx8_axes axes = fx8_plan_axes(plan);
    c->n_averages = axes.n_baselines * axes.n_products;
    c->averages = temporary(c->n_averages * sizeof *c->averages);
    fx8_get_quicklook(session, &c->looks, &c->differences);
    fx8_get_coherences(session, c->averages);
    const size_t cells = c->n_inputs * c->n_channels;
    const struct fx8_input_gains gains = fx8_gains(session);
    const struct fx8_input_counts inputs = fx8_inputs(session);
    if (gains.gain != NULL) {
        c->gains = append(NULL, 0, gains.gain, cells, sizeof(float));
        c->zero = append(NULL, 0, gains.is_zero, cells, 1);
        c->is_set = append(NULL, 0, gains.is_set, c->n_inputs, 1);
    }
    c->clips = append(NULL, 0, inputs.clips, cells, sizeof(int64_t));
    c->valid_spectra =
        append(NULL, 0, inputs.valid_spectra, c->n_inputs, sizeof(int64_t));
    fx8_close(&session);
    assert_null(session);
    return status;
}

/** A run that must succeed. */
static inline struct collected collect(const struct fx8_plan *plan,
                                       const struct voltages *v,
                                       const struct delivery *d)
{
    struct collected c = {0};
    struct fx8_error error;
    must(run_session(plan, v, d, &c, &error), error);
    return c;
}

/** An array of a session's output; NULL data: no such array. */
struct part {
    const void *data;
    size_t n_rows, n_items, size;
};

enum { N_PARTS = 3 * FX8_N_RESULTS + N_LOOKS + 5 };

/** All arrays: rows of dumps and baselines, of dumps, or of inputs. */
static inline void list_parts(const struct collected *c,
                              struct part parts[N_PARTS])
{
    const size_t cells = c->n_dumps * c->n_cells, inputs = c->n_inputs;
    const size_t rows = c->n_dumps * c->n_baselines;
    const size_t n = rows > 0 ? cells / rows : 0;
    for (size_t k = 0; k < FX8_N_RESULTS; k++) {
        *parts++ =
            (struct part){c->visibilities[k], rows, n, 2 * sizeof(float)};
        *parts++ = (struct part){c->flags[k], rows, n, 1};
        *parts++ = (struct part){c->nsamples[k], rows, n, sizeof(float)};
    }
    const struct part others[] = {
        {c->quicklook[0], rows, n, 4},
        {c->quicklook[1], rows, n, 2},
        {c->quicklook[2], rows, n, 2},
        {c->quicklook[3], c->n_dumps * inputs, c->n_written, sizeof(float)},
        {c->dead, c->n_dumps, inputs, 1},
        {c->valid_spectra, 1, inputs, sizeof(int64_t)},
        {c->gains, inputs, c->n_channels, sizeof(float)},
        {c->zero, inputs, c->n_channels, 1},
        {c->clips, inputs, c->n_channels, sizeof(int64_t)},
    };
    memcpy(parts, others, sizeof others);
}

/** Equal bit for bit, except for the times. */
static inline void check_same(const struct collected *a,
                              const struct collected *b)
{
    struct part of_a[N_PARTS], of_b[N_PARTS];
    list_parts(a, of_a);
    list_parts(b, of_b);
    assert_int_equal(a->n_dumps, b->n_dumps);
    assert_int_equal(a->n_cells, b->n_cells);
    assert_int_equal(a->dropped_spectra, b->dropped_spectra);
    for (size_t k = 0; k < N_PARTS; k++)
        check_bytes(of_a[k].data, of_b[k].data,
                    of_a[k].n_rows * of_a[k].n_items * of_a[k].size);
    assert_int_equal(a->statistics.n_clipped, b->statistics.n_clipped);
    assert_int_equal(a->statistics.n_sk_judged, b->statistics.n_sk_judged);
    assert_int_equal(a->statistics.n_sk_flagged, b->statistics.n_sk_flagged);
    check_bytes(&a->looks, &b->looks, sizeof a->looks);
    check_bytes(&a->differences, &b->differences, sizeof a->differences);
    for (size_t i = 0; i < a->n_averages; i++) {
        assert_int_equal(a->averages[i].state, b->averages[i].state);
        check_bytes(&a->averages[i].coherence, &b->averages[i].coherence,
                    3 * sizeof(double));
    }
}

/** A small plan: every member without a default is set. */
static inline struct fx8_plan small_plan(size_t n_antennas,
                                         size_t n_polarizations,
                                         bool is_complex, size_t n_channels,
                                         int64_t spectra_per_dump)
{
    struct fx8_plan plan = fx8_plan_default();
    plan.is_complex = is_complex;
    plan.n_antennas = n_antennas;
    plan.n_polarizations = n_polarizations;
    plan.sample_rate = (struct fx8_rate){1000000, 1};
    plan.dc_frequency_hz = 150e6;
    plan.channelizer.n_channels = n_channels;
    plan.channelizer.n_taps = 4;
    plan.spectra_per_dump = spectra_per_dump;
    plan.precision = FX8_PRECISION_BOTH;
    plan.machine.threads.count = 1;
    return plan;
}

/** The number behind `words` in the message about a memory limit that is too
 *  low. */
static inline size_t number_refused(const struct fx8_plan *plan,
                                    const char *words)
{
    struct fx8_session *session = (void *)&session;
    struct fx8_error error;
    assert_int_equal(fx8_open(plan, collect_dump, NULL, &session, &error),
                     FX8_ERR_USAGE);
    assert_null(session);
    const char *at = strstr(error.message, words);
    assert_non_null(at);
    return strtoul(at + strlen(words), NULL, 10);
}

/** An open session that has received nothing yet, with its samples. */
struct held_session {
    struct fx8_plan plan;
    struct voltages v;
    struct packed all; /**< the samples as one block, time-major */
    struct collected c;
    struct fx8_session *session;
    struct fx8_error error;
};

/** Open a session of two complex inputs and four channels; h->c collects its
 *  output. */
static inline void hold(struct held_session *h, enum fx8_precision precision,
                        int64_t spectra_per_dump, int64_t n_samples)
{
    *h = (struct held_session){.plan =
                                   small_plan(2, 1, true, 4, spectra_per_dump),
                               .v = make_voltages(2, 2, n_samples, 15, 9),
                               .c = {.n_inputs = 2}};
    h->plan.precision = precision;
    h->all = pack(&h->v, TIME_MAJOR, 0, n_samples);
    must(fx8_open(&h->plan, collect_dump, &h->c, &h->session, &h->error),
         h->error);
}

#endif
