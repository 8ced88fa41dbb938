/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/describe.h"
#include "correlator/run/pipeline.h"
#include "correlator/run/sink.h"
#include "io/quicklook/quicklook_file.h"

struct quicklook {
    struct fx8_quicklook_file *file;
    const struct fx8_session *session;
    enum fx8_result_kind kind; /* of the results used */
    size_t n_baselines, n_products;
    struct fx8_quicklook_figures *report;
};

/* Columns of the averages. */
enum { N_COLUMNS = 7 };

struct columns {
    struct fx8_array arrays[N_COLUMNS]; /* all of the below */
    struct fx8_quicklook_average *averages;
    uint8_t *state;
    double *coherence, *lower, *upper, *products;
    int64_t *cells;
};

static enum fx8_status allocate_columns(struct columns *c, size_t n,
                                        struct fx8_error *error)
{
    const struct fx8_array arrays[N_COLUMNS] = {
        {&c->averages, n, sizeof *c->averages},
        {&c->state, n, sizeof *c->state},
        {&c->coherence, n, sizeof *c->coherence},
        {&c->lower, n, sizeof *c->lower},
        {&c->upper, n, sizeof *c->upper},
        {&c->products, n, sizeof *c->products},
        {&c->cells, n, sizeof *c->cells},
    };
    memcpy(c->arrays, arrays, sizeof arrays);
    return fx8_allocate_arrays(arrays, N_COLUMNS, "averages", error);
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
                         struct fx8_quicklook_figures *report)
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

static enum fx8_status put_averages(const struct quicklook *quicklook,
                                    const struct columns *c,
                                    struct fx8_error *error)
{
    const enum fx8_quicklook_type real = FX8_QUICKLOOK_REAL;
    const struct {
        const char *name;
        enum fx8_quicklook_type type;
        const void *values;
        const char *text;
    } columns[] = {
        {"state", FX8_QUICKLOOK_BYTE, c->state,
         "0: nothing to average, 1: interval, 2: upper limit, 3: an input with "
         "itself, 4: no honest interval"},
        {"coherence", real, c->coherence,
         "averaged |rho|; NaN for a limit or nothing"},
        {"lower", real, c->lower,
         "lower end of the 95 % interval; 0 for a limit"},
        {"upper", real, c->upper,
         "upper end of the 95 % interval, or the limit"},
        {"cells", FX8_QUICKLOOK_INTEGER, c->cells,
         "channels and dumps averaged"},
        {"products", real, c->products, "independent products they are worth"},
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const struct fx8_quicklook_item item = {
            .group = "fisher",
            .name = columns[i].name,
            .type = columns[i].type,
            .rank = 2,
            .shape = {quicklook->n_baselines, quicklook->n_products},
            .values = columns[i].values,
            .text = columns[i].text,
        };
        FX8_TRY(fx8_quicklook_file_put(quicklook->file, &item, error));
    }
    return FX8_OK;
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
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const struct fx8_quicklook_item item = {
            .group = "counts",
            .name = counts[i].name,
            .type = FX8_QUICKLOOK_INTEGER,
            .values = counts[i].value,
            .text = counts[i].text,
        };
        FX8_TRY(fx8_quicklook_file_put(file, &item, error));
    }
    return FX8_OK;
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
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const double pair[2] = {kinds[i].difference->largest,
                                kinds[i].difference->bound};
        const struct fx8_quicklook_item item = {.group = "modes",
                                                .name = kinds[i].name,
                                                .type = FX8_QUICKLOOK_REAL,
                                                .rank = 1,
                                                .shape = {2},
                                                .values = pair,
                                                .text = kinds[i].text};
        beyond += kinds[i].difference->n_beyond;
        FX8_TRY(fx8_quicklook_file_put(file, &item, error));
    }
    const struct fx8_quicklook_item ends[] = {
        {.group = "modes",
         .name = "dumps",
         .type = FX8_QUICKLOOK_INTEGER,
         .values = &d->n_dumps,
         .text = "dumps evaluated in both modes"},
        {.group = "modes",
         .name = "beyond",
         .type = FX8_QUICKLOOK_INTEGER,
         .values = &beyond,
         .text = "differences that exceed their bound"},
    };
    for (size_t i = 0; i < 2; i++)
        FX8_TRY(fx8_quicklook_file_put(file, &ends[i], error));
    return FX8_OK;
}

