/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/antennas.h"
#include "config/base/csv.h"
#include "config/base/json.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"

/* Largest antenna number: UVH5 readers assume 32-bit integers. */
#define NUMBER_MAX INT32_MAX

/* Largest distance from the site in metres: larger than any array, smaller than
 * the Earth's radius, so it catches geocentric positions. */
#define DISTANCE_MAX_M 1e6

/* Smallest antenna spacing in metres: UVH5 readers refuse shorter baselines. */
#define DISTANCE_MIN_M 1e-3

/* Member of TART's JSON. */
#define POSITIONS "antenna_positions"

/* Antennas being read, and their places in the file. */
struct table {
    const char *path;
    struct fx8_antenna *antennas; /* [n] */
    size_t *lines;                /* [n], of CSV; NULL for JSON */
    size_t n;
    struct fx8_antennas_given given;
    struct fx8_error *error;
};

/* Default antenna for a row. */
static struct fx8_antenna nameless(size_t row)
{
    struct fx8_antenna antenna = {.number = (int64_t)row, .position = row};
    snprintf(antenna.name, sizeof antenna.name, "ANT%03zu", row);
    return antenna;
}

/* Place of an antenna in the file, for messages. */
static void format_place(const struct table *table, size_t row,
                         char text[FX8_ERROR_MESSAGE_SIZE])
{
    if (table->lines != NULL)
        snprintf(text, FX8_ERROR_MESSAGE_SIZE, "%s:%zu", table->path,
                 table->lines[row]);
    else
        snprintf(text, FX8_ERROR_MESSAGE_SIZE, "%s: " POSITIONS "[%zu]",
                 table->path, row);
}

/* --- columns -------------------------------------------------------------- */

enum column {
    COLUMN_NUMBER,
    COLUMN_NAME,
    COLUMN_EAST,
    COLUMN_NORTH,
    COLUMN_UP,
    COLUMN_DELAY,
    COLUMN_DELAY_X,
    COLUMN_DELAY_Y,
    COLUMN_INPUT,
    N_COLUMNS
};

static_assert(sizeof(size_t) == sizeof(int64_t), "sizes of 64 bits");

#define AT(member) .offset = offsetof(struct fx8_antenna, member)
#define METRES     REAL, 1, 1, INFINITY, "a number of metres"
#define DELAY(n)                                                               \
    REAL, n, 1e9, FX8_MAX_CABLE_DELAY_S * 1e9,                                 \
        "a number of nanoseconds, at most 1e9"

static const struct {
    const char *name;
    enum { NAME, WHOLE, REAL } kind;
    size_t n;    /* real members that get the value ... */
    double unit; /* ... so many to one */
    double most; /* absolute value, before that */
    const char *expected;
    size_t offset; /* of the member in struct fx8_antenna */
    bool is_required;
} columns[N_COLUMNS] = {
    [COLUMN_NUMBER] = {"number", WHOLE, 1, 1, NUMBER_MAX,
                       "an integer from 0 to 2147483647", AT(number)},
    [COLUMN_NAME] = {"name", NAME, 1, 1, 0, "1 to 63 ASCII characters",
                     AT(name)},
    [COLUMN_EAST] = {"east_m", METRES, AT(enu_m[0]), .is_required = true},
    [COLUMN_NORTH] = {"north_m", METRES, AT(enu_m[1]), .is_required = true},
    [COLUMN_UP] = {"up_m", METRES, AT(enu_m[2]), .is_required = true},
    [COLUMN_DELAY] = {"cable_delay_ns", DELAY(2), AT(cable_delay_s[0])},
    [COLUMN_DELAY_X] = {"cable_delay_x_ns", DELAY(1), AT(cable_delay_s[0])},
    [COLUMN_DELAY_Y] = {"cable_delay_y_ns", DELAY(1), AT(cable_delay_s[1])},
    [COLUMN_INPUT] = {"input", WHOLE, 1, 1, NUMBER_MAX,
                      "a position in the recording, an integer from 0 on",
                      AT(position)},
};

static bool store_name(char name[64], const char *text)
{
    const size_t length = strlen(text);
    if (length == 0 || length >= 64 || !fx8_text_is_ascii(text))
        return false;
    memcpy(name, text, length + 1);
    return true;
}

/* Parse and store a field; false if the value is invalid. */
static bool store(struct fx8_antenna *antenna, size_t column, const char *text)
{
    char *member = (char *)antenna + columns[column].offset;
    int64_t whole;
    double real;
    if (columns[column].kind == NAME)
        return store_name(member, text);
    if (columns[column].kind == WHOLE) {
        if (!fx8_number_integer(text, &whole) || whole < 0 ||
            (double)whole > columns[column].most)
            return false;
        memcpy(member, &whole, sizeof whole);
        return true;
    }
    if (!fx8_number_real(text, &real) || fabs(real) > columns[column].most)
        return false;
    real /= columns[column].unit;
    for (size_t i = 0; i < columns[column].n; i++)
        memcpy(member + i * sizeof real, &real, sizeof real);
    return true;
}

