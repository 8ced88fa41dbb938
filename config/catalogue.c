/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "config/base/csv.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "config/catalogue.h"

enum column { NAME, RIGHT_ASCENSION, DECLINATION, N_COLUMNS };

static const char *const columns[N_COLUMNS] = {
    [NAME] = "name",
    [RIGHT_ASCENSION] = "ra_deg",
    [DECLINATION] = "dec_deg",
};

/* Longest name: together with that of the result, it fits the 255 bytes of a
 * file's name. */
#define NAME_MAX_LENGTH 63

static bool is_part_of_name(const char *text)
{
    const size_t length = strlen(text);
    return length >= 1 && length <= NAME_MAX_LENGTH &&
           fx8_text_is_ascii(text) && strchr(text, '/') == NULL;
}

/* Names are few: each is compared with all before. */
static enum fx8_status read_name(const char *path, const struct fx8_csv *csv,
                                 size_t row, const char *text,
                                 struct fx8_phase_center *centers,
                                 struct fx8_error *error)
{
    if (!is_part_of_name(text))
        return fx8_csv_fail(path, csv->lines[row], columns[NAME], text,
                            "1 to 63 ASCII characters without /, for the name "
                            "of a file",
                            error);
    for (size_t k = 0; k < row; k++)
        if (strcmp(centers[k].name, text) == 0)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s:%zu: %s: %s: expected once, but line %zu has "
                            "it too",
                            path, csv->lines[row], columns[NAME], text,
                            csv->lines[k]);
    snprintf(centers[row].name, sizeof centers[row].name, "%s", text);
    return FX8_OK;
}

enum fx8_status fx8_catalogue_load(const char *path,
                                   struct fx8_phase_center **centers,
                                   size_t *n_centers, struct fx8_error *error)
{
    *centers = NULL;
    *n_centers = 0;
    size_t where[N_COLUMNS];
    FX8_AUTO(fx8_csv_clear) struct fx8_csv csv = {0};
    FX8_AUTO_FREE struct fx8_phase_center *read = NULL;
    FX8_TRY(fx8_csv_load(path, &csv, error));
    FX8_TRY(fx8_csv_find_all(path, &csv, columns, N_COLUMNS, where, error));
    if (csv.n_rows > FX8_MAX_PHASE_CENTERS)
        return fx8_fail(
            error, FX8_ERR_USAGE, "%s:%zu: expected at most %d phase centres",
            path, csv.lines[FX8_MAX_PHASE_CENTERS], FX8_MAX_PHASE_CENTERS);
    FX8_TRY(
        fx8_allocate(csv.n_rows, sizeof *read, "phase centres", &read, error));
    for (size_t row = 0; row < csv.n_rows; row++) {
        FX8_TRY(read_name(path, &csv, row,
                          csv.fields[row * N_COLUMNS + where[NAME]], read,
                          error));
        FX8_TRY(fx8_csv_real(path, &csv, row, where[RIGHT_ASCENSION], 0.0,
                             360.0, &read[row].icrs_deg[0], error));
        FX8_TRY(fx8_csv_real(path, &csv, row, where[DECLINATION], -90.0, 90.0,
                             &read[row].icrs_deg[1], error));
    }
    *centers = read;
    *n_centers = csv.n_rows;
    read = NULL;
    return FX8_OK;
}
