/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bounds.h -- how wrong each function of kernels/numeric/ may be: the one
 * place that says so.  Header comments, tests and error tables refer to it.
 *
 * FX8_NUMERIC_BOUNDS(row) expands to one
 *
 *     row(device, function, form, max_ulp, max_relative, max_absolute,
 *         lowest, highest, note)
 *
 * per bound.  Against the exact value f, of every argument in [lowest,
 * highest], the result y satisfies
 *
 *     (|y - f| <= max_ulp ulp(f)  and  |y - f| <= max_relative |f|)
 *     or  |y - f| <= max_absolute
 *
 * device    "host" (every level the same) or "cuda" (compiled for a device)
 * function, form  names as in struct fx8_function_form
 * max_ulp   in units of the spacing of floats at f, 2^-149 where f is
 *           subnormal
 * max_relative  where f is a normal number
 * lowest, highest  of the argument, or of its magnitude where lowest is not
 *           negative; of both operands where there are two, and of their
 *           quotient
 *
 * Notes: 1) "ieee" is the C library's function where that is no correctly
 *           rounded operation: its row says what that library was measured at
 *        2) measured over all 2^32 arguments by `make numerics`, which writes
 *           validation/results/numerics-*.md: the bound is the maximum, rounded
 *           up in the fourth digit.  Those of atan2 are of 2^30 pairs out of
 *           2^64 and have 1.5 % added; quotients are proved to be correctly
 *           rounded
 *        3) the functions of a device are bounded by what is published of
 *           them until a card has measured them: ulps of the library's from its
 *           guide, 2 ulp of __fdividef, 2^-22.9 of rsqrt.approx, 2^-22 of
 *           lg2.approx.  Of atan2 and atanh, "fast", the errors of the quotient
 *           and of the logarithm are added to those of the host's form; atanh
 *           is log(q) / 2 with q >= 3, so that a relative error of q counts for
 *           less than itself
 * Source: CUDA C++ Programming Guide, "Mathematical Functions"; PTX ISA,
 *         "Floating Point Instructions"; N. Juffa, "Hardware-accelerated
 *         tanh() on Turing", NVIDIA developer forums 173291 (2021): for the
 *         published ones
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
    row("cuda", "rsqrt", "ieee", 2, 2.385e-7, 0, FLT_MIN, FLT_MAX, "published") \
    row("cuda", "rsqrt", "fast", 2.15, 1.278e-7, 0, FLT_MIN, FLT_MAX, "published") \
    row("cuda", "atanh", "ieee", 3, 3.577e-7, 0, -1, 1, "published")           \
    row("cuda", "atanh", "fast", 10, 6e-7, 0, -1, 1, "composed of published ones") \
    row("cuda", "atan2", "ieee", 3, 3.577e-7, 0, -FLT_MAX, FLT_MAX, "published") \
    row("cuda", "atan2", "fast", 7, 4e-7, 0, -FLT_MAX, FLT_MAX, "composed of published ones") \
    row("cuda", "tanh", "hardware", 133.96, 1.113e-5, 0, -FLT_MAX, FLT_MAX, "published for sm_75")
/* clang-format on */

#endif
