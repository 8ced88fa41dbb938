/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * postprocess.h -- from sums to visibilities, flags and weights on the device:
 * kernels/numeric/visibility.h, cell by cell.
 */
#ifndef FX8_KERNELS_CUDA_POSTPROCESS_H
#define FX8_KERNELS_CUDA_POSTPROCESS_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/postprocess.h"

/**
 * Some baselines of INT8 or FP32: those whose first antenna is in
 * [first_antenna, end_antenna), which are contiguous.
 *
 * Notes: 1) every pointer, also in the plan, is to device memory
 *        2) result: [baselines of the job][n_channels / channel_average]
 *           [n_products]; row_channels has no effect on it
 *        3) at most FX8_CUDA_MOST_PRODUCTS products
 */
struct fx8_cuda_postprocess {
    struct fx8_postprocess plan;
    size_t first_antenna, end_antenna;
    const void *sums;      /**< [n_channels][pair][re, im] */
    bool is_int8;          /**< they are int64, else double */
    const int64_t *counts; /**< [pair] */
    struct fx8_result result;
};

/** Bytes of a cell of results: two floats, a flag, a weight. */
#define FX8_CUDA_RESULT_BYTES 13

/** Products of a baseline that a tile holds. */
#define FX8_CUDA_MOST_PRODUCTS 32

/** Index of baseline (antenna, antenna) with n_antennas antennas. */
static inline size_t fx8_cuda_first_baseline(size_t antenna, size_t n_antennas)
{
    return antenna * (2 * n_antennas - antenna + 1) / 2;
}

/**
 * fx8_cuda_postprocess_sums -- queue a job; without antennas its kernel is
 * loaded.
 *
 * Status: cudaErrorInvalidValue: too many products, antennas or channels for a
 *         launch
 * Source: kernels/postprocess.h
 */
cudaError_t fx8_cuda_postprocess_sums(const struct fx8_cuda_postprocess *job,
                                      cudaStream_t stream);

/** Add sums of another device or segment: to[k] += from[k], k in [0, n), int64
 *  for INT8, else double, with the rounding of the kind; n 0: only load the
 *  kernel. */
cudaError_t fx8_cuda_add_sums(size_t kind, size_t n, const void *from, void *to,
                              cudaStream_t stream);

#endif
