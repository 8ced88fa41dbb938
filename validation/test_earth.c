/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_earth.c
 *
 * Shows: as python/test_moving_sky.py
 */
#include "validation/constant_earth.h"
#include "validation/earth_file.h"

static const double arcsec = 3.14159265358979323846 / 648000;

/* Midnight of a day, and some seconds. */
static struct fx8_time at(int mjd, int64_t seconds)
{
    return (struct fx8_time){(int64_t)(mjd - 40587) * 86400 + seconds, 0};
}

/* The table of the last call; the next one closes it. */
static struct fx8_earth_table *table;

/* Path of a file with this text. */
static char *save(const char *text)
{
    static char path[SCRATCH_PATH_SIZE];
    snprintf(path, sizeof path, "%s", scratch_text("iers", text));
    return path;
}

static enum fx8_status try_to_open(const char *path, double dut1_s,
                                   struct fx8_error *error)
{
    fx8_earth_close(&table);
    table = (void *)&table;
    const enum fx8_status status = fx8_earth_open(path, dut1_s, &table, error);
    assert_true(status == FX8_OK || table == NULL);
    return status;
}

static void open_text(const char *text)
{
    struct fx8_error error;
    must(try_to_open(save(text), NAN, &error), error);
    assert_true(fx8_earth_is_known(table));
}

/* A text that must be refused with "PATH" + expected. */
static void refuse(const char *text, const char *expected)
{
    struct fx8_error error;
    char whole[FX8_ERROR_MESSAGE_SIZE], *path = save(text);
    snprintf(whole, sizeof whole, "%s%s", path, expected);
    must_fail(try_to_open(path, NAN, &error), error, FX8_ERR_USAGE, whole);
}

/* The orientation at an instant must be this one; arcsec, rounded as the file
 * has it. */
static void check(struct fx8_time time, double x, double y, double dut1_s)
{
    struct fx8_earth earth;
    struct fx8_error error;
    must(fx8_earth_find(table, time, &earth, &error), error);
    assert_near(earth.dut1_s, dut1_s, 1e-15);
    assert_near(earth.polar_x_rad, x * arcsec, 1e-20);
    assert_near(earth.polar_y_rad, y * arcsec, 1e-20);
}

/* --- finals2000A --------------------------------------------------- */

/* A line of a day: Bulletin A has x, y and UT1 - UTC as given, Bulletin B a
 * thousandth more. */
static void print_finals(FILE *stream, int mjd, double x, double y, double dut1)
{
    fprintf(stream,
            "19 8%2d %8.2f I %9.6f%9.6f %9.6f%9.6f  I%10.7f%10.7f %7.4f%7.4f"
            "  I %9.3f%9.3f %9.3f%9.3f%10.6f%10.6f%11.7f%10.3f%10.3f  \n",
            mjd - 58695, (double)mjd, x, 1e-5, y, 1e-5, dut1, 1e-5, 0.5, 0.01,
            0.1, 0.1, -0.1, 0.1, x + 1e-3, y + 1e-3, dut1 + 1e-3, 0.1, -0.1);
}

/* Five days, the last without Bulletin B, and one to come; in memory that lasts
 * for the case. */
static char *make_finals(void)
{
    char *text = temporary(2000);
    FILE *stream = fmemopen(text, 2000, "w");
    assert_non_null(stream);
    for (int k = 0; k < 5; k++)
        print_finals(stream, 58700 + k, 0.2 - 0.01 * k, -0.03 + 0.02 * k,
                     -0.17 - 1e-3 * k);
    fprintf(stream, "19 810 58705.00%172s\n", "");
    fclose(stream);
    char *last = strstr(text, "58704.00");
    memset(last - 8 + 134 + 1, ' ', 51);
    return text;
}

/* Character of a line and a column, from 1. */
static char *letter(char *text, size_t line, size_t column)
{
    for (; line > 1; line--)
        text = strchr(text, '\n') + 1;
    return text + column - 1;
}

TEST(bulletin_b_wins_where_it_has_values)
{
    char *text = make_finals();
    open_text(text);
    for (int k = 0; k < 4; k++)
        check(at(58700 + k, 0), 0.201 - 0.01 * k, -0.029 + 0.02 * k,
              -0.169 - 1e-3 * k);
    /* half-way from B to A */
    check(at(58703, 43200), 0.5 * (0.171 + 0.16), 0.5 * (0.031 + 0.05),
          0.5 * (-0.172 - 0.174));
    /* x without y does not count, UT1 - UTC alone does */
    memset(letter(text, 2, 145), ' ', 10);
    open_text(text);
    check(at(58701, 0), 0.19, -0.01, -0.17);
    memset(letter(text, 2, 155), ' ', 11);
    open_text(text);
    check(at(58701, 0), 0.19, -0.01, -0.171);
}

