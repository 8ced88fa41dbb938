/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types of key values.  Each has three functions and a line at the end of its
 * block.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/number.h"
#include "config/keys.h"
#include "config/number_list.h"

/* Largest denominator of a sampling rate: keeps half samples times it below
 * 2^86, as fx8_time_add_half_samples() requires. */
#define RATE_DENOMINATOR_MAX 1000000

static void *member(const struct fx8_key *key, struct fx8_settings *settings)
{
    return (char *)settings + key->offset;
}

static const void *const_member(const struct fx8_key *key,
                                const struct fx8_settings *settings)
{
    return (const char *)settings + key->offset;
}

static bool is_word(const struct fx8_key *key, const char *text)
{
    return key->word != NULL && strcmp(key->word, text) == 0;
}

/* --- words ---------------------------------------------------------------- */

static const struct fx8_choice *find_choice(const struct fx8_key *key,
                                            const char *text)
{
    for (const struct fx8_choice *c = key->choices; c->name != NULL; c++)
        if (strcmp(c->name, text) == 0)
            return c;
    return NULL;
}

/* Enumerations and booleans are lists of words and differ in size. */
static enum fx8_status read_choice(const struct fx8_key *key, const char *text,
                                   const char *folder,
                                   struct fx8_settings *settings)
{
    (void)folder;
    const struct fx8_choice *choice = find_choice(key, text);
    if (choice == NULL)
        return FX8_ERR_USAGE;
    if (key->size == sizeof(bool))
        *(bool *)member(key, settings) = choice->value != 0;
    else
        memcpy(member(key, settings), &choice->value, sizeof choice->value);
    return FX8_OK;
}

static void write_choice(const struct fx8_key *key,
                         const struct fx8_settings *settings, FILE *stream)
{
    int value;
    if (key->size == sizeof(bool))
        value = *(const bool *)const_member(key, settings);
    else
        memcpy(&value, const_member(key, settings), sizeof value);
    for (const struct fx8_choice *c = key->choices; c->name != NULL; c++)
        if (c->value == value) {
            fputs(c->name, stream);
            return;
        }
}

/* Write "a, b or c": the words whose stage is built. */
static void describe_choice(const struct fx8_key *key, FILE *stream)
{
    size_t n_left = 0, n_written = 0;
    for (const struct fx8_choice *c = key->choices; c->name != NULL; c++)
        n_left += !c->is_later;
    for (const struct fx8_choice *c = key->choices; c->name != NULL; c++) {
        if (c->is_later)
            continue;
        n_left--;
        const char *comma = n_left == 0 ? " or " : ", ";
        fprintf(stream, "%s%s", n_written++ == 0 ? "" : comma, c->name);
    }
}

const struct fx8_key_type fx8_type_choice = {
    .read = read_choice, .write = write_choice, .describe = describe_choice};

/* --- numbers -------------------------------------------------------------- */

