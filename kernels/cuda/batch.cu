/* SPDX-License-Identifier: BSD-3-Clause */
/* batch.cu -- see engine_cuda.h: from samples to sums. */
#include <string.h>

#include <algorithm>
#include <initializer_list>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/cuda/engine_cuda.h"

/* --- time ------------------------------------------------------------------
 */

/* Add the time that a timer measured, once its work is done. */
static enum fx8_status read_timer(const struct fx8_cuda_device *device,
                                  struct fx8_cuda_timer *timer,
                                  struct fx8_error *error)
{
    if (timer->seconds == nullptr)
        return FX8_OK;
    FX8_TRY(fx8_cuda_await(device, timer->end, "spectra or sums", error));
    float milliseconds = 0.0F;
    FX8_TRY(fx8_cuda_check(
        cudaEventElapsedTime(&milliseconds, timer->begin, timer->end), device,
        error, "cudaEventElapsedTime"));
    *timer->seconds += 1e-3 * static_cast<double>(milliseconds);
    timer->seconds = nullptr;
    return FX8_OK;
}

enum fx8_status fx8_cuda_start_timer(struct fx8_cuda_device *device,
                                     cudaStream_t stream, double *seconds,
                                     struct fx8_error *error)
{
    struct fx8_cuda_timer *timer =
        &device->timers[device->n_timers % FX8_CUDA_TIMERS];
    FX8_TRY(read_timer(device, timer, error));
    /* created on first use: a short run uses few */
    for (cudaEvent_t *event : {&timer->begin, &timer->end})
        if (*event == nullptr)
            FX8_TRY(
                fx8_cuda_create_event(device, cudaEventDefault, event, error));
    FX8_TRY(fx8_cuda_record(device, timer->begin, stream, error));
    timer->seconds = seconds;
    return FX8_OK;
}

enum fx8_status fx8_cuda_stop_timer(struct fx8_cuda_device *device,
                                    cudaStream_t stream,
                                    struct fx8_error *error)
{
    struct fx8_cuda_timer *timer =
        &device->timers[device->n_timers++ % FX8_CUDA_TIMERS];
    return fx8_cuda_record(device, timer->end, stream, error);
}

enum fx8_status fx8_cuda_read_timers(struct fx8_cuda_device *device,
                                     struct fx8_error *error)
{
    for (struct fx8_cuda_timer &timer : device->timers) {
        bool is_over = false;
        if (timer.seconds != nullptr)
            FX8_TRY(fx8_cuda_is_over(device, timer.end, &is_over, error));
        if (is_over)
            FX8_TRY(read_timer(device, &timer, error));
    }
    return FX8_OK;
}

enum fx8_status fx8_cuda_wait(struct fx8_cuda_device *device,
                              struct fx8_error *error)
{
    FX8_TRY(fx8_cuda_drain(device, device->compute, "spectra and sums", error));
    for (struct fx8_cuda_timer &timer : device->timers)
        FX8_TRY(read_timer(device, &timer, error));
    return FX8_OK;
}

/* --- a call ----------------------------------------------------------------
 */

/* 16-byte vectors from time 0 of a call to a later time, which is a multiple of
 * the times in a vector. */
static size_t vectors_before(const struct fx8_engine *engine, size_t time,
                             size_t times_per_vector)
{
    return time / times_per_vector * fx8_cuda_pitch(engine->plan.n_inputs);
}

struct fx8_cuda_spectra fx8_cuda_last_block(
    const struct fx8_engine *engine, const struct fx8_cuda_device *device)
{
    const struct fx8_cuda_call *call = &device->call;
    const size_t first = call->last_block;
    struct fx8_cuda_spectra spectra = {};
    if (call->x8 != nullptr)
        spectra.int8 =
            call->x8 + vectors_before(engine, first, FX8_CUDA_TIMES_INT8) *
                           FX8_CUDA_TIMES_INT8;
    if (call->x32 != nullptr)
        spectra.fp32 =
            call->x32 + vectors_before(engine, first, FX8_CUDA_TIMES_FP32) *
                            FX8_CUDA_TIMES_FP32;
    spectra.n_inputs = engine->plan.n_inputs;
    spectra.n_channels = engine->plan.bank.n_channels;
    spectra.n_times = fx8_cuda_times(call->most_spectra);
    return spectra;
}

