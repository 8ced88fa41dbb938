/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate.h -- the correlators of the device: each adds
 * conj(E_i) E_j, i <= j, to sums of all pairs of all channels.
 *
 *     dp4a   int8, four products an instruction       sm_61 and later
 *     mma    int8, tensor cores, a warp at a time     sm_75 and later
 *     wgmma  int8, tensor cores, a warpgroup          sm_90
 *     fp32   floats, the reference                    every device
 *     fp32-down, fp32-up: the same, rounded downwards and upwards: bounds
 *
 * A correlator is one kind with one tile size, and named after both: "dp4a-64"
 * has tiles of 64 by 64 inputs.  All int8 correlators give the same integers,
 * all fp32 correlators of one rounding the same bits.
 */
#ifndef FX8_KERNELS_CUDA_CORRELATE_H
#define FX8_KERNELS_CUDA_CORRELATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/deadline.h"
#include "kernels/cuda/launch.h"

/**
 * A correlation.
 *
 * x:     spectra in the layout of layout.h: int8 or float, channel c at
 *        x + c * channel_stride * 16 bytes; any 16-byte column may be the first
 * sums:  [n_channels][fx8_pair_count(n_inputs)][re, im], int64 or double,
 *        aligned to 16 bytes; pairs in the order of fx8_pair_index()
 *
 * Notes: 1) times from n_times to the end of the last 16 bytes are zero; later
 *           times are not read, and rows from 2 n_inputs on change no sum
 *        2) a job without inputs, channels or times is legal: the kernel is
 *           loaded and not run
 */
struct fx8_cuda_correlation {
    size_t n_inputs;
    size_t n_channels;
    size_t n_times; /**< at most FX8_MAX_INT32_SPECTRA */
    const void *x;
    size_t channel_stride; /**< in units of 16 bytes */
    void *sums;
    cudaStream_t stream; /**< of the current device */
    /** [n_tiles] on the device, ascending: tiles of the triangle to compute,
     *  numbered by rows; sums of others stay. NULL: all of them. */
    const unsigned *tiles = nullptr;
    size_t n_tiles = 0;
};

/** Inputs of the smallest tiles. */
#define FX8_CUDA_LEAST_TILE 16u

/** How a correlator of floats rounds every operation. */
enum fx8_cuda_rounding { FX8_CUDA_NEAREST, FX8_CUDA_DOWN, FX8_CUDA_UP };

/** Device properties that correlators need. */
struct fx8_cuda_capability {
    int major, minor;    /**< compute capability */
    size_t shared_bytes; /**< a block may opt in to */
};

/**
 * A correlator.
 *
 * Numerics: int8: int32 accumulators, added to int64 sums; exact for
 *           -128 .. 127.
 *           fp32: each component of a pair in one float, real parts first:
 *           fused multiply-adds in the order of time, folded into the double
 *           sum every 256 spectra counted from the first of the call (512
 *           products of integers up to 128 are exact, and 512 roundings keep
 *           the bound of struct fx8_correlate_fp32).  The sums depend on the
 *           call boundaries only if these are not multiples of 256
 *           fp32-down, fp32-up: the same operations in the same order, each
 *           rounded in its direction: starting from bounds, any sequence of
 *           calls gives bounds of the exact sum and of the fp32 sum; integers
 *           as above are exact
 */
struct fx8_cuda_correlator {
    const char *name;
    bool is_int8;
    enum fx8_cuda_rounding rounding; /**< int8: FX8_CUDA_NEAREST */
    unsigned tile_inputs;            /**< inputs in a tile, either way */
    /** Speed with full tiles, relative to others of the same precision:
     *  estimated from the hardware, for a choice without measurement. */
    double expected_speed;
    /** Whether the device has the instructions and the memory. */
    bool (*runs_on)(const struct fx8_cuda_capability *capability);
    /** Queue the kernels.  Status: what the launches reported;
     *  cudaErrorInvalidValue for more than FX8_MAX_INT32_SPECTRA spectra */
    cudaError_t (*accumulate)(const struct fx8_cuda_correlation *job);
};

/** Every correlator, in the order in which they are listed to users. */
const struct fx8_cuda_correlator *fx8_cuda_correlators(size_t *n_correlators);

/** Estimated cost of a job with so many inputs, relative to the others. */
double fx8_cuda_correlator_cost(const struct fx8_cuda_correlator *correlator,
                                size_t n_inputs);

/** Properties of the current device. */
cudaError_t fx8_cuda_capability_of_device(
    struct fx8_cuda_capability *capability);

/** The job that a correlator is chosen for. */
struct fx8_cuda_correlator_use {
    bool is_int8;
    size_t n_inputs;
    size_t n_channels;
    size_t n_times; /**< of one call */
    enum fx8_cuda_rounding rounding;
    /** Take the first exact one, trying them in order of estimated speed;
     *  measure nothing. */
    bool is_any = false;
    /** Seconds that a kernel may take; 0: FX8_CUDA_TRIAL_SECONDS. */
    double deadline_s = 0;
};

/** Outcome for one correlator in fx8_cuda_correlator_choose(). */
struct fx8_cuda_correlator_trial {
    const struct fx8_cuda_correlator *correlator;
    /** Why it was rejected; NULL: it agreed with sums made on the host. */
    const char *trouble;
    float milliseconds; /**< median of the same job for all; 0: not measured */
};

/** At least as many as there are correlators. */
#define FX8_CUDA_MAX_TRIALS 16

struct fx8_cuda_choice {
    /** NULL: none with that name runs on the device and is exact. */
    const struct fx8_cuda_correlator *correlator;
    /** The correlator whose trial ended with an error; NULL: none. */
    const struct fx8_cuda_correlator *trying;
    struct fx8_cuda_correlator_trial trials[FX8_CUDA_MAX_TRIALS];
    size_t n_trials;
};

/**
 * fx8_cuda_correlator_choose -- try the correlators of a name on the current
 * device with a small job whose sums are known; measure the exact ones on a job
 * like the intended one, and choose the fastest.
 *
 * Given:    name    "auto", a kind ("dp4a") or one correlator ("dp4a-64")
 *           use     the intended job; only correlators of its rounding are
 *                   tried
 *           stream  of the current device; idle
 * Returned: choice
 * Status:   the error of the runtime; memory for the trial job is allocated and
 *           freed: at most 128 MiB for spectra and as much for sums, or one
 *           channel of each if that is more
 * Notes:    1) the choice may differ from run to run, the results do not
 *           2) if the name has a single correlator, it is tried but not
 *              measured; nor are tiles twice as large as the array, if the
 *              kind has smaller ones
 *           3) a kernel that does not end in time is rejected for the rest of
 *              the process.  The device then counts as stuck (deadline.h), the
 *              memory is not freed, and nothing is measured while that kernel
 *              runs: the choice has the least estimated cost
 */
cudaError_t fx8_cuda_correlator_choose(
    const char *name, const struct fx8_cuda_correlator_use *use,
    cudaStream_t stream, struct fx8_cuda_choice *choice);

#endif
