/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metadata.c -- read the metadata of a recording in fx8's own format.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "io/native/format.h"

const char *const fx8_native_axes[3] = {"antenna", "pol", "time"};

hid_t fx8_native_complex_type(void)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, 2);
    if (type >= 0 && H5Tinsert(type, "r", 0, H5T_NATIVE_INT8) >= 0 &&
        H5Tinsert(type, "i", 1, H5T_NATIVE_INT8) >= 0)
        return type;
    fx8_h5_close(&type);
    return FX8_H5_NONE;
}

bool fx8_native_order(const char *labels, struct fx8_axis_order *order)
{
    for (int axis = 0; axis < 3; axis++) {
        int n_found = 0;
        for (int place = 0; place < 3; place++)
            if (strcmp(labels + place * FX8_NATIVE_LABEL_SIZE,
                       fx8_native_axes[axis]) == 0) {
                order->place[axis] = place;
                n_found++;
            }
        if (n_found != 1)
            return false;
    }
    return true;
}

/* A text attribute that may be absent. */
static enum fx8_status read_optional_text(const struct fx8_h5_place *root,
                                          const char *name,
                                          char text[FX8_TEXT_SIZE],
                                          struct fx8_error *error)
{
    if (!fx8_h5_has(root, name))
        return FX8_OK;
    const enum fx8_status status =
        fx8_h5_get_texts(root, name, 1, FX8_TEXT_SIZE, text, error);
    if (status == FX8_OK)
        fx8_h5_printable(text);
    return status;
}

static enum fx8_status read_sideband(const struct fx8_h5_place *root,
                                     enum fx8_sideband *sideband,
                                     struct fx8_error *error)
{
    char text[FX8_TEXT_SIZE];
    const enum fx8_status status =
        fx8_h5_get_texts(root, "sideband", 1, sizeof text, text, error);
    if (status != FX8_OK)
        return status;
    if (strcmp(text, "upper") == 0)
        *sideband = FX8_SIDEBAND_UPPER;
    else if (strcmp(text, "lower") == 0)
        *sideband = FX8_SIDEBAND_LOWER;
    else
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: sideband: %s: expected upper or lower", root->path,
                        text);
    return FX8_OK;
}

enum fx8_status fx8_native_read_attributes(const char *path, hid_t file,
                                           struct fx8_observation *observation,
                                           struct fx8_error *error)
{
    const struct fx8_h5_place root = {path, file, true};
    int64_t version = 0;
    int64_t nanosecond = 0;
    struct fx8_rate rate = {0, 0};
    const struct fx8_h5_integer integers[] = {
        {"version", FX8_NATIVE_VERSION, FX8_NATIVE_VERSION, &version},
        {"sample_rate_numerator_hz", 1, INT64_MAX, &rate.numerator_hz},
        {"sample_rate_denominator", 1, INT64_MAX, &rate.denominator},
        /* the years 0001 to 9999 */
        {"start_time_unix_s", INT64_C(-62135596800), INT64_C(253402300799),
         &observation->start_time.unix_s},
        {"start_time_ns", 0, 999999999, &nanosecond},
    };
    enum fx8_status status = fx8_h5_get_each(
        &root, integers, sizeof integers / sizeof integers[0], error);
    if (status != FX8_OK)
        return status;
    observation->sample_rate = fx8_rate_reduced(rate);
    observation->start_time.picosecond = nanosecond * 1000;
    observation->has_start_time = true;
    status = fx8_h5_get_real(&root, "dc_frequency_hz",
                             &observation->dc_frequency_hz, error);
    /* as in the configuration: up to 1 PHz */
    if (status == FX8_OK && (observation->dc_frequency_hz < 0 ||
                             observation->dc_frequency_hz > 1e15))
        status = fx8_fail(error, FX8_ERR_INPUT,
                          "%s: dc_frequency_hz: %g: expected 0 to 1e15 Hz",
                          path, observation->dc_frequency_hz);
    if (status == FX8_OK)
        status = read_sideband(&root, &observation->sideband, error);
    if (status == FX8_OK)
        status = read_optional_text(&root, "telescope", observation->telescope,
                                    error);
    if (status == FX8_OK)
        status = read_optional_text(&root, "instrument",
                                    observation->instrument, error);
    if (status == FX8_OK)
        status =
            read_optional_text(&root, "object", observation->object, error);
    return status;
}

/* Read the site: all three attributes or none. */
static enum fx8_status read_site(const struct fx8_h5_place *attributes,
                                 struct fx8_site *site, struct fx8_error *error)
{
    const struct {
        const char *name;
        double most;
        double *value;
    } members[] = {
        {"latitude_deg", 90, &site->latitude_deg},
        {"longitude_deg", 360, &site->longitude_deg},
        {"altitude_m", 1e5, &site->altitude_m},
    };
    if (!fx8_h5_has(attributes, members[0].name) &&
        !fx8_h5_has(attributes, members[1].name) &&
        !fx8_h5_has(attributes, members[2].name))
        return FX8_OK;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (!fx8_h5_has(attributes, members[i].name))
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s: attribute %s: missing: expected all of "
                            "%s, %s, %s, or none",
                            attributes->path, FX8_NATIVE_ANTENNAS,
                            members[i].name, members[0].name, members[1].name,
                            members[2].name);
        double value = 0;
        const enum fx8_status status =
            fx8_h5_get_real(attributes, members[i].name, &value, error);
        if (status != FX8_OK)
            return status;
        if (fabs(value) > members[i].most)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s: attribute %s: %g: expected %g to %g",
                            attributes->path, FX8_NATIVE_ANTENNAS,
                            members[i].name, value, -members[i].most,
                            members[i].most);
        *members[i].value = value;
    }
    return FX8_OK;
}

