/* SPDX-License-Identifier: BSD-3-Clause */
/* correlate_kinds.h -- every correlator, and its entry `accumulate`: for the
 * table in correlate.cu and the files with the kernels. */
#ifndef FX8_KERNELS_CUDA_CORRELATE_KINDS_H
#define FX8_KERNELS_CUDA_CORRELATE_KINDS_H

#include "kernels/cuda/correlate.h"

/** Shared memory of a block of the wgmma correlator, in bytes. */
#define FX8_CUDA_WGMMA_SHARED_BYTES (3u * 64 * 1024)

/** The correlators: name, end of the entry's name, is_int8, rounding,
 *  tile_inputs, expected_speed, and which devices run it. */
#define FX8_CUDA_CORRELATORS(ROW)                                              \
    ROW("fp32-16", fp32_16, false, NEAREST, 16, 0.5, anywhere)                 \
    ROW("fp32-32", fp32_32, false, NEAREST, 32, 0.9, anywhere)                 \
    ROW("fp32-64", fp32_64, false, NEAREST, 64, 1, anywhere)                   \
    ROW("fp32-down-16", fp32_down_16, false, DOWN, 16, 0.5, anywhere)          \
    ROW("fp32-down-32", fp32_down_32, false, DOWN, 32, 0.9, anywhere)          \
    ROW("fp32-down-64", fp32_down_64, false, DOWN, 64, 1, anywhere)            \
    ROW("fp32-up-16", fp32_up_16, false, UP, 16, 0.5, anywhere)                \
    ROW("fp32-up-32", fp32_up_32, false, UP, 32, 0.9, anywhere)                \
    ROW("fp32-up-64", fp32_up_64, false, UP, 64, 1, anywhere)                  \
    ROW("dp4a-16", dp4a_16, true, NEAREST, 16, 0.5, dp4a)                      \
    ROW("dp4a-32", dp4a_32, true, NEAREST, 32, 0.9, dp4a)                      \
    ROW("dp4a-64", dp4a_64, true, NEAREST, 64, 1, dp4a)                        \
    ROW("mma-32", mma_32, true, NEAREST, 32, 3, mma)                           \
    ROW("mma-64", mma_64, true, NEAREST, 64, 6, mma)                           \
    ROW("mma-128", mma_128, true, NEAREST, 128, 8, mma)                        \
    ROW("wgmma-128", wgmma_128, true, NEAREST, 128, 12, wgmma)

#define FX8_DECLARE(name, entry, is_int8, rounding, tile, speed, devices)      \
    cudaError_t fx8_cuda_correlate_##entry(                                    \
        const struct fx8_cuda_correlation *job);
FX8_CUDA_CORRELATORS(FX8_DECLARE)
#undef FX8_DECLARE

#endif
