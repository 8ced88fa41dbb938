/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image_simd.c -- the image: a block of rows of the matrix times the phasors of
 * all antennas, a lane for each direction.  Eight sums, in registers, take two
 * products each per antenna: enough to hide the latency of an fma.
 */
#include "kernels/cpu/image_phasors.h"
#include "kernels/cpu/variants.h"
#include "kernels/cpu/vector.h"

/* Add a block of rows; `phasors` begin with the first lane of a register. */
FX8_INLINE vec_float add_rows(const struct fx8_image_channel *channel,
                              size_t first, const float *phasors, vec_float sum)
{
    const size_t n = channel->n_antennas, step = 2 * FX8_IMAGE_LANES;
    const struct fx8_cf32 *matrix = channel->matrix + first * n;
    vec_float re[FX8_IMAGE_ROWS], im[FX8_IMAGE_ROWS];
    FX8_UNROLL
    for (int r = 0; r < FX8_IMAGE_ROWS; r++)
        re[r] = im[r] = VEC(setzero_ps)();
    for (size_t j = first + 1; j < n; j++) {
        const struct fx8_cf32 *v = matrix + j * FX8_IMAGE_ROWS;
        const vec_float a = VEC(load_ps)(phasors + j * step);
        const vec_float b = VEC(load_ps)(phasors + j * step + FX8_IMAGE_LANES);
        FX8_UNROLL
        for (int r = 0; r < FX8_IMAGE_ROWS; r++) {
            const vec_float v_re = VEC(set1_ps)(v[r].re);
            const vec_float v_im = VEC(set1_ps)(v[r].im);
            re[r] = VEC(fmadd_ps)(v_re, a, re[r]);
            im[r] = VEC(fmadd_ps)(v_re, b, im[r]);
            re[r] = VEC(fnmadd_ps)(v_im, b, re[r]);
            im[r] = VEC(fmadd_ps)(v_im, a, im[r]);
        }
    }
    FX8_UNROLL
    for (size_t r = 0; r < FX8_IMAGE_ROWS; r++) {
        if (first + r >= n)
            break;
        const float *own = phasors + (first + r) * step;
        sum = VEC(fmadd_ps)(VEC(load_ps)(own), re[r], sum);
        sum = VEC(fmadd_ps)(VEC(load_ps)(own + FX8_IMAGE_LANES), im[r], sum);
    }
    return sum;
}

static void image(const struct fx8_image_channel *channel,
                  const double *directions, float *phasors, float *sums)
{
    find_phasors(channel, directions, phasors);
    for (size_t k = 0; k < FX8_IMAGE_LANES; k += VEC_LANES) {
        vec_float sum = VEC(loadu_ps)(sums + k);
        for (size_t i = 0; i < channel->n_antennas; i += FX8_IMAGE_ROWS)
            sum = add_rows(channel, i, phasors + k, sum);
        VEC(storeu_ps)(sums + k, sum);
    }
}

void FX8_VARIANT(fx8_fill_image)(struct fx8_operations *operations)
{
    operations->image = image;
}
