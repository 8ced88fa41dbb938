/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/antennas.h"
#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/try.h"
#include "config/supply.h"

const char *const fx8_supply_keys[] = {
    "observation.sample_rate_hz",
    "observation.dc_frequency_hz",
    "observation.start_time_utc",
    "observation.telescope",
    "observation.instrument",
    "observation.object",
    "input.sideband",
    "array.latitude_deg",
    "array.longitude_deg",
    "array.altitude_m",
    "array.positions",
    NULL,
};

struct warner {
    fx8_supply_warn *warn;
    void *context;
};

static void FX8_PRINTF(2, 3)
    warn(const struct warner *to, const char *format, ...)
{
    char text[FX8_TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    to->warn(to->context, text);
}

/* --- single values -------------------------------------------------------- */

static void supply_real(const struct warner *to, const char *key, double given,
                        double *recorded)
{
    if (!isfinite(given))
        return;
    if (isfinite(*recorded) && *recorded != given)
        warn(to, "%s: %.12g wins over %.12g recorded", key, given, *recorded);
    *recorded = given;
}

static void supply_text(const struct warner *to, const char *key,
                        const char *given, char recorded[FX8_TEXT_SIZE])
{
    if (given[0] == '\0')
        return;
    if (recorded[0] != '\0' && strcmp(given, recorded) != 0)
        warn(to, "%s: %.60s wins over %.60s recorded", key, given, recorded);
    snprintf(recorded, FX8_TEXT_SIZE, "%s", given);
}

static void supply_rate(const struct warner *to, struct fx8_rate given,
                        struct fx8_rate *recorded)
{
    if (given.numerator_hz <= 0)
        return;
    if (recorded->numerator_hz > 0 &&
        (recorded->numerator_hz != given.numerator_hz ||
         recorded->denominator != given.denominator))
        warn(to, "observation.sample_rate_hz: %.12g wins over %.12g recorded",
             fx8_rate_hz(given), fx8_rate_hz(*recorded));
    *recorded = given;
}

static void supply_start(const struct warner *to,
                         const struct fx8_observation *given,
                         struct fx8_observation *recorded)
{
    char won[FX8_NUMBER_TEXT_SIZE], lost[FX8_NUMBER_TEXT_SIZE];
    const struct fx8_time time = given->start_time, was = recorded->start_time;
    if (!given->has_start_time)
        return;
    fx8_number_format_time(time, won);
    fx8_number_format_time(was, lost);
    if (recorded->has_start_time &&
        (was.unix_s != time.unix_s || was.picosecond != time.picosecond))
        warn(to, "observation.start_time_utc: %s wins over %s recorded", won,
             lost);
    recorded->start_time = time;
    recorded->has_start_time = true;
}

static void supply_sideband(const struct warner *to, enum fx8_sideband given,
                            enum fx8_sideband *recorded)
{
    static const char *const names[] = {
        [FX8_SIDEBAND_UPPER] = "upper", [FX8_SIDEBAND_LOWER] = "lower"};
    if (given == FX8_SIDEBAND_UNKNOWN)
        return;
    if (*recorded != FX8_SIDEBAND_UNKNOWN && *recorded != given)
        warn(to, "input.sideband: %s wins over %s recorded", names[given],
             names[*recorded]);
    *recorded = given;
}

/* --- the table of antennas ------------------------------------------------ */

bool fx8_supply_has_table(const struct fx8_settings *settings)
{
    const char *path = settings->array.positions;
    return path != NULL && path[0] != '\0' && strcmp(path, "none") != 0;
}

/* Whether the recording numbers this antenna differently, with a warning: the
 * rows may be in another order. */
static bool is_renumbered(const struct warner *to,
                          const struct fx8_antenna *given,
                          const struct fx8_observation *recorded)
{
    const struct fx8_antenna *was =
        fx8_observation_antenna(recorded, given->position);
    if (was == NULL || was->number == given->number)
        return false;
    warn(to,
         "array.positions: antenna %lld of the table is at position %zu, where "
         "the recording has antenna %lld: sort the rows, or add a column input",
         (long long)given->number, given->position, (long long)was->number);
    return true;
}

/* Whether the recording calls an antenna of this number differently, with a
 * warning. */
static bool is_renamed(const struct warner *to, const struct fx8_antenna *given,
                       const struct fx8_observation *recorded)
{
    for (size_t i = 0; i < recorded->n_table; i++) {
        const struct fx8_antenna *was = &recorded->antennas[i];
        if (was->number != given->number || was->name[0] == '\0' ||
            strcmp(was->name, given->name) == 0)
            continue;
        warn(to, "array.positions: antenna %lld: %s wins over %s recorded",
             (long long)given->number, given->name, was->name);
        return true;
    }
    return false;
}

/* The recorded cable delays of the polarisations for which the table gives
 * none.  Returns whether a given delay differs from one recorded, 0 meaning
 * none; `has_warned`: without a warning. */
static bool supply_delays(const struct warner *to,
                          const struct fx8_antennas_given *has,
                          const struct fx8_observation *recorded,
                          bool has_warned, struct fx8_antenna *given)
{
    const struct fx8_antenna *was =
        fx8_observation_antenna(recorded, given->position);
    for (size_t p = 0; p < FX8_MAX_POLARIZATIONS && was != NULL; p++) {
        const double recorded_s = was->cable_delay_s[p];
        double *delay_s = &given->cable_delay_s[p];
        if (!has->cable_delay[p])
            *delay_s = recorded_s;
        if (has_warned || recorded_s == 0.0 || *delay_s == recorded_s)
            continue;
        warn(to,
             "array.positions: antenna %lld: cable delay of %c %.12g ns wins "
             "over %.12g ns recorded",
             (long long)given->number, "XY"[p], *delay_s * 1e9,
             recorded_s * 1e9);
        has_warned = true;
    }
    return has_warned;
}

static enum fx8_status supply_table(const struct warner *to, const char *path,
                                    struct fx8_observation *recorded,
                                    struct fx8_error *error)
{
    struct fx8_antenna *given;
    struct fx8_antennas_given has;
    size_t n, n_surplus = 0;
    FX8_TRY(fx8_antennas_load(path, &given, &n, &has, error));
    /* one warning of a kind will do */
    for (size_t i = 0; i < n && !is_renumbered(to, &given[i], recorded);)
        i++;
    for (size_t i = 0;
         i < n && has.name && !is_renamed(to, &given[i], recorded);)
        i++;
    bool has_warned = false;
    for (size_t i = 0; i < n; i++)
        has_warned = supply_delays(to, &has, recorded, has_warned, &given[i]);
    for (size_t i = 0; i < n; i++)
        n_surplus += given[i].position >= recorded->n_antennas;
    if (n_surplus > 0)
        warn(to,
             "array.positions: %zu of %zu rows ignored: the recording has %zu "
             "%s",
             n_surplus, n, recorded->n_antennas,
             FX8_NOUN(recorded->n_antennas, "antenna", "antennas"));
    free(recorded->antennas);
    recorded->antennas = given;
    recorded->n_table = n;
    return FX8_OK;
}

/* --- all of them ---------------------------------------------------------- */

enum fx8_status fx8_supply(const struct fx8_settings *settings,
                           struct fx8_observation *observation,
                           fx8_supply_warn *receiver, void *context,
                           struct fx8_error *error)
{
    const struct warner to = {receiver, context};
    const struct fx8_observation *given = &settings->observation;
    struct fx8_observation *o = observation;
    supply_rate(&to, given->sample_rate, &o->sample_rate);
    supply_real(&to, "observation.dc_frequency_hz", given->dc_frequency_hz,
                &o->dc_frequency_hz);
    supply_start(&to, given, o);
    supply_text(&to, "observation.telescope", given->telescope, o->telescope);
    supply_text(&to, "observation.instrument", given->instrument,
                o->instrument);
    supply_text(&to, "observation.object", given->object, o->object);
    supply_sideband(&to, given->sideband, &o->sideband);
    supply_real(&to, "array.latitude_deg", given->site.latitude_deg,
                &o->site.latitude_deg);
    supply_real(&to, "array.longitude_deg", given->site.longitude_deg,
                &o->site.longitude_deg);
    supply_real(&to, "array.altitude_m", given->site.altitude_m,
                &o->site.altitude_m);
    return fx8_supply_has_table(settings)
               ? supply_table(&to, settings->array.positions, o, error)
               : FX8_OK;
}

/* --- the range ------------------------------------------------------------ */

/* A duration in samples, to the nearest; -1 if it exceeds 2^62. */
static int64_t to_samples(double duration_s, struct fx8_rate rate)
{
    const long double samples = (long double)duration_s *
                                (long double)rate.numerator_hz /
                                (long double)rate.denominator;
    return samples < 0x1p62L ? (int64_t)roundl(samples) : -1;
}

enum fx8_status fx8_supply_range(const struct fx8_settings *settings,
                                 const struct fx8_observation *observation,
                                 const char *path, int64_t *first_sample,
                                 int64_t *n_samples, fx8_supply_warn *receiver,
                                 void *context, struct fx8_error *error)
{
    const double start_s = settings->input.start_s;
    const double duration_s = settings->input.duration_s;
    const struct fx8_rate rate = observation->sample_rate;
    *first_sample = 0;
    *n_samples = observation->n_samples;
    if (start_s == 0.0 && isinf(duration_s))
        return FX8_OK;
    if (rate.numerator_hz <= 0)
        return fx8_settings_fail(
            settings, start_s == 0.0 ? "input.duration_s" : "input.start_s",
            error, "needs observation.sample_rate_hz, which is not recorded");
    const double rate_hz = fx8_rate_hz(rate);
    *first_sample = to_samples(start_s, rate);
    if (*first_sample < 0 || *first_sample >= observation->n_samples)
        return fx8_settings_fail(settings, "input.start_s", error,
                                 "expected less than %.9g s, the length of %s",
                                 (double)observation->n_samples / rate_hz,
                                 path);
    *n_samples -= *first_sample;
    const int64_t wanted =
        isinf(duration_s) ? *n_samples : to_samples(duration_s, rate);
    if (wanted == 0)
        return fx8_settings_fail(settings, "input.duration_s", error,
                                 "expected at least %.9g s, one sample",
                                 1.0 / rate_hz);
    const struct warner to = {receiver, context};
    if (wanted < 0 || wanted > *n_samples)
        warn(&to, "input.duration_s: the recording ends %.9g s after start_s",
             (double)*n_samples / rate_hz);
    else
        *n_samples = wanted;
    return FX8_OK;
}
