/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>

#include "config/base/median.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/fringe/axes.h"

/* The median step between neighbours: gaps between bands or bursts do not
 * count.  1 for a single item. */
static enum fx8_status find_step(size_t n, const double *positions,
                                 double *step, struct fx8_error *error)
{
    *step = 1.0;
    if (n < 2)
        return FX8_OK;
    FX8_AUTO_FREE double *steps = NULL;
    FX8_TRY(fx8_allocate(n - 1, sizeof *steps, "steps", &steps, error));
    for (size_t i = 0; i + 1 < n; i++)
        steps[i] = fabs(positions[i + 1] - positions[i]);
    const double median = fx8_median(steps, n - 1);
    if (median > 0.0)
        *step = median;
    return FX8_OK;
}

/* Cells from the lowest to the highest position. */
static double cells_of(size_t n, const double *positions, double step)
{
    double low = positions[0], high = positions[0];
    for (size_t i = 1; i < n; i++) {
        low = fmin(low, positions[i]);
        high = fmax(high, positions[i]);
    }
    return round((high - low) / step) + 1.0;
}

static enum fx8_status lay_out(size_t n, const double *positions, double step,
                               struct fx8_fringe_axis *axis,
                               struct fx8_error *error)
{
    *axis = (struct fx8_fringe_axis){
        .n_items = n,
        .n = (size_t)cells_of(n, positions, step),
        .step = step,
    };
    FX8_AUTO_FREE size_t *count = NULL;
    const struct fx8_array arrays[] = {FX8_ITEMS(axis->cell, n),
                                       FX8_ITEMS(axis->position, axis->n),
                                       FX8_ITEMS(count, axis->n)};
    FX8_TRY(fx8_allocate_arrays(arrays, 3, "axes", error));
    double low = positions[0], sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, positions[i]);
        sum += positions[i] - positions[0];
    }
    axis->centre = positions[0] + sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        const size_t cell = (size_t)round((positions[i] - low) / step);
        axis->cell[i] = cell;
        axis->position[cell] += positions[i] - axis->centre;
        count[cell]++;
    }
    for (size_t cell = 0; cell < axis->n; cell++)
        if (count[cell] > 1)
            axis->position[cell] /= (double)count[cell];
    return FX8_OK;
}

enum fx8_status fx8_fringe_axes_open(size_t n_times, const double *times_s,
                                     size_t n_channels,
                                     const double *channels_hz,
                                     struct fx8_fringe_axis *time,
                                     struct fx8_fringe_axis *frequency,
                                     struct fx8_error *error)
{
    double step_s, step_hz;
    FX8_TRY(find_step(n_times, times_s, &step_s, error));
    FX8_TRY(find_step(n_channels, channels_hz, &step_hz, error));
    for (;;) {
        const double times = cells_of(n_times, times_s, step_s);
        const double channels = cells_of(n_channels, channels_hz, step_hz);
        if (times * channels <= (double)FX8_FRINGE_CELLS)
            break;
        *(times > FX8_FRINGE_TIMES ? &step_s : &step_hz) *= 2.0;
    }
    FX8_TRY(lay_out(n_times, times_s, step_s, time, error));
    return lay_out(n_channels, channels_hz, step_hz, frequency, error);
}

void fx8_fringe_axis_clear(struct fx8_fringe_axis *axis)
{
    free(axis->cell);
    free(axis->position);
    *axis = (struct fx8_fringe_axis){0};
}
