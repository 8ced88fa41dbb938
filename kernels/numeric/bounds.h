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
 * lowest, highest  of the argument; of the magnitude of both operands where
 *           there are two, and of their quotient
 *
 * Notes: 1) "ieee" is the C library's function where that is no correctly
 *           rounded operation: its row says what that library was measured at
 *        2) measured over all 2^32 arguments, or the stated sample of pairs,
 *           by the program that writes validation/results/numerics-*.md; the
 *           bound is the measured maximum rounded up in the second digit
 *           after the point (ulp) and the third digit (relative)
 */
#ifndef FX8_KERNELS_NUMERIC_BOUNDS_H
#define FX8_KERNELS_NUMERIC_BOUNDS_H

#include <float.h>

/** The rows, one a line; see above. */
/* clang-format off */
#define FX8_NUMERIC_BOUNDS(row)                                                \
    row("host", "reciprocal", "ieee", 0.5, 6.0e-8, 0, -FLT_MAX, FLT_MAX, "")   \
    row("host", "reciprocal", "fast", 2.5, 3.0e-7, 0, -FLT_MAX, FLT_MAX, "")   \
    row("host", "rsqrt", "ieee", 0.51, 6.1e-8, 0, 0, FLT_MAX, "")              \
    row("host", "rsqrt", "fast", 2.5, 3.0e-7, 0, 0, FLT_MAX, "")               \
    row("host", "sin_turns", "ieee", 0.51, 6.1e-8, 0, -FLT_MAX, FLT_MAX, "")   \
    row("host", "sin_turns", "fast", 2.5, 3.0e-7, 0, -FLT_MAX, FLT_MAX, "")    \
    row("host", "cos_turns", "ieee", 0.51, 6.1e-8, 0, -FLT_MAX, FLT_MAX, "")   \
    row("host", "cos_turns", "fast", 2.5, 3.0e-7, 0, -FLT_MAX, FLT_MAX, "")    \
    row("host", "exp2", "ieee", 1.0, 1.0e-7, 0, -FLT_MAX, FLT_MAX, "")         \
    row("host", "exp2", "fast", 2.5, 3.0e-7, 0, -FLT_MAX, FLT_MAX, "")         \
    row("host", "log2", "ieee", 1.0, 1.0e-7, 0, 0, FLT_MAX, "")                \
    row("host", "log2", "fast", 2.5, 3.0e-7, 0, 0, FLT_MAX, "")                \
    row("host", "log10", "ieee", 2.0, 2.0e-7, 0, 0, FLT_MAX, "")               \
    row("host", "log10", "fast", 2.5, 3.0e-7, 0, 0, FLT_MAX, "")               \
    row("host", "tanh", "ieee", 2.5, 3.0e-7, 0, -FLT_MAX, FLT_MAX, "")         \
    row("host", "tanh", "fast", 2.0, 2.0e-7, 0, -FLT_MAX, FLT_MAX, "")         \
    row("host", "tanh", "ex2", 109.0, 9.4e-6, 0, -FLT_MAX, FLT_MAX, "")        \
    row("host", "atanh", "ieee", 2.5, 3.0e-7, 0, -1, 1, "")                    \
    row("host", "atanh", "fast", 3.0, 3.0e-7, 0, -1, 1, "")                    \
    row("host", "divide", "ieee", 0.5, 6.0e-8, 0, 0, FLT_MAX, "")              \
    row("host", "divide", "fast", 2.5, 3.0e-7, 0, 0, FLT_MAX, "")              \
    row("host", "divide", "markstein", 0.5, 6.0e-8, 0, 0, FLT_MAX, "")         \
    row("host", "atan2", "ieee", 2.0, 2.0e-7, 0, 0, FLT_MAX, "")               \
    row("host", "atan2", "fast", 2.5, 3.0e-7, 0, 0, FLT_MAX, "")
/* clang-format on */

#endif
