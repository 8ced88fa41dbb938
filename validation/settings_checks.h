/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * settings_checks.h -- configurations that must load, and ones that must not.
 */
#ifndef FX8_VALIDATION_SETTINGS_CHECKS_H
#define FX8_VALIDATION_SETTINGS_CHECKS_H

#include "config/settings.h"
#include "validation/scratch.h"
#include "validation/testing.h"

/* The two required keys. */
#define REQUIRED                                                               \
    "[channelizer]\nchannels = 64\n[correlator]\nintegration_time_s = 1\n"

/* The settings of the last call; the next one clears them. */
static struct fx8_settings settings;

/* Load a file (or NULL) and overrides (LIST() or NULL); after a failure nothing
 * is left. */
static inline enum fx8_status try_to_load(const char *path,
                                          const char *const *overrides,
                                          bool is_complete,
                                          struct fx8_error *error)
{
    size_t n = 0;
    while (overrides != NULL && overrides[n] != NULL)
        n++;
    fx8_settings_clear(&settings);
    memset(&settings, GARBAGE, sizeof settings);
    const enum fx8_status status =
        fx8_settings_load(path, overrides, n, is_complete, &settings, error);
    assert_true(status == FX8_OK || settings.origins == NULL);
    assert_true(status == FX8_OK || settings.input.files.items == NULL);
    return status;
}

/* A file and overrides that must be accepted. */
static inline void load_file(const char *path, const char *const *overrides,
                             bool is_complete)
{
    struct fx8_error error;
    must(try_to_load(path, overrides, is_complete, &error), error);
}

/* An INI text that must be accepted. */
static inline void load_text(const char *text)
{
    load_file(scratch_text("good.ini", text), NULL, true);
}

/* Bytes that must be refused with "PATH" + expected. */
static inline void refuse_bytes(const void *bytes, size_t size,
                                const char *expected)
{
    struct fx8_error error;
    const char *path = scratch_write("bad.ini", bytes, size);
    char whole[FX8_ERROR_MESSAGE_SIZE];
    snprintf(whole, sizeof whole, "%s%s", path, expected);
    must_fail(try_to_load(path, NULL, true, &error), error, FX8_ERR_USAGE,
              whole);
}

static inline void refuse_text(const char *text, const char *expected)
{
    refuse_bytes(text, strlen(text), expected);
}

/* Overrides that must be refused with this message. */
static inline void refuse_overrides(const char *const *overrides,
                                    bool is_complete, const char *message)
{
    struct fx8_error error;
    must_fail(try_to_load(NULL, overrides, is_complete, &error), error,
              FX8_ERR_USAGE, message);
}

/* The message about an override: "--set: key: value: " and then `expected`;
 * valid until the next call. */
static inline const char *fault_of(const char *override, const char *expected)
{
    static char whole[FX8_ERROR_MESSAGE_SIZE];
    const char *value = strchr(override, '=') + 1;
    snprintf(whole, sizeof whole, "--set: %.*s: %s: %s",
             (int)(value - 1 - override), override,
             *value != '\0' ? value : "(empty)", expected);
    return whole;
}

/* The last of a list. */
static inline const char *last_of(const char *const *texts)
{
    while (texts[1] != NULL)
        texts++;
    return *texts;
}

/* Overrides of which the last must be refused. */
static inline void refuse_last_override(const char *const *overrides,
                                        bool is_complete, const char *expected)
{
    refuse_overrides(overrides, is_complete,
                     fault_of(last_of(overrides), expected));
}

/* The dump of the settings; the caller frees it. */
static inline char *dump(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    fx8_settings_dump(&settings, stream);
    assert_int_equal(fclose(stream), 0);
    return text;
}

#endif