/* Find the file's column for each of ours; n_columns if absent. */
static enum fx8_status match_columns(struct table *table,
                                     const struct fx8_csv *csv,
                                     size_t where[N_COLUMNS])
{
    const char *names[N_COLUMNS];
    bool has[N_COLUMNS];
    for (size_t c = 0; c < N_COLUMNS; c++)
        names[c] = columns[c].name;
    FX8_TRY(
        fx8_csv_find(table->path, csv, names, N_COLUMNS, where, table->error));
    for (size_t c = 0; c < N_COLUMNS; c++) {
        has[c] = where[c] != csv->n_columns;
        if (columns[c].is_required && !has[c])
            return fx8_csv_fail_column(table->path, csv, columns[c].name,
                                       table->error);
    }
    if (has[COLUMN_DELAY] && (has[COLUMN_DELAY_X] || has[COLUMN_DELAY_Y]))
        return fx8_fail(table->error, FX8_ERR_USAGE,
                        "%s:%zu: cable_delay_ns: two polarisations' delays in "
                        "one column: expected it alone, or cable_delay_x_ns "
                        "and cable_delay_y_ns",
                        table->path, csv->header_line);
    table->given = (struct fx8_antennas_given){
        .name = has[COLUMN_NAME],
        .cable_delay = {has[COLUMN_DELAY] || has[COLUMN_DELAY_X],
                        has[COLUMN_DELAY] || has[COLUMN_DELAY_Y]},
    };
    return FX8_OK;
}

/* --- formats -------------------------------------------------------------- */

static enum fx8_status allocate(struct table *table, size_t n)
{
    table->n = n;
    return fx8_allocate(n, sizeof *table->antennas, table->path,
                        &table->antennas, table->error);
}

static enum fx8_status read_rows(struct table *table, const struct fx8_csv *csv)
{
    size_t where[N_COLUMNS];
    FX8_TRY(match_columns(table, csv, where));
    FX8_TRY(allocate(table, csv->n_rows));
    for (size_t row = 0; row < csv->n_rows; row++) {
        table->antennas[row] = nameless(row);
        for (size_t c = 0; c < N_COLUMNS; c++) {
            if (where[c] == csv->n_columns)
                continue;
            const char *text = csv->fields[row * csv->n_columns + where[c]];
            if (!store(&table->antennas[row], c, text))
                return fx8_csv_fail(table->path, csv->lines[row],
                                    columns[c].name, text, columns[c].expected,
                                    table->error);
        }
    }
    return FX8_OK;
}

/* Takes ownership of `text`. */
static enum fx8_status read_csv(struct table *table, char *text)
{
    FX8_AUTO(fx8_csv_clear) struct fx8_csv csv = {0};
    FX8_TRY(fx8_csv_parse(table->path, text, &csv, table->error));
    FX8_TRY(read_rows(table, &csv));
    table->lines = csv.lines; /* the table takes ownership */
    csv.lines = NULL;
    return FX8_OK;
}

static enum fx8_status read_json(struct table *table, const char *text)
{
    FX8_AUTO(fx8_json_release) json_t *json = NULL;
    FX8_TRY(
        fx8_json_parse(table->path, text, FX8_ERR_USAGE, &json, table->error));
    const json_t *positions =
        json_is_array(json) ? json : json_object_get(json, POSITIONS);
    const size_t n = json_array_size(positions); /* 0: no array, or not there */
    if (n == 0)
        return fx8_fail(table->error, FX8_ERR_USAGE,
                        "%s: " POSITIONS ": expected an array of [east, "
                        "north, up] in metres",
                        table->path);
    FX8_TRY(allocate(table, n));
    for (size_t row = 0; row < n; row++) {
        json_t *position = json_array_get(positions, row);
        table->antennas[row] = nameless(row);
        double *enu_m = table->antennas[row].enu_m;
        if (json_unpack(position, "[FFF!]", enu_m, enu_m + 1, enu_m + 2) != 0) {
            char found[41];
            fx8_json_show(position, found, sizeof found);
            return fx8_fail(table->error, FX8_ERR_USAGE,
                            "%s: " POSITIONS "[%zu]: %s: expected [east, "
                            "north, up] in metres",
                            table->path, row, found);
        }
    }
    return FX8_OK;
}

/* --- checks of the whole table -------------------------------------------- */