/* Correlate the spectra of a call into the sums of every kind; a correlator
 * that is not planned is NULL. */
static enum fx8_status correlate(const struct fx8_engine *engine,
                                 const struct fx8_cuda_device *device,
                                 struct fx8_error *error)
{
    const struct fx8_cuda_call *call = &device->call;
    struct fx8_cuda_correlation job = {};
    job.n_inputs = engine->plan.n_inputs;
    job.n_channels = engine->plan.bank.n_channels;
    job.n_times = call->n_spectra;
    job.stream = device->compute;
    for (size_t kind = 0; kind < FX8_N_RESULTS; ++kind) {
        const struct fx8_cuda_correlator *one = device->correlators[kind];
        const bool is_int8 = kind == FX8_RESULT_INT8;
        if (one == nullptr)
            continue;
        job.x = is_int8 ? static_cast<const void *>(call->x8) : call->x32;
        job.channel_stride = fx8_cuda_stride(engine, call->most_spectra,
                                             is_int8 ? FX8_CUDA_TIMES_INT8
                                                     : FX8_CUDA_TIMES_FP32);
        job.sums = device->sums[kind];
        job.tiles = device->tiles[kind];
        job.n_tiles = device->n_tiles[kind];
        FX8_TRY(fx8_cuda_check(one->accumulate(&job), device, error,
                               "correlating by %s", one->name));
        FX8_TRY(fx8_cuda_settle(device, one->name, error));
    }
    return FX8_OK;
}

enum fx8_status fx8_cuda_end_call(struct fx8_engine *engine,
                                  struct fx8_cuda_device *device,
                                  struct fx8_error *error)
{
    struct fx8_cuda_call *call = &device->call;
    if (call->has_valid) {
        FX8_TRY(fx8_cuda_start_timer(device, device->compute,
                                     &device->times.correlate_s, error));
        FX8_TRY(correlate(engine, device, error));
        FX8_TRY(fx8_cuda_stop_timer(device, device->compute, error));
    }
    call->n_spectra = 0;
    call->has_valid = false;
    return FX8_OK;
}

/* --- a block ---------------------------------------------------------------
 */

/* Copy masks to the device when the old ones are no longer in use. */
static enum fx8_status copy_masks(const struct fx8_cuda_device *device,
                                  const struct fx8_engine_block *block,
                                  struct fx8_cuda_part *part,
                                  struct fx8_error *error)
{
    const struct fx8_cuda_notes *notes =
        &device->notes[device->n_blocks % FX8_CUDA_NOTES];
    const size_t bytes = part->n_inputs * part->valid_words * sizeof(uint64_t);
    memcpy(notes->pinned_valid, block->valid, bytes);
    part->valid = notes->valid;
    FX8_TRY(fx8_cuda_hold(device, device->copy, notes->done, error));
    return fx8_cuda_copy(device, device->copy, notes->valid,
                         notes->pinned_valid, bytes, cudaMemcpyHostToDevice,
                         "to the device", error);
}

/* The slot of the next block's rotation. */
static const struct fx8_cuda_rotation *next_rotation(
    const struct fx8_cuda_device *device)
{
    return &device->rotations[device->n_blocks % FX8_CUDA_SLOTS];
}

static enum fx8_status copy_rotation(const struct fx8_cuda_device *device,
                                     const struct fx8_engine_block *block,
                                     size_t n_inputs, struct fx8_error *error)
{
    const struct fx8_cuda_rotation *slot = next_rotation(device);
    const struct fx8_cuda_notes *user =
        &device->notes[(device->n_blocks - FX8_CUDA_SLOTS) % FX8_CUDA_NOTES];
    const size_t bytes =
        n_inputs * fx8_groups(block->n_spectra) * sizeof *block->rotation;
    memcpy(slot->pinned, block->rotation, bytes);
    FX8_TRY(fx8_cuda_hold(device, device->copy, user->done, error));
    return fx8_cuda_copy(device, device->copy, slot->rotation, slot->pinned,
                         bytes, cudaMemcpyHostToDevice, "to the device", error);
}

