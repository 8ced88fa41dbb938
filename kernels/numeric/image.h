/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image.h -- the arithmetic of an image: how an antenna is turned towards a
 * direction, and the sum of a row of the matrix.
 *
 * Turns are doubles, because thousands of wavelengths leave floats too few
 * bits, and each operation is rounded: every imager gets the same bits.  They
 * cost eight operations per antenna and direction, the sums 2 n fmas.
 */
#ifndef FX8_KERNELS_NUMERIC_IMAGE_H
#define FX8_KERNELS_NUMERIC_IMAGE_H

#include "kernels/numeric/rotate.h"

/** Turns of exp(-2 pi i turns . (x, y, z)) without whole ones, in [-1/2, 1/2];
 *  rounded from doubles to 2^-25. */
FX8_NUMERIC float fx8_image_turns(const double turns[3], double x, double y,
                                  double z)
{
    const double sum = turns[0] * x + turns[1] * y + turns[2] * z;
    return (float)(rint(sum) - sum);
}

/** Add (v_re + i v_im) (a + i b) to a sum. */
FX8_NUMERIC void fx8_image_add(float v_re, float v_im, float a, float b,
                               float *re, float *im)
{
    *re = fx8_fma(-v_im, b, fx8_fma(v_re, a, *re));
    *im = fx8_fma(v_im, a, fx8_fma(v_re, b, *im));
}

#endif
