/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uv.c -- the coverage of the uv plane.
 */
#include <math.h>
#include <stdio.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plot/kinds.h"
#include "correlator/run/site.h"

/* Most points of either half: dumps are left out beyond. */
#define MOST_POINTS 20000

/* Why the coverage cannot be drawn; NULL: it can. */
static const char *find_lack(const struct fx8_view *view)
{
    const struct fx8_uvh5_header *h = &view->header;
    size_t n_cross = 0;
    for (size_t b = 0; b < h->n_baselines; b++)
        n_cross += fx8_view_is_cross(view, b);
    if (n_cross == 0)
        return "no baselines between two antennas";
    if (fx8_uvh5_keyword(h, "POSFAKE") != NULL)
        return "antenna positions are not known (POSFAKE)";
    for (size_t i = 0; h->uvw_m != NULL && i < 3 * h->n_baselines; i++)
        if (h->uvw_m[i] != 0.0)
            return NULL;
    return "no antenna positions in the file";
}

/* Dumps to show: one without a phase centre, as the baselines do not turn. */
static size_t count_dumps(const struct fx8_view *view)
{
    size_t n = 0;
    for (size_t b = 0; b < view->header.n_baselines; b++)
        n += fx8_view_is_cross(view, b);
    const size_t most = n > 0 && n < MOST_POINTS ? MOST_POINTS / n : 1;
    return !view->header.is_phased ? 1
           : view->n_times < most  ? view->n_times
                                   : most;
}

enum fx8_status fx8_uv_panel(const struct fx8_view *view,
                             const struct fx8_pairs *pairs,
                             struct fx8_figure *figure, struct fx8_error *error)
{
    const size_t n = view->header.n_baselines, n_dumps = count_dumps(view);
    const double middle_hz =
        view->header.frequencies_hz[view->first_channel + view->n_channels / 2];
    FX8_AUTO_FREE double *uvw = NULL;
    struct fx8_series *series;
    double longest = 0.0;
    const char *lack = find_lack(view);
    struct fx8_panel *panel =
        fx8_figure_panel(figure, "Coverage of the uv plane", "u / m", "v / m");
    panel->is_square = true;
    if (lack != NULL) {
        snprintf(panel->note, sizeof panel->note, "%s", lack);
        return FX8_OK;
    }
    snprintf(panel->title, sizeof panel->title,
             "Coverage of the uv plane%s; a wavelength is %.4g m",
             view->header.is_phased ? "" : " for the zenith",
             FX8_LIGHT_M_S / middle_hz);
    FX8_TRY(fx8_allocate(n, 3 * sizeof *uvw, "uvw", &uvw, error));
    for (int k = 0; k < 2; k++)
        FX8_TRY(fx8_panel_series(panel, k == 0 ? "measured" : "conjugate",
                                 FX8_MARK_DOTS, n * n_dumps, &series, error));
    for (size_t d = 0; d < n_dumps; d++) {
        const size_t dump = view->first_time + d * view->n_times / n_dumps;
        FX8_TRY(fx8_uvh5_read_uvw(view->file, dump * n, n, uvw, error));
        for (size_t b = 0; b < n; b++)
            for (int k = 0; k < 2 && pairs->is_measured[b]; k++) {
                const double sign = k == 0 ? 1.0 : -1.0;
                panel->series[k].x[d * n + b] = sign * uvw[3 * b];
                panel->series[k].y[d * n + b] = sign * uvw[3 * b + 1];
                longest = fmax(longest, hypot(uvw[3 * b], uvw[3 * b + 1]));
            }
    }
    if (longest == 0.0)
        return FX8_OK; /* all is flagged: the note says so */
    panel->x.low = panel->y.low = -1.08 * longest;
    panel->x.high = panel->y.high = 1.08 * longest;
    return FX8_OK;
}

enum fx8_status fx8_plot_uv(const struct fx8_view *view,
                            struct fx8_figure *figure, struct fx8_error *error)
{
    const char *lack = find_lack(view);
    FX8_AUTO(fx8_pairs_clear) struct fx8_pairs pairs = {0};
    if (lack != NULL)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: uvw_array: %s: expected baselines between "
                        "antennas with positions",
                        view->path, lack);
    FX8_TRY(fx8_pairs_read(view, true, 1, FX8_NOTHING, &pairs, error));
    fx8_view_describe(view, "uv coverage", view->n_times, view->n_channels,
                      pairs.n_not_finite, figure);
    return fx8_uv_panel(view, &pairs, figure, error);
}
