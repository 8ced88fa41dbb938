/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scan.c -- the reading of a view, dump by dump.
 */
#include <math.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plot/view.h"
#include "io/output.h"

/* Bytes of visibilities read at a time. */
#define READ_SIZE ((size_t)8 << 20)

/* Dumps up to this size take less time to read whole than row by row. */
#define SMALL_DUMP ((size_t)256 << 10)

/* A reading of dumps.  Row r of the file is baseline r % n_baselines of dump
 * r / n_baselines. */
struct scan {
    const struct fx8_view *view;
    const bool *wanted;
    fx8_view_take *take;
    void *context;
    bool is_whole;            /* dumps are read whole, many at once */
    size_t at_once;           /* rows that fit the memory */
    size_t end;               /* behind the last row to read */
    size_t first_row, n_rows; /* in memory: */
    double *values;           /* [at_once][n_channels][n_products][re, im] */
    uint8_t *flags;           /* [at_once][n_channels][n_products] */
    float *nsamples;          /* the same; of results */
    bool has_data;            /* a cell has been read that is not empty */
    double *powers;           /* [n_antennas][2][n_channels] of this dump */
    bool *needs_powers;       /* [n_antennas] */
};

static void clear(struct scan *scan)
{
    free(scan->values);
    free(scan->flags);
    free(scan->nsamples);
    free(scan->powers);
    free(scan->needs_powers);
}

/* Values of a row in memory. */
static double *values_of(const struct scan *scan, size_t row)
{
    const struct fx8_uvh5_header *h = &scan->view->header;
    return scan->values +
           2 * (row - scan->first_row) * h->n_channels * h->n_products;
}

/* Have rows [row, row + n) in memory; with is_whole, as many more as fit. */
static enum fx8_status load(struct scan *scan, size_t row, size_t n,
                            struct fx8_error *error)
{
    const struct fx8_view *view = scan->view;
    const size_t n_baselines = view->header.n_baselines;
    if (row >= scan->first_row && row + n <= scan->first_row + scan->n_rows)
        return FX8_OK;
    scan->n_rows = n;
    if (scan->is_whole)
        scan->n_rows =
            scan->end - row < scan->at_once ? scan->end - row : scan->at_once;
    scan->first_row = row;
    return view->kind == FX8_VIEW_QUICKLOOK
               ? fx8_quicklook_dumps_read(view->dumps, row / n_baselines,
                                          row % n_baselines, n, scan->values,
                                          scan->flags, error)
               : fx8_uvh5_read_rows(view->file, row, scan->n_rows, scan->values,
                                    scan->flags, scan->nsamples, error);
}

/* Power of the antennas from their autos. */
static enum fx8_status read_powers(struct scan *scan, size_t dump,
                                   struct fx8_error *error)
{
    const struct fx8_view *view = scan->view;
    const struct fx8_uvh5_header *h = &view->header;
    const size_t n = h->n_channels;
    if (view->kind == FX8_VIEW_QUICKLOOK)
        return fx8_quicklook_dumps_powers(view->dumps, dump, scan->powers,
                                          error);
    for (size_t i = 0; i < 2 * h->n_antennas * n; i++)
        scan->powers[i] = NAN;
    for (size_t a = 0; a < h->n_antennas; a++) {
        const size_t row = dump * h->n_baselines + view->autos[a];
        if (!scan->needs_powers[a] || view->autos[a] == FX8_NOTHING)
            continue;
        FX8_TRY(load(scan, row, 1, error));
        for (size_t p = 0; p < h->n_products; p++) {
            const size_t pol = fx8_view_pol_1(view, p);
            if (pol != fx8_view_pol_2(view, p))
                continue;
            for (size_t c = 0; c < n; c++)
                scan->powers[(2 * a + pol) * n + c] =
                    values_of(scan, row)[2 * (c * h->n_products + p)];
        }
    }
    return FX8_OK;
}

/* Make visibilities of coherence. */
static void scale_row(const struct scan *scan, size_t baseline, double *values)
{
    const struct fx8_view *view = scan->view;
    const size_t n = view->header.n_channels, m = view->header.n_products;
    const double *powers_1 = scan->powers + 2 * n * view->index_1[baseline];
    const double *powers_2 = scan->powers + 2 * n * view->index_2[baseline];
    for (size_t p = 0; p < m; p++) {
        const double *x = powers_1 + n * fx8_view_pol_1(view, p);
        const double *y = powers_2 + n * fx8_view_pol_2(view, p);
        for (size_t c = 0; c < n; c++) {
            values[2 * (c * m + p)] *= sqrt(x[c] * y[c]);
            values[2 * (c * m + p) + 1] *= sqrt(x[c] * y[c]);
        }
    }
}

/* Complete the flags of the chosen channels; returns how many cells would be
 * good if they were finite. */
