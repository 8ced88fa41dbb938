/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_source.c -- blocks of a recording with gaps: which samples of which
 * input are marked, against the lists searched sample by sample; the cost of a
 * long list.
 *
 * Shows (recordings, blocks read ahead): the right samples of the right input
 *     are marked, from overlapping gaps of single inputs, bands or all inputs,
 *     with lookups in any order; a million gaps under 50,000 blocks are fast
 * Within: sample by sample; 8 s of CPU time
 * Because: 0.5 s as built; above the limit if every block walks the list
 */
#include <time.h>

#include "config/base/shape.h"
#include "correlator/run/source.h"
#include "validation/checkers.h"
#include "validation/memory_reader.h"
#include "validation/session_run.h"

enum {
    N_CORRELATED = 8,
    N_SAMPLES = 2000,
    FIRST = 41 /* first sample to be processed */
};

/* Correlated: antennas 2 and 0, slot 1 first, both bands. */
static struct fx8_input_position inputs[N_CORRELATED] = {
    {2, 1, 0}, {2, 0, 0}, {0, 1, 0}, {0, 0, 0},
    {2, 1, 1}, {2, 0, 1}, {0, 1, 1}, {0, 0, 1},
};

static struct fx8_job job_over(int64_t n_samples, int64_t marker_run)
{
    return (struct fx8_job){
        .plan = {.first_sample = FIRST,
                 .marker.is_used = marker_run > 0,
                 .marker.least_length = marker_run,
                 .machine.threads.count = 1},
        .observation = {.n_samples = n_samples},
        .inputs = inputs,
        .n_inputs = N_CORRELATED,
        .n_samples = n_samples - FIRST - 113,
    };
}

/* A recording of which those inputs are selected. */
static struct memory_reader *open_recording(int64_t n_samples)
{
    struct memory_reader *reader = open_memory(1, n_samples);
    struct fx8_error error;
    must(memory_select(&reader->base, inputs, N_CORRELATED, &error), error);
    reader->read_samples = 97;
    reader->sample_bytes = N_CORRELATED;
    return reader;
}

/* --- sample by sample ------------------------------------------------- */

/* Everything behind the samples to be processed counts as missing.  The thread
 * checker makes this comparison, which starts no thread, a hundred times as
 * slow: it sees every seventh sample, as any checker of long recordings. */
static void check_block(const struct memory_reader *reader,
                        const struct fx8_job *job,
                        const struct fx8_block *block)
{
    const int64_t stop = job->plan.first_sample + job->n_samples;
    const bool is_slow = job->n_samples > N_SAMPLES && !is_long();
    const int64_t step = FX8_THREAD_CHECKER || (FX8_CHECKED && is_slow) ? 7 : 1;
    for (size_t input = 0; input < N_CORRELATED; input++)
        for (int64_t k = 0; k < block->n_samples; k += step) {
            const int64_t t = block->first_sample + k;
            const struct fx8_input_position *at = &inputs[input];
            if (is_in_gaps(block->missing, block->n_missing, input, t) !=
                (t >= stop || lacks(&reader->base, at, t)))
                fail_msg("input %zu, sample %lld", input, (long long)t);
        }
}

/* Every block of a run, and lookups out of order between them, forwards and
 * backwards. */
TEST(blocks_against_sample_by_sample)
{
    struct generator g = {23};
    struct fx8_error error;
    for (int round = 0; round < 60; round++) {
        struct memory_reader *reader = open_recording(N_SAMPLES);
        reader->base.n_missing = random_below(&g, MOST_GAPS + 1);
        reader->base.n_found = random_below(&g, 4);
        draw_gaps(&g, reader->missing, reader->base.n_missing, N_SAMPLES);
        draw_gaps(&g, reader->found, reader->base.n_found, N_SAMPLES);
        const struct fx8_job job = job_over(N_SAMPLES, round % 3 == 0 ? 64 : 0);
        const int64_t more = job.plan.marker.is_used ? 63 : 0;
        struct fx8_source *source;
        must(fx8_source_open(&reader->base, &job,
                             round % 2 == 0 ? 0 : random_in(&g, 1, 700), NULL,
                             &source, &error),
             error);
        must(fx8_source_start(source, 0, INT64_MAX, &error), error);
        int64_t next = more < FIRST ? FIRST - more : 0;
        struct fx8_source_block *block;
        while ((block = fx8_source_take(source)) != NULL) {
            assert_int_equal(block->block.first_sample, next);
            next += block->block.n_samples;
            check_block(reader, &job, &block->block);
            struct fx8_block again;
            must(fx8_source_reread(source, 0, random_in(&g, 0, N_SAMPLES - 300),
                                   &again, &error),
                 error);
            check_block(reader, &job, &again);
            fx8_source_release(source, block);
        }
        must(fx8_source_status(source, &error), error);
        assert_int_equal(next, FIRST + job.n_samples + more);
        fx8_source_close(&source);
    }
}

/* --- for a session ---------------------------------------------------- */

/* A recording whose inputs have rows of their own, and a session for it. */
struct fed {
    struct memory_reader *reader;
    struct fx8_job job;
    struct fx8_session *session;
    struct fx8_source *source;
};

