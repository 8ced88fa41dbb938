/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * half.cu -- half precision over arrays on the device.
 *
 * Notes: 1) a thread for each item: a grid of one dimension and at least
 *           n / 2 + 1 threads
 *        2) pointers need the alignment of their type only; n may be 0
 */
#include "kernels/cuda/half2.cuh"

/** The item of this thread. */
static __device__ __forceinline__ size_t own_item()
{
    return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/** halves[k] = x[k] scale, k in [0, n). */
extern "C" __global__ void fx8_half_from_float_kernel(size_t n, float scale,
                                                      const float *x,
                                                      __half *halves)
{
    fx8_half2_from_float(fx8_half2_span_of(n, halves), own_item(), scale, x,
                         halves);
}

/** x[k] = halves[k], k in [0, n). */
extern "C" __global__ void fx8_half_to_float_kernel(size_t n,
                                                    const __half *halves,
                                                    float *x)
{
    fx8_half2_to_float(fx8_half2_span_of(n, halves), own_item(), halves, x);
}

/** y[k] = a x[k] + b[k], k in [0, n); x and b may be y. */
extern "C" __global__ void fx8_half_scale_add_kernel(size_t n, __half a,
                                                     const __half *x,
                                                     const __half *b, __half *y)
{
    fx8_half2_scale_add(fx8_half2_span_of(n, y), own_item(), a, x, b, y);
}
