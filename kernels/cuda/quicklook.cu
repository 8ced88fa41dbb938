/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook.cu -- a block processes a baseline in tiles of channels: one thread
 * per cell, then one per product, which adds the cells of the tile in the order
 * of channels, so that sums equal the host's to the bit.  A second kernel is
 * for baselines evaluated in both modes.
 */
#include <math.h>
#include <string.h>

#include "kernels/cuda/deadline.h"
#include "kernels/cuda/half2.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/quicklook.h"
#include "kernels/numeric/atan2.h"
#include "kernels/numeric/rsqrt.h"
#include "kernels/numeric/tanh.h"

/** Threads of a block, and most cells of a tile. */
#define CELLS 128

/** A job with values derived from its shape. */
struct fx8_cell_launch {
    fx8_cuda_quicklook_job job;
    unsigned n_products, tile_channels;
    unsigned of_products;         /**< 2^16 / n_products, rounded up */
    size_t first_checked, stride; /**< baselines of the job */
};

/** The cells of a tile. */
struct fx8_cell_tile {
    fx8_fisher_cell cells[CELLS];
    int is_averaged[CELLS];
    fx8_cell_notes notes; /**< of the block */
};

/** The cells of a tile evaluated in both modes. */
struct fx8_cell_pairs {
    float n_products[CELLS], z_ieee[CELLS], z_fast[CELLS];
    double bounds[CELLS];
    int is_averaged[CELLS];
    fx8_cell_notes notes; /**< of the block */
};

/** Place of a cell. */
struct fx8_cell_place {
    size_t baseline; /**< of the job */
    size_t channel;
    size_t cell; /**< in the arrays of the job */
    fx8_product product;
    size_t input_1, input_2; /**< cells of the inputs' tables */
};

/** Input of a cell. */
struct fx8_cell_input {
    float re, im, nsamples;
    float n_products; /**< 1 where it is not averaged */
    float share_1, share_2, steps;
    bool is_good, is_averaged;
};

/** Output of one mode. */
struct fx8_cell_values {
    float re, im, power, amplitude, phase, unbiased, z;
};

/* --- functions -------------------------------------------------------------
 */

/** sqrt(x), x 0 or normal; fast mode treats 0 separately. */
template <bool IS_FAST> static __device__ __forceinline__ float root_of(float x)
{
    return IS_FAST ? fx8_mul(fx8_rsqrt(x), x) : sqrtf(x);
}

template <bool IS_FAST>
static __device__ __forceinline__ fx8_cell_values
evaluate(const fx8_cell_input &in, float scale_1, float scale_2)
{
    fx8_cell_values v;
    const float re = fx8_coherence_part(in.re, scale_1, scale_2);
    const float im = fx8_coherence_part(in.im, scale_1, scale_2);
    v.re = in.is_good ? re : 0.0F;
    v.im = in.is_good ? im : 0.0F;
    v.power = fx8_coherence_power(v.re, v.im);
    v.amplitude = fx8_cell_amplitude(v.power, root_of<IS_FAST>(v.power));
    v.phase = IS_FAST ? fx8_atan2(v.im, v.re) : atan2f(v.im, v.re);
    v.unbiased = fx8_coherence_unbiased(v.power < 1.0F ? v.power : 1.0F,
                                        in.n_products, in.share_1, in.share_2);
    const float most =
        v.unbiased < FX8_FISHER_MOST_POWER ? v.unbiased : FX8_FISHER_MOST_POWER;
    const float power = most >= FX8_LEAST_POWER ? most : 0.0F;
    const float root = power > 0.0F ? root_of<IS_FAST>(power) : 0.0F;
    v.z = IS_FAST ? fx8_atanh(root) : atanhf(root);
    return v;
}

/* --- cells -----------------------------------------------------------------
 */

/** `item` times the rounding error of of_products stays below 2^16, so the
 *  quotient is exact. */
