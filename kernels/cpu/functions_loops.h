/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * functions_loops.h -- the functions of kernels/numeric/ over arrays, included
 * by the file of each variant: one definition, vectorised with the flags of
 * that file.  It contains only explicit fma and single roundings, so the bits
 * are the same in every variant.
 */
#ifndef FX8_KERNELS_CPU_FUNCTIONS_LOOPS_H
#define FX8_KERNELS_CPU_FUNCTIONS_LOOPS_H

#include <math.h>

#include "kernels/cpu/function_forms.h"
#include "kernels/cpu/simd.h"
#include "kernels/numeric/atan2.h"
#include "kernels/numeric/exp2.h"
#include "kernels/numeric/fdividef.h"
#include "kernels/numeric/log.h"
#include "kernels/numeric/rsqrt.h"
#include "kernels/numeric/tanh.h"
#include "kernels/numeric/turns.h"

/** An fx8_unary called `name` whose element is `value`, a term in x[k]. */
#define FX8_UNARY_LOOP(name, value)                                            \
    static void name(size_t n, const float *x, float *y)                       \
    {                                                                          \
        FX8_INDEPENDENT                                                        \
        for (size_t k = 0; k < n; k++)                                         \
            y[k] = (value);                                                    \
    }

/** An fx8_binary called `name` whose element is `value`, in a[k] and b[k]. */
#define FX8_BINARY_LOOP(name, value)                                           \
    static void name(size_t n, const float *a, const float *b, float *y)       \
    {                                                                          \
        FX8_INDEPENDENT                                                        \
        for (size_t k = 0; k < n; k++)                                         \
            y[k] = (value);                                                    \
    }

/* Vector operations of IEEE mode: correctly rounded ones.  Square root and
 * quotient are in double, which leaves only the last rounding. */
FX8_UNARY_LOOP(reciprocal_ieee, 1.0f / x[k])
FX8_UNARY_LOOP(rsqrt_ieee, (float)(1.0 / sqrt((double)x[k])))
FX8_BINARY_LOOP(divide_ieee, a[k] / b[k])

FX8_UNARY_LOOP(reciprocal_fast, fx8_reciprocal(x[k]))
FX8_UNARY_LOOP(rsqrt_fast, fx8_rsqrt(x[k]))
FX8_UNARY_LOOP(sin_turns_fast, fx8_sin_turns(x[k]))
FX8_UNARY_LOOP(cos_turns_fast, fx8_cos_turns(x[k]))
FX8_UNARY_LOOP(exp2_fast, fx8_exp2(x[k]))
FX8_UNARY_LOOP(log2_fast, fx8_log2(x[k]))
FX8_UNARY_LOOP(log10_fast, fx8_log10(x[k]))
FX8_UNARY_LOOP(tanh_fast, fx8_tanh(x[k]))
FX8_UNARY_LOOP(tanh_ex2, fx8_tanh_ex2(x[k]))
FX8_UNARY_LOOP(atanh_fast, fx8_atanh(x[k]))
FX8_BINARY_LOOP(divide_fast, fx8_divide_fast(a[k], b[k]))
FX8_BINARY_LOOP(atan2_fast, fx8_atan2(a[k], b[k]))

/** Add both modes of `functions` to the list of forms. */
static inline void list_modes(struct fx8_operations *operations)
{
    static const char *const forms[FX8_N_FUNCTIONS_MODES] = {"ieee", "fast"};
    for (size_t mode = 0; mode < FX8_N_FUNCTIONS_MODES; mode++) {
        const struct fx8_functions *f = &operations->functions[mode];
        const struct {
            const char *function;
            fx8_unary *unary;
            fx8_binary *binary;
        } entries[] = {
            {"reciprocal", f->reciprocal, NULL},
            {"rsqrt", f->rsqrt, NULL},
            {"sin_turns", f->sin_turns, NULL},
            {"cos_turns", f->cos_turns, NULL},
            {"exp2", f->exp2, NULL},
            {"log2", f->log2, NULL},
            {"log10", f->log10, NULL},
            {"tanh", f->tanh, NULL},
            {"atanh", f->atanh, NULL},
            {"divide", NULL, f->divide},
            {"atan2", NULL, f->atan2},
        };
        for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
            fx8_add_form(operations, entries[i].function, forms[mode],
                         entries[i].unary, entries[i].binary);
    }
}

/** Enter the functions above in a table; the others stay the C library's. */
static inline void fill_functions(struct fx8_operations *operations)
{
    struct fx8_functions *ieee = &operations->functions[FX8_FUNCTIONS_IEEE];
    ieee->reciprocal = reciprocal_ieee;
    ieee->rsqrt = rsqrt_ieee;
    ieee->divide = divide_ieee;
    struct fx8_functions *fast = &operations->functions[FX8_FUNCTIONS_FAST];
    fast->reciprocal = reciprocal_fast;
    fast->rsqrt = rsqrt_fast;
    fast->sin_turns = sin_turns_fast;
    fast->cos_turns = cos_turns_fast;
    fast->exp2 = exp2_fast;
    fast->log2 = log2_fast;
    fast->log10 = log10_fast;
    fast->tanh = tanh_fast;
    fast->atanh = atanh_fast;
    fast->divide = divide_fast;
    fast->atan2 = atan2_fast;
    list_modes(operations);
    fx8_add_form(operations, "tanh", "ex2", tanh_ex2, NULL);
}

#endif
