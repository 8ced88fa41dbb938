/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * settings_checks.h -- configurations that must load, and that must not.
 */
#ifndef FX8_VALIDATION_SETTINGS_CHECKS_H
#define FX8_VALIDATION_SETTINGS_CHECKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/settings.h"
#include "validation/scratch.h"

/* The two keys without which nothing is complete. */
#define REQUIRED                                                               \
    "[channelizer]\nchannels = 64\n[correlator]\nintegration_time_s = 1\n"

/* Load the INI text that must be good. */
static inline struct fx8_settings load(const char *text)
{
    struct fx8_settings settings;
    struct fx8_error error;
    error.message[0] = '\0';
    const enum fx8_status status = fx8_settings_load(
        scratch_text("good.ini", text), NULL, 0, true, &settings, &error);
    if (status != FX8_OK)
        print_error("%s\n", error.message);
    assert_int_equal(status, FX8_OK);
    return settings;
}

/* Load bytes that must be refused with "PATH" + expected. */
static inline void refuse_bytes(const void *bytes, size_t size,
                                const char *expected)
{
    struct fx8_settings settings;
    memset(&settings, 0xa5, sizeof settings);
    struct fx8_error error;
    error.message[0] = '\0';
    const char *path = scratch_write("bad.ini", bytes, size);
    assert_int_equal(fx8_settings_load(path, NULL, 0, true, &settings, &error),
                     FX8_ERR_USAGE);
    char whole[FX8_ERROR_MESSAGE_SIZE];
    snprintf(whole, sizeof whole, "%s%s", path, expected);
    assert_string_equal(error.message, whole);
    assert_null(settings.origins);
    assert_null(settings.input.files.items);
}

static inline void refuse(const char *text, const char *expected)
{
    refuse_bytes(text, strlen(text), expected);
}

#endif
