/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reader of JSON (RFC 8259) for one shape of document.  Every function takes
 * what it is named after off the text and leaves the cursor behind it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/positions_json.h"

/* Deepest nesting in a member that is skipped: a hostile file must not use up
 * the stack. */
#define DEPTH_MAX 64

struct json {
    const char *path;
    const char *next;
    size_t line;
    double (*positions)[3];
    size_t *lines;
    size_t n_positions;
    size_t room;
    struct fx8_error *error;
};

static enum fx8_status fail_expected(const struct json *json,
                                     const char *expected)
{
    char found[24] = "end of file";
    if (*json->next != '\0') {
        const size_t length = strcspn(json->next, "\n");
        snprintf(found, sizeof found, "%.*s", length > 20 ? 20 : (int)length,
                 json->next);
    }
    return fx8_fail(json->error, FX8_ERR_USAGE, "%s:%zu: %s: expected %s",
                    json->path, json->line, found, expected);
}

static void skip_space(struct json *json)
{
    for (; *json->next != '\0' && strchr(" \t\n", *json->next) != NULL;
         json->next++)
        json->line += *json->next == '\n';
}

/* Whether the next token is this character; taken if so. */
static bool take(struct json *json, char c)
{
    skip_space(json);
    if (*json->next != c)
        return false;
    json->next++;
    return true;
}

static enum fx8_status require(struct json *json, char c, const char *expected)
{
    return take(json, c) ? FX8_OK : fail_expected(json, expected);
}

/* Length of the string at the cursor without its quotes, escapes unread; line
 * ends cannot stand in one. */
static enum fx8_status take_string(struct json *json, const char **start,
                                   size_t *length)
{
    skip_space(json);
    const char *c = json->next;
    if (*c != '"')
        return fail_expected(json, "a string");
    for (c++; *c != '"'; c++) {
        if (*c == '\0' || *c == '\n')
            return fail_expected(json, "a string with both its quotes");
        if (*c == '\\' && c[1] != '\0' && c[1] != '\n')
            c++;
    }
    *start = json->next + 1;
    *length = (size_t)(c - *start);
    json->next = c + 1;
    return FX8_OK;
}

