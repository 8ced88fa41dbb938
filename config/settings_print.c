/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Print settings: the resolved configuration, and the reference of all keys.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/keys.h"
#include "config/settings.h"

#define LINE_COLUMNS       80
#define DESCRIPTION_COLUMN 38
#define HELP_COLUMN        6

/* Print words from column `column`, wrapped and indented to `indent`. */
static void print_wrapped(FILE *stream, const char *text, int column,
                          int indent)
{
    bool is_first = true;
    while (*text != '\0') {
        const int length = (int)strcspn(text, " ");
        const char *rest = text + length + strspn(text + length, " ");
        if (!is_first && column + 1 + length > LINE_COLUMNS) {
            fprintf(stream, "\n%*s", indent, "");
            column = indent;
        } else if (!is_first) {
            fputc(' ', stream);
            column++;
        }
        fprintf(stream, "%.*s", length, text);
        column += length;
        is_first = false;
        text = rest;
    }
    fputc('\n', stream);
}

/* "  name = default            what it accepts" and the help below. */
static void print_key(FILE *stream, const struct fx8_key *key)
{
    int column = fprintf(stream, "  %s = %s", key->name,
                         key->fallback != NULL ? key->fallback : "(required)");
    if (column > DESCRIPTION_COLUMN - 2)
        column = fprintf(stream, "\n") - 1;
    fprintf(stream, "%*s", DESCRIPTION_COLUMN - column, "");
    char accepted[FX8_KEY_EXPECTED_SIZE];
    fx8_key_describe(key, accepted);
    print_wrapped(stream, accepted, DESCRIPTION_COLUMN, DESCRIPTION_COLUMN);
    fprintf(stream, "%*s", HELP_COLUMN, "");
    print_wrapped(stream, key->help, HELP_COLUMN, HELP_COLUMN);
}

/* An item of a list: "- `name`: what it accepts; default", the help below. */
static void print_item(FILE *stream, const struct fx8_key *key)
{
    const int column = fprintf(stream, "\n- `%s`: ", key->name) - 1;
    char text[2 * FX8_KEY_EXPECTED_SIZE];
    fx8_key_describe(key, text);
    const size_t length = strlen(text);
    const size_t size = sizeof text - length;
    if (key->fallback == NULL)
        snprintf(text + length, size, "; required.");
    else if (key->fallback[0] == '\0')
        snprintf(text + length, size, ".");
    else
        snprintf(text + length, size, "; default `%s`.", key->fallback);
    print_wrapped(stream, text, column, 2);
    fputs("  ", stream);
    print_wrapped(stream, key->help, 2, 2);
}

/* Every section with its keys; `heading` is a format for its name. */
static void print_sections(FILE *stream, const char *heading, int column,
                           void (*print)(FILE *stream,
                                         const struct fx8_key *key))
{
    for (size_t s = 0; s < fx8_sections_count; s++) {
        fprintf(stream, heading, fx8_sections[s].name);
        print_wrapped(stream, fx8_sections[s].help, column, column);
        for (size_t i = 0; i < fx8_keys_count; i++)
            if (strcmp(fx8_keys[i].section, fx8_sections[s].name) == 0)
                print(stream, &fx8_keys[i]);
    }
}

void fx8_settings_print_keys(FILE *stream)
{
    fputs("# Keys of a configuration file, with their defaults.  Lines are\n"
          "# \"key = value\" under a [section]; a line that starts with # or\n"
          "# ; is a comment, and so is what follows a ; after a blank.\n"
          "# Relative paths are relative to the file.  A key without a value\n"
          "# here has no default.\n",
          stream);
    print_sections(stream, "\n[%s]\n# ", 2, print_key);
}

void fx8_settings_print_markdown(FILE *stream)
{
    print_sections(stream, "\n## [%s]\n\n", 0, print_item);
}

/* "name = value", or "name =" for a value that is not given. */
static void print_setting(FILE *stream, const struct fx8_key *key,
                          const struct fx8_settings *settings)
{
    char *value = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&value, &length);
    if (memory == NULL)
        return;
    key->type->write(key, settings, memory);
    if (fclose(memory) == 0)
        fprintf(stream, "%s =%s%s\n", key->name, length > 0 ? " " : "", value);
    free(value);
}

/* Which keys to print. */
enum scope { ALL, OF_HISTORY, OF_RESULTS };

/* History has how a result was computed, but not by how many ranks: it is the
 * same with one process. */
static bool is_within(const struct fx8_key *key, enum scope scope)
{
    return !key->is_execution || scope == ALL ||
           (scope == OF_HISTORY && strcmp(key->name, "ranks") != 0);
}

static void dump(const struct fx8_settings *settings, enum scope scope,
                 FILE *stream)
{
    const char *section = NULL;
    for (size_t i = 0; i < fx8_keys_count; i++) {
        const struct fx8_key *key = &fx8_keys[i];
        if (!is_within(key, scope))
            continue;
        if (section == NULL || strcmp(section, key->section) != 0) {
            fprintf(stream, "%s[%s]\n", section == NULL ? "" : "\n",
                    key->section);
            section = key->section;
        }
        if (fx8_key_is_missing(key, settings)) {
            fprintf(stream, "# %s is required, and not given\n", key->name);
            continue;
        }
        print_setting(stream, key, settings);
    }
}

void fx8_settings_dump(const struct fx8_settings *settings, FILE *stream)
{
    dump(settings, ALL, stream);
}

void fx8_settings_dump_history(const struct fx8_settings *settings,
                               FILE *stream)
{
    dump(settings, OF_HISTORY, stream);
}

void fx8_settings_dump_results(const struct fx8_settings *settings,
                               FILE *stream)
{
    dump(settings, OF_RESULTS, stream);
}

const char *fx8_key_in_history(const struct fx8_key *key, const char *history,
                               int *length)
{
    const size_t n_section = strlen(key->section), n = strlen(key->name);
    const char *line = strstr(history, "\n" FX8_HISTORY_CONFIGURATION);
    bool is_inside = false;
    for (; line != NULL; line = strchr(line, '\n')) {
        line++;
        if (strncmp(line, FX8_HISTORY_OF, sizeof FX8_HISTORY_OF - 1) == 0)
            break;
        if (*line == '[')
            is_inside = strncmp(line + 1, key->section, n_section) == 0 &&
                        line[1 + n_section] == ']';
        else if (is_inside && strncmp(line, key->name, n) == 0 &&
                 strncmp(line + n, " =", 2) == 0) {
            line += n + 2;
            *length = (int)strcspn(line, "\n");
            return line;
        }
    }
    *length = 0;
    return NULL;
}
