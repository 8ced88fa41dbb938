/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * references.h -- every function that is measured: its reference, a second
 * one in higher precision that checks the first, and the C library's own.
 */
#ifndef FX8_VALIDATION_NUMERICS_REFERENCES_H
#define FX8_VALIDATION_NUMERICS_REFERENCES_H

#include <float.h>
#include <stdbool.h>

#include "kernels/functions.h"
#include "validation/numerics/measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whether long double is precise enough to check a double. */
#define HAVE_LONG_REFERENCE (LDBL_MANT_DIG > DBL_MANT_DIG)

/** Largest relative error that a reference may have: 2^-21 of an ulp. */
#define REFERENCE_LIMIT 0x1p-45

/** A function; one pointer of each pair is NULL. */
struct function {
    const char *name; /**< as in kernels/numeric/bounds.h */
    double (*unary)(float);
    double (*binary)(float, float);
    long double (*unary_long)(float);
    long double (*binary_long)(float, float);
    bool has_free_zeros;      /**< a zero may have either sign */
    const char *library_name; /**< "exp2f" */
    fx8_unary *library_unary;
    fx8_binary *library_binary;
};

/** Number of functions. */
size_t function_count(void);

/** The function of an index below function_count(). */
const struct function *function_at(size_t index);

/** The function of a name, or NULL. */
const struct function *function_named(const char *name);

/** Relative deviation of a reference, computed anywhere, from the one in
 *  higher precision: infinite where one is NaN, infinite or zero and the other
 *  is not, 0 where HAVE_LONG_REFERENCE is false. */
double reference_deviation(const struct function *function, uint32_t a,
                           uint32_t b, double reference);

/** The bound of a form on "host" or "cuda"; false, with an infinite bound, if
 *  there is none. */
bool find_bound(const char *device, const char *function, const char *form,
                struct bound *bound);

/** Number of rows of kernels/numeric/bounds.h, and the names of one. */
size_t bound_count(void);
void bound_names(size_t index, const char **device, const char **function,
                 const char **form);

#ifdef __cplusplus
}
#endif

#endif
