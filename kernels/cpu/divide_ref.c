/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/function_forms.h"
#include "kernels/cpu/variants.h"
#include "kernels/numeric/divide.h"

static void divide_markstein(size_t n, const float *a, const float *b, float *y)
{
    for (size_t k = 0; k < n; k++)
        y[k] = fx8_divide(a[k], b[k]);
}

void fx8_fill_divide_reference(struct fx8_operations *operations)
{
    fx8_add_form(operations, "divide", "markstein", NULL, divide_markstein);
}
