/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * van_vleck.h -- correlations of samples of a few bits, turned into those of
 * the normal noise that was sampled.
 *
 * A real part of a sample is a staircase of a normal variable of rms 1: it has
 * a value above threshold t in the share of samples that the normal
 * distribution has above t.  Two such staircases with steps d_a at t_a and d_b
 * at t_b, of variables with correlation sin(theta), have the covariance
 *
 *     K(theta) = sum over a, b of d_a d_b / (2 pi) times the integral from 0 to
 *     theta of exp(-(t_a^2 + t_b^2 - 2 t_a t_b sin x) / (2 cos^2 x)) dx
 *
 * (Price 1958).  One threshold at 0 gives van Vleck's arcsine.
 */
#ifndef FX8_KERNELS_VAN_VLECK_H
#define FX8_KERNELS_VAN_VLECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "kernels/postprocess.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Values that an int8 may have. */
#define FX8_INT8_VALUES 256

/** Most different values of samples of at most 4 bits. */
#define FX8_FEW_VALUES 16

/** How a real part of the samples of an input is quantised. */
struct fx8_staircase {
    size_t n_steps;                       /**< 0: at most one value occurs */
    double threshold[FX8_FEW_VALUES - 1]; /**< ascending, in rms */
    double step[FX8_FEW_VALUES - 1];      /**< above 0, in LSB */
    double mean, variance;                /**< in LSB and LSB^2 */
};

/** Measure a staircase.  `counts` [FX8_INT8_VALUES]: samples of the values -128
 *  to 127.  False: more than FX8_FEW_VALUES values occur. */
bool fx8_staircase_measure(const int64_t *counts,
                           struct fx8_staircase *staircase);

/** Intervals of a quarter turn in which a law is tabulated: 0.7 degrees, far
 *  less than K needs to change for thresholds of 4 bits. */
#define FX8_LAW_CELLS 128

/** A sum of up to two covariances as a function of theta, tabulated from 0 in
 *  both directions as far as values were looked up.  Start with the staircases
 *  and zeros. */
struct fx8_law {
    struct {
        const struct fx8_staircase *a, *b;
        bool is_negated; /**< of minus the first variable */
    } pairs[2];
    size_t n_pairs;
    size_t n_cells[2]; /**< tabulated above and below 0 */
    double value[2][FX8_LAW_CELLS + 1], slope[2][FX8_LAW_CELLS + 1];
};

/**
 * fx8_law_correlation -- the correlation, -1 to 1, at which a law has the given
 * value.
 *
 * Numerics: within 2e-7, of staircases of up to 4 bits with correlations up to
 *           0.99; values beyond the law's ends give -1 and 1
 */
double fx8_law_correlation(struct fx8_law *law, double value);

/** Transforms from channels to lags and back. */
struct fx8_van_vleck;

/** Bytes that fx8_van_vleck_open() allocates; SIZE_MAX on overflow. */
size_t fx8_van_vleck_size(bool is_complex, size_t n_channels, size_t n_threads);

/** Open for bands of n_channels, all that a Fourier transform of a rectangular
 *  window gives.  Release it with fx8_van_vleck_close().  FX8_ERR_SYSTEM:
 *  memory; FX8_ERR_USAGE: too many channels. */
enum fx8_status fx8_van_vleck_open(bool is_complex, bool is_lower,
                                   size_t n_channels, size_t n_threads,
                                   struct fx8_van_vleck **van_vleck,
                                   struct fx8_error *error);

/**
 * fx8_van_vleck_correct -- correct the visibilities of a band.
 *
 * Given:    staircases  [n_inputs of the plan][2] real and imaginary part; of
 *                       real samples the first counts
 *           plan        of the results; no channel_average; of its threads at
 *                       most those of fx8_van_vleck_open()
 * Changed:  result      visibilities; a product of an input that has one value
 *                       only becomes 0 and flagged.  Products without data
 *                       remain
 * Numerics: spectra in float, laws in double; independent of threads
 * Notes:    1) the means of the samples are removed, autos keep their power:
 *              its sum over channels is the variance of the samples
 *           2) a transform of N samples mixes lag l, weighted by 1 - |l|/N,
 *              with lag l - N or l + N, by |l|/N.  The lag of at most N/2 is
 *              corrected as if the other were 0.  That is exact where noise is
 *              uncorrelated after N/2 samples, as it is if channels resolve its
 *              spectrum; otherwise the error is the product of two correlations
 *           3) real and imaginary part are taken to have equal powers and equal
 *              correlations, re with re as im with im, re with im as minus im
 *              with re: those of noise in a band, whatever its spectrum
 *           4) of real samples, the channel at fs/2 (lower sideband: at
 *              baseband zero), which is not written, is taken to be like its
 *              neighbour; this matters to the second order only
 */
void fx8_van_vleck_correct(const struct fx8_van_vleck *van_vleck,
                           const struct fx8_staircase *staircases,
                           const struct fx8_postprocess *plan,
                           const struct fx8_result *result);

/** Release and null the handle; a NULL handle is legal. */
void fx8_van_vleck_close(struct fx8_van_vleck **van_vleck);

#ifdef __cplusplus
}
#endif

#endif