/* An antenna with its sort key. */
struct ranked {
    double value;
    size_t row;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Position along a unit vector at an odd angle: antennas close in space are
 * close here, and antennas on a line or a grid do not coincide. */
static double along_of(const struct fx8_antenna *antenna)
{
    const double *r = antenna->enu_m;
    return 0.48 * r[0] + 0.6 * r[1] + 0.64 * r[2];
}

/* Sort by a column of whole numbers, which are exact as doubles, or by
 * along_of() for N_COLUMNS. */
static void rank(const struct table *table, enum column column,
                 struct ranked *ranked)
{
    for (size_t row = 0; row < table->n; row++) {
        const struct fx8_antenna *antenna = &table->antennas[row];
        int64_t whole = 0;
        if (column < N_COLUMNS)
            memcpy(&whole, (const char *)antenna + columns[column].offset,
                   sizeof whole);
        ranked[row] = (struct ranked){
            column < N_COLUMNS ? (double)whole : along_of(antenna), row};
    }
    qsort(ranked, table->n, sizeof *ranked, compare_ranked);
}

static enum fx8_status check_distinct(const struct table *table,
                                      enum column column, struct ranked *ranked)
{
    rank(table, column, ranked);
    for (size_t i = 1; i < table->n; i++)
        if (ranked[i].value == ranked[i - 1].value)
            return fx8_fail(table->error, FX8_ERR_USAGE,
                            "%s:%zu: %s: %.0f: expected once, but line %zu "
                            "has it too",
                            table->path, table->lines[ranked[i].row],
                            columns[column].name, ranked[i].value,
                            table->lines[ranked[i - 1].row]);
    return FX8_OK;
}

static enum fx8_status fail_near(const struct table *table, size_t row,
                                 size_t other)
{
    const double *r = table->antennas[row].enu_m;
    char place[FX8_ERROR_MESSAGE_SIZE];
    format_place(table, row, place);
    return fx8_fail(table->error, FX8_ERR_USAGE,
                    "%s: position: %g, %g, %g: expected at least 1 mm from the "
                    "antenna of %s %zu",
                    place, r[0], r[1], r[2],
                    table->lines != NULL ? "line" : "position",
                    table->lines != NULL ? table->lines[other] : other);
}

/* `ranked` is sorted by along_of(): only antennas close in it can be close in
 * space.  Twice the distance leaves room for rounding. */
static enum fx8_status check_apart(const struct table *table,
                                   const struct ranked *ranked)
{
    for (size_t i = 1; i < table->n; i++) {
        const double *r = table->antennas[ranked[i].row].enu_m;
        for (size_t j = i; j-- > 0;) {
            const double *s = table->antennas[ranked[j].row].enu_m;
            if (ranked[i].value - ranked[j].value >= 2 * DISTANCE_MIN_M)
                break;
            if (hypot(hypot(r[0] - s[0], r[1] - s[1]), r[2] - s[2]) <
                DISTANCE_MIN_M)
                return fail_near(table, ranked[i].row, ranked[j].row);
        }
    }
    return FX8_OK;
}

enum fx8_status fx8_antennas_check_distance(const char *where,
                                            const double enu_m[3],
                                            struct fx8_error *error)
{
    if (!(hypot(hypot(enu_m[0], enu_m[1]), enu_m[2]) > DISTANCE_MAX_M))
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: position: %.10g, %.10g, %.10g: expected metres east, "
                    "north and up of the site, at most 1000 km (ECEF?)",
                    where, enu_m[0], enu_m[1], enu_m[2]);
}

static enum fx8_status check_distances(const struct table *table)
{
    for (size_t row = 0; row < table->n; row++) {
        char where[FX8_ERROR_MESSAGE_SIZE];
        format_place(table, row, where);
        FX8_TRY(fx8_antennas_check_distance(where, table->antennas[row].enu_m,
                                            table->error));
    }
    return FX8_OK;
}

static enum fx8_status check_table(const struct table *table)
{
    FX8_AUTO_FREE struct ranked *ranked = calloc(table->n, sizeof *ranked);
    if (ranked == NULL)
        return fx8_no_memory(table->path, table->error);
    FX8_TRY(check_distinct(table, COLUMN_NUMBER, ranked));
    FX8_TRY(check_distinct(table, COLUMN_INPUT, ranked));
    rank(table, N_COLUMNS, ranked);
    return check_apart(table, ranked);
}

static void release_table(struct table *table)
{
    free(table->lines);
    free(table->antennas);
}

enum fx8_status fx8_antennas_load(const char *path,
                                  struct fx8_antenna **antennas,
                                  size_t *n_antennas,
                                  struct fx8_antennas_given *given,
                                  struct fx8_error *error)
{
    *antennas = NULL;
    *n_antennas = 0;
    FX8_AUTO(release_table)
    struct table table = {.path = path, .error = error};
    FX8_AUTO_FREE char *text = NULL;
    FX8_TRY(fx8_text_read(path, &text, error));
    const char first = text[strspn(text, " \t\n")];
    if (first == '{' || first == '[') {
        FX8_TRY(read_json(&table, text));
    } else {
        char *taken = text;
        text = NULL;
        FX8_TRY(read_csv(&table, taken));
    }
    FX8_TRY(check_distances(&table));
    FX8_TRY(check_table(&table));
    *antennas = table.antennas;
    *n_antennas = table.n;
    if (given != NULL)
        *given = table.given;
    table.antennas = NULL;
    return FX8_OK;
}
