/* SPDX-License-Identifier: BSD-3-Clause */
/* watching.h -- what the CUDA engine has of spectra and sums that it shows:
 * see watch.cu. */
#ifndef FX8_KERNELS_CUDA_WATCHING_H
#define FX8_KERNELS_CUDA_WATCHING_H

#include "kernels/cuda/launch.h"
#include "kernels/engine.h"

/** Watched spectra of a block: they are of the watch stream from `picked` on,
 * of the host from `copied` on. */
struct fx8_cuda_picked {
    struct fx8_ci8 *int8, *pinned_int8; /**< [n_watched_inputs][a block] */
    struct fx8_cf32 *fp32, *pinned_fp32;
    cudaEvent_t picked, copied;
    const struct fx8_engine_watch *watch; /**< whose they are; NULL: nobody's */
    size_t n_spectra;
};

/** Sums of watched pairs, [pair][re, im]. */
struct fx8_cuda_watched_sums {
    int64_t int8[2 * FX8_WATCHED_PAIRS];
    double fp32[2 * FX8_WATCHED_PAIRS];
};

/** Blocks whose watched spectra are under way at a time: more hold the host up
 *  than a call has of any but small arrays. */
#define FX8_CUDA_WATCH_SLOTS 16

/** What is watched on a device. */
struct fx8_cuda_watching {
    cudaStream_t stream;
    struct fx8_cuda_picked slots[FX8_CUDA_WATCH_SLOTS];
    size_t n_picked; /**< so far: which slot is next */
    /** Of the first device, of both watches of the engine. */
    struct fx8_cuda_watched_sums *sums, *pinned_sums;
};

#endif
