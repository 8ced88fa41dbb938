/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>

#include "config/base/median.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plot/kinds.h"
#include "correlator/run/sample_sums.h"

/* Dumps that are enough to find the strongest baseline. */
#define SEARCHED_DUMPS 64

/* --- reading ------------------------------------------------------ */

/* What takes the rows. */
struct work {
    const struct fx8_view *view;
    struct fx8_pairs *pairs;
    const size_t *columns; /* [n_channels] of the chosen channels */
    const size_t *rows;    /* [n_times] of the chosen dumps */
};

static void take_auto(const struct work *work, const struct fx8_view_row *row)
{
    const struct fx8_view *view = work->view;
    const size_t n_products = view->header.n_products;
    double *n_good =
        work->pairs->n_good + work->rows[row->time] * work->pairs->n_columns;
    for (size_t p = 0; p < n_products; p++) {
        const size_t pol = fx8_view_pol_1(view, p);
        const size_t input = 2 * view->index_1[row->baseline] + pol;
        if (pol != fx8_view_pol_2(view, p))
            continue;
        for (size_t c = 0; c < view->n_channels; c++) {
            const size_t cell =
                input * work->pairs->n_columns + work->columns[c];
            const double power = row->values[2 * (c * n_products + p)];
            const uint8_t flags = row->flags[c * n_products + p];
            work->pairs->n_all[input] += 1.0;
            work->pairs->n_empty[input] += (flags & FX8_VIEW_EMPTY) != 0;
            if ((flags & ~FX8_VIEW_FLAGGED) != 0)
                continue;
            work->pairs->all_power[input] += power;
            work->pairs->n_data[input] += 1.0;
            if (flags != 0)
                continue;
            work->pairs->power[cell] += power;
            work->pairs->n_power[cell] += 1.0;
            n_good[work->columns[c]] += 1.0;
        }
    }
}

static void take_cross(const struct work *work, const struct fx8_view_row *row)
{
    const struct fx8_view *view = work->view;
    const size_t n_products = view->header.n_products;
    const size_t n = view->header.n_channels;
    for (size_t p = 0; p < n_products; p++) {
        const double *x = row->powers_1 + n * fx8_view_pol_1(view, p);
        const double *y = row->powers_2 + n * fx8_view_pol_2(view, p);
        const size_t at = row->baseline * n_products + p;
        for (size_t c = 0; c < view->n_channels; c++) {
            const double *v = row->values + 2 * (c * n_products + p);
            if (row->flags[c * n_products + p] != 0)
                continue;
            const double coherence = hypot(v[0], v[1]) / sqrt(x[c] * y[c]);
            work->pairs->is_measured[row->baseline] = true;
            if (!isfinite(coherence))
                continue;
            work->pairs->coherence[at] += coherence;
            work->pairs->n_coherence[at] += 1.0;
        }
    }
}

static void take(void *context, const struct fx8_view_row *row)
{
    const struct work *work = context;
    work->pairs->n_not_finite += row->n_not_finite;
    if (work->view->index_1[row->baseline] ==
        work->view->index_2[row->baseline])
        take_auto(work, row);
    else
        take_cross(work, row);
}

/* Clipped shares of a result of INT8. */
static enum fx8_status read_clips(const struct fx8_view *view,
                                  const size_t *columns,
                                  struct fx8_pairs *pairs,
                                  struct fx8_error *error)
{
    const struct fx8_uvh5_header *h = &view->header;
    size_t shape[3];
    FX8_AUTO_FREE double *clips = NULL;
    FX8_AUTO_FREE double *counts = NULL;
    if (view->file == NULL)
        return FX8_OK;
    FX8_TRY(fx8_uvh5_get(view->file, "clip_fraction", shape, &clips, error));
    if (clips == NULL || shape[0] % h->n_antennas != 0 ||
        shape[0] / h->n_antennas > 2 || shape[1] % h->n_channels != 0)
        return FX8_OK; /* another program's */
    const size_t n_pols = shape[0] / h->n_antennas;
    const size_t average = shape[1] / h->n_channels;
    const size_t n_cells = 2 * h->n_antennas * pairs->n_columns;
    FX8_TRY(fx8_allocate(n_cells, sizeof *counts, "clips", &counts, error));
    FX8_TRY(fx8_allocate(n_cells, sizeof *pairs->clips, "clips", &pairs->clips,
                         error));
    for (size_t i = 0; i < shape[0]; i++)
        for (size_t c = 0; c < view->n_channels * average; c++) {
            const size_t input = i / n_pols * 2 + i % n_pols;
            const size_t cell = input * pairs->n_columns + columns[c / average];
            pairs->clips[cell] +=
                clips[i * shape[1] + view->first_channel * average + c];
            counts[cell] += 1.0;
        }
    for (size_t i = 0; i < n_cells; i++)
        pairs->clips[i] /= counts[i];
    return FX8_OK;
}

