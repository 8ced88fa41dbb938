/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * divide_simd.c -- fx8_divide() for the lanes of a register.  The seed is the
 * CPU's approximate reciprocal: |b s0 - 1| <= 1.5 2^-12 with AVX2, just enough
 * for the refinement of kernels/numeric/divide.h; 2^-14 with AVX-512.
 *
 * The variants differ in how they split a number into sign, mantissa and
 * exponent and in what takes the slow path.  AVX2 uses the bits of the number;
 * everything but normal numbers and quotients takes the slow path.  AVX-512 has
 * instructions for splitting and scaling that handle zeros, infinities, NaN and
 * subnormal numbers: mantissas of zero and infinity are 1, their exponents
 * -infinity and infinity, and the difference of exponents gives the correct
 * quotient (0 x 2^anything, NaN for 0/0 and infinity/infinity).  Only subnormal
 * quotients take the slow path.
 */
#include "kernels/cpu/function_forms.h"
#include "kernels/cpu/variants.h"
#include "kernels/cpu/vector.h"
#include "kernels/numeric/divide.h"

/** The quotients of the lanes whose bit is set, one by one. */
static __attribute__((noinline, cold)) vec_float repair(unsigned lanes,
                                                        vec_float a,
                                                        vec_float b,
                                                        vec_float quotient)
{
    float each_a[VEC_LANES], each_b[VEC_LANES], each[VEC_LANES];
    VEC(storeu_ps)(each_a, a);
    VEC(storeu_ps)(each_b, b);
    VEC(storeu_ps)(each, quotient);
    for (; lanes != 0; lanes &= lanes - 1) {
        const int lane = __builtin_ctz(lanes);
        each[lane] = fx8_divide_slow(each_a[lane], each_b[lane]);
    }
    return VEC(loadu_ps)(each);
}

FX8_INLINE vec_float newton(vec_float b, vec_float s)
{
    return VEC(fmadd_ps)(s, VEC(fnmadd_ps)(b, s, VEC(set1_ps)(1.0f)), s);
}

/** a / b of mantissas in [1, 2), any sign of a; `seed` is about 1 / b. */
FX8_INLINE vec_float divide_mantissas(vec_float a, vec_float b, vec_float seed)
{
    const vec_float s = newton(b, seed);
    const vec_float r =
        VEC(max_ps)(newton(b, s), VEC(set1_ps)(FX8_DIVIDE_LEAST_RECIPROCAL));
    const vec_float q0 = a * r;
    return VEC(fmadd_ps)(VEC(fnmadd_ps)(b, q0, a), r, q0);
}

FX8_INLINE vec_int pattern(uint32_t bits)
{
    return VEC(set1_epi32)((int)bits);
}

#if defined(__AVX512VNNI__)

/** A bit for each lane whose quotient, in (1/2, 2) 2^scale, may be subnormal;
 *  below 2^-150 it is correctly rounded to zero. */
FX8_INLINE unsigned outside(__m512 scale)
{
    const __mmask16 is_low =
        _mm512_cmp_ps_mask(scale, _mm512_set1_ps(-126.0f), _CMP_LE_OQ);
    return _mm512_mask_cmp_ps_mask(is_low, scale, _mm512_set1_ps(-150.0f),
                                   _CMP_GE_OQ);
}

/** Quotients, correct in the lanes whose bit is not set in `slow`. */
FX8_INLINE vec_float divide_fast(vec_float a, vec_float b, unsigned *slow)
{
    const __m512 mantissa =
        _mm512_getmant_ps(b, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);
    const __m512 q = divide_mantissas(
        _mm512_getmant_ps(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src), mantissa,
        _mm512_rcp14_ps(mantissa));
    const __m512 scale = _mm512_getexp_ps(a) - _mm512_getexp_ps(b);
    *slow = outside(scale);
    return (vec_float)((vec_int)_mm512_scalef_ps(q, scale) ^
                       ((vec_int)b & pattern(FX8_FLOAT_SIGN)));
}

#else

FX8_INLINE __m256 mantissa(__m256i bits)
{
    return (__m256)((bits & pattern(FX8_FLOAT_MANTISSA)) |
                    pattern(FX8_FLOAT_ONE));
}

/** A bit for each lane where one of three sizes is not that of a normal
 *  number; as signed integers, where an overflown exponent is negative. */
FX8_INLINE unsigned outside(__m256i a, __m256i b, __m256i quotient)
{
    const __m256i least = _mm256_min_epi32(_mm256_min_epi32(a, b), quotient);
    const __m256i most = _mm256_max_epi32(_mm256_max_epi32(a, b), quotient);
    return (unsigned)_mm256_movemask_ps(
        (__m256)(_mm256_cmpgt_epi32(pattern(FX8_FLOAT_NORMAL), least) |
                 _mm256_cmpgt_epi32(most, pattern(FX8_FLOAT_INFINITY - 1))));
}

/** Quotients, correct in the lanes whose bit is not set in `slow`. */
FX8_INLINE vec_float divide_fast(vec_float a, vec_float b, unsigned *slow)
{
    const __m256i sign = pattern(FX8_FLOAT_SIGN);
    const __m256i exponent = pattern(FX8_FLOAT_EXPONENT);
    const __m256i bits_a = (__m256i)a, bits_b = (__m256i)b;
    const __m256 divisor = mantissa(bits_b);
    const __m256 q =
        divide_mantissas(mantissa(bits_a), divisor, _mm256_rcp_ps(divisor));
    const __m256i size = _mm256_add_epi32(
        (__m256i)q, _mm256_sub_epi32(bits_a & exponent, bits_b & exponent));
    *slow = outside(bits_a & ~sign, bits_b & ~sign, size);
    return (vec_float)(size | ((bits_a ^ bits_b) & sign));
}

#endif

FX8_INLINE vec_float divide_lanes(vec_float a, vec_float b)
{
    unsigned slow;
    const vec_float quotient = divide_fast(a, b, &slow);
    if (__builtin_expect(slow != 0, 0))
        return repair(slow, a, b, quotient);
    return quotient;
}

static void divide_markstein(size_t n, const float *a, const float *b, float *y)
{
    size_t k = 0;
    for (; k + VEC_LANES <= n; k += VEC_LANES)
        VEC(storeu_ps)
    (y + k, divide_lanes(VEC(loadu_ps)(a + k), VEC(loadu_ps)(b + k)));
    if (k < n) {
        const vec_float one = VEC(set1_ps)(1.0f);
        vec_store_first(n - k, y + k,
                        divide_lanes(vec_load_first(n - k, a + k, one),
                                     vec_load_first(n - k, b + k, one)));
    }
}

void FX8_VARIANT(fx8_fill_divide)(struct fx8_operations *operations)
{
    fx8_add_form(operations, "divide", "markstein", NULL, divide_markstein);
}
