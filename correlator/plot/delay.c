/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * delay.c -- one baseline against delay: the transform of its spectrum.
 */
#include <math.h>
#include <stdlib.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plot/kinds.h"
#include "kernels/fft.h"

/* Most stretches of time, each transformed by itself, and most channels. */
#define MOST_STRETCHES 200
#define MOST_CHANNELS  32768

/* Fewest channels: with fewer, the transform has no peak. */
#define FEWEST_CHANNELS 4

/* Delays per resolution of the band: the transform is padded with zeros. */
#define PADDING 4

/* A transform; cell j of [length] is the delay j / (length step_hz), in the
 * second half the negative delay (j - length) / (length step_hz). */
struct transform {
    const struct fx8_track *track;
    struct fx8_fft *fft;
    float *data;
    size_t length;
    double step_hz;
    double *mean; /* [length] mean over all stretches */
};

static void clear(struct transform *transform)
{
    fx8_fft_close(&transform->fft);
    free(transform->data);
    free(transform->mean);
}

static enum fx8_status prepare(const struct fx8_view *view,
                               const struct fx8_track *track,
                               struct transform *t, struct fx8_error *error)
{
    struct fx8_axis axis;
    fx8_view_frequency_axis(view, &axis);
    t->track = track;
    t->step_hz = 1e6 * (axis.high - axis.low) / (double)track->n_columns;
    t->length = 2;
    while (t->length < PADDING * track->n_columns)
        t->length *= 2;
    FX8_TRY(fx8_fft_open(FX8_FFT_INVERSE_COMPLEX, t->length, 1, false, &t->fft,
                         error));
    const struct fx8_array arrays[] = {FX8_ITEMS(t->data, fx8_fft_size(t->fft)),
                                       FX8_ITEMS(t->mean, t->length)};
    return fx8_allocate_arrays(arrays, 2, "delays", error);
}

/* |sum of V exp(2 pi i f tau)| / sum of |V| over the channels of a stretch;
 * false: all flagged.  In float: the page has three digits. */
static bool transform_row(struct transform *t, size_t product, size_t row)
{
    const struct fx8_track *track = t->track;
    double sum = 0.0;
    for (size_t i = 0; i < 2 * t->length; i++)
        t->data[i] = 0.0F;
    for (size_t c = 0; c < track->n_columns; c++) {
        double v[2];
        if (!fx8_track_mean(
                track, (struct fx8_track_part){product, row, row + 1, c, c + 1},
                v))
            continue;
        t->data[2 * c] = (float)v[0];
        t->data[2 * c + 1] = (float)v[1];
        sum += hypot(v[0], v[1]);
    }
    if (!(sum > 0.0))
        return false;
    fx8_fft_execute(t->fft, t->data);
    for (size_t i = 0; i < t->length; i++)
        t->data[i] = (float)(hypot(t->data[2 * i], t->data[2 * i + 1]) / sum);
    return true;
}

/* Delay of cell `at` of the axis from the lowest to the highest. */
static double nanoseconds(const struct transform *t, double at)
{
    return 1e9 * (at - 0.5 * (double)t->length) /
           ((double)t->length * t->step_hz);
}

/* Cell of the transform at a place of that axis. */
static size_t cell_at(const struct transform *t, size_t at)
{
    return (at + t->length / 2) % t->length;
}

/* Put every cell into the column of its delay; the highest counts. */
static void put_highest(const struct transform *t, const float *data,
                        const double *mean, size_t n, double *values)
{
    for (size_t at = 0; at < t->length; at++) {
        const size_t cell = cell_at(t, at), column = at * n / t->length;
        const double value = data != NULL ? (double)data[cell] : mean[cell];
        if (!(value <= values[column]))
            values[column] = value;
    }
}

