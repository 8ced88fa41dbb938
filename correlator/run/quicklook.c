/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/describe.h"
#include "correlator/run/pipeline.h"
#include "io/quicklook/quicklook_file.h"

struct fx8_run_quicklook {
    struct fx8_quicklook_file *file;
    enum fx8_result_kind kind; /* of the results used */
    size_t n_baselines, n_products;
};

/* --- the end of the file ----------------------------------------- */

static void count_states(const struct fx8_quicklook_average *averages, size_t n,
                         struct fx8_quicklook_figures *figures)
{
    for (size_t i = 0; i < n; i++) {
        const struct fx8_quicklook_average *a = &averages[i];
        figures->n_empty += a->state == FX8_QUICKLOOK_NONE;
        figures->n_limits += a->state == FX8_QUICKLOOK_LIMIT;
        figures->n_without += a->state == FX8_QUICKLOOK_NO_INTERVAL;
        if (a->state != FX8_QUICKLOOK_INTERVAL)
            continue;
        figures->n_intervals++;
        figures->highest = fmax(figures->highest, a->coherence);
    }
}

/* Write the members of averages [n_baselines][n_products] as columns. */
static enum fx8_status put_averages(
    const struct fx8_run_quicklook *q,
    const struct fx8_quicklook_average *averages, struct fx8_error *error)
{
#define MEMBER(name) offsetof(struct fx8_quicklook_average, name)
    static const struct {
        const char *name;
        enum fx8_quicklook_type type; /* a byte, or 8 bytes as in memory */
        size_t offset;
        const char *text;
    } columns[] = {
        {"state", FX8_QUICKLOOK_BYTE, MEMBER(state),
         "0: nothing to average, 1: interval, 2: upper limit, 3: an input with "
         "itself, 4: no honest interval"},
        {"coherence", FX8_QUICKLOOK_REAL, MEMBER(coherence),
         "averaged |rho|; NaN for a limit or nothing"},
        {"lower", FX8_QUICKLOOK_REAL, MEMBER(lower),
         "lower end of the 95 % interval; 0 for a limit"},
        {"upper", FX8_QUICKLOOK_REAL, MEMBER(upper),
         "upper end of the 95 % interval, or the limit"},
        {"cells", FX8_QUICKLOOK_INTEGER, MEMBER(n_cells),
         "channels and dumps averaged"},
        {"products", FX8_QUICKLOOK_REAL, MEMBER(n_products),
         "independent products they are worth"},
    };
    const size_t n = q->n_baselines * q->n_products;
    FX8_AUTO_FREE char *values = NULL;
    FX8_TRY(fx8_allocate(n, 8, "averages", &values, error));
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        for (size_t i = 0; i < n; i++)
            if (columns[k].type == FX8_QUICKLOOK_BYTE)
                values[i] = (char)averages[i].state;
            else
                memcpy(values + 8 * i,
                       (const char *)&averages[i] + columns[k].offset, 8);
        const struct fx8_quicklook_item item = {
            .group = "fisher",
            .name = columns[k].name,
            .type = columns[k].type,
            .rank = 2,
            .shape = {q->n_baselines, q->n_products},
            .values = values,
            .text = columns[k].text,
        };
        FX8_TRY(fx8_quicklook_file_put(q->file, &item, error));
    }
    return FX8_OK;
}

/* An item that is one whole number. */
#define NUMBER(group, name, value, text)                                       \
    {                                                                          \
        group, name, FX8_QUICKLOOK_INTEGER, 0, {0, 0}, &(value), text          \
    }

static enum fx8_status put_items(const struct fx8_run_quicklook *q,
                                 const struct fx8_quicklook_item *items,
                                 size_t n, struct fx8_error *error)
{
    for (size_t i = 0; i < n; i++)
        FX8_TRY(fx8_quicklook_file_put(q->file, &items[i], error));
    return FX8_OK;
}

