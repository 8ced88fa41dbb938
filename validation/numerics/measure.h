/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * measure.h -- how wrong a float function is: one result against a reference
 * in double precision, the same code on the host and on a card.
 *
 * Notes: 1) an ulp is the spacing of floats at the reference, 2^-149 at least
 *           and 2^104 at most
 *        2) an infinity counts as 2^128, the value at which rounding overflows:
 *           a finite result beside an overflow costs ulps but is no
 *           disagreement
 *        3) where the reference is NaN or exactly infinite (a pole, an
 *           infinite argument), the result must be that; otherwise, and for a
 *           NaN anywhere else, it counts as a disagreement
 *        4) where the reference is exactly zero, a zero of the other sign is
 *           counted separately
 *        5) an error is compared with a bound of kernels/numeric/bounds.h:
 *           finite arguments outside its range are not judged, and errors in
 *           ulps and relative errors count only for results off by more than
 *           its max_absolute
 */
#ifndef FX8_VALIDATION_NUMERICS_MEASURE_H
#define FX8_VALIDATION_NUMERICS_MEASURE_H

#include <stdbool.h>

#include "kernels/numeric/target.h"

/** An error and the argument where it occurs; b is 0 for functions of one. */
struct error_at {
    double error;
    uint32_t a, b;
};

/** A bound; as a row of kernels/numeric/bounds.h. */
struct bound {
    double max_ulp, max_relative, max_absolute, lowest, highest;
};

/** Findings for one form of one function; all zero bytes: none yet. */
struct measured {
    uint64_t n;             /**< arguments tried */
    uint64_t n_not_nearest; /**< results other than the rounded reference */
    uint64_t n_special;     /**< disagreements over NaN and infinity, for
                                 arguments in range or not finite */
    uint64_t n_zero_sign;   /**< zeros of the wrong sign, likewise */
    struct error_at ulp, relative;      /**< of errors above max_absolute */
    struct error_at absolute;           /**< of all errors in range */
    struct error_at beyond;             /**< absolute, of those above max_ulp or
                                             max_relative */
    struct error_at special, zero_sign; /**< smallest argument, error 1 */
};

/** The reference that a result is compared with. */
struct expected {
    double value;    /**< the reference within +-2^128 */
    double per_ulp;  /**< 1 / ulp */
    double size;     /**< |value|, infinite where that is no normal float and
                          not zero: relative errors are of normal results */
    float nearest;   /**< the float nearest to it */
    bool is_special; /**< the result must equal `nearest` */
};

/** Bits of a double. */
FX8_NUMERIC uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/** The double of these bits. */
FX8_NUMERIC double bits_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/** Whether x lies in the range of a bound.  The range is one of magnitudes
 *  unless it begins below zero, and unlimited if it ends at the largest float.
 */
FX8_NUMERIC bool is_in_range(const struct bound *bound, double x)
{
    const double place = bound->lowest < 0.0 ? x : fabs(x);
    return !(place < bound->lowest) &&
           (bound->highest >= 0x1.fffffep127 || !(place > bound->highest));
}

/** A reference, prepared for comparison. */
FX8_NUMERIC struct expected expect(double reference)
{
    const double huge = 0x1p128, tiny = 0x1p-126;
    const double size = fabs(reference);
    struct expected e;
    e.nearest = (float)reference;
    e.is_special = !(size <= 1.7976931348623157e308);
    e.value = size > huge ? copysign(huge, reference) : reference;
    uint64_t exponent = double_bits(size) >> 52;
    exponent = exponent < 1023 - 126 ? 1023 - 126 : exponent;
    exponent = exponent > 1023 + 127 ? 1023 + 127 : exponent;
    e.per_ulp = bits_double((2 * 1023 + 23 - exponent) << 52);
    e.size = size == 0.0 || (size >= tiny && size < huge) ? size : HUGE_VAL;
    return e;
}

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

/** Whether floats are equal bit for bit, where any NaN equals any NaN. */
FX8_NUMERIC bool same_float(float x, float y)
{
    return fx8_float_bits(x) == fx8_float_bits(y) || (x != x && y != y);
}

