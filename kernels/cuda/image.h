/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image.h -- the operation `image` of kernels/operations.h on the device, over
 * channels and directions.
 */
#ifndef FX8_KERNELS_CUDA_IMAGE_H
#define FX8_KERNELS_CUDA_IMAGE_H

#include <cuda_runtime.h>
#include <stddef.h>

#include "kernels/operations.h"

/** Up to so many antennas, rows of the matrix are summed 8 at a time, else 32.
 */
#define FX8_CUDA_IMAGE_FEW 64

/**
 * Some directions of an image; every pointer is to device memory.
 *
 * turns:      double [n_channels][n_antennas][3]
 * matrices:   [n_channels][fx8_image_cells(n_antennas)]
 * directions: double [groups][3][FX8_IMAGE_LANES]
 * phasors:    [n_antennas][n_directions], scratch memory
 * sums:       float [n_directions], results: over channels, in ascending order
 *             from 0
 */
struct fx8_cuda_image {
    size_t n_antennas, n_channels, n_directions;
    const double *turns;
    const struct fx8_cf32 *matrices;
    const double *directions;
    float2 *phasors;
    float *sums;
};

/**
 * fx8_cuda_image_sum -- queue a job; without directions its kernels are loaded.
 *
 * Status:   cudaErrorInvalidValue: too many antennas or directions for a launch
 * Numerics: the bits of the reference
 */
cudaError_t fx8_cuda_image_sum(const struct fx8_cuda_image *job,
                               cudaStream_t stream);

#endif