/* --- C04, Bulletin B ----------------------------------------------- */

TEST(columns_as_published)
{
    static const char *const texts[] = {
        /* C04 of 2023 and later */
        "# YR  MM  DD  HH       MJD        x(\")        y(\")  UT1-UTC(s) ...\n"
        "2019   8   5   0  58700.00    0.201000   -0.029000  -0.1690000   0.0\n"
        "2019   8   6   0  58701.00    0.191000   -0.009000  -0.1700000   0.0\n"
        "2019   8   7   0  58702.00    0.181000    0.011000  -0.1710000   0.0",
        /* C04 before */
        "   EOP (IERS) 14 C04\n\n"
        "  FORMAT(3(I4),I7,2(F11.6),2(F12.7),2(F11.6))\n"
        "      Date      MJD      x          y        UT1-UTC       LOD\n"
        "                         \"          \"           s           s\n"
        "     (0h UTC)\n\n"
        "2019   8   5  58700   0.201000  -0.029000  -0.1690000   0.0010000\n"
        "2019   8   6  58701   0.191000  -0.009000  -0.1700000   0.0010000\n"
        "2019   8   7  58702   0.181000   0.011000  -0.1710000   0.0010000\n",
        /* without more columns */
        "2019 8 5 58700 .201 -.029 -.169\n"
        "2019 8 6 58701 .191 -.009 -.170\n"
        "2019 8 7 58702 .181 0.011 -.171\n\n",
        /* Bulletin B */
        "                          BULLETIN B 379\n"
        "                          3 September 2019\n"
        " 1 - DAILY FINAL VALUES OF x, y, UT1-UTC, dX, dY\n"
        " Angular unit is milliarcsecond (mas), time unit is millisecond "
        "(ms).\n"
        "       DATE     MJD       x       y      UT1-UTC      dX     dY\n"
        "    (0 h UTC)            mas     mas       ms         mas    mas\n"
        "\n Final values\n\n Mean formal error      0.032    0.025    "
        "0.0109\n\n"
        "2019   8   5   58700  201.000  -29.000  -169.0000    0.1   0.1\n"
        "2019   8   6   58701  191.000   -9.000  -170.0000    0.1   0.1\n"
        "\n Preliminary extension\n\n"
        "2019   8   7   58702  181.000   11.000  -171.0000    0.1   0.1\n\n"
        " 2 - DAILY FINAL VALUES OF CELESTIAL POLE OFFSETS dPsi1980 & "
        "dEps1980\n"
        "2019   8   5   58700  -110.0   -12.0\n",
    };
    for (size_t t = 0; t < LENGTH(texts); t++) {
        open_text(texts[t]);
        check(at(58700, 0), 0.201, -0.029, -0.169);
        check(at(58701, 21600), 0.1885, -0.004, -0.17025);
    }
}

/* --- instants ------------------------------------------------------ */

/* The table steps by a second where the clocks do: UT1 - UTC goes on within the
 * day and steps at its end. */
TEST(leap_seconds_stay_between_days)
{
    open_text(
        "2016 12 31 57753 0.1 0.3 -0.4070\n2017 1 1 57754 0.1 0.3 0.5918\n"
        "2017 1 2 57755 0.1 0.3 0.5906\n");
    check(at(57753, 43200), 0.1, 0.3, -0.4076);
    check(at(57753, 86399), 0.1, 0.3, -0.4082 + 0.0012 / 86400);
    check(at(57754, 0), 0.1, 0.3, 0.5918);
    check(at(57754, 43200), 0.1, 0.3, 0.5912);
}

TEST(dates_outside_name_the_range)
{
    struct fx8_error error;
    struct fx8_earth earth;
    char *path = save(make_finals());
    must(try_to_open(path, NAN, &error), error);
    must(fx8_earth_find(table, at(58703, 86399), &earth, &error), error);
    static const struct {
        int mjd;
        int64_t seconds;
        const char *date;
    } cases[] = {
        {58700, -1, "2019-08-04T23:59:59Z"},
        {58704, 0, "2019-08-09T00:00:00Z"},
        {40587, 0, "1970-01-01T00:00:00Z"},
        {99999, 1, "2132-08-31T00:00:01Z"},
    };
    for (size_t c = 0; c < LENGTH(cases); c++) {
        char whole[FX8_ERROR_MESSAGE_SIZE];
        snprintf(whole, sizeof whole,
                 "%s: %s: expected a date from 2019-08-05 to before "
                 "2019-08-09, which the table covers",
                 path, cases[c].date);
        must_fail(fx8_earth_find(table, at(cases[c].mjd, cases[c].seconds),
                                 &earth, &error),
                  error, FX8_ERR_USAGE, whole);
    }
}

