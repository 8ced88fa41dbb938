/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "correlator/run/look_file.h"

/* The averages as columns. */
struct columns {
    struct fx8_quicklook_average *averages;
    uint8_t *state;
    double *coherence, *lower, *upper, *products;
    int64_t *cells;
};

static enum fx8_status allocate_columns(struct columns *c, size_t n,
                                        struct fx8_error *error)
{
    const struct fx8_array arrays[] = {
        {&c->averages, n, sizeof *c->averages},
        {&c->state, n, sizeof *c->state},
        {&c->coherence, n, sizeof *c->coherence},
        {&c->lower, n, sizeof *c->lower},
        {&c->upper, n, sizeof *c->upper},
        {&c->products, n, sizeof *c->products},
        {&c->cells, n, sizeof *c->cells},
    };
    return fx8_allocate_arrays(arrays, sizeof arrays / sizeof *arrays,
                               "averages", error);
}

static void free_columns(struct columns *c)
{
    void *const memory[] = {c->averages, c->state,    c->coherence, c->lower,
                            c->upper,    c->products, c->cells};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        free(memory[i]);
}

static void fill_columns(struct columns *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct fx8_quicklook_average *a = &c->averages[i];
        c->state[i] = (uint8_t)a->state;
        c->coherence[i] = a->coherence;
        c->lower[i] = a->lower;
        c->upper[i] = a->upper;
        c->products[i] = a->n_products;
        c->cells[i] = a->n_cells;
    }
}

static void count_states(const struct fx8_quicklook_average *averages, size_t n,
                         struct fx8_look_report *report)
{
    for (size_t i = 0; i < n; i++) {
        const struct fx8_quicklook_average *a = &averages[i];
        report->n_empty += a->state == FX8_QUICKLOOK_NONE;
        report->n_limits += a->state == FX8_QUICKLOOK_LIMIT;
        report->n_without += a->state == FX8_QUICKLOOK_NO_INTERVAL;
        if (a->state != FX8_QUICKLOOK_INTERVAL)
            continue;
        report->n_intervals++;
        report->highest = fmax(report->highest, a->coherence);
    }
}

static enum fx8_status put_averages(struct fx8_quicklook_file *file,
                                    const struct columns *c, size_t n_baselines,
                                    size_t n_products, struct fx8_error *error)
{
    const size_t b = n_baselines, p = n_products;
    const enum fx8_quicklook_type real = FX8_QUICKLOOK_REAL;
    const struct fx8_quicklook_item items[] = {
        {"fisher",
         "state",
         FX8_QUICKLOOK_BYTE,
         2,
         {b, p},
         c->state,
         "0: nothing to average, 1: interval, 2: upper limit, 3: an input with "
         "itself, 4: no honest interval"},
        {"fisher",
         "coherence",
         real,
         2,
         {b, p},
         c->coherence,
         "averaged |rho|; NaN for a limit or nothing"},
        {"fisher",
         "lower",
         real,
         2,
         {b, p},
         c->lower,
         "lower end of the 95 % interval; 0 for a limit"},
        {"fisher",
         "upper",
         real,
         2,
         {b, p},
         c->upper,
         "upper end of the 95 % interval, or the limit"},
        {"fisher",
         "cells",
         FX8_QUICKLOOK_INTEGER,
         2,
         {b, p},
         c->cells,
         "channels and dumps averaged"},
        {"fisher",
         "products",
         real,
         2,
         {b, p},
         c->products,
         "independent products they are worth"},
    };
    return fx8_quicklook_file_put(file, items, sizeof items / sizeof *items,
                                  error);
}

