/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rehearse.cu -- see engine_cuda.h: load everything before a correlator is
 * tried.  It may never end, and then nothing can be loaded any more.
 */
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/cuda/engine_cuda.h"
#include "kernels/cuda/pick.h"
#include "kernels/cuda/postprocess.h"

/* Load kernels with empty jobs; the trial reports a kernel missing in the
 * build. */
static cudaError_t load_correlators()
{
    struct fx8_cuda_capability capability;
    const struct fx8_cuda_correlation none = {};
    size_t n = 0;
    const struct fx8_cuda_correlator *all = fx8_cuda_correlators(&n);
    cudaError_t code = fx8_cuda_capability_of_device(&capability);
    for (size_t k = 0; k < n && code == cudaSuccess; ++k) {
        if (!all[k].runs_on(&capability))
            continue;
        code = all[k].accumulate(&none);
        if (code != cudaErrorNoKernelImageForDevice &&
            code != cudaErrorInvalidDeviceFunction)
            continue;
        (void)cudaGetLastError();
        code = cudaSuccess;
    }
    return code;
}

static cudaError_t load_results(bool is_int8, size_t channel_average)
{
    struct fx8_cuda_postprocess job = {};
    job.plan.n_products = 1;
    job.plan.channel_average = channel_average;
    job.is_int8 = is_int8;
    return fx8_cuda_postprocess_sums(&job, nullptr);
}

/* Load also what the plan does not need: the plan of a trial has no
 * quick-look. */
static cudaError_t load_all()
{
    const struct fx8_cuda_pick_job pick = {};
    const struct fx8_cuda_pick_sums_job pick_sums = {};
    cudaError_t code = load_correlators();
    for (size_t average = 1; average <= 2; ++average)
        for (const bool is_int8 : {false, true})
            if (code == cudaSuccess)
                code = load_results(is_int8, average);
    if (code == cudaSuccess)
        code = fx8_cuda_load_consumer();
    for (size_t kind = 0; kind < FX8_N_RESULTS; ++kind)
        if (code == cudaSuccess)
            code = fx8_cuda_add_sums(kind, 0, nullptr, nullptr, nullptr);
    if (code == cudaSuccess)
        code = fx8_cuda_pick(&pick, nullptr);
    if (code == cudaSuccess)
        code = fx8_cuda_pick_sums(&pick_sums, nullptr);
    return code;
}

enum fx8_status fx8_cuda_load_kernels(const struct fx8_cuda_device *device,
                                      struct fx8_error *error)
{
    return fx8_cuda_check(load_all(), device, error, "loading kernels");
}

/* Channelise a block of zeros and copy its spectra to the host. */
static enum fx8_status channelize_zeros(struct fx8_engine *engine,
                                        struct fx8_cuda_device *device,
                                        const int8_t *zeros,
                                        struct fx8_ci8 *int8,
                                        struct fx8_cf32 *fp32,
                                        struct fx8_error *error)
{
    struct fx8_engine_block block = {};
    block.samples = zeros + engine->shape.margin_bytes;
    block.row_stride = engine->shape.samples_bytes;
    block.n_spectra = engine->shape.block_spectra;
    FX8_TRY(
        fx8_cuda_push_block(engine, device, &block, FX8_BLOCK_WHOLE, error));
    FX8_TRY(fx8_cuda_export_block(engine, int8, fp32, error));
    device->has_sums = false;
    device->call.n_spectra = 0;
    device->call.has_valid = false;
    return FX8_OK;
}

enum fx8_status fx8_cuda_rehearse(struct fx8_engine *engine,
                                  struct fx8_cuda_device *device,
                                  struct fx8_error *error)
{
    const struct fx8_cuda_shape *shape = &engine->shape;
    const size_t cells =
        fx8_product(engine->plan.n_inputs, engine->plan.bank.n_channels,
                    shape->block_spectra, 1);
    int8_t *zeros = nullptr;
    struct fx8_ci8 *int8 = nullptr;
    struct fx8_cf32 *fp32 = nullptr;
    const struct fx8_array arrays[] = {
        {&zeros, engine->plan.n_inputs, shape->samples_bytes},
        {&int8, cells, (device->call.x8 != nullptr) * sizeof *int8},
        {&fp32, cells, (device->call.x32 != nullptr) * sizeof *fp32},
    };
    enum fx8_status status = fx8_allocate_arrays(
        arrays, sizeof arrays / sizeof *arrays, "a trial", error);
    if (status == FX8_OK)
        status = channelize_zeros(engine, device, zeros, int8, fp32, error);
    free(zeros);
    free(int8);
    free(fp32);
    return status;
}
