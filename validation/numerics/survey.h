/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * survey.h -- measure the forms of functions on the host, all forms of a
 * function in one pass over the arguments.
 */
#ifndef FX8_VALIDATION_NUMERICS_SURVEY_H
#define FX8_VALIDATION_NUMERICS_SURVEY_H

#include "kernels/operations.h"
#include "validation/numerics/table.h"

/** Largest number of variants that a form is compared at. */
#define MAX_VARIANTS 4

/** A form of a function: its code, its bound, what was found. */
struct subject {
    struct table_row row;
    double (*reference)(float a, float b);
    /** The fastest variant first, which is measured; others must give the same
     *  bits. */
    const struct fx8_function_form *code[MAX_VARIANTS];
    const char *variant[MAX_VARIANTS];
    size_t n_variants;
    struct error_at differing[MAX_VARIANTS]; /**< error 1: where one does not */
};

/** Every form with a bound on the host; forms of a function are neighbours.
 *  Returns their number, [FX8_MAX_FUNCTION_FORMS] at most; 0 if a variant has a
 *  form without a bound or none of a bound. */
size_t list_subjects(struct subject *subjects);

/** Try that many floats and pairs, on all threads: findings do not depend on
 *  their number. */
void survey(struct subject *subjects, size_t n, uint64_t n_floats,
            uint64_t n_pairs);

/** Try single arguments, [n] of a and b, and add to the findings. */
void survey_arguments(struct subject *subject, size_t n, const uint32_t *a,
                      const uint32_t *b);

/** The number of faults of a row and of variants that differ, each described on
 *  standard error. */
size_t judge_subject(const struct subject *subject, bool is_tight);

#endif
