/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook_cell.h -- decisions for one cell of a quick-look, and the bounds of
 * the difference between its two modes: one definition for the host, which
 * works row by row, and for devices.
 */
#ifndef FX8_KERNELS_QUICKLOOK_CELL_H
#define FX8_KERNELS_QUICKLOOK_CELL_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/fisher.h"
#include "kernels/functions.h"
#include "kernels/numeric/coherence.h"
#include "kernels/numeric/target.h"
#include "kernels/postprocess.h"

#ifdef __cplusplus
extern "C" {
#endif

/** |rho|^2 above which a cell exceeds 1 by more than rounding errors: two rsqrt
 *  and three products, in either mode, stay within 2e-6. */
#define FX8_QUICKLOOK_ABOVE_ONE 1.00001f

/** Replaces `steps` of struct fx8_fisher_cell if the input is so loud that it
 *  clips. */
#define FX8_QUICKLOOK_LOUD HUGE_VALF

/** Least |rho|^2 at which modes are compared: a half cannot distinguish
 *  |rho| = 2^-38 from 0, and no part that matters to it is subnormal. */
#define FX8_QUICKLOOK_COMPARED_POWER 0x1p-76f

/** Relative error of one rounding to float. */
#define FX8_QUICKLOOK_ROUNDING 0x1p-24

/** Covers the products of errors, which the bounds leave out. */
#define FX8_QUICKLOOK_SLACK (1.0 + 1e-5)

/** Whether a product is an auto. */
FX8_NUMERIC bool fx8_is_auto(const struct fx8_product *product)
{
    return product->input_1 == product->input_2;
}

/** Whether x is a number, neither infinite nor NaN. */
FX8_NUMERIC bool fx8_is_finite(float x)
{
    return fabsf(x) <= FLT_MAX;
}

/** f: the fraction of the auto's spectra (`weight`) that are also in the
 *  product (nsamples); 1 if the auto has none. */
FX8_NUMERIC float fx8_cell_share(float nsamples, float weight)
{
    const float share = nsamples / weight;
    return weight > 0.0f ? share : 1.0f;
}

/** Whether a cell has a coherence: a valid product, scales of both inputs, a
 *  finite visibility.  Without branches. */
FX8_NUMERIC int fx8_cell_is_good(float nsamples, float scale_1, float scale_2,
                                 float re, float im)
{
    const int has_weight = nsamples > 0.0f;
    const int has_1 = scale_1 > 0.0f, has_2 = scale_2 > 0.0f;
    const int is_re = fx8_is_finite(re), is_im = fx8_is_finite(im);
    return has_weight & has_1 & has_2 & is_re & is_im;
}

/** |rho| from |rho|^2 and its computed root.  In fast mode the root of 0 or
 *  infinity is 0 times infinity and not usable. */
FX8_NUMERIC float fx8_cell_amplitude(float power, float root)
{
    const float high = power <= FLT_MAX ? root : HUGE_VALF;
    return power >= FX8_LEAST_POWER ? high : 0.0f;
}

/** Bounds of the difference between two modes; relative unless noted. */
struct fx8_quicklook_bounds {
    double rho, amplitude;
    double phase;                 /**< radians */
    double log10, log10_absolute; /**< of the logarithm */
    double power, root;           /**< |rho|^2, its unbiased root */
    double atanh, tanh;           /**< of the functions alone */
};

/** Fisher sums of both modes over the dumps evaluated in both. */
struct fx8_quicklook_pair {
    double weight;
    double weighted_z[FX8_N_FUNCTIONS_MODES];
    double weighted_bound; /**< of the difference of the two z */
};

/**
 * fx8_cell_bound_of_z -- bound of the difference of z between two modes, from
 * the bound of the power: both roots lie between the roots of the least and the
 * greatest power.
 *
 * Given: power, n_products, share_1, share_2, z  from the IEEE mode
 */
FX8_NUMERIC double fx8_cell_bound_of_z(
    const struct fx8_quicklook_bounds *bounds, float power, float n_products,
    float share_1, float share_2, float z)
{
    const double p = fmin((double)power, 1.0);
    const double m = (double)n_products;
    const double rest_1 = 1.0 - (double)share_1 * p;
    const double rest_2 = 1.0 - (double)share_2 * p;
    const double bias = rest_1 * rest_2 / m;
    const double wrong = bounds->power * p * (1.0 + (rest_1 + rest_2) / m) +
                         2.0 * FX8_QUICKLOOK_ROUNDING * (5.0 * bias + p);
    const double most = FX8_FISHER_MOST_POWER;
    const double low = fmin(fmax(p - bias - wrong, 0.0), most);
    const double high = fmin(fmax(p - bias + wrong, 0.0), most);
    const double from = sqrt(low) * (1.0 - bounds->root);
    const double to = sqrt(high) * (1.0 + bounds->root);
    /* atanh(b) - atanh(a) is the atanh of this */
    const double x = (to - from) / (1.0 - to * from);
    const double apart = x < 0.1 ? x * (1.0 + x * x) : atanh(x);
    return FX8_QUICKLOOK_SLACK * (apart + bounds->atanh * ((double)z + apart));
}

/** Add a cell: its products, z in both modes, and the bound of z. */
FX8_NUMERIC void fx8_pair_add(struct fx8_quicklook_pair *pair, float n_products,
                              float z_ieee, float z_fast, double bound)
{
    const double m = (double)n_products;
    pair->weight += m;
    pair->weighted_z[FX8_FUNCTIONS_IEEE] += m * (double)z_ieee;
    pair->weighted_z[FX8_FUNCTIONS_FAST] += m * (double)z_fast;
    pair->weighted_bound += m * bound;
}

#ifdef __cplusplus
}
#endif

#endif
