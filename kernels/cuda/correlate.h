/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate.h -- the correlators of the device: every one adds
 * conj(E_i) E_j, i <= j, to sums of all pairs of all channels.
 *
 *     dp4a   int8, four products an instruction       sm_61 and later
 *     mma    int8, tensor cores, a warp at a time     sm_75 and later
 *     wgmma  int8, tensor cores, a warpgroup          sm_90
 *     fp32   floats, the reference                    every device
 *     fp32-down, fp32-up: the same, rounded downwards and upwards: bounds
 *
 * A correlator is one of these with one size of tile, named after both:
 * "dp4a-64" has tiles of 64 by 64 inputs.  All int8 ones give the same
 * integers, all fp32 ones of a rounding the same bits.
 */
#ifndef FX8_KERNELS_CUDA_CORRELATE_H
#define FX8_KERNELS_CUDA_CORRELATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/deadline.h"
#include "kernels/cuda/launch.h"

/**
 * What to correlate.
 *
 * x:     spectra in the layout of layout.h: int8 or float, channel c at
 *        x + c * channel_stride * 16 bytes; any 16-byte column may be the first
 * sums:  [n_channels][fx8_pair_count(n_inputs)][re, im], int64 or double,
 *        aligned to 16 bytes; pairs as fx8_pair_index() has them
 *
 * Notes: 1) times behind n_times, to the end of the 16 bytes of the last one,
 *           are zero; later ones and rows from 2 n_inputs on are not read
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
};

/** How a correlator of floats rounds every operation. */
enum fx8_cuda_rounding { FX8_CUDA_NEAREST, FX8_CUDA_DOWN, FX8_CUDA_UP };

/** What a device has that correlators ask for. */
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
 *           the bound of struct fx8_correlate_fp32), so that the sums depend
 *           on the call boundaries only when these are not multiples of 256
 *           fp32-down, fp32-up: the same operations in the same order, each
 *           rounded in its direction: sums of any calls, begun with bounds,
 *           are bounds of the exact sum and of what fp32 gives; integers as
 *           above are exact
 */
struct fx8_cuda_correlator {
    const char *name;
    bool is_int8;
    enum fx8_cuda_rounding rounding; /**< int8: FX8_CUDA_NEAREST */
    unsigned tile_inputs;            /**< inputs in a tile, either way */
    /** Beside the others of its precision, tiles being full: a guess from how
     *  the device is built, for a choice without a measurement. */
    double expected_speed;
    /** Whether the device has the instructions and the memory. */
    bool (*runs_on)(const struct fx8_cuda_capability *capability);
    /** Queue the kernels.  Status: what the launches reported;
     *  cudaErrorInvalidValue for more than FX8_MAX_INT32_SPECTRA spectra */
    cudaError_t (*accumulate)(const struct fx8_cuda_correlation *job);
};

/** Every correlator, in the order in which they are listed to users. */
const struct fx8_cuda_correlator *fx8_cuda_correlators(size_t *n_correlators);

/** What a job with so many inputs is expected to cost, beside the others. */
double fx8_cuda_correlator_cost(const struct fx8_cuda_correlator *correlator,
                                size_t n_inputs);

/** The one to take without a measurement: of those that run on the device and
 *  round to nearest, the one expected to be the fastest for so many inputs. */
const struct fx8_cuda_correlator *fx8_cuda_correlator_default(
    bool is_int8, const struct fx8_cuda_capability *capability,
    size_t n_inputs);

/** What the current device has. */
cudaError_t fx8_cuda_capability_of_device(
    struct fx8_cuda_capability *capability);

/** How large a job the choice is for. */
struct fx8_cuda_correlator_use {
    bool is_int8;
    size_t n_inputs;
    size_t n_channels;
    size_t n_times; /**< of one call */
    enum fx8_cuda_rounding rounding;
    /** The first one that is exact will do: tried are those expected to be the
     *  fastest, one by one, and nothing is measured. */
    bool is_any = false;
    /** Seconds that a kernel may take; 0: FX8_CUDA_TRIAL_SECONDS. */
    double deadline_s = 0;
};

/** What became of a correlator in fx8_cuda_correlator_choose(). */
struct fx8_cuda_correlator_trial {
    const struct fx8_cuda_correlator *correlator;
    /** Why it is not taken, in words; NULL: it agreed with sums made on the
     *  host. */
    const char *trouble;
    float milliseconds; /**< median of the same job for all; 0: not measured */
};

/** At least as many as there are correlators. */
#define FX8_CUDA_MAX_TRIALS 16

struct fx8_cuda_choice {
    /** NULL: none of that name runs on the device and is exact. */
    const struct fx8_cuda_correlator *correlator;
    /** Whose trial an error ended; NULL: nobody's. */
    const struct fx8_cuda_correlator *trying;
    struct fx8_cuda_correlator_trial trials[FX8_CUDA_MAX_TRIALS];
    size_t n_trials;
};

/**
 * fx8_cuda_correlator_choose -- try the correlators of a name on the current
 * device, each on a small job whose sums are known; measure those that are
 * exact on a job like the one meant, and choose the fastest.
 *
 * Given:    name    "auto", a kind ("dp4a") or one correlator ("dp4a-64")
 *           use     the job meant; no correlator of another rounding is tried
 *           stream  of the current device; has nothing to do
 * Returned: choice
 * Status:   what the runtime reported; memory for the trial job, at most
 *           128 MiB for spectra and as much for sums, or one channel of each
 *           where that is more, is taken and given back
 * Notes:    1) which one is chosen may differ from run to run, what it
 *              computes does not
 *           2) a name with one correlator is tried, but not measured; nor
 *              are tiles twice as large as the array, where the kind has
 *              smaller ones
 *           3) a kernel that does not end in time is left out, and from then
 *              on in this process; the device is stuck (deadline.h), the memory
 *              is not given back, and nothing is measured beside that kernel:
 *              the choice is the one expected to be the fastest
 */
cudaError_t fx8_cuda_correlator_choose(
    const char *name, const struct fx8_cuda_correlator_use *use,
    cudaStream_t stream, struct fx8_cuda_choice *choice);

#endif
