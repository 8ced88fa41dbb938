/* SPDX-License-Identifier: BSD-3-Clause */
/* batch.cu -- see engine_cuda.h: from samples to sums. */
#include <string.h>

#include "config/shape.h"
#include "kernels/cuda/engine_cuda.h"
#include "kernels/parallel.h"

/* --- waiting ---------------------------------------------------------------
 */

/* Wait for what lies between two events and add how long it took. */
static enum fx8_status wait_for(const struct fx8_cuda_device *device,
                                cudaEvent_t begin, cudaEvent_t end,
                                double *seconds, struct fx8_error *error)
{
    enum fx8_status status = fx8_cuda_check(cudaEventSynchronize(end), device,
                                            error, "cudaEventSynchronize");
    if (status != FX8_OK)
        return status;
    float milliseconds = 0.0F;
    status = fx8_cuda_check(cudaEventElapsedTime(&milliseconds, begin, end),
                            device, error, "cudaEventElapsedTime");
    *seconds += 1e-3 * static_cast<double>(milliseconds);
    return status;
}

static enum fx8_status wait_for_slot(struct fx8_cuda_device *device,
                                     struct fx8_cuda_slot *slot,
                                     struct fx8_error *error)
{
    if (!slot->is_used)
        return FX8_OK;
    slot->is_used = false;
    return wait_for(device, slot->begin, slot->end, &device->times.channelize_s,
                    error);
}

static enum fx8_status wait_for_notes(struct fx8_cuda_device *device,
                                      struct fx8_cuda_notes *notes,
                                      struct fx8_error *error)
{
    if (!notes->is_used)
        return FX8_OK;
    notes->is_used = false;
    return wait_for(device, notes->begin, notes->end,
                    &device->times.correlate_s, error);
}

enum fx8_status fx8_cuda_wait(struct fx8_cuda_device *device,
                              struct fx8_error *error)
{
    enum fx8_status status =
        fx8_cuda_check(cudaStreamSynchronize(device->compute), device, error,
                       "cudaStreamSynchronize");
    for (struct fx8_cuda_slot &slot : device->slots)
        if (status == FX8_OK)
            status = wait_for_slot(device, &slot, error);
    for (struct fx8_cuda_notes &notes : device->notes)
        if (status == FX8_OK)
            status = wait_for_notes(device, &notes, error);
    return status;
}

/* --- a block ---------------------------------------------------------------
 */

struct fx8_cuda_spectra fx8_cuda_block_spectra(
    const struct fx8_engine *engine, const struct fx8_cuda_device *device,
    size_t n_spectra)
{
    struct fx8_cuda_spectra spectra = {};
    spectra.int8 = device->x8;
    spectra.fp32 = device->x32;
    spectra.n_inputs = engine->plan.n_inputs;
    spectra.n_channels = engine->plan.bank.n_channels;
    spectra.n_times = fx8_cuda_times(n_spectra);
    return spectra;
}

static enum fx8_status copy_to_device(const struct fx8_cuda_device *device,
                                      void *to, const void *from, size_t bytes,
                                      struct fx8_error *error)
{
    return fx8_cuda_check(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, device->copy),
        device, error, "cudaMemcpyAsync of %s to the device",
        fx8_cuda_bytes(bytes));
}

enum fx8_status fx8_cuda_begin_block(struct fx8_engine *engine,
                                     struct fx8_cuda_device *device,
                                     const struct fx8_engine_block *block,
                                     enum fx8_block_validity validity,
                                     struct fx8_cuda_part *part,
                                     struct fx8_error *error)
{
    const size_t n_inputs = engine->plan.n_inputs;
    struct fx8_cuda_notes *notes =
        &device->notes[device->n_blocks % FX8_CUDA_SLOTS];
    *part = fx8_cuda_part();
    part->n_inputs = n_inputs;
    part->n_spectra = block->n_spectra;
    part->end_time = fx8_cuda_times(block->n_spectra);
    part->valid_words = fx8_bit_words(block->n_spectra);
    engine->last = device;
    engine->n_spectra = block->n_spectra;
    enum fx8_status status = wait_for_notes(device, notes, error);
    if (status == FX8_OK && validity != FX8_BLOCK_WHOLE) {
        const size_t bytes = n_inputs * part->valid_words * sizeof(uint64_t);
        memcpy(notes->pinned_valid, block->valid, bytes);
        part->valid = notes->valid;
        status = copy_to_device(device, notes->valid, notes->pinned_valid,
                                bytes, error);
    }
    if (status == FX8_OK && block->rotation != nullptr) {
        const size_t bytes =
            n_inputs * block->n_spectra * sizeof *block->rotation;
        memcpy(notes->pinned_rotation, block->rotation, bytes);
        status = copy_to_device(device, notes->rotation, notes->pinned_rotation,
                                bytes, error);
    }
    return status;
}

