/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "kernels/numeric/bounds.h"
#include "validation/numerics/reference.h"
#include "validation/numerics/references.h"

/* --- in higher precision ----------------------------------------------------
 */

/** sin(2 pi (x + shift / 4)), reduced in another way than the reference: the
 *  remainder by a quarter of a turn is exact. */
static long double turns_long(float x, int shift)
{
    const long double two_pi = 6.283185307179586476925286766559L;
    int quarter = 0;
    if (!isfinite(x))
        return (long double)(x - x);
    const long double angle = two_pi * remquol((long double)x, 0.25L, &quarter);
    const int octant = (quarter + shift) & 3;
    const long double value = (octant & 1) != 0 ? cosl(angle) : sinl(angle);
    return (octant & 2) != 0 ? -value : value;
}

static long double sin_turns_long(float x)
{
    return turns_long(x, 0);
}

static long double cos_turns_long(float x)
{
    return turns_long(x, 1);
}

static long double reciprocal_long(float x)
{
    return 1.0L / (long double)x;
}

static long double rsqrt_long(float x)
{
    return 1.0L / sqrtl((long double)x);
}

static long double divide_long(float a, float b)
{
    return (long double)a / (long double)b;
}

#define LONG_UNARY(name)                                                       \
    static long double name##_long(float x)                                    \
    {                                                                          \
        return name##l((long double)x);                                        \
    }

LONG_UNARY(sqrt)
LONG_UNARY(exp2)
LONG_UNARY(log2)
LONG_UNARY(log10)
LONG_UNARY(tanh)
LONG_UNARY(atanh)

static long double atan2_long(float a, float b)
{
    return atan2l((long double)a, (long double)b);
}

/* --- the C library's ---------------------------------------------------------
 */

#define LIBRARY_UNARY(name, value)                                             \
    static void library_##name(size_t n, const float *x, float *y)             \
    {                                                                          \
        for (size_t k = 0; k < n; k++)                                         \
            y[k] = value;                                                      \
    }

/* The usual code: whole turns removed, which is exact, then radians. */
#define TWO_PI 6.2831853f

LIBRARY_UNARY(reciprocal, 1.0f / x[k])
LIBRARY_UNARY(rsqrt, 1.0f / sqrtf(x[k]))
LIBRARY_UNARY(sqrt, sqrtf(x[k]))
LIBRARY_UNARY(sin_turns, sinf(TWO_PI *(x[k] - rintf(x[k]))))
LIBRARY_UNARY(cos_turns, cosf(TWO_PI *(x[k] - rintf(x[k]))))
LIBRARY_UNARY(exp2, exp2f(x[k]))
LIBRARY_UNARY(log2, log2f(x[k]))
LIBRARY_UNARY(log10, log10f(x[k]))
LIBRARY_UNARY(tanh, tanhf(x[k]))
LIBRARY_UNARY(atanh, atanhf(x[k]))

static void library_divide(size_t n, const float *a, const float *b, float *y)
{
    for (size_t k = 0; k < n; k++)
        y[k] = a[k] / b[k];
}

static void library_atan2(size_t n, const float *a, const float *b, float *y)
{
    for (size_t k = 0; k < n; k++)
        y[k] = atan2f(a[k], b[k]);
}

/* --- all of them -------------------------------------------------------------
 */

#define UNARY(f, library)                                                      \
    {                                                                          \
        .name = #f, .unary = reference_##f, .unary_long = f##_long,            \
        .library_name = library, .library_unary = library_##f                  \
    }
#define BINARY(f, library)                                                     \
    {                                                                          \
        .name = #f, .binary = reference_##f, .binary_long = f##_long,          \
        .library_name = library, .library_binary = library_##f                 \
    }
#define TURNS(f, library)                                                      \
    {                                                                          \
        .name = #f, .unary = reference_##f, .unary_long = f##_long,            \
        .has_free_zeros = true, .library_name = library,                       \
        .library_unary = library_##f                                           \
    }

static const struct function functions[] = {
    UNARY(reciprocal, "1 / x"),
    UNARY(rsqrt, "1 / sqrtf"),
    TURNS(sin_turns, "sinf(2 pi r)"),
    TURNS(cos_turns, "cosf(2 pi r)"),
    UNARY(exp2, "exp2f"),
    UNARY(log2, "log2f"),
    UNARY(log10, "log10f"),
    UNARY(tanh, "tanhf"),
    UNARY(atanh, "atanhf"),
    BINARY(divide, "a / b"),
    BINARY(atan2, "atan2f"),
    UNARY(sqrt, "sqrtf"),
};

size_t function_count(void)
{
    return sizeof functions / sizeof *functions;
}

const struct function *function_at(size_t index)
{
    return &functions[index];
}

const struct function *function_named(const char *name)
{
    for (size_t i = 0; i < function_count(); i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

double reference_deviation(const struct function *function, uint32_t a,
                           uint32_t b, double reference)
{
    if (!HAVE_LONG_REFERENCE)
        return 0.0;
    const float x = fx8_bits_float(a), y = fx8_bits_float(b);
    const long double exact = function->unary_long != NULL
                                  ? function->unary_long(x)
                                  : function->binary_long(x, y);
    if (isnan(exact) || isnan(reference))
        return isnan(exact) && isnan(reference) ? 0.0 : HUGE_VAL;
    /* beyond the range of floats, and far below it, a double may overflow or
     * vanish */
    if (fabsl(exact) > 0x1p200L)
        return fabs(reference) > 0x1p199 && (exact > 0) == (reference > 0)
                   ? 0.0
                   : HUGE_VAL;
    if (exact != 0.0L && fabsl(exact) < 0x1p-320L)
        return fabs(reference) < 0x1p-319 ? 0.0 : HUGE_VAL;
    if (exact == 0.0L)
        return reference == 0.0 ? 0.0 : HUGE_VAL;
    return (double)fabsl(((long double)reference - exact) / exact);
}

/* --- bounds ------------------------------------------------------------------
 */

struct bound_row {
    const char *device, *function, *form;
    struct bound bound;
};

#define ROW(device, function, form, ulp, relative, absolute, low, high, note)  \
    {device,                                                                   \
     function,                                                                 \
     form,                                                                     \
     {ulp, relative, absolute, (double)(low), (double)(high)}},

static const struct bound_row bounds[] = {FX8_NUMERIC_BOUNDS(ROW)};

bool find_bound(const char *device, const char *function, const char *form,
                struct bound *bound)
{
    for (size_t i = 0; i < bound_count(); i++)
        if (strcmp(bounds[i].device, device) == 0 &&
            strcmp(bounds[i].function, function) == 0 &&
            strcmp(bounds[i].form, form) == 0) {
            *bound = bounds[i].bound;
            return true;
        }
    *bound = (struct bound){HUGE_VAL, HUGE_VAL, 0, -HUGE_VAL, HUGE_VAL};
    return false;
}

size_t bound_count(void)
{
    return sizeof bounds / sizeof *bounds;
}

void bound_names(size_t index, const char **device, const char **function,
                 const char **form)
{
    *device = bounds[index].device;
    *function = bounds[index].function;
    *form = bounds[index].form;
}
