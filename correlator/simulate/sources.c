/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/csv.h"
#include "config/number.h"
#include "config/shape.h"
#include "correlator/site.h"
#include "correlator/simulate/sources.h"

/* The columns, in the order of their values. */
enum column {
    AZIMUTH,
    ELEVATION,
    STOKES_I,
    STOKES_Q,
    STOKES_U,
    STOKES_V,
    TONE
};
#define N_COLUMNS 7

static const struct {
    const char *name;
    bool is_required;
} columns[N_COLUMNS] = {
    {"az_deg", true}, {"el_deg", true}, {"I", true},        {"Q", false},
    {"U", false},     {"V", false},     {"tone_hz", false},
};

static enum fx8_status match_columns(const struct fx8_csv *csv,
                                     const char *path, size_t at[N_COLUMNS],
                                     struct fx8_error *error)
{
    for (size_t k = 0; k < N_COLUMNS; k++)
        at[k] = csv->n_columns;
    for (size_t c = 0; c < csv->n_columns; c++) {
        size_t k = 0;
        while (k < N_COLUMNS && strcmp(csv->columns[c], columns[k].name) != 0)
            k++;
        if (k < N_COLUMNS)
            at[k] = c;
        else if (strcmp(csv->columns[c], "ra_deg") == 0 ||
                 strcmp(csv->columns[c], "dec_deg") == 0)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s:%zu: %s: sources on the celestial sphere are "
                            "not built yet: expected az_deg and el_deg",
                            path, csv->header_line, csv->columns[c]);
        else
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s:%zu: %s: unknown column: expected az_deg, "
                            "el_deg, I, Q, U, V or tone_hz",
                            path, csv->header_line, csv->columns[c]);
    }
    for (size_t k = 0; k < N_COLUMNS; k++)
        if (columns[k].is_required && at[k] == csv->n_columns)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s:%zu: %s: column missing: expected az_deg, "
                            "el_deg, I, optional Q, U, V, tone_hz",
                            path, csv->header_line, columns[k].name);
    return FX8_OK;
}

/* Values of a row; an optional one that is empty or absent is 0. */
static enum fx8_status read_row(const struct fx8_csv *csv, const char *path,
                                const size_t at[N_COLUMNS], size_t row,
                                double values[N_COLUMNS], bool *has_tone,
                                struct fx8_error *error)
{
    *has_tone = false;
    for (size_t k = 0; k < N_COLUMNS; k++) {
        values[k] = 0.0;
        if (at[k] == csv->n_columns)
            continue;
        const char *field = csv->fields[row * csv->n_columns + at[k]];
        if (field[0] == '\0' && !columns[k].is_required)
            continue;
        if (!fx8_number_real(field, &values[k]))
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s:%zu: %s: %s: expected a number", path,
                            csv->lines[row], columns[k].name, field);
        if (k == TONE)
            *has_tone = true;
    }
    return FX8_OK;
}

static enum fx8_status check_row(const char *path, size_t line,
                                 const double values[N_COLUMNS], bool has_tone,
                                 struct fx8_error *error)
{
    const double i = values[STOKES_I];
    const double polarized =
        hypot(values[STOKES_Q], hypot(values[STOKES_U], values[STOKES_V]));
    if (!(fabs(values[ELEVATION]) <= 90.0))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s:%zu: el_deg: %.9g: expected -90 to 90", path, line,
                        values[ELEVATION]);
    if (!(i >= 0.0))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s:%zu: I: %.9g: expected at least 0", path, line, i);
    if (has_tone && polarized > 0.0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s:%zu: tone_hz: %.9g: expected Q, U and V of 0: a "
                        "tone enters X and Y alike",
                        path, line, values[TONE]);
    /* one rounding of the root is forgiven to a fully polarised source */
    if (!(polarized <= i * (1.0 + 1e-12)))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s:%zu: Q, U, V: %.9g: expected a root of squares of "
                        "at most I, %.9g",
                        path, line, polarized, i);
    return FX8_OK;
}

static enum fx8_status read_table(const struct fx8_csv *csv, const char *path,
                                  struct fx8_source *sources,
                                  struct fx8_error *error)
{
    size_t at[N_COLUMNS];
    enum fx8_status status = match_columns(csv, path, at, error);
    if (status != FX8_OK)
        return status;
    for (size_t row = 0; row < csv->n_rows; row++) {
        struct fx8_source *source = &sources[row];
        double values[N_COLUMNS];
        status = read_row(csv, path, at, row, values, &source->is_tone, error);
        if (status == FX8_OK)
            status = check_row(path, csv->lines[row], values, source->is_tone,
                               error);
        if (status != FX8_OK)
            break;
        fx8_site_direction(values[AZIMUTH], values[ELEVATION],
                           source->direction_enu);
        memcpy(source->stokes, values + STOKES_I, sizeof source->stokes);
        source->tone_hz = values[TONE];
    }
    return status;
}

enum fx8_status fx8_sources_load(const char *path, struct fx8_source **sources,
                                 size_t *n_sources, struct fx8_error *error)
{
    *sources = NULL;
    *n_sources = 0;
    struct fx8_csv csv;
    enum fx8_status status = fx8_csv_load(path, &csv, error);
    if (status != FX8_OK)
        return status;
    void *memory;
    status =
        fx8_allocate(csv.n_rows, sizeof **sources, "sources", &memory, error);
    if (status == FX8_OK)
        status = read_table(&csv, path, memory, error);
    if (status == FX8_OK) {
        *sources = memory;
        *n_sources = csv.n_rows;
    } else {
        free(memory);
    }
    fx8_csv_clear(&csv);
    return status;
}
