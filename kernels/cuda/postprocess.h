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
 * Some baselines of INT8 or FP32: those that begin on an antenna of
 * [first_antenna, end_antenna).  They stand side by side.
 *
 * Notes: 1) every pointer, the plan's too, is of the device
 *        2) result: [baselines of the job][n_channels / channel_average]
 *           [n_products], whatever row_channels
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

/** Place of baseline (antenna, antenna) among n_antennas of them. */
static inline size_t fx8_cuda_first_baseline(size_t antenna, size_t n_antennas)
{
    return antenna * (2 * n_antennas - antenna + 1) / 2;
}

/**
 * fx8_cuda_postprocess_sums -- queue a job; without antennas its kernel is
 * loaded.
 *
 * Status: cudaErrorInvalidValue: more products, antennas or channels than a
 *         launch has room for
 * Source: kernels/postprocess.h
 */
cudaError_t fx8_cuda_postprocess_sums(const struct fx8_cuda_postprocess *job,
                                      cudaStream_t stream);

/** to[k] += from[k], k in [0, n), int64 of INT8 or double: sums of another
 *  device; n 0: the kernel is loaded. */
cudaError_t fx8_cuda_add_sums(bool is_int8, size_t n, const void *from,
                              void *to, cudaStream_t stream);

#endif