/* Columns of /antennas, each [n] doubles, and their destinations. */
enum { EAST, NORTH, UP, DELAY, DELAY_Y, N_REALS };
static const char *const real_columns[N_REALS] = {
    "east_m", "north_m", "up_m", "cable_delay_s", "cable_delay_y_s"};

/* UVH5 readers store antenna numbers in 32 bits. */
#define MAX_NUMBER INT64_C(2147483647)

/* The table's columns, before conversion to records. */
struct columns {
    int64_t *number;
    char (*name)[sizeof((struct fx8_antenna *)0)->name];
    double *real; /* [N_REALS][n] */
};

static enum fx8_status read_columns(const struct fx8_h5_table *table,
                                    struct columns *columns,
                                    struct fx8_error *error)
{
    const size_t n = table->n_rows;
    enum fx8_status status =
        fx8_h5_get_integer_column(table, "number", columns->number, error);
    if (status == FX8_OK)
        status = fx8_h5_get_text_column(table, "name", sizeof columns->name[0],
                                        columns->name[0], error);
    for (size_t i = 0; i < N_REALS && status == FX8_OK; i++) {
        double *column = columns->real + i * n;
        /* missing delays are 0; a missing Y delay equals X's */
        if (i >= DELAY && !fx8_h5_has_column(table, real_columns[i])) {
            if (i == DELAY_Y)
                memcpy(column, columns->real + DELAY * n, n * sizeof *column);
            continue;
        }
        status = fx8_h5_get_real_column(table, real_columns[i], column, error);
    }
    return status;
}

static int compare_integers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Positions may be NaN (unknown), delays may not. */
static enum fx8_status check_row(const struct fx8_h5_table *table,
                                 const struct columns *columns, size_t row,
                                 struct fx8_error *error)
{
    const int64_t number = columns->number[row];
    if (number < 0 || number > MAX_NUMBER)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: %s: row %zu: number: %" PRId64
                        ": expected an integer from 0 to %" PRId64,
                        table->path, table->name, row, number, MAX_NUMBER);
    for (size_t k = 0; k < N_REALS; k++) {
        const double value = columns->real[k * table->n_rows + row];
        if (!isfinite(value) && (k >= DELAY || !isnan(value)))
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s: row %zu: %s: %g: expected %s", table->path,
                            table->name, row, real_columns[k], value,
                            k >= DELAY ? "a finite number of seconds"
                                       : "a finite number of metres, or NaN "
                                         "where it is not known");
    }
    return FX8_OK;
}

/* Fill the records. */
static enum fx8_status fill_antennas(const struct fx8_h5_table *table,
                                     struct columns *columns,
                                     struct fx8_antenna *antennas,
                                     struct fx8_error *error)
{
    const size_t n = table->n_rows;
    for (size_t i = 0; i < n; i++) {
        const enum fx8_status status = check_row(table, columns, i, error);
        if (status != FX8_OK)
            return status;
        struct fx8_antenna *antenna = &antennas[i];
        antenna->number = columns->number[i];
        antenna->position = i;
        memcpy(antenna->name, columns->name[i], sizeof antenna->name);
        fx8_h5_printable(antenna->name);
        for (size_t k = 0; k < 3; k++)
            antenna->enu_m[k] = columns->real[(EAST + k) * n + i];
        antenna->cable_delay_s[0] = columns->real[DELAY * n + i];
        antenna->cable_delay_s[1] = columns->real[DELAY_Y * n + i];
    }
    qsort(columns->number, n, sizeof *columns->number, compare_integers);
    for (size_t i = 1; i < n; i++)
        if (columns->number[i] == columns->number[i - 1])
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s: number %" PRId64
                            ": twice: expected every number once",
                            table->path, table->name, columns->number[i]);
    return FX8_OK;
}

