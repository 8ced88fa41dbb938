/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.cu -- see engine_cuda.h: allocation on a device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <initializer_list>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/cuda/engine_cuda.h"

const char *fx8_cuda_bytes(size_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    static thread_local char texts[8][32];
    static thread_local unsigned next;
    char *text = texts[next++ % 8];
    double value = static_cast<double>(bytes);
    size_t unit = 0;
    while (value >= 1024.0 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024.0;
        ++unit;
    }
    snprintf(text, sizeof texts[0], unit == 0 ? "%.0f %s" : "%.1f %s", value,
             units[unit]);
    return text;
}

/* --- a device --------------------------------------------------------------
 */

/* Masks, watched spectra and 54 others. */
static const size_t MOST_ARRAYS =
    64 + 2 * FX8_CUDA_NOTES + 4 * FX8_CUDA_WATCH_SLOTS;

/* List the arrays for results; returns their number. */
static size_t list_results(const struct fx8_engine *engine,
                           struct fx8_cuda_results *results,
                           struct fx8_cuda_array *arrays)
{
    const struct fx8_engine_plan *plan = &engine->plan;
    const struct fx8_cuda_shape *shape = &engine->shape;
    const size_t inputs = plan->n_inputs, channels = plan->bank.n_channels;
    const size_t n_cells = fx8_product(inputs, channels, 1, 1);
    const size_t n_products =
        fx8_product(shape->n_baselines, plan->n_result_products, 1, 1);
    const size_t cells =
        results->keeps
            ? fx8_product(n_products, channels / plan->channel_average, 1, 1)
            : fx8_product(FX8_CUDA_SLOTS, shape->slab_cells, 1, 1);
    const struct fx8_cuda_array list[] = {
        {&results->products, n_products, sizeof *results->products},
        {&results->counts, shape->n_pairs, sizeof *results->counts},
        {&results->gain, n_cells, sizeof *results->gain},
        {&results->flag_cell, n_cells, 1},
        {&results->input_gain, inputs, sizeof *results->input_gain},
        {&results->ripple, channels, sizeof *results->ripple},
        {&results->flag_input, inputs, 1},
        {&results->flag_channel, channels, 1},
        {&results->slabs.visibilities, cells, 2 * sizeof(float)},
        {&results->slabs.flags, cells, 1},
        {&results->slabs.nsamples, cells, sizeof(float)},
        {&results->pinned_plan, 1, shape->plan_bytes, true},
    };
    memcpy(arrays, list, sizeof list);
    return sizeof list / sizeof *list;
}

/* List the arrays in which sums of segments and of devices are added; returns
 * their number. */
static size_t list_totals(const struct fx8_engine *engine,
                          struct fx8_cuda_device *device,
                          struct fx8_cuda_array *arrays)
{
    const struct fx8_cuda_shape *shape = &engine->shape;
    const bool is_first = device == engine->devices;
    const bool is_divided = is_first && shape->is_divided;
    const bool has_others = is_first && engine->n_devices > 1 &&
                            (shape->n_baselines > 0 || shape->is_divided);
    size_t n = 0;
    for (size_t kind = FX8_RESULT_FP32; kind < FX8_CUDA_N_SUMS; ++kind)
        arrays[n++] = {&device->totals[kind], fx8_cuda_count_sums(engine, kind),
                       is_divided * sizeof(double), false, true};
    arrays[n++] = {&device->received, has_others * size_t(FX8_CUDA_SLOTS),
                   shape->staging_bytes};
    return n;
}

/* List all arrays of a device with their current sizes; returns their number.
 */
