/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * half_simd.c -- half precision by the CPU's own conversions.
 *
 * Plain stores.  Stores past the cache gain a third if the arrays are larger
 * than the last cache (41 to 54 GB/s at 192 MiB); otherwise they lose up to a
 * factor of 8, and a factor of 2 when the results are read.  The blocks of
 * post-processing are small.
 */
#include "kernels/cpu/variants.h"
#include "kernels/cpu/vector.h"

static void from_float(size_t n, float scale, const float *x, uint16_t *half)
{
    const vec_float scales = VEC(set1_ps)(scale);
    size_t k = 0;
    for (; k + VEC_LANES <= n; k += VEC_LANES)
        vec_store_half(VEC_LANES, half + k, VEC(loadu_ps)(x + k) * scales);
    if (k < n)
        vec_store_half(n - k, half + k,
                       vec_load_first(n - k, x + k, scales) * scales);
}

static void to_float(size_t n, const uint16_t *half, float *x)
{
    size_t k = 0;
    for (; k + VEC_LANES <= n; k += VEC_LANES)
        VEC(storeu_ps)(x + k, vec_load_half(VEC_LANES, half + k));
    if (k < n)
        vec_store_first(n - k, x + k, vec_load_half(n - k, half + k));
}

void FX8_VARIANT(fx8_fill_half)(struct fx8_operations *operations)
{
    operations->half = (struct fx8_half_functions){from_float, to_float};
}