static enum fx8_status put_counts(const struct fx8_run_quicklook *q,
                                  const struct fx8_quicklook_counts *n,
                                  struct fx8_error *error)
{
#define COUNT(name, member, text) NUMBER("counts", name, n->member, text)
    const struct fx8_quicklook_item counts[] = {
        COUNT("cells", n_cells, "cells looked at"),
        COUNT("no_product", no_product, "no valid product: 0"),
        COUNT("not_finite", not_finite, "NaN or infinite: 0"),
        COUNT("no_power", no_power, "an auto below 1.2e-38: 0"),
        COUNT("above_one", above_one, "|rho| > 1 of a cross product: kept"),
        COUNT("beyond_half", beyond_half, "too large for a half: infinity"),
        COUNT("fisher_few", fisher_few, "fewer than 16 products: not averaged"),
        COUNT("fisher_real", fisher_real,
              "the first channel of real samples: not averaged"),
        COUNT("fisher_loud", fisher_loud,
              "an input above 32 steps rms: not averaged"),
        COUNT("fisher_clamped", fisher_clamped,
              "|rho| > 1 - 1e-6: averaged as that, without an interval"),
        COUNT("spectra", n_spectra, "channels of spectra looked at"),
        COUNT("spectra_no_data", spectra_no_data, "no valid spectrum: NaN dB"),
        COUNT("spectra_infinite", spectra_infinite, "NaN or infinite: NaN dB"),
        COUNT("spectra_no_power", spectra_no_power, "below 1.2e-38: -400 dB"),
    };
    return put_items(q, counts, sizeof counts / sizeof *counts, error);
}

static enum fx8_status put_modes(const struct fx8_run_quicklook *q,
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
        const struct fx8_quicklook_item item = {
            "modes", kinds[i].name, FX8_QUICKLOOK_REAL, 1,
            {2, 0},  pair,          kinds[i].text};
        beyond += kinds[i].difference->n_beyond;
        FX8_TRY(put_items(q, &item, 1, error));
    }
    const struct fx8_quicklook_item ends[] = {
        NUMBER("modes", "dumps", d->n_dumps, "dumps evaluated in both modes"),
        NUMBER("modes", "beyond", beyond,
               "differences that exceed their bound"),
    };
    return put_items(q, ends, 2, error);
}

enum fx8_status fx8_run_quicklook_finish(struct fx8_run_quicklook *quicklook,
                                         const struct fx8_session *session,
                                         size_t n_dumps,
                                         struct fx8_quicklook_figures *figures,
                                         struct fx8_error *error)
{
    const size_t n = quicklook->n_baselines * quicklook->n_products;
    FX8_AUTO_FREE struct fx8_quicklook_average *averages = NULL;
    *figures = (struct fx8_quicklook_figures){.n_intervals = 0};
    fx8_get_quicklook(session, &figures->counts, &figures->differences);
    FX8_TRY(fx8_allocate(n, sizeof *averages, "averages", &averages, error));
    fx8_get_coherences(session, averages);
    count_states(averages, n, figures);
    FX8_TRY(fx8_quicklook_file_cut(quicklook->file, n_dumps, error));
    FX8_TRY(put_averages(quicklook, averages, error));
    FX8_TRY(put_counts(quicklook, &figures->counts, error));
    return figures->differences.n_dumps == 0
               ? FX8_OK
               : put_modes(quicklook, &figures->differences, error);
}

/* --- beginning and dumps ----------------------------------------- */

