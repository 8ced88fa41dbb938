/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/antennas.h"
#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/supply.h"
#include "correlator/run/job_private.h"

/* Antennas closer than this count as coincident: UVH5 readers refuse cross
 * baselines shorter than 1 mm. */
#define LEAST_DISTANCE_M 1e-3

void fx8_job_warn(struct fx8_job *job, const char *format, ...)
{
    if (job->n_warnings == FX8_JOB_WARNINGS)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(job->warnings[job->n_warnings++], FX8_TEXT_SIZE, format,
              arguments);
    va_end(arguments);
}

/* Positions in the recording to correlate, in order. */
static enum fx8_status list_positions(struct fx8_job *job, size_t **positions,
                                      struct fx8_error *error)
{
    const struct fx8_number_list *list = &job->settings->array.antennas;
    const size_t limit = job->observation.n_antennas;
    const size_t n = list->is_all ? limit : list->count;
    job->plan.n_antennas = n;
    if (list->is_count && n > limit)
        return fx8_settings_fail(job->settings, "array.antennas", error,
                                 "expected at most the %zu %s of %s",
                                 FX8_COUNTED(limit, "antenna", "antennas"),
                                 job->path);
    if (n > FX8_MAX_ANTENNAS)
        return fx8_settings_fail(job->settings, "array.antennas", error,
                                 "expected at most %d of the %zu antennas of "
                                 "%s",
                                 FX8_MAX_ANTENNAS, limit, job->path);
    FX8_TRY(fx8_allocate(n, sizeof **positions, "antennas", positions, error));
    for (size_t i = 0; i < n; i++) {
        /* a list has no number twice */
        const size_t position =
            list->items == NULL ? i : (size_t)list->items[i];
        if (position >= limit)
            return fx8_settings_fail(
                job->settings, "array.antennas", error,
                "position %zu: expected 0 to %zu, the antennas of %s", position,
                limit - 1, job->path);
        (*positions)[i] = position;
    }
    return FX8_OK;
}

/* The row for a position of the recording, checked; `source` is its table. */
static enum fx8_status place_antenna(const struct fx8_observation *observation,
                                     const char *source, size_t position,
                                     struct fx8_antenna *antenna,
                                     struct fx8_error *error)
{
    const struct fx8_antenna *row =
        fx8_observation_antenna(observation, position);
    if (row == NULL)
        return fx8_fail(
            error, FX8_ERR_USAGE,
            "%s: %zu %s: expected one for the antenna at "
            "position %zu of the recording",
            source, FX8_COUNTED(observation->n_table, "row", "rows"), position);
    *antenna = *row;
    for (size_t axis = 0; axis < 3; axis++)
        if (!isfinite(row->enu_m[axis]))
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s: antenna %lld: position %g m: expected a "
                            "finite number, or another table or none as "
                            "array.positions",
                            source, (long long)row->number, row->enu_m[axis]);
    char where[FX8_ERROR_MESSAGE_SIZE];
    snprintf(where, sizeof where, "%s: antennas: row %zu", source,
             (size_t)(row - observation->antennas));
    return fx8_antennas_check_distance(where, row->enu_m, error);
}

/* Antenna numbers must differ, and no two antennas may coincide. */
static enum fx8_status check_distinct(const struct fx8_antenna *antennas,
                                      size_t n, const char *source,
                                      struct fx8_error *error)
{
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            if (antennas[a].number == antennas[b].number)
                return fx8_fail(error, FX8_ERR_USAGE,
                                "%s: antenna number %lld occurs twice: "
                                "expected each once",
                                source, (long long)antennas[a].number);
            const double *p = antennas[a].enu_m, *q = antennas[b].enu_m;
            if (hypot(hypot(p[0] - q[0], p[1] - q[1]), p[2] - q[2]) <
                LEAST_DISTANCE_M)
                return fx8_fail(error, FX8_ERR_USAGE,
                                "%s: antennas %lld and %lld: less than 1 mm "
                                "apart: expected different places",
                                source, (long long)antennas[a].number,
                                (long long)antennas[b].number);
        }
    return FX8_OK;
}

/* Bench tests: 1 m apart eastward, so that every baseline has a length; cable
 * delays as recorded. */
static void fake_antennas(struct fx8_job *job, const size_t *positions,
                          struct fx8_antenna *antennas)
{
    for (size_t i = 0; i < job->plan.n_antennas; i++) {
        struct fx8_antenna *antenna = &antennas[i];
        const struct fx8_antenna *row =
            fx8_observation_antenna(&job->observation, positions[i]);
        if (row != NULL) /* cables need no position */
            memcpy(antenna->cable_delay_s, row->cable_delay_s,
                   sizeof row->cable_delay_s);
        antenna->number = (int64_t)positions[i];
        antenna->enu_m[0] = (double)i;
        antenna->position = positions[i];
        snprintf(antenna->name, sizeof antenna->name, "ANT%03zu", positions[i]);
    }
    job->positions_are_faked = true;
    fx8_job_warn(job, "array.positions: none: antennas are written 1 m apart "
                      "eastward (keyword POSFAKE)");
    struct fx8_site *site = &job->observation.site;
    if (isfinite(site->latitude_deg))
        return; /* then all three are known */
    *site = (struct fx8_site){0.0, 0.0, 0.0};
    fx8_job_warn(job, "array.latitude_deg: not given: the site is written as "
                      "latitude 0, longitude 0, altitude 0");
}

