/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inih has a line buffer of about 200 bytes and treats the rest as a new line.
 * Values such as lists of paths are longer, so inih gets each line up to the
 * '=' and the reader below keeps the value.
 */
#include <ini.h>
#include <stdio.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "config/ini.h"

struct source {
    const char *path;
    char *next;        /* start of the next line */
    size_t line;       /* number of the current line */
    const char *value; /* of the current line */
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

/* Pass an entry to the handler. */
static void handle(struct source *source, const char *section, const char *key,
                   const char *value)
{
    source->status =
        source->handler(source->context,
                        &(struct fx8_ini_entry){source->path, source->line,
                                                section, key, value},
                        source->error);
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
    FX8_AUTO_FREE char *section = strndup(line + 1, length - 2);
    if (section == NULL)
        source->status = fx8_no_memory(source->path, source->error);
    else
        handle(source, section, NULL, "");
}

/* Reader callback for inih, like fgets(). */
static char *feed(char *buffer, int size, void *stream)
{
    struct source *source = stream;
    char *line = source->status == FX8_OK ? take_line(source) : NULL;
    if (line == NULL)
        return NULL;
    /* no key and no section has a longer name */
    const size_t room = (size_t)size - sizeof "=\n";
    size_t n = strcspn(line, "=:");
    source->value = "";
    if (*line == '[') {
        check_header(source, line);
        n = strlen(line);
    } else if (*line != '\0' && (n == 0 || line[n] == '\0' || n > room)) {
        FAIL_LINE(source, "%s:%zu: %.80s: expected key = value", source->path,
                  source->line, line);
    } else if (*line != '\0') {
        source->value = fx8_text_trim(line + n + 1);
        n++;
    }
    snprintf(buffer, (size_t)size, "%.*s\n", (int)n, line);
    return source->status == FX8_OK ? buffer : NULL;
}

/* Called by inih for a key. */
static int on_key(void *user, const char *section, const char *key,
                  const char *value)
{
    struct source *source = user;
    (void)value;
    if (source->status == FX8_OK && *section == '\0')
        FAIL_LINE(source, "%s:%zu: %s: expected a [section] before it",
                  source->path, source->line, key);
    else if (source->status == FX8_OK)
        handle(source, section, key, source->value);
    return 1;
}

enum fx8_status fx8_ini_parse(const char *path, fx8_ini_handler handler,
                              void *context, struct fx8_error *error)
{
    FX8_AUTO_FREE char *text = NULL;
    FX8_TRY(fx8_text_read(path, &text, error));
    struct source source = {.path = path,
                            .next = text,
                            .handler = handler,
                            .context = context,
                            .error = error};
    const int bad_line = ini_parse_stream(feed, &source, on_key, &source);
    if (bad_line != 0 && source.status == FX8_OK)
        return fx8_fail(error, FX8_ERR_USAGE, "%s: inih failed with code %d",
                        path, bad_line);
    return source.status;
}
