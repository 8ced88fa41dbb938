/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook.h -- the cells of a quick-look on the device: coherence, amplitude
 * and phase in half precision, Fisher sums, counts, both modes beside each
 * other.
 */
#ifndef FX8_KERNELS_CUDA_QUICKLOOK_H
#define FX8_KERNELS_CUDA_QUICKLOOK_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/quicklook_work.h"

/** What is counted, in the order of struct fx8_quicklook_counts. */
enum fx8_look_count {
    FX8_LOOK_NO_PRODUCT = 0,
    FX8_LOOK_NOT_FINITE,
    FX8_LOOK_NO_POWER,
    FX8_LOOK_ABOVE_ONE,
    FX8_LOOK_BEYOND_HALF,
    FX8_LOOK_FEW,
    FX8_LOOK_REAL,
    FX8_LOOK_LOUD,
    FX8_LOOK_N_COUNTS
};

/** What is compared. */
enum fx8_look_difference {
    FX8_LOOK_COHERENCE = 0,
    FX8_LOOK_AMPLITUDE,
    FX8_LOOK_PHASE,
    FX8_LOOK_N_DIFFERENCES
};

/** What all blocks note; zero at first. */
struct fx8_look_notes {
    unsigned long long counts[FX8_LOOK_N_COUNTS];
    unsigned long long beyond[FX8_LOOK_N_DIFFERENCES];
    /** Bits of the largest difference and 1, which stand in the same order;
     *  0: none was taken. */
    unsigned long long largest[FX8_LOOK_N_DIFFERENCES];
};

/**
 * Some baselines, side by side.
 *
 * Notes: 1) every pointer of `work` is of the device; products, in, out, sums
 *           and pairs begin at first_baseline, which counts for check_stride
 *        2) counts and differences go to `notes`, added
 */
struct fx8_cuda_look {
    struct fx8_quicklook_work work;
    size_t first_baseline, n_baselines;
    struct fx8_look_notes *notes;
};

/** Bytes of a cell: two floats, a flag and a weight; four halves. */
#define FX8_CUDA_LOOK_BYTES 21

/** The halves of these. */
#define FX8_CUDA_HALVES_BYTES 8

/** Products of a baseline at most. */
#define FX8_CUDA_LOOK_PRODUCTS 4

/**
 * fx8_cuda_look_at -- queue a job; without baselines its kernels are loaded.
 *
 * Status: cudaErrorInvalidValue: more products or baselines than a launch has
 *         room for
 * Source: kernels/quicklook.h
 */
cudaError_t fx8_cuda_look_at(const struct fx8_cuda_look *job,
                             cudaStream_t stream);

#endif
