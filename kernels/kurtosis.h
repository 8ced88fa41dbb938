/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kurtosis.h -- spectral kurtosis: how the power of a channel scatters from
 * spectrum to spectrum.  1 for Gaussian noise, more for pulses, less for a
 * steady carrier.
 */
#ifndef FX8_KERNELS_KURTOSIS_H
#define FX8_KERNELS_KURTOSIS_H

#include <stdint.h>

/** Fewest spectra to judge by: with fewer, the limits of real spectra miss the
 *  rate that they are for by more than a fifth. */
#define FX8_LEAST_KURTOSIS_SPECTRA 64

/** Shapes d of the gamma distribution that the power of Gaussian noise has. */
#define FX8_KURTOSIS_COMPLEX 1.0
#define FX8_KURTOSIS_REAL    0.5

/**
 * fx8_kurtosis -- the estimate from sums over spectra.
 *
 * Given:    n_spectra  M
 *           shape      d
 *           power      S1, sum of |X|^2, above 0
 *           square     S2, sum of |X|^4
 * Returned: (M d + 1) / (M - 1) * (M S2 / S1^2 - 1), whose mean is 1
 * Source:   Nita & Gary 2010, MNRAS 406, L60
 */
double fx8_kurtosis(int64_t n_spectra, double shape, double power,
                    double square);

/** Below `lower` or above `upper`: not Gaussian noise. */
struct fx8_kurtosis_limits {
    double lower, upper;
};

/**
 * fx8_kurtosis_limits -- limits that estimates from Gaussian noise are beyond
 * with a given probability, half of it on each side.
 *
 * Given:    n_spectra    M, at least FX8_LEAST_KURTOSIS_SPECTRA
 *           shape        d
 *           false_alarm  1e-9 .. 0.1
 * Numerics: quantiles of the Pearson curve with the exact variance, skewness
 *           and kurtosis of the estimate, within 1e-5 standard deviations; its
 *           type follows from these.  How far the curve is from the truth:
 *           config/README.md
 * Source:   moments: Nita & Gary 2010, MNRAS 406, L60; curve: Kendall &
 *           Stuart, The Advanced Theory of Statistics, vol. 1, 6.2
 */
struct fx8_kurtosis_limits fx8_kurtosis_limits(int64_t n_spectra, double shape,
                                               double false_alarm);

#endif
