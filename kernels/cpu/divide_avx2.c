/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * divide_avx2.c -- fx8_divide() for eight lanes; the seed is the 12-bit
 * reciprocal of the CPU, |b s0 - 1| <= 1.5 2^-12, which is the least that the
 * refinement of kernels/numeric/divide.h asks for.
 */
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/function_forms.h"
#include "kernels/cpu/simd.h"
#include "kernels/numeric/divide.h"

#define LANES 8

/** The quotients of the lanes whose bit is set, one by one. */
static __attribute__((noinline, cold)) __m256 repair(unsigned lanes, __m256 a,
                                                     __m256 b, __m256 quotient)
{
    float each_a[LANES], each_b[LANES], each[LANES];
    _mm256_storeu_ps(each_a, a);
    _mm256_storeu_ps(each_b, b);
    _mm256_storeu_ps(each, quotient);
    for (; lanes != 0; lanes &= lanes - 1) {
        const int lane = __builtin_ctz(lanes);
        each[lane] = fx8_divide_slow(each_a[lane], each_b[lane]);
    }
    return _mm256_loadu_ps(each);
}

FX8_INLINE __m256i pattern(uint32_t bits)
{
    return _mm256_set1_epi32((int)bits);
}

FX8_INLINE __m256 mantissa(__m256i bits)
{
    return _mm256_castsi256_ps(
        _mm256_or_si256(_mm256_and_si256(bits, pattern(FX8_FLOAT_MANTISSA)),
                        pattern(FX8_FLOAT_ONE)));
}

FX8_INLINE __m256i exponent(__m256i bits)
{
    return _mm256_and_si256(bits, pattern(FX8_FLOAT_EXPONENT));
}

FX8_INLINE __m256 newton(__m256 b, __m256 s)
{
    return _mm256_fmadd_ps(s, _mm256_fnmadd_ps(b, s, _mm256_set1_ps(1.0f)), s);
}

/** a / b of mantissas in [1, 2). */
FX8_INLINE __m256 divide_mantissas(__m256 a, __m256 b)
{
    const __m256 s = newton(b, _mm256_rcp_ps(b));
    const __m256 r = _mm256_max_ps(newton(b, s),
                                   _mm256_set1_ps(FX8_DIVIDE_LEAST_RECIPROCAL));
    const __m256 q0 = _mm256_mul_ps(a, r);
    return _mm256_fmadd_ps(_mm256_fnmadd_ps(b, q0, a), r, q0);
}

/** A bit for each lane where one of three sizes is not that of a normal
 *  number; as signed integers, where an overflown exponent is negative. */
FX8_INLINE unsigned outside(__m256i a, __m256i b, __m256i quotient)
{
    const __m256i least = _mm256_min_epi32(_mm256_min_epi32(a, b), quotient);
    const __m256i most = _mm256_max_epi32(_mm256_max_epi32(a, b), quotient);
    const __m256i wrong = _mm256_or_si256(
        _mm256_cmpgt_epi32(pattern(FX8_FLOAT_NORMAL), least),
        _mm256_cmpgt_epi32(most, pattern(FX8_FLOAT_INFINITY - 1)));
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(wrong));
}

FX8_INLINE __m256 divide_lanes(__m256 a, __m256 b)
{
    const __m256i sign = pattern(FX8_FLOAT_SIGN);
    const __m256i bits_a = _mm256_castps_si256(a);
    const __m256i bits_b = _mm256_castps_si256(b);
    const __m256 q = divide_mantissas(mantissa(bits_a), mantissa(bits_b));
    const __m256i size =
        _mm256_add_epi32(_mm256_castps_si256(q),
                         _mm256_sub_epi32(exponent(bits_a), exponent(bits_b)));
    const __m256 quotient = _mm256_castsi256_ps(_mm256_or_si256(
        size, _mm256_and_si256(_mm256_xor_si256(bits_a, bits_b), sign)));
    const unsigned lanes = outside(_mm256_andnot_si256(sign, bits_a),
                                   _mm256_andnot_si256(sign, bits_b), size);
    if (__builtin_expect(lanes != 0, 0))
        return repair(lanes, a, b, quotient);
    return quotient;
}

/** Fewer than LANES quotients; the other lanes divide one by one. */
static void divide_rest(size_t n, const float *a, const float *b, float *y)
{
    float some_a[LANES], some_b[LANES];
    for (size_t lane = 0; lane < LANES; lane++) {
        some_a[lane] = lane < n ? a[lane] : 1.0f;
        some_b[lane] = lane < n ? b[lane] : 1.0f;
    }
    _mm256_storeu_ps(
        some_a, divide_lanes(_mm256_loadu_ps(some_a), _mm256_loadu_ps(some_b)));
    for (size_t lane = 0; lane < n; lane++)
        y[lane] = some_a[lane];
}

static void divide_markstein(size_t n, const float *a, const float *b, float *y)
{
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        _mm256_storeu_ps(y + k, divide_lanes(_mm256_loadu_ps(a + k),
                                             _mm256_loadu_ps(b + k)));
    if (k < n)
        divide_rest(n - k, a + k, b + k, y + k);
}

void fx8_fill_divide_avx2(struct fx8_operations *operations)
{
    fx8_add_form(operations, "divide", "markstein", NULL, divide_markstein);
}

#else

void fx8_fill_divide_avx2(struct fx8_operations *operations)
{
    (void)operations;
}

#endif