static __device__ __forceinline__ fx8_cell_place find_place(
    const fx8_cell_launch &launch, size_t baseline, size_t first, unsigned item)
{
    const fx8_quicklook_work &work = launch.job.work;
    const unsigned n_products = launch.n_products;
    const unsigned channel = item * launch.of_products >> 16;
    fx8_cell_place place;
    place.baseline = baseline;
    place.channel = first + channel;
    place.cell = (baseline * work.n_channels + first) * n_products + item;
    place.product =
        work.products[baseline * n_products + (item - channel * n_products)];
    place.input_1 = place.product.input_1 * work.n_channels + place.channel;
    place.input_2 = place.product.input_2 * work.n_channels + place.channel;
    return place;
}

static_assert(CELLS * FX8_CUDA_CELL_PRODUCTS <= 1 << 16,
              "places within a tile are exact");

static __device__ __forceinline__ fx8_cell_input
read_cell(const fx8_quicklook_work &work, const fx8_cell_place &place)
{
    const float *scale = work.scale[work.mode];
    const float2 v =
        reinterpret_cast<const float2 *>(work.in.visibilities)[place.cell];
    fx8_cell_input in;
    in.re = v.x;
    in.im = v.y;
    in.nsamples = work.in.nsamples[place.cell];
    in.share_1 = fx8_cell_share(in.nsamples, work.weight[place.input_1]);
    in.share_2 = fx8_cell_share(in.nsamples, work.weight[place.input_2]);
    in.steps = fmaxf(work.steps[place.input_1], work.steps[place.input_2]);
    in.is_good = fx8_cell_is_good(in.nsamples, scale[place.input_1],
                                  scale[place.input_2], in.re, in.im) != 0;
    const float m = fx8_mul(in.nsamples, work.products_per_cell);
    const bool is_wanted =
        !fx8_is_auto(&place.product) && work.is_real[place.channel] == 0;
    in.is_averaged = in.is_good && work.in.flags[place.cell] == 0 &&
                     is_wanted && m >= FX8_FISHER_LEAST_PRODUCTS &&
                     in.steps < FX8_QUICKLOOK_LOUD;
    in.n_products = in.is_averaged ? m : 1.0F;
    return in;
}

/** Why a cell has no coherence. */
static __device__ __forceinline__ fx8_cell_count
reason_of(const fx8_quicklook_work &work, const fx8_cell_place &place,
          const fx8_cell_input &in)
{
    if (!(in.nsamples > 0.0F))
        return FX8_CELL_NO_PRODUCT;
    return fx8_is_finite(in.re) && fx8_is_finite(in.im) &&
                   fx8_is_finite(work.power[place.input_1]) &&
                   fx8_is_finite(work.power[place.input_2])
               ? FX8_CELL_NO_POWER
               : FX8_CELL_NOT_FINITE;
}

/** Why an unflagged cell is not averaged. */
static __device__ __forceinline__ fx8_cell_count
why_not_averaged(const fx8_quicklook_work &work, const fx8_cell_place &place,
                 const fx8_cell_input &in)
{
    if (work.is_real[place.channel] != 0)
        return FX8_CELL_REAL;
    return in.steps < FX8_QUICKLOOK_LOUD ? FX8_CELL_FEW : FX8_CELL_LOUD;
}

/** Whether rho is infinite or NaN as a half: 65520 is the first that rounds
 *  to infinity. */
static __device__ __forceinline__ bool is_beyond_half(float part)
{
    return !(fabsf(fx8_mul(part, FX8_COHERENCE_SCALE)) < 65520.0F);
}

static __device__ __forceinline__ void count_cell(
    const fx8_quicklook_work &work, const fx8_cell_place &place,
    const fx8_cell_input &in, const fx8_cell_values &v, fx8_cell_tile *tile)
{
    unsigned long long *counts = tile->notes.counts;
    if (!in.is_good) {
        atomicAdd(&counts[reason_of(work, place, in)], 1ULL);
        return;
    }
    if (is_beyond_half(v.re) || is_beyond_half(v.im))
        atomicAdd(&counts[FX8_CELL_BEYOND_HALF], 1ULL);
    if (fx8_is_auto(&place.product))
        return;
    if (v.power > FX8_QUICKLOOK_ABOVE_ONE)
        atomicAdd(&counts[FX8_CELL_ABOVE_ONE], 1ULL);
    if (!in.is_averaged && work.in.flags[place.cell] == 0)
        atomicAdd(&counts[why_not_averaged(work, place, in)], 1ULL);
}

