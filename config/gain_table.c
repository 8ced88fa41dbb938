/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/base/csv.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/gain_table.h"

enum column { NUMBER, POL, AMPLITUDE, PHASE, DELAY, N_COLUMNS };

static const char *const columns[N_COLUMNS] = {
    [NUMBER] = "number",   [POL] = "pol",        [AMPLITUDE] = "amplitude",
    [PHASE] = "phase_deg", [DELAY] = "delay_ns",
};

/* Range of amplitudes: with the gain of a recording of 16 bits they stay within
 * that of libfx8. */
#define LEAST_AMPLITUDE 1e-6
#define MOST_AMPLITUDE  1e6

#define MOST_DEG 360.0
#define MOST_NS  (FX8_MAX_CABLE_DELAY_S * 1e9)

/* A table being read. */
struct table {
    const char *path;
    struct fx8_csv csv;
    size_t where[N_COLUMNS];
    const struct fx8_antenna *antennas;
    size_t n_antennas;
    size_t last; /* antenna of the row before: rows are usually in order */
    struct fx8_error *error;
};

static const char *field(const struct table *table, size_t row,
                         enum column column)
{
    return table->csv.fields[row * table->csv.n_columns + table->where[column]];
}

static enum fx8_status fail(const struct table *table, size_t row,
                            enum column column, const char *expected)
{
    return fx8_csv_fail(table->path, table->csv.lines[row], columns[column],
                        field(table, row, column), expected, table->error);
}

static enum fx8_status read_real(const struct table *table, size_t row,
                                 enum column column, double least, double most,
                                 double *value)
{
    return fx8_csv_real(table->path, &table->csv, row, table->where[column],
                        least, most, value, table->error);
}

/* The antenna and polarisation of a row as an index of the gains. */
static enum fx8_status find_input(struct table *table, size_t row,
                                  size_t *input)
{
    int64_t number;
    const char *pol = field(table, row, POL);
    size_t n_tried = 0;
    if (fx8_number_integer(field(table, row, NUMBER), &number))
        while (n_tried < table->n_antennas &&
               table->antennas[table->last].number != number) {
            table->last = (table->last + 1) % table->n_antennas;
            n_tried++;
        }
    else
        n_tried = table->n_antennas;
    if (n_tried == table->n_antennas)
        return fail(table, row, NUMBER, "the number of a recorded antenna");
    if (strcmp(pol, "X") != 0 && strcmp(pol, "Y") != 0)
        return fail(table, row, POL, "X or Y");
    *input = table->last * FX8_MAX_POLARIZATIONS + (pol[0] == 'Y');
    return FX8_OK;
}

static enum fx8_status read_gain(const struct table *table, size_t row,
                                 bool has_delays, struct fx8_gain *gain)
{
    FX8_TRY(read_real(table, row, AMPLITUDE, LEAST_AMPLITUDE, MOST_AMPLITUDE,
                      &gain->amplitude));
    FX8_TRY(
        read_real(table, row, PHASE, -MOST_DEG, MOST_DEG, &gain->phase_deg));
    FX8_TRY(read_real(table, row, DELAY, -MOST_NS, MOST_NS, &gain->delay_s));
    if (gain->delay_s != 0.0 && !has_delays)
        return fail(table, row, DELAY,
                    "0 in array.gains unless delay.mode is cable or track");
    gain->delay_s /= 1e9;
    return FX8_OK;
}

static void clear(struct table *table)
{
    fx8_csv_clear(&table->csv);
}

enum fx8_status fx8_gain_table_load(const char *path,
                                    const struct fx8_antenna *antennas,
                                    size_t n_antennas, bool has_delays,
                                    struct fx8_gain *gains,
                                    struct fx8_error *error)
{
    const size_t n_gains = n_antennas * FX8_MAX_POLARIZATIONS;
    FX8_AUTO_FREE size_t *lines = NULL; /* [n_gains], 0 without a row */
    FX8_AUTO(clear)
    struct table table = {.path = path,
                          .antennas = antennas,
                          .n_antennas = n_antennas,
                          .error = error};
    FX8_TRY(fx8_csv_load(path, &table.csv, error));
    FX8_TRY(fx8_csv_find_all(path, &table.csv, columns, N_COLUMNS, table.where,
                             error));
    FX8_TRY(fx8_allocate(n_gains, sizeof *lines, "gains", &lines, error));
    for (size_t i = 0; i < n_gains; i++)
        gains[i] = (struct fx8_gain){.amplitude = 1.0};
    for (size_t row = 0; row < table.csv.n_rows; row++) {
        size_t input = 0;
        FX8_TRY(find_input(&table, row, &input));
        if (lines[input] != 0)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s:%zu: number, pol: %s %s: expected once, but "
                            "line %zu has it too",
                            path, table.csv.lines[row],
                            field(&table, row, NUMBER), field(&table, row, POL),
                            lines[input]);
        lines[input] = table.csv.lines[row];
        FX8_TRY(read_gain(&table, row, has_delays, &gains[input]));
    }
    return FX8_OK;
}
