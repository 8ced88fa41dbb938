/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "config/base/json.h"
#include "config/base/number.h"

/* --- texts ------------------------------------------------------- */

/* Bytes of the UTF-8 sequence that begins here; 0: it is none (RFC 3629: no
 * surrogates, nothing longer than need be, nothing beyond U+10FFFF). */
static size_t sequence_length(const unsigned char *text)
{
    const unsigned lead = text[0];
    const size_t n = lead < 0x80                   ? 1
                     : lead >= 0xc2 && lead < 0xe0 ? 2
                     : lead >= 0xe0 && lead < 0xf0 ? 3
                     : lead >= 0xf0 && lead < 0xf5 ? 4
                                                   : 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80) /* the terminator is none either */
            return 0;
    const bool is_bad =
        (lead == 0xe0 && text[1] < 0xa0) || (lead == 0xed && text[1] >= 0xa0) ||
        (lead == 0xf0 && text[1] < 0x90) || (lead == 0xf4 && text[1] >= 0x90);
    return is_bad ? 0 : n;
}

bool fx8_json_is_utf8(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0') {
        const size_t n = sequence_length(at);
        if (n == 0)
            return false;
        at += n;
    }
    return true;
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

/* Comma, line, indentation and key of the next item. */
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
