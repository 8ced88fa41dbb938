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

inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
inline int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
inline int __mulhi(int a, int b)
{
    return static_cast<int>((static_cast<int64_t>(a) * b) >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b)
{
    return static_cast<unsigned>((static_cast<uint64_t>(a) * b) >> 32);
}

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

/** The upper word of (high, low) shifted left, by less than 32. */
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by)
{
    const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
    return static_cast<unsigned>((both << (by & 31)) >> 32);
}

/** The lower word of (high, low) shifted right, by less than 32. */
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by)
{
    const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
    return static_cast<unsigned>(both >> (by & 31));
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
template <class A, class B, int COUNT, class Word>
HARNESS_UNCHECKED Word dot_words(Word a, Word b, Word c, int first)
{
    A as[sizeof(Word) / sizeof(A)];
    B bs[sizeof(Word) / sizeof(B)];
    memcpy(as, &a, sizeof a);
    memcpy(bs, &b, sizeof b);
    return static_cast<Word>(
        dot<A, B, COUNT>(as, bs + first, static_cast<uint32_t>(c)));
}

} // namespace harness

/** c + the products of four pairs of bytes. */
inline int __dp4a(int a, int b, int c)
{
    return harness::dot_words<int8_t, int8_t, 4>(a, b, c, 0);
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    return harness::dot_words<uint8_t, uint8_t, 4>(a, b, c, 0);
}

/** c + the products of two 16-bit numbers and the lower two bytes of b. */
inline int __dp2a_lo(int a, int b, int c)
{
    return harness::dot_words<int16_t, int8_t, 2>(a, b, c, 0);
}
inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c)
{
    return harness::dot_words<uint16_t, uint8_t, 2>(a, b, c, 0);
}

/** c + the products of two 16-bit numbers and the upper two bytes of b. */
inline int __dp2a_hi(int a, int b, int c)
{
    return harness::dot_words<int16_t, int8_t, 2>(a, b, c, 2);
}
inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c)
{
    return harness::dot_words<uint16_t, uint8_t, 2>(a, b, c, 2);
}

/* --- bits and conversions
 * ------------------------------------------------------ */

/** Define `name`, which returns the bits of a `From` as a `To`. */
#define FX8_REINTERPRET(name, To, From)                                        \
    inline To name(From x)                                                     \
    {                                                                          \
        To y;                                                                  \
        static_assert(sizeof y == sizeof x, "bits of the same number");        \
        memcpy(&y, &x, sizeof y);                                              \
        return y;                                                              \
    }

FX8_REINTERPRET(__float_as_int, int, float)
FX8_REINTERPRET(__float_as_uint, unsigned, float)
FX8_REINTERPRET(__int_as_float, float, int)
FX8_REINTERPRET(__uint_as_float, float, unsigned)
FX8_REINTERPRET(__double_as_longlong, long long, double)
FX8_REINTERPRET(__longlong_as_double, double, long long)

#undef FX8_REINTERPRET

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

inline unsigned float_to_uint(float rounded)
{
    if (isnan(rounded) || rounded <= 0)
        return 0;
    return rounded >= 0x1p32f ? UINT_MAX : static_cast<unsigned>(rounded);
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

/** `operation` under the given rounding mode; volatile stops the compiler from
 *  moving it out. */
template <class Operation> auto rounded(int mode, Operation operation)
{
    const auto before = set_rounding(mode);
    const volatile auto result = operation();
    restore_rounding(before);
    return result;
}

} // namespace harness

inline int __float2int_rn(float x)
{
    return harness::float_to_int(rintf(x));
}
inline int __float2int_rz(float x)
{
    return harness::float_to_int(truncf(x));
}
inline int __float2int_rd(float x)
{
    return harness::float_to_int(floorf(x));
}
inline int __float2int_ru(float x)
{
    return harness::float_to_int(ceilf(x));
}
inline unsigned __float2uint_rn(float x)
{
    return harness::float_to_uint(rintf(x));
}
inline unsigned __float2uint_rz(float x)
{
    return harness::float_to_uint(truncf(x));
}
inline float __int2float_rn(int x)
{
    return static_cast<float>(x);
}
inline float __uint2float_rn(unsigned x)
{
    return static_cast<float>(x);
}
inline float __ll2float_rn(long long x)
{
    return static_cast<float>(x);
}
inline float __double2float_rn(double x)
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
inline float __fsub_rn(float a, float b)
{
    return a - b;
}
inline float __fmul_rn(float a, float b)
{
    return a * b;
}
inline float __fdiv_rn(float a, float b)
{
    return a / b;
}
inline float __frcp_rn(float x)
{
    return 1 / x;
}
inline float __fsqrt_rn(float x)
{
    return sqrtf(x);
}
/** Correctly rounded except for one in 2^29: the root is a double first. */
inline float __frsqrt_rn(float x)
{
    return static_cast<float>(1 / sqrt(static_cast<double>(x)));
}

/** The operations with directed rounding. Operands are opaque to the compiler,
 *  which would otherwise round at compile time. */
#define FX8_DIRECTED(suffix, mode)                                             \
    inline float __fmaf_##suffix(float a, float b, float c)                    \
    {                                                                          \
        const volatile float x = a, y = b, z = c;                              \
        return harness::rounded(mode, [&] { return fmaf(x, y, z); });          \
    }                                                                          \
    inline float __fadd_##suffix(float a, float b)                             \
    {                                                                          \
        const volatile float x = a, y = b;                                     \
        return harness::rounded(mode, [&] { return x + y; });                  \
    }                                                                          \
    inline float __fmul_##suffix(float a, float b)                             \
    {                                                                          \
        const volatile float x = a, y = b;                                     \
        return harness::rounded(mode, [&] { return x * y; });                  \
    }                                                                          \
    inline double __dadd_##suffix(double a, double b)                          \
    {                                                                          \
        const volatile double x = a, y = b;                                    \
        return harness::rounded(mode, [&] { return x + y; });                  \
    }

FX8_DIRECTED(rd, FE_DOWNWARD)
FX8_DIRECTED(ru, FE_UPWARD)
FX8_DIRECTED(rz, FE_TOWARDZERO)

#undef FX8_DIRECTED

inline float __saturatef(float x)
{
    return x > 0 ? (x < 1 ? x : 1.0F) : 0.0F;
}

/* --- floats: approximate on the device
 * ------------------------------------------- */

inline float __fdividef(float a, float b)
{
    return a / b;
}
inline float __expf(float x)
{
    return expf(x);
}
inline float __logf(float x)
{
    return logf(x);
}
inline float __log2f(float x)
{
    return log2f(x);
}
inline float __log10f(float x)
{
    return log10f(x);
}
inline float __sinf(float x)
{
    return sinf(x);
}
inline float __cosf(float x)
{
    return cosf(x);
}
inline void __sincosf(float x, float *sine, float *cosine)
{
    *sine = sinf(x);
    *cosine = cosf(x);
}
inline float rsqrtf(float x)
{
    return static_cast<float>(1 / sqrt(static_cast<double>(x)));
}

/** Sine and cosine of pi x; exact reduction, then the C library. */
inline void sincospif(float x, float *sine, float *cosine)
{
    const double pi = 3.14159265358979323846;
    const double reduced = remainder(static_cast<double>(x), 2.0) * pi;
    *sine = static_cast<float>(sin(reduced));
    *cosine = static_cast<float>(cos(reduced));
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
