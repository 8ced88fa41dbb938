/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filterbank.h -- geometry and coefficients of the filter bank.
 */
#ifndef FX8_KERNELS_FILTERBANK_H
#define FX8_KERNELS_FILTERBANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most taps of a polyphase filter bank. */
#define FX8_MAX_TAPS 64

/** Window W of a prototype filter. */
enum fx8_filter_window {
    FX8_FILTER_RECTANGULAR = 0,
    FX8_FILTER_HAMMING, /**< 0.54 - 0.46 cos(2 pi u) */
    FX8_FILTER_HANN     /**< 0.5 - 0.5 cos(2 pi u) */
};

/**
 * Geometry of a filter bank.
 *
 * Notes: 1) X_k(t) = sum over n in [0, P N) of w_n x(t N + n)
 *           exp(-2 pi i k n / N), P = n_taps, N = fft_length
 *        2) complex samples: N = C; output channel c is k = c - floor(K/2),
 *           c in [0, K), K = n_channels <= C
 *        3) real samples: N = 2 C; output channel c is k = c, c in [0, C)
 *        4) N = 1 (one channel of complex samples) is legal: a FIR alone
 */
struct fx8_filterbank {
    bool is_complex;
    size_t fft_length; /**< N, samples per spectrum */
    size_t n_taps;     /**< P */
    size_t n_channels; /**< K, channels handed on */
};

/** Floats in one row of N samples: N, or 2 N when complex (re, im). */
static inline size_t fx8_filterbank_row(const struct fx8_filterbank *bank)
{
    return bank->fft_length * (bank->is_complex ? 2 : 1);
}

/** Bins that the FFT delivers: N for complex, N/2 + 1 for real samples. */
static inline size_t fx8_filterbank_bins(const struct fx8_filterbank *bank)
{
    return bank->is_complex ? bank->fft_length : bank->fft_length / 2 + 1;
}

/** FFT bin of output channel `channel` (negative k wrap to the upper half). */
static inline size_t fx8_filterbank_bin(const struct fx8_filterbank *bank,
                                        size_t channel)
{
    if (!bank->is_complex)
        return channel;
    const size_t half = bank->n_channels / 2;
    return channel >= half ? channel - half : bank->fft_length + channel - half;
}

/** Consecutive output channels that are consecutive FFT bins. */
struct fx8_channel_range {
    size_t channel, bin, n_channels;
};

/** All output channels: the negative frequencies, if any, then the others.
 *  Returns the number of ranges. */
static inline size_t fx8_filterbank_ranges(const struct fx8_filterbank *bank,
                                           struct fx8_channel_range ranges[2])
{
    const size_t half = bank->is_complex ? bank->n_channels / 2 : 0;
    const struct fx8_channel_range low = {0, bank->fft_length - half, half};
    const struct fx8_channel_range high = {half, 0, bank->n_channels - half};
    size_t n = 0;
    if (half > 0)
        ranges[n++] = low;
    ranges[n++] = high;
    return n;
}

/** Whether the spectra of an output channel are real: k = 0 of real samples,
 *  in either sideband. */
static inline bool fx8_filterbank_is_real(const struct fx8_filterbank *bank,
                                          size_t channel)
{
    return !bank->is_complex && channel == 0;
}

/**
 * fx8_filterbank_weights -- the prototype filter w_n in double precision.
 *
 * Given:    window   W(u), u = n / (P N - 1)
 *           n_taps   P, 1 .. FX8_MAX_TAPS
 *           length   N
 *           has_sinc whether W is multiplied by sinc((n + 1/2)/N - P/2)
 * Returned: weights  double [P * N], sum of squares 1
 * Notes:    P N = 1 has weight 1 for any window; sinc(x) is
 *           sin(pi x)/(pi x)
 * Source:   DESIGN, "Filter bank"
 */
void fx8_filterbank_weights(enum fx8_filter_window window, size_t n_taps,
                            size_t length, bool has_sinc, double *weights);

/**
 * fx8_filterbank_coefficients -- weights as the FIR operation takes them.
 *
 * Given:    bank         geometry
 *           weights      double [P * N]
 *           lower        lower sideband: complex samples are conjugated
 *                        (imaginary parts get the negated weight), real ones
 *                        multiplied by (-1)^n
 *           first_is_odd the first sample processed has an odd absolute index
 *                        in the recording (matters for real lower only)
 * Returned: coefficients float [P][row], row = fx8_filterbank_row(); complex:
 *                        each weight twice, for re and im
 * Numerics: each weight is rounded once to float; signs are exact
 */
void fx8_filterbank_coefficients(const struct fx8_filterbank *bank,
                                 const double *weights, bool lower,
                                 bool first_is_odd, float *coefficients);

/**
 * fx8_filterbank_int16 -- coefficients as the operation fir_int16 takes them.
 *
 * Given:    n_coefficients, coefficients  from fx8_filterbank_coefficients()
 * Returned: rounded  int16 [n_coefficients]: w / scale, to nearest even
 *           the scale, max |w| / 32767; 0 if all are zero
 * Numerics: scale * rounded is within max |w| / 65533 of w: half a unit of
 *           1/32767 plus the rounding of scale
 */
float fx8_filterbank_int16(size_t n_coefficients, const float *coefficients,
                           int16_t *rounded);

/**
 * fx8_filterbank_response -- H(f) = sum of w_n exp(2 pi i f n / N).
 *
 * Given:    weights, n_weights = P * N, length = N
 *           offset_channels  f: offset from the channel's centre, in channels
 * Returned: response  double [2]  re, im
 */
void fx8_filterbank_response(const double *weights, size_t n_weights,
                             size_t length, double offset_channels,
                             double response[2]);

/**
 * fx8_filterbank_overlap -- factor by which overlapping windows raise the
 * variance of a mean of products of white noise, relative to independent
 * products.
 *
 * Given:    weights     double [n_taps * length], P and N
 *           n_spectra   consecutive spectra in the mean, at least 1
 *           n_channels  neighbouring channels in the mean, at least 1
 * Returned: sum over spectra d and channels k apart of R(d, k)
 *           (1 - |d| / n_spectra) (1 - |k| / n_channels), R(d, k) =
 *           |sum over n of w_n w_(n + dN) exp(2 pi i k n / N)|^2: 1 for a
 *           rectangular FFT; the mean is worth n_spectra n_channels / this many
 *           independent products
 * Notes:    1) k up to 8 channels apart; the rest adds less than 10^-5
 *           2) also holds for real samples, except within two channels of the
 *              band edges, where a channel overlaps its own mirror image
 * Source:   the covariance of two products is the product of the covariances
 *           of their factors, for normal noise (Isserlis)
 */
double fx8_filterbank_overlap(const double *weights, size_t n_taps,
                              size_t length, size_t n_spectra,
                              size_t n_channels);

#ifdef __cplusplus
}
#endif

#endif
