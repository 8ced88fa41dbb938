/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_texts.c -- any bytes as INI, CSV, JSON and single values: a refusal is
 * one line; accepted values equal the C library's, and survive being written
 * and read again.  FX8_FUZZ_TARGET names the target.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "config/antennas.h"
#include "config/base/number.h"
#include "config/catalogue.h"
#include "config/gain_table.h"
#include "config/keys.h"
#include "config/number_list.h"
#include "config/settings.h"
#include "correlator/simulate/sources.h"
#include "io/tart/config.h"
#include "validation/fuzz/claims.h"
#include "validation/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize(int *n_arguments, char ***arguments);

/* The bytes as a text that ends at its first NUL, or at their end. */
static char *text_of(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    claim(text != NULL, "no memory");
    if (size > 0)
        memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}

/* The settings as `fx8 config --dump` prints them; the caller frees it. */
static char *dump_of(const struct fx8_settings *settings, size_t *length)
{
    char *dump = NULL;
    FILE *stream = open_memstream(&dump, length);
    claim(stream != NULL, "no memory");
    fx8_settings_dump(settings, stream);
    fclose(stream);
    return dump;
}

/* Settings that load are dumped; the dump loads, and its dump is the same. */
static void check_dump(struct fx8_settings *settings)
{
    size_t length, again_length;
    char *dump = dump_of(settings, &length);
    fx8_settings_clear(settings);
    const char *path = scratch_write("dump.ini", dump, length);
    struct fx8_error error = no_error();
    const enum fx8_status status =
        fx8_settings_load(path, NULL, 0, false, settings, &error);
    claim(status == FX8_OK, "a dump is refused: %s\n%s", error.message, dump);
    char *again = dump_of(settings, &again_length);
    fx8_settings_clear(settings);
    claim(length == again_length && memcmp(dump, again, length) == 0,
          "a dump loads as something else:\n%s\n%s", dump, again);
    free(again);
    free(dump);
}

static void load_settings(const char *path, const char *const *overrides,
                          size_t n_overrides)
{
    struct fx8_settings settings;
    for (int required = 0; required < 2; required++) {
        struct fx8_error error = no_error();
        const enum fx8_status status = fx8_settings_load(
            path, overrides, n_overrides, required, &settings, &error);
        if (status != FX8_OK)
            claim_one_line(status, &error);
        else if (required)
            fx8_settings_clear(&settings);
        else
            check_dump(&settings);
    }
}

static void fuzz_ini(const uint8_t *bytes, size_t size)
{
    load_settings(scratch_write("fuzz.ini", bytes, size), NULL, 0);
}

/* Every line is an override, as after --set. */
static void fuzz_overrides(const uint8_t *bytes, size_t size)
{
    enum { MOST = 8 };
    const char *overrides[MOST];
    size_t n = 0;
    char *text = text_of(bytes, size);
    for (char *line = text; line != NULL && n < MOST; n++) {
        char *end = strchr(line, '\n');
        overrides[n] = line;
        line = end == NULL ? NULL : end + 1;
        if (end != NULL)
            *end = '\0';
    }
    load_settings(NULL, overrides, n);
    free(text);
}

static void fuzz_antennas(const uint8_t *bytes, size_t size)
{
    struct fx8_antenna *antennas = NULL;
    size_t n = 0;
    struct fx8_error error = no_error();
    const enum fx8_status status = fx8_antennas_load(
        scratch_write("fuzz.csv", bytes, size), &antennas, &n, NULL, &error);
    if (status != FX8_OK) {
        claim_one_line(status, &error);
        claim(antennas == NULL, "antennas after a failure");
        return;
    }
    claim(n > 0, "a table without rows");
    for (size_t i = 0; i < n; i++) {
        claim(antennas[i].number >= 0, "number %" PRId64, antennas[i].number);
        claim(memchr(antennas[i].name, '\0', sizeof antennas[i].name) != NULL,
              "a name without an end");
        for (int k = 0; k < 3; k++)
            claim(isfinite(antennas[i].enu_m[k]), "%g m", antennas[i].enu_m[k]);
    }
    free(antennas);
}