static enum fx8_status create(const struct fx8_run_request *request,
                              size_t center,
                              const struct fx8_provenance *provenance,
                              bool is_resumed, struct fx8_quicklook_file **file,
                              struct fx8_error *error)
{
    static const char *const maths[] = {
        [FX8_MATH_IEEE] = "ieee",
        [FX8_MATH_FAST] = "fast",
    };
    const struct fx8_plan *plan = &request->job->plan;
    FX8_AUTO(fx8_uvh5_header_clear) struct fx8_uvh5_header uvh5 = {0};
    FX8_TRY(fx8_describe(&request->job->centers[center], provenance, NULL,
                         &uvh5, error));
    const struct fx8_quicklook_header header = {
        .uvh5 = &uvh5,
        .n_polarizations = plan->n_polarizations,
        .spectra_per_dump = request->job->most_spectra,
        .coherence_scale = (double)FX8_COHERENCE_SCALE,
        .math = maths[plan->math],
        .precision = provenance->precision,
    };
    const char *path = request->outputs[center].path_quicklook;
    const bool force = request->force ||
                       (is_resumed && fx8_quicklook_file_is_of(path, &header));
    return fx8_quicklook_file_create(path, force, &header, file, error);
}

enum fx8_status fx8_run_quicklook_open(const struct fx8_run_request *request,
                                       size_t center,
                                       const struct fx8_provenance *provenance,
                                       enum fx8_result_kind kind,
                                       bool is_resumed,
                                       struct fx8_run_quicklook **quicklook,
                                       struct fx8_error *error)
{
    const struct fx8_axes *axes = &request->job->axes;
    FX8_TRY(
        fx8_allocate(1, sizeof **quicklook, "quick-look", quicklook, error));
    **quicklook = (struct fx8_run_quicklook){.kind = kind,
                                             .n_baselines = axes->n_baselines,
                                             .n_products = axes->n_products};
    return create(request, center, provenance, is_resumed, &(*quicklook)->file,
                  error);
}

enum fx8_status fx8_run_quicklook_take(struct fx8_run_quicklook *quicklook,
                                       const struct fx8_dump *dump,
                                       struct fx8_error *error)
{
    return fx8_quicklook_file_write(
        quicklook->file, (size_t)dump->index, &dump->quicklook,
        dump->results[quicklook->kind].flags, error);
}

enum fx8_status fx8_run_quicklook_close(struct fx8_run_quicklook **quicklook,
                                        bool keep, struct fx8_error *error)
{
    if (*quicklook == NULL)
        return FX8_OK;
    const enum fx8_status status =
        fx8_quicklook_file_close(&(*quicklook)->file, keep, error);
    free(*quicklook);
    *quicklook = NULL;
    return status;
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
    print_kinds(cells, sizeof cells / sizeof *cells,
                FX8_COUNTED(n->n_cells, "cell", "cells"), stream);
    print_kinds(
        spectra, sizeof spectra / sizeof *spectra,
        FX8_COUNTED(n->n_spectra, "channel of spectra", "channels of spectra"),
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
            FX8_COUNTED((long long)d->n_dumps, "dump", "dumps"));
    print_difference("coherence", &d->coherence, " of it", stream);
    print_difference("amplitude", &d->amplitude, " of it", stream);
    print_difference("phase", &d->phase, " rad", stream);
    print_difference("spectra", &d->spectra, " dB", stream);
    print_difference("average", &d->fisher, "", stream);
}

void fx8_quicklook_print(const struct fx8_quicklook_figures *quicklook,
                         FILE *stream)
{
    fprintf(
        stream, "quick-look %lld %s of baselines coherent",
        FX8_COUNTED((long long)quicklook->n_intervals, "product", "products"));
    if (quicklook->n_intervals > 0)
        fprintf(stream, " (highest %.4f)", quicklook->highest);
    fprintf(stream, ", %lld upper %s (below 5 sigma in a cell)",
            FX8_COUNTED((long long)quicklook->n_limits, "limit", "limits"));
    if (quicklook->n_without > 0)
        fprintf(stream, ", %lld near 1 without an interval",
                (long long)quicklook->n_without);
    if (quicklook->n_empty > 0)
        fprintf(stream, ", %lld without data", (long long)quicklook->n_empty);
    fprintf(stream, "\n");
    print_counts(&quicklook->counts, stream);
    print_differences(&quicklook->differences, stream);
}