/* Fill in the rows of the antennas to correlate from the table. */
static enum fx8_status choose_rows(const struct fx8_job *job,
                                   const size_t *positions,
                                   struct fx8_antenna *chosen,
                                   struct fx8_error *error)
{
    const struct fx8_observation *observation = &job->observation;
    const size_t n = job->plan.n_antennas;
    const char *source = fx8_supply_has_table(job->settings)
                             ? job->settings->array.positions
                             : job->path;
    for (size_t i = 0; i < n; i++)
        FX8_TRY(place_antenna(observation, source, positions[i], &chosen[i],
                              error));
    return check_distinct(chosen, n, source, error);
}

static enum fx8_status place_antennas(struct fx8_job *job,
                                      const size_t *positions,
                                      struct fx8_error *error)
{
    struct fx8_observation *observation = &job->observation;
    const size_t n = job->plan.n_antennas;
    const size_t n_recorded = observation->n_antennas;
    FX8_AUTO_FREE struct fx8_antenna *chosen = NULL, *table = NULL;
    FX8_TRY(fx8_allocate(n, sizeof *chosen, "antennas", &chosen, error));
    if (strcmp(job->settings->array.positions, "none") == 0) {
        FX8_TRY(
            fx8_allocate(n_recorded, sizeof *table, "antennas", &table, error));
        for (size_t a = 0; a < n_recorded; a++)
            table[a].number = (int64_t)a;
        fake_antennas(job, positions, chosen);
        FX8_TRY(fx8_job_load_gains(job, table, n_recorded, chosen, error));
    } else {
        FX8_TRY(choose_rows(job, positions, chosen, error));
        FX8_TRY(fx8_job_load_gains(job, observation->antennas,
                                   observation->n_table, chosen, error));
    }
    free(observation->antennas);
    observation->antennas = chosen;
    observation->n_table = n;
    chosen = NULL;
    return FX8_OK;
}

/* [array] flag_antennas names antennas by number. */
static enum fx8_status flag_antennas(struct fx8_job *job,
                                     struct fx8_error *error)
{
    const struct fx8_number_list *list = &job->settings->array.flag_antennas;
    for (size_t i = 0; i < list->count && list->items != NULL; i++) {
        bool is_found = false;
        for (size_t a = 0; a < job->plan.n_antennas; a++)
            if (job->observation.antennas[a].number == list->items[i]) {
                job->flag_antenna[a] = 1;
                is_found = true;
            }
        if (!is_found)
            return fx8_settings_fail(job->settings, "array.flag_antennas",
                                     error,
                                     "number %lld: expected an antenna that "
                                     "is correlated",
                                     (long long)list->items[i]);
    }
    return FX8_OK;
}

static enum fx8_status choose_inputs(struct fx8_job *job,
                                     const size_t *positions,
                                     struct fx8_error *error)
{
    const size_t n_polarizations = job->plan.n_polarizations;
    const size_t per_band = job->plan.n_antennas * n_polarizations;
    const bool is_swapped =
        job->settings->input.y_first && job->observation.n_polarizations == 2;
    job->n_inputs = fx8_product(job->plan.n_bands, per_band, 1, 1);
    FX8_TRY(fx8_allocate(job->n_inputs, sizeof *job->inputs, "inputs",
                         &job->inputs, error));
    for (size_t input = 0; input < job->n_inputs; input++) {
        const size_t feed = input % n_polarizations; /* 0 = X, 1 = Y */
        job->inputs[input] = (struct fx8_input_position){
            .antenna = positions[input % per_band / n_polarizations],
            .polarization = is_swapped ? 1 - feed : feed,
            .band = input / per_band,
        };
    }
    return FX8_OK;
}

enum fx8_status fx8_job_choose_antennas(struct fx8_job *job,
                                        struct fx8_error *error)
{
    FX8_AUTO_FREE size_t *positions = NULL;
    FX8_TRY(list_positions(job, &positions, error));
    FX8_TRY(fx8_allocate(job->plan.n_antennas, sizeof *job->flag_antenna,
                         "antenna flags", &job->flag_antenna, error));
    job->plan.flag_antenna = job->flag_antenna;
    FX8_TRY(place_antennas(job, positions, error));
    FX8_TRY(choose_inputs(job, positions, error));
    return flag_antennas(job, error);
}
