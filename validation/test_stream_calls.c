/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_stream_calls.c -- the stream call by call: blocks that it refuses or
 * uses in place, the runs that it lists, threads, memory.
 *
 * Shows: as test_engine.c
 */
#include "config/base/shape.h"
#include "correlator/library/stream.h"
#include "validation/testing.h"

/* From sample 0 on. */
static struct fx8_block plain_block(const int8_t *samples,
                                    const ptrdiff_t *offset, ptrdiff_t stride,
                                    int64_t n_samples)
{
    return (struct fx8_block){.samples = samples,
                              .input_offset = offset,
                              .time_stride = stride,
                              .n_samples = n_samples};
}

TEST(a_run_of_a_block_ends_with_it)
{
    static const int8_t samples[4] = {1, 1, 1, 1};
    static const ptrdiff_t offset[1] = {0};
    const struct fx8_gap runs[] = {{-50, 52, -1}, {3, INT64_MAX, 0}};
    struct fx8_block blocks[] = {plain_block(samples, offset, 1, 4),
                                 plain_block(samples, offset, 1, 4)};
    blocks[0].missing = runs;
    blocks[0].n_missing = 2;
    blocks[1].first_sample = 4;
    const struct fx8_stream_shape shape = {
        .n_inputs = 1,
        .sample_size = 1,
        .step = 1,
        .window = 1,
        .most_spectra = 8,
        .threads.count = 1,
        .operations = fx8_operations_variant(0),
    };
    struct fx8_stream *stream;
    struct fx8_error error;
    must(fx8_stream_open(&shape, 0, &stream, &error), error);
    for (size_t b = 0; b < 2; b++)
        must(fx8_stream_append(stream, &blocks[b], &error), error);
    assert_int_equal(fx8_stream_ready(stream), 8);
    uint64_t valid = UINT64_MAX;
    fx8_stream_validity(stream, 8, &valid);
    assert_int_equal(valid, 0xf4);
    fx8_stream_close(&stream);
    fx8_stream_close(&stream);
}

TEST(a_run_names_an_input_that_exists)
{
    static const int8_t samples[4] = {1, 1, 1, 1};
    static const ptrdiff_t offset[2] = {0, 0};
    static const int64_t wrong[] = {-2, 2, INT64_MAX};
    static const char *const texts[] = {
        "block: missing stretch of input -2: expected -1 to 1",
        "block: missing stretch of input 2: expected -1 to 1",
        "block: missing stretch of input 9223372036854775807: expected -1 to 1",
    };
    const struct fx8_stream_shape shape = {
        .n_inputs = 2,
        .sample_size = 1,
        .step = 1,
        .window = 1,
        .most_spectra = 8,
        .threads.count = 1,
        .operations = fx8_operations_variant(0),
    };
    for (size_t i = 0; i < 3; i++) {
        const struct fx8_gap run = {1, 1, wrong[i]};
        struct fx8_block block = plain_block(samples, offset, 1, 4);
        block.missing = &run;
        block.n_missing = 1;
        struct fx8_stream *stream;
        struct fx8_error error;
        must(fx8_stream_open(&shape, 0, &stream, &error), error);
        must_fail(fx8_stream_check(stream, &block, &error), error,
                  FX8_ERR_USAGE, texts[i]);
        fx8_stream_close(&stream);
    }
}

/* A block of 4 samples of 2 inputs in 10 bytes of memory. */
struct layout {
    ptrdiff_t first, offset[2], stride;
    int64_t room;
    bool is_lent;
};

