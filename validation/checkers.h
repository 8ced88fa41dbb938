/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkers.h -- how long a test may take: which checker it was built for, and
 * whether its long version is asked for.
 */
#ifndef FX8_VALIDATION_CHECKERS_H
#define FX8_VALIDATION_CHECKERS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#define FX8_HAS_FEATURE(name) __has_feature(name)
#else
#define FX8_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_THREAD__) || FX8_HAS_FEATURE(thread_sanitizer)
#define FX8_THREAD_CHECKER 1
#else
#define FX8_THREAD_CHECKER 0
#endif

#if defined(__SANITIZE_ADDRESS__) || FX8_HAS_FEATURE(address_sanitizer)
#define FX8_ADDRESS_CHECKER 1
#else
#define FX8_ADDRESS_CHECKER 0
#endif

/** Most inputs of a test of correlators: an emulated CPU (check-aarch64) is a
 *  hundred times as slow. */
#if defined(FX8_EMULATED)
#define FX8_MOST_INPUTS 40
#else
#define FX8_MOST_INPUTS 1000
#endif

/** A checker makes everything several times as slow. */
#define FX8_CHECKED (FX8_THREAD_CHECKER || FX8_ADDRESS_CHECKER)

/** Whether the long versions of tests are asked for: FX8_LONG=1. */
static inline bool is_long(void)
{
    const char *text = getenv("FX8_LONG");
    return text != NULL && strcmp(text, "1") == 0;
}

#endif
