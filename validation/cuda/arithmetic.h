/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arithmetic.h -- the arithmetic intrinsics of CUDA that kernels use; part of
 * device.h, whose notes apply.
 */
#ifndef FX8_VALIDATION_CUDA_ARITHMETIC_H
#define FX8_VALIDATION_CUDA_ARITHMETIC_H

#include <fenv.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "validation/cuda/vectors.h"

/* --- integers ----------------------------------------------------------------
 */

/** Bytes of (b, a), a the lower four, selected by the nibbles of `which`; bit 3
 *  of a nibble asks for the byte's sign bit in all eight bits. */
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned which)
{
    const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
    unsigned result = 0;
    for (int k = 0; k < 4; ++k) {
        const unsigned nibble = which >> 4 * k & 15;
        unsigned byte = static_cast<unsigned>(bytes >> 8 * (nibble & 7)) & 255;
        if ((nibble & 8) != 0)
            byte = (byte & 128) != 0 ? 255 : 0;
        result |= byte << 8 * k;
    }
    return result;
}

/** The lower word of (high, low) shifted right by 0 to 31 bits. */
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits)
{
    const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
    return static_cast<unsigned>(both >> (bits & 31));
}

/** A function that uses only registers, so that checkers need not see it. */
#ifdef __clang__
#define HARNESS_UNCHECKED                                                      \
    __attribute__((no_sanitize("address", "undefined", "thread")))
#else
#define HARNESS_UNCHECKED                                                      \
    __attribute__((no_sanitize("address", "undefined", "thread"),              \
                   optimize("O3")))
#endif

namespace harness
{

/** c + sum of a[k] b[k], modulo 2^32 as on the device. */
template <class A, class B, int COUNT>
HARNESS_UNCHECKED uint32_t dot(const A *a, const B *b, uint32_t c)
{
    for (int k = 0; k < COUNT; ++k)
        c += static_cast<uint32_t>(a[k]) * static_cast<uint32_t>(b[k]);
    return c;
}

/** The dot product of COUNT elements of A in the word `a` with as many of B in
 *  the word `b`, from its element `first` on. */
template <class A, class B, int COUNT>
HARNESS_UNCHECKED int dot_words(int a, int b, int c, int first)
{
    A as[sizeof(int) / sizeof(A)];
    B bs[sizeof(int) / sizeof(B)];
    memcpy(as, &a, sizeof a);
    memcpy(bs, &b, sizeof b);
    return static_cast<int>(
        dot<A, B, COUNT>(as, bs + first, static_cast<uint32_t>(c)));
}

} // namespace harness

/** c + the products of four pairs of bytes. */
inline int __dp4a(int a, int b, int c)
{
    return harness::dot_words<int8_t, int8_t, 4>(a, b, c, 0);
}
/** c + the products of two 16-bit numbers and the lower two bytes of b. */
inline int __dp2a_lo(int a, int b, int c)
{
    return harness::dot_words<int16_t, int8_t, 2>(a, b, c, 0);
}
/** c + the products of two 16-bit numbers and the upper two bytes of b. */
inline int __dp2a_hi(int a, int b, int c)
{
    return harness::dot_words<int16_t, int8_t, 2>(a, b, c, 2);
}
/* --- bits and conversions
 * ------------------------------------------------------ */

inline unsigned __float_as_uint(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline float __uint_as_float(unsigned bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

namespace harness
{

/** A rounded number as int: NaN gives 0, overflow the nearest limit. */
inline int float_to_int(float rounded)
{
    if (isnan(rounded))
        return 0;
    if (rounded >= 0x1p31f)
        return INT_MAX;
    return rounded < -0x1p31f ? INT_MIN : static_cast<int>(rounded);
}

/** Set the rounding mode of floats and doubles; returns the value that restores
 *  the previous one.  fesetround() also sets the mode of x87, which is unused
 *  here, and took most of the time of a directed kernel. */
#ifdef __SSE2__
/** MXCSR has the modes of fenv.h, three bits higher. */
constexpr unsigned ROUNDING_BITS = FE_TOWARDZERO << 3;
inline unsigned set_rounding(int mode)
{
    const unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr((before & ~ROUNDING_BITS) |
                           static_cast<unsigned>(mode) << 3);
    return before;
}
inline void restore_rounding(unsigned before)
{
    __builtin_ia32_ldmxcsr(before);
}
#else
inline int set_rounding(int mode)
{
    const int before = fegetround();
    fesetround(mode);
    return before;
}
inline void restore_rounding(int before)
{
    fesetround(before);
}
#endif

/** a b + c under a rounding mode.  What is volatile the compiler does not work
 *  out itself, nor move out. */
template <int MODE> float directed_fma(float a, float b, float c)
{
    const auto before = set_rounding(MODE);
    const volatile float x = a, y = b, z = c;
    const volatile float result = fmaf(x, y, z);
    restore_rounding(before);
    return result;
}

/** a + b under a rounding mode. */
template <int MODE> double directed_sum(double a, double b)
{
    const auto before = set_rounding(MODE);
    const volatile double x = a, y = b;
    const volatile double result = x + y;
    restore_rounding(before);
    return result;
}

} // namespace harness

inline int __float2int_rn(float x)
{
    return harness::float_to_int(rintf(x));
}
inline float __int2float_rn(int x)
{
    return static_cast<float>(x);
}

/* --- floats: rounded as the name says
 * -------------------------------------------- */

inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
inline float __fadd_rn(float a, float b)
{
    return a + b;
}
inline float __fmul_rn(float a, float b)
{
    return a * b;
}
/** Correctly rounded except for one in 2^29: the root is a double first. */
inline float __frsqrt_rn(float x)
{
    return static_cast<float>(1 / sqrt(static_cast<double>(x)));
}

inline float __fmaf_rd(float a, float b, float c)
{
    return harness::directed_fma<FE_DOWNWARD>(a, b, c);
}
inline float __fmaf_ru(float a, float b, float c)
{
    return harness::directed_fma<FE_UPWARD>(a, b, c);
}
inline double __dadd_rd(double a, double b)
{
    return harness::directed_sum<FE_DOWNWARD>(a, b);
}
inline double __dadd_ru(double a, double b)
{
    return harness::directed_sum<FE_UPWARD>(a, b);
}

/* --- the smaller and the larger, as CUDA overloads them
 * --------------------------- */

#define FX8_MIN_MAX(type)                                                      \
    inline type min(type a, type b)                                            \
    {                                                                          \
        return b < a ? b : a;                                                  \
    }                                                                          \
    inline type max(type a, type b)                                            \
    {                                                                          \
        return a < b ? b : a;                                                  \
    }

FX8_MIN_MAX(int)
FX8_MIN_MAX(unsigned)
FX8_MIN_MAX(long)
FX8_MIN_MAX(unsigned long)
FX8_MIN_MAX(long long)
FX8_MIN_MAX(unsigned long long)

#undef FX8_MIN_MAX

inline float min(float a, float b)
{
    return fminf(a, b);
}
inline float max(float a, float b)
{
    return fmaxf(a, b);
}

#endif
