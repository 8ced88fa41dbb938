/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/base/json.h"
#include "config/base/number.h"
#include "config/base/try.h"
#include "io/h5/h5.h"
#include "io/tart/config.h"

/* Known members. */
enum member {
    FREQUENCY,
    OSCILLATOR,
    BASEBAND,
    RATE,
    LATITUDE,
    LONGITUDE,
    ALTITUDE,
    N_ANTENNA,
    NAME,
    N_MEMBERS
};

static const char *const names[N_MEMBERS] = {"frequency",
                                             "L0_frequency",
                                             "baseband_frequency",
                                             "sampling_frequency",
                                             "lat",
                                             "lon",
                                             "alt",
                                             "num_antenna",
                                             "name"};

/* Their values as text. */
struct members {
    char value[N_MEMBERS][FX8_TEXT_SIZE];
};

static enum fx8_status read_members(const char *path, const char *json,
                                    struct members *members,
                                    struct fx8_error *error)
{
    char where[FX8_ERROR_MESSAGE_SIZE];
    json_t *config = NULL;
    snprintf(where, sizeof where, "%s: config", path);
    const enum fx8_status status =
        fx8_json_parse(where, json, FX8_ERR_INPUT, &config, error);
    for (int i = 0; i < N_MEMBERS && status == FX8_OK; i++)
        fx8_json_show(json_object_get(config, names[i]), members->value[i],
                      FX8_TEXT_SIZE);
    json_decref(config);
    return status;
}

/* Read a number between limits; `otherwise` if absent (NaN: required). */
static enum fx8_status get_real(const char *path, const struct members *members,
                                enum member member, double least, double most,
                                double otherwise, double *value,
                                struct fx8_error *error)
{
    const char *text = members->value[member];
    if (text[0] == '\0' && !isnan(otherwise)) {
        *value = otherwise;
        return FX8_OK;
    }
    if (fx8_number_real(text, value) && *value >= least && *value <= most)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: config: %s: %s: expected a number from %g to %g", path,
                    names[member], text[0] != '\0' ? text : "missing", least,
                    most);
}

/* Find the sky frequency of baseband zero: note 1 of the header. */
static enum fx8_status get_band(const char *path, const struct members *members,
                                struct fx8_observation *observation,
                                struct fx8_error *error)
{
    const double highest_hz = 1e13;
    const double rate_hz = fx8_rate_hz(observation->sample_rate);
    double frequency_hz = 0;
    double baseband_hz = 0;
    double oscillator_hz = 0;
    FX8_TRY(get_real(path, members, FREQUENCY, rate_hz / 2, highest_hz, NAN,
                     &frequency_hz, error));
    FX8_TRY(get_real(path, members, BASEBAND, 0, rate_hz / 2, rate_hz / 4,
                     &baseband_hz, error));
    FX8_TRY(get_real(path, members, OSCILLATOR, 0, highest_hz,
                     frequency_hz - baseband_hz, &oscillator_hz, error));
    /* all numbers are far below 2^53, with few decimals */
    const double tolerance_hz = 1e-3;
    if (fabs(fabs(frequency_hz - oscillator_hz) - baseband_hz) > tolerance_hz)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: config: L0_frequency %.3f: expected frequency "
                        "%.3f -/+ baseband_frequency %.3f",
                        path, oscillator_hz, frequency_hz, baseband_hz);
    observation->dc_frequency_hz = oscillator_hz;
    observation->sideband =
        oscillator_hz <= frequency_hz ? FX8_SIDEBAND_UPPER : FX8_SIDEBAND_LOWER;
    return FX8_OK;
}

enum fx8_status fx8_tart_config(const char *path, const char *json,
                                struct fx8_observation *observation,
                                int64_t *n_antennas, struct fx8_error *error)
{
    struct members members;
    FX8_TRY(read_members(path, json, &members, error));
    struct fx8_rate rate = {0, 1};
    const char *text = members.value[RATE];
    if (!fx8_number_fraction(text, &rate.numerator_hz, &rate.denominator) ||
        rate.numerator_hz == 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: config: sampling_frequency: %s: expected a rate "
                        "in Hz",
                        path, text[0] != '\0' ? text : "missing");
    observation->sample_rate = fx8_rate_reduced(rate);
    FX8_TRY(get_band(path, &members, observation, error));
    FX8_TRY(get_real(path, &members, LATITUDE, -90, 90, NAN,
                     &observation->site.latitude_deg, error));
    FX8_TRY(get_real(path, &members, LONGITUDE, -360, 360, NAN,
                     &observation->site.longitude_deg, error));
    FX8_TRY(get_real(path, &members, ALTITUDE, -1e4, 1e5, NAN,
                     &observation->site.altitude_m, error));
    double count = 0;
    FX8_TRY(get_real(path, &members, N_ANTENNA, 0, 65536, 0, &count, error));
    *n_antennas = (int64_t)count;
    snprintf(observation->telescope, FX8_TEXT_SIZE, "%s",
             members.value[NAME][0] != '\0' ? members.value[NAME] : "TART");
    fx8_h5_printable(observation->telescope);
    return FX8_OK;
}
