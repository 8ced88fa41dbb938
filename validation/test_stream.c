/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_stream.c -- the stream against an oracle that knows every sample: what
 * is held, what is missing, which spectra are ready and valid.
 * Blocks have their exact size, for the address checker, and come in any size
 * and layout, with overlaps and gaps, runs of markers about as long as the
 * shortest that counts, samples beyond the blanking level and at it.
 *
 * Shows: as test_engine.c
 */
#include "config/base/shape.h"
#include "correlator/library/stream.h"
#include "validation/session_run.h"

#define MOST_INPUTS  4
#define MOST_SAMPLES 400

/* --- a recording and its oracle ---------------------------------------- */

struct span {
    int64_t first, n;
};

struct recording {
    struct fx8_stream_shape shape;
    int64_t first_sample;
    struct voltages v;
    struct span blocks[MOST_SAMPLES];
    size_t n_blocks;
    /* derived */
    bool delivered[MOST_SAMPLES];
    bool missing[MOST_INPUTS][MOST_SAMPLES];
    int64_t end; /* behind the last sample delivered */
};

static bool is_marker(const struct recording *r, size_t input, int64_t t)
{
    const int8_t *s = voltages_at(&r->v, input, t);
    return r->shape.marker.is_used && s[0] == r->shape.marker.value &&
           s[r->v.size - 1] == r->shape.marker.value;
}

/* Start of the run of markers that ends before `end`; `end`: none. */
static int64_t marker_start(const struct recording *r, size_t input,
                            int64_t end)
{
    int64_t start = end;
    while (start > 0 && r->delivered[start - 1] &&
           is_marker(r, input, start - 1))
        start--;
    return start;
}

static bool is_beyond(const struct recording *r, size_t input, int64_t t)
{
    const int8_t *s = voltages_at(&r->v, input, t);
    const int level = (int)r->shape.blanking.level;
    const int a = abs(s[0]), b = abs(s[r->v.size - 1]);
    return level > 0 && (a > b ? a : b) > level;
}

static void derive(struct recording *r)
{
    const int64_t margin = r->shape.blanking.margin;
    r->end = 0;
    memset(r->delivered, 0, sizeof r->delivered);
    for (size_t b = 0; b < r->n_blocks; b++) {
        const int64_t end = r->blocks[b].first + r->blocks[b].n;
        for (int64_t t = r->blocks[b].first; t < end; t++)
            if (t >= r->end) /* samples passed over stay missing */
                r->delivered[t] = true;
        r->end = end > r->end ? end : r->end;
    }
    assert_true(r->end <= MOST_SAMPLES);
    for (size_t input = 0; input < r->shape.n_inputs; input++) {
        for (int64_t t = 0; t < r->end; t++)
            r->missing[input][t] =
                !r->delivered[t] ||
                is_in_gaps(r->v.missing, r->v.n_missing, input, t);
        for (int64_t end = r->end; end > 0; end--) {
            if (end < r->end && r->delivered[end] && is_marker(r, input, end))
                continue; /* the run of markers continues */
            const int64_t start = marker_start(r, input, end);
            if (end - start >= r->shape.marker.least_length)
                for (int64_t t = start; t < end; t++)
                    r->missing[input][t] = true;
        }
        for (int64_t t = 0; t < r->end; t++)
            for (int64_t k = -margin; k <= margin; k++)
                if (r->delivered[t] && is_beyond(r, input, t) && t + k >= 0 &&
                    t + k < r->end)
                    r->missing[input][t + k] = true;
    }
}

/* The expected value in a row for a sample: zero where nothing was delivered.
 */
static int8_t held_value(const struct recording *r, size_t input, int64_t t,
                         size_t part)
{
    return (int8_t)(r->delivered[t] ? voltages_at(&r->v, input, t)[part] : 0);
}

static bool is_valid(const struct recording *r, size_t input, int64_t first)
{
    for (int64_t t = first; t < first + r->shape.window; t++)
        if (r->missing[input][t])
            return false;
    return true;
}

/* Spectra that are ready if the stream starts at `first` and has samples up to
 * `next`. */
static size_t ready_spectra(const struct recording *r, int64_t first,
                            int64_t next, bool has_ended)
{
    const struct fx8_blanking *blanking = &r->shape.blanking;
    const bool has_margin = blanking->level > 0 && !has_ended;
    int64_t decided = next - (has_margin ? blanking->margin : 0);
    for (size_t input = 0; input < r->shape.n_inputs && !has_ended; input++) {
        const int64_t start = marker_start(r, input, next);
        if (next - start < r->shape.marker.least_length && start < decided)
            decided = start;
    }
    if (decided - first < r->shape.window)
        return 0;
    return (size_t)((decided - first - r->shape.window) / r->shape.step + 1);
}

