/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frequency_list.h -- lists of frequencies and ranges of frequencies:
 * "100.5e6,137e6-138e6", or a CSV of them.
 */
#ifndef FX8_CONFIG_FREQUENCY_LIST_H
#define FX8_CONFIG_FREQUENCY_LIST_H

#include <stdio.h>

#include "config/settings.h"
#include "correlator/fx8.h"

/** Most entries of a list: printed, it still fits a line of an INI file. */
#define FX8_FREQUENCY_LIST_MAX 1000

/** Range of the frequencies in either direction, Hz: that of a plan. */
#define FX8_FREQUENCY_MAX_HZ 1e15

/**
 * fx8_frequency_list_read -- parse frequencies and ranges separated by commas,
 * in the order written.
 *
 * Status: FX8_ERR_USAGE, without a message, for any other text, a descending
 *         range, more than FX8_FREQUENCY_LIST_MAX entries; FX8_ERR_SYSTEM when
 *         memory is short
 * Ownership: the caller releases the list with fx8_frequency_list_clear();
 *            after failure `list` is unchanged
 */
enum fx8_status fx8_frequency_list_read(const char *text,
                                        struct fx8_frequency_list *list);

/**
 * fx8_frequency_list_load -- read the CSV that list->path names.
 *
 * Changed: list  empty but for the path; the path is released, the entries are
 *                those of the table.  Unchanged after failure
 * Status:  FX8_ERR_USAGE with FILE:LINE: an unreadable file, an unknown,
 *          missing or duplicate column, a value out of range, a descending
 *          range, too many rows; FX8_ERR_SYSTEM: memory
 * Notes:   CSV with the column frequency_hz and optionally end_hz, which makes
 *          a range of its row unless it is empty
 */
enum fx8_status fx8_frequency_list_load(struct fx8_frequency_list *list,
                                        struct fx8_error *error);

/** Write the text that reads back as the same list. */
void fx8_frequency_list_write(const struct fx8_frequency_list *list,
                              FILE *stream);

/** Release a list; a zeroed one is legal. */
void fx8_frequency_list_clear(struct fx8_frequency_list *list);

#endif
