/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>

#include "config/base/json.h"
#include "config/base/number.h"
#include "config/base/try.h"
#include "io/h5/h5.h"
#include "io/tart/config.h"

struct config {
    const char *path; /* of the file, for messages */
    json_t *json;
    struct fx8_error *error;
};

/* A member as text; "" if it is absent. */
static const char *get_text(const struct config *config, const char *name,
                            char text[FX8_TEXT_SIZE])
{
    fx8_json_show(json_object_get(config->json, name), text, FX8_TEXT_SIZE);
    return text;
}

/* Read a number between limits; `otherwise` if absent (NaN: required). */
static enum fx8_status get_real(const struct config *config, const char *name,
                                double least, double most, double otherwise,
                                double *value)
{
    char text[FX8_TEXT_SIZE];
    if (get_text(config, name, text)[0] == '\0' && !isnan(otherwise)) {
        *value = otherwise;
        return FX8_OK;
    }
    if (fx8_number_real(text, value) && *value >= least && *value <= most)
        return FX8_OK;
    return fx8_fail(config->error, FX8_ERR_INPUT,
                    "%s: config: %s: %s: expected a number from %g to %g",
                    config->path, name, text[0] != '\0' ? text : "missing",
                    least, most);
}

/* Find the sky frequency of baseband zero: note 1 of the header. */
static enum fx8_status get_band(const struct config *config,
                                struct fx8_observation *observation)
{
    const double highest_hz = 1e13;
    const double rate_hz = fx8_rate_hz(observation->sample_rate);
    double frequency_hz = 0;
    double baseband_hz = 0;
    double oscillator_hz = 0;
    FX8_TRY(get_real(config, "frequency", rate_hz / 2, highest_hz, NAN,
                     &frequency_hz));
    FX8_TRY(get_real(config, "baseband_frequency", 0, rate_hz / 2, rate_hz / 4,
                     &baseband_hz));
    FX8_TRY(get_real(config, "L0_frequency", 0, highest_hz,
                     frequency_hz - baseband_hz, &oscillator_hz));
    /* all numbers are far below 2^53, with few decimals */
    const double tolerance_hz = 1e-3;
    if (fabs(fabs(frequency_hz - oscillator_hz) - baseband_hz) > tolerance_hz)
        return fx8_fail(config->error, FX8_ERR_INPUT,
                        "%s: config: L0_frequency %.3f: expected frequency "
                        "%.3f -/+ baseband_frequency %.3f",
                        config->path, oscillator_hz, frequency_hz, baseband_hz);
    observation->dc_frequency_hz = oscillator_hz;
    observation->sideband =
        oscillator_hz <= frequency_hz ? FX8_SIDEBAND_UPPER : FX8_SIDEBAND_LOWER;
    return FX8_OK;
}

enum fx8_status fx8_tart_config(const char *path, const char *json,
                                struct fx8_observation *observation,
                                int64_t *n_antennas, struct fx8_error *error)
{
    char where[FX8_ERROR_MESSAGE_SIZE], text[FX8_TEXT_SIZE];
    FX8_AUTO(fx8_json_release) json_t *object = NULL;
    snprintf(where, sizeof where, "%s: config", path);
    FX8_TRY(fx8_json_parse(where, json, FX8_ERR_INPUT, &object, error));
    const struct config config = {path, object, error};
    struct fx8_rate rate = {0, 1};
    get_text(&config, "sampling_frequency", text);
    if (!fx8_number_fraction(text, &rate.numerator_hz, &rate.denominator) ||
        rate.numerator_hz == 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: config: sampling_frequency: %s: expected a rate "
                        "in Hz",
                        path, text[0] != '\0' ? text : "missing");
    observation->sample_rate = fx8_rate_reduced(rate);
    FX8_TRY(get_band(&config, observation));
    FX8_TRY(get_real(&config, "lat", -90, 90, NAN,
                     &observation->site.latitude_deg));
    FX8_TRY(get_real(&config, "lon", -360, 360, NAN,
                     &observation->site.longitude_deg));
    FX8_TRY(get_real(&config, "alt", -1e4, 1e5, NAN,
                     &observation->site.altitude_m));
    double count = 0;
    FX8_TRY(get_real(&config, "num_antenna", 0, 65536, 0, &count));
    *n_antennas = (int64_t)count;
    snprintf(observation->telescope, FX8_TEXT_SIZE, "%s",
             get_text(&config, "name", text)[0] != '\0' ? text : "TART");
    fx8_h5_printable(observation->telescope);
    return FX8_OK;
}
