/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * survey.h -- measure forms of functions on the host, all forms of a function
 * in one pass over the arguments.
 */
#ifndef FX8_VALIDATION_NUMERICS_SURVEY_H
#define FX8_VALIDATION_NUMERICS_SURVEY_H

#include "validation/numerics/references.h"

/** Largest number of variants that a form is compared at. */
#define MAX_VARIANTS 4

/** Largest number of forms of all functions. */
#define MAX_SUBJECTS (FX8_MAX_FUNCTION_FORMS + 16)

/** A form of a function: its code and its bound. */
struct subject {
    const struct function *function;
    const char *form; /**< "fast"; that of the C library: "exp2f" */
    bool is_library;  /**< the C library's, which has no bound here */
    bool has_bound;
    struct bound bound; /**< infinite if has_bound is false */
    /** The fastest variant first, which is measured; others must give the same
     *  bits.  One of the two is NULL. */
    fx8_unary *unary[MAX_VARIANTS];
    fx8_binary *binary[MAX_VARIANTS];
    const char *variant[MAX_VARIANTS];
    size_t n_variants;
};

/** The findings for a subject. */
struct finding {
    struct measured measured;
    uint64_t n_differing[MAX_VARIANTS];      /**< results that differ from the
                                                fastest variant's */
    struct error_at differing[MAX_VARIANTS]; /**< smallest argument, error 1 */
};

/** The findings for the reference of a function. */
struct reference_check {
    uint64_t n;
    struct error_at deviation;
};

/** Which arguments are tried. */
struct extent {
    uint64_t n_floats; /**< out of 2^32; sample_stride() apart */
    uint64_t n_pairs;
    size_t n_threads;
    bool is_verbose; /**< progress on standard error */
};

/** Every form that the variants of this CPU list, and the C library's
 *  functions.  Forms of a function are neighbours.  Returns the number of
 *  subjects [MAX_SUBJECTS], 0 if a form has an unknown name. */
size_t list_subjects(struct subject *subjects);

/**
 * survey_function -- try every argument of an extent.
 *
 * Given:    subjects  [n] forms of one function
 * Returned: findings  [n]
 *           check     of the reference, at one argument in 4093 and where the
 *                     errors found are largest
 *           false     memory ran out
 * Notes:    the findings depend only on the extent, not on threads
 */
bool survey_function(const struct subject *subjects, size_t n,
                     const struct extent *extent, struct finding *findings,
                     struct reference_check *check);

/** Try single arguments, [n_arguments] of a and b, and add to the findings. */
void survey_arguments(const struct subject *subject, size_t n_arguments,
                      const uint32_t *a, const uint32_t *b,
                      struct finding *finding);

#endif
