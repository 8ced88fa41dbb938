/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types of key values.  Each has two or more functions and a line at the end of
 * its block.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "config/base/number.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "config/baseline_list.h"
#include "config/frequency_list.h"
#include "config/keys.h"
#include "config/number_list.h"

/* Largest denominator of a sampling rate: keeps half samples times it below
 * 2^86, as fx8_time_add_half_samples() requires. */
#define RATE_DENOMINATOR_MAX 1000000

static const void *member_of(const struct fx8_key *key,
                             const struct fx8_settings *settings)
{
    return (const char *)settings + key->offset;
}

static bool is_word(const struct fx8_key_text *given)
{
    const char *word = given->key->word;
    return word != NULL && strcmp(word, given->text) == 0;
}

/* --- words ---------------------------------------------------------------- */

static const struct fx8_choice *find_choice(const struct fx8_key *key,
                                            const char *text)
{
    for (const struct fx8_choice *c = key->choices; c->name != NULL; c++)
        if (strcasecmp(c->name, text) == 0)
            return c;
    return NULL;
}

/* Enumerations and booleans are lists of words and differ in size. */
static enum fx8_status read_choice(const struct fx8_key_text *given)
{
    const struct fx8_choice *choice = find_choice(given->key, given->text);
    if (choice == NULL)
        return FX8_ERR_USAGE;
    if (given->key->size == sizeof(bool))
        *(bool *)given->member = choice->value != 0;
    else
        memcpy(given->member, &choice->value, sizeof choice->value);
    return FX8_OK;
}

static void write_choice(const struct fx8_key *key,
                         const struct fx8_settings *settings, FILE *stream)
{
    int value;
    if (key->size == sizeof(bool))
        value = *(const bool *)member_of(key, settings);
    else
        memcpy(&value, member_of(key, settings), sizeof value);
    for (const struct fx8_choice *c = key->choices; c->name != NULL; c++)
        if (c->value == value) {
            fputs(c->name, stream);
            return;
        }
}

