/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watch.cu -- see engine_cuda.h: watched spectra and sums of a dump.
 *
 *     compute  spectra of a block -> those watched, side by side, in a slot
 *     watch    slot -> its pinned memory
 *     host     pinned memory -> take(), when the slot comes round again or the
 *              dump ends
 *
 * The copies have their own stream: in the stream of samples they would delay
 * the samples of the next block until this one is channelised.
 */
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/cuda/engine_cuda.h"
#include "kernels/cuda/pick.h"

/* Stride of the rows of watched spectra. */
static size_t stride_of(size_t n_spectra)
{
    return fx8_round_up(n_spectra, FX8_CUDA_TIMES_INT8);
}

/* --- memory ----------------------------------------------------------------
 */

size_t fx8_cuda_list_watching(const struct fx8_engine *engine,
                              struct fx8_cuda_watching *watching,
                              struct fx8_cuda_array *arrays)
{
    const struct fx8_engine_plan *plan = &engine->plan;
    const size_t items = fx8_product(
        plan->n_watched_inputs, stride_of(engine->shape.block_spectra), 1, 1);
    const size_t int8 = fx8_is_planned(plan, FX8_RESULT_INT8);
    const size_t fp32 = plan->precisions >> FX8_RESULT_FP32 != 0;
    size_t n = 0;
    for (struct fx8_cuda_picked &slot : watching->slots) {
        const size_t size8 = int8 * sizeof *slot.int8;
        const size_t size32 = fp32 * sizeof *slot.fp32;
        arrays[n++] = {&slot.int8, items, size8};
        arrays[n++] = {&slot.pinned_int8, items, size8, true};
        arrays[n++] = {&slot.fp32, items, size32};
        arrays[n++] = {&slot.pinned_fp32, items, size32, true};
    }
    const size_t sums = plan->n_watched_inputs == 0 ? 0 : 2;
    arrays[n++] = {&watching->sums, sums, sizeof *watching->sums};
    arrays[n++] = {&watching->pinned_sums, sums, sizeof *watching->sums, true};
    return n;
}

/* --- spectra ---------------------------------------------------------------
 */

/* Pass the contents of a slot, if any, to take(). */
static enum fx8_status take_slot(const struct fx8_cuda_device *device,
                                 struct fx8_cuda_picked *slot,
                                 struct fx8_error *error)
{
    const size_t n_spectra = slot->n_spectra, stride = stride_of(n_spectra);
    const struct fx8_engine_watch *watch = slot->watch;
    if (watch == nullptr)
        return FX8_OK;
    slot->watch = nullptr;
    FX8_TRY(fx8_cuda_await(device, slot->copied, "watched spectra", error));
    const struct fx8_ci8 *int8[FX8_WATCHED_INPUTS];
    const struct fx8_cf32 *fp32[FX8_WATCHED_INPUTS];
    for (size_t k = 0; k < watch->n_inputs; ++k) {
        if (slot->pinned_int8 != nullptr)
            int8[k] = slot->pinned_int8 + k * stride;
        if (slot->pinned_fp32 != nullptr)
            fp32[k] = slot->pinned_fp32 + k * stride;
    }
    watch->take(watch->context, n_spectra,
                slot->pinned_int8 == nullptr ? nullptr : int8,
                slot->pinned_fp32 == nullptr ? nullptr : fp32);
    return FX8_OK;
}

static enum fx8_status pick(const struct fx8_engine *engine,
                            const struct fx8_cuda_device *device,
                            const struct fx8_cuda_picked *slot,
                            size_t n_spectra, struct fx8_error *error)
{
    const struct fx8_engine_watch *watch = engine->watch;
    struct fx8_cuda_pick_job job = {};
    job.spectra = fx8_cuda_last_block(engine, device);
    job.channel = watch->channel;
    job.n_spectra = n_spectra;
    job.n_picked = watch->n_inputs;
    for (size_t k = 0; k < watch->n_inputs; ++k)
        job.inputs[k] = static_cast<unsigned>(watch->inputs[k]);
    job.int8 = slot->int8;
    job.fp32 = slot->fp32;
    job.stride = stride_of(n_spectra);
    return fx8_cuda_check(fx8_cuda_pick(&job, device->compute), device, error,
                          "picking spectra");
}

static enum fx8_status copy_back(const struct fx8_cuda_device *device, void *to,
                                 const void *from, size_t bytes,
                                 struct fx8_error *error)
{
    if (from == nullptr)
        return FX8_OK;
    return fx8_cuda_copy(device, device->watching.stream, to, from, bytes,
                         cudaMemcpyDeviceToHost, "of spectra", error);
}

