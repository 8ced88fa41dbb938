/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.h -- error tables: the measured errors beside the documented bounds,
 * and whether they fit; what the programs that write them share.
 */
#ifndef FX8_VALIDATION_NUMERICS_TABLE_H
#define FX8_VALIDATION_NUMERICS_TABLE_H

#include <stdio.h>

#include "validation/numerics/measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The bounds of kernels/numeric/bounds.h. */
extern const struct bound numeric_bounds[];
extern const size_t n_numeric_bounds;

/** The bound of a form on "host" or "cuda"; without one, the names, and errors
 *  without limit of normal arguments and results. */
struct bound find_bound(const char *device, const char *function,
                        const char *form);

/** A row. */
struct table_row {
    struct bound bound;
    struct measured measured;
};

/**
 * judge_row -- compare a row with its bound.
 *
 * Given:    is_tight  whether a bound on the host must also be at most 2 %
 *                     above the error measured: rounding up at the fourth
 *                     digit, and no more
 * Returned: number of faults, each described in a line on standard error; 0 for
 *           a row without a bound
 */
size_t judge_row(const struct table_row *row, bool is_tight);

/** A table: the machine, in one line; the rows. */
struct table {
    const char *title, *machine;
    uint64_t n_floats; /**< tried; as many pairs, and MOST_PAIRS at most */
    const struct table_row *rows;
    size_t n_rows;
};

/** Write a table to a file below validation/results/; judge every row, tightly
 *  if all floats were tried.  Returns the number of faults. */
size_t write_table(const char *path, const struct table *table);

/** The number after --samples, ALL_FLOATS without it; 0 if the command line is
 *  something else. */
uint64_t read_samples(int argc, char **argv);

/** Text of arguments: hexadecimal floats, two for a pair; `text` holds
 *  TABLE_TEXT characters and is returned. */
#define TABLE_TEXT 80
const char *argument_text(const struct error_at *at, bool is_pair, char *text);

#ifdef __cplusplus
}
#endif

#endif