static size_t list_arrays(const struct fx8_engine *engine,
                          struct fx8_cuda_device *device,
                          struct fx8_cuda_array arrays[MOST_ARRAYS])
{
    const struct fx8_engine_plan *plan = &engine->plan;
    const struct fx8_cuda_shape *shape = &engine->shape;
    const size_t channels = plan->bank.n_channels, inputs = plan->n_inputs;
    const bool bank = engine->has_filterbank;
    const bool int8 = fx8_is_planned(plan, FX8_RESULT_INT8);
    const bool floats = plan->precisions >> FX8_RESULT_FP32 != 0;
    const size_t cells = fx8_product(inputs, channels, 1, 1);
    const size_t words = fx8_product(inputs, shape->valid_words, 1, 1);
    const size_t rotations =
        fx8_product(inputs, fx8_groups(shape->block_spectra), 1, 1);
    struct fx8_cuda_call *call = &device->call;
    const size_t stride8 =
        fx8_cuda_stride(engine, call->most_spectra, FX8_CUDA_TIMES_INT8);
    const size_t stride32 =
        fx8_cuda_stride(engine, call->most_spectra, FX8_CUDA_TIMES_FP32);
    const size_t weights = plan->bank.n_taps * shape->row;
    const size_t chunk = fx8_product(shape->chunk_inputs, shape->chunk_spectra,
                                     shape->folded_stride, 1);
    const size_t samples =
        fx8_product(device->batch_inputs, shape->samples_bytes, 1, 1);
    const size_t tail = FX8_CUDA_TAIL_ROWS;
    const struct fx8_cuda_array fixed[] = {
        {&device->coefficients, weights,
         (bank && !fx8_has_int16_fir(plan)) * sizeof(float)},
        {&device->coefficients16, weights,
         (bank && fx8_has_int16_fir(plan)) * sizeof(int16_t)},
        {&device->gain, cells, bank * sizeof(float)},
        {&device->clips, cells, sizeof(unsigned long long), false, true},
        {&device->ended_clips, cells, sizeof(unsigned long long), true},
        {&device->folded, chunk, bank * sizeof(float), false, true},
        {&device->fft_area, device->fft_bytes, device->has_fft},
        {&call->x8, fx8_product(channels, stride8, 1, 1) + tail,
         int8 * size_t(16), false, true},
        {&call->x32, fx8_product(channels, stride32, 1, 1) + tail,
         floats * size_t(16), false, true},
    };
    size_t n = sizeof fixed / sizeof *fixed;
    memcpy(arrays, fixed, sizeof fixed);
    for (size_t kind = 0; kind < FX8_CUDA_N_SUMS; ++kind)
        arrays[n++] = {&device->sums[kind], fx8_cuda_count_sums(engine, kind),
                       sizeof(double), false, true};
    /* of the smallest tiles: the correlators are not chosen yet */
    const size_t rows =
        (inputs + FX8_CUDA_LEAST_TILE - 1) / FX8_CUDA_LEAST_TILE;
    for (size_t kind = 0; kind < FX8_N_RESULTS; ++kind)
        arrays[n++] = {&device->tiles[kind], fx8_pair_count(rows),
                       (plan->needed != nullptr && fx8_is_planned(plan, kind)) *
                           sizeof(unsigned)};
    n += list_totals(engine, device, arrays + n);
    arrays[n++] = {&device->samples, device->n_slots, samples};
    const size_t rotation = (plan->margin > 0) * sizeof(struct fx8_rotation);
    for (struct fx8_cuda_notes &notes : device->notes) {
        arrays[n++] = {&notes.valid, words, sizeof(uint64_t)};
        arrays[n++] = {&notes.pinned_valid, words, sizeof(uint64_t), true};
    }
    for (struct fx8_cuda_rotation &slot : device->rotations) {
        arrays[n++] = {&slot.rotation, rotations, rotation};
        arrays[n++] = {&slot.pinned, rotations, rotation, true};
    }
    for (struct fx8_cuda_staging &slot : device->staging)
        arrays[n++] = {&slot.pinned, shape->staging_bytes, 1, true};
    n += fx8_cuda_list_watching(engine, &device->watching, arrays + n);
    if (shape->n_baselines > 0 && device == engine->devices)
        n += list_results(engine, &device->results, arrays + n);
    if (engine->consumer != nullptr && device == engine->devices)
        n += fx8_cuda_list_consumer(engine, arrays + n);
    return n;
}

