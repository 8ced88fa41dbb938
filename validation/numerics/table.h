/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.h -- error tables: the measured errors beside the documented bounds,
 * and whether they fit.
 */
#ifndef FX8_VALIDATION_NUMERICS_TABLE_H
#define FX8_VALIDATION_NUMERICS_TABLE_H

#include <stdio.h>

#include "validation/numerics/measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Largest ratio of a bound to the error measured over all arguments: rounding
 *  up at the fourth digit, and no more. */
#define MOST_SLACK 1.02

/** A row. */
struct table_row {
    const char *function, *form;
    const struct bound *bound; /**< NULL: measured only */
    const struct measured *measured;
};

/** The head of a table of errors, and a row of it, in Markdown. */
void print_table_head(FILE *file);
void print_table_row(FILE *file, const struct table_row *row, bool is_tight);

/**
 * judge_row -- compare a row with its bound.
 *
 * Given:    is_tight  whether the bound must also be no larger than
 *                     MOST_SLACK times the error measured
 *           file      where every fault is described in one line, or NULL
 * Returned: number of faults; 0 for a row without a bound
 */
size_t judge_row(const struct table_row *row, bool is_tight, FILE *file);

/** The notes of the table about its columns. */
void print_legend(FILE *file);

/** Text of arguments: hexadecimal floats, two for a pair; `text` holds
 *  TABLE_TEXT characters and is returned. */
#define TABLE_TEXT 80
const char *argument_text(const struct error_at *at, bool is_pair, char *text);

#ifdef __cplusplus
}
#endif

#endif
