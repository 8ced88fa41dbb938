/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "kernels/filterbank.h"

/* Overlap is computed up to this many channels apart. */
#define MOST_APART 8

static const double PI = 3.14159265358979323846;

/** W(u) at u = n / (n_weights - 1). */
static double window_value(enum fx8_filter_window window, size_t n,
                           size_t n_weights)
{
    const double phase = 2.0 * PI * (double)n / (double)(n_weights - 1);
    switch (window) {
    case FX8_FILTER_HAMMING:
        return 0.54 - 0.46 * cos(phase);
    case FX8_FILTER_HANN:
        return 0.5 - 0.5 * cos(phase);
    case FX8_FILTER_RECTANGULAR:
        break;
    }
    return 1.0;
}

/** sinc((n + 1/2)/N - P/2).  The argument is a quotient of integers, so it is
 *  exactly odd about the middle of the filter. */
static double sinc_value(size_t n, size_t n_taps, size_t length)
{
    const double x = ((double)(2 * n + 1) - (double)(n_taps * length)) /
                     (double)(2 * length);
    return x == 0.0 ? 1.0 : sin(PI * x) / (PI * x);
}

void fx8_filterbank_weights(enum fx8_filter_window window, size_t n_taps,
                            size_t length, bool has_sinc, double *weights)
{
    const size_t n_weights = n_taps * length;
    if (n_weights == 1) {
        weights[0] = 1.0;
        return;
    }
    /* The first half is computed and mirrored, so that the filter is
     * symmetric to the last bit. */
    double power = 0.0;
    for (size_t n = 0; n < (n_weights + 1) / 2; n++) {
        const double weight = window_value(window, n, n_weights) *
                              (has_sinc ? sinc_value(n, n_taps, length) : 1.0);
        const size_t mirror = n_weights - 1 - n;
        weights[n] = weight;
        weights[mirror] = weight;
        power += weight * weight * (mirror == n ? 1.0 : 2.0);
    }
    /* A Hann window of two samples is zero everywhere; its limit in shape is
     * two equal weights. */
    if (power == 0.0) {
        for (size_t n = 0; n < n_weights; n++)
            weights[n] = 1.0;
        power = (double)n_weights;
    }
    const double scale = 1.0 / sqrt(power);
    for (size_t n = 0; n < n_weights; n++)
        weights[n] *= scale;
}

void fx8_filterbank_coefficients(const struct fx8_filterbank *bank,
                                 const double *weights, bool lower,
                                 bool first_is_odd, float *coefficients)
{
    const size_t n_weights = bank->n_taps * bank->fft_length;
    if (bank->is_complex) {
        for (size_t n = 0; n < n_weights; n++) {
            const float weight = (float)weights[n];
            coefficients[2 * n] = weight;
            coefficients[2 * n + 1] = lower ? -weight : weight;
        }
        return;
    }
    /* N is even for real samples, so that every spectrum starts at the parity
     * of the first sample. */
    for (size_t n = 0; n < n_weights; n++) {
        const bool is_odd = (n % 2 != 0) != first_is_odd;
        const float weight = (float)weights[n];
        coefficients[n] = lower && is_odd ? -weight : weight;
    }
}

float fx8_filterbank_int16(size_t n_coefficients, const float *coefficients,
                           int16_t *rounded)
{
    float largest = 0.0f;
    for (size_t k = 0; k < n_coefficients; k++)
        largest = fmaxf(largest, fabsf(coefficients[k]));
    const float scale = (float)((double)largest / 32767.0);
    for (size_t k = 0; k < n_coefficients; k++)
        rounded[k] =
            scale > 0.0f ? (int16_t)rint((double)coefficients[k] / scale) : 0;
    return scale;
}

void fx8_filterbank_response(const double *weights, size_t n_weights,
                             size_t length, double offset_channels,
                             double response[2])
{
    double re = 0.0, im = 0.0;
    for (size_t n = 0; n < n_weights; n++) {
        const double cycles = offset_channels * (double)n / (double)length;
        const double phase = 2.0 * PI * (cycles - floor(cycles));
        re += weights[n] * cos(phase);
        im += weights[n] * sin(phase);
    }
    response[0] = re;
    response[1] = im;
}

/* R(d, k).  The phase is advanced by a product per sample; over the longest
 * filter the error is less than 10^-9. */
static double overlap_of(const double *weights, size_t n_weights, size_t length,
                         size_t spectra_apart, size_t channels_apart)
{
    const size_t shift = spectra_apart * length;
    const double phase = 2.0 * PI * (double)channels_apart / (double)length;
    const double turn_re = cos(phase), turn_im = sin(phase);
    double re = 0.0, im = 0.0, at_re = 1.0, at_im = 0.0;
    for (size_t n = 0; n + shift < n_weights; n++) {
        const double product = weights[n] * weights[n + shift];
        re += product * at_re;
        im += product * at_im;
        const double next_re = at_re * turn_re - at_im * turn_im;
        at_im = at_re * turn_im + at_im * turn_re;
        at_re = next_re;
    }
    return re * re + im * im;
}

double fx8_filterbank_overlap(const double *weights, size_t n_taps,
                              size_t length, size_t n_spectra,
                              size_t n_channels)
{
    double sum = 0.0;
    for (size_t d = 0; d < n_taps && d < n_spectra; d++)
        for (size_t k = 0; k <= MOST_APART && k < n_channels; k++) {
            const double share = (1.0 - (double)d / (double)n_spectra) *
                                 (1.0 - (double)k / (double)n_channels);
            /* both signs of nonzero d and k */
            const double both = (d > 0 ? 2.0 : 1.0) * (k > 0 ? 2.0 : 1.0);
            sum += both * share *
                   overlap_of(weights, n_taps * length, length, d, k);
        }
    return sum;
}
