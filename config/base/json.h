/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.h -- JSON (RFC 8259): read with jansson, written one item per line.
 */
#ifndef FX8_CONFIG_BASE_JSON_H
#define FX8_CONFIG_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "correlator/fx8.h"

/**
 * fx8_json_parse -- parse an object or an array.
 *
 * Given:     where   file, for messages
 *            text    the whole of it
 *            fault   status to return for invalid text
 * Returned:  value   every number is a real, even if written as an integer
 * Status:    `fault` "WHERE:LINE: ..." for anything else, duplicate keys in an
 *            object, numbers beyond a double, nesting deeper than 2048;
 *            FX8_ERR_SYSTEM when memory is short
 * Ownership: the caller releases `value` with fx8_json_release(); NULL after
 *            failure
 */
enum fx8_status fx8_json_parse(const char *where, const char *text,
                               enum fx8_status fault, json_t **value,
                               struct fx8_error *error);

/** Release a value; NULL is legal. */
void fx8_json_release(json_t **value);

/** A value as text, cut to `size` bytes: strings without quotes, numbers short,
 *  the rest as JSON; "" for NULL. */
void fx8_json_show(const json_t *value, char *text, size_t size);

/** Deepest nesting that can be written. */
#define FX8_JSON_DEPTH 8

/** A writer; set `stream` and zero the rest. */
struct fx8_json {
    FILE *stream;
    int depth;
    char closing[FX8_JSON_DEPTH];
    bool has_items[FX8_JSON_DEPTH + 1];
};

/** In all of these, `key` names the member of an object; NULL in an array and
 *  at the top level. */
void fx8_json_object(struct fx8_json *json, const char *key);
void fx8_json_array(struct fx8_json *json, const char *key);

/** End the object or array opened last; ends the line after the outermost. */
void fx8_json_end(struct fx8_json *json);

/** Writes null for NaN and infinities, else a decimal for the same double. */
void fx8_json_real(struct fx8_json *json, const char *key, double value);
void fx8_json_reals(struct fx8_json *json, const char *key,
                    const double *values, size_t n);
void fx8_json_integer(struct fx8_json *json, const char *key, int64_t value);
void fx8_json_bool(struct fx8_json *json, const char *key, bool value);

/** Writes null for NULL and the empty text.  If the text is not UTF-8, every
 *  non-ASCII byte becomes '?'. */
void fx8_json_text(struct fx8_json *json, const char *key, const char *text);

/** Whether a text is UTF-8 (RFC 3629). */
bool fx8_json_is_utf8(const char *text);

#endif