/* --- tiles -----------------------------------------------------------------
 */

template <bool IS_FAST>
static __device__ __forceinline__ void do_cell(const fx8_quicklook_work &work,
                                               const fx8_cell_place &place,
                                               unsigned item,
                                               fx8_cell_tile *tile)
{
    const float *scale = work.scale[work.mode];
    const fx8_cell_input in = read_cell(work, place);
    const fx8_cell_values v =
        evaluate<IS_FAST>(in, scale[place.input_1], scale[place.input_2]);
    reinterpret_cast<__half2 *>(work.out.coherence)[place.cell] =
        __floats2half2_rn(fx8_mul(v.re, FX8_COHERENCE_SCALE),
                          fx8_mul(v.im, FX8_COHERENCE_SCALE));
    reinterpret_cast<__half *>(work.out.amplitude)[place.cell] =
        fx8_half_of(v.amplitude, FX8_COHERENCE_SCALE);
    reinterpret_cast<__half *>(work.out.phase)[place.cell] =
        __float2half_rn(v.phase);
    /* 0 times an infinite `steps` would be NaN */
    tile->cells[item] = {in.n_products, in.share_1,
                         in.share_2,    in.is_averaged ? in.steps : 0.0F,
                         v.unbiased,    v.z};
    tile->is_averaged[item] = in.is_averaged;
    count_cell(work, place, in, v, tile);
}

/** The cells of one product, in the order of channels. */
static __device__ __forceinline__ void add_cells(const fx8_quicklook_work &work,
                                                 size_t baseline, unsigned n,
                                                 const fx8_cell_tile *tile)
{
    const unsigned n_products = static_cast<unsigned>(work.n_products);
    fx8_fisher_sums *stored = &work.sums[baseline * n_products + threadIdx.x];
    fx8_fisher_sums sums = *stored;
#pragma unroll 1
    for (unsigned k = threadIdx.x; k < n; k += n_products)
        fx8_fisher_add(&sums, tile->is_averaged[k], &tile->cells[k]);
    *stored = sums;
}

/** Add the notes of the block to the notes of all. */
static __device__ __forceinline__ void add_notes(const fx8_cell_notes &block,
                                                 fx8_cell_notes *notes)
{
    const unsigned k = threadIdx.x;
    if (k < FX8_CELL_N_COUNTS && block.counts[k] > 0)
        atomicAdd(&notes->counts[k], block.counts[k]);
    if (k < FX8_CELL_N_DIFFERENCES && block.largest[k] > 0)
        atomicMax(&notes->largest[k], block.largest[k]);
    if (k < FX8_CELL_N_DIFFERENCES && block.beyond[k] > 0)
        atomicAdd(&notes->beyond[k], block.beyond[k]);
}

/** Number of cells in the tile that begins with channel `first`. */
static __device__ __forceinline__ unsigned cells_of(
    const fx8_cell_launch &launch, size_t first)
{
    const size_t rest = launch.job.work.n_channels - first;
    return launch.n_products * (rest < launch.tile_channels
                                    ? static_cast<unsigned>(rest)
                                    : launch.tile_channels);
}

/** Process a baseline tile by tile: CELL for each cell, one thread each, then
 *  ADD for each product; finally add the notes. */
template <class Tile,
          void CELL(const fx8_quicklook_work &, const fx8_cell_place &,
                    unsigned, Tile *),
          void ADD(const fx8_quicklook_work &, size_t, unsigned, const Tile *)>
