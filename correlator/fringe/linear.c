/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "correlator/fringe/linear.h"

/* A pivot below this share of its diagonal element is rounding error. */
#define SINGULAR 1e-12

enum fx8_status fx8_linear_open(size_t n, struct fx8_linear *linear,
                                struct fx8_error *error)
{
    *linear = (struct fx8_linear){.n = n};
    const struct fx8_array arrays[] = {
        FX8_ITEMS(linear->matrix, fx8_product(n, n, 1, 1)),
        FX8_ITEMS(linear->right, n), FX8_ITEMS(linear->diagonal, n),
        FX8_ITEMS(linear->variance, n), FX8_ITEMS(linear->is_fixed, n)};
    return fx8_allocate_arrays(arrays, 5, "equations", error);
}

void fx8_linear_close(struct fx8_linear *linear)
{
    free(linear->matrix);
    free(linear->right);
    free(linear->diagonal);
    free(linear->variance);
    free(linear->is_fixed);
    *linear = (struct fx8_linear){0};
}

void fx8_linear_clear(struct fx8_linear *linear)
{
    const size_t n = linear->n;
    memset(linear->matrix, 0, n * n * sizeof *linear->matrix);
    memset(linear->right, 0, n * sizeof *linear->right);
    memset(linear->is_fixed, 0, n * sizeof *linear->is_fixed);
}

void fx8_linear_fix(struct fx8_linear *linear, size_t unknown)
{
    linear->is_fixed[unknown] = true;
    linear->matrix[unknown * linear->n + unknown] = 1.0;
}

void fx8_linear_add(struct fx8_linear *linear, const size_t ends[2],
                    double sign, double weight, double value)
{
    const double factors[2] = {sign, 1.0};
    for (size_t k = 0; k < 2; k++)
        if (!linear->is_fixed[ends[k]]) {
            linear->matrix[ends[k] * linear->n + ends[k]] += weight;
            linear->right[ends[k]] += factors[k] * weight * value;
        }
    const size_t low = ends[0] < ends[1] ? ends[0] : ends[1];
    const size_t high = ends[0] < ends[1] ? ends[1] : ends[0];
    if (!linear->is_fixed[low] && !linear->is_fixed[high])
        linear->matrix[high * linear->n + low] += sign * weight;
}

/* Replace the lower triangle by L of L L^T. */
static bool factor(size_t n, double *matrix)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            const double *row = matrix + i * n, *other = matrix + j * n;
            double rest = row[j];
            for (size_t k = 0; k < j; k++)
                rest -= row[k] * other[k];
            if (i == j && !(rest > SINGULAR * row[j]))
                return false;
            matrix[i * n + j] = i == j ? sqrt(rest) : rest / other[j];
        }
    return true;
}

bool fx8_linear_solve(struct fx8_linear *linear)
{
    const size_t n = linear->n;
    double *x = linear->right;
    if (!factor(n, linear->matrix))
        return false;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            x[i] -= linear->matrix[i * n + k] * x[k];
        x[i] /= linear->matrix[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        x[i] /= linear->matrix[i * n + i];
        for (size_t k = 0; k < i; k++)
            x[k] -= linear->matrix[i * n + k] * x[i];
    }
    return true;
}

/* Variance i is the square of column i of the inverse of L. */
void fx8_linear_invert(struct fx8_linear *linear)
{
    const size_t n = linear->n;
    double *column = linear->diagonal;
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (size_t k = i; k < n; k++) {
            const double *row = linear->matrix + k * n;
            double rest = k == i ? 1.0 : 0.0;
            for (size_t j = i; j < k; j++)
                rest -= row[j] * column[j];
            column[k] = rest / row[k];
            sum += column[k] * column[k];
        }
        linear->variance[i] = sum;
    }
}