/* --- the stream under test --------------------------------------------- */

struct run {
    const struct recording *recording;
    struct generator *generator;
    struct fx8_stream *stream;
    int64_t first; /* of the first spectrum not taken */
    bool has_ended;
    const int8_t *taken; /* the last input's samples of the last take */
    size_t taken_bytes;
    int8_t taken_then[2 * MOST_SAMPLES]; /* their copy */
    size_t n_lent; /* blocks whose samples were used in place */
    int8_t *lent;  /* memory of the last one */
};

/* The samples taken last are unchanged; from now on they may change. */
static void settle(struct run *run)
{
    if (run->taken != NULL)
        assert_memory_equal(run->taken, run->taken_then, run->taken_bytes);
    run->taken = NULL;
}

/* How two sets of rows are used. */
static void take(struct run *run, size_t n)
{
    const struct fx8_stream_shape *shape = &run->recording->shape;
    settle(run);
    if (shape->has_two) {
        run->taken = fx8_stream_row(run->stream, shape->n_inputs - 1);
        run->taken_bytes =
            ((n - 1) * (size_t)shape->step + (size_t)shape->window) *
            shape->sample_size;
        memcpy(run->taken_then, run->taken, run->taken_bytes);
    }
    fx8_stream_take(run->stream, n);
    run->first += (int64_t)n * shape->step;
}

/* Check everything that the stream reports about its first `n` spectra. */
static void check_spectra(const struct run *run, size_t n)
{
    const struct recording *r = run->recording;
    const size_t n_words = fx8_bit_words(n);
    uint64_t *valid = temporary(r->shape.n_inputs * n_words * sizeof *valid);
    struct fx8_error error;
    must(fx8_stream_validity(run->stream, n, valid, &error), error);
    for (size_t input = 0; input < r->shape.n_inputs; input++) {
        const int8_t *row = fx8_stream_row(run->stream, input);
        assert_ptr_equal(row, fx8_stream_row(run->stream, 0) +
                                  input * fx8_stream_row_stride(run->stream));
        const int64_t end = (int64_t)(n - 1) * r->shape.step + r->shape.window;
        for (int64_t t = 0; t < end; t++)
            for (size_t part = 0; part < r->shape.sample_size; part++)
                assert_int_equal(row[(size_t)t * r->shape.sample_size + part],
                                 held_value(r, input, run->first + t, part));
        const uint64_t *bits = valid + input * n_words;
        for (size_t t = 0; t < n_words * 64; t++) {
            const int64_t at = run->first + (int64_t)t * r->shape.step;
            assert_int_equal(fx8_bit_get(bits, t),
                             t < n && is_valid(r, input, at));
        }
    }
    release_early(valid);
}

/* Check what is ready and take some of it; `all`: until nothing is left. */
static void take_some(struct run *run, bool all)
{
    const struct recording *r = run->recording;
    for (;;) {
        const size_t ready = fx8_stream_ready(run->stream);
        assert_int_equal(ready,
                         ready_spectra(r, run->first,
                                       fx8_stream_next_sample(run->stream),
                                       run->has_ended));
        if (ready == 0)
            return;
        const size_t n = 1 + random_below(run->generator, ready);
        check_spectra(run, n);
        take(run, n);
        if (!all)
            return;
    }
}

static void push_block(struct run *run, struct span span)
{
    struct fx8_error error;
    const struct recording *r = run->recording;
    const enum layout layout =
        (enum layout)random_below(run->generator, N_LAYOUTS);
    const size_t most = (size_t)r->shape.window + 2;
    struct packed p = pack_with_room(
        &r->v, layout, span.first, span.n,
        layout == IN_PLACE ? random_below(run->generator, most) : 0);
    const struct fx8_block block = p.block;
    const int64_t end = span.first + span.n;
    int64_t before;
    if (!fx8_stream_may_borrow(run->stream, &block)) {
        settle(run);
        fx8_stream_keep(run->stream);
    }
    do {
        before = fx8_stream_next_sample(run->stream);
        must(fx8_stream_append(run->stream, &block, &error), error);
        const bool is_stuck = fx8_stream_next_sample(run->stream) == before;
        take_some(run, is_stuck);
    } while (fx8_stream_next_sample(run->stream) < end);
    if (fx8_stream_lender(run->stream) == NULL) {
        release_early(p.memory);
        return;
    }
    run->n_lent++;
    if (!fx8_stream_is_in(run->stream, &block)) {
        /* no sample of the block is needed any more */
        settle(run);
        fx8_stream_keep(run->stream);
        release_early(p.memory);
        p.memory = NULL;
    }
    settle(run);
    release_early(run->lent);
    run->lent = p.memory;
}

