/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image_phasors.h -- private to image_ref.c and image_simd.c: what turns each
 * antenna towards some directions.
 */
#ifndef FX8_KERNELS_CPU_IMAGE_PHASORS_H
#define FX8_KERNELS_CPU_IMAGE_PHASORS_H

#include "kernels/numeric/image.h"
#include "kernels/operations.h"

/** phasors float [n_antennas][re, im][FX8_IMAGE_LANES] = exp(-2 pi i turns .
 *  direction), in loops short enough for gcc to vectorise. */
static inline void find_phasors(const struct fx8_image_channel *channel,
                                const double *directions, float *phasors)
{
    const double *x = directions, *y = x + FX8_IMAGE_LANES;
    const double *z = y + FX8_IMAGE_LANES;
    for (size_t i = 0; i < channel->n_antennas; i++) {
        const double *turns = channel->turns + 3 * i;
        float *re = phasors + 2 * i * FX8_IMAGE_LANES;
        float *im = re + FX8_IMAGE_LANES;
        float rest[FX8_IMAGE_LANES];
        for (size_t k = 0; k < FX8_IMAGE_LANES; k++)
            rest[k] = fx8_image_turns(turns, x[k], y[k], z[k]);
        for (size_t k = 0; k < FX8_IMAGE_LANES; k++)
            re[k] = fx8_rotation_re(rest[k]);
        for (size_t k = 0; k < FX8_IMAGE_LANES; k++)
            im[k] = fx8_rotation_im(rest[k]);
    }
}

#endif
