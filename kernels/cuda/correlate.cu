/* SPDX-License-Identifier: BSD-3-Clause */
/* correlate.cu -- see correlate.h: the table of correlators, and the choice
 * without measurement. */
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

static const struct fx8_cuda_correlator correlators[] = {
    {"fp32-16", false, FX8_CUDA_NEAREST, 16, 0.5, runs_anywhere,
     fx8_cuda_correlate_fp32_16},
    {"fp32-32", false, FX8_CUDA_NEAREST, 32, 0.9, runs_anywhere,
     fx8_cuda_correlate_fp32_32},
    {"fp32-64", false, FX8_CUDA_NEAREST, 64, 1, runs_anywhere,
     fx8_cuda_correlate_fp32_64},
    {"fp32-down-16", false, FX8_CUDA_DOWN, 16, 0.5, runs_anywhere,
     fx8_cuda_correlate_fp32_down_16},
    {"fp32-down-32", false, FX8_CUDA_DOWN, 32, 0.9, runs_anywhere,
     fx8_cuda_correlate_fp32_down_32},
    {"fp32-down-64", false, FX8_CUDA_DOWN, 64, 1, runs_anywhere,
     fx8_cuda_correlate_fp32_down_64},
    {"fp32-up-16", false, FX8_CUDA_UP, 16, 0.5, runs_anywhere,
     fx8_cuda_correlate_fp32_up_16},
    {"fp32-up-32", false, FX8_CUDA_UP, 32, 0.9, runs_anywhere,
     fx8_cuda_correlate_fp32_up_32},
    {"fp32-up-64", false, FX8_CUDA_UP, 64, 1, runs_anywhere,
     fx8_cuda_correlate_fp32_up_64},
    {"dp4a-16", true, FX8_CUDA_NEAREST, 16, 0.5, runs_dp4a,
     fx8_cuda_correlate_dp4a_16},
    {"dp4a-32", true, FX8_CUDA_NEAREST, 32, 0.9, runs_dp4a,
     fx8_cuda_correlate_dp4a_32},
    {"dp4a-64", true, FX8_CUDA_NEAREST, 64, 1, runs_dp4a,
     fx8_cuda_correlate_dp4a_64},
    {"mma-32", true, FX8_CUDA_NEAREST, 32, 3, runs_mma,
     fx8_cuda_correlate_mma_32},
    {"mma-64", true, FX8_CUDA_NEAREST, 64, 6, runs_mma,
     fx8_cuda_correlate_mma_64},
    {"mma-128", true, FX8_CUDA_NEAREST, 128, 8, runs_mma,
     fx8_cuda_correlate_mma_128},
    {"wgmma-128", true, FX8_CUDA_NEAREST, 128, 12, runs_wgmma,
     fx8_cuda_correlate_wgmma_128},
};

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

const struct fx8_cuda_correlator *fx8_cuda_correlator_default(
    bool is_int8, const struct fx8_cuda_capability *capability, size_t n_inputs)
{
    const struct fx8_cuda_correlator *best = nullptr;
    double least = 0;
    for (const auto &each : correlators) {
        if (each.is_int8 != is_int8 || each.rounding != FX8_CUDA_NEAREST ||
            !each.runs_on(capability))
            continue;
        const double cost = fx8_cuda_correlator_cost(&each, n_inputs);
        if (best == nullptr || cost < least) {
            best = &each;
            least = cost;
        }
    }
    return best;
}
