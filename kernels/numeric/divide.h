/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * divide.h -- a / b in single precision, correctly rounded without a divider:
 * refine an approximate reciprocal by fused multiply-adds, then correct a
 * nearly right quotient by its residual (Markstein).
 *
 * Every pair of floats gives the IEEE 754 result, to nearest even: normal,
 * subnormal, zero, infinity, overflow and underflow.  All NaNs are equivalent.
 * Exception flags are not set as a divider would set them.
 *
 * Below, A and B are the mantissas in [1, 2) for any exponents of a and b,
 * b = 2^23 B is an integer, and u = 2^-24 is the spacing of floats in [1/2, 1).
 *
 * The fast path: a machine-dependent s0 with |B s0 - 1| <= 1.5 2^-12, then
 *
 *     s  = s0 (+) s0 (1 (-) B s0)         two such steps, each (.) one fma
 *     r  = s  (+) s  (1 (-) B s), at least 1/2 + u
 *     q0 = A r
 *     q  = q0 (+) r (A (-) B q0)
 *
 * Range:  a and b normal numbers and the quotient a normal number.  A and B
 *         are then the mantissa fields, A / B lies in (1/2, 2), and the
 *         exponents are subtracted as integers, which is exact.  None of the
 *         intermediate values can overflow or underflow: the smallest that is
 *         not zero is a residual, a multiple of 2^-47.  A subnormal operand
 *         has no such field.  A subnormal quotient must be rounded once, at
 *         its own last place; a float q would be rounded twice.
 *
 * Why q is right:
 *      1) s lies between 1/B - (2.25 / B + 1/2) u and 1/B + u / 2 (apart from
 *         2^-12 u, the rounding of 1 - B s0): the error of a Newton step is
 *         minus the square of the error before it, (1.5 2^-12)^2 = 2.25 u.
 *         For each of the 2^23 values of B, and every float s in that
 *         interval, r meets
 *             |B r - 1| < 1 / (b + 1)     and     |r - 1/B| <= u/2 (1 + 2^-17)
 *         by trial (test_divide.c), whatever unit gave s0.  The bound 1/2 + u
 *         is there for b = 2^24 - 1: 1/B lies just above the middle of 1/2 and
 *         1/2 + u, a Newton step may end just below it, and no reciprocal of
 *         a B < 2 is rounded to less.
 *      2) Write Q = A / B, U for the spacing of floats around Q (2u from 1 on)
 *         and m for a midpoint of two of them.  m is an odd multiple of U/2:
 *         A - m B is an integer multiple of U 2^-24, and not zero, as b has
 *         not 24 factors of two.  Hence |Q - m| >= U / (2b).
 *      3) q is the rounding of Q + (Q - q0) (B r - 1) where A - B q0 is exact,
 *         as it is where |Q - q0| <= U: a multiple of U 2^-23 up to U B < 2 U.
 *         It can differ from the rounding of Q only if a midpoint m lies
 *         between the two (or on the first).  No binade is crossed except to
 *         reach 1: A > B gives Q > 1 + u and q0 >= 1, A < B gives Q < 1 - u and
 *         q0 <= 1, and for A = B the last step turns even 1 - u into 1.
 *      4) If q0 is a neighbour of m, |Q - q0| <= U/2 + |Q - m|, and by 1) the
 *         two are less than (U/2 + |Q - m|) / (b + 1) apart, which by 2) is
 *         at most |Q - m|: m does not lie between them.
 *      5) Else |Q - q0| is nearly 3/2 U at least.  But |Q - q0| <= A |r - 1/B|
 *         + U/2, which is below (1 + 2^-17) U from Q = 1 on.  Below 1, where
 *         U = u and A < B, it needs A >= 2 - 2^-15; Q = 1 - (B - A) / B is
 *         then within 2^-6 U of a float, a multiple of u, while a midpoint
 *         that mattered would be within 2^-21 U, the inexact residual (an
 *         error of 2^-47) included.
 *
 * The slow path divides integers bit by bit, and is a function of its own.
 *
 * Source: P. Markstein, "Computation of elementary functions on the IBM RISC
 *         System/6000 processor", IBM J. Res. Dev. 34 (1990) 111
 */
#ifndef FX8_KERNELS_NUMERIC_DIVIDE_H
#define FX8_KERNELS_NUMERIC_DIVIDE_H

