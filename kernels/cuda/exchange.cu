/* SPDX-License-Identifier: BSD-3-Clause */
/* exchange.cu -- see engine_cuda.h: import and export of spectra in canonical
 * order, for tests and for comparing engines; allocates memory on each call. */
#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/cuda/engine_cuda.h"

/* Spectra of a block in canonical order on the device. */
struct canonical {
    struct fx8_ci8 *int8;
    struct fx8_cf32 *fp32;
    size_t bytes8, bytes32;
};

static enum fx8_status allocate(const struct fx8_cuda_device *device,
                                size_t bytes, void **memory,
                                struct fx8_error *error)
{
    return fx8_cuda_check(cudaMalloc(memory, bytes), device, error,
                          "cudaMalloc of %s", fx8_cuda_bytes(bytes));
}

static enum fx8_status open_canonical(const struct fx8_engine *engine,
                                      const struct fx8_cuda_device *device,
                                      bool int8, bool fp32,
                                      struct canonical *spectra,
                                      struct fx8_error *error)
{
    const size_t cells =
        fx8_product(engine->plan.bank.n_channels, engine->n_spectra,
                    engine->plan.n_inputs, 1);
    *spectra = canonical();
    spectra->bytes8 = int8 ? cells * sizeof *spectra->int8 : 0;
    spectra->bytes32 = fp32 ? cells * sizeof *spectra->fp32 : 0;
    void *memory = nullptr;
    if (int8)
        FX8_TRY(allocate(device, spectra->bytes8, &memory, error));
    spectra->int8 = static_cast<struct fx8_ci8 *>(memory);
    memory = nullptr;
    if (fp32)
        FX8_TRY(allocate(device, spectra->bytes32, &memory, error));
    spectra->fp32 = static_cast<struct fx8_cf32 *>(memory);
    return FX8_OK;
}

/* Free the memory, also after errors, but not on a stuck device. */
static enum fx8_status close_canonical(const struct fx8_cuda_device *device,
                                       const struct canonical *spectra,
                                       enum fx8_status before,
                                       struct fx8_error *error)
{
    if (fx8_cuda_is_stuck(device->ordinal))
        return before;
    const cudaError_t freed8 = cudaFree(spectra->int8);
    const cudaError_t freed32 = cudaFree(spectra->fp32);
    if (before != FX8_OK)
        return before;
    return fx8_cuda_check(freed8 != cudaSuccess ? freed8 : freed32, device,
                          error, "cudaFree");
}

/* Copy in the compute stream: not by cudaMemcpy(), which may return before the
 * copy is done and which these streams do not wait for. */
static enum fx8_status copy(const struct fx8_cuda_device *device, void *to,
                            const void *from, size_t bytes, cudaMemcpyKind kind,
                            struct fx8_error *error)
{
    return fx8_cuda_copy(device, device->compute, to, from, bytes, kind,
                         "of spectra", error);
}

enum fx8_status fx8_cuda_export_block(struct fx8_engine *engine,
                                      struct fx8_ci8 *int8,
                                      struct fx8_cf32 *fp32,
                                      struct fx8_error *error)
{
    struct fx8_cuda_device *device = engine->last;
    const struct fx8_cuda_spectra spectra = fx8_cuda_last_block(engine, device);
    struct canonical all;
    FX8_TRY(fx8_cuda_enter(device, error));
    enum fx8_status status = open_canonical(engine, device, int8 != nullptr,
                                            fp32 != nullptr, &all, error);
    if (status == FX8_OK)
        status =
            fx8_cuda_check(fx8_cuda_export(&spectra, engine->n_spectra,
                                           all.int8, all.fp32, device->compute),
                           device, error, "exporting spectra");
    /* a copy to unpinned memory would wait without a deadline */
    if (status == FX8_OK)
        status = fx8_cuda_drain(device, device->compute, "spectra", error);
    if (status == FX8_OK)
        status = copy(device, int8, all.int8, all.bytes8,
                      cudaMemcpyDeviceToHost, error);
    if (status == FX8_OK)
        status = copy(device, fp32, all.fp32, all.bytes32,
                      cudaMemcpyDeviceToHost, error);
    if (status == FX8_OK)
        status = fx8_cuda_wait(device, error);
    return close_canonical(device, &all, status, error);
}

enum fx8_status fx8_cuda_import_block(struct fx8_engine *engine,
                                      struct fx8_cuda_device *device,
                                      const struct fx8_engine_block *block,
                                      enum fx8_block_validity validity,
                                      const struct fx8_ci8 *int8,
                                      const struct fx8_cf32 *fp32,
                                      struct fx8_error *error)
{
    struct fx8_engine_block notes = *block;
    notes.rotation = nullptr;
    struct fx8_cuda_part part;
    FX8_TRY(
        fx8_cuda_begin_block(engine, device, &notes, validity, &part, error));
    const struct fx8_cuda_spectra spectra = fx8_cuda_last_block(engine, device);
    struct canonical all;
    enum fx8_status status = open_canonical(engine, device, int8 != nullptr,
                                            fp32 != nullptr, &all, error);
    if (status == FX8_OK)
        status = copy(device, all.int8, int8, all.bytes8,
                      cudaMemcpyHostToDevice, error);
    if (status == FX8_OK)
        status = copy(device, all.fp32, fp32, all.bytes32,
                      cudaMemcpyHostToDevice, error);
    /* the masks are in flight */
    if (status == FX8_OK)
        status = fx8_cuda_drain(device, device->copy, "masks", error);
    if (status == FX8_OK)
        status = fx8_cuda_check(fx8_cuda_import(&part, all.int8, all.fp32,
                                                &spectra, device->compute),
                                device, error, "importing spectra");
    if (status == FX8_OK && validity != FX8_BLOCK_EMPTY)
        status = fx8_cuda_watch_block(engine, device, block->n_spectra, error);
    if (status == FX8_OK)
        status = fx8_cuda_settle(device, "importing spectra", error);
    if (status == FX8_OK)
        status = fx8_cuda_end_block(engine, device, error);
    if (status == FX8_OK)
        status = fx8_cuda_wait(device, error);
    return close_canonical(device, &all, status, error);
}
