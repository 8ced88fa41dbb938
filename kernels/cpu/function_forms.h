/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * function_forms.h -- add a form of a function to the list of a variant.
 *
 *     fx8_add_form(operations, "divide", "markstein", NULL, divide_markstein);
 */
#ifndef FX8_KERNELS_CPU_FUNCTION_FORMS_H
#define FX8_KERNELS_CPU_FUNCTION_FORMS_H

#include <assert.h>
#include <string.h>

#include "kernels/operations.h"

/**
 * fx8_add_form -- add a form, or override the form with the same two names from
 * the variant below.
 *
 * Given:    function, form  names as in kernels/numeric/bounds.h, static
 *           unary, binary   one of them NULL
 * Notes:    at most FX8_MAX_FUNCTION_FORMS forms, fixed at compile time
 */
static inline void fx8_add_form(struct fx8_operations *operations,
                                const char *function, const char *form,
                                fx8_unary *unary, fx8_binary *binary)
{
    size_t at = 0;
    while (at < operations->n_forms &&
           (strcmp(operations->forms[at].function, function) != 0 ||
            strcmp(operations->forms[at].form, form) != 0))
        at++;
    assert(at < FX8_MAX_FUNCTION_FORMS);
    if (at == operations->n_forms)
        operations->n_forms++;
    operations->forms[at].function = function;
    operations->forms[at].form = form;
    operations->forms[at].unary = unary;
    operations->forms[at].binary = binary;
}

#endif
