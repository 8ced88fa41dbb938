/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * claims.h -- what fuzz targets share: a claim that does not hold ends the
 * program, which the fuzzer counts as a crash; what a refusal must look like.
 */
#ifndef FX8_VALIDATION_FUZZ_CLAIMS_H
#define FX8_VALIDATION_FUZZ_CLAIMS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correlator/fx8.h"

/** End the program with a message if `holds` is false. */
__attribute__((format(printf, 2, 3))) static inline void claim(
    bool holds, const char *format, ...)
{
    if (holds)
        return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "claim broken: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    abort();
}

/** The record of a failed call: its status, and a message of one line. */
static inline void claim_one_line(enum fx8_status status,
                                  const struct fx8_error *error)
{
    claim(status < 0, "status %d is no failure", (int)status);
    claim(error->status == status, "status %d, but %d in the record",
          (int)status, (int)error->status);
    claim(memchr(error->message, '\0', sizeof error->message) != NULL,
          "a message without an end");
    claim(error->message[0] != '\0', "a failure without a message");
    for (const char *at = error->message; *at != '\0'; at++)
        claim((unsigned char)*at >= ' ' && *at != '\x7f',
              "control character %d in: %s", (int)*at, error->message);
}

/** An empty record. */
static inline struct fx8_error no_error(void)
{
    struct fx8_error error;
    memset(&error, 0, sizeof error);
    return error;
}

/** Index of the target named by FX8_FUZZ_TARGET in a table of `n` names; any
 *  other name ends the program with the list of them. */
static inline size_t chosen_target(const char *(*name_of)(size_t), size_t n)
{
    const char *wanted = getenv("FX8_FUZZ_TARGET");
    for (size_t i = 0; i < n && wanted != NULL; i++)
        if (strcmp(wanted, name_of(i)) == 0)
            return i;
    fprintf(stderr, "FX8_FUZZ_TARGET: %s: expected one of",
            wanted == NULL ? "not set" : wanted);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, " %s", name_of(i));
    fprintf(stderr, "\n");
    exit(2);
}

#endif
