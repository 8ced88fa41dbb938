/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * divide_avx512.c -- fx8_divide() for sixteen lanes; the seed is the 14-bit
 * reciprocal of the CPU, |b s0 - 1| <= 2^-14.
 *
 * Splitting and scaling are instructions here, and they know zeros,
 * infinities, NaN and subnormal numbers: mantissas of zero and infinity are 1,
 * their exponents -infinity and infinity, and what the difference of exponents
 * makes of them (0 x 2^anything, NaN of 0/0 and infinity/infinity) is what the
 * quotient is.  Only subnormal quotients are left for the slow path.
 */
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/function_forms.h"
#include "kernels/cpu/simd.h"
#include "kernels/numeric/divide.h"

#define LANES 16

/* x ^ (y & z) of a ternary operation. */
#define XOR_AND 0x78

/** The quotients of the lanes whose bit is set, one by one. */
static __attribute__((noinline, cold)) __m512 repair(unsigned lanes, __m512 a,
                                                     __m512 b, __m512 quotient)
{
    float each_a[LANES], each_b[LANES], each[LANES];
    _mm512_storeu_ps(each_a, a);
    _mm512_storeu_ps(each_b, b);
    _mm512_storeu_ps(each, quotient);
    for (; lanes != 0; lanes &= lanes - 1) {
        const int lane = __builtin_ctz(lanes);
        each[lane] = fx8_divide_slow(each_a[lane], each_b[lane]);
    }
    return _mm512_loadu_ps(each);
}

FX8_INLINE __m512 newton(__m512 b, __m512 s)
{
    return _mm512_fmadd_ps(s, _mm512_fnmadd_ps(b, s, _mm512_set1_ps(1.0f)), s);
}

/** a / b of mantissas in [1, 2), any sign of a. */
FX8_INLINE __m512 divide_mantissas(__m512 a, __m512 b)
{
    const __m512 s = newton(b, _mm512_rcp14_ps(b));
    const __m512 r = _mm512_max_ps(newton(b, s),
                                   _mm512_set1_ps(FX8_DIVIDE_LEAST_RECIPROCAL));
    const __m512 q0 = _mm512_mul_ps(a, r);
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(b, q0, a), r, q0);
}

/** A bit for each lane whose quotient, in (1/2, 2) 2^scale, may be subnormal;
 *  below 2^-150 it is rounded to zero as it should be. */
FX8_INLINE unsigned outside(__m512 scale)
{
    const __mmask16 is_low =
        _mm512_cmp_ps_mask(scale, _mm512_set1_ps(-126.0f), _CMP_LE_OQ);
    return _mm512_mask_cmp_ps_mask(is_low, scale, _mm512_set1_ps(-150.0f),
                                   _CMP_GE_OQ);
}

/** x with its sign changed where y is negative. */
FX8_INLINE __m512 flip_sign(__m512 x, __m512 y)
{
    const __m512i sign = _mm512_set1_epi32((int)FX8_FLOAT_SIGN);
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
        _mm512_castps_si512(x), _mm512_castps_si512(y), sign, XOR_AND));
}

FX8_INLINE __m512 divide_lanes(__m512 a, __m512 b)
{
    const __m512 q = divide_mantissas(
        _mm512_getmant_ps(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src),
        _mm512_getmant_ps(b, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero));
    const __m512 scale =
        _mm512_sub_ps(_mm512_getexp_ps(a), _mm512_getexp_ps(b));
    const __m512 quotient = flip_sign(_mm512_scalef_ps(q, scale), b);
    const unsigned lanes = outside(scale);
    if (__builtin_expect(lanes != 0, 0))
        return repair(lanes, a, b, quotient);
    return quotient;
}

static void divide_markstein(size_t n, const float *a, const float *b, float *y)
{
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        _mm512_storeu_ps(y + k, divide_lanes(_mm512_loadu_ps(a + k),
                                             _mm512_loadu_ps(b + k)));
    if (k == n)
        return;
    const __mmask16 rest = (__mmask16)((1u << (n - k)) - 1);
    const __m512 one = _mm512_set1_ps(1.0f);
    _mm512_mask_storeu_ps(y + k, rest,
                          divide_lanes(_mm512_mask_loadu_ps(one, rest, a + k),
                                       _mm512_mask_loadu_ps(one, rest, b + k)));
}

void fx8_fill_divide_avx512(struct fx8_operations *operations)
{
    fx8_add_form(operations, "divide", "markstein", NULL, divide_markstein);
}

#else

void fx8_fill_divide_avx512(struct fx8_operations *operations)
{
    (void)operations;
}

#endif