size_t fx8_cuda_arrays_bytes(const struct fx8_cuda_array *arrays, size_t n,
                             bool is_pinned)
{
    static const size_t UNIT = 512;
    size_t total = 0;
    for (size_t k = 0; k < n; ++k) {
        const size_t bytes =
            fx8_product(arrays[k].n_items, arrays[k].item_size, 1, 1);
        if (arrays[k].is_pinned != is_pinned)
            continue;
        if (bytes > SIZE_MAX / 2 - total)
            return SIZE_MAX;
        total += fx8_round_up(bytes, UNIT);
    }
    return total;
}

/* Bytes of the arrays of a device. */
static size_t count_bytes(const struct fx8_engine *engine,
                          struct fx8_cuda_device *device, bool is_pinned)
{
    struct fx8_cuda_array arrays[MOST_ARRAYS];
    const size_t n = list_arrays(engine, device, arrays);
    return fx8_cuda_arrays_bytes(arrays, n, is_pinned);
}

/* Plan calls of n blocks, with slots for the samples of one more block. */
static void plan_call(const struct fx8_engine *engine,
                      struct fx8_cuda_device *device, size_t n_blocks)
{
    const size_t batches = (engine->plan.n_inputs + device->batch_inputs - 1) /
                           device->batch_inputs;
    const size_t wanted = fx8_product(n_blocks, batches, 1, 1);
    device->call.most_spectra = n_blocks * engine->shape.block_spectra;
    device->n_slots = std::min<size_t>(
        FX8_CUDA_MOST_BATCHES, std::max<size_t>(FX8_CUDA_SLOTS, wanted));
}

/* Choose the longest calls that fit half of the memory; others may need it. */
static void choose_call(const struct fx8_engine *engine,
                        struct fx8_cuda_device *device, size_t usable)
{
    for (size_t n_blocks = engine->shape.most_blocks; n_blocks > 0;
         n_blocks /= 2) {
        plan_call(engine, device, n_blocks);
        if (count_bytes(engine, device, false) <= usable / 2)
            return;
    }
    plan_call(engine, device, 1);
    device->n_slots = FX8_CUDA_SLOTS;
}

enum fx8_status fx8_cuda_find_usable(const struct fx8_cuda_device *device,
                                     size_t *usable, struct fx8_error *error)
{
    size_t free_bytes = 0, all_bytes = 0;
    FX8_TRY(fx8_cuda_check(cudaMemGetInfo(&free_bytes, &all_bytes), device,
                           error, "cudaMemGetInfo"));
    const char *text = getenv(FX8_CUDA_MEMORY_VARIABLE);
    const size_t allowed =
        text == nullptr ? SIZE_MAX : strtoul(text, nullptr, 10) << 10;
    /* leave 1/32 for the runtime, which allocates when kernels are loaded */
    *usable = std::min(allowed, free_bytes - free_bytes / 32);
    return FX8_OK;
}

/* Choose sizes that fit the device's memory: first the inputs of a batch, all
 * of the plan's, half of them, and so on; then calls. */
static enum fx8_status choose_sizes(const struct fx8_engine *engine,
                                    struct fx8_cuda_device *device,
                                    struct fx8_error *error)
{
    const size_t n_engines =
        engine->plan.n_engines == 0 ? 1 : engine->plan.n_engines;
    size_t usable = 0;
    FX8_TRY(fx8_cuda_find_usable(device, &usable, error));
    usable /= n_engines - engine->plan.n_opened;
    device->batch_inputs = engine->shape.most_inputs;
    device->call.most_spectra = engine->shape.block_spectra;
    device->n_slots = FX8_CUDA_SLOTS;
    device->results.keeps = engine->shape.may_keep && device == engine->devices;
    if (count_bytes(engine, device, false) > usable)
        device->results.keeps = false;
    while (device->batch_inputs > 1 &&
           count_bytes(engine, device, false) > usable)
        device->batch_inputs /= 2;
    const size_t wanted = count_bytes(engine, device, false);
    if (wanted > usable)
        return fx8_fail(
            error, FX8_ERR_SYSTEM,
            "cuda: device %d (%s): %s of memory free: expected %s for %zu "
            "%s, %zu %s and blocks of %zu %s",
            device->ordinal, device->name, fx8_cuda_bytes(usable),
            fx8_cuda_bytes(wanted), engine->plan.n_inputs,
            FX8_NOUN(engine->plan.n_inputs, "input", "inputs"),
            engine->plan.bank.n_channels,
            FX8_NOUN(engine->plan.bank.n_channels, "channel", "channels"),
            engine->shape.block_spectra,
            FX8_NOUN(engine->shape.block_spectra, "spectrum", "spectra"));
    choose_call(engine, device, usable);
    return FX8_OK;
}

