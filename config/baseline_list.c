/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "config/baseline_list.h"

static const char *const words[] = {
    [FX8_BASELINES_ALL] = "all",
    [FX8_BASELINES_CROSS] = "cross",
    [FX8_BASELINES_AUTO] = "auto",
};

/* Append the pair "1&40". */
static enum fx8_status add_pair(char *item, int64_t minimum, int64_t maximum,
                                struct fx8_baseline_list *list)
{
    if (list->count == FX8_BASELINE_LIST_MAX)
        return FX8_ERR_USAGE;
    FX8_TRY(fx8_grow(&list->pairs, list->count, sizeof *list->pairs, "", NULL));
    int64_t *pair = list->pairs[list->count++];
    for (size_t end = 0; end < 2; end++) {
        const char *number = fx8_text_trim(strsep(&item, "&"));
        if (!fx8_number_integer(number, &pair[end]) || pair[end] < minimum ||
            pair[end] > maximum || (item == NULL) != (end == 1))
            return FX8_ERR_USAGE;
    }
    return FX8_OK;
}

/* Status: FX8_ERR_USAGE if a pair is given twice. */
static enum fx8_status check_distinct(const struct fx8_baseline_list *list)
{
    FX8_AUTO_FREE int64_t *sorted = calloc(list->count, sizeof *sorted);
    if (sorted == NULL)
        return FX8_ERR_SYSTEM;
    for (size_t k = 0; k < list->count; k++) {
        const int64_t *pair = list->pairs[k];
        const size_t least = pair[0] > pair[1];
        sorted[k] = pair[least] << 32 | pair[!least]; /* of 31 bits each */
    }
    return fx8_number_sort(sorted, list->count) == list->count ? FX8_OK
                                                               : FX8_ERR_USAGE;
}

static enum fx8_status read_pairs(char *text, int64_t minimum, int64_t maximum,
                                  struct fx8_baseline_list *list)
{
    if (text == NULL)
        return FX8_ERR_SYSTEM;
    while (text != NULL)
        FX8_TRY(add_pair(strsep(&text, ","), minimum, maximum, list));
    return check_distinct(list);
}

enum fx8_status fx8_baseline_list_read(const char *text, int64_t minimum,
                                       int64_t maximum,
                                       struct fx8_baseline_list *list)
{
    struct fx8_baseline_list read = {.kind = FX8_BASELINES_ALL};
    enum fx8_status status = FX8_OK;
    while (read.kind < FX8_BASELINES_LIST &&
           strcasecmp(words[read.kind], text) != 0)
        read.kind++;
    if (read.kind == FX8_BASELINES_LIST) {
        FX8_AUTO_FREE char *copy = strdup(text);
        status = read_pairs(copy, minimum, maximum, &read);
    }
    free(status == FX8_OK ? list->pairs : read.pairs);
    if (status == FX8_OK)
        *list = read;
    return status;
}

void fx8_baseline_list_write(const struct fx8_baseline_list *list, FILE *stream)
{
    if (list->kind != FX8_BASELINES_LIST)
        fputs(words[list->kind], stream);
    for (size_t k = 0; k < list->count; k++)
        fprintf(stream, "%s%" PRId64 "&%" PRId64, k > 0 ? "," : "",
                list->pairs[k][0], list->pairs[k][1]);
}
