/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "config/base/csv.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/ripple_table.h"

enum column { OFFSET, POWER, N_COLUMNS };

static const char *const columns[N_COLUMNS] = {
    [OFFSET] = "offset_hz",
    [POWER] = "power",
};

/* Range of powers: that of libfx8. */
#define LEAST_POWER 1e-9
#define MOST_POWER  1e9

#define MOST_HZ 1e15

static enum fx8_status read_rows(const char *path, const struct fx8_csv *csv,
                                 struct fx8_ripple_table *table,
                                 struct fx8_error *error)
{
    size_t where[N_COLUMNS];
    FX8_TRY(fx8_csv_find_all(path, csv, columns, N_COLUMNS, where, error));
    const struct fx8_array arrays[] = {
        FX8_ITEMS(table->offset_hz, csv->n_rows),
        FX8_ITEMS(table->power, csv->n_rows),
    };
    FX8_TRY(fx8_allocate_arrays(arrays, N_COLUMNS, "ripple", error));
    for (size_t row = 0; row < csv->n_rows; row++) {
        double *const offset_hz = table->offset_hz + row;
        FX8_TRY(fx8_csv_real(path, csv, row, where[OFFSET], -MOST_HZ, MOST_HZ,
                             offset_hz, error));
        if (row > 0 && offset_hz[0] <= offset_hz[-1])
            return fx8_csv_fail(
                path, csv->lines[row], columns[OFFSET],
                csv->fields[row * csv->n_columns + where[OFFSET]],
                "more than in the row before", error);
        FX8_TRY(fx8_csv_real(path, csv, row, where[POWER], LEAST_POWER,
                             MOST_POWER, table->power + row, error));
    }
    table->n = csv->n_rows;
    return FX8_OK;
}

enum fx8_status fx8_ripple_load(const char *path,
                                struct fx8_ripple_table *table,
                                struct fx8_error *error)
{
    FX8_AUTO(fx8_csv_clear) struct fx8_csv csv = {0};
    *table = (struct fx8_ripple_table){0};
    FX8_TRY(fx8_csv_load(path, &csv, error));
    const enum fx8_status status = read_rows(path, &csv, table, error);
    if (status != FX8_OK)
        fx8_ripple_clear(table);
    return status;
}

double fx8_ripple_at(const struct fx8_ripple_table *table, double offset_hz)
{
    const double *x = table->offset_hz, *y = table->power;
    size_t below = 0, above = table->n - 1;
    if (offset_hz <= x[below] || offset_hz >= x[above])
        return y[offset_hz <= x[below] ? below : above];
    while (above - below > 1) {
        const size_t middle = below + (above - below) / 2;
        *(x[middle] <= offset_hz ? &below : &above) = middle;
    }
    const double share = (offset_hz - x[below]) / (x[above] - x[below]);
    return y[below] + share * (y[above] - y[below]);
}

void fx8_ripple_clear(struct fx8_ripple_table *table)
{
    free(table->offset_hz);
    free(table->power);
    *table = (struct fx8_ripple_table){0};
}