/* " from A to B UNIT, or WORD" */
static void describe_range(const struct fx8_key *key, FILE *stream)
{
    char low[FX8_NUMBER_TEXT_SIZE], high[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_real(key->minimum, low);
    fx8_number_format_real(key->maximum, high);
    if (key->type == &fx8_type_integer || key->type == &fx8_type_size ||
        key->type == &fx8_type_marker)
        fprintf(stream, " from %.0f to %.0f", key->minimum, key->maximum);
    else
        fprintf(stream, " from %s to %s", low, high);
    if (key->unit != NULL && key->unit[0] != '\0')
        fprintf(stream, " %s", key->unit);
    if (key->word != NULL && key->word[0] != '\0')
        fprintf(stream, ", or %s", key->word);
}

static bool is_in_range(const struct fx8_key *key, const char *text,
                        int64_t *value)
{
    return fx8_number_integer(text, value) && *value >= (int64_t)key->minimum &&
           *value <= (int64_t)key->maximum;
}

static enum fx8_status read_integer(const struct fx8_key *key, const char *text,
                                    const char *folder,
                                    struct fx8_settings *settings)
{
    (void)folder;
    int64_t value = (int64_t)key->word_value;
    if (!is_word(key, text) && !is_in_range(key, text, &value))
        return FX8_ERR_USAGE;
    *(int64_t *)member(key, settings) = value;
    return FX8_OK;
}

static void write_integer(const struct fx8_key *key,
                          const struct fx8_settings *settings, FILE *stream)
{
    const int64_t value = *(const int64_t *)const_member(key, settings);
    if (key->word != NULL && value == (int64_t)key->word_value)
        fputs(key->word, stream);
    else
        fprintf(stream, "%" PRId64, value);
}

static void describe_integer(const struct fx8_key *key, FILE *stream)
{
    fputs("an integer", stream);
    describe_range(key, stream);
}

const struct fx8_key_type fx8_type_integer = {
    .read = read_integer, .write = write_integer, .describe = describe_integer};

/* The member's value for the key's word; -1: SIZE_MAX. */
static size_t size_of_word(const struct fx8_key *key)
{
    return (size_t)(int64_t)key->word_value;
}

static size_t factor_of(const struct fx8_key *key)
{
    return key->factor == 0 ? 1 : key->factor;
}

static enum fx8_status read_size(const struct fx8_key *key, const char *text,
                                 const char *folder,
                                 struct fx8_settings *settings)
{
    (void)folder;
    size_t *size = member(key, settings);
    int64_t value = 0;
    if (is_word(key, text)) {
        *size = size_of_word(key);
        return FX8_OK;
    }
    if (!is_in_range(key, text, &value))
        return FX8_ERR_USAGE;
    *size = (size_t)value * factor_of(key);
    return FX8_OK;
}

static void write_size(const struct fx8_key *key,
                       const struct fx8_settings *settings, FILE *stream)
{
    const size_t value = *(const size_t *)const_member(key, settings);
    if (key->word != NULL && value == size_of_word(key))
        fputs(key->word, stream);
    else
        fprintf(stream, "%zu", value / factor_of(key));
}

const struct fx8_key_type fx8_type_size = {
    .read = read_size, .write = write_size, .describe = describe_integer};

static enum fx8_status read_real(const struct fx8_key *key, const char *text,
                                 const char *folder,
                                 struct fx8_settings *settings)
{
    (void)folder;
    double value;
    if (is_word(key, text))
        value = key->word_value;
    else if (!fx8_number_real(text, &value) || value < key->minimum ||
             value > key->maximum)
        return FX8_ERR_USAGE;
    *(double *)member(key, settings) = value;
    return FX8_OK;
}

static void write_real(const struct fx8_key *key,
                       const struct fx8_settings *settings, FILE *stream)
{
    const double value = *(const double *)const_member(key, settings);
    char text[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_real(value, text);
    fputs(isfinite(value) ? text : key->word, stream);
}

static void describe_real(const struct fx8_key *key, FILE *stream)
{
    fputs("a plain number", stream);
    describe_range(key, stream);
}

const struct fx8_key_type fx8_type_real = {
    .read = read_real, .write = write_real, .describe = describe_real};

/* "" means "not given": rate 0/0. */
static enum fx8_status read_rate(const struct fx8_key *key, const char *text,
                                 const char *folder,
                                 struct fx8_settings *settings)
{
    (void)folder;
    struct fx8_rate rate = {0, 0};
    if (*text != '\0') {
        if (!fx8_number_fraction(text, &rate.numerator_hz, &rate.denominator) ||
            rate.denominator > RATE_DENOMINATOR_MAX)
            return FX8_ERR_USAGE;
        const double hz = fx8_rate_hz(rate);
        if (hz < key->minimum || hz > key->maximum)
            return FX8_ERR_USAGE;
    }
    *(struct fx8_rate *)member(key, settings) = rate;
    return FX8_OK;
}

static void write_rate(const struct fx8_key *key,
                       const struct fx8_settings *settings, FILE *stream)
{
    const struct fx8_rate *rate = const_member(key, settings);
    char text[FX8_NUMBER_TEXT_SIZE];
    if (rate->numerator_hz == 0)
        return;
    fx8_number_format_fraction(rate->numerator_hz, rate->denominator, text);
    fputs(text, stream);
}

static void describe_rate(const struct fx8_key *key, FILE *stream)
{
    fputs("a plain number or a fraction such as 25000000/27", stream);
    describe_range(key, stream);
    fprintf(stream, ", over at most %d in lowest terms", RATE_DENOMINATOR_MAX);
}

const struct fx8_key_type fx8_type_rate = {
    .read = read_rate, .write = write_rate, .describe = describe_rate};

static enum fx8_status read_fraction(const struct fx8_key *key,
                                     const char *text, const char *folder,
                                     struct fx8_settings *settings)
{
    (void)folder;
    struct fx8_fraction fraction;
    if (!fx8_number_fraction(text, &fraction.numerator,
                             &fraction.denominator) ||
        fraction.numerator == 0 || fraction.numerator > fraction.denominator)
        return FX8_ERR_USAGE;
    *(struct fx8_fraction *)member(key, settings) = fraction;
    return FX8_OK;
}

static void write_fraction(const struct fx8_key *key,
                           const struct fx8_settings *settings, FILE *stream)
{
    const struct fx8_fraction *fraction = const_member(key, settings);
    char text[FX8_NUMBER_TEXT_SIZE];
    /* 0/0 before defaults are set */
    fx8_number_format_fraction(fraction->numerator, fraction->denominator,
                               text);
    fputs(text, stream);
}

static void describe_fraction(const struct fx8_key *key, FILE *stream)
{
    (void)key;
    fputs("a fraction above 0 and at most 1, such as 27/32", stream);
}

const struct fx8_key_type fx8_type_fraction = {.read = read_fraction,
                                               .write = write_fraction,
                                               .describe = describe_fraction};

/* Smallest scale: 16 bits shrink to two values and their signs. */
#define SCALE_MIN_DENOMINATOR 16384

static enum fx8_status read_scale(const struct fx8_key *key, const char *text,
                                  const char *folder,
                                  struct fx8_settings *settings)
{
    (void)folder;
    int64_t numerator = 0;
    int64_t denominator = 0;
    double value = key->word_value;
    if (!is_word(key, text)) {
        if (!fx8_number_fraction(text, &numerator, &denominator) ||
            numerator != 1 || denominator > SCALE_MIN_DENOMINATOR ||
            (denominator & (denominator - 1)) != 0)
            return FX8_ERR_USAGE;
        value = 1.0 / (double)denominator;
    }
    *(double *)member(key, settings) = value;
    return FX8_OK;
}

static void write_scale(const struct fx8_key *key,
                        const struct fx8_settings *settings, FILE *stream)
{
    const double value = *(const double *)const_member(key, settings);
    char text[FX8_NUMBER_TEXT_SIZE];
    if (value > 0) {
        fx8_number_format_fraction(1, (int64_t)(1.0 / value), text);
        fputs(text, stream);
    } else {
        fputs(key->word, stream);
    }
}

static void describe_scale(const struct fx8_key *key, FILE *stream)
{
    fprintf(stream, "a power of two from 1/%d to 1 such as 1/256, or %s",
            SCALE_MIN_DENOMINATOR, key->word);
}

const struct fx8_key_type fx8_type_scale = {
    .read = read_scale, .write = write_scale, .describe = describe_scale};

/* --- values that fill two members ----------------------------------------- */

static enum fx8_status read_time(const struct fx8_key *key, const char *text,
                                 const char *folder,
                                 struct fx8_settings *settings)
{
    (void)folder;
    struct fx8_time time = {0, 0};
    if (*text != '\0' && !fx8_number_time(text, &time))
        return FX8_ERR_USAGE;
    settings->observation.has_start_time = *text != '\0';
    *(struct fx8_time *)member(key, settings) = time;
    return FX8_OK;
}

static void write_time(const struct fx8_key *key,
                       const struct fx8_settings *settings, FILE *stream)
{
    const struct fx8_time *time = const_member(key, settings);
    char text[FX8_NUMBER_TEXT_SIZE];
    if (!settings->observation.has_start_time)
        return;
    fx8_number_format_time(*time, text);
    fputs(text, stream);
}

static void describe_time(const struct fx8_key *key, FILE *stream)
{
    (void)key;
    fputs("UTC as 2019-08-29T19:00:00[.123456789]Z, no leap second", stream);
}

const struct fx8_key_type fx8_type_time = {
    .read = read_time, .write = write_time, .describe = describe_time};

static enum fx8_status read_marker(const struct fx8_key *key, const char *text,
                                   const char *folder,
                                   struct fx8_settings *settings)
{
    (void)folder;
    int64_t value = 0;
    const bool is_none = is_word(key, text);
    if (!is_none && strcmp(text, "zero") != 0 &&
        (!fx8_number_integer(text, &value) || value < (int64_t)key->minimum ||
         value > (int64_t)key->maximum))
        return FX8_ERR_USAGE;
    settings->input.marker.is_used = !is_none;
    *(int *)member(key, settings) = (int)value;
    return FX8_OK;
}

static void write_marker(const struct fx8_key *key,
                         const struct fx8_settings *settings, FILE *stream)
{
    const int value = *(const int *)const_member(key, settings);
    if (!settings->input.marker.is_used)
        fputs(key->word, stream);
    else if (value == 0)
        fputs("zero", stream);
    else
        fprintf(stream, "%d", value);
}

static void describe_marker(const struct fx8_key *key, FILE *stream)
{
    fputs("zero, an integer", stream);
    describe_range(key, stream);
}

const struct fx8_key_type fx8_type_marker = {
    .read = read_marker, .write = write_marker, .describe = describe_marker};

/* --- lists of numbers ----------------------------------------------------- */

static enum fx8_status read_numbers(const struct fx8_key *key, const char *text,
                                    const char *folder,
                                    struct fx8_settings *settings)
{
    (void)folder;
    return fx8_number_list_read(text, key->type == &fx8_type_selection,
                                (int64_t)key->minimum, (int64_t)key->maximum,
                                member(key, settings));
}

static void write_numbers(const struct fx8_key *key,
                          const struct fx8_settings *settings, FILE *stream)
{
    fx8_number_list_write(const_member(key, settings),
                          key->type == &fx8_type_selection, stream);
}

static void describe_numbers(const struct fx8_key *key, FILE *stream)
{
    if (key->type == &fx8_type_selection)
        fputs("all, a count, or ", stream);
    fprintf(stream,
            "a list such as 0-15,20 of numbers from %.0f to %.0f, each "
            "once",
            key->minimum, key->maximum);
}

static void clear_numbers(const struct fx8_key *key,
                          struct fx8_settings *settings)
{
    struct fx8_number_list *list = member(key, settings);
    free(list->items);
    *list = (struct fx8_number_list){0};
}

const struct fx8_key_type fx8_type_selection = {.read = read_numbers,
                                                .write = write_numbers,
                                                .describe = describe_numbers,
                                                .clear = clear_numbers};
const struct fx8_key_type fx8_type_numbers = {.read = read_numbers,
                                              .write = write_numbers,
                                              .describe = describe_numbers,
                                              .clear = clear_numbers};

/* --- common to all types -------------------------------------------------- */

bool fx8_key_is_built(const struct fx8_key *key, const char *text)
{
    if (key->default_only)
        return strcmp(text, key->fallback) == 0;
    if (key->choices == NULL)
        return true;
    const struct fx8_choice *choice = find_choice(key, text);
    return choice == NULL || !choice->is_later;
}

void fx8_key_describe(const struct fx8_key *key,
                      char text[FX8_KEY_EXPECTED_SIZE])
{
    memset(text, 0, FX8_KEY_EXPECTED_SIZE);
    FILE *stream = fmemopen(text, FX8_KEY_EXPECTED_SIZE - 1, "w");
    if (stream == NULL)
        return;
    key->type->describe(key, stream);
    fclose(stream);
}

void fx8_key_expected(const struct fx8_key *key,
                      char text[FX8_KEY_EXPECTED_SIZE])
{
    if (key->default_only)
        snprintf(text, FX8_KEY_EXPECTED_SIZE, "%s",
                 *key->fallback != '\0' ? key->fallback : "nothing");
    else
        fx8_key_describe(key, text);
}