/* --- consumer ---------------------------------------------------- */

static enum fx8_status take(void *context, const struct fx8_dump *dump,
                            struct fx8_error *error)
{
    const struct quicklook *quicklook = context;
    return fx8_quicklook_file_write(
        quicklook->file, (size_t)dump->index, &dump->quicklook,
        dump->results[quicklook->kind].flags, error);
}

/* Cut the file to its dumps and write the final data. */
static enum fx8_status put_end(const struct quicklook *quicklook,
                               const struct columns *columns, size_t n_dumps,
                               struct fx8_error *error)
{
    const struct fx8_quicklook_figures *report = quicklook->report;
    FX8_TRY(fx8_quicklook_file_cut(quicklook->file, n_dumps, error));
    FX8_TRY(put_averages(quicklook, columns, error));
    FX8_TRY(put_counts(quicklook->file, &report->counts, error));
    return report->differences.n_dumps == 0
               ? FX8_OK
               : put_modes(quicklook->file, &report->differences, error);
}

static enum fx8_status finish(void *context, size_t n_dumps,
                              struct fx8_error *error)
{
    const struct quicklook *quicklook = context;
    const size_t n = quicklook->n_baselines * quicklook->n_products;
    struct fx8_quicklook_figures *report = quicklook->report;
    struct columns columns;
    *report = (struct fx8_quicklook_figures){.n_intervals = 0};
    fx8_get_quicklook(quicklook->session, &report->counts,
                      &report->differences);
    enum fx8_status status = allocate_columns(&columns, n, error);
    if (status == FX8_OK) {
        fx8_get_coherences(quicklook->session, columns.averages);
        fill_columns(&columns, n);
        count_states(columns.averages, n, report);
        status = put_end(quicklook, &columns, n_dumps, error);
    }
    fx8_free_arrays(columns.arrays, N_COLUMNS);
    return status;
}

static enum fx8_status close_quicklook(void *context, bool keep,
                                       struct fx8_error *error)
{
    struct quicklook *quicklook = context;
    const enum fx8_status status =
        fx8_quicklook_file_close(&quicklook->file, keep, error);
    free(quicklook);
    return status;
}

static enum fx8_status create(const struct fx8_run_request *request,
                              const struct fx8_provenance *provenance,
                              struct quicklook *quicklook,
                              struct fx8_error *error)
{
    static const char *const maths[] = {
        [FX8_MATH_IEEE] = "ieee",
        [FX8_MATH_FAST] = "fast",
    };
    const struct fx8_plan *plan = &request->job->plan;
    struct fx8_uvh5_header uvh5;
    FX8_TRY(fx8_describe(request->job, request->settings, provenance, &uvh5,
                         error));
    const struct fx8_quicklook_header header = {
        .uvh5 = &uvh5,
        .n_polarizations = plan->n_polarizations,
        .spectra_per_dump = plan->spectra_per_dump,
        .coherence_scale = (double)FX8_COHERENCE_SCALE,
        .math = maths[plan->math],
        .precision = provenance->precision,
    };
    const enum fx8_status status =
        fx8_quicklook_file_create(request->path_quicklook, request->force,
                                  &header, &quicklook->file, error);
    fx8_uvh5_header_clear(&uvh5);
    return status;
}

enum fx8_status fx8_quicklook_consume(const struct fx8_run_request *request,
                                      const struct fx8_provenance *provenance,
                                      enum fx8_result_kind kind,
                                      const struct fx8_session *session,
                                      struct fx8_quicklook_figures *report,
                                      struct fx8_consumer *consumer,
                                      struct fx8_error *error)
{
    const struct fx8_axes *axes = &request->job->axes;
    struct quicklook *quicklook;
    FX8_TRY(
        fx8_allocate(1, sizeof *quicklook, "quick-look", &quicklook, error));
    *quicklook = (struct quicklook){.session = session,
                                    .kind = kind,
                                    .n_baselines = axes->n_baselines,
                                    .n_products = axes->n_products,
                                    .report = report};
    *consumer = (struct fx8_consumer){quicklook, take, finish, close_quicklook};
    return create(request, provenance, quicklook, error);
}

