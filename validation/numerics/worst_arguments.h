/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * worst_arguments.h -- the arguments of the largest errors, in ulps and
 * relative, of the exhaustive run; written by `numerics --worst FILE`.
 */
#ifndef FX8_VALIDATION_NUMERICS_WORST_ARGUMENTS_H
#define FX8_VALIDATION_NUMERICS_WORST_ARGUMENTS_H

/** row(function, form, bits of the first argument, of the second) */
/* clang-format off */
#define WORST_ARGUMENTS(row) \
    row("reciprocal", "ieee", 0x00fc3237, 0x00000000) \
    row("reciprocal", "ieee", 0x00ffffff, 0x00000000) \
    row("reciprocal", "fast", 0x00fc3237, 0x00000000) \
    row("reciprocal", "fast", 0x00ffffff, 0x00000000) \
    row("rsqrt", "ieee", 0x013a18e3, 0x00000000) \
    row("rsqrt", "ieee", 0x007fffff, 0x00000000) \
    row("rsqrt", "fast", 0x0080cab3, 0x00000000) \
    row("rsqrt", "fast", 0x017fffff, 0x00000000) \
    row("sin_turns", "ieee", 0x3d7d7f58, 0x00000000) \
    row("sin_turns", "ieee", 0x35a2faa0, 0x00000000) \
    row("sin_turns", "fast", 0x3e7f7f80, 0x00000000) \
    row("sin_turns", "fast", 0x3aa3b57a, 0x00000000) \
    row("cos_turns", "ieee", 0x3e40a02a, 0x00000000) \
    row("cos_turns", "ieee", 0x3e2aaa4a, 0x00000000) \
    row("cos_turns", "fast", 0x3d0b7d92, 0x00000000) \
    row("cos_turns", "fast", 0x3dfe90af, 0x00000000) \
    row("exp2", "ieee", 0xbc23cafc, 0x00000000) \
    row("exp2", "ieee", 0x33b8aa3b, 0x00000000) \
    row("exp2", "fast", 0xc2fcfe35, 0x00000000) \
    row("exp2", "fast", 0xbeff9641, 0x00000000) \
    row("log2", "ieee", 0x3f802bfc, 0x00000000) \
    row("log2", "ieee", 0x3f830108, 0x00000000) \
    row("log2", "fast", 0x3fb4bb99, 0x00000000) \
    row("log2", "fast", 0x3f34deff, 0x00000000) \
    row("log10", "ieee", 0x3f7b74eb, 0x00000000) \
    row("log10", "ieee", 0x3f7b698b, 0x00000000) \
    row("log10", "fast", 0x3faa8917, 0x00000000) \
    row("log10", "fast", 0x3faac345, 0x00000000) \
    row("tanh", "ieee", 0x3e6ee50c, 0x00000000) \
    row("tanh", "ieee", 0x3e13aafd, 0x00000000) \
    row("tanh", "fast", 0x3f202f05, 0x00000000) \
    row("tanh", "fast", 0x3f1c134b, 0x00000000) \
    row("tanh", "ex2", 0x3ba3d709, 0x00000000) \
    row("tanh", "ex2", 0x3ba3d709, 0x00000000) \
    row("atanh", "ieee", 0x3df616ec, 0x00000000) \
    row("atanh", "ieee", 0x3eed26bf, 0x00000000) \
    row("atanh", "fast", 0x3f2f3f7b, 0x00000000) \
    row("atanh", "fast", 0x3f1a79f3, 0x00000000) \
    row("divide", "ieee", 0x00000001, 0xc0000000) \
    row("divide", "ieee", 0x00000001, 0x00ffffff) \
    row("divide", "fast", 0x00000001, 0xc0000000) \
    row("divide", "fast", 0x00000001, 0x00ffffff) \
    row("divide", "markstein", 0x00000001, 0xc0000000) \
    row("divide", "markstein", 0x00000001, 0x00ffffff) \
    row("atan2", "ieee", 0x7a0006ba, 0x7c7fffff) \
    row("atan2", "ieee", 0x7988fafd, 0xf8fd27f4) \
    row("atan2", "fast", 0x9ab319e8, 0x1ab3077d) \
    row("atan2", "fast", 0x9ab319e8, 0x1ab3077d)
/* clang-format on */

#endif