static enum fx8_status allocate_array(const struct fx8_cuda_array *array,
                                      struct fx8_cuda_device *device,
                                      struct fx8_error *error)
{
    const size_t bytes = fx8_product(array->n_items, array->item_size, 1, 1);
    if (bytes == 0)
        return FX8_OK;
    void *memory = nullptr;
    FX8_TRY(array->is_pinned
                ? fx8_cuda_check(
                      cudaHostAlloc(&memory, bytes, cudaHostAllocDefault),
                      device, error, "cudaHostAlloc of %s",
                      fx8_cuda_bytes(bytes))
                : fx8_cuda_check(cudaMalloc(&memory, bytes), device, error,
                                 "cudaMalloc of %s", fx8_cuda_bytes(bytes)));
    memcpy(array->pointer, &memory, sizeof memory);
    if (array->is_zero)
        FX8_TRY(fx8_cuda_clear(device, memory, bytes, error));
    return FX8_OK;
}

enum fx8_status fx8_cuda_allocate_arrays(const struct fx8_cuda_array *arrays,
                                         size_t n,
                                         struct fx8_cuda_device *device,
                                         struct fx8_error *error)
{
    for (size_t k = 0; k < n; ++k)
        FX8_TRY(allocate_array(&arrays[k], device, error));
    return FX8_OK;
}

void fx8_cuda_free_arrays(const struct fx8_cuda_array *arrays, size_t n)
{
    for (size_t k = 0; k < n; ++k) {
        void *memory;
        memcpy(&memory, arrays[k].pointer, sizeof memory);
        (void)(arrays[k].is_pinned ? cudaFreeHost(memory) : cudaFree(memory));
    }
}

/* One plan for every chunk, in place; fft_area becomes its work memory. */
static enum fx8_status plan_fft(const struct fx8_engine *engine,
                                struct fx8_cuda_device *device,
                                struct fx8_error *error)
{
    const struct fx8_filterbank *bank = &engine->plan.bank;
    const struct fx8_cuda_shape *shape = &engine->shape;
    FX8_TRY(fx8_cuda_check_fft(cufftCreate(&device->fft), device, error,
                               "cufftCreate"));
    device->has_fft = true;
    int length = static_cast<int>(bank->fft_length);
    const int bins = static_cast<int>(shape->folded_stride / 2);
    const int floats = static_cast<int>(shape->folded_stride);
    int in = bank->is_complex ? bins : floats, out = bins;
    const int batch =
        static_cast<int>(shape->chunk_inputs * shape->chunk_spectra);
    FX8_TRY(fx8_cuda_check_fft(cufftSetAutoAllocation(device->fft, 0), device,
                               error, "cufftSetAutoAllocation"));
    FX8_TRY(fx8_cuda_check_fft(
        cufftMakePlanMany(device->fft, 1, &length, &in, 1, in, &out, 1, out,
                          bank->is_complex ? CUFFT_C2C : CUFFT_R2C, batch,
                          &device->fft_bytes),
        device, error, "cufftMakePlanMany"));
    return fx8_cuda_check_fft(cufftSetStream(device->fft, device->compute),
                              device, error, "cufftSetStream");
}

static const size_t MOST_EVENTS =
    2 * (1 + FX8_CUDA_SLOTS + FX8_CUDA_MOST_BATCHES + FX8_CUDA_NOTES +
         FX8_CUDA_WATCH_SLOTS);

