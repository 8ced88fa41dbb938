/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * closure.c -- closure phases: the phase of V_ij V_jk conj(V_ik), which the
 * antennas' own phases leave untouched.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plot/kinds.h"

/* Antennas shown by default, and at most if --antennas names them. */
#define FEW_ANTENNAS  5
#define MOST_ANTENNAS 10
#define MOST_TRIANGLES                                                         \
    (MOST_ANTENNAS * (MOST_ANTENNAS - 1) * (MOST_ANTENNAS - 2) / 6)

/* Dumps looked at to find antennas with a signal. */
#define SEARCHED_DUMPS 16

/* Three antennas and their three pairs. */
struct triangle {
    size_t antennas[3];
    size_t pairs[3]; /* i j, j k, i k */
};

/* Sums of the products of triangles, in cells of time and of frequency. */
struct work {
    const struct fx8_view *view;
    size_t product;
    size_t antennas[MOST_ANTENNAS];
    size_t n_antennas;
    struct triangle triangles[MOST_TRIANGLES];
    size_t n_triangles;
    size_t *pair_of; /* [n_baselines] of those that are read */
    size_t n_rows, n_columns;
    double (*rows)[2], (*columns)[2]; /* [n_triangles][n] */
    double (*values)[2]; /* [n_pairs][n_channels] of this dump; NaN: flagged */
    size_t n_pairs;
    size_t time;         /* of these */
    size_t n_not_finite; /* as in pairs */
};

static void clear(struct work *work)
{
    free(work->pair_of);
    free(work->rows);
    free(work->columns);
    free(work->values);
}

/* --- choosing ----------------------------------------------------- */

static enum fx8_status choose_antennas(struct work *work,
                                       struct fx8_error *error)
{
    const struct fx8_view *view = work->view;
    const bool is_given = view->request->antennas != NULL;
    const size_t most = is_given ? MOST_ANTENNAS : FEW_ANTENNAS;
    FX8_AUTO(fx8_pairs_clear) struct fx8_pairs pairs = {0};
    FX8_TRY(fx8_pairs_read(view, false, 1, SEARCHED_DUMPS, &pairs, error));
    for (size_t a = 0; a < view->header.n_antennas; a++) {
        if (!view->is_chosen[a] || (!is_given && !fx8_pairs_is_live(&pairs, a)))
            continue;
        if (work->n_antennas == most && is_given)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s: --antennas: expected at most %d of them for "
                            "closure phases",
                            view->path, MOST_ANTENNAS);
        if (work->n_antennas < most)
            work->antennas[work->n_antennas++] = a;
    }
    return work->n_antennas >= 3
               ? FX8_OK
               : fx8_fail(error, FX8_ERR_INPUT,
                          "%s: %zu antennas with unflagged data: expected "
                          "at least three for closure phases",
                          view->path, work->n_antennas);
}

/* Number of the pair of two of the chosen antennas, i < k. */
static size_t pair_number(const struct work *work, size_t i, size_t k)
{
    return i * work->n_antennas + k;
}

static void list_triangles(struct work *work)
{
    const size_t n = work->n_antennas;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            for (size_t k = j + 1; k < n; k++)
                work->triangles[work->n_triangles++] = (struct triangle){
                    {work->antennas[i], work->antennas[j], work->antennas[k]},
                    {pair_number(work, i, j), pair_number(work, j, k),
                     pair_number(work, i, k)}};
}

static size_t place_of(const struct work *work, size_t antenna)
{
    for (size_t i = 0; i < work->n_antennas; i++)
        if (work->antennas[i] == antenna)
            return i;
    return FX8_NOTHING;
}

/* --- sums --------------------------------------------------------- */

static void forget(struct work *work)
{
    for (size_t i = 0; i < work->n_pairs * work->view->n_channels; i++)
        work->values[i][0] = work->values[i][1] = NAN;
}

static void add(double sum[2], const double v[2])
{
    sum[0] += v[0];
    sum[1] += v[1];
}

/* Add the triangles of the dump that has been read. */
static void finish_dump(struct work *work)
{
    const struct fx8_view *view = work->view;
    const size_t row = fx8_view_row(view, work->time, work->n_rows);
    for (size_t c = 0; c < view->n_channels; c++) {
        const size_t column = fx8_view_column(view, c, work->n_columns);
        for (size_t t = 0; t < work->n_triangles; t++) {
            const size_t *pairs = work->triangles[t].pairs;
            const double *a = work->values[pairs[0] * view->n_channels + c];
            const double *b = work->values[pairs[1] * view->n_channels + c];
            const double *d = work->values[pairs[2] * view->n_channels + c];
            const double re = a[0] * b[0] - a[1] * b[1];
            const double im = a[0] * b[1] + a[1] * b[0];
            const double v[2] = {re * d[0] + im * d[1], im * d[0] - re * d[1]};
            if (!isfinite(v[0]) || !isfinite(v[1]))
                continue;
            add(work->rows[t * work->n_rows + row], v);
            add(work->columns[t * work->n_columns + column], v);
        }
    }
    forget(work);
}