/** An argument, or a pair of them, and whether it is in range. */
struct argument {
    uint32_t a, b;    /**< bits; b is 0 for functions of one argument */
    bool is_in_range; /**< of the bound */
    bool is_finite;
};

/** The argument of a function of one, and whether it is in the bound's range.
 */
FX8_NUMERIC struct argument argument_of(const struct bound *bound, uint32_t a)
{
    const double x = (double)fx8_bits_float(a);
    const struct argument argument = {a, 0, is_in_range(bound, x),
                                      fabs(x) < 0x1p128};
    return argument;
}

/** The arguments of a function of two: in range when both of them and their
 *  quotient are. */
FX8_NUMERIC struct argument pair_of(const struct bound *bound, uint32_t a,
                                    uint32_t b)
{
    const double x = (double)fx8_bits_float(a), y = (double)fx8_bits_float(b);
    const struct argument argument = {a, b,
                                      is_in_range(bound, x) &&
                                          is_in_range(bound, y) &&
                                          is_in_range(bound, x / y),
                                      fabs(x) < 0x1p128 && fabs(y) < 0x1p128};
    return argument;
}

/** Count a result that is NaN or should be, or that must be infinite. */
FX8_NUMERIC void measure_special(struct measured *m, const struct expected *e,
                                 const struct argument *x, float y)
{
    if (same_float(y, e->nearest))
        return;
    m->n_special++;
    keep_worst(&m->special, 1.0, x->a, x->b);
}

/** Count a result that equals the reference, if their signs differ. */
FX8_NUMERIC void measure_exact(struct measured *m, const struct expected *e,
                               const struct argument *x, float y)
{
    if (e->value != 0.0 || fx8_float_bits(y) == fx8_float_bits(e->nearest))
        return;
    m->n_zero_sign++;
    keep_worst(&m->zero_sign, 1.0, x->a, x->b);
}

/** Count an error that is not zero. */
FX8_NUMERIC void measure_error(struct measured *m, const struct bound *bound,
                               double error, double ulp, double relative,
                               const struct argument *x)
{
    keep_worst(&m->absolute, error, x->a, x->b);
    if (ulp > bound->max_ulp || relative > bound->max_relative)
        keep_worst(&m->beyond, error, x->a, x->b);
    if (error <= bound->max_absolute)
        return;
    keep_worst(&m->ulp, ulp, x->a, x->b);
    keep_worst(&m->relative, relative, x->a, x->b);
}

/** Count the result y at x. */
FX8_NUMERIC void measure(struct measured *m, const struct bound *bound,
                         const struct expected *e, const struct argument *x,
                         float y)
{
    m->n++;
    m->n_not_nearest += !same_float(y, e->nearest);
    if (!x->is_in_range && x->is_finite)
        return;
    if (e->is_special || y != y) {
        measure_special(m, e, x, y);
        return;
    }
    const double huge = 0x1p128;
    double value = (double)y;
    value = value > huge ? huge : value < -huge ? -huge : value;
    const double error = fabs(value - e->value);
    if (error == 0.0)
        measure_exact(m, e, x, y);
    else
        measure_error(m, bound, error, error * e->per_ulp, error / e->size, x);
}

/** Add the findings for another part of the arguments. */
FX8_NUMERIC void merge_measured(struct measured *into,
                                const struct measured *from)
{
    into->n += from->n;
    into->n_not_nearest += from->n_not_nearest;
    into->n_special += from->n_special;
    into->n_zero_sign += from->n_zero_sign;
#define FX8_MERGE(which)                                                       \
    keep_worst(&into->which, from->which.error, from->which.a, from->which.b)
    FX8_MERGE(ulp);
    FX8_MERGE(relative);
    FX8_MERGE(absolute);
    FX8_MERGE(beyond);
    FX8_MERGE(special);
    FX8_MERGE(zero_sign);
#undef FX8_MERGE
}

#endif
