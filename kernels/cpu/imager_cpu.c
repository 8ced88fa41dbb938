/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * imager_cpu.c -- the imager of the CPU: groups of directions on all threads.
 */
#include <stdlib.h>

#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/imager.h"

enum {
    GROUPS = 16, /* of directions that share what they read of a matrix */
    ITEM = GROUPS * FX8_IMAGE_LANES,
    ITEMS = 8 /* per thread that keep it busy */
};

struct fx8_imager {
    struct fx8_imager_plan plan;
    const struct fx8_operations *operations;
    const double *turns;
    const struct fx8_cf32 *matrices;
    float *phasors; /* [thread][n_antennas][2][FX8_IMAGE_LANES] */
    struct fx8_imager_facts facts;
};

/* A call of add(). */
struct job {
    const struct fx8_imager *imager;
    size_t n_directions;
    const double *directions;
    float *values;
};

static void cpu_close(struct fx8_imager **imager)
{
    if (*imager != NULL)
        free((*imager)->phasors);
    free(*imager);
    *imager = NULL;
}

static enum fx8_status cpu_open(const struct fx8_imager_plan *plan,
                                struct fx8_imager **imager,
                                struct fx8_error *error)
{
    struct fx8_imager *i = NULL;
    *imager = NULL;
    FX8_TRY(fx8_allocate(1, sizeof *i, "imager", &i, error));
    i->plan = *plan;
    enum fx8_status status =
        fx8_operations_select("auto", &i->operations, error);
    if (status == FX8_OK)
        status = fx8_allocate(
            fx8_product(plan->n_threads, plan->n_antennas, 2, FX8_IMAGE_LANES),
            sizeof *i->phasors, "imager", &i->phasors, error);
    if (status != FX8_OK) {
        cpu_close(&i);
        return status;
    }
    i->facts =
        (struct fx8_imager_facts){.device = "",
                                  .kernel = i->operations->name,
                                  .n_busy = ITEMS * ITEM * plan->n_threads};
    *imager = i;
    return FX8_OK;
}

static const struct fx8_imager_facts *cpu_facts(const struct fx8_imager *imager)
{
    return &imager->facts;
}

static enum fx8_status cpu_set(struct fx8_imager *imager, const double *turns,
                               const struct fx8_cf32 *matrices,
                               struct fx8_error *error)
{
    (void)error;
    imager->turns = turns;
    imager->matrices = matrices;
    return FX8_OK;
}

static void image_item(void *context, size_t item, size_t thread)
{
    const struct job *job = context;
    const struct fx8_imager *imager = job->imager;
    const size_t n = imager->plan.n_antennas;
    const size_t first = item * ITEM, left = job->n_directions - first;
    const size_t n_directions = left < ITEM ? left : ITEM;
    const double *directions = job->directions + 3 * first;
    float *phasors = imager->phasors + thread * n * 2 * FX8_IMAGE_LANES;
    float sums[ITEM] = {0.0f};
    for (size_t c = 0; c < imager->plan.n_channels; c++) {
        const struct fx8_image_channel channel = {n, imager->turns + 3 * n * c,
                                                  imager->matrices +
                                                      fx8_image_cells(n) * c};
        for (size_t k = 0; k < n_directions; k += FX8_IMAGE_LANES)
            imager->operations->image(&channel, directions + 3 * k, phasors,
                                      sums + k);
    }
    for (size_t k = 0; k < n_directions; k++)
        job->values[first + k] += sums[k];
}

static enum fx8_status cpu_add(struct fx8_imager *imager, size_t n_directions,
                               const double *directions, float *values,
                               struct fx8_error *error)
{
    struct job job = {imager, n_directions, directions, values};
    (void)error;
    fx8_parallel_for((n_directions + ITEM - 1) / ITEM, imager->plan.n_threads,
                     false, image_item, &job);
    return FX8_OK;
}

const struct fx8_imager_operations fx8_imager_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .facts = cpu_facts,
    .set = cpu_set,
    .add = cpu_add,
    .close = cpu_close,
};