static double mean_clips(const struct fx8_pairs *pairs, size_t input)
{
    double sum = 0.0;
    for (size_t c = 0; pairs->clips != NULL && c < pairs->n_columns; c++)
        sum += pairs->clips[input * pairs->n_columns + c];
    return sum / (double)pairs->n_columns;
}

/* The judgements of `fx8 info` that visibilities allow. */
static enum fx8_status judge(const struct fx8_view *view,
                             struct fx8_pairs *pairs, struct fx8_error *error)
{
    const size_t n = 2 * view->header.n_antennas;
    const double most_ratio = FX8_MOST_RATIO * FX8_MOST_RATIO;
    FX8_AUTO_FREE double *levels = NULL;
    size_t n_levels = 0;
    FX8_TRY(fx8_allocate(n, sizeof *levels, "levels", &levels, error));
    for (size_t i = 0; i < n; i++) {
        const double level = fx8_pairs_level(pairs, i);
        if (level > 0.0)
            levels[n_levels++] = level;
    }
    pairs->median = fx8_median(levels, n_levels);
    for (size_t i = 0; i < n; i++) {
        const double level = fx8_pairs_level(pairs, i);
        if (pairs->n_all[i] > 0.0 && pairs->n_empty[i] == pairs->n_all[i])
            pairs->remarks[i] |= FX8_REMARK_ABSENT;
        else if (pairs->n_data[i] > 0.0 && pairs->all_power[i] == 0.0)
            pairs->remarks[i] |= FX8_REMARK_DEAD;
        else if (isnan(level))
            continue; /* all is flagged: nothing to judge */
        else if (level * most_ratio < pairs->median)
            pairs->remarks[i] |= FX8_REMARK_WEAK;
        if (level > pairs->median * most_ratio)
            pairs->remarks[i] |= FX8_REMARK_STRONG;
        if (mean_clips(pairs, i) > FX8_MOST_CLIPPED)
            pairs->remarks[i] |= FX8_REMARK_CLIPPED;
    }
    return FX8_OK;
}

enum fx8_status fx8_pairs_read(const struct fx8_view *view, bool needs_cross,
                               size_t n_columns, size_t most,
                               struct fx8_pairs *pairs, struct fx8_error *error)
{
    const struct fx8_uvh5_header *h = &view->header;
    const size_t n_inputs = 2 * h->n_antennas;
    const size_t n_cells = fx8_product(n_inputs, n_columns, 1, 1);
    const size_t n_products = fx8_product(h->n_baselines, h->n_products, 1, 1);
    *pairs = (struct fx8_pairs){.n_columns = n_columns,
                                .n_rows = fx8_view_rows(view, FX8_MOST_ROWS)};
    const size_t n_places = fx8_product(pairs->n_rows, n_columns, 1, 1);
    FX8_AUTO_FREE bool *wanted = NULL;
    FX8_AUTO_FREE size_t *columns = NULL;
    FX8_AUTO_FREE size_t *rows = NULL;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(pairs->power, n_cells),
        FX8_ITEMS(pairs->n_power, n_cells),
        FX8_ITEMS(pairs->n_good, n_places),
        FX8_ITEMS(pairs->n_planned, n_places),
        FX8_ITEMS(pairs->all_power, n_inputs),
        FX8_ITEMS(pairs->n_all, n_inputs),
        FX8_ITEMS(pairs->n_empty, n_inputs),
        FX8_ITEMS(pairs->n_data, n_inputs),
        FX8_ITEMS(pairs->is_measured, h->n_baselines),
        FX8_ITEMS(pairs->coherence, n_products),
        FX8_ITEMS(pairs->n_coherence, n_products),
        FX8_ITEMS(pairs->remarks, n_inputs),
        FX8_ITEMS(wanted, h->n_baselines),
        FX8_ITEMS(columns, view->n_channels),
        FX8_ITEMS(rows, view->n_times)};
    FX8_TRY(fx8_allocate_arrays(arrays, sizeof arrays / sizeof *arrays, "sums",
                                error));
    for (size_t b = 0; b < h->n_baselines; b++)
        wanted[b] = view->index_1[b] == view->index_2[b]
                        ? view->is_chosen[view->index_1[b]]
                        : needs_cross && fx8_view_is_cross(view, b);
    for (size_t c = 0; c < view->n_channels; c++)
        columns[c] = fx8_view_column(view, c, n_columns);
    for (size_t t = 0; t < view->n_times; t++) {
        rows[t] = fx8_view_row(view, t, pairs->n_rows);
        for (size_t c = 0; c < view->n_channels; c++)
            pairs->n_planned[rows[t] * n_columns + columns[c]] += 1.0;
    }
    struct work work = {view, pairs, columns, rows};
    FX8_TRY(fx8_view_scan(view, wanted, most, take, &work, error));
    FX8_TRY(read_clips(view, columns, pairs, error));
    return judge(view, pairs, error);
}