static __device__ __forceinline__ void over_tiles(const fx8_cell_launch &launch,
                                                  size_t baseline, Tile *tile)
{
    const fx8_quicklook_work &work = launch.job.work;
    if (threadIdx.x == 0)
        tile->notes = fx8_cell_notes();
    __syncthreads();
#pragma unroll 1
    for (size_t first = 0; first < work.n_channels;
         first += launch.tile_channels) {
        const unsigned n = cells_of(launch, first);
        if (threadIdx.x < n)
            CELL(work, find_place(launch, baseline, first, threadIdx.x),
                 threadIdx.x, tile);
        __syncthreads();
        if (threadIdx.x < launch.n_products)
            ADD(work, baseline, n, tile);
        __syncthreads();
    }
    add_notes(tile->notes, launch.job.notes);
}

template <bool IS_FAST>
static __device__ __forceinline__ void evaluate_cells(
    const fx8_cell_launch &launch)
{
    FX8_DYNAMIC_SHARED(fx8_cell_tile, tile);
    over_tiles<fx8_cell_tile, do_cell<IS_FAST>, add_cells>(launch, blockIdx.x,
                                                           tile);
}

/* --- two modes -------------------------------------------------------------
 */

static __device__ __forceinline__ void note_difference(fx8_cell_notes *notes,
                                                       fx8_cell_difference kind,
                                                       double difference,
                                                       double bound)
{
    unsigned long long bits;
    memcpy(&bits, &difference, sizeof bits);
    if (!(difference <= bound))
        atomicAdd(&notes->beyond[kind], 1ULL);
    if (difference >= 0.0)
        atomicMax(&notes->largest[kind], bits + 1);
}

static __device__ __forceinline__ void compare_cell(
    const fx8_quicklook_bounds &bounds, const fx8_cell_values &ieee,
    const fx8_cell_values &fast, fx8_cell_notes *notes)
{
    const double modulus = static_cast<double>(ieee.amplitude);
    const double re =
        fabs(static_cast<double>(fast.re) - static_cast<double>(ieee.re));
    const double im =
        fabs(static_cast<double>(fast.im) - static_cast<double>(ieee.im));
    const double amplitude = fabs(static_cast<double>(fast.amplitude) -
                                  static_cast<double>(ieee.amplitude));
    const double phase =
        fabs(static_cast<double>(fast.phase) - static_cast<double>(ieee.phase));
    note_difference(notes, FX8_CELL_COHERENCE, fmax(re, im) / modulus,
                    bounds.rho);
    note_difference(notes, FX8_CELL_AMPLITUDE, amplitude / modulus,
                    bounds.amplitude);
    note_difference(notes, FX8_CELL_PHASE, phase, bounds.phase);
}

/** Both modes of a cell. */
static __device__ __forceinline__ void check_cell(
    const fx8_quicklook_work &work, const fx8_cell_place &place, unsigned item,
    fx8_cell_pairs *pairs)
{
    const float *scale = work.scale[FX8_FUNCTIONS_IEEE];
    const float *scale_fast = work.scale[FX8_FUNCTIONS_FAST];
    const fx8_cell_input in = read_cell(work, place);
    const fx8_cell_values ieee =
        evaluate<false>(in, scale[place.input_1], scale[place.input_2]);
    const fx8_cell_values fast = evaluate<true>(in, scale_fast[place.input_1],
                                                scale_fast[place.input_2]);
    pairs->n_products[item] = in.n_products;
    pairs->z_ieee[item] = ieee.z;
    pairs->z_fast[item] = fast.z;
    pairs->is_averaged[item] = in.is_averaged;
    pairs->bounds[item] =
        fx8_cell_bound_of_z(&work.bounds, ieee.power, in.n_products, in.share_1,
                            in.share_2, ieee.z);
    if (ieee.power >= FX8_QUICKLOOK_COMPARED_POWER && fx8_is_finite(ieee.power))
        compare_cell(work.bounds, ieee, fast, &pairs->notes);
}

