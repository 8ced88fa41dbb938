/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loading: defaults, then the file, then overrides, then checks that involve
 * several keys.  Printing is in settings_print.c.
 */
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/line.h"
#include "config/base/nearest.h"
#include "config/base/read_files.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "config/frequency_list.h"
#include "config/ini.h"
#include "config/keys.h"
#include "config/settings.h"

/* Most characters of a value quoted in a message. */
#define QUOTED_MAX 120

/* --- origins of values ---------------------------------------------------- */

/* Find the key "section.key", or NULL. */
static const struct fx8_key *find_by_full_name(const char *name)
{
    for (size_t i = 0; i < fx8_keys_count; i++) {
        const size_t n_section = strlen(fx8_keys[i].section);
        if (strncmp(name, fx8_keys[i].section, n_section) == 0 &&
            name[n_section] == '.' &&
            strcmp(name + n_section + 1, fx8_keys[i].name) == 0)
            return &fx8_keys[i];
    }
    return NULL;
}

static struct fx8_key_origin *origin_of(const struct fx8_settings *settings,
                                        const struct fx8_key *key)
{
    return &settings->origins[key - fx8_keys];
}

bool fx8_settings_given(const struct fx8_settings *settings, const char *key)
{
    const struct fx8_key *found = find_by_full_name(key);
    return found != NULL && settings->origins != NULL &&
           origin_of(settings, found)->kind != FX8_ORIGIN_DEFAULT;
}

/* Report an invalid value: "FILE:LINE: section.key: value: TEXT". */
static enum fx8_status fail_value(const struct fx8_key *key,
                                  const struct fx8_key_origin *origin,
                                  struct fx8_error *error, const char *text)
{
    const char *value = origin->text != NULL ? origin->text : key->fallback;
    if (value == NULL)
        value = "(not given)";
    if (*value == '\0')
        value = "(empty)";
    const char *dots = strlen(value) > QUOTED_MAX ? "..." : "";
    if (origin->kind == FX8_ORIGIN_FILE)
        return fx8_fail(error, FX8_ERR_USAGE, "%s:%zu: %s.%s: %.*s%s: %s",
                        origin->file, origin->line, key->section, key->name,
                        QUOTED_MAX, value, dots, text);
    return fx8_fail(error, FX8_ERR_USAGE, "%s: %s.%s: %.*s%s: %s",
                    origin->kind == FX8_ORIGIN_OVERRIDE ? "--set" : "default",
                    key->section, key->name, QUOTED_MAX, value, dots, text);
}