/* The spectra of a block to the sums of every precision; a correlator that is
 * not planned is NULL. */
static enum fx8_status correlate(const struct fx8_engine *engine,
                                 const struct fx8_cuda_device *device,
                                 size_t n_spectra, struct fx8_error *error)
{
    const struct {
        const struct fx8_cuda_correlator *correlator;
        const void *x;
        size_t times_per_vector;
        void *sums;
    } each[] = {
        {device->int8, device->x8, FX8_CUDA_TIMES_INT8, device->sums8},
        {device->fp32, device->x32, FX8_CUDA_TIMES_FP32, device->sums32},
        {device->down, device->x32, FX8_CUDA_TIMES_FP32, device->sums_down},
        {device->up, device->x32, FX8_CUDA_TIMES_FP32, device->sums_up},
    };
    const size_t n_times = fx8_cuda_times(n_spectra);
    struct fx8_cuda_correlation job = {};
    job.n_inputs = engine->plan.n_inputs;
    job.n_channels = engine->plan.bank.n_channels;
    job.n_times = n_spectra;
    job.stream = device->compute;
    enum fx8_status status = FX8_OK;
    for (const auto &one : each) {
        if (status != FX8_OK || one.correlator == nullptr)
            continue;
        job.x = one.x;
        job.channel_stride =
            fx8_cuda_stride(engine, n_times, one.times_per_vector);
        job.sums = one.sums;
        status = fx8_cuda_check(one.correlator->accumulate(&job), device, error,
                                "correlating by %s", one.correlator->name);
    }
    return status;
}

enum fx8_status fx8_cuda_end_block(struct fx8_engine *engine,
                                   struct fx8_cuda_device *device,
                                   size_t n_spectra,
                                   enum fx8_block_validity validity,
                                   struct fx8_error *error)
{
    struct fx8_cuda_notes *notes =
        &device->notes[device->n_blocks++ % FX8_CUDA_SLOTS];
    enum fx8_status status =
        fx8_cuda_record(device, notes->begin, device->compute, error);
    if (status == FX8_OK && validity != FX8_BLOCK_EMPTY)
        status = correlate(engine, device, n_spectra, error);
    if (status == FX8_OK)
        status = fx8_cuda_record(device, notes->end, device->compute, error);
    notes->is_used = status == FX8_OK;
    device->has_sums = true;
    return status;
}

/* --- samples to spectra ----------------------------------------------------
 */

/* One chunk: FIR, FFT, rotate, quantise, turn; the part is its place. */
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
    enum fx8_status status = fx8_cuda_check(
        engine->plan.fir_int16
            ? fx8_cuda_fir_int16(&fir, device->coefficients16, device->scale16,
                                 device->compute)
            : fx8_cuda_fir(&fir, device->coefficients, device->compute),
        device, error, "FIR");
    struct fx8_cf32 *bins = reinterpret_cast<struct fx8_cf32 *>(device->folded);
    cufftComplex *in_place = reinterpret_cast<cufftComplex *>(device->folded);
    if (status == FX8_OK && device->has_fft)
        status = fx8_cuda_check_fft(
            bank->is_complex
                ? cufftExecC2C(device->fft, in_place, in_place, CUFFT_FORWARD)
                : cufftExecR2C(device->fft, device->folded, in_place),
            device, error, "cufftExec");
    if (status != FX8_OK)
        return status;
    struct fx8_cuda_turn_job turn = {};
    turn.bank = *bank;
    turn.part = *part;
    turn.bins = bins;
    turn.bins_stride = shape->folded_stride / 2;
    turn.rotation = rotation;
    turn.rotation_stride = rotation_stride;
    turn.gain = device->gain;
    turn.clips = device->clips;
    return fx8_cuda_check(fx8_cuda_turn(&turn, spectra, device->compute),
                          device, error, "corner turn");
}

