/* SPDX-License-Identifier: BSD-3-Clause */
/* correlate.cu -- see correlate.h: the table of correlators. */
#include "kernels/cuda/correlate.h"

#include "kernels/cuda/correlate_kinds.h"
#include "kernels/operations.h"

/** An architecture as one number: 61 is sm_61. */
static int architecture(const struct fx8_cuda_capability *capability)
{
    return capability->major * 10 + capability->minor;
}

static bool runs_anywhere(const struct fx8_cuda_capability *)
{
    return true;
}

static bool runs_dp4a(const struct fx8_cuda_capability *capability)
{
    return architecture(capability) >= 61;
}

static bool runs_mma(const struct fx8_cuda_capability *capability)
{
    return architecture(capability) >= 75;
}

/* Neither an earlier nor a later architecture has these instructions. */
static bool runs_wgmma(const struct fx8_cuda_capability *capability)
{
    return architecture(capability) == 90 &&
           capability->shared_bytes >= FX8_CUDA_WGMMA_SHARED_BYTES;
}

#define TABLE_ROW(name, entry, is_int8, rounding, tile, speed, devices)        \
    {name,  is_int8,        FX8_CUDA_##rounding,       tile,                   \
     speed, runs_##devices, fx8_cuda_correlate_##entry},
static const struct fx8_cuda_correlator correlators[] = {
    FX8_CUDA_CORRELATORS(TABLE_ROW)};

#define CHECK_TILE(name, entry, is_int8, rounding, tile, speed, devices)       \
    static_assert((tile) >= FX8_CUDA_LEAST_TILE, name);
FX8_CUDA_CORRELATORS(CHECK_TILE)
#undef CHECK_TILE

static constexpr size_t N_CORRELATORS =
    sizeof correlators / sizeof correlators[0];
static_assert(N_CORRELATORS <= FX8_CUDA_MAX_TRIALS, "a trial for each");

const struct fx8_cuda_correlator *fx8_cuda_correlators(size_t *n_correlators)
{
    *n_correlators = N_CORRELATORS;
    return correlators;
}

cudaError_t fx8_cuda_capability_of_device(
    struct fx8_cuda_capability *capability)
{
    int device = 0, shared_bytes = 0;
    const struct {
        cudaDeviceAttr attribute;
        int *value;
    } wanted[] = {
        {cudaDevAttrComputeCapabilityMajor, &capability->major},
        {cudaDevAttrComputeCapabilityMinor, &capability->minor},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, &shared_bytes},
    };
    cudaError_t error = cudaGetDevice(&device);
    for (const auto &each : wanted)
        if (error == cudaSuccess)
            error = cudaDeviceGetAttribute(each.value, each.attribute, device);
    capability->shared_bytes = static_cast<size_t>(shared_bytes);
    return error;
}

/* The products that its tiles compute. */
double fx8_cuda_correlator_cost(const struct fx8_cuda_correlator *correlator,
                                size_t n_inputs)
{
    const size_t tile = correlator->tile_inputs;
    const size_t n_rows = (n_inputs + tile - 1) / tile;
    return static_cast<double>(fx8_pair_count(n_rows) * tile * tile) /
           correlator->expected_speed;
}
