/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ini.h -- INI files, read with inih; errors name the line.
 *
 * Notation: "[section]", "key = value" (or "key: value").  Lines that start
 * with ';' or '#' are comments; a ';' after a blank starts a comment within a
 * line, a '#' does not.  Indentation and blanks around names and values are
 * ignored.  There are no continuation lines.
 */
#ifndef FX8_CONFIG_INI_H
#define FX8_CONFIG_INI_H

#include <stddef.h>

#include "correlator/fx8.h"

/** Longest line of an INI file in bytes: hundreds of long paths. */
#define FX8_INI_LINE_MAX 65535

/** One header or key line.  The texts are valid only during the call. */
struct fx8_ini_entry {
    const char *path;
    size_t line; /**< from 1 */
    const char *section;
    const char *key;   /**< NULL: the line is the header of `section` */
    const char *value; /**< "" if nothing follows the '=' */
};

/** Called for every entry in file order; a failure ends the parse. */
typedef enum fx8_status (*fx8_ini_handler)(void *context,
                                           const struct fx8_ini_entry *entry,
                                           struct fx8_error *error);

/**
 * fx8_ini_parse -- read a file and pass its entries to `handler`.
 *
 * Status: FX8_ERR_USAGE "FILE[:LINE]: ..." for a file that cannot be read, a
 *         byte that is not text, a line longer than FX8_INI_LINE_MAX, a line
 *         that is neither header nor key, a key outside any section; a failure
 *         of the handler; FX8_ERR_SYSTEM when memory is short
 */
enum fx8_status fx8_ini_parse(const char *path, fx8_ini_handler handler,
                              void *context, struct fx8_error *error);

#endif
