/* SPDX-License-Identifier: BSD-3-Clause */
/* staging.cu -- see engine_cuda.h: copies from the device through pinned
 * memory, so that they overlap with later work. */
#include <string.h>

#include "config/base/parallel.h"
#include "config/base/try.h"
#include "kernels/cuda/engine_cuda.h"

/* Below this many bytes, one thread stores the rows. */
static const size_t SHARED_BYTES = size_t(1) << 20;

static void replace(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void place_row(void *context, size_t row, size_t)
{
    const struct fx8_cuda_staging *slot =
        static_cast<const struct fx8_cuda_staging *>(context);
    const char *from = slot->pinned;
    for (const struct fx8_cuda_rows &rows : slot->rows) {
        if (rows.bytes > 0)
            (rows.place != nullptr ? rows.place : replace)(
                rows.to + row * rows.to_pitch, from + row * rows.bytes,
                rows.bytes);
        from += slot->n_rows * rows.bytes;
    }
}

enum fx8_status fx8_cuda_receive(const struct fx8_engine *engine,
                                 struct fx8_cuda_device *device, size_t number,
                                 struct fx8_error *error)
{
    struct fx8_cuda_staging *slot = &device->staging[number % FX8_CUDA_SLOTS];
    if (!slot->is_used)
        return FX8_OK;
    slot->is_used = false;
    FX8_TRY(fx8_cuda_await(device, slot->copied, "results", error));
    size_t row_bytes = 0;
    for (const struct fx8_cuda_rows &rows : slot->rows)
        row_bytes += rows.bytes;
    fx8_parallel_for(slot->n_rows,
                     row_bytes * slot->n_rows < SHARED_BYTES
                         ? 1
                         : engine->plan.machine.threads.count,
                     engine->plan.machine.threads.pin, place_row, slot);
    return FX8_OK;
}

enum fx8_status fx8_cuda_send(
    struct fx8_cuda_device *device, size_t number, size_t n_rows,
    const struct fx8_cuda_rows (&rows)[FX8_CUDA_STAGED],
    struct fx8_error *error)
{
    struct fx8_cuda_staging *slot = &device->staging[number % FX8_CUDA_SLOTS];
    slot->n_rows = n_rows;
    for (size_t k = 0; k < FX8_CUDA_STAGED; ++k)
        slot->rows[k] = rows[k];
    FX8_TRY(fx8_cuda_record(device, slot->made, device->compute, error));
    FX8_TRY(fx8_cuda_hold(device, device->back, slot->made, error));
    char *to = slot->pinned;
    for (const struct fx8_cuda_rows &each : rows) {
        const size_t bytes = n_rows * each.bytes;
        FX8_TRY(fx8_cuda_copy(device, device->back, to, each.from, bytes,
                              cudaMemcpyDeviceToHost, "to the host", error));
        to += bytes;
    }
    FX8_TRY(fx8_cuda_record(device, slot->copied, device->back, error));
    slot->is_used = true;
    return FX8_OK;
}

enum fx8_status fx8_cuda_receive_all(const struct fx8_engine *engine,
                                     struct fx8_cuda_device *device,
                                     size_t next, struct fx8_error *error)
{
    for (size_t k = 0; k < FX8_CUDA_SLOTS; ++k)
        FX8_TRY(fx8_cuda_receive(engine, device, next + k, error));
    return FX8_OK;
}
