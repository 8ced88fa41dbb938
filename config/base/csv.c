/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/csv.h"
#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"

/* Most columns: no table of ours has more than a dozen. */
#define COLUMNS_MAX 256

/* Position in a text being cut into lines. */
struct cursor {
    char *next;
    size_t line; /* number of the last line taken */
};

/* The next line that is neither blank nor a comment, or NULL. */
static char *take_line(struct cursor *cursor)
{
    while (*cursor->next != '\0') {
        char *line = cursor->next;
        const size_t length = strcspn(line, "\n");
        cursor->next = line + length + (line[length] == '\n');
        line[length] = '\0';
        cursor->line++;
        line = fx8_text_trim(line);
        if (*line != '\0' && *line != '#')
            return line;
    }
    return NULL;
}

static size_t count_fields(const char *line)
{
    size_t n_fields = 1;
    for (; *line != '\0'; line++)
        n_fields += *line == ',';
    return n_fields;
}

/* Cut a line of n_fields fields. */
static void cut_fields(char *line, size_t n_fields, char **fields)
{
    for (size_t i = 0; i < n_fields; i++) {
        char *end = line + strcspn(line, ",");
        char *next = *end == ',' ? end + 1 : end;
        *end = '\0';
        fields[i] = fx8_text_trim(line);
        line = next;
    }
}

static enum fx8_status read_header(const char *path, struct cursor *cursor,
                                   struct fx8_csv *csv, struct fx8_error *error)
{
    char *line = take_line(cursor);
    if (line == NULL)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: expected a header line and rows", path);
    csv->header_line = cursor->line;
    csv->n_columns = count_fields(line);
    if (csv->n_columns > COLUMNS_MAX)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s:%zu: %zu columns: expected at most %d", path,
                        cursor->line, csv->n_columns, COLUMNS_MAX);
    csv->columns = calloc(csv->n_columns, sizeof *csv->columns);
    if (csv->columns == NULL)
        return fx8_no_memory(path, error);
    cut_fields(line, csv->n_columns, csv->columns);
    for (size_t i = 0; i < csv->n_columns; i++) {
        if (*csv->columns[i] == '\0')
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s:%zu: column %zu: expected a name", path,
                            cursor->line, i + 1);
        for (size_t j = 0; j < i; j++)
            if (strcmp(csv->columns[i], csv->columns[j]) == 0)
                return fx8_fail(error, FX8_ERR_USAGE,
                                "%s:%zu: %.80s: expected the column once", path,
                                cursor->line, csv->columns[i]);
    }
    return FX8_OK;
}

static enum fx8_status read_rows(const char *path, struct cursor *cursor,
                                 struct fx8_csv *csv, struct fx8_error *error)
{
    char *line;
    while ((line = take_line(cursor)) != NULL) {
        const size_t n_fields = count_fields(line);
        if (n_fields != csv->n_columns)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s:%zu: %zu %s: expected %zu, as the header "
                            "has",
                            path, cursor->line, n_fields,
                            FX8_NOUN(n_fields, "field", "fields"),
                            csv->n_columns);
        /* a row takes at least one byte of at most FX8_TEXT_FILE_MAX, so this
         * product cannot overflow */
        FX8_TRY(fx8_grow(&csv->fields, csv->n_rows,
                         csv->n_columns * sizeof *csv->fields, path, error));
        FX8_TRY(fx8_grow(&csv->lines, csv->n_rows, sizeof *csv->lines, path,
                         error));
        cut_fields(line, n_fields, csv->fields + csv->n_rows * n_fields);
        csv->lines[csv->n_rows++] = cursor->line;
    }
    if (csv->n_rows == 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: expected rows below the header", path);
    return FX8_OK;
}

enum fx8_status fx8_csv_parse(const char *path, char *text, struct fx8_csv *csv,
                              struct fx8_error *error)
{
    *csv = (struct fx8_csv){.text = text};
    struct cursor cursor = {text, 0};
    enum fx8_status status = read_header(path, &cursor, csv, error);
    if (status == FX8_OK)
        status = read_rows(path, &cursor, csv, error);
    if (status != FX8_OK)
        fx8_csv_clear(csv);
    return status;
}

enum fx8_status fx8_csv_load(const char *path, struct fx8_csv *csv,
                             struct fx8_error *error)
{
    *csv = (struct fx8_csv){0};
    char *text = NULL;
    FX8_TRY(fx8_text_read(path, &text, error));
    return fx8_csv_parse(path, text, csv, error);
}

/* "a, b or c". */
static void join(const char *const *names, size_t n,
                 char text[FX8_ERROR_MESSAGE_SIZE])
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t k = 0; k < n && length < FX8_ERROR_MESSAGE_SIZE; k++)
        length += (size_t)snprintf(text + length,
                                   FX8_ERROR_MESSAGE_SIZE - length, "%s%s",
                                   k == 0       ? ""
                                   : k == n - 1 ? " or "
                                                : ", ",
                                   names[k]);
}

enum fx8_status fx8_csv_find(const char *path, const struct fx8_csv *csv,
                             const char *const *names, size_t n, size_t *where,
                             struct fx8_error *error)
{
    for (size_t k = 0; k < n; k++)
        where[k] = csv->n_columns;
    for (size_t i = 0; i < csv->n_columns; i++) {
        size_t k = 0;
        while (k < n && strcmp(names[k], csv->columns[i]) != 0)
            k++;
        if (k == n) {
            char all[FX8_ERROR_MESSAGE_SIZE];
            join(names, n, all);
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s:%zu: %.80s: unknown column: expected %s", path,
                            csv->header_line, csv->columns[i], all);
        }
        where[k] = i;
    }
    return FX8_OK;
}

enum fx8_status fx8_csv_fail_column(const char *path, const struct fx8_csv *csv,
                                    const char *column, struct fx8_error *error)
{
    return fx8_fail(error, FX8_ERR_USAGE, "%s:%zu: %s: expected this column",
                    path, csv->header_line, column);
}

enum fx8_status fx8_csv_find_all(const char *path, const struct fx8_csv *csv,
                                 const char *const *names, size_t n,
                                 size_t *where, struct fx8_error *error)
{
    FX8_TRY(fx8_csv_find(path, csv, names, n, where, error));
    for (size_t k = 0; k < n; k++)
        if (where[k] == csv->n_columns)
            return fx8_csv_fail_column(path, csv, names[k], error);
    return FX8_OK;
}

enum fx8_status fx8_csv_fail(const char *path, size_t line, const char *column,
                             const char *value, const char *expected,
                             struct fx8_error *error)
{
    return fx8_fail(error, FX8_ERR_USAGE, "%s:%zu: %s: %.80s: expected %s",
                    path, line, column, *value != '\0' ? value : "(empty)",
                    expected);
}

enum fx8_status fx8_csv_real(const char *path, const struct fx8_csv *csv,
                             size_t row, size_t column, double least,
                             double most, double *value,
                             struct fx8_error *error)
{
    const char *text = csv->fields[row * csv->n_columns + column];
    char expected[80];
    if (fx8_number_real(text, value) && *value >= least && *value <= most)
        return FX8_OK;
    snprintf(expected, sizeof expected, "a number from %g to %g", least, most);
    return fx8_csv_fail(path, csv->lines[row], csv->columns[column], text,
                        expected, error);
}

void fx8_csv_clear(struct fx8_csv *csv)
{
    free(csv->text);
    free(csv->columns);
    free(csv->fields);
    free(csv->lines);
    *csv = (struct fx8_csv){0};
}
