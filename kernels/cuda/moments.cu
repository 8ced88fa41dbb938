/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * moments.cu -- sums of |X|^2 and |X|^4 of spectra before rotation, gain and
 * quantiser, for the spectral kurtosis.
 *
 * A thread adds sixteen spectra of one channel of one input; the threads of a
 * block take eight sixteens of 32 channels.  Their sums are added in the order
 * of time to what was there, so the sizes of parts change no bit.
 */
#include "kernels/cuda/spectra.cuh"
#include "kernels/numeric/target.h"

/* Channels of a block, and sixteens. */
#define CHANNELS 32
#define GROUPS   (FX8_SPECTRA_THREADS / CHANNELS)

/* Times of a thread. */
#define TIMES FX8_CUDA_TIMES_INT8

/** Its grid is [inputs][32 channels]. */
struct fx8_moments_launch {
    fx8_cuda_moments_job job;
    size_t n_channels;
};

/** Sums of the threads of a block: of powers, and of their squares. */
typedef double fx8_moments_sums[2][GROUPS][CHANNELS];

/** Spectra of one channel after the FFT. */
struct fx8_moments_bins {
    const fx8_cf32 *bins;
    size_t stride;

    __device__ __forceinline__ float2 at(size_t spectrum) const
    {
        return *reinterpret_cast<const float2 *>(bins + spectrum * stride);
    }
};

/** Recorded integers. */
struct fx8_moments_samples {
    const int8_t *samples;

    __device__ __forceinline__ float2 at(size_t spectrum) const
    {
        return make_float2(samples[2 * spectrum], samples[2 * spectrum + 1]);
    }
};

/** The sums of up to sixteen spectra from `first` on, those of set bits. */
template <class Spectra>
static __device__ __forceinline__ void add_times(const Spectra &spectra,
                                                 size_t first, unsigned bits,
                                                 double *power, double *square)
{
    float2 x[TIMES];
#pragma unroll
    for (int t = 0; t < TIMES; ++t)
        x[t] = (bits >> t & 1) != 0 ? spectra.at(first + t)
                                    : make_float2(0.0F, 0.0F);
    *power = *square = 0.0;
#pragma unroll
    for (int t = 0; t < TIMES; ++t) {
        const double p =
            fx8_add(fx8_mul(x[t].x, x[t].x), fx8_mul(x[t].y, x[t].y));
        *power += p;
        *square += p * p;
    }
}

/** All spectra of a part. */
template <class Spectra>
static __device__ __forceinline__ void add_part(
    const fx8_moments_launch &launch, const Spectra &spectra, size_t channel,
    fx8_moments_sums &sums)
{
    const fx8_cuda_part &part = launch.job.part;
    const unsigned lane = threadIdx.x % CHANNELS;
    const unsigned group = threadIdx.x / CHANNELS;
    const size_t input = part.first_input + blockIdx.y;
    const bool exists = channel < launch.n_channels;
    /* the first threads of a channel add its powers, the next their squares */
    const bool is_adding = exists && group < 2;
    double *const own =
        launch.job.moments + (2 * input + group) * launch.n_channels + channel;
    double total = is_adding ? *own : 0.0;
    for (size_t first = 0; first < part.n_spectra; first += GROUPS * TIMES) {
        const size_t spectrum = first + group * TIMES;
        const unsigned bits =
            exists ? fx8_part_bits(part, input, part.first_time + spectrum) : 0;
        add_times(spectra, spectrum, bits, &sums[0][group][lane],
                  &sums[1][group][lane]);
        __syncthreads();
        for (int g = 0; g < GROUPS && is_adding; ++g)
            total += sums[group][g][lane];
        __syncthreads();
    }
    if (is_adding)
        *own = total;
}

static __device__ __forceinline__ size_t own_channel()
{
    return blockIdx.x * CHANNELS + threadIdx.x % CHANNELS;
}

extern "C" __global__ void __launch_bounds__(FX8_SPECTRA_THREADS)
    fx8_moments_kernel(const fx8_moments_launch launch)
{
    __shared__ fx8_moments_sums sums;
    const fx8_cuda_moments_job &job = launch.job;
    const size_t channel = own_channel();
    const fx8_moments_bins spectra = {
        job.bins + blockIdx.y * job.part.n_spectra * job.bins_stride +
            fx8_spectra_bin(job.bank, channel),
        job.bins_stride};
    add_part(launch, spectra, channel, sums);
}

extern "C" __global__ void __launch_bounds__(FX8_SPECTRA_THREADS)
    fx8_moments_none_kernel(const fx8_moments_launch launch)
{
    __shared__ fx8_moments_sums sums;
    const fx8_cuda_moments_job &job = launch.job;
    const fx8_moments_samples spectra = {job.samples +
                                         blockIdx.y * job.row_stride};
    add_part(launch, spectra, own_channel(), sums);
}

cudaError_t fx8_cuda_moments(const struct fx8_cuda_moments_job *job,
                             cudaStream_t stream)
{
    const bool is_none = job->bins == nullptr;
    fx8_moments_launch launch = {};
    launch.job = *job;
    launch.n_channels = is_none ? 1 : job->bank.n_channels;
    dim3 blocks;
    if (job->part.first_time % TIMES != 0 ||
        (!is_none && job->bins_stride < fx8_filterbank_bins(&job->bank)) ||
        !fx8_spectra_grid((launch.n_channels + CHANNELS - 1) / CHANNELS,
                          job->part.n_inputs, 1, &blocks))
        return cudaErrorInvalidValue;
    if (blocks.x == 0)
        return cudaSuccess;
    const dim3 threads(FX8_SPECTRA_THREADS);
    if (is_none)
        FX8_LAUNCH(fx8_moments_none_kernel, blocks, threads, 0, stream, launch);
    else
        FX8_LAUNCH(fx8_moments_kernel, blocks, threads, 0, stream, launch);
    return cudaGetLastError();
}
