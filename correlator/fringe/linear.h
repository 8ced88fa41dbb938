/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * linear.h -- least squares of differences or sums of pairs.
 */
#ifndef FX8_CORRELATOR_FRINGE_LINEAR_H
#define FX8_CORRELATOR_FRINGE_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

#include "correlator/fx8.h"

/** Normal equations of n unknowns. */
struct fx8_linear {
    size_t n;
    double *matrix;   /**< [n][n] lower triangle; after solving, its factor */
    double *right;    /**< [n] right side; after solving, the solution */
    double *diagonal; /**< [n] scratch of the caller */
    double *variance; /**< [n] after inverting */
    bool *is_fixed;   /**< [n] held at 0 */
};

/** Allocate; fx8_linear_close() releases, also after a failure. */
enum fx8_status fx8_linear_open(size_t n, struct fx8_linear *linear,
                                struct fx8_error *error);

/** Release; zeroed equations are legal. */
void fx8_linear_close(struct fx8_linear *linear);

/** No equations, nothing fixed. */
void fx8_linear_clear(struct fx8_linear *linear);

/** Hold an unknown at 0; before equations are added. */
void fx8_linear_fix(struct fx8_linear *linear, size_t unknown);

/** Add the equation x[ends[1]] + sign x[ends[0]] = value. */
void fx8_linear_add(struct fx8_linear *linear, const size_t ends[2],
                    double sign, double weight, double value);

/** Solve by Cholesky's factors; false if singular. */
bool fx8_linear_solve(struct fx8_linear *linear);

/** Variances of the solution, for weights of 1 / variance; after solving. */
void fx8_linear_invert(struct fx8_linear *linear);

#endif