/* All chunks of a batch, whose inputs and times `whole` names. */
static enum fx8_status channelize_batch(const struct fx8_engine *engine,
                                        const struct fx8_cuda_device *device,
                                        const int8_t *samples,
                                        const struct fx8_cuda_part *whole,
                                        const struct fx8_rotation *rotation,
                                        struct fx8_error *error)
{
    const struct fx8_cuda_shape *shape = &engine->shape;
    const struct fx8_cuda_spectra spectra =
        fx8_cuda_block_spectra(engine, device, whole->n_spectra);
    if (!engine->has_filterbank)
        return fx8_cuda_check(fx8_cuda_gather(whole, samples,
                                              shape->samples_bytes, &spectra,
                                              device->compute),
                              device, error, "corner turn");
    enum fx8_status status = FX8_OK;
    for (size_t time = 0; time < whole->n_spectra && status == FX8_OK;
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
        for (size_t input = 0; input < whole->n_inputs && status == FX8_OK;
             input += shape->chunk_inputs) {
            const size_t inputs = whole->n_inputs - input;
            part.first_input = whole->first_input + input;
            part.n_inputs =
                inputs < shape->chunk_inputs ? inputs : shape->chunk_inputs;
            status = channelize_chunk(
                engine, device,
                samples + input * shape->samples_bytes + time * shape->row,
                &part, rotation, whole->n_spectra, &spectra, error);
        }
    }
    return status;
}

/* --- host to device --------------------------------------------------------
 */

/* Fewer bytes than this are copied by one thread. */
static const size_t SHARED_BYTES = size_t(1) << 20;

struct gather {
    const int8_t *from;
    size_t from_stride;
    int8_t *to;
    size_t to_stride;
    size_t bytes;
};

static void gather_row(void *context, size_t row, size_t)
{
    const struct gather *job = static_cast<const struct gather *>(context);
    memcpy(job->to + row * job->to_stride, job->from + row * job->from_stride,
           job->bytes);
}

/* Inputs of one batch: to pinned memory, to the device, to spectra. */
static enum fx8_status push_batch(struct fx8_engine *engine,
                                  struct fx8_cuda_device *device,
                                  const struct fx8_engine_block *block,
                                  const struct fx8_cuda_part *part,
                                  const struct fx8_rotation *rotation,
                                  struct fx8_error *error)
{
    const struct fx8_engine_plan *plan = &engine->plan;
    const struct fx8_cuda_shape *shape = &engine->shape;
    struct fx8_cuda_slot *slot =
        &device->slots[device->n_batches++ % FX8_CUDA_SLOTS];
    enum fx8_status status = wait_for_slot(device, slot, error);
    if (status != FX8_OK)
        return status;
    struct gather job = {block->samples + part->first_input * block->row_stride,
                         block->row_stride, slot->pinned, shape->samples_bytes,
                         (part->n_spectra + plan->bank.n_taps - 1) *
                             shape->row};
    const size_t bytes = part->n_inputs * shape->samples_bytes;
    fx8_parallel_for(part->n_inputs, bytes < SHARED_BYTES ? 1 : plan->n_threads,
                     plan->pin_threads, gather_row, &job);
    status = copy_to_device(device, slot->samples, slot->pinned, bytes, error);
    if (status == FX8_OK)
        status = fx8_cuda_record(device, slot->copied, device->copy, error);
    if (status == FX8_OK)
        status = fx8_cuda_hold(device, device->compute, slot->copied, error);
    if (status == FX8_OK)
        status = fx8_cuda_record(device, slot->begin, device->compute, error);
    if (status == FX8_OK)
        status = channelize_batch(engine, device, slot->samples, part, rotation,
                                  error);
    if (status == FX8_OK)
        status = fx8_cuda_record(device, slot->end, device->compute, error);
    slot->is_used = status == FX8_OK;
    return status;
}

enum fx8_status fx8_cuda_push_block(struct fx8_engine *engine,
                                    struct fx8_cuda_device *device,
                                    const struct fx8_engine_block *block,
                                    enum fx8_block_validity validity,
                                    struct fx8_error *error)
{
    const struct fx8_rotation *rotation =
        block->rotation == nullptr
            ? nullptr
            : device->notes[device->n_blocks % FX8_CUDA_SLOTS].rotation;
    struct fx8_cuda_part part;
    enum fx8_status status =
        fx8_cuda_begin_block(engine, device, block, validity, &part, error);
    const size_t n_inputs = engine->plan.n_inputs;
    for (size_t first = 0; first < n_inputs && status == FX8_OK;
         first += device->batch_inputs) {
        const size_t rest = n_inputs - first;
        part.first_input = first;
        part.n_inputs =
            rest < device->batch_inputs ? rest : device->batch_inputs;
        status = push_batch(engine, device, block, &part, rotation, error);
    }
    if (status == FX8_OK)
        status = fx8_cuda_end_block(engine, device, block->n_spectra, validity,
                                    error);
    return status;
}