enum fx8_status fx8_cuda_begin_block(struct fx8_engine *engine,
                                     struct fx8_cuda_device *device,
                                     const struct fx8_engine_block *block,
                                     enum fx8_block_validity validity,
                                     struct fx8_cuda_part *part,
                                     struct fx8_error *error)
{
    struct fx8_cuda_call *call = &device->call;
    *part = fx8_cuda_part();
    part->n_inputs = engine->plan.n_inputs;
    part->n_spectra = block->n_spectra;
    part->end_time = fx8_cuda_times(block->n_spectra);
    part->valid_words = fx8_bit_words(block->n_spectra);
    if (call->n_spectra + block->n_spectra > call->most_spectra)
        FX8_TRY(fx8_cuda_end_call(engine, device, error));
    call->last_block = call->n_spectra;
    call->dither = fx8_dither();
    call->dither.band_hz = engine->plan.band_hz;
    call->dither.first_sample = block->dump_sample;
    call->dither.spectrum = block->first_spectrum;
    call->n_spectra += block->n_spectra;
    call->has_valid = call->has_valid || validity != FX8_BLOCK_EMPTY;
    engine->last = device;
    engine->n_spectra = block->n_spectra;
    if (validity != FX8_BLOCK_WHOLE)
        FX8_TRY(copy_masks(device, block, part, error));
    if (block->rotation != nullptr)
        FX8_TRY(copy_rotation(device, block, part->n_inputs, error));
    return FX8_OK;
}

enum fx8_status fx8_cuda_await_samples(struct fx8_engine *engine,
                                       const struct fx8_cuda_device *device,
                                       struct fx8_error *error)
{
    const struct fx8_cuda_notes *taking = engine->taking;
    engine->taking = nullptr;
    if (taking == nullptr)
        return FX8_OK;
    return fx8_cuda_await(device, taking->copied, "samples", error);
}

enum fx8_status fx8_cuda_end_block(struct fx8_engine *engine,
                                   struct fx8_cuda_device *device,
                                   struct fx8_error *error)
{
    const struct fx8_cuda_call *call = &device->call;
    struct fx8_cuda_notes *notes =
        &device->notes[device->n_blocks++ % FX8_CUDA_NOTES];
    FX8_TRY(fx8_cuda_record(device, notes->copied, device->copy, error));
    FX8_TRY(fx8_cuda_record(device, notes->done, device->compute, error));
    device->has_sums = true;
    /* the next block may only begin after whole folds */
    if (call->n_spectra == call->most_spectra ||
        call->n_spectra % FX8_CUDA_CALL_UNIT != 0)
        FX8_TRY(fx8_cuda_end_call(engine, device, error));
    FX8_TRY(fx8_cuda_await_samples(engine, device, error));
    engine->taking = notes;
    return FX8_OK;
}

/* --- samples to spectra ----------------------------------------------------
 */

/* Add the moments of a part, if planned; no bins: method none. */
static enum fx8_status add_moments(const struct fx8_engine *engine,
                                   const struct fx8_cuda_device *device,
                                   const struct fx8_cuda_part *part,
                                   const struct fx8_cf32 *bins,
                                   const int8_t *samples,
                                   struct fx8_error *error)
{
    struct fx8_cuda_moments_job job = {};
    if (device->sums[FX8_CUDA_MOMENTS] == nullptr)
        return FX8_OK;
    job.part = *part;
    job.bank = engine->plan.bank;
    job.bins = bins;
    job.bins_stride = engine->shape.folded_stride / 2;
    job.samples = samples;
    job.row_stride = engine->shape.samples_bytes;
    job.moments = static_cast<double *>(device->sums[FX8_CUDA_MOMENTS]);
    FX8_TRY(fx8_cuda_check(fx8_cuda_moments(&job, device->compute), device,
                           error, "moments"));
    return fx8_cuda_settle(device, "moments", error);
}

/* One chunk: FIR, FFT, moments, rotation, quantiser, corner turn; `part` is its
 * place. */