/* List the events that are created when a device is opened; returns their
 * number. */
static size_t list_events(struct fx8_cuda_device *device,
                          cudaEvent_t *events[MOST_EVENTS])
{
    size_t n = 0;
    const auto add = [&](cudaEvent_t *one, cudaEvent_t *other) {
        events[n++] = one;
        events[n++] = other;
    };
    add(&device->drained, &device->ended);
    for (struct fx8_cuda_staging &slot : device->staging)
        add(&slot.made, &slot.copied);
    for (size_t k = 0; k < device->n_slots; ++k)
        add(&device->slots[k].copied, &device->slots[k].done);
    for (struct fx8_cuda_notes &notes : device->notes)
        add(&notes.copied, &notes.done);
    for (struct fx8_cuda_picked &slot : device->watching.slots)
        if (device->watching.stream != nullptr)
            add(&slot.picked, &slot.copied);
    return n;
}

static enum fx8_status copy_in(const struct fx8_cuda_device *device, void *to,
                               const void *from, size_t bytes, const char *what,
                               struct fx8_error *error)
{
    return fx8_cuda_copy(device, device->compute, to, from, bytes,
                         cudaMemcpyHostToDevice, what, error);
}

/* Coefficients as the plan's FIR takes them, and gains of 1. */
static enum fx8_status fill(const struct fx8_engine *engine,
                            struct fx8_cuda_device *device,
                            struct fx8_error *error)
{
    const struct fx8_engine_plan *plan = &engine->plan;
    const size_t cells = plan->n_inputs * plan->bank.n_channels;
    const size_t weights = plan->bank.n_taps * engine->shape.row;
    float *ones = nullptr;
    int16_t *rounded = nullptr;
    const struct fx8_array arrays[] = {
        {&ones, cells, sizeof *ones},
        {&rounded, weights, fx8_has_int16_fir(plan) * sizeof *rounded},
    };
    enum fx8_status status = fx8_allocate_arrays(
        arrays, sizeof arrays / sizeof *arrays, "gains", error);
    for (size_t i = 0; i < cells && status == FX8_OK; ++i)
        ones[i] = 1.0F;
    if (status == FX8_OK)
        status = copy_in(device, device->gain, ones, cells * sizeof *ones,
                         "of gains", error);
    if (status == FX8_OK && fx8_has_int16_fir(plan)) {
        device->scale16 =
            fx8_filterbank_int16(weights, plan->coefficients, rounded);
        status = copy_in(device, device->coefficients16, rounded,
                         weights * sizeof *rounded, "of coefficients", error);
    } else if (status == FX8_OK) {
        status = copy_in(device, device->coefficients, plan->coefficients,
                         weights * sizeof *plan->coefficients,
                         "of coefficients", error);
    }
    /* report the first failure */
    const enum fx8_status waited =
        fx8_cuda_drain(device, device->compute, "gains and coefficients",
                       status == FX8_OK ? error : nullptr);
    free(ones);
    free(rounded);
    return status == FX8_OK ? waited : status;
}

enum fx8_status fx8_cuda_prepare(struct fx8_engine *engine,
                                 struct fx8_cuda_device *device,
                                 struct fx8_error *error)
{
    for (cudaStream_t *stream :
         {&device->compute, &device->copy, &device->back})
        FX8_TRY(fx8_cuda_create_stream(device, stream, error));
    if (engine->has_filterbank && engine->plan.bank.fft_length > 1)
        FX8_TRY(plan_fft(engine, device, error));
    FX8_TRY(choose_sizes(engine, device, error));
    if (engine->plan.n_watched_inputs > 0)
        FX8_TRY(
            fx8_cuda_create_stream(device, &device->watching.stream, error));
    cudaEvent_t *events[MOST_EVENTS];
    const size_t n_events = list_events(device, events);
    for (size_t k = 0; k < n_events; ++k)
        FX8_TRY(fx8_cuda_create_event(device, cudaEventDisableTiming, events[k],
                                      error));
    return FX8_OK;
}