/** The cells of one product, in the order of channels. */
static __device__ __forceinline__ void add_pairs(const fx8_quicklook_work &work,
                                                 size_t baseline, unsigned n,
                                                 const fx8_cell_pairs *pairs)
{
    const unsigned n_products = static_cast<unsigned>(work.n_products);
    fx8_quicklook_pair *stored =
        &work.pairs[baseline * n_products + threadIdx.x];
    fx8_quicklook_pair sum = *stored;
#pragma unroll 1
    for (unsigned k = threadIdx.x; k < n; k += n_products)
        if (pairs->is_averaged[k] != 0)
            fx8_pair_add(&sum, pairs->n_products[k], pairs->z_ieee[k],
                         pairs->z_fast[k], pairs->bounds[k]);
    *stored = sum;
}

static __device__ __forceinline__ void check(const fx8_cell_launch &launch)
{
    FX8_DYNAMIC_SHARED(fx8_cell_pairs, pairs);
    over_tiles<fx8_cell_pairs, check_cell, add_pairs>(
        launch, launch.first_checked + blockIdx.x * launch.stride, pairs);
}

/** A kernel; its grid is [baselines]. */
#define FX8_CELL_KERNEL(name, work)                                            \
    extern "C" __global__ void __launch_bounds__(CELLS)                        \
        name(const fx8_cell_launch launch)                                     \
    {                                                                          \
        work(launch);                                                          \
    }

FX8_CELL_KERNEL(fx8_quicklook_ieee_kernel, evaluate_cells<false>)
FX8_CELL_KERNEL(fx8_quicklook_fast_kernel, evaluate_cells<true>)
FX8_CELL_KERNEL(fx8_quicklook_check_kernel, check)

/* --- the host --------------------------------------------------------------
 */

/* Launch for the baselines evaluated in both modes, if any. */
static void launch_check(fx8_cell_launch launch, cudaStream_t stream)
{
    const size_t first = launch.job.first_baseline;
    const size_t n = launch.job.n_baselines;
    const size_t stride = launch.job.work.check_stride;
    launch.first_checked = (stride - first % stride) % stride;
    launch.stride = stride;
    if (launch.first_checked >= n)
        return;
    const size_t blocks = (n - launch.first_checked - 1) / stride + 1;
    FX8_LAUNCH(fx8_quicklook_check_kernel, dim3(static_cast<unsigned>(blocks)),
               dim3(CELLS), sizeof(fx8_cell_pairs), stream, launch);
}

static cudaError_t load_kernels()
{
    static void (*const kernels[])(fx8_cell_launch) = {
        fx8_quicklook_ieee_kernel,
        fx8_quicklook_fast_kernel,
        fx8_quicklook_check_kernel,
    };
    cudaError_t error = cudaSuccess;
    for (const auto kernel : kernels)
        if (error == cudaSuccess)
            error = fx8_cuda_load(kernel);
    return error;
}

cudaError_t fx8_cuda_quicklook(const struct fx8_cuda_quicklook_job *job,
                               cudaStream_t stream)
{
    const struct fx8_quicklook_work *work = &job->work;
    if (work->n_products == 0 || work->n_products > FX8_CUDA_CELL_PRODUCTS ||
        job->n_baselines > INT32_MAX)
        return cudaErrorInvalidValue;
    if (job->n_baselines == 0)
        return load_kernels();
    fx8_cell_launch launch = {};
    launch.job = *job;
    launch.n_products = static_cast<unsigned>(work->n_products);
    launch.tile_channels = CELLS / launch.n_products;
    launch.of_products = (65535 + launch.n_products) / launch.n_products;
    const auto kernel = work->mode == FX8_FUNCTIONS_IEEE
                            ? fx8_quicklook_ieee_kernel
                            : fx8_quicklook_fast_kernel;
    FX8_LAUNCH(kernel, dim3(static_cast<unsigned>(job->n_baselines)),
               dim3(CELLS), sizeof(fx8_cell_tile), stream, launch);
    cudaError_t status = cudaGetLastError();
    if (status == cudaSuccess && work->check_stride > 0) {
        launch_check(launch, stream);
        status = cudaGetLastError();
    }
    return status;
}