static enum fx8_status channelize_chunk(
    const struct fx8_engine *engine, const struct fx8_cuda_device *device,
    const int8_t *samples, const struct fx8_cuda_part *part,
    const struct fx8_rotation *rotation, size_t rotation_stride,
    const struct fx8_cuda_spectra *spectra, struct fx8_error *error)
{
    const struct fx8_cuda_shape *shape = &engine->shape;
    const struct fx8_filterbank *bank = &engine->plan.bank;
    struct fx8_cuda_fir_job fir = {};
    fir.samples = samples;
    fir.row_stride = shape->samples_bytes;
    fir.n_inputs = part->n_inputs;
    fir.n_spectra = part->n_spectra;
    fir.n_taps = bank->n_taps;
    fir.row = shape->row;
    fir.folded = device->folded;
    fir.folded_stride = shape->folded_stride;
    if (rotation != nullptr)
        fir.rotation = rotation + part->first_input * rotation_stride +
                       part->first_time / FX8_GROUP;
    fir.rotation_stride = rotation_stride;
    fir.sample_size = bank->is_complex ? 2 : 1;
    FX8_TRY(fx8_cuda_check(
        fx8_has_int16_fir(&engine->plan)
            ? fx8_cuda_fir_int16(&fir, device->coefficients16, device->scale16,
                                 device->compute)
            : fx8_cuda_fir(&fir, device->coefficients, device->compute),
        device, error, "FIR"));
    FX8_TRY(fx8_cuda_settle(device, "FIR", error));
    struct fx8_cf32 *bins = reinterpret_cast<struct fx8_cf32 *>(device->folded);
    cufftComplex *in_place = reinterpret_cast<cufftComplex *>(device->folded);
    if (device->has_fft)
        FX8_TRY(fx8_cuda_check_fft(
            bank->is_complex
                ? cufftExecC2C(device->fft, in_place, in_place, CUFFT_FORWARD)
                : cufftExecR2C(device->fft, device->folded, in_place),
            device, error, "cufftExec"));
    FX8_TRY(fx8_cuda_settle(device, "FFT", error));
    FX8_TRY(add_moments(engine, device, part, bins, nullptr, error));
    struct fx8_cuda_corner_turn_job job = {};
    job.bank = *bank;
    job.part = *part;
    job.bins = bins;
    job.bins_stride = shape->folded_stride / 2;
    job.rotation = rotation;
    job.rotation_stride = rotation_stride;
    job.gain = device->gain;
    job.clips = device->clips;
    job.has_dither = engine->plan.quantizer.dither;
    job.dither = device->call.dither;
    FX8_TRY(fx8_cuda_check(fx8_cuda_corner_turn(&job, spectra, device->compute),
                           device, error, "corner turn"));
    return fx8_cuda_settle(device, "corner turn", error);
}

/* All chunks of a batch; `whole` has its inputs and times. */
static enum fx8_status channelize_batch(const struct fx8_engine *engine,
                                        const struct fx8_cuda_device *device,
                                        const int8_t *samples,
                                        const struct fx8_cuda_part *whole,
                                        const struct fx8_rotation *rotation,
                                        struct fx8_error *error)
{
    const struct fx8_cuda_shape *shape = &engine->shape;
    const struct fx8_cuda_spectra spectra = fx8_cuda_last_block(engine, device);
    if (!engine->has_filterbank) {
        FX8_TRY(add_moments(engine, device, whole, nullptr, samples, error));
        FX8_TRY(
            fx8_cuda_check(fx8_cuda_gather(whole, samples, shape->samples_bytes,
                                           &spectra, device->compute),
                           device, error, "corner turn"));
        return fx8_cuda_settle(device, "corner turn", error);
    }
    for (size_t time = 0; time < whole->n_spectra;
         time += shape->chunk_spectra) {
        const size_t rest = whole->n_spectra - time;
        struct fx8_cuda_part part = *whole;
        part.first_time = time;
        if (rest > shape->chunk_spectra) {
            part.n_spectra = shape->chunk_spectra;
            part.end_time = time + shape->chunk_spectra;
        } else {
            part.n_spectra = rest;
        }
        for (size_t input = 0; input < whole->n_inputs;
             input += shape->chunk_inputs) {
            const size_t inputs = whole->n_inputs - input;
            part.first_input = whole->first_input + input;
            part.n_inputs =
                inputs < shape->chunk_inputs ? inputs : shape->chunk_inputs;
            FX8_TRY(channelize_chunk(
                engine, device,
                samples + shape->margin_bytes + input * shape->samples_bytes +
                    time * shape->row,
                &part, rotation, fx8_groups(whole->n_spectra), &spectra,
                error));
        }
    }
    return FX8_OK;
}

/* --- host to device --------------------------------------------------------
 */

/* Copy rows; one by one if they are further apart than the device allows in one
 * copy, usually 2 GiB. */