/* Deliver everything, compare everything; count the blocks used in place. */
static size_t check_recording(struct recording *r, struct generator *generator)
{
    derive(r);
    struct fx8_error error;
    struct run run = {
        .recording = r, .generator = generator, .first = r->first_sample};
    r->shape.operations = fx8_operations_variant(0);
    must(fx8_stream_open(&r->shape, r->first_sample, &run.stream, &error),
         error);
    for (size_t b = 0; b < r->n_blocks; b++)
        push_block(&run, r->blocks[b]);
    fx8_stream_end(run.stream);
    run.has_ended = true;
    take_some(&run, true);
    assert_true(r->end - run.first < r->shape.window);
    fx8_stream_close(&run.stream);
    assert_null(run.stream);
    release_early(run.lent);
    return run.n_lent;
}

/* --- random recordings ------------------------------------------------- */

/* Bursts of markers about as long as the shortest run that counts, between
 * other values; one part alone does not make a complex sample a marker. */
static void fill(struct recording *r, struct generator *g)
{
    const struct fx8_marker *marker = &r->shape.marker;
    r->v = (struct voltages){
        .n_inputs = r->shape.n_inputs,
        .size = r->shape.sample_size,
        .n_samples = MOST_SAMPLES,
        .data = temporary(r->shape.n_inputs * MOST_SAMPLES * 2),
        .n_missing = random_below(g, 6)};
    for (size_t input = 0; input < r->v.n_inputs; input++)
        for (int64_t t = 0; t < MOST_SAMPLES;) {
            const size_t kind = random_below(g, 5);
            int64_t n = kind == 0   ? random_in(g, 1, 2 * marker->least_length)
                        : kind == 1 ? random_in(g, marker->least_length - 1,
                                                marker->least_length + 1)
                                    : random_in(g, 1, 30);
            for (; n > 0 && t < MOST_SAMPLES; n--, t++)
                for (size_t part = 0; part < r->v.size; part++)
                    voltages_at(&r->v, input, t)[part] =
                        (int8_t)(kind < 2    ? marker->value
                                 : kind == 2 ? 0
                                 : kind == 3 ? marker->value ^ (int)part
                                             : random_in(g, -128, 127));
        }
    for (size_t k = 0; k < r->v.n_missing; k++)
        r->v.missing[k] = (struct fx8_gap){
            random_in(g, 0, MOST_SAMPLES - 60), random_in(g, 0, 50),
            random_in(g, -1, (int64_t)r->shape.n_inputs - 1)};
}

static void cut_blocks(struct recording *r, struct generator *g)
{
    const int64_t size = random_in(g, 1, 90);
    int64_t at = random_in(g, 0, 20);
    r->n_blocks = 0;
    for (;;) {
        int64_t first = at;
        if (r->n_blocks > 0 && random_below(g, 6) == 0)
            first += random_in(g, 1, 40); /* a gap */
        else if (random_below(g, 4) == 0)
            first -= random_in(g, 0, at < 30 ? at : 30); /* an overlap */
        const int64_t n = random_in(g, first > at ? 1 : 0, size);
        if (first + n > MOST_SAMPLES || r->n_blocks == MOST_SAMPLES)
            return;
        r->blocks[r->n_blocks++] = (struct span){first, n};
        at = first + n > at ? first + n : at;
    }
}

TEST(random_recordings)
{
    static struct recording r;
    struct generator g = {20240917};
    static const int markers[] = {0, -128, 127, 5};
    const size_t n_rounds = FX8_THREAD_CHECKER ? 500 : 4000;
    size_t n_lent = 0;
    for (size_t i = 0; i < n_rounds; i++) {
        const int64_t step = random_in(&g, 1, 7);
        r.shape = (struct fx8_stream_shape){
            .n_inputs = 1 + random_below(&g, MOST_INPUTS),
            .sample_size = 1 + random_below(&g, 2),
            .step = step,
            .window = step * random_in(&g, 1, 4),
            .most_spectra = 1 + random_below(&g, i % 2 == 0 ? 6 : 150),
            .has_two = random_below(&g, 2) != 0,
            .marker.is_used = random_below(&g, 4) != 0,
            .marker.value = markers[random_below(&g, 4)],
            .marker.least_length = random_in(&g, 1, 24),
            .blanking.level =
                random_below(&g, 2) == 0 ? 0 : random_in(&g, 90, 127),
            .blanking.margin = random_in(&g, 0, 20),
            .threads.count = 1,
        };
        r.first_sample = random_below(&g, 2) == 0 ? 0 : random_in(&g, 1, 60);
        fill(&r, &g);
        cut_blocks(&r, &g);
        n_lent += check_recording(&r, &g);
    }
    assert_in_range(n_lent, n_rounds, SIZE_MAX);
}

/* --- single cases ------------------------------------------------------ */