enum fx8_status fx8_cuda_watch_block(const struct fx8_engine *engine,
                                     struct fx8_cuda_device *device,
                                     size_t n_spectra, struct fx8_error *error)
{
    if (engine->watch == nullptr)
        return FX8_OK;
    struct fx8_cuda_watching *watching = &device->watching;
    struct fx8_cuda_picked *slot =
        &watching->slots[watching->n_picked++ % FX8_CUDA_WATCH_SLOTS];
    const size_t n = engine->watch->n_inputs * stride_of(n_spectra);
    FX8_TRY(take_slot(device, slot, error));
    FX8_TRY(pick(engine, device, slot, n_spectra, error));
    FX8_TRY(fx8_cuda_record(device, slot->picked, device->compute, error));
    FX8_TRY(fx8_cuda_hold(device, watching->stream, slot->picked, error));
    FX8_TRY(copy_back(device, slot->pinned_int8, slot->int8,
                      n * sizeof *slot->int8, error));
    FX8_TRY(copy_back(device, slot->pinned_fp32, slot->fp32,
                      n * sizeof *slot->fp32, error));
    FX8_TRY(fx8_cuda_record(device, slot->copied, watching->stream, error));
    slot->n_spectra = n_spectra;
    slot->watch = engine->watch;
    return FX8_OK;
}

/* --- sums, and the end of a dump -------------------------------------------
 */

/* Index of a watch in the engine's two. */
static size_t number_of(const struct fx8_engine *engine,
                        const struct fx8_engine_watch *watch)
{
    return static_cast<size_t>(watch - engine->watches);
}

enum fx8_status fx8_cuda_watch_sums(struct fx8_engine *engine,
                                    struct fx8_error *error)
{
    const struct fx8_engine_watch *watch = engine->watch;
    const struct fx8_cuda_device *first = &engine->devices[0];
    engine->ended_watch = watch;
    engine->watch = nullptr;
    if (watch == nullptr)
        return FX8_OK;
    const size_t number = number_of(engine, watch);
    struct fx8_cuda_watched_sums *sums = first->watching.sums + number;
    const size_t channel = 2 * watch->channel * engine->shape.n_pairs;
    struct fx8_cuda_pick_sums_job job = {};
    job.n_pairs = watch->n_pairs;
    memcpy(job.pairs, watch->pairs, sizeof job.pairs);
    const void *const *all = first->sums;
    if (all[FX8_RESULT_INT8] != nullptr)
        job.from_int8 =
            static_cast<const int64_t *>(all[FX8_RESULT_INT8]) + channel;
    if (all[FX8_RESULT_FP32] != nullptr)
        job.from_fp32 =
            static_cast<const double *>(all[FX8_RESULT_FP32]) + channel;
    job.to_int8 = sums->int8;
    job.to_fp32 = sums->fp32;
    FX8_TRY(fx8_cuda_enter(first, error));
    FX8_TRY(fx8_cuda_check(fx8_cuda_pick_sums(&job, first->compute), first,
                           error, "picking sums"));
    return fx8_cuda_copy(
        first, first->compute, first->watching.pinned_sums + number, sums,
        sizeof *sums, cudaMemcpyDeviceToHost, "of sums", error);
}

enum fx8_status fx8_cuda_take_watched(struct fx8_engine *engine, bool has_sums,
                                      struct fx8_error *error)
{
    const struct fx8_engine_watch *watch = engine->ended_watch;
    if (watch == nullptr)
        return FX8_OK;
    engine->ended_watch = nullptr;
    for (size_t k = 0; k < engine->n_devices; ++k)
        for (struct fx8_cuda_picked &slot : engine->devices[k].watching.slots)
            if (slot.watch == watch)
                FX8_TRY(take_slot(&engine->devices[k], &slot, error));
    const struct fx8_cuda_device *first = &engine->devices[0];
    const struct fx8_cuda_watched_sums *sums =
        first->watching.pinned_sums + number_of(engine, watch);
    const size_t n = 2 * watch->n_pairs;
    if (has_sums && first->sums[FX8_RESULT_INT8] != nullptr)
        memcpy(watch->sums[FX8_RESULT_INT8], sums->int8,
               n * sizeof *sums->int8);
    if (has_sums && first->sums[FX8_RESULT_FP32] != nullptr)
        memcpy(watch->sums[FX8_RESULT_FP32], sums->fp32,
               n * sizeof *sums->fp32);
    return FX8_OK;
}
