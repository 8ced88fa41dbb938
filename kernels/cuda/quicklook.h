/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook.h -- the cells of a quick-look on the device: coherence, amplitude
 * and phase in half precision, Fisher sums, counts, comparison of both modes.
 */
#ifndef FX8_KERNELS_CUDA_QUICKLOOK_H
#define FX8_KERNELS_CUDA_QUICKLOOK_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/quicklook_work.h"

/** Counts, in the order of struct fx8_quicklook_counts. */
enum fx8_cell_count {
    FX8_CELL_NO_PRODUCT = 0,
    FX8_CELL_NOT_FINITE,
    FX8_CELL_NO_POWER,
    FX8_CELL_ABOVE_ONE,
    FX8_CELL_BEYOND_HALF,
    FX8_CELL_FEW,
    FX8_CELL_REAL,
    FX8_CELL_LOUD,
    FX8_CELL_N_COUNTS
};

/** What is compared. */
enum fx8_cell_difference {
    FX8_CELL_COHERENCE = 0,
    FX8_CELL_AMPLITUDE,
    FX8_CELL_PHASE,
    FX8_CELL_N_DIFFERENCES
};

/** Notes of all thread blocks; zero at first. */
struct fx8_cell_notes {
    unsigned long long counts[FX8_CELL_N_COUNTS];
    unsigned long long beyond[FX8_CELL_N_DIFFERENCES];
    /** Bits of the largest difference plus 1, ordered as the differences;
     *  0: none. */
    unsigned long long largest[FX8_CELL_N_DIFFERENCES];
};

/**
 * Some consecutive baselines.
 *
 * Notes: 1) every pointer in `work` is to device memory; products, in, out,
 *           sums and pairs begin at first_baseline, the origin of check_stride
 *           stays baseline 0
 *        2) counts and differences are added to `notes`
 */
struct fx8_cuda_quicklook_job {
    struct fx8_quicklook_work work;
    size_t first_baseline, n_baselines;
    struct fx8_cell_notes *notes;
};

/** Bytes of a cell: two floats, a flag and a weight; four halves. */
#define FX8_CUDA_CELL_BYTES 21

/** The halves of these. */
#define FX8_CUDA_HALVES_BYTES 8

/** Products of a baseline at most. */
#define FX8_CUDA_CELL_PRODUCTS 4

/**
 * fx8_cuda_quicklook -- queue a job; without baselines its kernels are loaded.
 *
 * Status: cudaErrorInvalidValue: too many products or baselines for a launch
 * Source: kernels/quicklook.h
 */
cudaError_t fx8_cuda_quicklook(const struct fx8_cuda_quicklook_job *job,
                               cudaStream_t stream);

#endif