static void take(void *context, const struct fx8_view_row *row)
{
    struct work *work = context;
    const struct fx8_view *view = work->view;
    const size_t n_products = view->header.n_products;
    const size_t first = work->pair_of[row->baseline] * view->n_channels;
    work->n_not_finite += row->n_not_finite;
    if (row->time != work->time) {
        finish_dump(work);
        work->time = row->time;
    }
    for (size_t c = 0; c < view->n_channels; c++) {
        const size_t at = c * n_products + work->product;
        if (row->flags[at] != 0)
            continue;
        work->values[first + c][0] = row->values[2 * at];
        work->values[first + c][1] = row->values[2 * at + 1];
    }
}

static enum fx8_status read_all(struct work *work, struct fx8_error *error)
{
    const struct fx8_view *view = work->view;
    const size_t n_baselines = view->header.n_baselines;
    FX8_AUTO_FREE bool *wanted = NULL;
    work->n_pairs = work->n_antennas * work->n_antennas;
    work->n_rows = fx8_view_rows(view, FX8_MOST_TIMES);
    work->n_columns = fx8_view_columns(view, FX8_MOST_COLUMNS);
    const struct fx8_array arrays[] = {
        FX8_ITEMS(wanted, n_baselines), FX8_ITEMS(work->pair_of, n_baselines),
        FX8_ITEMS(work->rows, work->n_triangles * work->n_rows),
        FX8_ITEMS(work->columns, work->n_triangles * work->n_columns),
        FX8_ITEMS(work->values,
                  fx8_product(work->n_pairs, view->n_channels, 1, 1))};
    FX8_TRY(fx8_allocate_arrays(arrays, 5, "closure phases", error));
    for (size_t b = 0; b < n_baselines; b++) {
        const size_t i = place_of(work, view->index_1[b]);
        const size_t k = place_of(work, view->index_2[b]);
        wanted[b] = i != FX8_NOTHING && k != FX8_NOTHING && i < k;
        work->pair_of[b] = wanted[b] ? pair_number(work, i, k) : 0;
    }
    forget(work);
    FX8_TRY(fx8_view_scan(view, wanted, FX8_NOTHING, take, work, error));
    finish_dump(work);
    return FX8_OK;
}

/* --- panels ------------------------------------------------------- */

static enum fx8_status put_panel(const struct work *work, bool against_time,
                                 struct fx8_figure *figure,
                                 struct fx8_error *error)
{
    const struct fx8_view *view = work->view;
    const size_t n = against_time ? work->n_rows : work->n_columns;
    char what[FX8_LABEL_SIZE];
    snprintf(what, sizeof what, "Closure phase, %s",
             fx8_view_product_name(view, work->product));
    struct fx8_panel *panel = fx8_phase_panel(
        view, what, "closure phase / degrees", against_time, figure);
    for (size_t t = 0; t < work->n_triangles; t++) {
        const size_t *antennas = work->triangles[t].antennas;
        const int64_t *numbers = view->header.antenna_numbers;
        struct fx8_series *series;
        char name[FX8_LABEL_SIZE];
        snprintf(name, sizeof name, "%lld-%lld-%lld",
                 (long long)numbers[antennas[0]],
                 (long long)numbers[antennas[1]],
                 (long long)numbers[antennas[2]]);
        FX8_TRY(
            fx8_panel_series(panel, name, FX8_MARK_DOTS, n, &series, error));
        for (size_t i = 0; i < n; i++) {
            const double *v =
                against_time ? work->rows[t * n + i] : work->columns[t * n + i];
            series->x[i] = fx8_cell_middle(&panel->x, i, n);
            if (v[0] != 0.0 || v[1] != 0.0)
                series->y[i] = fx8_phase_degrees(v);
        }
    }
    return FX8_OK;
}

enum fx8_status fx8_plot_closure(const struct fx8_view *view,
                                 struct fx8_figure *figure,
                                 struct fx8_error *error)
{
    FX8_AUTO(clear)
    struct work work = {.view = view, .product = fx8_view_main_product(view)};
    FX8_TRY(choose_antennas(&work, error));
    list_triangles(&work);
    FX8_TRY(read_all(&work, error));
    fx8_view_describe(view, "closure phases of triangles of antennas",
                      work.n_rows, work.n_columns, work.n_not_finite, figure);
    FX8_TRY(put_panel(&work, false, figure, error));
    return put_panel(&work, true, figure, error);
}
