/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inih has a line buffer of about 200 bytes and treats the rest as a new line.
 * Values such as lists of paths are longer, so the reader below passes a long
 * line to inih in fragments:
 *
 *     key = first part|
 *      |second part|
 *      |last part|
 *
 * inih treats an indented line as another value of the same key.  The bars
 * preserve blanks at the cuts; on_value() removes them and joins the parts.
 */
#include <ini.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "config/ini.h"

struct source {
    const char *path;
    char *next;    /* start of the next line */
    size_t line;   /* number of the current line */
    char *rest;    /* rest of a long line, or NULL */
    bool is_first; /* the current fragment starts an entry ... */
    bool is_cut;   /* ... and this one ends with a bar */
    char *value;   /* [FX8_INI_LINE_MAX + 1] value joined so far */
    size_t n_value;
    fx8_ini_handler handler;
    void *context;
    enum fx8_status status;
    struct fx8_error *error;
};

/* End the parse with an error on the current line. */
#define FAIL_LINE(source, ...)                                                 \
    ((source)->status = fx8_fail((source)->error, FX8_ERR_USAGE, __VA_ARGS__))

/* Next line without outer blanks and comments; NULL at the end of the text. */
static char *take_line(struct source *source)
{
    char *line = source->next;
    if (*line == '\0')
        return NULL;
    const size_t length = strcspn(line, "\n");
    source->next = line + length + (line[length] == '\n');
    line[length] = '\0';
    source->line++;
    if (length > FX8_INI_LINE_MAX) {
        FAIL_LINE(source, "%s:%zu: line of %zu bytes: expected at most %d",
                  source->path, source->line, length, FX8_INI_LINE_MAX);
        return NULL;
    }
    for (char *c = line; *c != '\0'; c++)
        if (*c == ';' && (c == line || c[-1] == ' ' || c[-1] == '\t')) {
            *c = '\0'; /* comment to the end of the line */
            break;
        }
    line = fx8_text_trim(line);
    if (*line == '#')
        *line = '\0';
    return line;
}

/* A section header: pass it to the handler. */
static void check_header(struct source *source, const char *line)
{
    const size_t length = strlen(line);
    if (length < 3 || line[length - 1] != ']') {
        FAIL_LINE(source, "%s:%zu: %.80s: expected [section]", source->path,
                  source->line, line);
        return;
    }
    char *section = strndup(line + 1, length - 2);
    if (section == NULL) {
        source->status = fx8_no_memory(source->path, source->error);
        return;
    }
    source->status = source->handler(
        source->context,
        &(struct fx8_ini_entry){source->path, source->line, section, NULL, ""},
        source->error);
    free(section);
}

/* Checks that inih cannot report with our line number. */
static void check_line(struct source *source, const char *line, size_t room)
{
    if (*line == '[') {
        check_header(source, line);
        return;
    }
    /* the name must fit into the first fragment */
    const size_t n_name = strcspn(line, "=:");
    if (*line != '\0' &&
        (n_name == 0 || line[n_name] == '\0' || n_name >= room))
        FAIL_LINE(source, "%s:%zu: %.80s: expected key = value", source->path,
                  source->line, line);
}

/* Reader callback for inih, like fgets(). */
static char *feed(char *buffer, int size, void *stream)
{
    struct source *source = stream;
    const size_t room = (size_t)size - sizeof " ||\n";
    char *text = source->rest;
    source->is_first = text == NULL;
    if (source->status == FX8_OK && source->is_first) {
        text = take_line(source);
        if (text != NULL)
            check_line(source, text, room);
    }
    if (source->status != FX8_OK || text == NULL)
        return NULL;
    size_t n = strlen(text);
    source->is_cut = !source->is_first || n > room;
    source->rest = n > room ? text + room : NULL;
    n = n > room ? room : n;
    char *to = buffer;
    if (!source->is_first) {
        *to++ = ' ';
        *to++ = '|';
    }
    memcpy(to, text, n);
    to += n;
    if (source->is_cut)
        *to++ = '|';
    memcpy(to, "\n", 2);
    return buffer;
}

/* Called by inih: one value, or one fragment of it. */
static int on_value(void *user, const char *section, const char *key,
                    const char *value)
{
    struct source *source = user;
    if (source->status != FX8_OK)
        return 1;
    size_t n = strlen(value);
    if (source->is_first)
        source->n_value = 0;
    else
        value++, n--;
    n -= source->is_cut;
    memcpy(source->value + source->n_value, value, n);
    source->n_value += n;
    if (source->rest != NULL)
        return 1;
    source->value[source->n_value] = '\0';
    const char *whole = fx8_text_trim(source->value);
    if (*section == '\0')
        FAIL_LINE(source, "%s:%zu: %s: expected a [section] before it",
                  source->path, source->line, key);
    else
        source->status =
            source->handler(source->context,
                            &(struct fx8_ini_entry){source->path, source->line,
                                                    section, key, whole},
                            source->error);
    return 1;
}

enum fx8_status fx8_ini_parse(const char *path, fx8_ini_handler handler,
                              void *context, struct fx8_error *error)
{
    FX8_AUTO_FREE char *text = NULL, *value = NULL;
    FX8_TRY(fx8_text_read(path, &text, error));
    value = malloc(FX8_INI_LINE_MAX + 1);
    if (value == NULL)
        return fx8_no_memory(path, error);
    struct source source = {.path = path,
                            .next = text,
                            .value = value,
                            .handler = handler,
                            .context = context,
                            .error = error};
    const int bad_line = ini_parse_stream(feed, &source, on_value, &source);
    if (bad_line != 0 && source.status == FX8_OK)
        return fx8_fail(error, FX8_ERR_USAGE, "%s: inih failed with code %d",
                        path, bad_line);
    return source.status;
}
