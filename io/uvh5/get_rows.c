/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * get_rows.c -- dates and lengths of rows in any order, whose baselines have
 * been averaged in time.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/uvh5/uvh5_reader.h"

/* Rows read at once. */
#define BLOCK_ROWS 65536

/* Date and length of a row. */
struct row {
    double date, length_s;
};

static int compare(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->date != y->date)
        return x->date < y->date ? -1 : 1;
    return (x->length_s > y->length_s) - (x->length_s < y->length_s);
}

static enum fx8_status read_rows(const struct fx8_uvh5_file *file,
                                 const struct fx8_h5_place *place,
                                 struct row *rows, struct fx8_error *error)
{
    FX8_AUTO_FREE double *values = NULL;
    FX8_TRY(fx8_allocate(2 * (size_t)BLOCK_ROWS, sizeof *values,
                         "rows of a UVH5 header", &values, error));
    for (size_t n, first = 0; first < file->n_rows; first += n) {
        n = file->n_rows - first < BLOCK_ROWS ? file->n_rows - first
                                              : BLOCK_ROWS;
        const struct fx8_h5_rows part = {file->n_rows, 1, first, n};
        FX8_TRY(fx8_h5_get_reals(place, "time_array", part, values, error));
        FX8_TRY(fx8_h5_get_reals(place, "integration_time", part, values + n,
                                 error));
        for (size_t i = 0; i < n; i++) {
            rows[first + i] = (struct row){values[i], values[n + i]};
            if (!isfinite(values[i]) || !(values[n + i] > 0.0))
                return fx8_fail(error, FX8_ERR_INPUT,
                                "%s: row %zu: JD %.8f, %g s: expected a date, "
                                "and seconds above 0",
                                file->path, first + i, values[i],
                                values[n + i]);
        }
    }
    return FX8_OK;
}

enum fx8_status fx8_uvh5_get_rows(const struct fx8_uvh5_file *file,
                                  const struct fx8_h5_place *place,
                                  struct fx8_uvh5_header *header,
                                  struct fx8_error *error)
{
    FX8_AUTO_FREE struct row *rows = NULL;
    size_t n = 0;
    FX8_TRY(fx8_allocate(file->n_rows, sizeof *rows, "rows of a UVH5 header",
                         &rows, error));
    FX8_TRY(read_rows(file, place, rows, error));
    qsort(rows, file->n_rows, sizeof *rows, compare);
    header->lengths_s[0] = header->lengths_s[1] = rows[0].length_s;
    for (size_t i = 0; i < file->n_rows; i++) {
        const double length_s = rows[i].length_s;
        header->lengths_s[0] = fmin(header->lengths_s[0], length_s);
        header->lengths_s[1] = fmax(header->lengths_s[1], length_s);
        const bool is_new = i == 0 || rows[i].date != rows[i - 1].date;
        n += is_new;
        if (n > header->n_times)
            break;
        header->julian_dates[n - 1] = rows[i].date;
        header->integration_s[n - 1] = length_s; /* the longest is the last */
    }
    return n == header->n_times
               ? FX8_OK
               : fx8_refuse(error, file->path, "Ntimes",
                            "%zu: expected %s, the different dates of "
                            "time_array",
                            header->n_times,
                            n > header->n_times ? "more" : "fewer");
}
