/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coherence.h -- the arithmetic of one cell of a quick-look apart from the
 * functions of kernels/functions.h: one definition for both engines.
 *
 * A cell is one channel of one product of one baseline in one dump.
 */
#ifndef FX8_KERNELS_NUMERIC_COHERENCE_H
#define FX8_KERNELS_NUMERIC_COHERENCE_H

#include "correlator/fx8.h"
#include "kernels/numeric/target.h"

/** Least power that counts: the least normal float.  Below it, including zero
 *  and negative powers, an input has no power. */
#define FX8_LEAST_POWER 1.17549435e-38f

/** Level, in dB, of an input without power: below any normal float, which has
 *  at least -379.3 dB. */
#define FX8_NO_POWER_DB (-400.0f)

/** Largest |rho|^2 that is averaged, |rho| = 1 - 1e-6: atanh(1) is
 *  infinite. */
#define FX8_FISHER_MOST_POWER 0.999998f

/** Fewest independent products in an averaged cell: with fewer, the noise bias
 *  cannot be removed (a single product has |rho| = 1). */
#define FX8_FISHER_LEAST_PRODUCTS 16.0f

/** Re or im of V rsqrt(P_1) rsqrt(P_2): two roundings. */
FX8_NUMERIC float fx8_coherence_part(float v, float rsqrt_1, float rsqrt_2)
{
    return fx8_mul(fx8_mul(v, rsqrt_1), rsqrt_2);
}

/** |rho|^2: three roundings. */
FX8_NUMERIC float fx8_coherence_power(float re, float im)
{
    return fx8_add(fx8_mul(re, re), fx8_mul(im, im));
}

/** |rho|^2 minus its noise bias: p - (1 - f_1 p) (1 - f_2 p) / M, which may be
 *  negative.  p is at most 1; f is the fraction of the auto's spectra that are
 *  also in the product, 1 without gaps. */
FX8_NUMERIC float fx8_coherence_unbiased(float power, float n_products,
                                         float share_1, float share_2)
{
    const float rest_1 = fx8_fma(-share_1, power, 1.0f);
    const float rest_2 = fx8_fma(-share_2, power, 1.0f);
    return fx8_add(power, -(fx8_mul(rest_1, rest_2) / n_products));
}

#endif
