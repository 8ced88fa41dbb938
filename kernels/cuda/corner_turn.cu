/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * corner_turn.cu -- the step after the FFT: select channels, rotate, multiply
 * by the gain, dither, quantise, mask, and turn into the layout of the
 * correlators, in one pass.
 *
 * A thread holds sixteen times of one channel of one input in registers, so the
 * corner turn needs no shared memory.  A warp has eight channels of four
 * inputs: each load takes 64 contiguous bytes per input, each store 128 bytes
 * per channel.  The warps of a block take 64 neighbouring channels.
 */
#include "kernels/cuda/spectra.cuh"
#include "kernels/numeric/dither.h"
#include "kernels/numeric/rotate.h"

/* Channels of a warp and of a block. */
#define WARP_CHANNELS  8
#define BLOCK_CHANNELS (FX8_SPECTRA_THREADS / FX8_SPECTRA_INPUTS)

/* Times of a thread. */
#define TIMES FX8_CUDA_TIMES_INT8

/** A job; its grid is [sixteen times][four inputs][64 channels]. */
struct fx8_corner_turn_launch {
    fx8_cuda_corner_turn_job job;
    fx8_spectra_view out;
};

/** Work of one thread. */
struct fx8_corner_turn_place {
    size_t input;   /* of the part */
    size_t channel; /* of the block of spectra */
    size_t time;    /* of the block of spectra */
    bool exists;
};

static __device__ __forceinline__ fx8_corner_turn_place
find_place(const fx8_corner_turn_launch &launch)
{
    const fx8_cuda_part &part = launch.job.part;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    fx8_corner_turn_place place;
    place.channel = blockIdx.x * BLOCK_CHANNELS + warp * WARP_CHANNELS +
                    lane % WARP_CHANNELS;
    place.input = blockIdx.y * FX8_SPECTRA_INPUTS + lane / WARP_CHANNELS;
    place.time = part.first_time + blockIdx.z * TIMES;
    place.exists =
        place.input < part.n_inputs && place.channel < launch.out.at.n_channels;
    return place;
}

/* --- rotation ----------------------------------------------------------------
 */

/* Tiles that the channels of a block may touch: at most three, also where the
 * positive frequencies begin; a power of two. */
#define BLOCK_TILES 4

/** Factors of the middles of tiles: [input][time][tile of the block]. */
typedef float2 fx8_middles[FX8_SPECTRA_INPUTS][TIMES][BLOCK_TILES];
static_assert(FX8_SPECTRA_INPUTS * TIMES * BLOCK_TILES == FX8_SPECTRA_THREADS,
              "a factor for each thread");

/** The first channel of the frequencies that `channel` belongs to: tiles are
 *  counted from there, as on the CPU. */
static __device__ __forceinline__ size_t
range_begin(const struct fx8_filterbank &bank, size_t channel)
{
    const size_t half = bank.is_complex ? bank.n_channels / 2 : 0;
    return channel >= half ? half : 0;
}

/** Number of the tile of `channel`. */
static __device__ __forceinline__ size_t
tile_of(const struct fx8_filterbank &bank, size_t channel)
{
    const size_t begin = range_begin(bank, channel);
    return (begin + FX8_ROTATION_TILE - 1) / FX8_ROTATION_TILE +
           (channel - begin) / FX8_ROTATION_TILE;
}

/** The middle channel of tile `tile`. */
static __device__ __forceinline__ size_t
middle_of(const struct fx8_filterbank &bank, size_t tile)
{
    const size_t half = bank.is_complex ? bank.n_channels / 2 : 0;
    const size_t before = (half + FX8_ROTATION_TILE - 1) / FX8_ROTATION_TILE;
    const size_t begin = tile >= before ? half : 0;
    return begin + fx8_rotation_middle((tile - (tile >= before ? before : 0)) *
                                       FX8_ROTATION_TILE);
}

/** The rotation of the group of a time. */
static __device__ __forceinline__ const fx8_rotation &rotation_of(
    const fx8_cuda_corner_turn_job &job, size_t input, size_t time)
{
    return job.rotation[(job.part.first_input + input) * job.rotation_stride +
                        time / FX8_GROUP];
}

/** exp(2 pi i phase). */
static __device__ __forceinline__ float2 factor_of(uint64_t phase)
{
    const float turns = fx8_rotation_turns(phase);
    return make_float2(fx8_rotation_re(turns), fx8_rotation_im(turns));
}

