/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * search.h -- the fringe of one baseline.
 */
#ifndef FX8_CORRELATOR_FRINGE_SEARCH_H
#define FX8_CORRELATOR_FRINGE_SEARCH_H

#include "correlator/fringe/fringe.h"

/** Plans and tables of a search, shared by threads. */
struct fx8_fringe_search;

/**
 * fx8_fringe_search_open -- prepare searches on the same axes.
 *
 * Given:     time, frequency  live as long as the search
 *            n_threads        that will search at the same time
 * Ownership: fx8_fringe_search_close() releases it
 */
enum fx8_status fx8_fringe_search_open(const struct fx8_fringe_axis *time,
                                       const struct fx8_fringe_axis *frequency,
                                       size_t n_threads,
                                       struct fx8_fringe_search **search,
                                       struct fx8_error *error);

/**
 * fx8_fringe_threshold -- the signal to noise that noise alone exceeds
 * somewhere in `n` searches with probability FX8_FRINGE_FALSE_ALARM.
 *
 * Numerics: the highest of N independent cells of noise exceeds s with
 *           probability N exp(-s^2 / 2); N counts the cells of the padded
 *           transform, more than are independent
 */
double fx8_fringe_threshold(const struct fx8_fringe_search *search, size_t n);

/**
 * fx8_fringe_find -- delay, rate, phase and amplitude of the strongest fringe.
 *
 * Given:    thread   below n_threads
 *           cells    float [time][frequency][re, im]  sums of weight x value
 *           weights  float [time][frequency]          sums of weights; 0: none
 *           fringe   its names are kept
 * Returned: fringe   snr, value and sigma; is_found: there is a peak, whose snr
 *                    the caller compares with a threshold
 * Numerics: the highest cell of a Fourier transform padded to twice the axes,
 *           then Newton's method on the power of the exact sum: the fit of
 *           least squares, within a cell of the peak.  The noise is that of the
 *           residuals, so it needs no model of the receivers
 */
void fx8_fringe_find(const struct fx8_fringe_search *search, size_t thread,
                     const float *cells, const float *weights,
                     struct fx8_fringe *fringe);

/** Release and null the handle; a NULL handle is legal. */
void fx8_fringe_search_close(struct fx8_fringe_search **search);

#endif