static enum fx8_status take_number(struct json *json, double *value)
{
    skip_space(json);
    const char *start = json->next;
    const size_t length = strspn(start, "+-.0123456789eE");
    const char *digits = start + (*start == '-');
    char text[64];
    /* stricter than fx8_number_real(): no plus, no bare or leading point, no
     * leading zero */
    const bool is_json =
        *digits >= '0' && *digits <= '9' &&
        !(digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') &&
        length > 0 && length < sizeof text;
    if (!is_json)
        return fail_expected(json, "a number");
    memcpy(text, start, length);
    text[length] = '\0';
    const char *point = strchr(text, '.');
    if ((point != NULL && (point[1] < '0' || point[1] > '9')) ||
        !fx8_number_real(text, value))
        return fail_expected(json, "a number");
    json->next += length;
    return FX8_OK;
}

/* --- values of no interest ------------------------------------------------ */

static bool take_literal(struct json *json)
{
    static const char *const literals[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof literals / sizeof *literals; i++) {
        const size_t length = strlen(literals[i]);
        if (strncmp(json->next, literals[i], length) == 0) {
            json->next += length;
            return true;
        }
    }
    return false;
}

static enum fx8_status skip_value(struct json *json, int depth);

/* The rest of an object or array, its opening bracket taken. */
static enum fx8_status skip_items(struct json *json, char close, int depth)
{
    if (depth >= DEPTH_MAX)
        return fail_expected(json, "less deeply nested values");
    if (take(json, close))
        return FX8_OK;
    do {
        enum fx8_status status = FX8_OK;
        if (close == '}') {
            const char *name;
            size_t length;
            status = take_string(json, &name, &length);
            if (status == FX8_OK)
                status = require(json, ':', "':'");
        }
        if (status == FX8_OK)
            status = skip_value(json, depth + 1);
        if (status != FX8_OK)
            return status;
    } while (take(json, ','));
    return require(json, close, close == '}' ? "',' or '}'" : "',' or ']'");
}

static enum fx8_status skip_value(struct json *json, int depth)
{
    const char *start;
    size_t length;
    double value;
    skip_space(json);
    if (*json->next == '"')
        return take_string(json, &start, &length);
    if (take(json, '{'))
        return skip_items(json, '}', depth);
    if (take(json, '['))
        return skip_items(json, ']', depth);
    return take_literal(json) ? FX8_OK : take_number(json, &value);
}

/* --- positions ------------------------------------------------------------ */

static enum fx8_status grow(struct json *json)
{
    if (json->n_positions < json->room)
        return FX8_OK;
    const size_t larger = json->room == 0 ? 64 : json->room * 2;
    double(*positions)[3] =
        realloc(json->positions, larger * sizeof *positions);
    if (positions != NULL)
        json->positions = positions;
    size_t *lines = realloc(json->lines, larger * sizeof *lines);
    if (lines != NULL)
        json->lines = lines;
    if (positions == NULL || lines == NULL)
        return fx8_no_memory(json->path, json->error);
    json->room = larger;
    return FX8_OK;
}

/* [east, north, up] */
static enum fx8_status take_position(struct json *json)
{
    static const char expected[] = "[east, north, up] in metres";
    enum fx8_status status = grow(json);
    if (status == FX8_OK)
        status = require(json, '[', expected);
    if (status != FX8_OK)
        return status;
    json->lines[json->n_positions] = json->line;
    for (size_t axis = 0; axis < 3; axis++) {
        if (axis > 0)
            status = require(json, ',', expected);
        if (status == FX8_OK)
            status =
                take_number(json, &json->positions[json->n_positions][axis]);
        if (status != FX8_OK)
            return status;
    }
    json->n_positions++;
    return require(json, ']', expected);
}

static enum fx8_status take_positions(struct json *json)
{
    enum fx8_status status = require(json, '[', "an array of positions");
    if (status != FX8_OK)
        return status;
    do {
        status = take_position(json);
        if (status != FX8_OK)
            return status;
    } while (take(json, ','));
    return require(json, ']', "',' or ']'");
}

/* Members of the outer object, its opening brace taken. */
static enum fx8_status take_members(struct json *json)
{
    static const char member[] = "antenna_positions";
    bool is_found = false;
    if (!take(json, '}')) {
        do {
            const char *name;
            size_t length;
            enum fx8_status status = take_string(json, &name, &length);
            if (status == FX8_OK)
                status = require(json, ':', "':'");
            const bool is_member = status == FX8_OK &&
                                   length == strlen(member) &&
                                   memcmp(name, member, length) == 0;
            if (is_member && is_found)
                status = fail_expected(json, "antenna_positions once");
            else if (is_member)
                status = take_positions(json);
            else if (status == FX8_OK)
                status = skip_value(json, 0);
            if (status != FX8_OK)
                return status;
            is_found = is_found || is_member;
        } while (take(json, ','));
        const enum fx8_status status = require(json, '}', "',' or '}'");
        if (status != FX8_OK)
            return status;
    }
    if (!is_found)
        return fx8_fail(json->error, FX8_ERR_USAGE,
                        "%s: antenna_positions: expected this member, an array "
                        "of [east, north, up]",
                        json->path);
    return FX8_OK;
}

enum fx8_status fx8_positions_json_parse(const char *path, const char *text,
                                         double (**positions)[3],
                                         size_t **lines, size_t *n_positions,
                                         struct fx8_error *error)
{
    struct json json = {.path = path, .next = text, .line = 1, .error = error};
    enum fx8_status status =
        take(&json, '{') ? take_members(&json) : take_positions(&json);
    skip_space(&json);
    if (status == FX8_OK && *json.next != '\0')
        status = fail_expected(&json, "the end of the file");
    if (status != FX8_OK) {
        free(json.positions);
        free(json.lines);
        json = (struct json){0};
    }
    *positions = json.positions;
    *lines = json.lines;
    *n_positions = json.n_positions;
    return status;
}
