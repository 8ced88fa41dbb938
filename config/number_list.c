/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "config/number_list.h"

/* "7" or "3-9".  Numbers have no sign, so '-' always means a range. */
static bool read_range(char *item, int64_t *first, int64_t *last)
{
    char *dash = strchr(item, '-');
    if (dash != NULL)
        *dash = '\0';
    if (strchr(item, '+') != NULL || !fx8_number_integer(item, first))
        return false;
    *last = *first;
    return dash == NULL || (dash[1] != '+' && dash[1] != '-' &&
                            fx8_number_integer(dash + 1, last));
}

/* Status: FX8_ERR_USAGE if a number is repeated. */
static enum fx8_status check_distinct(const struct fx8_number_list *list)
{
    FX8_AUTO_FREE int64_t *sorted = malloc(list->count * sizeof *sorted);
    if (sorted == NULL)
        return FX8_ERR_SYSTEM;
    memcpy(sorted, list->items, list->count * sizeof *sorted);
    return fx8_number_sort(sorted, list->count) == list->count ? FX8_OK
                                                               : FX8_ERR_USAGE;
}

/* Append the numbers of "7" or "3-9". */
static enum fx8_status add_range(char *item, int64_t minimum, int64_t maximum,
                                 struct fx8_number_list *list)
{
    int64_t first, last;
    if (!read_range(item, &first, &last) || first < minimum || last > maximum ||
        first > last ||
        last - first >= (int64_t)(FX8_NUMBER_LIST_MAX - list->count))
        return FX8_ERR_USAGE;
    for (int64_t n = first; n <= last; n++) {
        FX8_TRY(fx8_grow(&list->items, list->count, sizeof n, "", NULL));
        list->items[list->count++] = n;
    }
    return FX8_OK;
}

/* `text` is cut into its items. */
static enum fx8_status read_items(char *text, int64_t minimum, int64_t maximum,
                                  struct fx8_number_list *list)
{
    if (text == NULL)
        return FX8_ERR_SYSTEM;
    while (text != NULL) {
        char *item = fx8_text_trim(strsep(&text, ","));
        FX8_TRY(add_range(item, minimum, maximum, list));
    }
    return check_distinct(list);
}

enum fx8_status fx8_number_list_read(const char *text, bool is_selection,
                                     int64_t minimum, int64_t maximum,
                                     struct fx8_number_list *list)
{
    struct fx8_number_list read = {.is_all = false};
    int64_t count_alone;
    enum fx8_status status = FX8_OK;
    if (is_selection && strcasecmp(text, "all") == 0) {
        read.is_all = true;
    } else if (is_selection && fx8_number_integer(text, &count_alone)) {
        if (count_alone < 1 || count_alone > FX8_NUMBER_LIST_MAX)
            return FX8_ERR_USAGE;
        read.is_count = true;
        read.count = (size_t)count_alone;
    } else if (*text != '\0' || is_selection) {
        FX8_AUTO_FREE char *copy = strdup(text);
        status = read_items(copy, minimum, maximum, &read);
    }
    free(status == FX8_OK ? list->items : read.items);
    if (status == FX8_OK)
        *list = read;
    return status;
}

void fx8_number_list_write(const struct fx8_number_list *list,
                           bool is_selection, FILE *stream)
{
    if (list->is_all) {
        fputs("all", stream);
        return;
    }
    if (list->is_count) {
        fprintf(stream, "%zu", list->count);
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        size_t end = i;
        while (end + 1 < list->count &&
               list->items[end + 1] == list->items[end] + 1)
            end++;
        /* one selected number becomes a range: alone it would be a count */
        const bool is_range = end > i || (is_selection && list->count == 1);
        fprintf(stream, "%s%" PRId64, i > 0 ? "," : "", list->items[i]);
        if (is_range)
            fprintf(stream, "-%" PRId64, list->items[end]);
        i = end;
    }
}