/* Where the mean is highest, between cells by a parabola. */
static double peak_ns(const struct transform *t)
{
    size_t best = 0;
    for (size_t at = 0; at < t->length; at++)
        if (t->mean[cell_at(t, at)] > t->mean[cell_at(t, best)])
            best = at;
    const double before = t->mean[cell_at(t, best + t->length - 1)];
    const double at = t->mean[cell_at(t, best)];
    const double after = t->mean[cell_at(t, best + 1)];
    const double bend = before - 2.0 * at + after;
    const double more = bend < 0.0 ? 0.5 * (before - after) / bend : 0.0;
    return nanoseconds(t, (double)best + more);
}

/* Transform all stretches of a product: a row of the matrix each, and their
 * mean as a series. */
static enum fx8_status put_product(struct transform *t,
                                   const struct fx8_view *view, size_t product,
                                   struct fx8_panel *line,
                                   struct fx8_panel *matrix,
                                   struct fx8_error *error)
{
    const char *name = fx8_view_product_name(view, product);
    const size_t n =
        t->length < FX8_MOST_COLUMNS ? t->length : FX8_MOST_COLUMNS;
    const bool is_main = product == fx8_view_main_product(view);
    size_t n_good = 0;
    struct fx8_series *series;
    for (size_t i = 0; i < t->length; i++)
        t->mean[i] = 0.0;
    if (is_main)
        FX8_TRY(fx8_panel_matrix(matrix, t->track->n_rows, n,
                                 "share of the amplitude", error));
    for (size_t r = 0; r < t->track->n_rows; r++) {
        if (!transform_row(t, product, r))
            continue;
        n_good++;
        for (size_t i = 0; i < t->length; i++)
            t->mean[i] += (double)t->data[i];
        if (is_main)
            put_highest(t, t->data, NULL, n, matrix->matrix.values + n * r);
    }
    FX8_TRY(fx8_panel_series(line, name, FX8_MARK_LINE, n, &series, error));
    if (n_good == 0)
        return FX8_OK;
    for (size_t i = 0; i < t->length; i++)
        t->mean[i] /= (double)n_good;
    put_highest(t, NULL, t->mean, n, series->y);
    for (size_t i = 0; i < n; i++)
        series->x[i] =
            nanoseconds(t, (double)i * (double)t->length / (double)n);
    const double peak = peak_ns(t);
    fx8_panel_limit(line, true, peak, "%s: %.4g ns", name, peak);
    return FX8_OK;
}

enum fx8_status fx8_plot_delay(const struct fx8_view *view,
                               struct fx8_figure *figure,
                               struct fx8_error *error)
{
    FX8_AUTO(fx8_track_clear) struct fx8_track track = {0};
    FX8_AUTO(clear) struct transform transform = {0};
    if (view->n_channels < FEWEST_CHANNELS)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: --kind: delay: %zu %s: expected at least %d",
                        view->path,
                        FX8_COUNTED(view->n_channels, "channel", "channels"),
                        FEWEST_CHANNELS);
    FX8_TRY(fx8_track_choose(view, "delay between", MOST_STRETCHES,
                             MOST_CHANNELS, &track, figure, error));
    FX8_TRY(prepare(view, &track, &transform, error));
    struct fx8_panel *line =
        fx8_figure_panel(figure, "Amplitude at each delay, mean over time",
                         "delay of the second antenna after the first / ns",
                         "share of the amplitude");
    struct fx8_panel *matrix = fx8_figure_panel(
        figure, "Amplitude at each delay against time",
        "delay of the second antenna after the first / ns", "");
    line->y.low = 0.0;
    fx8_view_time_axis(view, &matrix->y);
    line->x.low = matrix->x.low = nanoseconds(&transform, -0.5);
    line->x.high = matrix->x.high =
        nanoseconds(&transform, (double)transform.length - 0.5);
    for (size_t p = 0; p < track.n_products; p++)
        if (fx8_view_shows(view, p))
            FX8_TRY(put_product(&transform, view, p, line, matrix, error));
    return FX8_OK;
}
