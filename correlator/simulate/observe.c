/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/antennas.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/simulate/simulator.h"

/* positions = none: as many antennas as [array] antennas needs, 1 m apart. */
static enum fx8_status count_antennas(const struct fx8_settings *settings,
                                      struct fx8_observation *observation,
                                      struct fx8_error *error)
{
    const struct fx8_number_list *list = &settings->array.antennas;
    if (list->is_all)
        return fx8_settings_fail(settings, "array.antennas", error,
                                 "expected a number where positions = none");
    size_t n = list->is_count ? list->count : 0;
    for (size_t i = 0; i < list->count && list->items != NULL; i++)
        if (list->items[i] >= 0 && (uint64_t)list->items[i] >= n)
            n = (size_t)list->items[i] + 1;
    observation->n_antennas = n;
    return FX8_OK;
}

/* The recording holds every antenna of the table, in order of position. */
static enum fx8_status load_antennas(const struct fx8_settings *settings,
                                     struct fx8_observation *observation,
                                     struct fx8_error *error)
{
    const char *path = settings->array.positions;
    if (strcmp(path, "none") == 0)
        return count_antennas(settings, observation, error);
    FX8_AUTO_FREE struct fx8_antenna *rows = NULL;
    size_t n;
    FX8_TRY(fx8_antennas_load(path, &rows, &n, NULL, error));
    FX8_TRY(fx8_allocate(n, sizeof *rows, "antennas", &observation->antennas,
                         error));
    observation->n_antennas = observation->n_table = n;
    for (size_t i = 0; i < n; i++) {
        /* positions are distinct, so below n they are complete */
        if (rows[i].position >= n)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s: input: %zu: expected 0 to %zu, each once: "
                            "a simulated recording has no gaps",
                            path, rows[i].position, n - 1);
        observation->antennas[rows[i].position] = rows[i];
    }
    return FX8_OK;
}

enum fx8_status fx8_simulator_observe(const struct fx8_settings *settings,
                                      struct fx8_observation *observation,
                                      struct fx8_error *error)
{
    *observation = settings->observation;
    FX8_TRY(fx8_settings_complete(settings, observation, NULL, error));
    const double n_samples =
        settings->simulate.duration_s * fx8_rate_hz(observation->sample_rate);
    if (!(n_samples >= 0.5 && n_samples < 0x1p62))
        return fx8_settings_fail(settings, "simulate.duration_s", error,
                                 "%.6g samples: expected at least one",
                                 n_samples);
    observation->is_complex = settings->simulate.samples == FX8_SAMPLES_COMPLEX;
    observation->n_polarizations = settings->array.polarizations == 0
                                       ? 2
                                       : (size_t)settings->array.polarizations;
    observation->n_samples = llround(n_samples);
    if (observation->sideband == FX8_SIDEBAND_UNKNOWN)
        observation->sideband = FX8_SIDEBAND_UPPER;
    return load_antennas(settings, observation, error);
}
