/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pick.h -- collect watched data on the device for a copy to the host: spectra
 * of some inputs in one channel, and sums of some pairs.
 *
 * Notes: as in channelize.h
 */
#ifndef FX8_KERNELS_CUDA_PICK_H
#define FX8_KERNELS_CUDA_PICK_H

#include "kernels/cuda/channelize.h"

/**
 * Which spectra to pick.
 *
 * int8, fp32: ci8 and cf32 [n_picked][stride]; the first n_spectra of each row
 *             are written, rounded up to whole 16-byte vectors of layout.h;
 *             NULL: not wanted
 */
struct fx8_cuda_pick_job {
    struct fx8_cuda_spectra spectra;
    size_t channel;
    size_t first_time; /**< a multiple of FX8_CUDA_TIMES_INT8 */
    size_t n_spectra;
    size_t n_picked;
    unsigned inputs[FX8_WATCHED_INPUTS];
    struct fx8_ci8 *int8;
    struct fx8_cf32 *fp32;
    size_t stride; /**< a multiple of FX8_CUDA_TIMES_INT8 */
};

/** Pick spectra. */
cudaError_t fx8_cuda_pick(const struct fx8_cuda_pick_job *job,
                          cudaStream_t stream);

/**
 * Which sums to pick.
 *
 * from: [pairs of the channel][re, im], int64 and double; NULL: not wanted
 * to:   [n_pairs][re, im]
 */
struct fx8_cuda_pick_sums_job {
    size_t n_pairs;
    size_t pairs[FX8_WATCHED_PAIRS];
    const int64_t *from_int8;
    const double *from_fp32;
    int64_t *to_int8;
    double *to_fp32;
};

/** Pick sums. */
cudaError_t fx8_cuda_pick_sums(const struct fx8_cuda_pick_sums_job *job,
                               cudaStream_t stream);

#endif