/** x times a factor. */
static __device__ __forceinline__ float2 times(float2 x, float2 factor)
{
    return make_float2(fx8_fma(x.x, factor.x, -fx8_mul(x.y, factor.y)),
                       fx8_fma(x.y, factor.x, fx8_mul(x.x, factor.y)));
}

/** The factor of a thread's place in its tile.  Without a valid spectrum there
 *  may be no rotation to read, nor is the factor used. */
static __device__ __forceinline__ float2
factor_of_place(const fx8_cuda_corner_turn_job &job,
                const fx8_corner_turn_place &place, unsigned bits)
{
    if (bits == 0)
        return make_float2(0.0F, 0.0F);
    const uint64_t slope = fx8_rotation_slope(
        &rotation_of(job, place.input, place.time), FX8_GROUP / 2);
    return factor_of(fx8_rotation_place(
        slope, place.channel - range_begin(job.bank, place.channel)));
}

/** The valid spectra of a thread times a factor; the others stay zero. */
static __device__ __forceinline__ void times_all(unsigned bits,
                                                 const float2 (&x)[TIMES],
                                                 float2 factor,
                                                 float2 (&turned)[TIMES])
{
#pragma unroll
    for (int t = 0; t < TIMES; ++t)
        turned[t] = (bits >> t & 1) != 0 ? times(x[t], factor) : x[t];
}

/** Each thread finds one factor of its block. */
static __device__ __forceinline__ void find_middles(
    const fx8_corner_turn_launch &launch, fx8_middles &middles)
{
    const fx8_cuda_corner_turn_job &job = launch.job;
    const unsigned tile = threadIdx.x % BLOCK_TILES;
    const unsigned t = threadIdx.x / BLOCK_TILES % TIMES;
    const unsigned i = threadIdx.x / BLOCK_TILES / TIMES;
    const size_t input = blockIdx.y * FX8_SPECTRA_INPUTS + i;
    const size_t time = job.part.first_time + blockIdx.z * TIMES + t;
    if (input < job.part.n_inputs &&
        time < job.part.first_time + job.part.n_spectra) {
        const size_t first = tile_of(job.bank, blockIdx.x * BLOCK_CHANNELS);
        middles[i][t][tile] = factor_of(
            fx8_rotation_phase(&rotation_of(job, input, time), time % FX8_GROUP,
                               middle_of(job.bank, first + tile)));
    }
    __syncthreads();
}

/* --- quantise ----------------------------------------------------------------
 */

/** Words of noise, one for each time of a thread. */
static __device__ __forceinline__ void find_noise(
    const fx8_corner_turn_launch &launch, const fx8_corner_turn_place &place,
    uint32_t (&noise)[TIMES])
{
    static_assert(TIMES == FX8_DITHER_SPECTRA, "whole calls");
    fx8_dither dither = launch.job.dither;
    dither.input =
        static_cast<uint32_t>(launch.job.part.first_input + place.input);
    const int64_t first = dither.spectrum + static_cast<int64_t>(place.time);
#pragma unroll
    for (int t = 0; t < TIMES / 2; t += 2) {
        uint32_t words[FX8_PHILOX_WORDS];
        fx8_dither_words(&dither, fx8_dither_call(first + t), place.channel,
                         words);
        noise[t] = words[fx8_dither_word(t)];
        noise[t + 1] = words[fx8_dither_word(t + 1)];
        noise[t + 8] = words[fx8_dither_word(t + 8)];
        noise[t + 9] = words[fx8_dither_word(t + 9)];
    }
}

/** Round half to even, clamp to +-127; `beyond` gets the larger magnitude. */
static __device__ __forceinline__ unsigned quantise(float x, float *beyond)
{
    const float rounded = rintf(x);
    *beyond = fmaxf(*beyond, fabsf(rounded));
    return static_cast<unsigned>(
        __float2int_rn(fminf(fmaxf(rounded, -127.0F), 127.0F)));
}

