/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/base/csv.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "config/frequency_list.h"

static enum fx8_status add(struct fx8_frequency_list *list, double first_hz,
                           double last_hz, struct fx8_error *error)
{
    FX8_TRY(fx8_grow(&list->items, list->count, sizeof *list->items,
                     "frequencies", error));
    list->items[list->count++] =
        (struct fx8_frequency_range){first_hz, last_hz};
    return FX8_OK;
}

static bool read_frequency(const char *text, double *hz)
{
    return fx8_number_real(text, hz) && *hz >= -FX8_FREQUENCY_MAX_HZ &&
           *hz <= FX8_FREQUENCY_MAX_HZ;
}

/* The '-' of a range: neither a sign nor that of an exponent; NULL: none. */
static char *find_dash(char *item)
{
    for (char *c = item; *c != '\0'; c++)
        if (*c == '-' && c > item && c[-1] != 'e' && c[-1] != 'E')
            return c;
    return NULL;
}

/* Append "100e6" or "137e6-138e6". */
static enum fx8_status add_item(char *item, struct fx8_frequency_list *list)
{
    double first_hz, last_hz;
    char *dash = find_dash(item);
    if (dash != NULL)
        *dash = '\0';
    if (!read_frequency(fx8_text_trim(item), &first_hz))
        return FX8_ERR_USAGE;
    last_hz = first_hz;
    if ((dash != NULL && !read_frequency(fx8_text_trim(dash + 1), &last_hz)) ||
        last_hz < first_hz || list->count == FX8_FREQUENCY_LIST_MAX)
        return FX8_ERR_USAGE;
    return add(list, first_hz, last_hz, NULL);
}

enum fx8_status fx8_frequency_list_read(const char *text,
                                        struct fx8_frequency_list *list)
{
    FX8_AUTO(fx8_frequency_list_clear) struct fx8_frequency_list read = {0};
    FX8_AUTO_FREE char *copy = strdup(text);
    if (copy == NULL)
        return FX8_ERR_SYSTEM;
    for (char *rest = copy; rest != NULL;)
        FX8_TRY(add_item(fx8_text_trim(strsep(&rest, ",")), &read));
    fx8_frequency_list_clear(list);
    *list = read;
    read = (struct fx8_frequency_list){0};
    return FX8_OK;
}

enum fx8_status fx8_frequency_list_load(struct fx8_frequency_list *list,
                                        struct fx8_error *error)
{
    static const char *const columns[] = {"frequency_hz", "end_hz"};
    FX8_AUTO(fx8_csv_clear) struct fx8_csv csv = {0};
    FX8_AUTO(fx8_frequency_list_clear) struct fx8_frequency_list read = {0};
    const char *path = list->path;
    size_t where[2];
    FX8_TRY(fx8_csv_load(path, &csv, error));
    FX8_TRY(fx8_csv_find(path, &csv, columns, 2, where, error));
    if (where[0] == csv.n_columns)
        return fx8_csv_fail_column(path, &csv, columns[0], error);
    if (csv.n_rows > FX8_FREQUENCY_LIST_MAX)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: %zu rows: expected at most %d", path, csv.n_rows,
                        FX8_FREQUENCY_LIST_MAX);
    for (size_t row = 0; row < csv.n_rows; row++) {
        double first_hz, last_hz;
        FX8_TRY(fx8_csv_real(path, &csv, row, where[0], -FX8_FREQUENCY_MAX_HZ,
                             FX8_FREQUENCY_MAX_HZ, &first_hz, error));
        const char *end = where[1] < csv.n_columns
                              ? csv.fields[row * csv.n_columns + where[1]]
                              : "";
        last_hz = first_hz;
        if (*end != '\0')
            FX8_TRY(fx8_csv_real(path, &csv, row, where[1], first_hz,
                                 FX8_FREQUENCY_MAX_HZ, &last_hz, error));
        FX8_TRY(add(&read, first_hz, last_hz, error));
    }
    fx8_frequency_list_clear(list);
    *list = read;
    read = (struct fx8_frequency_list){0};
    return FX8_OK;
}

void fx8_frequency_list_write(const struct fx8_frequency_list *list,
                              FILE *stream)
{
    char text[FX8_NUMBER_TEXT_SIZE];
    for (size_t i = 0; i < list->count; i++) {
        const struct fx8_frequency_range *range = &list->items[i];
        fx8_number_format_real(range->first_hz, text);
        fprintf(stream, "%s%s", i > 0 ? "," : "", text);
        if (range->last_hz > range->first_hz) {
            fx8_number_format_real(range->last_hz, text);
            fprintf(stream, "-%s", text);
        }
    }
}

void fx8_frequency_list_clear(struct fx8_frequency_list *list)
{
    free(list->items);
    free(list->path);
    *list = (struct fx8_frequency_list){0};
}
