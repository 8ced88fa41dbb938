/* SPDX-License-Identifier: BSD-3-Clause */
/* dump.cu -- see engine_cuda.h: the end of a dump. */
#include <math.h>
#include <string.h>

#include <chrono>

#include "config/base/try.h"
#include "kernels/cuda/engine_cuda.h"
#include "kernels/cuda/postprocess.h"

/* --- sums ------------------------------------------------------------------
 */

/* Copy n rows of 8-byte numbers to the host in slabs, and zero them. */
static enum fx8_status fetch(const struct fx8_engine *engine,
                             struct fx8_cuda_device *device,
                             const struct fx8_cuda_rows *all, size_t n,
                             void *on_device, struct fx8_error *error)
{
    const size_t step = engine->shape.staging_bytes / all->bytes;
    size_t number = 0;
    for (size_t first = 0; first < n; first += step, ++number) {
        struct fx8_cuda_rows slab[FX8_CUDA_STAGED] = {*all};
        slab->to += first * all->to_pitch;
        slab->from = static_cast<const char *>(all->from) + first * all->bytes;
        FX8_TRY(fx8_cuda_receive(engine, device, number, error));
        FX8_TRY(fx8_cuda_send(
            device, number, n - first < step ? n - first : step, slab, error));
    }
    FX8_TRY(fx8_cuda_receive_all(engine, device, number, error));
    return fx8_cuda_clear(device, on_device, n * all->bytes, error);
}

/* Sums of two devices are added with the rounding of their correlators. */

struct plain_addition {
    template <class Number> static Number add(Number a, Number b)
    {
        return a + b;
    }
};

/* a + b rounded towards `end`, an infinity: `lost` is the exact error of
 * rounding to nearest (Knuth, TwoSum). */
static double add_towards(double a, double b, double end)
{
    const double sum = a + b;
    if (sum == 0.0 && end < 0.0)
        return signbit(a) || signbit(b) ? -0.0 : 0.0;
    const double of_b = sum - a;
    const double lost = (a - (sum - of_b)) + (b - of_b);
    return lost != 0.0 && (lost > 0.0) == (end > 0.0) ? nextafter(sum, end)
                                                      : sum;
}

struct addition_downwards {
    static double add(double a, double b)
    {
        return add_towards(a, b, -HUGE_VAL);
    }
};

struct addition_upwards {
    static double add(double a, double b)
    {
        return add_towards(a, b, HUGE_VAL);
    }
};

template <class Addition, class Number>
static void add_row(void *to, const void *from, size_t bytes)
{
    Number *const sums = static_cast<Number *>(to);
    const Number *const partial = static_cast<const Number *>(from);
    for (size_t i = 0; i < bytes / sizeof *sums; ++i)
        sums[i] = Addition::add(sums[i], partial[i]);
}

/* By kind. */
static fx8_cuda_place *const additions[FX8_N_RESULTS] = {
    add_row<plain_addition, int64_t>, add_row<plain_addition, double>,
    add_row<addition_downwards, double>, add_row<addition_upwards, double>};

/* Collect n rows of `row` numbers: copied from the first device, added from the
 * others. */
static enum fx8_status collect(const struct fx8_engine *engine,
                               struct fx8_cuda_device *device, bool is_first,
                               fx8_cuda_place *addition, void *sums,
                               void *on_device, size_t n, size_t row,
                               struct fx8_error *error)
{
    const size_t bytes = row * sizeof(int64_t);
    const struct fx8_cuda_rows rows = {static_cast<char *>(sums), bytes,
                                       on_device, bytes,
                                       is_first ? nullptr : addition};
    return fetch(engine, device, &rows, n, on_device, error);
}

/* The sums of a device, of some kinds. */
static enum fx8_status collect_sums(struct fx8_engine *engine,
                                    struct fx8_cuda_device *device,
                                    bool is_first, size_t first_kind,
                                    struct fx8_engine_dump *dump,
                                    struct fx8_error *error)
{
    const size_t n_channels = engine->plan.bank.n_channels;
    const size_t row = engine->shape.n_sums / n_channels;
    for (size_t kind = first_kind; kind < FX8_N_RESULTS; ++kind)
        if (device->sums[kind] != nullptr)
            FX8_TRY(collect(engine, device, is_first, additions[kind],
                            dump->sums[kind], device->sums[kind], n_channels,
                            row, error));
    return FX8_OK;
}

