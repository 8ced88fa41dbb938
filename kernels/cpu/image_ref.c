/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/image_phasors.h"
#include "kernels/cpu/variants.h"

/* Add row i of the matrix in one direction. */
static float add_row(const struct fx8_image_channel *channel, size_t i,
                     const float *phasors, float sum)
{
    const size_t n = channel->n_antennas, step = 2 * FX8_IMAGE_LANES;
    float re = 0.0f, im = 0.0f;
    for (size_t j = i / FX8_IMAGE_ROWS * FX8_IMAGE_ROWS + 1; j < n; j++) {
        const struct fx8_cf32 v = channel->matrix[fx8_image_cell(n, i, j)];
        const float a = phasors[j * step];
        const float b = phasors[j * step + FX8_IMAGE_LANES];
        fx8_image_add(v.re, v.im, a, b, &re, &im);
    }
    sum = fx8_fma(phasors[i * step], re, sum);
    return fx8_fma(phasors[i * step + FX8_IMAGE_LANES], im, sum);
}

static void image(const struct fx8_image_channel *channel,
                  const double *directions, float *phasors, float *sums)
{
    find_phasors(channel, directions, phasors);
    for (size_t k = 0; k < FX8_IMAGE_LANES; k++)
        for (size_t i = 0; i < channel->n_antennas; i++)
            sums[k] = add_row(channel, i, phasors + k, sums[k]);
}

void fx8_fill_image_reference(struct fx8_operations *operations)
{
    operations->image = image;
}