static void open_fed(struct fed *f, int64_t n_samples, bool is_time_major,
                     const struct fx8_plan *plan)
{
    struct fx8_error error;
    f->reader = open_recording(n_samples);
    f->reader->is_time_major = is_time_major;
    must(memory_select(&f->reader->base, inputs, N_CORRELATED, &error), error);
    struct generator g = {29};
    fill_memory(f->reader, &g);
    f->reader->base.n_missing = f->reader->base.n_found = MOST_GAPS;
    draw_gaps(&g, f->reader->missing, MOST_GAPS, n_samples);
    draw_gaps(&g, f->reader->found, MOST_GAPS, n_samples);
    f->job = job_over(n_samples, 0);
    f->job.plan = *plan;
    f->job.plan.first_sample = FIRST;
    f->job.axes = fx8_plan_axes(&f->job.plan);
    must(fx8_open(&f->job.plan, collect_dump, NULL, &f->session, &error),
         error);
    must(fx8_source_open(&f->reader->base, &f->job, 0, f->session, &f->source,
                         &error),
         error);
    must(fx8_source_start(f->source, 0, INT64_MAX, &error), error);
}

/* Every sample of every input, in rows. */
static void check_rows(const struct fed *f, const struct fx8_block *block)
{
    assert_ptr_equal(block->in_place, block->samples);
    assert_int_equal(block->time_stride, 1);
    for (size_t i = 0; i < N_CORRELATED; i++) {
        const size_t input = number_of(&inputs[i]);
        for (int64_t k = 0; k < block->n_samples; k++)
            if (block->samples[block->input_offset[i] + k] !=
                f->reader->samples[input]
                                  [(block->first_sample + k) % MOST_SAMPLES][0])
                fail_msg("input %zu, sample %lld", i,
                         (long long)(block->first_sample + k));
    }
}

/* Blocks end where blocks of 2048 spectra of each dump are correlated, with
 * room in front of them, in rows whatever the order of the file. */
TEST(blocks_of_a_session)
{
    enum { STEP = 8, TAPS = 3, DUMP = 2500 };
    struct fx8_plan plan = small_plan(2, 2, false, STEP / 2, DUMP);
    plan.n_bands = N_BANDS;
    plan.band_offset_hz = (const double[]){0, 1e6};
    plan.channelizer.n_taps = TAPS;
    for (int is_time_major = 0; is_time_major < 2; is_time_major++) {
        struct fed f;
        struct fx8_error error;
        struct fx8_source_block *read;
        int64_t next = FIRST;
        open_fed(&f, 45000, is_time_major, &plan);
        while ((read = fx8_source_take(f.source)) != NULL) {
            const struct fx8_block *block = &read->block;
            assert_int_equal(block->first_sample, next);
            check_block(f.reader, &f.job, block);
            next += block->n_samples;
            const int64_t spectra = (next - FIRST) / STEP - (TAPS - 1);
            check_rows(&f, block);
            assert_int_equal(block->room, STEP * (TAPS - 1));
            assert_true(block->n_samples <= 2048 * STEP + 97);
            assert_true(
                next == FIRST + f.job.n_samples ||
                ((next - FIRST) % STEP == 0 && spectra % DUMP % 2048 == 0));
            fx8_source_release(f.source, read);
        }
        must(fx8_source_status(f.source, &error), error);
        assert_int_equal(next, FIRST + f.job.n_samples);
        fx8_close(&f.session);
        fx8_source_close(&f.source);
    }
}

/* A session may be closed before everything was read. */
TEST(stopped_before_the_session_is_closed)
{
    const struct fx8_plan plan = small_plan(4, 2, false, 4, 7);
    for (int round = 0; round < 20; round++) {
        struct fed f;
        open_fed(&f, 3000000, false, &plan);
        for (int k = 0; k < round; k++)
            fx8_source_release(f.source, fx8_source_take(f.source));
        fx8_source_stop(f.source);
        fx8_close(&f.session);
        fx8_source_stop(f.source);
        fx8_source_close(&f.source);
        fx8_source_stop(f.source);
    }
}

/* --- what a long list costs ------------------------------------------- */

/* A million gaps under 50,000 blocks: looking at each gap once takes a fraction
 * of a second, going through all for every block 2.5 10^10 steps. */
TEST(a_million_stretches)
{
    enum { N_GAPS = 1000000, STEP = 5 };
    struct memory_reader *reader = open_recording((int64_t)N_GAPS * STEP);
    struct fx8_missing *missing = temporary(N_GAPS * sizeof *missing);
    for (int32_t k = 0; k < N_GAPS; k++)
        missing[k] = (struct fx8_missing){(int64_t)k * STEP + 1, 2, k % 3,
                                          k / 3 % 2, -1};
    reader->base.missing = missing;
    reader->base.n_missing = N_GAPS;
    const struct fx8_job job = job_over((int64_t)N_GAPS * STEP, 0);
    struct fx8_error error;
    struct fx8_source *source;
    const clock_t begin = clock();
    must(fx8_source_open(&reader->base, &job, 100, NULL, &source, &error),
         error);
    must(fx8_source_start(source, 0, INT64_MAX, &error), error);
    struct fx8_source_block *block;
    int64_t n_runs = 0;
    while ((block = fx8_source_take(source)) != NULL) {
        n_runs += (int64_t)block->block.n_missing;
        fx8_source_release(source, block);
    }
    must(fx8_source_status(source, &error), error);
    fx8_source_close(&source);
    /* in two of three antennas, each in both bands; FIRST and 113 samples at
     * the ends are not processed */
    assert_in_range(n_runs, 4 * N_GAPS / 3 - 200, 4 * N_GAPS / 3 + 200);
    const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    print_message("# a million stretches, 50,000 blocks: %.2f s\n", seconds);
    /* the checkers make it ten times slower */
    assert_true(seconds < 8);
}