void fx8_pairs_clear(struct fx8_pairs *pairs)
{
    free(pairs->power);
    free(pairs->n_power);
    free(pairs->n_good);
    free(pairs->n_planned);
    free(pairs->all_power);
    free(pairs->n_all);
    free(pairs->n_empty);
    free(pairs->n_data);
    free(pairs->is_measured);
    free(pairs->coherence);
    free(pairs->n_coherence);
    free(pairs->clips);
    free(pairs->remarks);
    *pairs = (struct fx8_pairs){0};
}

/* --- figures ------------------------------------------------------ */

double fx8_pairs_level(const struct fx8_pairs *pairs, size_t input)
{
    double sum = 0.0, n = 0.0;
    for (size_t c = 0; c < pairs->n_columns; c++) {
        sum += pairs->power[input * pairs->n_columns + c];
        n += pairs->n_power[input * pairs->n_columns + c];
    }
    return sum / n; /* 0 / 0: NaN */
}

bool fx8_pairs_is_shown(const struct fx8_pairs *pairs, size_t input)
{
    return pairs->remarks[input] != 0 || !isnan(fx8_pairs_level(pairs, input));
}

double fx8_pairs_coherence(const struct fx8_view *view,
                           const struct fx8_pairs *pairs, size_t baseline,
                           size_t product)
{
    const size_t at = baseline * view->header.n_products + product;
    return pairs->coherence[at] / pairs->n_coherence[at]; /* 0 / 0: NaN */
}

bool fx8_pairs_is_live(const struct fx8_pairs *pairs, size_t antenna)
{
    return !isnan(fx8_pairs_level(pairs, 2 * antenna)) ||
           !isnan(fx8_pairs_level(pairs, 2 * antenna + 1));
}

size_t fx8_pairs_strongest(const struct fx8_view *view,
                           const struct fx8_pairs *pairs)
{
    const size_t product = fx8_view_main_product(view);
    size_t best = FX8_NOTHING;
    double highest = -1.0;
    for (size_t b = 0; b < view->header.n_baselines; b++) {
        const double coherence =
            fx8_view_is_cross(view, b)
                ? fx8_pairs_coherence(view, pairs, b, product)
                : NAN;
        if (coherence > highest) {
            highest = coherence;
            best = b;
        }
    }
    for (size_t a = 0; best == FX8_NOTHING && a < view->header.n_antennas; a++)
        if (view->is_chosen[a] && fx8_pairs_is_live(pairs, a))
            best = view->autos[a];
    return best;
}

enum fx8_status fx8_pairs_choose(const struct fx8_view *view, size_t *baseline,
                                 struct fx8_error *error)
{
    FX8_AUTO(fx8_pairs_clear) struct fx8_pairs pairs = {0};
    *baseline = view->baseline;
    if (*baseline != FX8_NOTHING)
        return FX8_OK;
    FX8_TRY(fx8_pairs_read(view, true, 1, SEARCHED_DUMPS, &pairs, error));
    *baseline = fx8_pairs_strongest(view, &pairs);
    return *baseline != FX8_NOTHING
               ? FX8_OK
               : fx8_fail(error, FX8_ERR_INPUT,
                          "%s: all is flagged, or has no autos: expected data "
                          "to find the strongest baseline by; --baseline A-B "
                          "names one",
                          view->path);
}
