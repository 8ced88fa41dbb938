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

/* Load an INI text that must be accepted. */
static inline struct fx8_settings load(const char *text)
{
    struct fx8_settings settings;
    struct fx8_error error;
    must(fx8_settings_load(scratch_text("good.ini", text), NULL, 0, true,
                           &settings, &error),
         error);
    return settings;
}

/* Load bytes that must be refused with "PATH" + expected. */
static inline void refuse_bytes(const void *bytes, size_t size,
                                const char *expected)
{
    struct fx8_settings settings;
    memset(&settings, GARBAGE, sizeof settings);
    struct fx8_error error;
    const char *path = scratch_write("bad.ini", bytes, size);
    char whole[FX8_ERROR_MESSAGE_SIZE];
    snprintf(whole, sizeof whole, "%s%s", path, expected);
    must_fail(fx8_settings_load(path, NULL, 0, true, &settings, &error), error,
              FX8_ERR_USAGE, whole);
    assert_null(settings.origins);
    assert_null(settings.input.files.items);
}

static inline void refuse(const char *text, const char *expected)
{
    refuse_bytes(text, strlen(text), expected);
}

#endif