static enum fx8_status finish_device(struct fx8_engine *engine,
                                     struct fx8_cuda_device *device,
                                     bool is_first,
                                     struct fx8_engine_dump *dump,
                                     struct fx8_error *error)
{
    FX8_TRY(fx8_cuda_enter(device, error));
    FX8_TRY(
        collect_sums(engine, device, is_first, FX8_RESULT_INT8, dump, error));
    FX8_TRY(collect(engine, device, is_first, additions[FX8_RESULT_INT8],
                    dump->clips, device->clips, engine->plan.n_inputs,
                    engine->plan.bank.n_channels, error));
    if (device->sums[FX8_CUDA_MOMENTS] != nullptr)
        FX8_TRY(collect(engine, device, is_first, additions[FX8_RESULT_FP32],
                        dump->moments, device->sums[FX8_CUDA_MOMENTS],
                        2 * engine->plan.n_inputs, engine->plan.bank.n_channels,
                        error));
    FX8_TRY(fx8_cuda_wait(device, error));
    device->has_sums = false;
    return FX8_OK;
}

/* --- results ---------------------------------------------------------------
 */

/* Moments are added as sums of floats are. */
static size_t rounding_of(size_t kind)
{
    return kind == FX8_CUDA_MOMENTS ? size_t(FX8_RESULT_FP32) : kind;
}

/* Copy n numbers of another device to the slot of slab `number` on the first,
 * when the slot's previous numbers have been added, and add them to the first
 * device's own.  Events of the staging slots synchronise this: `made` of the
 * first device when the slot is free, `copied` of the other when the numbers
 * have arrived. */
static enum fx8_status pass_slab(struct fx8_engine *engine,
                                 struct fx8_cuda_device *device, size_t kind,
                                 size_t number, size_t at, size_t n,
                                 struct fx8_error *error)
{
    struct fx8_cuda_device *first = &engine->devices[0];
    const size_t slot = number % FX8_CUDA_SLOTS, bytes = n * sizeof(int64_t);
    const cudaEvent_t is_free = first->staging[slot].made;
    const cudaEvent_t is_there = device->staging[slot].copied;
    char *const received = first->received + slot * engine->shape.staging_bytes;
    const int64_t *const from = static_cast<int64_t *>(device->sums[kind]) + at;
    int64_t *const to = static_cast<int64_t *>(first->sums[kind]) + at;
    FX8_TRY(fx8_cuda_enter(device, error));
    FX8_TRY(fx8_cuda_hold(device, device->copy, is_free, error));
    FX8_TRY(fx8_cuda_check(
        cudaMemcpyAsync(received, from, bytes, cudaMemcpyDefault, device->copy),
        device, error, "cudaMemcpyAsync of %s to device %d",
        fx8_cuda_bytes(bytes), first->ordinal));
    FX8_TRY(fx8_cuda_record(device, is_there, device->copy, error));
    FX8_TRY(fx8_cuda_enter(first, error));
    FX8_TRY(fx8_cuda_hold(first, first->compute, is_there, error));
    FX8_TRY(fx8_cuda_check(
        fx8_cuda_add_sums(rounding_of(kind), n, received, to, first->compute),
        first, error, "adding sums"));
    return fx8_cuda_record(first, is_free, first->compute, error);
}

/* Add sums of another device to those of the first, with the same bits as
 * collect(); the host does not wait. */
static enum fx8_status pass_on(struct fx8_engine *engine,
                               struct fx8_cuda_device *device, size_t kind,
                               struct fx8_error *error)
{
    const size_t n = fx8_cuda_count_sums(engine, kind);
    const size_t step = engine->shape.staging_bytes / sizeof(int64_t);
    const cudaEvent_t is_made = device->staging[0].made;
    if (device->sums[kind] == nullptr)
        return FX8_OK;
    FX8_TRY(fx8_cuda_enter(device, error));
    FX8_TRY(fx8_cuda_record(device, is_made, device->compute, error));
    FX8_TRY(fx8_cuda_hold(device, device->copy, is_made, error));
    size_t number = 0;
    for (size_t at = 0; at < n; at += step, ++number)
        FX8_TRY(pass_slab(engine, device, kind, number, at,
                          n - at < step ? n - at : step, error));
    FX8_TRY(fx8_cuda_enter(device, error));
    FX8_TRY(fx8_cuda_hold(device, device->compute,
                          device->staging[(number - 1) % FX8_CUDA_SLOTS].copied,
                          error));
    return fx8_cuda_clear(device, device->sums[kind], n * sizeof(int64_t),
                          error);
}

