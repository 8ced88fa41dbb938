/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "config/base/csv.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/site.h"
#include "correlator/simulate/sources.h"

/* The columns, in the order of their values. */
enum column {
    AZIMUTH,
    ELEVATION,
    RIGHT_ASCENSION,
    DECLINATION,
    STOKES_I,
    STOKES_Q,
    STOKES_U,
    STOKES_V,
    TONE
};
#define N_COLUMNS 9

/* A tone with Q, U, V is fully polarised within this share of I. */
#define POLARIZED_TONE 1e-6

static const char *const columns[N_COLUMNS] = {
    "az_deg", "el_deg", "ra_deg", "dec_deg", "I", "Q", "U", "V", "tone_hz",
};

#define EXPECTED_COLUMNS                                                       \
    "expected az_deg, el_deg (or ra_deg, dec_deg), I, optional Q, U, V, "      \
    "tone_hz, name"

/* The missing column of a pair that has the other one, or N_COLUMNS. */
static size_t find_half(const bool has[N_COLUMNS])
{
    for (size_t k = AZIMUTH; k < STOKES_I; k++)
        if (!has[k] && has[k ^ 1])
            return k;
    return N_COLUMNS;
}

static enum fx8_status match_columns(const struct fx8_csv *csv,
                                     const char *path, size_t at[N_COLUMNS],
                                     struct fx8_error *error)
{
    bool has[N_COLUMNS] = {false};
    for (size_t k = 0; k < N_COLUMNS; k++)
        at[k] = csv->n_columns;
    for (size_t c = 0; c < csv->n_columns; c++) {
        size_t k = 0;
        if (strcmp(csv->columns[c], "name") == 0)
            continue; /* for fx8 image --catalog */
        while (k < N_COLUMNS && strcmp(csv->columns[c], columns[k]) != 0)
            k++;
        if (k == N_COLUMNS)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s:%zu: %s: unknown column: " EXPECTED_COLUMNS,
                            path, csv->header_line, csv->columns[c]);
        at[k] = c;
        has[k] = true;
    }
    size_t lacking = find_half(has);
    if (!has[AZIMUTH] && !has[RIGHT_ASCENSION] && lacking == N_COLUMNS)
        lacking = AZIMUTH;
    if (lacking == N_COLUMNS && !has[STOKES_I])
        lacking = STOKES_I;
    if (lacking < N_COLUMNS)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s:%zu: %s: column missing: " EXPECTED_COLUMNS, path,
                        csv->header_line, columns[lacking]);
    return FX8_OK;
}

/* Values of a row, 0 if empty or absent, and which are present. */
static enum fx8_status read_row(const struct fx8_csv *csv, const char *path,
                                const size_t at[N_COLUMNS], size_t row,
                                double values[N_COLUMNS], bool has[N_COLUMNS],
                                struct fx8_error *error)
{
    const size_t line = csv->lines[row];
    for (size_t k = 0; k < N_COLUMNS; k++) {
        values[k] = 0.0;
        const char *field = at[k] == csv->n_columns
                                ? ""
                                : csv->fields[row * csv->n_columns + at[k]];
        has[k] = field[0] != '\0';
        if ((has[k] || k == STOKES_I) && !fx8_number_real(field, &values[k]))
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s:%zu: %s: %s: expected a number", path, line,
                            columns[k], field);
    }
    const size_t half = find_half(has);
    if (half < N_COLUMNS)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s:%zu: %s: empty: expected a number beside %s", path,
                        line, columns[half], columns[half ^ 1]);
    if (has[AZIMUTH] == has[RIGHT_ASCENSION])
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s:%zu: az_deg, el_deg, ra_deg, dec_deg: %s: expected "
                        "either az_deg, el_deg or ra_deg, dec_deg",
                        path, line, has[AZIMUTH] ? "all given" : "none given");
    return FX8_OK;
}

static enum fx8_status check_place(const char *path, size_t line,
                                   const double values[N_COLUMNS],
                                   struct fx8_error *error)
{
    static const struct {
        enum column column;
        double least, most;
    } ranges[] = {{ELEVATION, -90.0, 90.0},
                  {RIGHT_ASCENSION, 0.0, 360.0},
                  {DECLINATION, -90.0, 90.0}};
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        const double value = values[ranges[k].column];
        if (!(value >= ranges[k].least && value <= ranges[k].most))
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s:%zu: %s: %.9g: expected %g to %g", path, line,
                            columns[ranges[k].column], value, ranges[k].least,
                            ranges[k].most);
    }
    return FX8_OK;
}

static enum fx8_status check_stokes(const char *path, size_t line,
                                    const double values[N_COLUMNS],
                                    bool is_tone, struct fx8_error *error)
{
    const double i = values[STOKES_I];
    const double polarized =
        hypot(values[STOKES_Q], hypot(values[STOKES_U], values[STOKES_V]));
    if (!(i >= 0.0))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s:%zu: I: %.9g: expected at least 0", path, line, i);
    if (is_tone && polarized > 0.0) {
        if (!(fabs(polarized - i) <= POLARIZED_TONE * i))
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s:%zu: Q, U, V: %.9g: expected a root of squares "
                            "of I, %.9g, as a tone has, or none of them",
                            path, line, polarized, i);
        return FX8_OK;
    }
    /* allow for rounding of the root with full polarisation */
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
    FX8_TRY(match_columns(csv, path, at, error));
    for (size_t row = 0; row < csv->n_rows; row++) {
        struct fx8_source *source = &sources[row];
        double values[N_COLUMNS];
        bool has[N_COLUMNS] = {false};
        FX8_TRY(read_row(csv, path, at, row, values, has, error));
        FX8_TRY(check_place(path, csv->lines[row], values, error));
        FX8_TRY(check_stokes(path, csv->lines[row], values, has[TONE], error));
        source->is_celestial = has[RIGHT_ASCENSION];
        source->is_tone = has[TONE];
        memcpy(source->icrs_deg, values + RIGHT_ASCENSION,
               sizeof source->icrs_deg);
        fx8_site_direction(values[AZIMUTH], values[ELEVATION],
                           source->direction_enu);
        memcpy(source->stokes, values + STOKES_I, sizeof source->stokes);
        source->tone_hz = values[TONE];
    }
    return FX8_OK;
}

enum fx8_status fx8_sources_load(const char *path, struct fx8_source **sources,
                                 size_t *n_sources, struct fx8_error *error)
{
    *sources = NULL;
    *n_sources = 0;
    FX8_AUTO(fx8_csv_clear) struct fx8_csv csv = {0};
    FX8_AUTO_FREE struct fx8_source *read = NULL;
    FX8_TRY(fx8_csv_load(path, &csv, error));
    FX8_TRY(fx8_allocate(csv.n_rows, sizeof *read, "sources", &read, error));
    FX8_TRY(read_table(&csv, path, read, error));
    *sources = read;
    *n_sources = csv.n_rows;
    read = NULL;
    return FX8_OK;
}
