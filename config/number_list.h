/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * number_list.h -- lists of whole numbers: "0-15,20", "all", a count.
 */
#ifndef FX8_CONFIG_NUMBER_LIST_H
#define FX8_CONFIG_NUMBER_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/settings.h"
#include "correlator/fx8.h"

/** Most numbers in a list. */
#define FX8_NUMBER_LIST_MAX 65536

/**
 * fx8_number_list_read -- parse numbers and ranges separated by commas, in the
 * order written.
 *
 * Given:  is_selection  "all" and a count (a number alone) are accepted too;
 *                       a list must then not be empty
 *         minimum, maximum  range of the numbers; a count is from 1 to
 *                           FX8_NUMBER_LIST_MAX
 * Status: FX8_ERR_USAGE, without a message, for any other text, a descending
 *         range, a repeated number, more than FX8_NUMBER_LIST_MAX numbers;
 *         FX8_ERR_SYSTEM when memory is short
 * Ownership: the caller releases list->items with free(); after failure `list`
 *            is unchanged
 */
enum fx8_status fx8_number_list_read(const char *text, bool is_selection,
                                     int64_t minimum, int64_t maximum,
                                     struct fx8_number_list *list);

/** Write the text that reads back as the same list. */
void fx8_number_list_write(const struct fx8_number_list *list,
                           bool is_selection, FILE *stream);

#endif
