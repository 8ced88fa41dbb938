/* SPDX-License-Identifier: BSD-3-Clause */
/* quicklook.c -- see session_private.h: the quick-look of finished dumps:
 * kernels/quicklook.h set up from the plan. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/clock.h"
#include "config/base/dump_arrays.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/library/session_private.h"
#include "kernels/quicklook.h"

/* Enough spectra to make the ends of a run negligible. */
#define MANY_SPECTRA ((size_t)1 << 40)

/* products_per_cell of dumps of n_spectra. */
struct cell_products {
    int64_t n_spectra;
    double products;
};

/* Lengths that dumps have: of a whole one, which on a grid may lack one
 * spectrum, of the first, of the last. */
#define N_LENGTHS 4

struct fx8_session_quicklook {
    struct fx8_quicklook *quicklook;
    struct fx8_quicklook_dump dump;
    struct cell_products lengths[N_LENGTHS];
    double inflation; /* factor on the variance of a mean over cells */
    float *gain;      /* [n_inputs][n_fine] of INT8 autos over ripple; NULL
                         without ripple */
};

/* Items of it. */
static size_t count_gains(const struct fx8_session *s)
{
    return s->plan.ripple != NULL && (s->plan.precision & FX8_PRECISION_INT8)
               ? fx8_product(s->axes.n_inputs, s->axes.n_fine, 1, 1)
               : 0;
}

static struct fx8_quicklook_plan shape_of(const struct fx8_session *s)
{
    static const enum fx8_functions_mode modes[] = {
        [FX8_MATH_IEEE] = FX8_FUNCTIONS_IEEE,
        [FX8_MATH_FAST] = FX8_FUNCTIONS_FAST,
    };
    const struct fx8_plan *plan = &s->plan;
    const struct fx8_axes *axes = &s->axes;
    return (struct fx8_quicklook_plan){
        .n_products = axes->n_products,
        .n_inputs = axes->n_inputs,
        .n_baselines = axes->n_baselines,
        .n_channels = axes->n_channels,
        .products = s->products,
        .band_channels = axes->n_kept / axes->band_average,
        .real_channel = fx8_session_has_real(s) ? 0 : axes->n_fine,
        .channel_average = plan->channel_average,
        .mode = modes[plan->math],
        .threads = plan->machine.threads,
    };
}

static void list_arrays(const struct fx8_quicklook_plan *shape,
                        struct fx8_quicklook_dump *dump,
                        struct fx8_array arrays[FX8_QUICKLOOK_ARRAYS])
{
    const size_t cells = fx8_product(shape->n_baselines, shape->n_channels,
                                     shape->n_products, 1);
    const size_t levels = fx8_product(shape->n_inputs, shape->n_channels, 1, 1);
    fx8_list_quicklook(dump, cells, levels, true, arrays);
}

size_t fx8_session_quicklook_size(const struct fx8_session *s)
{
    const struct fx8_quicklook_plan shape = shape_of(s);
    struct fx8_quicklook_dump unused;
    struct fx8_array arrays[FX8_QUICKLOOK_ARRAYS];
    if (!s->plan.quicklook)
        return 0;
    list_arrays(&shape, &unused, arrays);
    const size_t dump = fx8_arrays_size(arrays, FX8_QUICKLOOK_ARRAYS);
    const size_t sums = fx8_quicklook_size(&shape);
    const size_t gains = fx8_product(count_gains(s), sizeof(float), 1, 1);
    return dump > SIZE_MAX - sums || gains > SIZE_MAX - sums - dump
               ? SIZE_MAX
               : dump + sums + gains;
}

/* Products of overlapping windows that count as one. */
static double find_overlap(const struct fx8_session *s, size_t n_spectra,
                           size_t n_channels)
{
    const size_t length = s->axes.step;
    return fx8_filterbank_overlap(s->weights, s->axes.window / length, length,
                                  n_spectra, n_channels);
}

/* Independent products in a cell of a dump of n_spectra. */
static struct cell_products find_products(const struct fx8_session *s,
                                          int64_t n_spectra)
{
    return (struct cell_products){
        n_spectra,
        (double)n_spectra * (double)s->plan.channel_average /
            find_overlap(s, (size_t)n_spectra, s->axes.band_average)};
}

/* Spectra of the last dump. */
static int64_t last_spectra(const struct fx8_plan *plan)
{
    return plan->n_spectra == 0
               ? plan->spectra_per_dump
               : fx8_dump_spectra(plan, fx8_dump_of(plan, plan->n_spectra - 1));
}

static void find_lengths(const struct fx8_session *s,
                         struct cell_products lengths[N_LENGTHS])
{
    const int64_t m = s->plan.spectra_per_dump;
    const int64_t spectra[N_LENGTHS] = {m, m > 1 ? m - 1 : 1,
                                        fx8_dump_spectra(&s->plan, 0),
                                        last_spectra(&s->plan)};
    for (size_t k = 0; k < N_LENGTHS; k++)
        lengths[k] = find_products(s, spectra[k]);
}

/* Whether an engine runs it, beside the results that it computes. */
static bool is_on_device(const struct fx8_session *s)
{
    return s->operations->consume != NULL &&
           !fx8_session_has_sums(s, s->operations);
}