/* A window of 3 samples reaches back for 2. */
TEST(only_some_layouts_are_used_in_place)
{
    static const struct layout layouts[] = {
        {2, {0, 6}, 1, 2, true},   /* with room in front of both rows */
        {0, {2, 8}, 1, 2, true},   /* the room begins with the memory */
        {1, {0, 5}, 1, 1, false},  /* too little room */
        {2, {0, 5}, 1, 2, false},  /* the room is in the other row */
        {0, {8, 2}, 1, 2, false},  /* rows in reverse order */
        {2, {0, 1}, 2, 2, false},  /* samples not side by side */
        {5, {0, 6}, -1, 2, false}, /* samples in reverse order */
    };
    const struct fx8_stream_shape shape = {
        .n_inputs = 2,
        .sample_size = 1,
        .step = 1,
        .window = 3,
        .most_spectra = 2,
        .threads.count = 1,
        .operations = fx8_operations_variant(0),
    };
    static const int8_t before[4] = {11, 12, 21, 22};
    static const ptrdiff_t before_offset[2] = {0, 2};
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
        const struct layout *layout = &layouts[k];
        struct fx8_stream *stream;
        struct fx8_error error;
        must(fx8_stream_open(&shape, 0, &stream, &error), error);
        struct fx8_block block = plain_block(before, before_offset, 1, 2);
        must(fx8_stream_append(stream, &block, &error), error);
        assert_null(fx8_stream_lender(stream));
        int8_t *memory = exact(14);
        memset(memory, 0, 14);
        block = plain_block(memory + layout->first, layout->offset,
                            layout->stride, 4);
        block.first_sample = 2;
        block.in_place = memory + layout->first;
        block.room = layout->room;
        for (int input = 0; input < 2; input++)
            for (int t = 0; t < 4; t++)
                memory[layout->first + layout->offset[input] +
                       t * layout->stride] = (int8_t)(10 * input + 13 + t);
        must(fx8_stream_check(stream, &block, &error), error);
        assert_int_equal(fx8_stream_may_borrow(stream, &block),
                         layout->is_lent);
        must(fx8_stream_append(stream, &block, &error), error);
        assert_int_equal(fx8_stream_is_in(stream, &block), layout->is_lent);
        for (int kept = 0; kept < 2; kept++) {
            for (size_t input = 0; input < 2; input++)
                for (int t = 0; t < 4; t++)
                    assert_int_equal(fx8_stream_row(stream, input)[t],
                                     10 * (int)input + 11 + t);
            fx8_stream_keep(stream);
        }
        assert_null(fx8_stream_lender(stream));
        free(memory);
        fx8_stream_close(&stream);
    }
}

TEST(what_is_in_place_is_of_the_block)
{
    static int8_t samples[4];
    static const ptrdiff_t offset[1] = {0};
    static const struct {
        int8_t *in_place;
        int64_t room;
    } wrong[] = {{samples + 1, 0}, {samples, -1}, {samples, INT64_MAX}};
    const struct fx8_stream_shape shape = {
        .n_inputs = 1,
        .sample_size = 1,
        .step = 1,
        .window = 1,
        .most_spectra = 8,
        .threads.count = 1,
        .operations = fx8_operations_variant(0),
    };
    struct fx8_stream *stream;
    struct fx8_error error;
    must(fx8_stream_open(&shape, 0, &stream, &error), error);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        struct fx8_block block = plain_block(samples, offset, 1, 4);
        block.in_place = wrong[k].in_place;
        block.room = wrong[k].room;
        must_fail_with(fx8_stream_check(stream, &block, &error), error,
                       FX8_ERR_USAGE, "block: in_place: room for ");
    }
    fx8_stream_close(&stream);
}

/* Chunks of the corner turn are shared between threads: no sample may be lost,
 * whatever the number of threads. */
TEST(long_blocks_on_several_threads)
{
    enum { N = 3 * 8192 + 77, INPUTS = 3 };
    int8_t *samples = exact((size_t)N * INPUTS * 2);
    struct generator g = {3};
    for (size_t i = 0; i < (size_t)N * INPUTS * 2; i++)
        samples[i] = (int8_t)random_bits(&g);
    const ptrdiff_t offset[INPUTS] = {4, 0, 2};
    const struct fx8_block block = plain_block(samples, offset, 2 * INPUTS, N);
    for (size_t threads = 1; threads <= 3; threads++) {
        const struct fx8_stream_shape shape = {
            .n_inputs = INPUTS,
            .sample_size = 2,
            .step = 1,
            .window = 5,
            .most_spectra = N,
            .threads.count = threads,
            .operations = fx8_operations_variant(0),
        };
        struct fx8_stream *stream;
        struct fx8_error error;
        must(fx8_stream_open(&shape, 0, &stream, &error), error);
        must(fx8_stream_append(stream, &block, &error), error);
        assert_int_equal(fx8_stream_next_sample(stream), N);
        assert_int_equal(fx8_stream_ready(stream), N - 4);
        for (size_t input = 0; input < INPUTS; input++) {
            const int8_t *row = fx8_stream_row(stream, input);
            for (size_t t = 0; t < N; t++)
                assert_memory_equal(
                    row + 2 * t, samples + offset[input] + 2 * INPUTS * t, 2);
        }
        fx8_stream_close(&stream);
    }
    free(samples);
}

TEST(memory_that_cannot_be_had)
{
    const struct fx8_stream_shape shape = {
        .n_inputs = 2,
        .sample_size = 2,
        .step = INT64_MAX / 2,
        .window = INT64_MAX / 2,
        .most_spectra = 4,
        .threads.count = 1,
        .operations = fx8_operations_variant(0),
    };
    struct fx8_stream *stream = (void *)&shape;
    struct fx8_error error = {.message = ""};
    assert_int_equal(fx8_stream_open(&shape, 0, &stream, &error),
                     FX8_ERR_SYSTEM);
    assert_null(stream);
    assert_non_null(strstr(error.message, "samples"));
}