/* Allocate, read and convert the rows of an opened table. */
static enum fx8_status load_antennas(const struct fx8_h5_table *table,
                                     struct fx8_observation *observation,
                                     struct fx8_error *error)
{
    const size_t n = table->n_rows;
    void *numbers = NULL;
    void *names = NULL;
    void *reals = NULL;
    void *antennas = NULL;
    enum fx8_status status =
        fx8_allocate(n, sizeof(int64_t), "antenna numbers", &numbers, error);
    if (status == FX8_OK)
        status = fx8_allocate(n, sizeof *((struct columns *)0)->name,
                              "antenna names", &names, error);
    if (status == FX8_OK)
        status = fx8_allocate(N_REALS * n, sizeof(double), "antenna positions",
                              &reals, error);
    if (status == FX8_OK)
        status = fx8_allocate(n, sizeof(struct fx8_antenna), "antennas",
                              &antennas, error);
    if (status == FX8_OK) {
        struct columns columns = {numbers, names, reals};
        status = read_columns(table, &columns, error);
        if (status == FX8_OK)
            status = fill_antennas(table, &columns, antennas, error);
    }
    if (status == FX8_OK) {
        observation->antennas = antennas;
        observation->n_table = n;
    } else {
        free(antennas);
    }
    free(reals);
    free(names);
    free(numbers);
    return status;
}

enum fx8_status fx8_native_read_antennas(const char *path, hid_t file,
                                         struct fx8_observation *observation,
                                         struct fx8_error *error)
{
    const struct fx8_h5_place root = {path, file, false};
    if (!fx8_h5_has(&root, FX8_NATIVE_ANTENNAS))
        return FX8_OK;
    struct fx8_h5_table table;
    enum fx8_status status =
        fx8_h5_open_table(&root, FX8_NATIVE_ANTENNAS, &table, error);
    if (status != FX8_OK)
        return status;
    if (table.n_rows != observation->n_antennas)
        status = fx8_fail(error, FX8_ERR_INPUT,
                          "%s: %s: %zu %s: expected %zu, as the antenna axis "
                          "of %s",
                          path, table.name, table.n_rows,
                          FX8_NOUN(table.n_rows, "row", "rows"),
                          observation->n_antennas, FX8_NATIVE_VOLTAGES);
    const struct fx8_h5_place attributes = {path, table.dataset, true};
    if (status == FX8_OK)
        status = read_site(&attributes, &observation->site, error);
    if (status == FX8_OK)
        status = load_antennas(&table, observation, error);
    fx8_h5_close_table(&table);
    return status;
}

/* Check one row of /missing against the axes. */
static bool missing_fits(const int64_t row[4],
                         const struct fx8_observation *observation)
{
    const int64_t antenna = row[0];
    const int64_t polarization = row[1];
    const int64_t first = row[2];
    const int64_t count = row[3];
    return antenna >= -1 && antenna < (int64_t)observation->n_antennas &&
           polarization >= -1 &&
           polarization < (int64_t)observation->n_polarizations && first >= 0 &&
           first < observation->n_samples && count > 0 &&
           count <= observation->n_samples - first;
}

/* Read columns into `values` [n][4], then convert rows to records. */
static enum fx8_status load_missing(const struct fx8_h5_table *table,
                                    const struct fx8_observation *observation,
                                    int64_t *column,
                                    struct fx8_missing *missing,
                                    struct fx8_error *error)
{
    static const char *const members[4] = {"antenna", "pol", "first_sample",
                                           "count"};
    const size_t n = table->n_rows;
    for (size_t k = 0; k < 4; k++) {
        const enum fx8_status status =
            fx8_h5_get_integer_column(table, members[k], column + k * n, error);
        if (status != FX8_OK)
            return status;
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t row[4] = {column[i], column[n + i], column[2 * n + i],
                                column[3 * n + i]};
        if (!missing_fits(row, observation))
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s: row %zu: antenna %" PRId64 ", pol %" PRId64
                            ", first_sample %" PRId64 ", count %" PRId64
                            ": expected a stretch of the recording",
                            table->path, table->name, i, row[0], row[1], row[2],
                            row[3]);
        missing[i] = (struct fx8_missing){.antenna = (int32_t)row[0],
                                          .polarization = (int32_t)row[1],
                                          .band = -1,
                                          .first_sample = row[2],
                                          .n_samples = row[3]};
    }
    qsort(missing, n, sizeof *missing, fx8_missing_order);
    return FX8_OK;
}

enum fx8_status fx8_native_read_missing(
    const char *path, hid_t file, const struct fx8_observation *observation,
    struct fx8_missing **missing, size_t *n_missing, struct fx8_error *error)
{
    *missing = NULL;
    *n_missing = 0;
    const struct fx8_h5_place root = {path, file, false};
    if (!fx8_h5_has(&root, FX8_NATIVE_MISSING))
        return FX8_OK;
    struct fx8_h5_table table;
    enum fx8_status status =
        fx8_h5_open_table(&root, FX8_NATIVE_MISSING, &table, error);
    if (status != FX8_OK)
        return status;
    void *columns = NULL;
    void *records = NULL;
    status = fx8_allocate(fx8_product(table.n_rows, 4, 1, 1), sizeof(int64_t),
                          "columns of the missing table", &columns, error);
    if (status == FX8_OK)
        status = fx8_allocate(table.n_rows, sizeof **missing, "missing table",
                              &records, error);
    if (status == FX8_OK)
        status = load_missing(&table, observation, columns, records, error);
    free(columns);
    if (status == FX8_OK) {
        *missing = records;
        *n_missing = table.n_rows;
    } else {
        free(records);
    }
    fx8_h5_close_table(&table);
    return status;
}
