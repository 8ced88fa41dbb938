/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.h -- a writer of JSON (RFC 8259), an item a line.
 */
#ifndef FX8_CONFIG_BASE_JSON_H
#define FX8_CONFIG_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Deepest nesting. */
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