static enum fx8_status put_counts(struct fx8_quicklook_file *file,
                                  const struct fx8_quicklook_counts *n,
                                  struct fx8_error *error)
{
    const struct {
        const char *name;
        const int64_t *value;
        const char *text;
    } counts[] = {
        {"cells", &n->n_cells, "cells looked at"},
        {"no_product", &n->no_product, "no valid product: 0"},
        {"not_finite", &n->not_finite, "NaN or infinite: 0"},
        {"no_power", &n->no_power, "an auto below 1.2e-38: 0"},
        {"above_one", &n->above_one, "|rho| > 1 of a cross product: kept"},
        {"beyond_half", &n->beyond_half, "too large for a half: infinity"},
        {"fisher_few", &n->fisher_few, "fewer than 16 products: not averaged"},
        {"fisher_real", &n->fisher_real,
         "the first channel of real samples: not averaged"},
        {"fisher_loud", &n->fisher_loud,
         "an input above 32 steps rms: not averaged"},
        {"fisher_clamped", &n->fisher_clamped,
         "|rho| > 1 - 1e-6: averaged as that, without an interval"},
        {"spectra", &n->n_spectra, "channels of spectra looked at"},
        {"spectra_no_data", &n->spectra_no_data, "no valid spectrum: NaN dB"},
        {"spectra_infinite", &n->spectra_infinite, "NaN or infinite: NaN dB"},
        {"spectra_no_power", &n->spectra_no_power, "below 1.2e-38: -400 dB"},
    };
    enum fx8_status status = FX8_OK;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && status == FX8_OK;
         i++) {
        const struct fx8_quicklook_item item = {
            "counts", counts[i].name,  FX8_QUICKLOOK_INTEGER, 0,
            {0},      counts[i].value, counts[i].text};
        status = fx8_quicklook_file_put(file, &item, 1, error);
    }
    return status;
}

static enum fx8_status put_modes(struct fx8_quicklook_file *file,
                                 const struct fx8_quicklook_differences *d,
                                 struct fx8_error *error)
{
    const struct {
        const char *name;
        const struct fx8_quicklook_difference *difference;
        const char *text;
    } kinds[] = {
        {"coherence", &d->coherence, "relative difference, bound"},
        {"amplitude", &d->amplitude, "relative difference, bound"},
        {"phase", &d->phase, "difference, bound; radian"},
        {"spectra", &d->spectra, "difference, bound; dB"},
        {"fisher", &d->fisher, "difference of the average, bound"},
    };
    int64_t beyond = 0;
    enum fx8_status status = FX8_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && status == FX8_OK;
         i++) {
        const double pair[2] = {kinds[i].difference->largest,
                                kinds[i].difference->bound};
        const struct fx8_quicklook_item item = {
            "modes", kinds[i].name, FX8_QUICKLOOK_REAL, 1,
            {2},     pair,          kinds[i].text};
        beyond += kinds[i].difference->n_beyond;
        status = fx8_quicklook_file_put(file, &item, 1, error);
    }
    const struct fx8_quicklook_item ends[] = {
        {"modes",
         "dumps",
         FX8_QUICKLOOK_INTEGER,
         0,
         {0},
         &d->n_dumps,
         "dumps evaluated in both modes"},
        {"modes",
         "beyond",
         FX8_QUICKLOOK_INTEGER,
         0,
         {0},
         &beyond,
         "differences that exceed their bound"},
    };
    return status == FX8_OK ? fx8_quicklook_file_put(file, ends, 2, error)
                            : status;
}

enum fx8_status fx8_look_file_finish(struct fx8_quicklook_file *file,
                                     const struct fx8_session *session,
                                     size_t n_baselines, size_t n_products,
                                     size_t n_dumps,
                                     struct fx8_look_report *report,
                                     struct fx8_error *error)
{
    const size_t n = n_baselines * n_products;
    struct columns columns = {0};
    *report = (struct fx8_look_report){.n_intervals = 0};
    fx8_get_quicklook(session, &report->counts, &report->differences);
    enum fx8_status status = allocate_columns(&columns, n, error);
    if (status == FX8_OK) {
        fx8_get_coherences(session, columns.averages);
        fill_columns(&columns, n);
        count_states(columns.averages, n, report);
        status = fx8_quicklook_file_cut(file, n_dumps, error);
    }
    if (status == FX8_OK)
        status = put_averages(file, &columns, n_baselines, n_products, error);
    if (status == FX8_OK)
        status = put_counts(file, &report->counts, error);
    if (status == FX8_OK && report->differences.n_dumps > 0)
        status = put_modes(file, &report->differences, error);
    free_columns(&columns);
    return status;
}
