/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * half2.cuh -- half precision on the device, two numbers per thread, for arrays
 * of any alignment and length.
 *
 * A span divides an array of halves into a head of one number if it starts
 * between two words, whole words of two, and a tail of one.  Item k below the
 * number of pairs is pair k; the last item is head and tail; further items do
 * nothing.
 *
 * Notes: 1) the words of a span are read or written whole; other arrays may be
 *           aligned differently and are then accessed by single numbers
 *        2) equal bit for bit to kernels/numeric/half.h, except NaN bits: the
 *           instructions round to nearest even and keep subnormals
 *        3) float to half is one instruction for a pair from sm_80 on, two and
 *           a permutation before
 * Source: CUDA Math API, "Half Precision Conversion and Data Movement"
 */
#ifndef FX8_KERNELS_CUDA_HALF2_CUH
#define FX8_KERNELS_CUDA_HALF2_CUH

#include <cuda_fp16.h>
#include <stddef.h>
#include <stdint.h>

/** An array of halves in words of two. */
struct fx8_half2_span {
    size_t n_numbers;
    size_t head;    /**< numbers before the first whole word: 0 or 1 */
    size_t n_pairs; /**< whole words */
};

/** Whether a pointer may be used for items of `size` bytes. */
static __device__ __forceinline__ bool fx8_is_aligned(const void *pointer,
                                                      size_t size)
{
    return reinterpret_cast<uintptr_t>(pointer) % size == 0;
}

/** The span of n numbers at `halves`. */
static __device__ __forceinline__ fx8_half2_span
fx8_half2_span_of(size_t n_numbers, const __half *halves)
{
    const size_t head =
        n_numbers > 0 && !fx8_is_aligned(halves, sizeof(__half2)) ? 1 : 0;
    return {n_numbers, head, (n_numbers - head) / 2};
}

/** Whether the last number has no partner and is not the head. */
static __device__ __forceinline__ bool fx8_half2_has_tail(
    const fx8_half2_span &span)
{
    return span.head + 2 * span.n_pairs < span.n_numbers;
}

/** Two floats, from anywhere. */
static __device__ __forceinline__ float2 fx8_load_floats(const float *x)
{
    return fx8_is_aligned(x, sizeof(float2))
               ? *reinterpret_cast<const float2 *>(x)
               : make_float2(x[0], x[1]);
}

/** Two floats, to anywhere. */
static __device__ __forceinline__ void fx8_store_floats(float *x, float2 pair)
{
    if (fx8_is_aligned(x, sizeof pair)) {
        *reinterpret_cast<float2 *>(x) = pair;
    } else {
        x[0] = pair.x;
        x[1] = pair.y;
    }
}

/** Two halves, from anywhere. */
static __device__ __forceinline__ __half2 fx8_load_half2(const __half *halves)
{
    return fx8_is_aligned(halves, sizeof(__half2))
               ? *reinterpret_cast<const __half2 *>(halves)
               : __halves2half2(halves[0], halves[1]);
}

/** Two halves, to a whole word. */
static __device__ __forceinline__ void fx8_store_half2(__half *halves,
                                                       __half2 pair)
{
    *reinterpret_cast<__half2 *>(halves) = pair;
}

/** One number: the product rounded to float, then to half. */
static __device__ __forceinline__ __half fx8_half_of(float x, float scale)
{
    return __float2half_rn(__fmul_rn(x, scale));
}

/**
 * fx8_half2_from_float -- item of halves[k] = x[k] scale; the entry from_float
 * of struct fx8_half_functions.
 *
 * Given:    span   of `halves`
 *           item   any
 */
static __device__ __forceinline__ void fx8_half2_from_float(
    const fx8_half2_span &span, size_t item, float scale, const float *x,
    __half *halves)
{
    if (item < span.n_pairs) {
        const size_t k = span.head + 2 * item;
        const float2 pair = fx8_load_floats(x + k);
        fx8_store_half2(halves + k,
                        __floats2half2_rn(__fmul_rn(pair.x, scale),
                                          __fmul_rn(pair.y, scale)));
        return;
    }
    if (item > span.n_pairs)
        return;
    if (span.head > 0)
        halves[0] = fx8_half_of(x[0], scale);
    if (fx8_half2_has_tail(span))
        halves[span.n_numbers - 1] = fx8_half_of(x[span.n_numbers - 1], scale);
}

/**
 * fx8_half2_to_float -- item of x[k] = halves[k], exact; the entry to_float.
 *
 * Given:    span   of `halves`
 *           item   any
 */
static __device__ __forceinline__ void fx8_half2_to_float(
    const fx8_half2_span &span, size_t item, const __half *halves, float *x)
{
    if (item < span.n_pairs) {
        const size_t k = span.head + 2 * item;
        const auto *word = reinterpret_cast<const __half2 *>(halves + k);
        fx8_store_floats(x + k, __half22float2(*word));
        return;
    }
    if (item > span.n_pairs)
        return;
    if (span.head > 0)
        x[0] = __half2float(halves[0]);
    if (fx8_half2_has_tail(span))
        x[span.n_numbers - 1] = __half2float(halves[span.n_numbers - 1]);
}

/**
 * fx8_half2_scale_add -- item of y[k] = a x[k] + b[k], rounded once; x and b
 * may be y.
 *
 * Given:    span   of `y`
 *           item   any
 */
static __device__ __forceinline__ void fx8_half2_scale_add(
    const fx8_half2_span &span, size_t item, __half a, const __half *x,
    const __half *b, __half *y)
{
    if (item < span.n_pairs) {
        const size_t k = span.head + 2 * item;
        fx8_store_half2(y + k, __hfma2(__half2half2(a), fx8_load_half2(x + k),
                                       fx8_load_half2(b + k)));
        return;
    }
    if (item > span.n_pairs)
        return;
    if (span.head > 0)
        y[0] = __hfma(a, x[0], b[0]);
    if (fx8_half2_has_tail(span)) {
        const size_t last = span.n_numbers - 1;
        y[last] = __hfma(a, x[last], b[last]);
    }
}

#endif