enum fx8_status fx8_settings_fail(const struct fx8_settings *settings,
                                  const char *key, struct fx8_error *error,
                                  const char *format, ...)
{
    char text[FX8_ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const struct fx8_key *found = find_by_full_name(key);
    if (found == NULL || settings->origins == NULL)
        return fx8_fail(error, FX8_ERR_USAGE, "%s: %s", key, text);
    return fail_value(found, origin_of(settings, found), error, text);
}

bool fx8_key_is_missing(const struct fx8_key *key,
                        const struct fx8_settings *settings)
{
    /* method none implies one channel */
    const bool is_implied = settings->channelizer.method == FX8_METHOD_NONE &&
                            strcmp(key->name, "channels") == 0;
    return key->fallback == NULL && !is_implied &&
           origin_of(settings, key)->kind == FX8_ORIGIN_DEFAULT;
}

/* --- one value ------------------------------------------------------------ */

/* Text that an INI file cannot hold, and so would not survive a dump. */
static const char *unwritable_part(const char *text)
{
    if (*text == ';')
        return "expected no ';' at its start, where it opens a comment";
    for (const char *c = text; *c != '\0'; c++) {
        if (((unsigned char)*c < 0x20 && *c != '\t') || *c == 0x7f)
            return "expected no control character";
        if (*c == ';' && (c[-1] == ' ' || c[-1] == '\t'))
            return "expected no ';' after a blank, where it opens a comment";
    }
    return NULL;
}

/* Set a key from a text.  Takes ownership of `origin`, also on failure. */
static enum fx8_status assign(struct fx8_settings *settings,
                              const struct fx8_key *key,
                              struct fx8_key_origin origin, const char *folder,
                              struct fx8_error *error)
{
    struct fx8_key_origin *stored = origin_of(settings, key);
    free(stored->file);
    free(stored->text);
    *stored = origin;
    if (origin.text == NULL ||
        (origin.kind == FX8_ORIGIN_FILE && origin.file == NULL))
        return fx8_no_memory("the configuration", error);
    const char *unwritable = unwritable_part(origin.text);
    if (unwritable != NULL)
        return fail_value(key, stored, error, unwritable);

    const enum fx8_status status =
        fx8_key_read(key, origin.text, folder, settings);
    if (status == FX8_ERR_SYSTEM)
        return fx8_no_memory("the configuration", error);
    if (status == FX8_OK)
        return FX8_OK;
    char expected[FX8_KEY_EXPECTED_SIZE];
    char text[FX8_KEY_EXPECTED_SIZE + 120];
    fx8_key_describe(key, expected);
    const bool has_hash =
        origin.kind == FX8_ORIGIN_FILE && strchr(origin.text, '#') != NULL;
    snprintf(text, sizeof text, "expected %s%s", expected,
             has_hash ? "; a comment after a value starts with ';', not '#'"
                      : "");
    return fail_value(key, stored, error, text);
}

/* `place` is "FILE:LINE" or "--set". */
static enum fx8_status fail_unknown(const char *place, const char *section,
                                    const char *name, const char *value,
                                    struct fx8_error *error)
{
    struct fx8_nearest nearest = {.name = name};
    const struct fx8_key *meant = NULL;
    for (const struct fx8_key *key = fx8_keys; key < fx8_keys + fx8_keys_count;
         key++) {
        /* a correct name in a wrong section is a small error, however different
         * the section names are */
        const size_t of_section = fx8_word_distance(section, key->section);
        if (fx8_nearest_offer(&nearest, key->name,
                              of_section < 2 ? of_section : 2))
            meant = key;
    }
    if (meant == NULL)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: %.80s.%.80s: %.80s: unknown key; `fx8 config "
                        "--keys` lists those there are",
                        place, section, name, value);
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: %.80s.%.80s: %.80s: unknown key; did you mean %s.%s?",
                    place, section, name, value, meant->section, meant->name);
}

/* --- the file ------------------------------------------------------------- */

struct loader {
    struct fx8_settings *settings;
    const char *folder; /* of the INI file */
};

static enum fx8_status take_header(const struct fx8_ini_entry *entry,
                                   struct fx8_error *error)
{
    if (fx8_section_exists(entry->section))
        return FX8_OK;
    struct fx8_nearest nearest = {.name = entry->section};
    for (size_t i = 0; i < fx8_sections_count; i++)
        fx8_nearest_offer(&nearest, fx8_sections[i].name, 0);
    if (nearest.word != NULL)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s:%zu: [%.80s]: unknown section; did you mean [%s]?",
                        entry->path, entry->line, entry->section, nearest.word);
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s:%zu: [%.80s]: unknown section; `fx8 config --keys` "
                    "lists those there are",
                    entry->path, entry->line, entry->section);
}

static enum fx8_status take_entry(void *context,
                                  const struct fx8_ini_entry *entry,
                                  struct fx8_error *error)
{
    struct loader *loader = context;
    if (entry->key == NULL)
        return take_header(entry, error);
    const struct fx8_key *key = fx8_key_find(entry->section, entry->key);
    if (key == NULL) {
        char place[FX8_ERROR_MESSAGE_SIZE / 2];
        snprintf(place, sizeof place, "%s:%zu", entry->path, entry->line);
        return fail_unknown(place, entry->section, entry->key, entry->value,
                            error);
    }
    const struct fx8_key_origin *earlier = origin_of(loader->settings, key);
    if (earlier->kind == FX8_ORIGIN_FILE)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s:%zu: %s.%s: %.80s: expected once, but line %zu "
                        "has it too",
                        entry->path, entry->line, key->section, key->name,
                        entry->value, earlier->line);
    const struct fx8_key_origin origin = {
        .kind = FX8_ORIGIN_FILE,
        .file = strdup(entry->path),
        .line = entry->line,
        .text = strdup(entry->value),
    };
    return assign(loader->settings, key, origin, loader->folder, error);
}

static enum fx8_status load_file(const char *path,
                                 struct fx8_settings *settings,
                                 struct fx8_error *error)
{
    FX8_AUTO_FREE char *folder = fx8_path_folder(path);
    if (folder == NULL)
        return fx8_no_memory(path, error);
    struct loader loader = {settings, folder};
    return fx8_ini_parse(path, take_entry, &loader, error);
}

/* --- overrides and defaults ----------------------------------------------- */

