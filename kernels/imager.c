/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/engine_trial.h"
#include "kernels/imager.h"
#include "kernels/plugin.h"

/* --- a trial ---------------------------------------------------------------
 */

enum {
    MOST_ANTENNAS = 67, /* more have the same kernel; fills no tile */
    CHANNELS = 2,
    DIRECTIONS = 9 * FX8_IMAGE_LANES,
    N_DIRECTIONS = DIRECTIONS - 3 /* fills neither block nor lanes */
};

/* A small image. */
struct trial {
    struct fx8_imager_plan plan;
    double *turns;
    struct fx8_cf32 *matrices;
    double directions[3 * DIRECTIONS];
    float wanted[N_DIRECTIONS], got[N_DIRECTIONS];
};

/* The next number of a generator (Knuth, MMIX), in [-1, 1). */
static double next_random(uint64_t *state)
{
    *state =
        *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 33) * 0x1p-30 - 1.0;
}

static void make_task(struct trial *trial)
{
    const size_t n = trial->plan.n_antennas;
    uint64_t state = 1;
    for (size_t k = 0; k < 3 * n * CHANNELS; k++)
        trial->turns[k] = 1000.0 * next_random(&state);
    for (size_t k = 0; k < 3 * DIRECTIONS; k++)
        trial->directions[k] = next_random(&state);
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t j = 0; j < n; j++)
            for (size_t i = 0; i < j; i++)
                trial->matrices[c * fx8_image_cells(n) +
                                fx8_image_cell(n, i, j)] = (struct fx8_cf32){
                    (float)next_random(&state), (float)next_random(&state)};
}

/* Image the task; also writes the name of the device. */
static enum fx8_status image_task(
    const struct trial *trial, const struct fx8_imager_operations *operations,
    float *values, char name[128], struct fx8_error *error)
{
    struct fx8_imager *imager;
    FX8_TRY(operations->open(&trial->plan, &imager, error));
    const struct fx8_imager_facts *facts = operations->facts(imager);
    snprintf(name, 128, "%s, kernel %s", facts->device, facts->kernel);
    enum fx8_status status =
        operations->set(imager, trial->turns, trial->matrices, error);
    if (status == FX8_OK)
        status = operations->add(imager, N_DIRECTIONS, trial->directions,
                                 values, error);
    operations->close(&imager);
    return status;
}

static enum fx8_status compare(struct trial *trial,
                               const struct fx8_imager_operations *tried,
                               struct fx8_error *error)
{
    char name[128];
    FX8_TRY(image_task(trial, &fx8_imager_cpu, trial->wanted, name, error));
    FX8_TRY(image_task(trial, tried, trial->got, name, error));
    for (size_t k = 0; k < N_DIRECTIONS; k++)
        if (memcmp(&trial->got[k], &trial->wanted[k], sizeof(float)) != 0)
            return fx8_fail(error, FX8_ERR_DEVICE,
                            "%s: device %s: result differs from the CPU's: "
                            "direction %zu: %.9g: expected %.9g",
                            tried->name, name, k, (double)trial->got[k],
                            (double)trial->wanted[k]);
    return FX8_OK;
}

static enum fx8_status try_imager(const struct fx8_imager_operations *tried,
                                  const struct fx8_imager_plan *plan,
                                  struct fx8_error *error)
{
    struct trial *trial = NULL;
    const double deadline_s = fx8_engine_trial_deadline();
    const size_t n =
        plan->n_antennas < MOST_ANTENNAS ? plan->n_antennas : MOST_ANTENNAS;
    if (deadline_s <= 0.0)
        return FX8_OK;
    FX8_TRY(fx8_allocate(1, sizeof *trial, "a trial", &trial, error));
    trial->plan = (struct fx8_imager_plan){
        .n_antennas = n,
        .n_channels = CHANNELS,
        .n_threads = 1,
        .deadline_s = deadline_s,
    };
    const struct fx8_array arrays[] = {
        FX8_ITEMS(trial->turns, 3 * n * CHANNELS),
        FX8_ITEMS(trial->matrices, fx8_image_cells(n) * CHANNELS)};
    enum fx8_status status = fx8_allocate_arrays(arrays, 2, "a trial", error);
    if (status == FX8_OK) {
        make_task(trial);
        status = compare(trial, tried, error);
    }
    fx8_free_arrays(arrays, 2);
    free(trial);
    return status;
}

/* --- the choice ------------------------------------------------------------
 */

static enum fx8_status open_cuda(const struct fx8_imager_plan *plan,
                                 struct fx8_imager_found *found,
                                 struct fx8_error *error)
{
    const struct fx8_plugin *plugin;
    FX8_TRY(fx8_plugin_find(&plugin, error));
    FX8_TRY(try_imager(plugin->imagers, plan, error));
    found->operations = plugin->imagers;
    return found->operations->open(plan, &found->imager, error);
}

enum fx8_status fx8_imager_open(enum fx8_backend backend,
                                const struct fx8_imager_plan *plan,
                                struct fx8_imager_found *found,
                                struct fx8_error *error)
{
    *found = (struct fx8_imager_found){.reason = "asked for"};
    if (backend != FX8_BACKEND_CPU) {
        struct fx8_error why;
        const enum fx8_status status = open_cuda(plan, found, &why);
        if (status == FX8_OK && backend == FX8_BACKEND_AUTO)
            snprintf(found->reason, sizeof found->reason, "device %s is usable",
                     found->operations->facts(found->imager)->device);
        if (status == FX8_OK)
            return FX8_OK;
        if (backend == FX8_BACKEND_CUDA)
            return fx8_fail(error, status, "%s", why.message);
        snprintf(found->reason, sizeof found->reason, "%.*s",
                 (int)sizeof found->reason - 1, why.message);
        found->is_spare = status != FX8_ERR_UNSUPPORTED;
    }
    found->operations = &fx8_imager_cpu;
    return found->operations->open(plan, &found->imager, error);
}