static void fuzz_sources(const uint8_t *bytes, size_t size)
{
    struct fx8_source *sources = NULL;
    size_t n = 0;
    struct fx8_error error = no_error();
    const enum fx8_status status = fx8_sources_load(
        scratch_write("fuzz.csv", bytes, size), &sources, &n, &error);
    if (status != FX8_OK) {
        claim_one_line(status, &error);
        claim(sources == NULL, "sources after a failure");
        return;
    }
    claim(n > 0, "a table without rows");
    for (size_t i = 0; i < n; i++) {
        const double *to = sources[i].direction_enu;
        /* three roundings of squares near one */
        claim(fabs(to[0] * to[0] + to[1] * to[1] + to[2] * to[2] - 1) < 1e-14,
              "no unit vector");
        claim(sources[i].icrs_deg[0] >= 0 && sources[i].icrs_deg[0] <= 360 &&
                  fabs(sources[i].icrs_deg[1]) <= 90,
              "no place in the sky");
        claim(sources[i].stokes[0] >= 0, "power %g", sources[i].stokes[0]);
    }
    free(sources);
}

static void fuzz_gains(const uint8_t *bytes, size_t size)
{
    static const struct fx8_antenna antennas[] = {{.number = 0}, {.number = 7}};
    struct fx8_gain gains[2][FX8_MAX_POLARIZATIONS];
    struct fx8_error error = no_error();
    const enum fx8_status status =
        fx8_gain_table_load(scratch_write("fuzz.csv", bytes, size), antennas, 2,
                            true, gains[0], &error);
    if (status != FX8_OK) {
        claim_one_line(status, &error);
        return;
    }
    for (size_t i = 0; i < 4; i++) {
        const struct fx8_gain *gain = &gains[i / 2][i % 2];
        claim(gain->amplitude > 0 && isfinite(gain->amplitude), "amplitude %g",
              gain->amplitude);
        claim(fabs(gain->phase_deg) <= 360 && fabs(gain->delay_s) <= 1,
              "%g deg, %g s", gain->phase_deg, gain->delay_s);
    }
}

static void fuzz_centers(const uint8_t *bytes, size_t size)
{
    struct fx8_phase_center *centers = NULL;
    size_t n = 0;
    struct fx8_error error = no_error();
    const enum fx8_status status = fx8_catalogue_load(
        scratch_write("fuzz.csv", bytes, size), &centers, &n, &error);
    if (status != FX8_OK) {
        claim_one_line(status, &error);
        claim(centers == NULL, "phase centres after a failure");
        return;
    }
    claim(n > 0, "a table without rows");
    for (size_t i = 0; i < n; i++)
        claim(centers[i].name[0] != '\0' &&
                  strchr(centers[i].name, '/') == NULL &&
                  centers[i].icrs_deg[0] >= 0 &&
                  centers[i].icrs_deg[0] <= 360 &&
                  fabs(centers[i].icrs_deg[1]) <= 90,
              "%s", centers[i].name);
    free(centers);
}

static void fuzz_tart_config(const uint8_t *bytes, size_t size)
{
    char *text = text_of(bytes, size);
    struct fx8_observation observation = fx8_observation_unknown();
    int64_t n_antennas = 0;
    struct fx8_error error = no_error();
    const enum fx8_status status =
        fx8_tart_config("fuzz.hdf", text, &observation, &n_antennas, &error);
    if (status != FX8_OK)
        claim_one_line(status, &error);
    else
        claim(n_antennas >= 0 && observation.sample_rate.numerator_hz > 0 &&
                  observation.sample_rate.denominator > 0 &&
                  isfinite(observation.dc_frequency_hz),
              "%" PRId64 " antennas, %" PRId64 "/%" PRId64 " Hz at %g Hz",
              n_antennas, observation.sample_rate.numerator_hz,
              observation.sample_rate.denominator, observation.dc_frequency_hz);
    fx8_observation_clear(&observation);
    free(text);
}

/* --- single values ----------------------------------------------------- */