/* Apply one text "section.key=value"; blanks around the parts are ignored. */
static enum fx8_status apply_override(struct fx8_settings *settings,
                                      const char *text, struct fx8_error *error)
{
    FX8_AUTO_FREE char *copy = strdup(text);
    if (copy == NULL)
        return fx8_no_memory("the configuration", error);
    char *equals = strchr(copy, '=');
    char *dot = strchr(copy, '.');
    if (equals == NULL || dot == NULL || dot > equals)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "--set: %.80s: expected section.key=value", text);
    *dot = *equals = '\0';
    const char *section = fx8_text_trim(copy), *name = fx8_text_trim(dot + 1),
               *value = fx8_text_trim(equals + 1);
    const struct fx8_key *key = fx8_key_find(section, name);
    if (key == NULL)
        return fail_unknown("--set", section, name, value, error);
    const struct fx8_key_origin origin = {
        .kind = FX8_ORIGIN_OVERRIDE,
        .text = strdup(value),
    };
    return assign(settings, key, origin, "", error);
}

static enum fx8_status set_defaults(struct fx8_settings *settings,
                                    struct fx8_error *error)
{
    for (size_t i = 0; i < fx8_keys_count; i++) {
        const struct fx8_key *key = &fx8_keys[i];
        /* a missing required key becomes 0 or NaN */
        if (key->fallback == NULL && key->type == &fx8_type_real)
            *(double *)(void *)((char *)settings + key->offset) = NAN;
        if (key->fallback != NULL &&
            fx8_key_read(key, key->fallback, "", settings) != FX8_OK)
            return fx8_no_memory("the configuration", error);
    }
    return FX8_OK;
}

/* --- checks across keys --------------------------------------------------- */

/* Channels of a band after keep_fraction; 0 if not whole. */
static size_t count_kept(const struct fx8_settings *settings)
{
    const size_t numerator = (size_t)settings->keep_fraction.numerator;
    const size_t denominator = (size_t)settings->keep_fraction.denominator;
    const size_t channels = settings->channelizer.n_channels;
    /* in lowest terms, so a larger denominator cannot divide the channels */
    return channels % denominator == 0 ? channels / denominator * numerator : 0;
}

static enum fx8_status check_method_none(struct fx8_settings *settings,
                                         struct fx8_error *error)
{
    if (fx8_settings_given(settings, "channelizer.channels") &&
        settings->channelizer.n_channels != 1)
        return fx8_settings_fail(settings, "channelizer.channels", error,
                                 "expected 1 with channelizer.method = none");
    settings->channelizer.n_channels = 1;
    if (settings->channelizer.window != FX8_WINDOW_AUTO)
        return fx8_settings_fail(settings, "channelizer.window", error,
                                 "expected auto with channelizer.method = "
                                 "none, which has no filter");
    if (settings->channelizer.fir != FX8_FIR_FP32)
        return fx8_settings_fail(settings, "channelizer.fir", error,
                                 "expected fp32 with channelizer.method = "
                                 "none, which has no filter");
    if (settings->keep_fraction.denominator != 1)
        return fx8_settings_fail(settings, "channelizer.keep_fraction", error,
                                 "expected 1 with channelizer.method = none");
    if (settings->channelizer.flag_dc)
        return fx8_settings_fail(settings, "channelizer.flag_dc", error,
                                 "expected no with channelizer.method = none, "
                                 "whose one channel it would flag");
    return FX8_OK;
}

static enum fx8_status check_together(struct fx8_settings *settings,
                                      struct fx8_error *error)
{
    if (settings->channelizer.method == FX8_METHOD_NONE)
        FX8_TRY(check_method_none(settings, error));
    const size_t channels = settings->channelizer.n_channels;
    if (channels == 0)
        return FX8_OK; /* a fragment */
    const size_t kept = count_kept(settings);
    if (kept == 0)
        return fx8_settings_fail(settings, "channelizer.keep_fraction", error,
                                 "expected a fraction that is a whole number "
                                 "of the %zu %s",
                                 channels,
                                 FX8_NOUN(channels, "channel", "channels"));
    settings->channelizer.n_kept = kept == channels ? 0 : kept;
    const size_t edges = settings->channelizer.flag_edges;
    if (edges != FX8_FLAG_EDGES_AUTO && edges > 0 && 2 * edges >= kept)
        return fx8_settings_fail(settings, "channelizer.flag_edges", error,
                                 "expected less than half of the %zu %s", kept,
                                 FX8_NOUN(kept, "channel", "channels"));
    /* single-channel bands may be averaged together; the job checks that */
    if (kept > 1 && kept % settings->output.channel_average != 0)
        return fx8_settings_fail(settings, "output.channel_average", error,
                                 "expected a divisor of the %zu channels%s",
                                 kept,
                                 kept == channels ? "" : " kept of a band");
    return FX8_OK;
}

