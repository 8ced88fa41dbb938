/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <erfam.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "config/earth.h"

/* MJD of 1970-01-01. */
#define EPOCH_MJD   40587
#define DAY_SECONDS 86400

/* Values of a row. */
enum { POLAR_X, POLAR_Y, DUT1, N_VALUES };

struct row {
    double value[N_VALUES]; /* arcsec, arcsec, s */
};

/* The ranges keep out wrong columns and units. */
static const struct {
    const char *name;
    double most;
    const char *expected;
} values[N_VALUES] = {
    [POLAR_X] = {"x of the pole", 1, "a number of arcseconds below 1"},
    [POLAR_Y] = {"y of the pole", 1, "a number of arcseconds below 1"},
    [DUT1] = {"UT1-UTC", 1, "a number of seconds below 1"},
};

struct fx8_earth_table {
    char *path;    /* NULL: constant */
    double dut1_s; /* constant; NaN: not known */
    int64_t first_mjd;
    struct row *rows; /* [n_rows] a day apart */
    size_t n_rows;
};

/* --- reading lines ------------------------------------------------ */

/* A file being read. */
struct reading {
    struct fx8_earth_table *table;
    size_t line; /* number, from 1 */
    double unit; /* of the numbers of a column table: 1 or 1e-3 */
    bool is_over;
    struct fx8_error *error;
};

static enum fx8_status fail_value(const struct reading *reading,
                                  const char *name, const char *text,
                                  const char *expected)
{
    return fx8_fail(reading->error, FX8_ERR_USAGE,
                    "%s:%zu: %s: %.40s: expected %s", reading->table->path,
                    reading->line, name, *text != '\0' ? text : "(empty)",
                    expected);
}

/* Append a row; `mjd` as written. */
static enum fx8_status add_row(struct reading *reading, const char *mjd,
                               const struct row *row)
{
    struct fx8_earth_table *table = reading->table;
    double day;
    if (!fx8_number_real(mjd, &day) || day != floor(day) || fabs(day) > 1e6)
        return fail_value(reading, "MJD", mjd, "a whole number of days");
    if (table->n_rows == 0)
        table->first_mjd = (int64_t)day;
    if ((int64_t)day != table->first_mjd + (int64_t)table->n_rows)
        return fail_value(reading, "MJD", mjd,
                          "the day after that of the row before");
    FX8_TRY(fx8_grow(&table->rows, table->n_rows, sizeof *table->rows,
                     table->path, reading->error));
    table->rows[table->n_rows++] = *row;
    return FX8_OK;
}

static enum fx8_status read_value(const struct reading *reading, int which,
                                  const char *text, double unit,
                                  struct row *row)
{
    double *value = &row->value[which];
    if (fx8_number_real(text, value)) {
        *value *= unit;
        if (fabs(*value) < values[which].most)
            return FX8_OK;
    }
    return fail_value(reading, values[which].name, text,
                      values[which].expected);
}

/* --- finals2000A -------------------------------------------------- */

/* First and last column, from 1. */
struct field {
    size_t first, last;
};

static const struct field mjd_field = {8, 15};

static const struct field bulletin_a[N_VALUES] = {
    [POLAR_X] = {19, 27}, [POLAR_Y] = {38, 46}, [DUT1] = {59, 68}};

static const struct field bulletin_b[N_VALUES] = {
    [POLAR_X] = {135, 144}, [POLAR_Y] = {145, 154}, [DUT1] = {155, 165}};

/* Longest field and its end. */
enum { FIELD_SIZE = 12 };

/* Text of a field without blanks before it: numbers end in its last column. */
static void cut_field(const char *line, struct field field,
                      char text[FIELD_SIZE])
{
    const size_t length = strnlen(line, field.last);
    size_t first = field.first - 1;
    while (first < length && line[first] == ' ')
        first++;
    const size_t n = first < length ? length - first : 0;
    memcpy(text, line + (n > 0 ? first : 0), n);
    text[n] = '\0';
}

