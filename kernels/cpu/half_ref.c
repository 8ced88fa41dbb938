/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/variants.h"
#include "kernels/numeric/half.h"

static void from_float(size_t n, float scale, const float *x, uint16_t *half)
{
    for (size_t k = 0; k < n; k++)
        half[k] = fx8_half_from_float(x[k] * scale);
}

static void to_float(size_t n, const uint16_t *half, float *x)
{
    for (size_t k = 0; k < n; k++)
        x[k] = fx8_half_to_float(half[k]);
}

void fx8_fill_half_reference(struct fx8_operations *operations)
{
    operations->half = (struct fx8_half_functions){from_float, to_float};
}
