/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * functions_ref.c -- the functions of post-processing: fast mode as defined in
 * kernels/numeric/, IEEE mode by the C library.
 */
#include <math.h>

#include "kernels/cpu/functions_loops.h"
#include "kernels/cpu/variants.h"

#define TWO_PI 6.283185307179586476925

/** sin(2 pi x), reduced exactly to |a| <= 1/4 turn, in double. */
static float sin_turns(float x)
{
    const double r = (double)fx8_turns_rest(x);
    const double a = fabs(r) > 0.25 ? copysign(0.5, r) - r : r;
    return (float)sin(TWO_PI * a);
}

/** cos(2 pi x), as the sine of 1/4 - |r| turn, which is exact in double. */
static float cos_turns(float x)
{
    const double r = (double)fx8_turns_rest(x);
    return (float)sin(TWO_PI * (0.25 - fabs(r)));
}

/** An fx8_unary called `name` that calls `function` for every element. */
#define CALLS(name, function)                                                  \
    static void name(size_t n, const float *x, float *y)                       \
    {                                                                          \
        for (size_t k = 0; k < n; k++)                                         \
            y[k] = function(x[k]);                                             \
    }

CALLS(sin_turns_ieee, sin_turns)
CALLS(cos_turns_ieee, cos_turns)
CALLS(exp2_ieee, exp2f)
CALLS(log2_ieee, log2f)
CALLS(log10_ieee, log10f)
CALLS(tanh_ieee, tanhf)
CALLS(atanh_ieee, atanhf)

static void atan2_ieee(size_t n, const float *a, const float *b, float *y)
{
    for (size_t k = 0; k < n; k++)
        y[k] = atan2f(a[k], b[k]);
}

void fx8_fill_functions_reference(struct fx8_operations *operations)
{
    operations->functions[FX8_FUNCTIONS_IEEE] = (struct fx8_functions){
        .sin_turns = sin_turns_ieee,
        .cos_turns = cos_turns_ieee,
        .exp2 = exp2_ieee,
        .log2 = log2_ieee,
        .log10 = log10_ieee,
        .tanh = tanh_ieee,
        .atanh = atanh_ieee,
        .atan2 = atan2_ieee,
    };
    fill_functions(operations);
}