static void check_real(const char *text)
{
    double value = 0, again = 0;
    if (!fx8_number_real(text, &value))
        return;
    claim(isfinite(value) && value == strtod(text, NULL), "%s read as %.17g",
          text, value);
    char format[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_real(value, format);
    claim(fx8_number_real(format, &again) && again == value,
          "%s, written as %s, is %.17g", text, format, again);
}

static void check_integer(const char *text)
{
    int64_t value = 0;
    if (!fx8_number_integer(text, &value))
        return;
    errno = 0;
    claim(strtoll(text, NULL, 10) == value && errno == 0, "%s read as %" PRId64,
          text, value);
}

static void check_fraction(const char *text)
{
    int64_t terms[2] = {0, 0}, again[2] = {0, 0};
    if (!fx8_number_fraction(text, &terms[0], &terms[1]))
        return;
    claim(terms[0] >= 0 && terms[1] > 0, "%s read as %" PRId64 "/%" PRId64,
          text, terms[0], terms[1]);
    const char *slash = strchr(text, '/');
    const double below = slash == NULL ? 1 : strtod(slash + 1, NULL);
    const double wanted = strtod(text, NULL) / below;
    const double got = (double)terms[0] / (double)terms[1];
    /* six roundings to double */
    claim(fabs(got - wanted) <= 6 * 0x1p-53 * wanted, "%s read as %.17g", text,
          got);
    char format[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_fraction(terms[0], terms[1], format);
    /* a term of 19 digits is longer than a decimal may be */
    if (terms[0] < INT64_C(1000000000000000000) &&
        terms[1] < INT64_C(1000000000000000000))
        claim(fx8_number_fraction(format, &again[0], &again[1]) &&
                  again[0] == terms[0] && again[1] == terms[1],
              "%s, written as %s, is %" PRId64 "/%" PRId64, text, format,
              again[0], again[1]);
}

static void check_time(const char *text)
{
    struct fx8_time time = {0, 0}, again = {0, 0};
    if (!fx8_number_time(text, &time))
        return;
    claim(time.picosecond >= 0 && time.picosecond < FX8_PICOSECONDS,
          "%s has %" PRId64 " ps", text, time.picosecond);
    char format[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_time(time, format);
    claim(fx8_number_time(format, &again) && again.unix_s == time.unix_s &&
              again.picosecond == time.picosecond,
          "%s, written as %s, is another instant", text, format);
}

static void check_list(const char *text, bool is_selection)
{
    struct fx8_number_list list, again;
    memset(&list, 0, sizeof list);
    memset(&again, 0, sizeof again);
    if (fx8_number_list_read(text, is_selection, 0, 100000, &list) != FX8_OK) {
        claim(list.items == NULL, "a list after a failure");
        return;
    }
    for (size_t i = 0; i < list.count && list.items != NULL; i++)
        claim(list.items[i] >= 0 && list.items[i] <= 100000,
              "%s holds %" PRId64, text, list.items[i]);
    char *format = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&format, &length);
    claim(stream != NULL, "no memory");
    fx8_number_list_write(&list, is_selection, stream);
    fclose(stream);
    claim(fx8_number_list_read(format, is_selection, 0, 100000, &again) ==
                  FX8_OK &&
              again.is_all == list.is_all && again.is_count == list.is_count &&
              again.count == list.count &&
              (list.items == NULL || list.count == 0 ||
               memcmp(list.items, again.items,
                      list.count * sizeof *list.items) == 0),
          "%s, written as %s, is another list", text, format);
    free(format);
    free(list.items);
    free(again.items);
}

/* The first byte chooses a key; the rest is its value. */
static void check_key(const uint8_t *bytes, size_t size)
{
    const struct fx8_key *key = &fx8_keys[bytes[0] % fx8_keys_count];
    char *value = text_of(bytes + 1, size - 1);
    char *override = NULL;
    claim(asprintf(&override, "%s.%s=%s", key->section, key->name, value) > 0,
          "no memory");
    const char *const overrides[1] = {override};
    load_settings(NULL, overrides, 1);
    free(override);
    free(value);
}

static void fuzz_values(const uint8_t *bytes, size_t size)
{
    if (size == 0)
        return;
    check_key(bytes, size);
    char *text = text_of(bytes + 1, size - 1);
    check_real(text);
    check_integer(text);
    check_fraction(text);
    check_time(text);
    check_list(text, true);
    check_list(text, false);
    free(text);
}

static const struct {
    const char *name;
    void (*run)(const uint8_t *bytes, size_t size);
} targets[] = {
    {"ini", fuzz_ini},
    {"overrides", fuzz_overrides},
    {"antennas", fuzz_antennas},
    {"positions", fuzz_antennas}, /* the same loader, on seeds of JSON */
    {"sources", fuzz_sources},
    {"gains", fuzz_gains},
    {"centers", fuzz_centers},
    {"tart_config", fuzz_tart_config},
    {"values", fuzz_values},
};

static size_t target;

static const char *name_of(size_t i)
{
    return targets[i].name;
}

int LLVMFuzzerInitialize(int *n_arguments, char ***arguments)
{
    (void)n_arguments;
    (void)arguments;
    target = chosen_target(name_of, sizeof targets / sizeof targets[0]);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    targets[target].run(bytes, size);
    return 0;
}
