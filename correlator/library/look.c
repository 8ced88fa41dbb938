/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "correlator/library/look.h"
#include "correlator/library/plan.h"
#include "kernels/filterbank.h"
#include "kernels/quicklook.h"

/* So many spectra that the ends of a run do not count. */
#define MANY_SPECTRA ((size_t)1 << 40)

struct fx8_look {
    struct fx8_quicklook *quicklook;
    struct fx8_quicklook_dump dump;
    fx8_quicklook_look *on_device; /* or NULL */
    double inflation;              /* of the variance of a mean over cells */
};

static struct fx8_quicklook_plan shape_of(const struct fx8_plan *plan,
                                          const struct fx8_axes *axes)
{
    static const enum fx8_functions_mode modes[] = {
        [FX8_MATH_IEEE] = FX8_FUNCTIONS_IEEE,
        [FX8_MATH_FAST] = FX8_FUNCTIONS_FAST,
    };
    const struct fx8_filterbank bank = fx8_plan_filterbank(plan);
    return (struct fx8_quicklook_plan){
        .n_products = axes->n_products,
        .n_inputs = axes->n_inputs,
        .n_baselines = axes->n_baselines,
        .n_channels = axes->n_channels,
        .band_channels = axes->n_kept / fx8_plan_band_average(plan),
        .real_channel = fx8_filterbank_is_real(&bank, 0) ? 0 : axes->n_fine,
        .channel_average = plan->channel_average,
        .mode = modes[plan->math],
        .n_threads = plan->n_threads,
        .pin_threads = plan->pin_threads,
    };
}

#define N_ARRAYS 4

static void list_arrays(const struct fx8_quicklook_plan *shape,
                        struct fx8_quicklook_dump *dump,
                        struct fx8_array arrays[N_ARRAYS])
{
    const size_t cells = fx8_product(shape->n_baselines, shape->n_channels,
                                     shape->n_products, 1);
    const size_t levels = fx8_product(shape->n_inputs, shape->n_channels, 1, 1);
    const struct fx8_array list[N_ARRAYS] = {
        {&dump->coherence, cells, 2 * sizeof(uint16_t)},
        {&dump->amplitude, cells, sizeof(uint16_t)},
        {&dump->phase, cells, sizeof(uint16_t)},
        {&dump->spectra_db, levels, sizeof(float)},
    };
    memcpy(arrays, list, sizeof list);
}

size_t fx8_look_size(const struct fx8_plan *plan, const struct fx8_axes *axes)
{
    const struct fx8_quicklook_plan shape = shape_of(plan, axes);
    struct fx8_quicklook_dump unused;
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(&shape, &unused, arrays);
    const size_t dump = fx8_arrays_size(arrays, N_ARRAYS);
    const size_t sums = fx8_quicklook_size(&shape);
    return dump > SIZE_MAX - sums ? SIZE_MAX : dump + sums;
}

/* What the overlap of windows leaves of the products in a cell, and does to a
 * mean over cells. */
static enum fx8_status find_overlap(const struct fx8_plan *plan,
                                    const struct fx8_axes *axes,
                                    double *products_per_cell,
                                    double *inflation, struct fx8_error *error)
{
    const size_t length = axes->step;
    const size_t n_weights = axes->window;
    void *memory;
    const enum fx8_status status = fx8_allocate(
        n_weights, sizeof(double), "filter weights", &memory, error);
    if (status != FX8_OK)
        return status;
    double *weights = memory;
    fx8_plan_weights(plan, weights);
    const double cell = fx8_filterbank_overlap(
        weights, n_weights / length, length, (size_t)plan->spectra_per_dump,
        fx8_plan_band_average(plan));
    const double all = fx8_filterbank_overlap(
        weights, n_weights / length, length, MANY_SPECTRA, axes->n_kept);
    free(weights);
    *products_per_cell =
        (double)plan->spectra_per_dump * (double)plan->channel_average / cell;
    *inflation = all / cell;
    return FX8_OK;
}

enum fx8_status fx8_look_open(const struct fx8_plan *plan,
                              const struct fx8_axes *axes,
                              const struct fx8_product *products,
                              const struct fx8_operations *operations,
                              fx8_quicklook_look *on_device,
                              struct fx8_look **look, struct fx8_error *error)
{
    *look = NULL;
    void *memory;
    enum fx8_status status =
        fx8_allocate(1, sizeof **look, "quick-look", &memory, error);
    if (status != FX8_OK)
        return status;
    struct fx8_look *new = memory;
    struct fx8_quicklook_plan shape = shape_of(plan, axes);
    struct fx8_array arrays[N_ARRAYS];
    shape.products = products;
    shape.functions = operations->functions;
    shape.half = &operations->half;
    shape.is_on_device = on_device != NULL;
    new->on_device = on_device;
    list_arrays(&shape, &new->dump, arrays);
    status = find_overlap(plan, axes, &shape.products_per_cell, &new->inflation,
                          error);
    if (status == FX8_OK)
        status = fx8_allocate_arrays(arrays, N_ARRAYS, "quick-look", error);
    if (status == FX8_OK)
        status = fx8_quicklook_open(&shape, &new->quicklook, error);
    if (status != FX8_OK) {
        fx8_look_close(&new);
        return status;
    }
    *look = new;
    return FX8_OK;
}

enum fx8_status fx8_look_process(struct fx8_look *look,
                                 struct fx8_engine *engine,
                                 const struct fx8_result *visibilities,
                                 const float *gain,
                                 struct fx8_quicklook_dump *dump,
                                 struct fx8_error *error)
{
    *dump = look->dump;
    if (look->on_device != NULL)
        return fx8_quicklook_process_on(look->quicklook, look->on_device,
                                        engine, visibilities, gain, dump,
                                        error);
    fx8_quicklook_process(look->quicklook, visibilities, gain, dump);
    return FX8_OK;
}

void fx8_look_report(const struct fx8_look *look,
                     struct fx8_quicklook_counts *counts,
                     struct fx8_quicklook_differences *differences)
{
    fx8_quicklook_report(look->quicklook, counts, differences);
}

void fx8_look_averages(const struct fx8_look *look,
                       struct fx8_quicklook_average *averages)
{
    fx8_quicklook_averages(look->quicklook, look->inflation, averages);
}

void fx8_look_close(struct fx8_look **look)
{
    struct fx8_look *old = *look;
    if (old == NULL)
        return;
    fx8_quicklook_close(&old->quicklook);
    free(old->dump.coherence);
    free(old->dump.amplitude);
    free(old->dump.phase);
    free(old->dump.spectra_db);
    free(old);
    *look = NULL;
}
