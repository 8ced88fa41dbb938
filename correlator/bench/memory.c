/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "config/base/clock.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/bench/memory.h"

/* --- plans and samples ------------------------------------------- */

struct fx8_plan fx8_bench_plan(const struct fx8_bench_run *run,
                               size_t n_antennas, size_t n_polarizations,
                               size_t n_channels)
{
    struct fx8_plan plan = fx8_plan_default();
    plan.n_antennas = n_antennas;
    plan.n_polarizations = n_polarizations;
    plan.sample_rate = (struct fx8_rate){1000000, 1};
    plan.dc_frequency_hz = 150e6;
    plan.channelizer.n_channels = n_channels;
    plan.machine.kernel = run->operations->name;
    plan.machine.threads.count = 1;
    plan.machine.backend = FX8_BACKEND_CPU;
    return plan;
}

static size_t inputs_of(const struct fx8_plan *plan)
{
    return plan->n_antennas * plan->n_polarizations;
}

double fx8_bench_spectrum_samples(const struct fx8_plan *plan)
{
    return (double)(inputs_of(plan) * plan->channelizer.n_channels) *
           (plan->is_complex ? 1.0 : 2.0);
}

void fx8_bench_fill(int8_t *samples, size_t size)
{
    uint64_t state = 0x9e3779b97f4a7c15u; /* xorshift64: speed, not quality */
    for (size_t i = 0; i < size; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        samples[i] = (int8_t)((int)(state >> 56) % 61 - 30);
    }
}

enum fx8_status fx8_bench_samples_make(const struct fx8_plan *plan,
                                       bool is_time_major,
                                       struct fx8_bench_samples *samples,
                                       struct fx8_error *error)
{
    const size_t n_inputs = inputs_of(plan);
    const size_t bytes = plan->is_complex ? 2 : 1;
    const size_t sample = bytes * n_inputs;
    const size_t n = ((size_t)32 << 20) / sample;
    const struct fx8_array arrays[] = {
        {&samples->memory, n, sample},
        FX8_ITEMS(samples->offset, n_inputs),
    };
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "samples", error));
    fx8_bench_fill(samples->memory, n * sample);
    for (size_t i = 0; i < n_inputs; i++)
        samples->offset[i] = (ptrdiff_t)(bytes * i * (is_time_major ? 1 : n));
    samples->block = (struct fx8_block){
        .samples = samples->memory,
        .input_offset = samples->offset,
        .time_stride = (ptrdiff_t)(is_time_major ? sample : bytes),
        .n_samples = (int64_t)n,
    };
    return FX8_OK;
}

void fx8_bench_samples_clear(struct fx8_bench_samples *samples)
{
    free(samples->memory);
    free(samples->offset);
}

/* --- passes ------------------------------------------------------ */

static enum fx8_status drop_dump(void *context, const struct fx8_dump *dump,
                                 struct fx8_error *error)
{
    (void)error;
    *(int64_t *)context = dump->index + 1;
    return FX8_OK;
}

enum fx8_status fx8_bench_correlation_open(
    const struct fx8_plan *plan, const struct fx8_bench_samples *samples,
    struct fx8_bench_correlation *one, struct fx8_error *error)
{
    struct fx8_bench_rates unused;
    one->block = samples->block;
    one->spectrum_samples = fx8_bench_spectrum_samples(plan);
    FX8_TRY(fx8_open(plan, drop_dump, &one->n_dumps, &one->session, error));
    return fx8_bench_correlation_pass(one, 1, &unused, error);
}

enum fx8_status fx8_bench_correlation_pass(struct fx8_bench_correlation *one,
                                           int64_t n_dumps,
                                           struct fx8_bench_rates *rates,
                                           struct fx8_error *error)
{
    struct fx8_statistics before, after;
    const int64_t end = one->n_dumps + n_dumps;
    fx8_get_statistics(one->session, &before);
    const double start = fx8_clock_seconds();
    for (; one->n_dumps < end; one->block.first_sample += one->block.n_samples)
        FX8_TRY(fx8_push(one->session, &one->block, error));
    const double whole_s = fx8_clock_seconds() - start;
    fx8_get_statistics(one->session, &after);
    /* samples of the finished dumps; blocks begun for the next dump and blocks
     * left from the last one cancel on average */
    const double samples =
        (double)(after.n_spectra - before.n_spectra) * one->spectrum_samples;
    const double seconds[FX8_N_BENCH_STAGES] = {
        [FX8_BENCH_ALIGN] = after.align_s - before.align_s,
        [FX8_BENCH_CHANNELIZE] = after.channelize_s - before.channelize_s,
        [FX8_BENCH_CORRELATE] = after.correlate_s - before.correlate_s,
        [FX8_BENCH_POSTPROCESS] = after.postprocess_s - before.postprocess_s,
    };
    for (size_t s = 0; s < FX8_N_BENCH_STAGES; s++)
        rates->stage[s] = samples / seconds[s];
    rates->whole = samples / (whole_s - (after.gains_s - before.gains_s));
    return FX8_OK;
}

void fx8_bench_correlation_close(struct fx8_bench_correlation *one)
{
    fx8_close(&one->session);
}

/* --- from opening to closing ------------------------------------- */

static enum fx8_status push_all(struct fx8_session *session,
                                struct fx8_block block, int64_t n_samples,
                                struct fx8_error *error)
{
    const int64_t held = block.n_samples;
    for (; block.first_sample < n_samples; block.first_sample += held) {
        const int64_t left = n_samples - block.first_sample;
        block.n_samples = left < held ? left : held;
        FX8_TRY(fx8_push(session, &block, error));
    }
    return fx8_finish(session, NULL, error);
}

enum fx8_status fx8_bench_correlation_time(
    const struct fx8_plan *plan, const struct fx8_bench_samples *samples,
    int64_t n_samples, double *seconds, struct fx8_error *error)
{
    struct fx8_session *session = NULL;
    int64_t n_dumps = 0;
    const double start = fx8_clock_seconds();
    FX8_TRY(fx8_open(plan, drop_dump, &n_dumps, &session, error));
    const enum fx8_status status =
        push_all(session, samples->block, n_samples, error);
    fx8_close(&session);
    *seconds = fx8_clock_seconds() - start;
    return status;
}
