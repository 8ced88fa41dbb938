/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * baseline_list.h -- which baselines to write: "all", "cross", "auto", or pairs
 * of antenna numbers, "1&2,1&40".
 */
#ifndef FX8_CONFIG_BASELINE_LIST_H
#define FX8_CONFIG_BASELINE_LIST_H

#include <stdio.h>

#include "config/settings.h"
#include "correlator/fx8.h"

/** Most pairs of a list: printed, it still fits a line of an INI file. */
#define FX8_BASELINE_LIST_MAX 2048

/**
 * fx8_baseline_list_read -- parse a word, or pairs separated by commas, in the
 * order written.  The antennas of a pair come in either order; 5&5 is the auto
 * of antenna 5.
 *
 * Given:  minimum, maximum  range of the numbers
 * Status: FX8_ERR_USAGE, without a message, for any other text, a pair given
 *         twice, more than FX8_BASELINE_LIST_MAX pairs; FX8_ERR_SYSTEM when
 *         memory is short
 * Ownership: the caller releases list->pairs with free(); after failure `list`
 *            is unchanged
 */
enum fx8_status fx8_baseline_list_read(const char *text, int64_t minimum,
                                       int64_t maximum,
                                       struct fx8_baseline_list *list);

/** Write the text that reads back as the same list. */
void fx8_baseline_list_write(const struct fx8_baseline_list *list,
                             FILE *stream);

#endif
