/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/number.h"
#include "config/number_list.h"

/* Copy [start, end) without its blanks into a buffer; false: too long. */
static bool take_item(const char *start, const char *end, char item[64])
{
    while (start < end && (*start == ' ' || *start == '\t'))
        start++;
    while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    const size_t length = (size_t)(end - start);
    if (length == 0 || length >= 64)
        return false;
    memcpy(item, start, length);
    item[length] = '\0';
    return true;
}

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

static int compare_numbers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Status: FX8_ERR_USAGE if a number is repeated. */
static enum fx8_status check_distinct(const int64_t *items, size_t count)
{
    int64_t *sorted = malloc(count * sizeof *sorted + 1);
    if (sorted == NULL)
        return FX8_ERR_SYSTEM;
    if (count > 0)
        memcpy(sorted, items, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_numbers);
    enum fx8_status status = FX8_OK;
    for (size_t i = 1; i < count; i++)
        if (sorted[i] == sorted[i - 1])
            status = FX8_ERR_USAGE;
    free(sorted);
    return status;
}

/* Fill `items` [FX8_NUMBER_LIST_MAX] from a non-empty text. */
static enum fx8_status read_items(const char *text, int64_t minimum,
                                  int64_t maximum, int64_t *items,
                                  size_t *count)
{
    const char *start = text;
    *count = 0;
    for (;;) {
        const char *end = start + strcspn(start, ",");
        char item[64];
        int64_t first, last;
        if (!take_item(start, end, item) || !read_range(item, &first, &last) ||
            first < minimum || last > maximum || first > last ||
            last - first >= (int64_t)(FX8_NUMBER_LIST_MAX - *count))
            return FX8_ERR_USAGE;
        for (int64_t number = first; number <= last; number++)
            items[(*count)++] = number;
        if (*end == '\0')
            return check_distinct(items, *count);
        start = end + 1;
    }
}

enum fx8_status fx8_number_list_read(const char *text, bool is_selection,
                                     int64_t minimum, int64_t maximum,
                                     struct fx8_number_list *list)
{
    if (is_selection && strcmp(text, "all") == 0) {
        free(list->items);
        *list = (struct fx8_number_list){.is_all = true};
        return FX8_OK;
    }
    int64_t count_alone;
    if (is_selection && fx8_number_integer(text, &count_alone)) {
        if (count_alone < 1 || count_alone > FX8_NUMBER_LIST_MAX)
            return FX8_ERR_USAGE;
        free(list->items);
        *list = (struct fx8_number_list){.is_count = true,
                                         .count = (size_t)count_alone};
        return FX8_OK;
    }
    size_t count = 0;
    int64_t *items = malloc(FX8_NUMBER_LIST_MAX * sizeof *items);
    if (items == NULL)
        return FX8_ERR_SYSTEM;
    enum fx8_status status = FX8_OK;
    if (*text != '\0' || is_selection)
        status = read_items(text, minimum, maximum, items, &count);
    if (status != FX8_OK) {
        free(items);
        return status;
    }
    if (count == 0) {
        free(items);
        items = NULL;
    } else {
        int64_t *fitted = realloc(items, count * sizeof *items);
        items = fitted != NULL ? fitted : items;
    }
    free(list->items);
    *list = (struct fx8_number_list){.count = count, .items = items};
    return FX8_OK;
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
