/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * functions.h -- the functions of post-processing over arrays, in the two
 * modes of [postprocess] math, and the conversion to half precision.
 *
 * IEEE mode: correctly rounded operations and the C library's functions.
 * Fast mode: the definitions of kernels/numeric/, with the errors in
 * kernels/numeric/bounds.h; on the host equal bit for bit in every variant.
 *
 * Notes: 1) inputs and outputs may be the same array, but not overlap
 *           otherwise; any alignment; n may be 0
 *        2) the numerics headers define the value outside a function's domain
 *           (NaN, infinity, a clamp), for both modes; callers count such cases
 */
#ifndef FX8_KERNELS_FUNCTIONS_H
#define FX8_KERNELS_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** y[k] = f(x[k]), k in [0, n). */
typedef void fx8_unary(size_t n, const float *x, float *y);

/** y[k] = f(a[k], b[k]), k in [0, n). */
typedef void fx8_binary(size_t n, const float *a, const float *b, float *y);

/** The modes of [postprocess] math. */
enum fx8_functions_mode {
    FX8_FUNCTIONS_IEEE = 0,
    FX8_FUNCTIONS_FAST,
    FX8_N_FUNCTIONS_MODES
};

/** One mode in one variant. */
struct fx8_functions {
    fx8_unary *reciprocal; /**< 1 / x */
    fx8_unary *rsqrt;      /**< 1 / sqrt(x) */
    fx8_unary *sin_turns;  /**< sin(2 pi x) */
    fx8_unary *cos_turns;  /**< cos(2 pi x) */
    fx8_unary *exp2;       /**< 2^x */
    fx8_unary *log2;
    fx8_unary *log10;
    fx8_unary *tanh;
    fx8_unary *atanh;
    fx8_binary *divide; /**< a / b */
    fx8_binary *atan2;  /**< angle of (b, a), a = sine part, radians */
};

/** Conversions between float and IEEE half precision. */
struct fx8_half_functions {
    /** half[k] = x[k] scale, the product rounded to float, then to half, both
     *  to nearest even; infinity from 65520 up, NaN stays NaN. */
    void (*from_float)(size_t n, float scale, const float *x, uint16_t *half);
    /** x[k] = half[k], exact. */
    void (*to_float)(size_t n, const uint16_t *half, float *x);
};

/** A function in one of its forms, for tests, error tables and benchmarks. */
struct fx8_function_form {
    const char *function; /**< "tanh" */
    const char *form;     /**< "ieee", "fast", "ex2", "markstein" … */
    fx8_unary *unary;     /**< one of the two is NULL */
    fx8_binary *binary;
};

/** Most forms that a variant lists. */
#define FX8_MAX_FUNCTION_FORMS 48

#ifdef __cplusplus
}
#endif

#endif
