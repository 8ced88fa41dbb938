/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "config/base/json.h"
#include "config/base/number.h"
#include "config/base/shape.h"

/* --- reading ----------------------------------------------------- */

enum fx8_status fx8_json_parse(const char *where, const char *text,
                               enum fx8_status fault, json_t **value,
                               struct fx8_error *error)
{
    json_error_t why;
    *value = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL,
                        &why);
    if (*value != NULL)
        return FX8_OK;
    if (why.text[0] == '\0') /* jansson reports this without a text */
        return fx8_no_memory(where, error);
    return fx8_fail(error, fault, "%s:%d: %s: expected JSON", where, why.line,
                    why.text);
}

void fx8_json_release(json_t **value)
{
    json_decref(*value);
}

void fx8_json_show(const json_t *value, char *text, size_t size)
{
    char number[FX8_NUMBER_TEXT_SIZE];
    memset(text, 0, size);
    if (json_is_string(value)) {
        snprintf(text, size, "%s", json_string_value(value));
    } else if (json_is_real(value)) {
        fx8_number_format_real(json_real_value(value), number);
        snprintf(text, size, "%s", number);
    } else if (value != NULL) {
        json_dumpb(value, text, size - 1,
                   JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    }
}

/* --- texts ------------------------------------------------------- */

bool fx8_json_is_utf8(const char *text)
{
    json_t *string = json_string(text); /* NULL for anything else */
    json_decref(string);
    return string != NULL;
}

static void put_text(FILE *stream, const char *text)
{
    const bool is_good = fx8_json_is_utf8(text);
    putc('"', stream);
    for (const char *at = text; *at != '\0'; at++) {
        const unsigned char byte = (unsigned char)*at;
        if (byte == '"' || byte == '\\')
            fprintf(stream, "\\%c", byte);
        else if (byte < 0x20)
            fprintf(stream, "\\u%04x", byte);
        else
            putc(byte >= 0x80 && !is_good ? '?' : byte, stream);
    }
    putc('"', stream);
}

/* --- items ------------------------------------------------------- */

/* Write comma, line break, indentation and key of the next item. */
static void begin(struct fx8_json *json, const char *key)
{
    if (json->has_items[json->depth])
        putc(',', json->stream);
    json->has_items[json->depth] = true;
    if (json->depth > 0)
        fprintf(json->stream, "\n%*s", 2 * json->depth, "");
    if (key != NULL) {
        put_text(json->stream, key);
        fputs(": ", json->stream);
    }
}

static void open_level(struct fx8_json *json, const char *key,
                       const char brackets[2])
{
    begin(json, key);
    putc(brackets[0], json->stream);
    json->closing[json->depth++] = brackets[1];
    json->has_items[json->depth] = false;
}

void fx8_json_object(struct fx8_json *json, const char *key)
{
    open_level(json, key, "{}");
}

void fx8_json_array(struct fx8_json *json, const char *key)
{
    open_level(json, key, "[]");
}

void fx8_json_end(struct fx8_json *json)
{
    const bool has_items = json->has_items[json->depth];
    json->depth--;
    if (has_items)
        fprintf(json->stream, "\n%*s", 2 * json->depth, "");
    putc(json->closing[json->depth], json->stream);
    if (json->depth == 0)
        putc('\n', json->stream);
}

void fx8_json_real(struct fx8_json *json, const char *key, double value)
{
    char text[FX8_NUMBER_TEXT_SIZE] = "null";
    if (isfinite(value))
        fx8_number_format_real(value, text);
    begin(json, key);
    fputs(text, json->stream);
}

void fx8_json_reals(struct fx8_json *json, const char *key,
                    const double *values, size_t n)
{
    fx8_json_array(json, key);
    for (size_t i = 0; i < n; i++)
        fx8_json_real(json, NULL, values[i]);
    fx8_json_end(json);
}

void fx8_json_integer(struct fx8_json *json, const char *key, int64_t value)
{
    begin(json, key);
    fprintf(json->stream, "%" PRId64, value);
}

void fx8_json_bool(struct fx8_json *json, const char *key, bool value)
{
    begin(json, key);
    fputs(value ? "true" : "false", json->stream);
}

void fx8_json_text(struct fx8_json *json, const char *key, const char *text)
{
    begin(json, key);
    if (text == NULL || text[0] == '\0')
        fputs("null", json->stream);
    else
        put_text(json->stream, text);
}
