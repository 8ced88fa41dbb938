/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tones.h -- response of a filter bank to a tone.
 */
#ifndef FX8_CORRELATOR_SIMULATE_TONES_H
#define FX8_CORRELATOR_SIMULATE_TONES_H

#include <stdint.h>

#include "kernels/filterbank.h"

/** A tone in a channel. */
struct fx8_tone {
    double offset;      /**< from the centre, in channels, aliased */
    double response[2]; /**< re, im; 0 beyond 256 channels */
};

/**
 * fx8_tone_find -- response to a tone in a channel.
 *
 * Given:    bank, weights  [n_taps * fft_length]
 *           offset         in channels, any alias
 */
struct fx8_tone fx8_tone_find(const struct fx8_filterbank *bank,
                              const double *weights, double offset);

/**
 * fx8_tone_beat -- beat of a tone with its mirror image in a channel of real
 * spectra z + conj(z): z_i z_j, in units in which conj(z_i) z_j has
 * |response|^2.
 *
 * Given:    first_sample  of spectrum 0 in the recording; the phase refers to
 *                         sample 0 of the recording
 *           first, n      spectra [first, first + n)
 * Returned: beat  re, im  the mean over these spectra
 */
void fx8_tone_beat(const struct fx8_tone *tone,
                   const struct fx8_filterbank *bank, int64_t first_sample,
                   int64_t first, int64_t n, double beat[2]);

#endif