/* Correlate the gathered spectra on all devices. */
static enum fx8_status end_calls(struct fx8_engine *engine,
                                 struct fx8_error *error)
{
    for (size_t k = 0; k < engine->n_devices; ++k) {
        struct fx8_cuda_device *device = &engine->devices[k];
        FX8_TRY(fx8_cuda_enter(device, error));
        FX8_TRY(fx8_cuda_end_call(engine, device, error));
    }
    return FX8_OK;
}

/* Add the sums of all devices, of some kinds, on the first one. */
static enum fx8_status pass_all_on(struct fx8_engine *engine, size_t first_kind,
                                   size_t end_kind, struct fx8_error *error)
{
    for (size_t k = 1; k < engine->n_devices; ++k)
        for (size_t kind = first_kind; kind < end_kind; ++kind)
            if (engine->devices[k].has_sums)
                FX8_TRY(pass_on(engine, &engine->devices[k], kind, error));
    return FX8_OK;
}

/* --- segments --------------------------------------------------------------
 */

/* Add numbers of the first device, of every kind of floats and moments, and
 * zero them. */
static enum fx8_status add_all(const struct fx8_engine *engine,
                               void *const *from, void *const *to,
                               struct fx8_error *error)
{
    const struct fx8_cuda_device *first = &engine->devices[0];
    FX8_TRY(fx8_cuda_enter(first, error));
    for (size_t kind = FX8_RESULT_FP32; kind < FX8_CUDA_N_SUMS; ++kind) {
        const size_t n = fx8_cuda_count_sums(engine, kind);
        if (from[kind] == nullptr)
            continue;
        FX8_TRY(
            fx8_cuda_check(fx8_cuda_add_sums(rounding_of(kind), n, from[kind],
                                             to[kind], first->compute),
                           first, error, "adding sums"));
        FX8_TRY(fx8_cuda_clear(first, from[kind], n * sizeof(double), error));
    }
    return FX8_OK;
}

/* Whether something is summed whose bits depend on the order. */
static bool has_floats(const struct fx8_engine_plan *plan)
{
    return plan->precisions >> FX8_RESULT_FP32 != 0 || plan->has_moments;
}

enum fx8_status fx8_cuda_begin_segment(struct fx8_engine *engine,
                                       const struct fx8_engine_block *block,
                                       struct fx8_error *error)
{
    const struct fx8_cuda_device *first = &engine->devices[0];
    const int64_t segment = block->first_spectrum / engine->shape.segment;
    const bool is_next = engine->segment >= 0 && engine->segment != segment;
    engine->segment = segment;
    if (!is_next || !has_floats(&engine->plan))
        return FX8_OK;
    engine->has_totals = true;
    FX8_TRY(end_calls(engine, error));
    FX8_TRY(pass_all_on(engine, FX8_RESULT_FP32, FX8_CUDA_N_SUMS, error));
    return add_all(engine, first->sums, first->totals, error);
}

/* Correlate what is left of a dump, and add the segments before the last. */
static enum fx8_status end_segments(struct fx8_engine *engine,
                                    struct fx8_error *error)
{
    const struct fx8_cuda_device *first = &engine->devices[0];
    const bool has_totals = engine->has_totals;
    engine->segment = -1;
    engine->has_totals = false;
    FX8_TRY(end_calls(engine, error));
    if (!has_totals)
        return FX8_OK;
    FX8_TRY(pass_all_on(engine, FX8_RESULT_FP32, FX8_CUDA_N_SUMS, error));
    return add_all(engine, first->totals, first->sums, error);
}

enum fx8_status fx8_cuda_finish_dump(struct fx8_engine *engine,
                                     struct fx8_engine_dump *dump,
                                     struct fx8_error *error)
{
    FX8_TRY(end_segments(engine, error));
    for (size_t k = 0; k < engine->n_devices; ++k)
        if (k == 0 || engine->devices[k].has_sums)
            FX8_TRY(finish_device(engine, &engine->devices[k], k == 0, dump,
                                  error));
    fx8_take_counts(engine->plan.n_inputs,
                    fx8_strip_whole(engine->plan.n_inputs), &engine->counts,
                    dump->counts);
    return FX8_OK;
}

/* Queue the copy of clips to the host and reset them for the next dump. */
static enum fx8_status end_clips(const struct fx8_engine *engine,
                                 struct fx8_cuda_device *device,
                                 struct fx8_error *error)
{
    const size_t bytes = engine->plan.n_inputs * engine->plan.bank.n_channels *
                         sizeof *device->clips;
    device->has_ended = true;
    device->has_sums = false;
    FX8_TRY(fx8_cuda_enter(device, error));
    FX8_TRY(fx8_cuda_copy(device, device->compute, device->ended_clips,
                          device->clips, bytes, cudaMemcpyDeviceToHost,
                          "of clips", error));
    FX8_TRY(fx8_cuda_clear(device, device->clips, bytes, error));
    return fx8_cuda_record(device, device->ended, device->compute, error);
}

