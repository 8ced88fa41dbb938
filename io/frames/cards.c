/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/divisor.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/frames/cards.h"
#include "io/frames/frames.h"
#include "io/refuse.h"

/* Tolerance of an interval, which may have been rounded to a float. */
#define INTERVAL_TOLERANCE 1e-6

/* --- cards ---------------------------------------------------------------- */

static void copy_text(const char *from, size_t length, char *to, size_t size)
{
    while (length > 0 && (*from == ' ' || *from == '\t')) {
        from++;
        length--;
    }
    while (length > 0 && strchr(" \t\r", from[length - 1]) != NULL)
        length--;
    size_t n = 0;
    for (; n < length && n + 1 < size; n++)
        to[n] = from[n] >= 0x20 && from[n] < 0x7f ? from[n] : '?';
    to[n] = '\0';
}

enum fx8_status fx8_cards_add(struct fx8_cards *cards, const char *key,
                              size_t key_length, const char *value,
                              size_t value_length, struct fx8_error *error)
{
    FX8_TRY(fx8_grow(&cards->items, cards->n, sizeof *cards->items, "a header",
                     error));
    struct fx8_card *card = &cards->items[cards->n++];
    copy_text(key, key_length, card->key, sizeof card->key);
    copy_text(value, value_length, card->value, sizeof card->value);
    return FX8_OK;
}

void fx8_cards_clear(struct fx8_cards *cards)
{
    free(cards->items);
    cards->items = NULL;
    cards->n = 0;
}

const char *fx8_cards_find(const struct fx8_cards *cards, const char *key)
{
    for (size_t i = cards->n; i-- > 0;)
        if (strcmp(cards->items[i].key, key) == 0)
            return cards->items[i].value;
    return NULL;
}

void fx8_cards_text(const struct fx8_cards *cards, const char *key,
                    char text[FX8_TEXT_SIZE])
{
    const char *value = fx8_cards_find(cards, key);
    const bool is_known = value != NULL && strcmp(value, "unset") != 0 &&
                          strcmp(value, "unknown") != 0;
    snprintf(text, FX8_TEXT_SIZE, "%s", is_known ? value : "");
}