/** Sixteen times in int8; returns the number of spectra clamped. */
template <bool HAS_DITHER>
static __device__ __forceinline__ unsigned quantise_times(
    const float2 (&x)[TIMES], float gain, const uint32_t (&noise)[TIMES],
    unsigned (&re)[4], unsigned (&im)[4])
{
    unsigned n_clips = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        re[k] = 0;
        im[k] = 0;
#pragma unroll
        for (int t = 0; t < 4; ++t) {
            float magnitude = 0.0F;
            float2 value = make_float2(fx8_mul(x[4 * k + t].x, gain),
                                       fx8_mul(x[4 * k + t].y, gain));
            if (HAS_DITHER)
                value = make_float2(
                    fx8_add(value.x, fx8_dither_re(noise[4 * k + t])),
                    fx8_add(value.y, fx8_dither_im(noise[4 * k + t])));
            re[k] |= (quantise(value.x, &magnitude) & 255) << 8 * t;
            im[k] |= (quantise(value.y, &magnitude) & 255) << 8 * t;
            n_clips += magnitude > 127.0F ? 1 : 0;
        }
    }
    return n_clips;
}

/* --- the kernels -------------------------------------------------------------
 */

/** Load the valid spectra of a thread; the others become zero. */
static __device__ __forceinline__ void load_times(
    const fx8_corner_turn_launch &launch, const fx8_corner_turn_place &place,
    unsigned bits, float2 (&x)[TIMES])
{
    const fx8_cuda_corner_turn_job &job = launch.job;
    const size_t spectrum = place.time - job.part.first_time;
    const size_t row = place.input * job.part.n_spectra + spectrum;
    const fx8_cf32 *bins = job.bins + row * job.bins_stride +
                           fx8_spectra_bin(job.bank, place.channel);
#pragma unroll
    for (int t = 0; t < TIMES; ++t) {
        x[t] = (bits >> t & 1) != 0 ? *reinterpret_cast<const float2 *>(bins)
                                    : make_float2(0.0F, 0.0F);
        bins += job.bins_stride;
    }
}

/** Write the spectra of a thread as floats. */
static __device__ __forceinline__ void store_floats(
    const fx8_corner_turn_launch &launch, const fx8_corner_turn_place &place,
    const float2 (&x)[TIMES])
{
    const size_t input = launch.job.part.first_input + place.input;
#pragma unroll
    for (int k = 0; k < TIMES; k += FX8_CUDA_TIMES_FP32)
        fx8_spectra_store_fp32(launch.out, place.channel, place.time + k, input,
                               x + k);
}

/** Where the gain and the clips of a thread are. */
static __device__ __forceinline__ size_t item_of(
    const fx8_corner_turn_launch &launch, const fx8_corner_turn_place &place)
{
    const size_t input = launch.job.part.first_input + place.input;
    return input * launch.out.at.n_channels + place.channel;
}

/** Write the spectra of a thread, times `gain`, as integers. */
template <bool HAS_DITHER>
static __device__ __forceinline__ void store_integers(
    const fx8_corner_turn_launch &launch, const fx8_corner_turn_place &place,
    const float2 (&x)[TIMES], float gain)
{
    const fx8_cuda_corner_turn_job &job = launch.job;
    uint32_t noise[TIMES];
    if (HAS_DITHER)
        find_noise(launch, place, noise);
    unsigned re[4], im[4];
    const unsigned n_clips = quantise_times<HAS_DITHER>(x, gain, noise, re, im);
    fx8_spectra_store_int8(launch.out, place.channel, place.time,
                           job.part.first_input + place.input, re, im);
    if (n_clips != 0)
        atomicAdd(job.clips + item_of(launch, place),
                  static_cast<unsigned long long>(n_clips));
}

/** The kernels without a rotation. */
template <bool HAS_DITHER>
static __device__ __forceinline__ void turn(
    const fx8_corner_turn_launch &launch)
{
    const fx8_corner_turn_place place = find_place(launch);
    if (!place.exists)
        return;
    float2 x[TIMES];
    load_times(launch, place,
               fx8_part_bits(launch.job.part,
                             launch.job.part.first_input + place.input,
                             place.time),
               x);
    if (launch.out.at.fp32 != nullptr)
        store_floats(launch, place, x);
    if (launch.out.at.int8 != nullptr)
        store_integers<HAS_DITHER>(launch, place, x,
                                   launch.job.gain[item_of(launch, place)]);
}