static bool is_finals(const char *line)
{
    return strlen(line) >= bulletin_a[DUT1].last && line[10] != ' ' &&
           line[12] == '.' && (line[16] == 'I' || line[16] == 'P');
}

/* Values of one bulletin; fails unless all are whole. */
static enum fx8_status read_fields(const struct reading *reading,
                                   const char *line, const struct field *fields,
                                   int first, int last, struct row *row)
{
    for (int k = first; k <= last; k++) {
        char text[FIELD_SIZE];
        cut_field(line, fields[k], text);
        if (strlen(line) < fields[k].last)
            return fail_value(reading, values[k].name, text,
                              "a longer line, as in finals2000A");
        FX8_TRY(read_value(reading, k, text, 1.0, row));
    }
    return FX8_OK;
}

static bool is_blank(const char *line, struct field field)
{
    char text[FIELD_SIZE];
    cut_field(line, field, text);
    return text[0] == '\0';
}

/* The last rows have dates only, or no UT1 - UTC. */
static enum fx8_status read_finals(struct reading *reading, const char *line)
{
    char mjd[FIELD_SIZE];
    struct row row;
    if (*line == '\0' || is_blank(line, bulletin_a[DUT1]))
        return FX8_OK;
    FX8_TRY(read_fields(reading, line, bulletin_a, POLAR_X, DUT1, &row));
    if (!is_blank(line, bulletin_b[POLAR_X]) &&
        !is_blank(line, bulletin_b[POLAR_Y]))
        FX8_TRY(read_fields(reading, line, bulletin_b, POLAR_X, POLAR_Y, &row));
    if (!is_blank(line, bulletin_b[DUT1]))
        FX8_TRY(read_fields(reading, line, bulletin_b, DUT1, DUT1, &row));
    cut_field(line, mjd_field, mjd);
    return add_row(reading, mjd, &row);
}

/* --- EOP C04, Bulletin B ------------------------------------------ */

/* Columns: year, month, day, hour, MJD and the values. */
enum { YEAR, MONTH, DAY, HOUR, MJD, VALUES, N_COLUMNS = VALUES + N_VALUES };

/* Cut the first words of a line; returns how many. */
static size_t cut_words(char *line, char *words[N_COLUMNS])
{
    size_t n = 0;
    for (char *word; n < N_COLUMNS; n++) {
        while ((word = strsep(&line, " \t")) != NULL && *word == '\0')
            ;
        if (word == NULL)
            break;
        words[n] = word;
    }
    return n;
}

/* Rows begin with a year; Bulletin B has further sections, whose title begins
 * with "2 -". */
static enum fx8_status read_columns(struct reading *reading, char *line)
{
    char *words[N_COLUMNS];
    struct row row;
    double number;
    if (reading->table->n_rows == 0 && strstr(line, "milliarcsecond") != NULL)
        reading->unit = 1e-3;
    size_t n = cut_words(line, words);
    if (n == 0 || !isdigit((unsigned char)words[0][0]))
        return FX8_OK;
    if (strlen(words[YEAR]) != 4) {
        reading->is_over =
            reading->table->n_rows > 0 && n > 1 && strcmp(words[1], "-") == 0;
        return FX8_OK;
    }
    if (n > HOUR && fx8_number_real(words[HOUR], &number) && number >= 24) {
        n = n < N_COLUMNS ? n + 1 : n;
        memmove(words + MJD, words + HOUR,
                (n - MJD) * sizeof *words); /* no hour */
    }
    if (n < N_COLUMNS)
        return fail_value(reading, "year", words[YEAR],
                          "a line of year, month, day, perhaps hour, MJD, x, "
                          "y and UT1-UTC");
    for (int k = 0; k < N_VALUES; k++)
        FX8_TRY(read_value(reading, k, words[VALUES + k], reading->unit, &row));
    return add_row(reading, words[MJD], &row);
}

/* --- open, find, close -------------------------------------------- */

