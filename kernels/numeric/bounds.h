/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bounds.h -- error bounds of all functions of kernels/numeric/.  Header
 * comments, tests and error tables refer to this file.
 *
 * FX8_NUMERIC_BOUNDS(row) expands to one
 *
 *     row(device, function, form, max_ulp, max_relative, max_absolute,
 *         lowest, highest, note)
 *
 * per bound.  For every argument in [lowest, highest] with the exact value f,
 * the result y satisfies
 *
 *     (|y - f| <= max_ulp ulp(f)  and  |y - f| <= max_relative |f|)
 *     or  |y - f| <= max_absolute
 *
 * device    "host" (every variant the same) or "cuda" (compiled for a device)
 * function, form  names as in struct fx8_function_form
 * max_ulp   in units of the spacing of floats at f, 2^-149 where f is
 *           subnormal
 * max_relative  where f is a normal number
 * lowest, highest  of the argument, or of its magnitude if lowest is not
 *           negative; for two operands, of both and of their quotient
 *
 * Notes: 1) "ieee" is the C library's function unless a correctly rounded
 *           operation exists: the row is the measured error of that library
 *        2) `make numerics` measures all 2^32 arguments and writes
 *           validation/results/numerics-*.md: the bound is the maximum, rounded
 *           up in the fourth digit.  For atan2 it measures 2^30 of 2^64 pairs,
 *           and 1.5 % is added; quotients are proved to be correctly rounded
 *        3) bounds of device functions hold for every card and release of CUDA:
 *           the published ones.  `make numerics-gpu` measures a card: it may be
 *           better.  The guide counts ulps from the correctly rounded result,
 *           half an ulp less than from the exact one: 3.5 ulp here where it has
 *           3 (atanhf of CUDA 13.0 on an H200: 3.1504), 2.5 for __fdividef.
 *           2^-22.9 for rsqrt.approx, 2^-22 for lg2.approx.  "ieee" rsqrt is
 *           __frsqrt_rn, correctly rounded.  For "fast" atan2 and atanh, the
 *           errors of the quotient and of the logarithm are added to those of
 *           the host's form; atanh is log(q) / 2 with q >= 3, so a relative
 *           error of q shrinks
 * Source: published bounds: CUDA C++ Programming Guide, "Mathematical
 *         Functions"; PTX ISA, "Floating Point Instructions"; N. Juffa,
 *         "Hardware-accelerated tanh() on Turing", NVIDIA developer forums
 *         173291 (2021)
 */
#ifndef FX8_KERNELS_NUMERIC_BOUNDS_H
#define FX8_KERNELS_NUMERIC_BOUNDS_H

#include <float.h>

/** The rows, one a line; see above. */
/* clang-format off */
#define FX8_NUMERIC_BOUNDS(row)                                                \
    row("host", "reciprocal", "ieee", 0.5, 5.961e-8, 0, -FLT_MAX, FLT_MAX, "") \
    row("host", "reciprocal", "fast", 0.5, 5.961e-8, 0, -FLT_MAX, FLT_MAX, "") \
    row("host", "rsqrt", "ieee", 0.5001, 5.961e-8, 0, 0, FLT_MAX, "")          \
    row("host", "rsqrt", "fast", 1.491, 8.941e-8, 0, 0, FLT_MAX, "")           \
    row("host", "sin_turns", "ieee", 0.5001, 5.961e-8, 0, -FLT_MAX, FLT_MAX, "") \
    row("host", "sin_turns", "fast", 1.426, 8.833e-8, 0, -FLT_MAX, FLT_MAX, "") \
    row("host", "cos_turns", "ieee", 0.5001, 5.96e-8, 0, -FLT_MAX, FLT_MAX, "") \
    row("host", "cos_turns", "fast", 1.47, 1.087e-7, 0, -FLT_MAX, FLT_MAX, "") \
    row("host", "exp2", "ieee", 0.5017, 5.961e-8, 0, -FLT_MAX, FLT_MAX, "")    \
    row("host", "exp2", "fast", 0.8784, 6.737e-8, 0, -FLT_MAX, FLT_MAX, "")    \
    row("host", "log2", "ieee", 0.7518, 8.335e-8, 0, 0, FLT_MAX, "")           \
    row("host", "log2", "fast", 1.749, 1.325e-7, 0, FLT_MIN, FLT_MAX, "subnormal arguments count as 0") \
    row("host", "log10", "ieee", 2.065, 1.505e-7, 0, 0, FLT_MAX, "")           \
    row("host", "log10", "fast", 1.463, 1.128e-7, 0, FLT_MIN, FLT_MAX, "subnormal arguments count as 0") \
    row("host", "tanh", "ieee", 2.189, 1.689e-7, 0, -FLT_MAX, FLT_MAX, "")     \
    row("host", "tanh", "fast", 1.669, 1.819e-7, 0, -FLT_MAX, FLT_MAX, "")     \
    row("host", "tanh", "ex2", 89.48, 8.334e-6, 0, -FLT_MAX, FLT_MAX, "")      \
    row("host", "atanh", "ieee", 1.723, 1.345e-7, 0, -1, 1, "")                \
    row("host", "atanh", "fast", 2.604, 2.175e-7, 0, -1, 1, "")                \
    row("host", "divide", "ieee", 0.5, 5.961e-8, 0, -FLT_MAX, FLT_MAX, "")     \
    row("host", "divide", "fast", 0.5, 5.961e-8, 0, -FLT_MAX, FLT_MAX, "")     \
    row("host", "divide", "markstein", 0.5, 5.961e-8, 0, -FLT_MAX, FLT_MAX, "") \
    row("host", "atan2", "ieee", 1.519, 1.282e-7, 0, -FLT_MAX, FLT_MAX, "")    \
    row("host", "atan2", "fast", 2.055, 1.559e-7, 0, -FLT_MAX, FLT_MAX, "")    \
    row("cuda", "rsqrt", "ieee", 0.5001, 5.961e-8, 0, FLT_MIN, FLT_MAX, "correctly rounded") \
    row("cuda", "rsqrt", "fast", 2.15, 1.278e-7, 0, FLT_MIN, FLT_MAX, "published") \
    row("cuda", "atanh", "ieee", 3.5, 4.173e-7, 0, -1, 1, "published")         \
    row("cuda", "atanh", "fast", 10, 6e-7, 0, -1, 1, "composed of published ones") \
    row("cuda", "atan2", "ieee", 3.5, 4.173e-7, 0, -FLT_MAX, FLT_MAX, "published") \
    row("cuda", "atan2", "fast", 7, 4e-7, 0, -FLT_MAX, FLT_MAX, "composed of published ones") \
    row("cuda", "tanh", "hardware", 133.96, 1.113e-5, 0, -FLT_MAX, FLT_MAX, "published for sm_75")
/* clang-format on */

#endif
