/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.h -- JSON (RFC 8259): read with jansson, written an item a line.
 */
#ifndef FX8_CONFIG_BASE_JSON_H
#define FX8_CONFIG_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * fx8_json_parse -- an object or an array, with all that it holds.
 *
 * Given:     where   file, for messages
 *            text    the whole of it
 *            fault   status of a text that is no JSON
 * Returned:  value   every number is a real, whatever it looks like
 * Status:    `fault` "WHERE:LINE: ..." for anything else, for a key that an
 *            object has twice, numbers beyond a double, nesting deeper than
 *            2048; FX8_ERR_SYSTEM when memory is short
 * Ownership: the caller releases `value` with json_decref(); NULL after failure
 */
enum fx8_status fx8_json_parse(const char *where, const char *text,
                               enum fx8_status fault, json_t **value,
                               struct fx8_error *error);

/** A value as text, cut to `size` bytes: strings bare, numbers short, all else
 *  as JSON writes it; "" for NULL. */
void fx8_json_show(const json_t *value, char *text, size_t size);

/** Deepest nesting of what is written. */
#define FX8_JSON_DEPTH 8

/** A writer; set `stream` and zero the rest. */
struct fx8_json {
    FILE *stream;
    int depth;
    char closing[FX8_JSON_DEPTH];
    bool has_items[FX8_JSON_DEPTH + 1];
};

/** In all of these `key` names the member of an object, and is NULL in an
 *  array and for the whole. */
void fx8_json_object(struct fx8_json *json, const char *key);
void fx8_json_array(struct fx8_json *json, const char *key);

/** End the object or the array opened last; after the outermost the line
 *  ends. */
void fx8_json_end(struct fx8_json *json);

/** Null for NaN and infinities; else the double that reads back the same. */
void fx8_json_real(struct fx8_json *json, const char *key, double value);
void fx8_json_integer(struct fx8_json *json, const char *key, int64_t value);
void fx8_json_bool(struct fx8_json *json, const char *key, bool value);

/** Null for NULL and for the empty text.  Text that is no UTF-8 gets '?' for
 *  every byte that is no ASCII. */
void fx8_json_text(struct fx8_json *json, const char *key, const char *text);

/** Whether a text is UTF-8 (RFC 3629). */
bool fx8_json_is_utf8(const char *text);

#ifdef __cplusplus
}
#endif

#endif