static const struct fx8_stream_shape small = {
    .n_inputs = 1,
    .sample_size = 1,
    .step = 1,
    .window = 1,
    .most_spectra = 8,
    .threads.count = 1,
};

static struct fx8_stream *open_stream(struct fx8_stream_shape shape)
{
    struct fx8_stream *stream;
    struct fx8_error error;
    shape.operations = fx8_operations_variant(0);
    must(fx8_stream_open(&shape, 0, &stream, &error), error);
    return stream;
}

/* A gap that a block declares behind its own samples is not stored. */
TEST(a_run_of_a_block_ends_with_it)
{
    static const int8_t samples[4] = {1, 1, 1, 1};
    static const ptrdiff_t offset[1] = {0};
    const struct fx8_gap runs[] = {{-50, 52, -1}, {3, INT64_MAX, 0}};
    struct fx8_block block = {.samples = samples,
                              .input_offset = offset,
                              .time_stride = 1,
                              .n_samples = 4,
                              .missing = runs,
                              .n_missing = 2};
    struct fx8_stream *stream = open_stream(small);
    struct fx8_error error;
    must(fx8_stream_append(stream, &block, &error), error);
    block.n_missing = 0;
    block.first_sample = 4;
    must(fx8_stream_append(stream, &block, &error), error);
    assert_int_equal(fx8_stream_ready(stream), 8);
    uint64_t valid = UINT64_MAX;
    must(fx8_stream_validity(stream, 8, &valid, &error), error);
    assert_int_equal(valid, 0xf4);
    fx8_stream_close(&stream);
    fx8_stream_close(&stream);
}

/* Blocks of 4 samples of 2 inputs; a window of 3 samples reaches back for 2. */
TEST(only_some_layouts_are_used_in_place)
{
    static const struct {
        ptrdiff_t first, offset[2], stride;
        int64_t room;
        bool is_lent;
    } layouts[] = {
        {2, {0, 6}, 1, 2, true},   /* with room in front of both rows */
        {0, {2, 8}, 1, 2, true},   /* the room begins with the memory */
        {1, {0, 5}, 1, 1, false},  /* too little room */
        {2, {0, 5}, 1, 2, false},  /* the room is in the other row */
        {0, {8, 2}, 1, 2, false},  /* rows in reverse order */
        {2, {0, 1}, 2, 2, false},  /* samples not side by side */
        {5, {0, 6}, -1, 2, false}, /* samples in reverse order */
    };
    static const int8_t before[4] = {11, 12, 21, 22};
    struct fx8_stream_shape shape = small;
    shape.n_inputs = 2;
    shape.window = 3;
    for (size_t k = 0; k < LENGTH(layouts); k++) {
        struct fx8_stream *stream = open_stream(shape);
        struct fx8_error error;
        struct fx8_block block = {.samples = before,
                                  .input_offset = (const ptrdiff_t[]){0, 2},
                                  .time_stride = 1,
                                  .n_samples = 2};
        must(fx8_stream_append(stream, &block, &error), error);
        assert_null(fx8_stream_lender(stream));
        int8_t *memory = temporary_zeros(14);
        int8_t *samples = memory + layouts[k].first;
        block = (struct fx8_block){.samples = samples,
                                   .input_offset = layouts[k].offset,
                                   .time_stride = layouts[k].stride,
                                   .first_sample = 2,
                                   .n_samples = 4,
                                   .in_place = samples,
                                   .room = layouts[k].room};
        for (int i = 0; i < 8; i++)
            samples[layouts[k].offset[i / 4] + i % 4 * layouts[k].stride] =
                (int8_t)(10 * (i / 4) + 13 + i % 4);
        must(fx8_stream_check(stream, &block, &error), error);
        assert_int_equal(fx8_stream_may_borrow(stream, &block),
                         layouts[k].is_lent);
        must(fx8_stream_append(stream, &block, &error), error);
        assert_int_equal(fx8_stream_is_in(stream, &block), layouts[k].is_lent);
        for (int kept = 0; kept < 2; kept++) {
            for (int i = 0; i < 8; i++)
                assert_int_equal(fx8_stream_row(stream, (size_t)i / 4)[i % 4],
                                 10 * (i / 4) + 11 + i % 4);
            fx8_stream_keep(stream);
        }
        assert_null(fx8_stream_lender(stream));
        fx8_stream_close(&stream);
    }
}

TEST(memory_that_cannot_be_had)
{
    struct fx8_stream_shape shape = small;
    shape.step = shape.window = INT64_MAX / 2;
    shape.operations = fx8_operations_variant(0);
    struct fx8_stream *stream = (void *)&shape;
    struct fx8_error error;
    must_fail_with(fx8_stream_open(&shape, 0, &stream, &error), error,
                   FX8_ERR_SYSTEM, "samples");
    assert_null(stream);
}