static enum fx8_status read_table(struct fx8_earth_table *table, char *text,
                                  struct fx8_error *error)
{
    struct reading reading = {.table = table, .unit = 1.0, .error = error};
    const bool has_fields = is_finals(text);
    while (text != NULL && !reading.is_over) {
        char *line = strsep(&text, "\n");
        reading.line++;
        FX8_TRY(has_fields ? read_finals(&reading, line)
                           : read_columns(&reading, line));
    }
    if (table->n_rows < 2)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: expected rows of finals2000A, EOP C04 or "
                        "Bulletin B of the IERS",
                        table->path);
    return FX8_OK;
}

enum fx8_status fx8_earth_open(const char *path, double dut1_s,
                               struct fx8_earth_table **table,
                               struct fx8_error *error)
{
    *table = NULL;
    FX8_AUTO(fx8_earth_close) struct fx8_earth_table *made = NULL;
    FX8_TRY(fx8_allocate(1, sizeof *made, "orientation of the Earth", &made,
                         error));
    made->dut1_s = dut1_s;
    if (path[0] != '\0') {
        FX8_AUTO_FREE char *text = NULL;
        if ((made->path = strdup(path)) == NULL)
            return fx8_no_memory(path, error);
        FX8_TRY(fx8_text_read(path, &text, error));
        FX8_TRY(read_table(made, text, error));
    }
    *table = made;
    made = NULL;
    return FX8_OK;
}

bool fx8_earth_is_known(const struct fx8_earth_table *table)
{
    return table->path != NULL || !isnan(table->dut1_s);
}

/* Date of a day, without the time. */
static void format_date(int64_t mjd, char text[FX8_NUMBER_TEXT_SIZE])
{
    fx8_number_format_time(
        (struct fx8_time){(mjd - EPOCH_MJD) * DAY_SECONDS, 0}, text);
    text[strcspn(text, "T")] = '\0';
}

static enum fx8_status fail_date(const struct fx8_earth_table *table,
                                 struct fx8_time time, struct fx8_error *error)
{
    char date[FX8_NUMBER_TEXT_SIZE], first[FX8_NUMBER_TEXT_SIZE],
        last[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_time(time, date);
    format_date(table->first_mjd, first);
    format_date(table->first_mjd + (int64_t)table->n_rows - 1, last);
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: %s: expected a date from %s to before %s, which the "
                    "table covers",
                    table->path, date, first, last);
}

enum fx8_status fx8_earth_find(const struct fx8_earth_table *table,
                               struct fx8_time time, struct fx8_earth *earth,
                               struct fx8_error *error)
{
    if (table->path == NULL) {
        *earth = (struct fx8_earth){
            .dut1_s = isnan(table->dut1_s) ? 0.0 : table->dut1_s};
        return FX8_OK;
    }
    const int64_t start_s = (table->first_mjd - EPOCH_MJD) * DAY_SECONDS;
    const int64_t day = (time.unix_s - start_s) / DAY_SECONDS;
    if (time.unix_s < start_s || day >= (int64_t)table->n_rows - 1)
        return fail_date(table, time, error);
    const int64_t second = (time.unix_s - start_s) % DAY_SECONDS;
    const double share =
        ((double)second + (double)time.picosecond / (double)FX8_PICOSECONDS) /
        DAY_SECONDS;
    const struct row *from = &table->rows[day], *to = from + 1;
    double value[N_VALUES];
    for (size_t k = 0; k < N_VALUES; k++) {
        double step = to->value[k] - from->value[k];
        if (k == DUT1)
            step -= rint(step); /* a leap second */
        value[k] = from->value[k] + share * step;
    }
    *earth = (struct fx8_earth){
        .dut1_s = value[DUT1],
        .polar_x_rad = value[POLAR_X] * ERFA_DAS2R,
        .polar_y_rad = value[POLAR_Y] * ERFA_DAS2R,
    };
    return FX8_OK;
}

void fx8_earth_close(struct fx8_earth_table **table)
{
    struct fx8_earth_table *closed = *table;
    if (closed == NULL)
        return;
    free(closed->path);
    free(closed->rows);
    free(closed);
    *table = NULL;
}
