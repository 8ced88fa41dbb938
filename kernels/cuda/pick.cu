/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pick.cu -- see pick.h.
 *
 * A thread takes one vector of real and one of imaginary parts of one input,
 * adjacent in memory; neighbouring threads take neighbouring times.
 */
#include "kernels/cuda/pick.h"

#include "kernels/cuda/deadline.h"
#include "kernels/cuda/layout.h"

#define THREADS 128

/** A job of one precision; its grid is [inputs picked][vectors of times]. */
template <class Complex> struct fx8_pick_launch {
    const typename fx8_cuda_vector_of<Complex>::Part
        *parts; /**< first vector */
    Complex *out;
    size_t n_vectors, pitch, stride;
    unsigned inputs[FX8_WATCHED_INPUTS];
};

template <class Complex>
static __device__ __forceinline__ void pick(
    const fx8_pick_launch<Complex> &launch)
{
    constexpr size_t TIMES = fx8_cuda_vector_of<Complex>::TIMES;
    const size_t vector = size_t(blockIdx.x) * THREADS + threadIdx.x;
    if (vector >= launch.n_vectors)
        return;
    const size_t input = launch.inputs[blockIdx.y], row = vector * launch.pitch;
    const auto *re = launch.parts + (row + fx8_cuda_row(input, 0)) * TIMES;
    const auto *im = launch.parts + (row + fx8_cuda_row(input, 1)) * TIMES;
    Complex *out = launch.out + blockIdx.y * launch.stride + vector * TIMES;
#pragma unroll
    for (size_t t = 0; t < TIMES; ++t)
        out[t] = {re[t], im[t]};
}

extern "C" __global__ void __launch_bounds__(THREADS)
    fx8_pick_int8_kernel(const fx8_pick_launch<fx8_ci8> launch)
{
    pick(launch);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    fx8_pick_fp32_kernel(const fx8_pick_launch<fx8_cf32> launch)
{
    pick(launch);
}

/* One thread per component of a pair. */
extern "C" __global__ void __launch_bounds__(2 * FX8_WATCHED_PAIRS)
    fx8_pick_sums_kernel(const fx8_cuda_pick_sums_job job)
{
    if (threadIdx.x >= 2 * job.n_pairs)
        return;
    const size_t at = 2 * job.pairs[threadIdx.x / 2] + threadIdx.x % 2;
    if (job.from_int8 != nullptr)
        job.to_int8[threadIdx.x] = job.from_int8[at];
    if (job.from_fp32 != nullptr)
        job.to_fp32[threadIdx.x] = job.from_fp32[at];
}

namespace
{

template <class Complex>
cudaError_t run(void (*kernel)(fx8_pick_launch<Complex>),
                const fx8_cuda_pick_job &job,
                const typename fx8_cuda_vector_of<Complex>::Part *array,
                Complex *out, cudaStream_t stream)
{
    constexpr size_t TIMES = fx8_cuda_vector_of<Complex>::TIMES;
    if (out == nullptr)
        return cudaSuccess;
    if (array == nullptr)
        return cudaErrorInvalidValue;
    fx8_pick_launch<Complex> launch = {};
    launch.pitch = fx8_cuda_pitch(job.spectra.n_inputs);
    launch.n_vectors = (job.n_spectra + TIMES - 1) / TIMES;
    launch.parts =
        array +
        (job.channel * job.spectra.n_times + job.first_time) * launch.pitch;
    launch.out = out;
    launch.stride = job.stride;
    for (size_t k = 0; k < job.n_picked; ++k)
        launch.inputs[k] = job.inputs[k];
    const dim3 grid(
        static_cast<unsigned>((launch.n_vectors + THREADS - 1) / THREADS),
        static_cast<unsigned>(job.n_picked));
    FX8_LAUNCH(kernel, grid, dim3(THREADS), 0, stream, launch);
    return cudaGetLastError();
}

} // namespace

cudaError_t fx8_cuda_pick(const struct fx8_cuda_pick_job *job,
                          cudaStream_t stream)
{
    if (job->n_picked == 0 || job->n_spectra == 0) {
        const cudaError_t loaded = fx8_cuda_load(fx8_pick_int8_kernel);
        return loaded != cudaSuccess ? loaded
                                     : fx8_cuda_load(fx8_pick_fp32_kernel);
    }
    if (job->n_picked > FX8_WATCHED_INPUTS ||
        job->channel >= job->spectra.n_channels ||
        job->first_time % FX8_CUDA_TIMES_INT8 != 0 ||
        job->first_time + job->n_spectra > job->spectra.n_times ||
        job->stride % FX8_CUDA_TIMES_INT8 != 0 ||
        job->stride < job->n_spectra || job->n_spectra > FX8_CUDA_MOST_ITEMS)
        return cudaErrorInvalidValue;
    for (size_t k = 0; k < job->n_picked; ++k)
        if (job->inputs[k] >= job->spectra.n_inputs)
            return cudaErrorInvalidValue;
    const cudaError_t error =
        run(fx8_pick_int8_kernel, *job, job->spectra.int8, job->int8, stream);
    if (error != cudaSuccess)
        return error;
    return run(fx8_pick_fp32_kernel, *job, job->spectra.fp32, job->fp32,
               stream);
}

cudaError_t fx8_cuda_pick_sums(const struct fx8_cuda_pick_sums_job *job,
                               cudaStream_t stream)
{
    if (job->n_pairs > FX8_WATCHED_PAIRS)
        return cudaErrorInvalidValue;
    if (job->n_pairs == 0)
        return fx8_cuda_load(fx8_pick_sums_kernel);
    FX8_LAUNCH(fx8_pick_sums_kernel, dim3(1), dim3(2 * FX8_WATCHED_PAIRS), 0,
               stream, *job);
    return cudaGetLastError();
}