/* --- the summary ------------------------------------------------- */

/* One kind of anomaly. */
struct kind {
    int64_t count;
    const char *text;
};

static void print_kinds(const struct kind *kinds, size_t n_kinds, int64_t all,
                        const char *unit, FILE *stream)
{
    for (size_t i = 0; i < n_kinds; i++)
        if (kinds[i].count > 0)
            fprintf(stream, "           %lld of %lld %s %s\n",
                    (long long)kinds[i].count, (long long)all, unit,
                    kinds[i].text);
}

static void print_counts(const struct fx8_quicklook_counts *n, FILE *stream)
{
    const struct kind cells[] = {
        {n->no_product, "without a valid product: 0"},
        {n->not_finite, "NaN or infinite: 0"},
        {n->no_power, "with an auto that has no power: 0"},
        {n->above_one, "with a coherence above 1: kept"},
        {n->beyond_half, "beyond half precision: infinity"},
        {n->fisher_few, "worth fewer than 16 products: not averaged"},
        {n->fisher_real, "in the first channel of real samples: not averaged"},
        {n->fisher_loud, "of an input above 32 steps rms: not averaged"},
        {n->fisher_clamped, "above 1 - 1e-6: averaged as that, no interval"},
    };
    const struct kind spectra[] = {
        {n->spectra_no_data, "without a valid spectrum: NaN dB"},
        {n->spectra_infinite, "NaN or infinite: NaN dB"},
        {n->spectra_no_power, "without power: -400 dB"},
    };
    print_kinds(cells, sizeof cells / sizeof *cells, n->n_cells,
                FX8_NOUN(n->n_cells, "cell", "cells"), stream);
    print_kinds(
        spectra, sizeof spectra / sizeof *spectra, n->n_spectra,
        FX8_NOUN(n->n_spectra, "channel of spectra", "channels of spectra"),
        stream);
}

static void print_difference(const char *name,
                             const struct fx8_quicklook_difference *d,
                             const char *unit, FILE *stream)
{
    fprintf(stream, "           %-9s %.2g (bound %.2g)%s", name, d->largest,
            d->bound, unit);
    if (d->n_beyond > 0)
        fprintf(stream, ", %lld BEYOND THEIR BOUND", (long long)d->n_beyond);
    fprintf(stream, "\n");
}

static void print_differences(const struct fx8_quicklook_differences *d,
                              FILE *stream)
{
    if (d->n_dumps == 0)
        return;
    fprintf(stream,
            "           fast beside ieee, largest difference in %lld %s:\n",
            (long long)d->n_dumps, FX8_NOUN(d->n_dumps, "dump", "dumps"));
    print_difference("coherence", &d->coherence, " of it", stream);
    print_difference("amplitude", &d->amplitude, " of it", stream);
    print_difference("phase", &d->phase, " rad", stream);
    print_difference("spectra", &d->spectra, " dB", stream);
    print_difference("average", &d->fisher, "", stream);
}

void fx8_quicklook_print(const struct fx8_quicklook_figures *quicklook,
                         FILE *stream)
{
    fprintf(stream, "quick-look %lld %s of baselines coherent",
            (long long)quicklook->n_intervals,
            FX8_NOUN(quicklook->n_intervals, "product", "products"));
    if (quicklook->n_intervals > 0)
        fprintf(stream, " (highest %.4f)", quicklook->highest);
    fprintf(stream, ", %lld upper %s (below 5 sigma in a cell)",
            (long long)quicklook->n_limits,
            FX8_NOUN(quicklook->n_limits, "limit", "limits"));
    if (quicklook->n_without > 0)
        fprintf(stream, ", %lld near 1 without an interval",
                (long long)quicklook->n_without);
    if (quicklook->n_empty > 0)
        fprintf(stream, ", %lld without data", (long long)quicklook->n_empty);
    fprintf(stream, "\n");
    print_counts(&quicklook->counts, stream);
    print_differences(&quicklook->differences, stream);
}