/* --- loading -------------------------------------------------------------- */

/* Protect every named table from being overwritten by a result, even if this
 * command does not read it. */
static enum fx8_status spare_tables(const struct fx8_settings *settings,
                                    struct fx8_error *error)
{
    const char *const tables[] = {
        settings->array.positions,     settings->array.gains,
        settings->delay.phase_centers, settings->delay.iers_file,
        settings->simulate.sources,    settings->ripple_file,
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct stat status;
        if (stat(tables[i], &status) == 0 && S_ISREG(status.st_mode) &&
            !fx8_read_files_add(&status))
            return fx8_no_memory("the configuration", error);
    }
    return FX8_OK;
}

enum fx8_status fx8_settings_load(const char *ini_path,
                                  const char *const *overrides,
                                  size_t n_overrides, bool check_required,
                                  struct fx8_settings *settings,
                                  struct fx8_error *error)
{
    FX8_AUTO(fx8_settings_clear)
    struct fx8_settings new = {.observation = fx8_observation_unknown(),
                               .origins =
                                   calloc(fx8_keys_count, sizeof *new.origins)};
    *settings = (struct fx8_settings){0};
    if (new.origins == NULL)
        return fx8_no_memory("the configuration", error);
    FX8_TRY(set_defaults(&new, error));
    if (ini_path != NULL) {
        new.path = strdup(ini_path);
        if (new.path == NULL)
            return fx8_no_memory("the configuration", error);
        FX8_TRY(load_file(ini_path, &new, error));
    }
    for (size_t i = 0; i < n_overrides; i++)
        FX8_TRY(apply_override(&new, overrides[i], error));
    if (check_required)
        FX8_TRY(fx8_settings_complete(&new, NULL, NULL, error));
    FX8_TRY(check_together(&new, error));
    FX8_TRY(spare_tables(&new, error));
    if (new.flag.channels.path != NULL)
        FX8_TRY(fx8_frequency_list_load(&new.flag.channels, error));
    *settings = new;
    new = (struct fx8_settings){0};
    return FX8_OK;
}

static enum fx8_status append_matches(const struct fx8_settings *settings,
                                      const char *pattern,
                                      struct fx8_text_list *files,
                                      struct fx8_error *error)
{
    glob_t matches = {0};
    enum fx8_status status = FX8_OK;
    const int code = glob(pattern, 0, NULL, &matches);
    if (code == GLOB_NOSPACE)
        status = fx8_no_memory("the list of files", error);
    else if (code != 0)
        status = fx8_settings_fail(settings, "input.files", error,
                                   "expected files that match %s", pattern);
    for (size_t i = 0; status == FX8_OK && i < matches.gl_pathc; i++)
        status = fx8_text_list_add(files, strdup(matches.gl_pathv[i]), error);
    globfree(&matches);
    return status;
}

enum fx8_status fx8_settings_files(const struct fx8_settings *settings,
                                   struct fx8_text_list *files,
                                   struct fx8_error *error)
{
    *files = (struct fx8_text_list){0};
    enum fx8_status status = FX8_OK;
    for (size_t i = 0; status == FX8_OK && i < settings->input.files.count;
         i++) {
        const char *entry = settings->input.files.items[i];
        status = fx8_path_is_pattern(entry) && access(entry, F_OK) != 0
                     ? append_matches(settings, entry, files, error)
                     : fx8_text_list_add(files, strdup(entry), error);
    }
    if (status != FX8_OK)
        fx8_text_list_clear(files);
    return status;
}

void fx8_settings_clear(struct fx8_settings *settings)
{
    for (size_t i = 0; i < fx8_keys_count; i++) {
        if (fx8_keys[i].type->clear != NULL)
            fx8_keys[i].type->clear((char *)settings + fx8_keys[i].offset);
        if (settings->origins != NULL) {
            free(settings->origins[i].file);
            free(settings->origins[i].text);
        }
    }
    free(settings->origins);
    free(settings->path);
    *settings = (struct fx8_settings){0};
}