/* Write "a, b or c". */
static void describe_choice(const struct fx8_key *key, FILE *stream)
{
    size_t n_left = 0, n_written = 0;
    for (const struct fx8_choice *c = key->choices; c->name != NULL; c++)
        n_left++;
    for (const struct fx8_choice *c = key->choices; c->name != NULL; c++) {
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
    if (key->minimum < key->maximum)
        fprintf(stream, " from %s to %s", low, high);
    if (key->unit != NULL && key->unit[0] != '\0')
        fprintf(stream, " %s", key->unit);
    if (key->word != NULL && key->word[0] != '\0')
        fprintf(stream, ", or %s", key->word);
}

static bool is_in_range(const struct fx8_key_text *given, int64_t *value)
{
    return fx8_number_integer(given->text, value) &&
           *value >= (int64_t)given->key->minimum &&
           *value <= (int64_t)given->key->maximum;
}

/* Members are int64_t or size_t: -1 becomes SIZE_MAX. */
static_assert(sizeof(size_t) == sizeof(int64_t), "sizes of 64 bits");

static int64_t factor_of(const struct fx8_key *key)
{
    return key->factor == 0 ? 1 : key->factor;
}

static enum fx8_status read_integer(const struct fx8_key_text *given)
{
    int64_t value = 0;
    if (is_word(given))
        value = (int64_t)given->key->word_value;
    else if (is_in_range(given, &value))
        value *= factor_of(given->key);
    else
        return FX8_ERR_USAGE;
    memcpy(given->member, &value, sizeof value);
    return FX8_OK;
}

static void write_integer(const struct fx8_key *key,
                          const struct fx8_settings *settings, FILE *stream)
{
    int64_t value;
    memcpy(&value, member_of(key, settings), sizeof value);
    if (key->word != NULL && value == (int64_t)key->word_value)
        fputs(key->word, stream);
    else
        fprintf(stream, "%" PRId64, value / factor_of(key));
}

const struct fx8_key_type fx8_type_integer = {
    .read = read_integer, .write = write_integer, .what = "an integer"};

static enum fx8_status read_real(const struct fx8_key_text *given)
{
    double value;
    if (is_word(given))
        value = given->key->word_value;
    else if (!fx8_number_real(given->text, &value) ||
             value < given->key->minimum || value > given->key->maximum)
        return FX8_ERR_USAGE;
    *(double *)given->member = value;
    return FX8_OK;
}

static void write_real(const struct fx8_key *key,
                       const struct fx8_settings *settings, FILE *stream)
{
    const double value = *(const double *)member_of(key, settings);
    char text[FX8_NUMBER_TEXT_SIZE];
    const bool is_number =
        isfinite(value) && (key->word == NULL || value != key->word_value);
    fx8_number_format_real(value, text);
    fputs(is_number ? text : key->word, stream);
}

const struct fx8_key_type fx8_type_real = {
    .read = read_real, .write = write_real, .what = "a plain number"};

/* "" means "not given": rate 0/0. */
static enum fx8_status read_rate(const struct fx8_key_text *given)
{
    struct fx8_rate rate = {0, 0};
    if (*given->text != '\0') {
        if (!fx8_number_fraction(given->text, &rate.numerator_hz,
                                 &rate.denominator) ||
            rate.denominator > RATE_DENOMINATOR_MAX)
            return FX8_ERR_USAGE;
        const double hz = fx8_rate_hz(rate);
        if (hz < given->key->minimum || hz > given->key->maximum)
            return FX8_ERR_USAGE;
    }
    *(struct fx8_rate *)given->member = rate;
    return FX8_OK;
}

/* 0/0 before defaults are set. */
static void write_fraction_of(int64_t numerator, int64_t denominator,
                              FILE *stream)
{
    char text[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_fraction(numerator, denominator, text);
    fputs(text, stream);
}

static void write_rate(const struct fx8_key *key,
                       const struct fx8_settings *settings, FILE *stream)
{
    const struct fx8_rate *rate = member_of(key, settings);
    if (rate->numerator_hz != 0)
        write_fraction_of(rate->numerator_hz, rate->denominator, stream);
}

static void describe_rate(const struct fx8_key *key, FILE *stream)
{
    fputs("a plain number or a fraction such as 25000000/27", stream);
    describe_range(key, stream);
    fprintf(stream, ", over at most %d in lowest terms", RATE_DENOMINATOR_MAX);
}

const struct fx8_key_type fx8_type_rate = {
    .read = read_rate, .write = write_rate, .describe = describe_rate};

static enum fx8_status read_fraction(const struct fx8_key_text *given)
{
    struct fx8_fraction fraction;
    if (!fx8_number_fraction(given->text, &fraction.numerator,
                             &fraction.denominator) ||
        fraction.numerator == 0 || fraction.numerator > fraction.denominator)
        return FX8_ERR_USAGE;
    *(struct fx8_fraction *)given->member = fraction;
    return FX8_OK;
}

static void write_fraction(const struct fx8_key *key,
                           const struct fx8_settings *settings, FILE *stream)
{
    const struct fx8_fraction *fraction = member_of(key, settings);
    write_fraction_of(fraction->numerator, fraction->denominator, stream);
}

const struct fx8_key_type fx8_type_fraction = {
    .read = read_fraction,
    .write = write_fraction,
    .what = "a fraction above 0 and at most 1, such as 27/32"};

/* Smallest scale: 16 bits shrink to two values and their signs. */
#define SCALE_MIN_DENOMINATOR 16384

static enum fx8_status read_scale(const struct fx8_key_text *given)
{
    int64_t numerator = 0;
    int64_t denominator = 0;
    double value = given->key->word_value;
    if (!is_word(given)) {
        if (!fx8_number_fraction(given->text, &numerator, &denominator) ||
            numerator != 1 || denominator > SCALE_MIN_DENOMINATOR ||
            (denominator & (denominator - 1)) != 0)
            return FX8_ERR_USAGE;
        value = 1.0 / (double)denominator;
    }
    *(double *)given->member = value;
    return FX8_OK;
}

static void write_scale(const struct fx8_key *key,
                        const struct fx8_settings *settings, FILE *stream)
{
    const double value = *(const double *)member_of(key, settings);
    if (value > 0)
        write_fraction_of(1, (int64_t)(1.0 / value), stream);
    else
        fputs(key->word, stream);
}

const struct fx8_key_type fx8_type_scale = {
    .read = read_scale,
    .write = write_scale,
    .what = "a power of two from 1/16384 to 1 such as 1/256"};

/* --- values that fill two members ----------------------------------------- */

static enum fx8_status read_time(const struct fx8_key_text *given)
{
    struct fx8_time time = {0, 0};
    const bool is_given = *given->text != '\0';
    if (is_given && !fx8_number_time(given->text, &time))
        return FX8_ERR_USAGE;
    given->settings->observation.has_start_time = is_given;
    *(struct fx8_time *)given->member = time;
    return FX8_OK;
}

static void write_time(const struct fx8_key *key,
                       const struct fx8_settings *settings, FILE *stream)
{
    const struct fx8_time *time = member_of(key, settings);
    char text[FX8_NUMBER_TEXT_SIZE];
    if (!settings->observation.has_start_time)
        return;
    fx8_number_format_time(*time, text);
    fputs(text, stream);
}

const struct fx8_key_type fx8_type_time = {
    .read = read_time,
    .write = write_time,
    .what = "UTC as 2019-08-29T19:00:00[.123456789]Z, no leap second"};

static enum fx8_status read_marker(const struct fx8_key_text *given)
{
    int64_t value = 0;
    const bool is_none = is_word(given);
    if (!is_none && strcasecmp(given->text, "zero") != 0 &&
        !is_in_range(given, &value))
        return FX8_ERR_USAGE;
    given->settings->input.marker.is_used = !is_none;
    *(int *)given->member = (int)value;
    return FX8_OK;
}

static void write_marker(const struct fx8_key *key,
                         const struct fx8_settings *settings, FILE *stream)
{
    const int value = *(const int *)member_of(key, settings);
    if (!settings->input.marker.is_used)
        fputs(key->word, stream);
    else if (value == 0)
        fputs("zero", stream);
    else
        fprintf(stream, "%d", value);
}

const struct fx8_key_type fx8_type_marker = {
    .read = read_marker, .write = write_marker, .what = "zero, an integer"};

/* --- lists of numbers ----------------------------------------------------- */

static enum fx8_status read_numbers(const struct fx8_key_text *given)
{
    return fx8_number_list_read(given->text,
                                given->key->type == &fx8_type_selection,
                                (int64_t)given->key->minimum,
                                (int64_t)given->key->maximum, given->member);
}

static void write_numbers(const struct fx8_key *key,
                          const struct fx8_settings *settings, FILE *stream)
{
    fx8_number_list_write(member_of(key, settings),
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

static void clear_numbers(void *member)
{
    struct fx8_number_list *list = member;
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

/* --- lists of frequencies ------------------------------------------------- */

/* Anything but a list is the path of a table, which is read after all keys: its
 * faults then name its own lines. */
static enum fx8_status read_frequencies(const struct fx8_key_text *given)
{
    struct fx8_frequency_list *list = given->member;
    if (is_word(given)) {
        fx8_frequency_list_clear(list);
        return FX8_OK;
    }
    const enum fx8_status status = fx8_frequency_list_read(given->text, list);
    if (status != FX8_ERR_USAGE)
        return status;
    const char *text = given->text;
    const char *folder = fx8_path_home(&text, given->folder);
    FX8_AUTO_FREE char *path = fx8_path_join(folder, text);
    if (path == NULL)
        return FX8_ERR_SYSTEM;
    if (*text == '\0' || access(path, F_OK) != 0)
        return FX8_ERR_USAGE;
    fx8_frequency_list_clear(list);
    list->path = path;
    path = NULL;
    return FX8_OK;
}

static void write_frequencies(const struct fx8_key *key,
                              const struct fx8_settings *settings, FILE *stream)
{
    const struct fx8_frequency_list *list = member_of(key, settings);
    if (list->count == 0)
        fputs(key->word, stream);
    else
        fx8_frequency_list_write(list, stream);
}

static void clear_frequencies(void *member)
{
    fx8_frequency_list_clear(member);
}

static void describe_frequencies(const struct fx8_key *key, FILE *stream)
{
    fprintf(stream,
            "%s, a list such as 100.5e6,137e6-138e6 in Hz, or a CSV of at most "
            "%d rows",
            key->word, FX8_FREQUENCY_LIST_MAX);
}

const struct fx8_key_type fx8_type_frequencies = {.read = read_frequencies,
                                                  .write = write_frequencies,
                                                  .describe =
                                                      describe_frequencies,
                                                  .clear = clear_frequencies};

/* --- baselines ------------------------------------------------------------ */

static enum fx8_status read_baselines(const struct fx8_key_text *given)
{
    return fx8_baseline_list_read(given->text, (int64_t)given->key->minimum,
                                  (int64_t)given->key->maximum, given->member);
}

static void write_baselines(const struct fx8_key *key,
                            const struct fx8_settings *settings, FILE *stream)
{
    fx8_baseline_list_write(member_of(key, settings), stream);
}

static void clear_baselines(void *member)
{
    struct fx8_baseline_list *list = member;
    free(list->pairs);
    *list = (struct fx8_baseline_list){0};
}

const struct fx8_key_type fx8_type_baselines = {
    .read = read_baselines,
    .write = write_baselines,
    .what = "all, cross, auto, or at most 2048 pairs such as 1&2,1&40, each "
            "once, of numbers",
    .clear = clear_baselines};

/* --- common to all types -------------------------------------------------- */

/* A word of the key as the table spells it, or the text itself. */
static const char *spell(const struct fx8_key *key, const char *text)
{
    const struct fx8_choice *choice =
        key->choices != NULL ? find_choice(key, text) : NULL;
    if (choice != NULL)
        return choice->name;
    return key->word != NULL && strcasecmp(key->word, text) == 0 ? key->word
                                                                 : text;
}

enum fx8_status fx8_key_read(const struct fx8_key *key, const char *text,
                             const char *folder, struct fx8_settings *settings)
{
    const struct fx8_key_text given = {key, spell(key, text), folder, settings,
                                       (char *)settings + key->offset};
    return key->type->read(&given);
}

void fx8_key_describe(const struct fx8_key *key,
                      char text[FX8_KEY_EXPECTED_SIZE])
{
    memset(text, 0, FX8_KEY_EXPECTED_SIZE);
    FILE *stream = fmemopen(text, FX8_KEY_EXPECTED_SIZE - 1, "w");
    if (stream == NULL)
        return;
    if (key->type->describe != NULL) {
        key->type->describe(key, stream);
    } else {
        fputs(key->type->what, stream);
        describe_range(key, stream);
    }
    fclose(stream);
}