static size_t judge_row(struct scan *scan, const double *values, uint8_t *flags,
                        const float *nsamples)
{
    const struct fx8_view *view = scan->view;
    const bool is_quicklook = view->kind == FX8_VIEW_QUICKLOOK;
    size_t n_not_finite = 0;
    for (size_t i = 0; i < view->n_channels * view->header.n_products; i++) {
        const bool is_finite =
            isfinite(values[2 * i]) && isfinite(values[2 * i + 1]);
        /* a quick-look writes NaN where there are no data */
        const bool is_empty = is_quicklook ? !is_finite : !(nsamples[i] > 0.0F);
        flags[i] = flags[i] != 0 ? FX8_VIEW_FLAGGED : 0;
        if (is_empty)
            flags[i] |= FX8_VIEW_EMPTY;
        n_not_finite += flags[i] == 0 && !is_finite;
        if (!is_finite)
            flags[i] |= FX8_VIEW_NOT_FINITE;
        scan->has_data |= !is_empty;
    }
    return n_not_finite;
}

/* Pass on a row in memory. */
static void take_row(struct scan *scan, size_t dump, size_t baseline)
{
    const struct fx8_view *view = scan->view;
    const size_t n = view->header.n_channels, m = view->header.n_products;
    const size_t skipped = view->first_channel;
    const size_t row = dump * view->header.n_baselines + baseline;
    const size_t cell = (row - scan->first_row) * n * m + skipped * m;
    double *values = values_of(scan, row);
    if (view->kind == FX8_VIEW_QUICKLOOK)
        scale_row(scan, baseline, values);
    const size_t n_not_finite =
        judge_row(scan, values + 2 * skipped * m, scan->flags + cell,
                  scan->nsamples + cell);
    const struct fx8_view_row taken = {
        .time = dump - view->first_time,
        .baseline = baseline,
        .values = values + 2 * skipped * m,
        .flags = scan->flags + cell,
        .n_not_finite = n_not_finite,
        .powers_1 = scan->powers + 2 * n * view->index_1[baseline] + skipped,
        .powers_2 = scan->powers + 2 * n * view->index_2[baseline] + skipped};
    scan->take(scan->context, &taken);
}

static enum fx8_status take_dump(struct scan *scan, size_t dump,
                                 struct fx8_error *error)
{
    const size_t n = scan->view->header.n_baselines;
    if (scan->is_whole)
        FX8_TRY(load(scan, dump * n, n, error));
    FX8_TRY(read_powers(scan, dump, error));
    for (size_t first = 0; first < n;) {
        size_t end = first;
        while (end < n && scan->wanted[end] && end - first < scan->at_once)
            end++;
        if (end > first)
            FX8_TRY(load(scan, dump * n + first, end - first, error));
        for (size_t b = first; b < end; b++)
            take_row(scan, dump, b);
        first = end > first ? end : first + 1;
    }
    return FX8_OK;
}

static enum fx8_status prepare(struct scan *scan, bool is_consecutive,
                               struct fx8_error *error)
{
    const struct fx8_view *view = scan->view;
    const struct fx8_uvh5_header *h = &view->header;
    const size_t row = h->n_channels * h->n_products;
    const size_t row_bytes = 2 * sizeof(double) * row;
    const size_t fitting = READ_SIZE / row_bytes;
    const size_t total = h->n_baselines * view->n_times;
    scan->at_once = fitting > total ? total : fitting > 0 ? fitting : 1;
    scan->end = (view->first_time + view->n_times) * h->n_baselines;
    scan->is_whole = view->kind == FX8_VIEW_RESULT && is_consecutive &&
                     h->n_baselines * row_bytes <= SMALL_DUMP;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(scan->values, fx8_product(2, scan->at_once, row, 1)),
        FX8_ITEMS(scan->flags, fx8_product(scan->at_once, row, 1, 1)),
        FX8_ITEMS(scan->nsamples, fx8_product(scan->at_once, row, 1, 1)),
        FX8_ITEMS(scan->powers,
                  fx8_product(2, h->n_antennas, h->n_channels, 1)),
        FX8_ITEMS(scan->needs_powers, h->n_antennas)};
    FX8_TRY(fx8_allocate_arrays(arrays, 5, "visibilities", error));
    for (size_t b = 0; b < h->n_baselines; b++)
        if (scan->wanted[b])
            scan->needs_powers[view->index_1[b]] =
                scan->needs_powers[view->index_2[b]] = true;
    return FX8_OK;
}

enum fx8_status fx8_view_scan(const struct fx8_view *view, const bool *wanted,
                              size_t most, fx8_view_take *take, void *context,
                              struct fx8_error *error)
{
    const size_t n = view->n_times < most ? view->n_times : most;
    FX8_AUTO(clear)
    struct scan scan = {
        .view = view, .wanted = wanted, .take = take, .context = context};
    FX8_TRY(prepare(&scan, n == view->n_times, error));
    for (size_t i = 0; i < n; i++)
        FX8_TRY(
            take_dump(&scan, view->first_time + i * view->n_times / n, error));
    return scan.has_data || !fx8_output_is_part(view->path)
               ? FX8_OK
               : fx8_fail(error, FX8_ERR_INPUT,
                          "%s: no finished dump: expected at least one",
                          view->path);
}
