/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that a job needs and neither the configuration nor the recording gives:
 * one message lists them all.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/keys.h"
#include "config/settings.h"

/* Keys that are missing, for a message. */
struct lack {
    char keys[FX8_ERROR_MESSAGE_SIZE];
    size_t used;
};

static void add_lack(struct lack *lack, const char *section, const char *name,
                     const char *expected)
{
    const size_t room = sizeof lack->keys - lack->used;
    const int n = snprintf(lack->keys + lack->used, room, "%s%s.%s (%s)",
                           lack->used > 0 ? ", " : "", section, name, expected);
    lack->used += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

static void add_required_keys(struct lack *lack,
                              const struct fx8_settings *settings)
{
    for (size_t i = 0; i < fx8_keys_count; i++) {
        const struct fx8_key *key = &fx8_keys[i];
        char expected[FX8_KEY_EXPECTED_SIZE];
        if (!fx8_key_is_missing(key, settings))
            continue;
        fx8_key_describe(key, expected);
        add_lack(lack, key->section, key->name, expected);
    }
}

/* Keys that the recording may give instead.  All of the site is needed, or none
 * of it with positions = none. */
static void add_recorded_keys(struct lack *lack,
                              const struct fx8_settings *settings,
                              const struct fx8_observation *o)
{
    const struct fx8_site *site = &o->site;
    const bool has_no_place = !isfinite(site->latitude_deg) &&
                              !isfinite(site->longitude_deg) &&
                              !isfinite(site->altitude_m) &&
                              strcmp(settings->array.positions, "none") == 0;
    const struct {
        bool is_known;
        const char *section, *name, *expected;
    } needed[] = {
        {o->sample_rate.numerator_hz > 0, "observation", "sample_rate_hz",
         "the sampling rate"},
        {isfinite(o->dc_frequency_hz), "observation", "dc_frequency_hz",
         "the sky frequency of baseband zero"},
        {o->has_start_time, "observation", "start_time_utc",
         "the instant of the first sample"},
        {o->n_table > 0 || *settings->array.positions != '\0', "array",
         "positions", "a table of antennas, or none"},
        {isfinite(site->latitude_deg) || has_no_place, "array", "latitude_deg",
         "of the site"},
        {isfinite(site->longitude_deg) || has_no_place, "array",
         "longitude_deg", "of the site"},
        {isfinite(site->altitude_m) || has_no_place, "array", "altitude_m",
         "of the site"},
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i].is_known)
            add_lack(lack, needed[i].section, needed[i].name,
                     needed[i].expected);
}

enum fx8_status fx8_settings_complete(const struct fx8_settings *settings,
                                      const struct fx8_observation *observation,
                                      const char *recording,
                                      struct fx8_error *error)
{
    struct lack lack = {.used = 0};
    add_required_keys(&lack, settings);
    const size_t n_required = lack.used;
    if (observation != NULL)
        add_recorded_keys(&lack, settings, observation);
    if (lack.used == 0)
        return FX8_OK;
    const bool is_recorded = recording != NULL && lack.used > n_required;
    return fx8_fail(error, FX8_ERR_USAGE, "%s: missing%s%s: %s",
                    settings->path != NULL ? settings->path : "configuration",
                    is_recorded ? ", also in " : "",
                    is_recorded ? recording : "", lack.keys);
}
