/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csv.h -- tables as comma-separated values with a header line.
 *
 * Notation: blanks around fields are ignored, blank lines and lines that start
 * with '#' are skipped, there are no quotes.
 */
#ifndef FX8_CONFIG_BASE_CSV_H
#define FX8_CONFIG_BASE_CSV_H

#include <stddef.h>

#include "correlator/fx8.h"

/** A table of texts.  Rows and columns as in the file, without the header. */
struct fx8_csv {
    char *text; /**< cut into the fields below */
    size_t n_columns;
    size_t n_rows;
    size_t header_line; /**< from 1 */
    char **columns;     /**< [n_columns] names */
    char **fields;      /**< [n_rows][n_columns] */
    size_t *lines;      /**< [n_rows] from 1 */
};

/**
 * fx8_csv_parse -- cut a text into a table.
 *
 * Given:     path  for messages
 *            text  from malloc, modified; the table takes ownership, also on
 *                  failure
 * Status:    FX8_ERR_USAGE "FILE[:LINE]: ...": no header, an unnamed or
 *            repeated column, a row with the wrong number of fields, no rows;
 *            FX8_ERR_SYSTEM when memory is short
 * Ownership: the caller releases the table with fx8_csv_clear(); empty after
 *            failure
 */
enum fx8_status fx8_csv_parse(const char *path, char *text, struct fx8_csv *csv,
                              struct fx8_error *error);

/** fx8_csv_parse() of a file; FX8_ERR_USAGE also if it cannot be read. */
enum fx8_status fx8_csv_load(const char *path, struct fx8_csv *csv,
                             struct fx8_error *error);

/**
 * fx8_csv_find -- find columns by name.
 *
 * Given:    names  [n], not all need to be there
 * Returned: where  [n]; n_columns if absent
 * Status:   FX8_ERR_USAGE: a column of another name
 */
enum fx8_status fx8_csv_find(const char *path, const struct fx8_csv *csv,
                             const char *const *names, size_t n, size_t *where,
                             struct fx8_error *error);

/** FX8_ERR_USAGE "FILE:LINE: COLUMN: expected this column". */
enum fx8_status fx8_csv_fail_column(const char *path, const struct fx8_csv *csv,
                                    const char *column,
                                    struct fx8_error *error);

/** fx8_csv_find(); FX8_ERR_USAGE also if a column is absent. */
enum fx8_status fx8_csv_find_all(const char *path, const struct fx8_csv *csv,
                                 const char *const *names, size_t n,
                                 size_t *where, struct fx8_error *error);

/** FX8_ERR_USAGE "FILE:LINE: COLUMN: VALUE: expected ...". */
enum fx8_status fx8_csv_fail(const char *path, size_t line, const char *column,
                             const char *value, const char *expected,
                             struct fx8_error *error);

/** Read a number from `least` to `most`; FX8_ERR_USAGE: something else. */
enum fx8_status fx8_csv_real(const char *path, const struct fx8_csv *csv,
                             size_t row, size_t column, double least,
                             double most, double *value,
                             struct fx8_error *error);

/** Release a table; a zeroed one is legal. */
void fx8_csv_clear(struct fx8_csv *csv);

#endif
