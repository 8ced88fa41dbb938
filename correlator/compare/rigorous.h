/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rigorous.h -- whether visibilities lie within bounds proved by directed
 * rounding: DOWN <= X <= UP, number by number.
 */
#ifndef FX8_CORRELATOR_COMPARE_RIGOROUS_H
#define FX8_CORRELATOR_COMPARE_RIGOROUS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "correlator/compare/compare.h"
#include "correlator/compare/spread.h"

/** A number that lies outside. */
struct fx8_compare_outlier {
    int64_t antenna_1, antenna_2; /**< numbers */
    size_t dump, channel, product;
    bool is_imaginary;
    double value, down, up;
    double excess; /**< to the nearer bound */
};

/**
 * A test of bounds.
 *
 * Notes: 1) a cell is one product of one baseline in one channel of one dump;
 *           it has two numbers, the real and the imaginary part
 *        2) cells with nsamples > 0 are tested, flagged or not
 */
struct fx8_enclosure {
    char name[3][FX8_TEXT_SIZE]; /**< X, DOWN, UP */
    char precision[32];          /**< PRECISN of X */
    struct fx8_compare_shape shape;
    int64_t n_dumps;
    int64_t n_cells;        /**< tested */
    int64_t n_without_data; /**< cells not tested */
    int64_t n_outside;      /**< numbers */
    struct fx8_compare_outlier worst;
    double worst_julian_date, worst_frequency_hz;
    /** Widths UP - DOWN. */
    struct fx8_compare_spread absolute; /**< input counts squared */
    struct fx8_compare_spread relative; /**< of sqrt(P_i P_j), autos of X;
                                             where both are positive */
};

/**
 * fx8_enclosure_test -- read three UVH5 files side by side.
 *
 * Given:     paths     X, DOWN, UP
 *            progress  of the rows read; NULL: none
 * Status:    FX8_ERR_INPUT: unreadable; different antennas, baselines,
 *            products, frequencies, times or weights; keyword PRECISN does not
 *            mark DOWN and UP as such, or marks X as one of them; a value that
 *            is not finite; FX8_ERR_SYSTEM: memory
 * Ownership: fx8_enclosure_clear() releases; empty after a failure
 */
enum fx8_status fx8_enclosure_test(const char *const paths[3],
                                   struct fx8_progress_display *progress,
                                   struct fx8_enclosure *enclosure,
                                   struct fx8_error *error);

/** Release; a zeroed one is legal. */
void fx8_enclosure_clear(struct fx8_enclosure *enclosure);

/** Print the figures and the verdict. */
void fx8_enclosure_print(const struct fx8_enclosure *enclosure, FILE *stream);

/**
 * fx8_enclosure_verdict -- whether all numbers lie inside.
 *
 * Returned: reason  one line, also when inside
 * Status:   true: some were tested, and none is outside
 */
bool fx8_enclosure_verdict(const struct fx8_enclosure *enclosure,
                           char reason[FX8_TEXT_SIZE]);

#endif