enum fx8_status fx8_session_quicklook_open(struct fx8_session *s,
                                           struct fx8_error *error)
{
    if (!s->plan.quicklook)
        return FX8_OK;
    FX8_TRY(fx8_allocate(1, sizeof *s->quicklook, "quick-look", &s->quicklook,
                         error));
    const struct fx8_operations *operations =
        s->operations->facts(s->engines[0])->operations;
    struct fx8_quicklook_plan shape = shape_of(s);
    struct fx8_array arrays[FX8_QUICKLOOK_ARRAYS];
    shape.functions = operations->functions;
    shape.half = &operations->half;
    shape.is_on_device = is_on_device(s);
    list_arrays(&shape, &s->quicklook->dump, arrays);
    const int64_t whole = s->plan.spectra_per_dump;
    find_lengths(s, s->quicklook->lengths);
    shape.products_per_cell = s->quicklook->lengths[0].products;
    s->quicklook->inflation =
        find_overlap(s, MANY_SPECTRA, s->axes.n_kept) /
        find_overlap(s, (size_t)whole, s->axes.band_average);
    FX8_TRY(
        fx8_allocate_arrays(arrays, FX8_QUICKLOOK_ARRAYS, "quick-look", error));
    if (count_gains(s) > 0)
        FX8_TRY(fx8_allocate(count_gains(s), sizeof *s->quicklook->gain,
                             "gains", &s->quicklook->gain, error));
    return fx8_quicklook_open(&shape, &s->quicklook->quicklook, error);
}

/* Gains by which autos become powers in steps of the quantiser; NULL: none. */
static const float *find_gains(const struct fx8_session *s)
{
    const float *gain = fx8_gains(s).gain;
    float *const to = s->quicklook->gain;
    if (to == NULL || gain == NULL)
        return gain;
    for (size_t i = 0; i < count_gains(s); i++)
        to[i] = gain[i] * (float)sqrt(s->plan.ripple[i % s->axes.n_fine]);
    return to;
}

enum fx8_status fx8_session_quicklook_take(struct fx8_session *s,
                                           struct fx8_dump *dump,
                                           struct fx8_error *error)
{
    struct fx8_session_quicklook *quicklook = s->quicklook;
    if (quicklook == NULL)
        return FX8_OK;
    const double start = fx8_clock_seconds();
    const bool is_int8 = (s->plan.precision & FX8_PRECISION_INT8) != 0;
    const struct fx8_result *result =
        &dump->results[is_int8 ? FX8_RESULT_INT8 : FX8_RESULT_FP32];
    const float *gain = is_int8 ? find_gains(s) : NULL;
    enum fx8_status status = FX8_OK;
    dump->quicklook = quicklook->dump;
    for (size_t k = 0; k < N_LENGTHS; k++)
        if (quicklook->lengths[k].n_spectra == dump->n_spectra)
            fx8_quicklook_set_products(quicklook->quicklook,
                                       quicklook->lengths[k].products);
    if (!is_on_device(s))
        fx8_quicklook_process(quicklook->quicklook, result, gain,
                              &quicklook->dump);
    else
        status = fx8_quicklook_process_on(
            quicklook->quicklook, s->operations->consume, s->engines[0], result,
            gain, &quicklook->dump, error);
    s->statistics.quicklook_s += fx8_clock_seconds() - start;
    return status;
}

enum fx8_status fx8_look(struct fx8_session *session, struct fx8_dump *dump,
                         struct fx8_error *error)
{
    struct fx8_session *s = session;
    if (s == NULL || dump == NULL || s->quicklook == NULL ||
        dump->results[(s->plan.precision & FX8_PRECISION_INT8) != 0
                          ? FX8_RESULT_INT8
                          : FX8_RESULT_FP32]
                .visibilities == NULL)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "dump: expected a quick-look in the plan, and the "
                        "results that it is made from");
    dump->n_spectra = fx8_dump_spectra(&s->plan, dump->index);
    return fx8_session_quicklook_take(s, dump, error);
}

void fx8_session_quicklook_close(struct fx8_session *s)
{
    if (s->quicklook == NULL)
        return;
    const struct fx8_quicklook_plan shape = shape_of(s);
    struct fx8_array arrays[FX8_QUICKLOOK_ARRAYS];
    list_arrays(&shape, &s->quicklook->dump, arrays);
    fx8_free_arrays(arrays, FX8_QUICKLOOK_ARRAYS);
    fx8_quicklook_close(&s->quicklook->quicklook);
    free(s->quicklook->gain);
    free(s->quicklook);
}

void fx8_get_quicklook(const struct fx8_session *session,
                       struct fx8_quicklook_counts *counts,
                       struct fx8_quicklook_differences *differences)
{
    *counts = (struct fx8_quicklook_counts){0};
    *differences = (struct fx8_quicklook_differences){0};
    if (session->quicklook != NULL)
        fx8_quicklook_report(session->quicklook->quicklook, counts,
                             differences);
}

void fx8_get_coherences(const struct fx8_session *session,
                        struct fx8_quicklook_average *averages)
{
    const size_t n = session->axes.n_baselines * session->axes.n_products;
    for (size_t i = 0; i < n; i++)
        averages[i] = (struct fx8_quicklook_average){
            FX8_QUICKLOOK_NONE, NAN, NAN, NAN, 0, 0.0};
    if (session->quicklook != NULL)
        fx8_quicklook_averages(session->quicklook->quicklook,
                               session->quicklook->inflation, averages);
}
