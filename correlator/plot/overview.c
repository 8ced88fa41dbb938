/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overview.c -- the page to look at first: what works and what does not.
 */
#include <stdio.h>
#include <stdlib.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plot/kinds.h"
#include "correlator/run/verdict.h"

/* The inputs of the file and their remarks. */
struct inputs {
    const struct fx8_view *view;
    size_t n;
    size_t *places;    /* [n] 2 * antenna + polarisation */
    unsigned *remarks; /* [n] */
};

static void clear(struct inputs *inputs)
{
    free(inputs->places);
    free(inputs->remarks);
}

static void name_input(const void *context, size_t input,
                       char text[FX8_INPUT_NAME_SIZE])
{
    const struct inputs *inputs = context;
    const size_t place = inputs->places[input];
    snprintf(text, FX8_INPUT_NAME_SIZE, "%s %s",
             inputs->view->header.antenna_names[place / 2],
             place % 2 == 0 ? "X" : "Y");
}

static enum fx8_status judge(const struct fx8_view *view,
                             const struct fx8_pairs *pairs,
                             struct fx8_figure *figure, struct fx8_error *error)
{
    const size_t most = 2 * view->header.n_antennas;
    size_t n_flagged = 0;
    FX8_AUTO_FREE char *words = NULL;
    FX8_AUTO(clear) struct inputs inputs = {.view = view};
    const struct fx8_array arrays[] = {FX8_ITEMS(inputs.places, most),
                                       FX8_ITEMS(inputs.remarks, most)};
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "inputs", error));
    for (size_t i = 0; i < most; i++)
        if (fx8_pairs_is_shown(pairs, i)) {
            inputs.places[inputs.n] = i;
            inputs.remarks[inputs.n++] = pairs->remarks[i];
        } else
            n_flagged += pairs->n_all[i] > 0.0;
    if (inputs.n + n_flagged == 0)
        return FX8_OK; /* no autos to judge by */
    figure->is_bad =
        inputs.n == 0 || fx8_remarks_count(inputs.remarks, inputs.n) > 0;
    if (inputs.n > 0)
        FX8_TRY(fx8_verdict(inputs.remarks, inputs.n, name_input, &inputs,
                            &words, error));
    const char *nothing = pairs->n_not_finite > 0
                              ? "all is flagged or not finite"
                              : "all is flagged";
    char more[64] = "";
    if (n_flagged > 0 && inputs.n > 0)
        snprintf(more, sizeof more, "; %zu more %s flagged", n_flagged,
                 FX8_NOUN(n_flagged, "is", "are"));
    if (asprintf(&figure->verdict, "%s%s", words != NULL ? words : nothing,
                 more) >= 0)
        return FX8_OK;
    figure->verdict = NULL;
    return fx8_no_memory("a verdict", error);
}

/* The panels of the strongest baseline, or words in their places. */
static enum fx8_status add_strongest(const struct fx8_view *view,
                                     const struct fx8_pairs *pairs,
                                     struct fx8_figure *figure,
                                     struct fx8_error *error)
{
    const size_t baseline = view->baseline != FX8_NOTHING
                                ? view->baseline
                                : fx8_pairs_strongest(view, pairs);
    FX8_AUTO(fx8_track_clear) struct fx8_track track = {0};
    if (baseline == FX8_NOTHING) {
        fx8_figure_panel(figure, "Amplitude of the strongest baseline", "", "");
        fx8_figure_panel(figure, "Phase of the strongest baseline", "", "");
        return FX8_OK;
    }
    FX8_TRY(fx8_track_read(view, baseline, FX8_MOST_ROWS, FX8_MOST_COLUMNS,
                           &track, error));
    FX8_TRY(fx8_track_amplitude_panel(view, &track, figure, error));
    return fx8_track_phase_panel(view, &track, false, figure, error);
}

enum fx8_status fx8_plot_overview(const struct fx8_view *view,
                                  struct fx8_figure *figure,
                                  struct fx8_error *error)
{
    FX8_AUTO(fx8_pairs_clear) struct fx8_pairs pairs = {0};
    figure->n_columns = 2;
    if (view->kind == FX8_VIEW_RECORDING)
        return fx8_levels_overview(view, figure, error);
    const size_t n_columns = fx8_view_columns(view, FX8_MOST_COLUMNS);
    const size_t product = fx8_view_main_product(view);
    FX8_TRY(fx8_pairs_read(view, true, n_columns, FX8_NOTHING, &pairs, error));
    fx8_view_describe(view, "overview", fx8_view_rows(view, FX8_MOST_ROWS),
                      n_columns, pairs.n_not_finite, figure);
    FX8_TRY(judge(view, &pairs, figure, error));
    FX8_TRY(fx8_pairs_levels_panel(view, &pairs, figure, error));
    FX8_TRY(fx8_pairs_spectra_panel(view, &pairs, fx8_view_pol_1(view, product),
                                    figure, error));
    FX8_TRY(fx8_pairs_matrix_panel(view, &pairs, product, figure, error));
    FX8_TRY(fx8_uv_panel(view, &pairs, figure, error));
    FX8_TRY(add_strongest(view, &pairs, figure, error));
    return fx8_pairs_flagged_panel(view, &pairs, figure, error);
}