enum fx8_status fx8_cuda_allocate(struct fx8_engine *engine,
                                  struct fx8_cuda_device *device,
                                  struct fx8_error *error)
{
    struct fx8_cuda_array arrays[MOST_ARRAYS];
    const size_t n = list_arrays(engine, device, arrays);
    FX8_TRY(fx8_cuda_allocate_arrays(arrays, n, device, error));
    engine->memory += count_bytes(engine, device, true);
    if (device->has_fft)
        FX8_TRY(
            fx8_cuda_check_fft(cufftSetWorkArea(device->fft, device->fft_area),
                               device, error, "cufftSetWorkArea"));
    if (engine->has_filterbank)
        FX8_TRY(fill(engine, device, error));
    return fx8_cuda_drain(device, device->compute, "zeros", error);
}

/* Errors are ignored: they can only be of earlier work and were reported
 * then. */
void fx8_cuda_quiesce(const struct fx8_cuda_device *device)
{
    (void)cudaSetDevice(device->ordinal);
    for (cudaStream_t stream :
         {device->compute, device->copy, device->back, device->watching.stream})
        if (stream != nullptr)
            (void)cudaStreamSynchronize(stream);
}

static void destroy_event(cudaEvent_t event)
{
    if (event != nullptr)
        (void)cudaEventDestroy(event);
}

void fx8_cuda_release(const struct fx8_engine *engine,
                      struct fx8_cuda_device *device)
{
    (void)cudaSetDevice(device->ordinal);
    if (device->has_fft)
        (void)cufftDestroy(device->fft);
    struct fx8_cuda_array arrays[MOST_ARRAYS];
    fx8_cuda_free_arrays(arrays, list_arrays(engine, device, arrays));
    cudaEvent_t *events[MOST_EVENTS];
    const size_t n_events = list_events(device, events);
    for (size_t k = 0; k < n_events; ++k)
        destroy_event(*events[k]);
    for (const struct fx8_cuda_timer &timer : device->timers) {
        destroy_event(timer.begin);
        destroy_event(timer.end);
    }
    for (cudaStream_t stream :
         {device->copy, device->compute, device->back, device->watching.stream})
        if (stream != nullptr)
            (void)cudaStreamDestroy(stream);
    (void)cudaGetLastError();
    *device = fx8_cuda_device();
}

/* --- memory of the caller --------------------------------------------------
 */

void fx8_cuda_pin(struct fx8_engine *engine, void *memory, size_t bytes)
{
    /* whole pages are pinned; smaller memory may share its pages */
    static const size_t LEAST_BYTES = size_t(2) << 20;
    /* With a stuck device nothing is unpinned: the memory would stay pinned
     * after the caller frees it, and copies from new memory at the same address
     * would read the old pages. */
    if (bytes < LEAST_BYTES || fx8_cuda_is_any_stuck())
        return;
    auto *pinned = static_cast<struct fx8_cuda_pinned *>(
        malloc(sizeof(struct fx8_cuda_pinned)));
    if (pinned == nullptr ||
        cudaHostRegister(memory, bytes, cudaHostRegisterPortable) !=
            cudaSuccess) {
        (void)cudaGetLastError();
        free(pinned);
        return;
    }
    *pinned = {static_cast<char *>(memory), bytes, engine->pinned};
    engine->pinned = pinned;
}

bool fx8_cuda_is_pinned(const struct fx8_engine *engine, const void *memory,
                        size_t bytes)
{
    const char *first = static_cast<const char *>(memory);
    for (const auto *each = engine->pinned; each != nullptr; each = each->next)
        if (first >= each->memory &&
            first + bytes <= each->memory + each->bytes)
            return true;
    return false;
}

void fx8_cuda_unpin(struct fx8_engine *engine)
{
    while (engine->pinned != nullptr) {
        struct fx8_cuda_pinned *first = engine->pinned;
        (void)cudaHostUnregister(first->memory);
        engine->pinned = first->next;
        free(first);
    }
}