enum fx8_status fx8_cards_refuse(const struct fx8_cards *cards, const char *key,
                                 struct fx8_error *error, const char *format,
                                 ...)
{
    char text[FX8_ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *value = fx8_cards_find(cards, key);
    return fx8_refuse(error, cards->path, key, "%.60s: %s",
                      value != NULL ? value : "missing", text);
}

enum fx8_status fx8_cards_integer(const struct fx8_cards *cards,
                                  const char *key, int64_t least, int64_t most,
                                  int64_t *value, struct fx8_error *error)
{
    const char *text = fx8_cards_find(cards, key);
    const bool is_good = text == NULL || fx8_number_integer(text, value);
    if (is_good && *value >= least && *value <= most)
        return FX8_OK;
    return fx8_cards_refuse(cards, key, error,
                            least == most ? "expected %" PRId64
                                          : "expected a whole number of "
                                            "%" PRId64 " to %" PRId64,
                            least, most);
}

enum fx8_status fx8_cards_real(const struct fx8_cards *cards, const char *key,
                               double *value, struct fx8_error *error)
{
    const char *text = fx8_cards_find(cards, key);
    return text == NULL || fx8_number_real(text, value)
               ? FX8_OK
               : fx8_cards_refuse(cards, key, error, "expected a number");
}

enum fx8_status fx8_cards_add_seconds(const struct fx8_cards *cards,
                                      const char *key, struct fx8_time *time,
                                      struct fx8_error *error)
{
    const char *text = fx8_cards_find(cards, key);
    int64_t numerator = 0, denominator = 1;
    if (text == NULL)
        return FX8_OK;
    if (!fx8_number_fraction(text, &numerator, &denominator) ||
        numerator >= denominator)
        return fx8_cards_refuse(cards, key, error,
                                "expected seconds from 0 to below 1, of at "
                                "most 18 digits");
    const fx8_wide picoseconds =
        ((fx8_wide)numerator * FX8_PICOSECONDS + denominator / 2) / denominator;
    time->picosecond += (int64_t)picoseconds;
    time->unix_s += time->picosecond / FX8_PICOSECONDS;
    time->picosecond %= FX8_PICOSECONDS;
    return FX8_OK;
}

/* --- rates ---------------------------------------------------------------- */

/* The exact rate in Hz of text MHz times factor / n; false if it is out of
 * range. */
static bool exact_rate(const char *text, int64_t factor, size_t n,
                       struct fx8_rate *rate)
{
    int64_t numerator = 0, denominator = 1;
    text += *text == '-' || *text == '+';
    if (!fx8_number_fraction(text, &numerator, &denominator) || numerator <= 0)
        return false;
    fx8_wide p = (fx8_wide)numerator * factor * 1000000;
    fx8_wide q = (fx8_wide)denominator * (fx8_wide)n;
    const fx8_wide common = fx8_greatest_divisor(p, q);
    p /= common;
    q /= common;
    if (q > FX8_FRAMES_MOST_DENOMINATOR || p / q > FX8_FRAMES_FASTEST_HZ ||
        p < q)
        return false;
    *rate = (struct fx8_rate){(int64_t)p, (int64_t)q};
    return true;
}

static enum fx8_status find_rate(const struct fx8_cards *cards,
                                 const struct fx8_cards_keys *keys,
                                 size_t n_channels, bool is_complex,
                                 struct fx8_rate *rate, struct fx8_error *error)
{
    const char *text = fx8_cards_find(cards, keys->bandwidth);
    if (text == NULL || !exact_rate(text, is_complex ? 1 : 2, n_channels, rate))
        return fx8_cards_refuse(cards, keys->bandwidth, error,
                                "expected MHz that give %zu %s a rate of 1 to "
                                "1e11 Hz, a fraction over at most %d, or "
                                "observation.sample_rate_hz",
                                n_channels,
                                n_channels == 1 ? "channel" : "channels",
                                FX8_FRAMES_MOST_DENOMINATOR);
    double interval = NAN;
    FX8_TRY(fx8_cards_real(cards, keys->interval, &interval, error));
    const double product =
        interval * keys->interval_unit_s * fx8_rate_hz(*rate);
    if (isnan(interval) || fabs(product - 1.0) <= INTERVAL_TOLERANCE)
        return FX8_OK;
    return fx8_cards_refuse(cards, keys->interval, error,
                            "expected %.12g, as %s gives %s samples, or "
                            "observation.sample_rate_hz",
                            1.0 / (fx8_rate_hz(*rate) * keys->interval_unit_s),
                            keys->bandwidth, is_complex ? "complex" : "real");
}

enum fx8_status fx8_cards_band(const struct fx8_cards *cards,
                               const struct fx8_cards_keys *keys,
                               size_t n_channels, bool is_complex,
                               struct fx8_rate given,
                               struct fx8_cards_band *band,
                               struct fx8_error *error)
{
    double frequency_mhz = NAN, bandwidth_mhz = NAN;
    FX8_TRY(fx8_cards_real(cards, keys->frequency, &frequency_mhz, error));
    FX8_TRY(fx8_cards_real(cards, keys->bandwidth, &bandwidth_mhz, error));
    band->rate = fx8_rate_reduced(given);
    if (given.numerator_hz <= 0)
        FX8_TRY(
            find_rate(cards, keys, n_channels, is_complex, &band->rate, error));
    if (!(fabs(bandwidth_mhz) <= 1e9) || (n_channels > 1 && bandwidth_mhz == 0))
        return fx8_cards_refuse(cards, keys->bandwidth, error,
                                "expected the width of all channels in MHz");
    if (!isnan(frequency_mhz) && !(frequency_mhz >= 0 && frequency_mhz <= 1e9))
        return fx8_cards_refuse(cards, keys->frequency, error,
                                "expected 0 to 1e9 MHz");
    band->is_descending = bandwidth_mhz < 0;
    band->step_hz = fabs(bandwidth_mhz) * 1e6 / (double)n_channels;
    /* complex: the middle of the lowest channel; real: an edge of the band */
    const double below = is_complex ? (double)(n_channels - 1) / 2.0 : 0.5;
    band->dc_frequency_hz =
        frequency_mhz * 1e6 +
        (!is_complex && band->is_descending ? below : -below) * band->step_hz;
    return FX8_OK;
}