#include "kernels/numeric/target.h"

#if defined(__CUDACC__)
/** A seldom called function, not inlined. */
#define FX8_NUMERIC_SLOW static __host__ __device__ __noinline__
#else
/** A seldom called function, not inlined. */
#define FX8_NUMERIC_SLOW static __attribute__((noinline, cold, unused))
#endif

/* Parts of a float, and the bits of the smallest normal number, one and
 * infinity. */
#define FX8_FLOAT_SIGN      0x80000000u
#define FX8_FLOAT_MAGNITUDE 0x7fffffffu
#define FX8_FLOAT_EXPONENT  0x7f800000u
#define FX8_FLOAT_MANTISSA  0x007fffffu
#define FX8_FLOAT_NORMAL    0x00800000u
#define FX8_FLOAT_ONE       0x3f800000u
#define FX8_FLOAT_INFINITY  0x7f800000u

/** 1/2 + u: no rounded reciprocal of a mantissa is smaller. */
#define FX8_DIVIDE_LEAST_RECIPROCAL 0x1.000002p-1f

/* --- the fast path: mantissas in [1, 2) --------------------------------- */

/**
 * fx8_divide_seed -- s0 near 1 / b, |b s0 - 1| <= 1.5 2^-12.
 *
 * Numerics: on the device the reciprocal of the multi-function unit (absolute
 *           error 2^-23, PTX ISA).  On the host the polynomial of degree 4
 *           with 1 - b s0 = T5(2b - 3) / T5(-3), T5 a Chebyshev polynomial: it
 *           has the smallest relative error of its degree, 1 / 3363
 */
FX8_NUMERIC float fx8_divide_seed(float b)
{
#if defined(__CUDA_ARCH__)
    return fx8_ptx_rcp(b);
#else
    float s = (float)(512.0 / 3363);
    s = fx8_add(fx8_mul(s, b), (float)(-3840.0 / 3363));
    s = fx8_add(fx8_mul(s, b), (float)(11360.0 / 3363));
    s = fx8_add(fx8_mul(s, b), (float)(-16560.0 / 3363));
    return fx8_add(fx8_mul(s, b), (float)(11890.0 / 3363));
#endif
}

/** A Newton step from s near 1 / b. */
FX8_NUMERIC float fx8_divide_newton(float b, float s)
{
    return fx8_fma(s, fx8_fma(-b, s, 1.0f), s);
}

/** r from s: the last step, with its lower bound. */
FX8_NUMERIC float fx8_divide_reciprocal(float b, float s)
{
    const float r = fx8_divide_newton(b, s);
#if defined(__CUDA_ARCH__)
    return fmaxf(r, FX8_DIVIDE_LEAST_RECIPROCAL);
#else
    return r > FX8_DIVIDE_LEAST_RECIPROCAL ? r : FX8_DIVIDE_LEAST_RECIPROCAL;
#endif
}

/** a / b from r; any sign of a. */
FX8_NUMERIC float fx8_divide_mantissas(float a, float b, float r)
{
    const float q0 = fx8_mul(a, r);
    return fx8_fma(fx8_fma(-b, q0, a), r, q0);
}

/* --- the slow path: any operands, in integers --------------------------- */

/** A finite nonzero magnitude: mantissa 2^(exponent - 150). */
struct fx8_float_parts {
    uint32_t mantissa; /**< [2^23, 2^24) */
    int32_t exponent;  /**< as in the float, below 1 where it is subnormal */
};

/** The parts of a magnitude, as bits. */
FX8_NUMERIC struct fx8_float_parts fx8_float_split(uint32_t magnitude)
{
    struct fx8_float_parts parts;
    parts.mantissa = magnitude & FX8_FLOAT_MANTISSA;
    parts.exponent = (int32_t)(magnitude >> 23);
    if (parts.exponent > 0) {
        parts.mantissa |= FX8_FLOAT_NORMAL;
        return parts;
    }
    parts.exponent = 1;
    while (parts.mantissa < FX8_FLOAT_NORMAL) {
        parts.mantissa <<= 1;
        parts.exponent--;
    }
    return parts;
}