static cudaError_t copy_rows(const struct fx8_cuda_device *device, int8_t *to,
                             size_t to_pitch, const int8_t *from,
                             size_t from_pitch, size_t bytes, size_t n_rows)
{
    if (std::max(to_pitch, from_pitch) <= device->most_pitch)
        return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes, n_rows,
                                 cudaMemcpyHostToDevice, device->copy);
    cudaError_t code = cudaSuccess;
    for (size_t row = 0; row < n_rows && code == cudaSuccess; ++row)
        code = cudaMemcpyAsync(to + row * to_pitch, from + row * from_pitch,
                               bytes, cudaMemcpyHostToDevice, device->copy);
    return code;
}

/* Copy samples of some inputs to a slot when it is free; asynchronous from
 * pinned memory. */
static enum fx8_status copy_samples(const struct fx8_engine *engine,
                                    struct fx8_cuda_device *device,
                                    const struct fx8_engine_block *block,
                                    const struct fx8_cuda_part *part,
                                    const struct fx8_cuda_slot *slot,
                                    int8_t *samples, struct fx8_error *error)
{
    const struct fx8_cuda_shape *shape = &engine->shape;
    const size_t bytes =
        (part->n_spectra + engine->plan.bank.n_taps - 1) * shape->row +
        2 * shape->margin_bytes;
    FX8_TRY(fx8_cuda_hold(device, device->copy, slot->done, error));
    FX8_TRY(fx8_cuda_start_timer(device, device->copy, &device->times.copy_s,
                                 error));
    FX8_TRY(fx8_cuda_check(copy_rows(device, samples, shape->samples_bytes,
                                     block->samples +
                                         part->first_input * block->row_stride -
                                         shape->margin_bytes,
                                     block->row_stride, bytes, part->n_inputs),
                           device, error, "copying %s of samples",
                           fx8_cuda_bytes(part->n_inputs * bytes)));
    FX8_TRY(fx8_cuda_stop_timer(device, device->copy, error));
    FX8_TRY(fx8_cuda_record(device, slot->copied, device->copy, error));
    return fx8_cuda_hold(device, device->compute, slot->copied, error);
}

/* Copy one batch of inputs to the device and channelise it. */
static enum fx8_status push_batch(struct fx8_engine *engine,
                                  struct fx8_cuda_device *device,
                                  const struct fx8_engine_block *block,
                                  const struct fx8_cuda_part *part,
                                  const struct fx8_rotation *rotation,
                                  struct fx8_error *error)
{
    const size_t number = device->n_batches++ % device->n_slots;
    const struct fx8_cuda_slot *slot = &device->slots[number];
    int8_t *const samples = device->samples + number * device->batch_inputs *
                                                  engine->shape.samples_bytes;
    FX8_TRY(copy_samples(engine, device, block, part, slot, samples, error));
    FX8_TRY(fx8_cuda_start_timer(device, device->compute,
                                 &device->times.channelize_s, error));
    FX8_TRY(channelize_batch(engine, device, samples, part, rotation, error));
    FX8_TRY(fx8_cuda_stop_timer(device, device->compute, error));
    return fx8_cuda_record(device, slot->done, device->compute, error);
}

enum fx8_status fx8_cuda_push_block(struct fx8_engine *engine,
                                    struct fx8_cuda_device *device,
                                    const struct fx8_engine_block *block,
                                    enum fx8_block_validity validity,
                                    struct fx8_error *error)
{
    const struct fx8_rotation *rotation =
        block->rotation == nullptr ? nullptr : next_rotation(device)->rotation;
    struct fx8_cuda_part part;
    FX8_TRY(
        fx8_cuda_begin_block(engine, device, block, validity, &part, error));
    const size_t n_inputs = engine->plan.n_inputs;
    for (size_t first = 0; first < n_inputs; first += device->batch_inputs) {
        const size_t rest = n_inputs - first;
        part.first_input = first;
        part.n_inputs =
            rest < device->batch_inputs ? rest : device->batch_inputs;
        FX8_TRY(push_batch(engine, device, block, &part, rotation, error));
    }
    if (validity != FX8_BLOCK_EMPTY)
        FX8_TRY(fx8_cuda_watch_block(engine, device, block->n_spectra, error));
    return fx8_cuda_end_block(engine, device, error);
}