/** The kernels with a rotation. */
template <bool HAS_DITHER>
static __device__ __forceinline__ void turn_rotated(
    const fx8_corner_turn_launch &launch, fx8_middles &middles)
{
    const fx8_cuda_corner_turn_job &job = launch.job;
    find_middles(launch, middles);
    const fx8_corner_turn_place place = find_place(launch);
    if (!place.exists)
        return;
    const unsigned bits =
        fx8_part_bits(job.part, job.part.first_input + place.input, place.time);
    float2 x[TIMES];
    load_times(launch, place, bits, x);
    const float2 factor = factor_of_place(job, place, bits);
    const size_t tile = tile_of(job.bank, place.channel) -
                        tile_of(job.bank, blockIdx.x * BLOCK_CHANNELS);
    const float2(&middle)[TIMES][BLOCK_TILES] =
        middles[place.input % FX8_SPECTRA_INPUTS];
#pragma unroll
    for (int t = 0; t < TIMES; ++t)
        if ((bits >> t & 1) != 0)
            x[t] = times(x[t], middle[t][tile]);
    float2 turned[TIMES];
    if (launch.out.at.fp32 != nullptr) {
        times_all(bits, x, factor, turned);
        store_floats(launch, place, turned);
    }
    if (launch.out.at.int8 != nullptr) {
        const float gain = job.gain[item_of(launch, place)];
        times_all(bits, x,
                  make_float2(fx8_mul(factor.x, gain), fx8_mul(factor.y, gain)),
                  turned);
        store_integers<HAS_DITHER>(launch, place, turned, 1.0F);
    }
}

extern "C" __global__ void __launch_bounds__(FX8_SPECTRA_THREADS)
    fx8_corner_turn_kernel(const fx8_corner_turn_launch launch)
{
    turn<false>(launch);
}

extern "C" __global__ void __launch_bounds__(FX8_SPECTRA_THREADS)
    fx8_corner_turn_dithered_kernel(const fx8_corner_turn_launch launch)
{
    turn<true>(launch);
}

extern "C" __global__ void __launch_bounds__(FX8_SPECTRA_THREADS)
    fx8_corner_turn_rotated_kernel(const fx8_corner_turn_launch launch)
{
    __shared__ fx8_middles middles;
    turn_rotated<false>(launch, middles);
}

extern "C" __global__ void __launch_bounds__(FX8_SPECTRA_THREADS)
    fx8_corner_turn_rotated_dithered_kernel(const fx8_corner_turn_launch launch)
{
    __shared__ fx8_middles middles;
    turn_rotated<true>(launch, middles);
}

cudaError_t fx8_cuda_corner_turn(const struct fx8_cuda_corner_turn_job *job,
                                 const struct fx8_cuda_spectra *spectra,
                                 cudaStream_t stream)
{
    const fx8_cuda_part *part = &job->part;
    if (!fx8_part_is_legal(part, spectra) ||
        job->bins_stride < fx8_filterbank_bins(&job->bank) ||
        job->bank.n_channels != spectra->n_channels ||
        (job->has_dither && job->dither.spectrum % FX8_DITHER_SPECTRA != 0))
        return cudaErrorInvalidValue;
    fx8_corner_turn_launch launch = {};
    launch.job = *job;
    launch.out = fx8_spectra_view_of(spectra);
    const size_t input_groups =
        (part->n_inputs + FX8_SPECTRA_INPUTS - 1) / FX8_SPECTRA_INPUTS;
    const size_t channel_groups =
        (spectra->n_channels + BLOCK_CHANNELS - 1) / BLOCK_CHANNELS;
    dim3 blocks;
    if (!fx8_spectra_grid(channel_groups, input_groups, fx8_part_groups(part),
                          &blocks))
        return cudaErrorInvalidValue;
    if (blocks.x == 0)
        return cudaSuccess;
    const dim3 threads(FX8_SPECTRA_THREADS);
    const bool has_dither = job->has_dither && spectra->int8 != nullptr;
    if (job->rotation == nullptr && has_dither)
        FX8_LAUNCH(fx8_corner_turn_dithered_kernel, blocks, threads, 0, stream,
                   launch);
    else if (job->rotation == nullptr)
        FX8_LAUNCH(fx8_corner_turn_kernel, blocks, threads, 0, stream, launch);
    else if (has_dither)
        FX8_LAUNCH(fx8_corner_turn_rotated_dithered_kernel, blocks, threads, 0,
                   stream, launch);
    else
        FX8_LAUNCH(fx8_corner_turn_rotated_kernel, blocks, threads, 0, stream,
                   launch);
    return cudaGetLastError();
}