/** The bits of a / b, rounded once at its last place, subnormal or not. */
FX8_NUMERIC uint32_t fx8_divide_parts(struct fx8_float_parts a,
                                      struct fx8_float_parts b)
{
    int32_t exponent = a.exponent - b.exponent + 127;
    uint32_t remainder = a.mantissa;
    if (remainder < b.mantissa) {
        remainder <<= 1;
        exponent--;
    }
    if (exponent > 254)
        return FX8_FLOAT_INFINITY;
    if (exponent < -23) /* less than half of the smallest number */
        return 0;
    /* 24 bits, a guard bit and a sticky bit */
    uint32_t quotient = 0;
    for (int place = 0; place < 26; place++) {
        const uint32_t bit = remainder >= b.mantissa;
        quotient = quotient << 1 | bit;
        remainder = (remainder - (b.mantissa & (0u - bit))) << 1;
    }
    quotient |= remainder != 0;
    uint32_t field = 0;
    if (exponent >= 1) {
        field = (uint32_t)(exponent - 1) << 23;
    } else {
        const uint32_t kept = quotient >> (1 - exponent);
        const uint32_t is_inexact = kept << (1 - exponent) != quotient;
        quotient = kept | is_inexact;
    }
    const uint32_t is_odd = quotient >> 2 & 1;
    return field + ((quotient + 1 + is_odd) >> 2);
}

/** a / b for any operands. */
FX8_NUMERIC_SLOW float fx8_divide_slow(float a, float b)
{
    const uint32_t bits_a = fx8_float_bits(a), bits_b = fx8_float_bits(b);
    const uint32_t sign = (bits_a ^ bits_b) & FX8_FLOAT_SIGN;
    const uint32_t size_a = bits_a & FX8_FLOAT_MAGNITUDE;
    const uint32_t size_b = bits_b & FX8_FLOAT_MAGNITUDE;
    if (size_a > FX8_FLOAT_INFINITY || size_b > FX8_FLOAT_INFINITY ||
        (size_a == 0 && size_b == 0) ||
        (size_a == FX8_FLOAT_INFINITY && size_b == FX8_FLOAT_INFINITY))
        return fx8_bits_float(0x7fc00000u);
    if (size_a == 0 || size_b == FX8_FLOAT_INFINITY)
        return fx8_bits_float(sign);
    if (size_b == 0 || size_a == FX8_FLOAT_INFINITY)
        return fx8_bits_float(sign | FX8_FLOAT_INFINITY);
    return fx8_bits_float(sign | fx8_divide_parts(fx8_float_split(size_a),
                                                  fx8_float_split(size_b)));
}

/* --- both --------------------------------------------------------------- */

/** Whether these bits, without sign, are a normal number.  False for a quotient
 *  whose exponent does not fit its field. */
FX8_NUMERIC int fx8_is_normal_size(uint32_t size)
{
    return size - FX8_FLOAT_NORMAL < FX8_FLOAT_INFINITY - FX8_FLOAT_NORMAL;
}

/**
 * fx8_divide -- a / b, correctly rounded.
 *
 * Notes: the fast path is computed for all operands; its result is discarded
 *        where it is not valid
 */
FX8_NUMERIC float fx8_divide(float a, float b)
{
    const uint32_t bits_a = fx8_float_bits(a), bits_b = fx8_float_bits(b);
    const uint32_t size_a = bits_a & FX8_FLOAT_MAGNITUDE;
    const uint32_t size_b = bits_b & FX8_FLOAT_MAGNITUDE;
    const float mantissa_a =
        fx8_bits_float((bits_a & FX8_FLOAT_MANTISSA) | FX8_FLOAT_ONE);
    const float mantissa_b =
        fx8_bits_float((bits_b & FX8_FLOAT_MANTISSA) | FX8_FLOAT_ONE);
    const float s = fx8_divide_newton(mantissa_b, fx8_divide_seed(mantissa_b));
    const float q = fx8_divide_mantissas(mantissa_a, mantissa_b,
                                         fx8_divide_reciprocal(mantissa_b, s));
    const uint32_t size = fx8_float_bits(q) + (size_a & FX8_FLOAT_EXPONENT) -
                          (size_b & FX8_FLOAT_EXPONENT);
    if (__builtin_expect(!(fx8_is_normal_size(size_a) &
                           fx8_is_normal_size(size_b) &
                           fx8_is_normal_size(size)),
                         0))
        return fx8_divide_slow(a, b);
    return fx8_bits_float(size | ((bits_a ^ bits_b) & FX8_FLOAT_SIGN));
}

#endif