static enum fx8_status end_dump(struct fx8_engine *engine,
                                const struct fx8_postprocess *plan,
                                const struct fx8_result *results,
                                struct fx8_error *error)
{
    struct fx8_cuda_device *first = &engine->devices[0];
    if ((engine->plan.precisions & FX8_PRECISION_BOTH) != 0)
        FX8_TRY(fx8_cuda_check_results(engine, plan, error));
    FX8_TRY(end_segments(engine, error));
    FX8_TRY(pass_all_on(engine, FX8_RESULT_INT8, FX8_RESULT_DOWN, error));
    FX8_TRY(fx8_cuda_watch_sums(engine, error));
    fx8_take_counts(engine->plan.n_inputs,
                    fx8_strip_whole(engine->plan.n_inputs), &engine->counts,
                    engine->ended_counts);
    first->n_slabs = 0;
    if ((engine->plan.precisions & FX8_PRECISION_BOTH) != 0)
        FX8_TRY(fx8_cuda_make_results(engine, plan, results,
                                      engine->ended_counts, error));
    /* behind the results: their timer is then over, too */
    for (size_t k = 0; k < engine->n_devices; ++k)
        if (k == 0 || engine->devices[k].has_sums)
            FX8_TRY(end_clips(engine, &engine->devices[k], error));
    FX8_TRY(fx8_cuda_hold(first, first->back, first->ended, error));
    return fx8_cuda_record(first, first->ended, first->back, error);
}

/* Whether all output of the ended dump has left the devices. */
static enum fx8_status has_come_back(const struct fx8_engine *engine, bool *has,
                                     struct fx8_error *error)
{
    *has = true;
    for (size_t k = 0; k < engine->n_devices && *has; ++k)
        if (engine->devices[k].has_ended)
            FX8_TRY(fx8_cuda_is_over(&engine->devices[k],
                                     engine->devices[k].ended, has, error));
    return FX8_OK;
}

static enum fx8_status take_from_device(struct fx8_engine *engine,
                                        struct fx8_cuda_device *device,
                                        bool is_first,
                                        struct fx8_engine_dump *dump,
                                        struct fx8_error *error)
{
    const size_t n = engine->plan.n_inputs * engine->plan.bank.n_channels;
    FX8_TRY(fx8_cuda_enter(device, error));
    FX8_TRY(fx8_cuda_await(device, device->ended, "results", error));
    FX8_TRY(fx8_cuda_read_timers(device, error));
    if (is_first)
        FX8_TRY(fx8_cuda_receive_all(engine, device, device->n_slabs, error));
    FX8_TRY(
        collect_sums(engine, device, is_first, FX8_RESULT_DOWN, dump, error));
    device->has_ended = false;
    for (size_t k = 0; k < n; ++k)
        dump->clips[k] = static_cast<int64_t>(device->ended_clips[k]) +
                         (is_first ? 0 : dump->clips[k]);
    return FX8_OK;
}

/* Count the time of a call for the first device. */
template <class Call>
static enum fx8_status timed(struct fx8_engine *engine, Call call)
{
    const auto begin = std::chrono::steady_clock::now();
    const enum fx8_status status = call();
    const std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - begin;
    engine->devices[0].times.process_s += spent.count();
    return status;
}

enum fx8_status fx8_cuda_end_dump(struct fx8_engine *engine,
                                  const struct fx8_postprocess *plan,
                                  const struct fx8_result *results,
                                  struct fx8_error *error)
{
    return timed(engine,
                 [&] { return end_dump(engine, plan, results, error); });
}

enum fx8_status fx8_cuda_take_dump(struct fx8_engine *engine,
                                   struct fx8_engine_dump *dump, bool *is_taken,
                                   struct fx8_error *error)
{
    if (is_taken != nullptr) {
        FX8_TRY(has_come_back(engine, is_taken, error));
        if (!*is_taken)
            return FX8_OK;
    }
    memcpy(dump->counts, engine->ended_counts,
           engine->shape.n_pairs * sizeof *dump->counts);
    return timed(engine, [&] {
        for (size_t k = 0; k < engine->n_devices; ++k)
            if (engine->devices[k].has_ended)
                FX8_TRY(take_from_device(engine, &engine->devices[k], k == 0,
                                         dump, error));
        return FX8_OK;
    });
}