/* --- without a file, and bad files --------------------------------- */

TEST(a_constant_has_no_polar_motion)
{
    struct fx8_error error;
    struct fx8_earth earth;
    const struct fx8_earth_table *constant = constant_earth(-0.25);
    assert_true(fx8_earth_is_known(constant));
    must(fx8_earth_find(constant, at(0, 0), &earth, &error), error);
    assert_true(earth.dut1_s == -0.25 && earth.polar_x_rad == 0 &&
                earth.polar_y_rad == 0);
    constant = constant_earth(NAN);
    assert_false(fx8_earth_is_known(constant));
    must(fx8_earth_find(constant, at(0, 0), &earth, &error), error);
    assert_true(earth.dut1_s == 0 && earth.polar_x_rad == 0);
}

TEST(a_file_without_rows_is_refused)
{
    static const char *const texts[] = {
        "", "\n\n", "nothing\n", "<html>404</html>\n",
        "2019 8 5 58700 .201 -.029 -.169\n" /* no line from here to there */};
    for (size_t t = 0; t < LENGTH(texts); t++)
        refuse(texts[t], ": expected rows of finals2000A, EOP C04 or Bulletin "
                         "B of the IERS");
}

/* Columns: a line of its own in a good table. */
TEST(damaged_columns_have_their_line)
{
    static const char *const cases[][2] = {
        {"2019 8 6 58702 .1 .1 .1",
         "MJD: 58702: expected the day after that of the row before"},
        {"2019 8 6 0 58701.50 .1 .1 .1",
         "MJD: 58701.50: expected a whole number of days"},
        {"2019 8 6 0 x .1 .1 .1", "MJD: x: expected a whole number of days"},
        {"2019 8 6 58701 .1x .1 .1",
         "x of the pole: .1x: expected a number of arcseconds below 1"},
        {"2019 8 6 58701 .1 nan .1",
         "y of the pole: nan: expected a number of arcseconds below 1"},
        {"2019 8 6 58701 .1 .1 -170.1",
         "UT1-UTC: -170.1: expected a number of seconds below 1"},
        {"2019 8 6 58701 .1 .1",
         "year: 2019: expected a line of year, month, day, perhaps hour, MJD, "
         "x, y and UT1-UTC"},
        {"2019",
         "year: 2019: expected a line of year, month, day, perhaps hour, "
         "MJD, x, y and UT1-UTC"},
    };
    for (size_t c = 0; c < LENGTH(cases); c++) {
        char text[500], expected[300];
        snprintf(text, sizeof text,
                 "# head\n2019 8 5 58700 .1 .1 .1\n%s\n2019 8 7 58702 .1 .1 .1",
                 cases[c][0]);
        snprintf(expected, sizeof expected, ":3: %s", cases[c][1]);
        refuse(text, expected);
    }
    /* a damaged year: the line does not count as a row */
    refuse("2019 8 5 58700 .1 .1 .1\n~019 8 6 58701 .1 .1 .1\n"
           "2019 8 7 58702 .1 .1 .1\n",
           ":3: MJD: 58702: expected the day after that of the row before");
}

TEST(damaged_fields_have_their_line)
{
    static const struct {
        size_t column;
        char letter; /* there, on line 3 */
        const char *expected;
    } cases[] = {
        {10, '9',
         ":3: MJD: 58902.00: expected the day after that of the row "
         "before"},
        {12, ' ', ":3: MJD: 5870 .00: expected a whole number of days"},
        {14, '1', ":3: MJD: 58702.10: expected a whole number of days"},
        {23, ' ',
         ":3: x of the pole: 0.1 0000: expected a number of "
         "arcseconds below 1"},
        {46, 'l',
         ":3: y of the pole: 0.01000l: expected a number of "
         "arcseconds below 1"},
        {60, '3',
         ":3: UT1-UTC: -3.1720000: expected a number of seconds "
         "below 1"},
        {145, '?',
         ":3: y of the pole: ? 0.011000: expected a number of "
         "arcseconds below 1"},
        {165, '\n',
         ":3: UT1-UTC: -0.171000: expected a longer line, as "
         "in finals2000A"},
        {66, '\n',
         ":3: UT1-UTC: -0.1720: expected a longer line, as in "
         "finals2000A"},
        {58, '\n',
         ":4: MJD: 58703.00: expected the day after that of the row "
         "before"},
    };
    for (size_t c = 0; c < LENGTH(cases); c++) {
        char *text = make_finals();
        *letter(text, 3, cases[c].column) = cases[c].letter;
        if (cases[c].letter == '\n')
            memmove(letter(text, 4, 1), letter(text, 5, 1),
                    strlen(letter(text, 5, 1)) + 1);
        refuse(text, cases[c].expected);
    }
}
