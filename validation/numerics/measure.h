/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * measure.h -- how wrong a float function is: one result against a reference
 * in double precision, the same code on the host and on a card.
 *
 * Notes: 1) an ulp is the spacing of floats at the reference, 2^-149 at least
 *           and 2^104 at most
 *        2) an infinity counts as 2^128, the value at which rounding overflows:
 *           a finite result beside an overflow costs ulps but is not wrong
 *        3) where the reference is NaN or exactly infinite (a pole, an
 *           infinite argument), the result must be that; otherwise, and for a
 *           NaN anywhere else, it is wrong; so is a zero of the other sign
 *        4) finite arguments outside the range of a bound are not judged
 */
#ifndef FX8_VALIDATION_NUMERICS_MEASURE_H
#define FX8_VALIDATION_NUMERICS_MEASURE_H

#include <stdbool.h>

#include "kernels/numeric/target.h"

/** A row of kernels/numeric/bounds.h. */
struct bound {
    const char *device, *function, *form;
    double max_ulp; /**< infinite: no bound */
    double max_relative, max_absolute, lowest, highest;
    bool is_pair;        /**< of a function of two */
    bool has_free_zeros; /**< a zero may have either sign */
};

/** The largest error and the smallest argument where it occurs; b is 0 for
 *  functions of one. */
struct error_at {
    double error;
    uint32_t a, b;
};

/** Findings for one form of one function; all zero bytes: none yet. */
struct measured {
    uint64_t n;                    /**< arguments tried */
    uint64_t n_wrong;              /**< wrong NaNs, infinities, zeros */
    struct error_at ulp, relative; /**< of errors above max_absolute */
    struct error_at wrong;         /**< error 1 */
};

/** Keep the larger error; of equal ones the one at the smaller argument, so
 *  that the order of arguments does not matter. */
FX8_NUMERIC void keep_worst(struct error_at *worst, double error, uint32_t a,
                            uint32_t b)
{
    const bool is_first = a < worst->a || (a == worst->a && b < worst->b);
    const bool is_equal = error > 0.0 && error == worst->error;
    if (!(error > worst->error || (is_equal && is_first)))
        return;
    worst->error = error;
    worst->a = a;
    worst->b = b;
}

/** Add the findings for another part of the arguments. */
FX8_NUMERIC void merge_measured(struct measured *into,
                                const struct measured *from)
{
    into->n += from->n;
    into->n_wrong += from->n_wrong;
    keep_worst(&into->ulp, from->ulp.error, from->ulp.a, from->ulp.b);
    keep_worst(&into->relative, from->relative.error, from->relative.a,
               from->relative.b);
    keep_worst(&into->wrong, from->wrong.error, from->wrong.a, from->wrong.b);
}

/** Whether floats are equal bit for bit, where any NaN equals any NaN. */
FX8_NUMERIC bool same_float(float x, float y)
{
    return fx8_float_bits(x) == fx8_float_bits(y) || (x != x && y != y);
}

/** Whether a bound holds at x.  Its range is one of magnitudes unless it begins
 *  below zero, and unlimited if it ends at the largest float. */
FX8_NUMERIC bool is_judged(const struct bound *bound, double x)
{
    const double place = bound->lowest < 0.0 ? x : fabs(x);
    return !(fabs(x) < 0x1p1023) ||
           (!(place < bound->lowest) &&
            (bound->highest >= 0x1.fffffep127 || !(place > bound->highest)));
}

/** The spacing of floats at a double. */
FX8_NUMERIC double ulp_of(double x)
{
    uint64_t bits;
    double ulp;
    memcpy(&bits, &x, sizeof bits);
    uint64_t exponent = bits >> 52 & 0x7ff;
    exponent = exponent < 1023 - 126 ? 1023 - 126 : exponent;
    exponent = exponent > 1023 + 127 ? 1023 + 127 : exponent;
    bits = (exponent - 23) << 52;
    memcpy(&ulp, &bits, sizeof ulp);
    return ulp;
}

/** x within +-2^128. */
FX8_NUMERIC double within_floats(double x)
{
    const double huge = 0x1p128;
    return x > huge ? huge : x < -huge ? -huge : x;
}

/** Whether a bound holds at an argument, or at both and at their quotient. */
FX8_NUMERIC bool are_judged(const struct bound *bound, uint32_t a, uint32_t b)
{
    const double x = (double)fx8_bits_float(a), y = (double)fx8_bits_float(b);
    return is_judged(bound, x) &&
           (!bound->is_pair ||
            (is_judged(bound, y) && is_judged(bound, x / y)));
}

/** Count the result y at the argument with bits a, or at a and b. */
FX8_NUMERIC void measure(struct measured *m, const struct bound *bound,
                         uint32_t a, uint32_t b, double reference, float y)
{
    const float nearest = (float)reference;
    m->n++;
    if (!are_judged(bound, a, b))
        return;
    if (!(fabs(reference) < HUGE_VAL) || y != y ||
        (reference == 0.0 && y == 0.0f)) {
        if (same_float(y, nearest) || (y == nearest && bound->has_free_zeros))
            return;
        m->n_wrong++;
        keep_worst(&m->wrong, 1.0, a, b);
        return;
    }
    const double value = within_floats(reference);
    const double error = fabs(within_floats((double)y) - value);
    const double size = fabs(value);
    if (!(error > bound->max_absolute))
        return;
    keep_worst(&m->ulp, error / ulp_of(value), a, b);
    /* relative errors are of normal results */
    if (size == 0.0 || (size >= 0x1p-126 && size < 0x1p128))
        keep_worst(&m->relative, error / size, a, b);
}

#endif
