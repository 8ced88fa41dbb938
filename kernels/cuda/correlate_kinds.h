/* SPDX-License-Identifier: BSD-3-Clause */
/* correlate_kinds.h -- the entry `accumulate` of every correlator: for the
 * table in correlate.cu and the files that it lists. */
#ifndef FX8_KERNELS_CUDA_CORRELATE_KINDS_H
#define FX8_KERNELS_CUDA_CORRELATE_KINDS_H

#include "kernels/cuda/correlate.h"

/** Shared memory of a block of the wgmma correlator, in bytes. */
#define FX8_CUDA_WGMMA_SHARED_BYTES (3u * 64 * 1024)

cudaError_t fx8_cuda_correlate_dp4a_16(const struct fx8_cuda_correlation *job);
cudaError_t fx8_cuda_correlate_dp4a_32(const struct fx8_cuda_correlation *job);
cudaError_t fx8_cuda_correlate_dp4a_64(const struct fx8_cuda_correlation *job);
cudaError_t fx8_cuda_correlate_mma_32(const struct fx8_cuda_correlation *job);
cudaError_t fx8_cuda_correlate_mma_64(const struct fx8_cuda_correlation *job);
cudaError_t fx8_cuda_correlate_mma_128(const struct fx8_cuda_correlation *job);
cudaError_t fx8_cuda_correlate_wgmma_128(
    const struct fx8_cuda_correlation *job);
cudaError_t fx8_cuda_correlate_fp32_16(const struct fx8_cuda_correlation *job);
cudaError_t fx8_cuda_correlate_fp32_32(const struct fx8_cuda_correlation *job);
cudaError_t fx8_cuda_correlate_fp32_64(const struct fx8_cuda_correlation *job);
cudaError_t fx8_cuda_correlate_fp32_down_16(
    const struct fx8_cuda_correlation *job);
cudaError_t fx8_cuda_correlate_fp32_down_32(
    const struct fx8_cuda_correlation *job);
cudaError_t fx8_cuda_correlate_fp32_down_64(
    const struct fx8_cuda_correlation *job);
cudaError_t fx8_cuda_correlate_fp32_up_16(
    const struct fx8_cuda_correlation *job);
cudaError_t fx8_cuda_correlate_fp32_up_32(
    const struct fx8_cuda_correlation *job);
cudaError_t fx8_cuda_correlate_fp32_up_64(
    const struct fx8_cuda_correlation *job);

#endif
