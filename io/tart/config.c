/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "config/base/number.h"
#include "io/h5/h5.h"
#include "io/tart/config.h"

/* Members that we know; each is kept as the text of its value. */
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

/* Room for the text of any value we use. */
struct members {
    char value[N_MEMBERS][FX8_TEXT_SIZE];
};

/* Deepest nesting that is skipped. */
#define MAX_DEPTH 32

static void skip_blanks(const char **at)
{
    *at += strspn(*at, " \t\r\n");
}

/* A string, its escapes kept as they stand (no name we look for has any);
 * cut at the size of `text`, which may be NULL. */
static bool scan_string(const char **at, char *text, size_t size)
{
    if (**at != '"')
        return false;
    size_t length = 0;
    for ((*at)++; **at != '"'; (*at)++) {
        if ((unsigned char)**at < 0x20)
            return false; /* the end of the text among them */
        if (**at == '\\' && (unsigned char)*++*at < 0x20)
            return false;
        if (text != NULL && length + 1 < size)
            text[length++] = **at;
    }
    (*at)++;
    if (text != NULL)
        text[length] = '\0';
    return true;
}

/* A number or a word (true, false, null), as text. */
static bool scan_word(const char **at, char *text, size_t size)
{
    const size_t length = strspn(*at, "+-.0123456789abcdefghijklmnopqrstuvwxyz"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (length == 0 || length >= FX8_TEXT_SIZE)
        return false;
    if (text != NULL)
        snprintf(text, size, "%.*s", (int)length, *at);
    *at += length;
    return true;
}

/* Skip an array or object: strings whole, brackets counted and matched. */
static bool skip_nest(const char **at)
{
    char open[MAX_DEPTH];
    int depth = 0;
    do {
        const char c = **at;
        if (c == '[' || c == '{') {
            if (depth == MAX_DEPTH)
                return false;
            open[depth++] = c;
            (*at)++;
        } else if (c == ']' || c == '}') {
            if (open[--depth] != (c == ']' ? '[' : '{'))
                return false;
            (*at)++;
        } else if (c == '"') {
            if (!scan_string(at, NULL, 0))
                return false;
        } else if (c == '\0') {
            return false;
        } else {
            (*at)++;
        }
    } while (depth > 0);
    return true;
}

static bool scan_value(const char **at, char *text, size_t size)
{
    if (**at == '"')
        return scan_string(at, text, size);
    if (**at == '[' || **at == '{')
        return skip_nest(at);
    return scan_word(at, text, size);
}

/* Members of the outermost object. */
static bool scan_object(const char *json, struct members *members)
{
    const char *at = json;
    skip_blanks(&at);
    if (*at++ != '{')
        return false;
    skip_blanks(&at);
    while (*at != '}') {
        char name[FX8_TEXT_SIZE];
        if (!scan_string(&at, name, sizeof name))
            return false;
        skip_blanks(&at);
        if (*at++ != ':')
            return false;
        skip_blanks(&at);
        char *value = NULL;
        for (int i = 0; i < N_MEMBERS; i++)
            if (strcmp(name, names[i]) == 0)
                value = members->value[i];
        if (!scan_value(&at, value, FX8_TEXT_SIZE))
            return false;
        skip_blanks(&at);
        if (*at == '}')
            break;
        if (*at++ != ',')
            return false;
        skip_blanks(&at);
        if (*at == '}')
            return false; /* nothing behind a comma */
    }
    at++;
    skip_blanks(&at);
    return *at == '\0';
}

/* A number between two limits; absent: `otherwise`, where that is a number. */
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

/* Where zero of the sampled band lies on the sky: note 1 of the header. */
static enum fx8_status get_band(const char *path, const struct members *members,
                                struct fx8_observation *observation,
                                struct fx8_error *error)
{
    const double highest_hz = 1e13;
    const double rate_hz = fx8_rate_hz(observation->sample_rate);
    double frequency_hz = 0;
    double baseband_hz = 0;
    double oscillator_hz = 0;
    enum fx8_status status = get_real(path, members, FREQUENCY, rate_hz / 2,
                                      highest_hz, NAN, &frequency_hz, error);
    if (status == FX8_OK)
        status = get_real(path, members, BASEBAND, 0, rate_hz / 2, rate_hz / 4,
                          &baseband_hz, error);
    if (status == FX8_OK)
        status = get_real(path, members, OSCILLATOR, 0, highest_hz,
                          frequency_hz - baseband_hz, &oscillator_hz, error);
    if (status != FX8_OK)
        return status;
    /* both sums are of numbers far below 2^53 with at most some decimals */
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
    struct members members = {.value = {""}};
    if (!scan_object(json, &members))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: config: %.40s: expected a JSON object", path,
                        json);
    struct fx8_rate rate = {0, 1};
    const char *text = members.value[RATE];
    if (!fx8_number_fraction(text, &rate.numerator_hz, &rate.denominator) ||
        rate.numerator_hz == 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: config: sampling_frequency: %s: expected a rate "
                        "in Hz",
                        path, text[0] != '\0' ? text : "missing");
    observation->sample_rate = fx8_rate_reduced(rate);
    enum fx8_status status = get_band(path, &members, observation, error);
    if (status == FX8_OK)
        status = get_real(path, &members, LATITUDE, -90, 90, NAN,
                          &observation->site.latitude_deg, error);
    if (status == FX8_OK)
        status = get_real(path, &members, LONGITUDE, -360, 360, NAN,
                          &observation->site.longitude_deg, error);
    if (status == FX8_OK)
        status = get_real(path, &members, ALTITUDE, -1e4, 1e5, NAN,
                          &observation->site.altitude_m, error);
    double count = 0;
    if (status == FX8_OK)
        status =
            get_real(path, &members, N_ANTENNA, 0, 65536, 0, &count, error);
    if (status != FX8_OK)
        return status;
    *n_antennas = (int64_t)count;
    snprintf(observation->telescope, FX8_TEXT_SIZE, "%s",
             members.value[NAME][0] != '\0' ? members.value[NAME] : "TART");
    fx8_h5_printable(observation->telescope);
    return FX8_OK;
}
