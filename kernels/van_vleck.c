/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "kernels/van_vleck.h"

/* The normal distribution has less than one sample in 10^19 beyond. */
#define FARTHEST_RMS 9.0

/* Halvings of FARTHEST_RMS that a double resolves. */
#define HALVINGS 56

/* From the middle of a cell to the root: each step doubles the digits. */
#define NEWTON_STEPS 5

/* --- staircases ----------------------------------------------------------- */

/* Where the normal distribution has n_below against n_above samples. */
static double find_threshold(double n_below, double n_above)
{
    const double least = n_below < n_above ? n_below : n_above;
    double near = 0.0, far = FARTHEST_RMS;
    for (int k = 0; k < HALVINGS; k++) {
        const double middle = 0.5 * (near + far);
        const double beyond = 0.5 * erfc(middle * M_SQRT1_2);
        *(beyond * (n_below + n_above) > least ? &near : &far) = middle;
    }
    return n_below < n_above ? -near : near;
}

bool fx8_staircase_measure(const int64_t *counts,
                           struct fx8_staircase *staircase)
{
    double all = 0.0, sum = 0.0, squares = 0.0, below = 0.0, before = 0.0;
    *staircase = (struct fx8_staircase){0};
    for (int k = 0; k < FX8_INT8_VALUES; k++) {
        const double n = (double)counts[k], value = k - 128;
        all += n;
        sum += n * value;
        squares += n * value * value;
    }
    for (int k = 0; k < FX8_INT8_VALUES; k++) {
        const double n = (double)counts[k], value = k - 128;
        if (counts[k] == 0)
            continue;
        if (below > 0.0) {
            if (staircase->n_steps == FX8_FEW_VALUES - 1)
                return false;
            const size_t at = staircase->n_steps++;
            staircase->threshold[at] = find_threshold(below, all - below);
            staircase->step[at] = value - before;
        }
        below += n;
        before = value;
    }
    if (all > 0.0) {
        staircase->mean = sum / all;
        staircase->variance = squares / all - staircase->mean * staircase->mean;
    }
    return true;
}

/* --- laws ----------------------------------------------------------------- */

/* dK/dtheta of one pair, for thresholds a and +-b; cosine and sine of
 * theta >= 0.  The exponent is free of the difference of two large numbers near
 * a quarter turn. */
static double density(double a, double b, double cosine, double sine)
{
    const double gap = (a - b) / cosine;
    return exp(-0.5 * gap * gap - a * b / (1.0 + sine)) / (2.0 * M_PI);
}

/* Slope of a law at +theta (side 0) or -theta (side 1). */
static double slope_at(const struct fx8_law *law, size_t side, double theta)
{
    const double cosine = cos(theta), sine = sin(theta);
    double slope = 0.0;
    for (size_t p = 0; p < law->n_pairs; p++) {
        const struct fx8_staircase *a = law->pairs[p].a, *b = law->pairs[p].b;
        const double sign =
            law->pairs[p].is_negated != (side == 1) ? -1.0 : 1.0;
        for (size_t i = 0; i < a->n_steps; i++)
            for (size_t j = 0; j < b->n_steps; j++)
                slope += a->step[i] * b->step[j] *
                         density(sign * a->threshold[i], b->threshold[j],
                                 cosine, sine);
    }
    return slope;
}

/* Tabulate a side until it exceeds a value, by Simpson's rule. */
static void extend(struct fx8_law *law, size_t side, double value)
{
    const double cell = 0.5 * M_PI / FX8_LAW_CELLS;
    double *values = law->value[side], *slopes = law->slope[side];
    size_t *n = &law->n_cells[side];
    if (*n == 0)
        slopes[0] = slope_at(law, side, 0.0);
    for (; *n < FX8_LAW_CELLS && values[*n] <= value; ++*n) {
        const double theta = (double)*n * cell;
        const double middle = slope_at(law, side, theta + 0.5 * cell);
        slopes[*n + 1] = slope_at(law, side, theta + cell);
        values[*n + 1] =
            values[*n] +
            cell / 6.0 * (slopes[*n] + 4.0 * middle + slopes[*n + 1]);
    }
}

/* Where in a cell, 0 to 1, the cubic through both ends has a value. */
static double root(const double value[2], const double slope[2], double cell,
                   double wanted)
{
    const double rise = value[1] - value[0];
    const double first = cell * slope[0], last = cell * slope[1];
    const double square = 3.0 * rise - 2.0 * first - last;
    const double cube = first + last - 2.0 * rise;
    double u = 0.5;
    for (int k = 0; k < NEWTON_STEPS; k++) {
        const double at =
            value[0] + u * (first + u * (square + u * cube)) - wanted;
        const double grows = first + u * (2.0 * square + 3.0 * u * cube);
        u = fmin(fmax(u - at / grows, 0.0), 1.0);
    }
    return u;
}

double fx8_law_correlation(struct fx8_law *law, double value)
{
    const size_t side = value < 0.0;
    const double cell = 0.5 * M_PI / FX8_LAW_CELLS, size = fabs(value);
    extend(law, side, size);
    const double *values = law->value[side];
    size_t begin = 0, end = law->n_cells[side];
    if (!(size < values[end]))
        return side == 0 ? 1.0 : -1.0;
    while (end - begin > 1) {
        const size_t middle = begin + (end - begin) / 2;
        *(values[middle] <= size ? &begin : &end) = middle;
    }
    const double u = root(values + begin, law->slope[side] + begin, cell, size);
    const double correlation = sin(((double)begin + u) * cell);
    return side == 0 ? correlation : -correlation;
}
