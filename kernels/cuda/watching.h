/* SPDX-License-Identifier: BSD-3-Clause */
/* watching.h -- state of the CUDA engine for watched spectra and sums: see
 * watch.cu. */
#ifndef FX8_KERNELS_CUDA_WATCHING_H
#define FX8_KERNELS_CUDA_WATCHING_H

#include "kernels/cuda/launch.h"
#include "kernels/engine.h"

/** Watched spectra of a block: owned by the watch stream after `picked`, by the
 *  host after `copied`. */
struct fx8_cuda_picked {
    struct fx8_ci8 *int8, *pinned_int8; /**< [n_watched_inputs][a block] */
    struct fx8_cf32 *fp32, *pinned_fp32;
    cudaEvent_t picked, copied;
    const struct fx8_engine_watch *watch; /**< NULL: the slot is free */
    size_t n_spectra;
};

/** Sums of watched pairs, [pair][re, im]. */
struct fx8_cuda_watched_sums {
    int64_t int8[2 * FX8_WATCHED_PAIRS];
    double fp32[2 * FX8_WATCHED_PAIRS];
};

/** Blocks whose watched spectra are in flight at a time; the host waits for a
 *  free slot.  Only calls of small arrays have more blocks. */
#define FX8_CUDA_WATCH_SLOTS 16

/** Watched data on a device. */
struct fx8_cuda_watching {
    cudaStream_t stream;
    struct fx8_cuda_picked slots[FX8_CUDA_WATCH_SLOTS];
    size_t n_picked; /**< so far; selects the next slot */
    /** On the first device, for both watches of the engine. */
    struct fx8_cuda_watched_sums *sums, *pinned_sums;
};

#endif
