/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Antenna tables, CSV and TART's JSON: good ones and every kind of bad one.
 *
 * Shows: as test_config.c
 */
#include "config/antennas.h"
#include "validation/scratch.h"
#include "validation/testing.h"

/* The table of the last call; the next one frees it. */
static struct fx8_antenna *antennas;
static struct fx8_antennas_given given;

static enum fx8_status try_to_load(const char *path, size_t *n,
                                   struct fx8_error *error)
{
    free(antennas);
    antennas = (void *)&antennas;
    const enum fx8_status status =
        fx8_antennas_load(path, &antennas, n, &given, error);
    assert_true(status == FX8_OK || antennas == NULL);
    return status;
}

/* Load a text that must be good, and have these antennas unless NULL. */
static void load(const char *text, size_t n_expected,
                 const struct fx8_antenna *expected)
{
    size_t n = 0;
    struct fx8_error error;
    must(try_to_load(scratch_text("antennas", text), &n, &error), error);
    assert_int_equal(n, n_expected);
    for (size_t i = 0; i < n && expected != NULL; i++) {
        const struct fx8_antenna *got = &antennas[i], *want = &expected[i];
        assert_int_equal(got->number, want->number);
        assert_string_equal(got->name, want->name);
        check_bytes(got->enu_m, want->enu_m, sizeof got->enu_m);
        check_bytes(got->cable_delay_s, want->cable_delay_s,
                    sizeof got->cable_delay_s);
        assert_int_equal(got->position, want->position);
    }
}

/* Load a file that must be refused with "PATH" + expected. */
static void refuse_file(const char *path, const char *expected)
{
    size_t n;
    struct fx8_error error;
    char whole[FX8_ERROR_MESSAGE_SIZE];
    snprintf(whole, sizeof whole, "%s%s", path, expected);
    must_fail(try_to_load(path, &n, &error), error, FX8_ERR_USAGE, whole);
}

static void refuse(const char *text, const char *expected)
{
    refuse_file(scratch_text("antennas", text), expected);
}

#define HEADER "east_m,north_m,up_m\n"

TEST(csv_with_every_column)
{
    static const struct fx8_antenna expected[] = {
        {7, "West", {-15, 2.25, -0.5}, {12.5e-9, -3e-9}, 1},
        {2147483647, "East 2", {1000000, 0, 0}, {0, 1.0}, 0},
    };
    load("\xef\xbb\xbf# a comment\r\n"
         "number, name, east_m, north_m, up_m, cable_delay_x_ns, "
         "cable_delay_y_ns, input\r\n"
         "\r\n"
         " 7 , West , -1.5e1 , 2.25 , -.5 , 12.5 , -3 , 1 \r\n"
         "# between\r\n"
         "2147483647,East 2,1000000,0,+0,0,1e9,0",
         2, expected);
}

TEST(csv_defaults_come_from_the_row)
{
    static const struct fx8_antenna expected[] = {
        {0, "ANT000", {1, 2, 3}, {4e-9, 4e-9}, 0},
        {1, "ANT001", {4, 5, 6}, {0, 0}, 1},
    };
    load("up_m,cable_delay_ns,east_m,north_m\n3,4,1,2\n6,0,4,5\n", 2, expected);
}

/* What the table leaves out has its default value. */
TEST(csv_says_what_it_gives)
{
    static const struct {
        const char *column, *value;
        struct fx8_antenna antenna;
        struct fx8_antennas_given given;
    } cases[] = {
        {"input", "3", {0, "ANT000", {1, 2, 3}, {0, 0}, 3}, {false, {false}}},
        {"name", "A", {0, "A", {1, 2, 3}, {0, 0}, 0}, {true, {false}}},
        {"cable_delay_ns",
         "4",
         {0, "ANT000", {1, 2, 3}, {4e-9, 4e-9}, 0},
         {false, {true, true}}},
        {"cable_delay_x_ns",
         "4",
         {0, "ANT000", {1, 2, 3}, {4e-9, 0}, 0},
         {false, {true, false}}},
        {"cable_delay_y_ns",
         "4",
         {0, "ANT000", {1, 2, 3}, {0, 4e-9}, 0},
         {false, {false, true}}},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char text[100];
        snprintf(text, sizeof text, "%s," HEADER "%s,1,2,3\n", cases[i].column,
                 cases[i].value);
        load(text, 1, &cases[i].antenna);
        check_bytes(&given, &cases[i].given, sizeof given);
    }
}

TEST(csv_faults_of_the_header)
{
    refuse("", ": expected a header line and rows");
    refuse("# nothing\n\n  \n", ": expected a header line and rows");
    refuse(HEADER, ": expected rows below the header");
    refuse("\neast_m,north_m\n1,2\n", ":2: up_m: expected this column");
    refuse("east_m,,up_m\n1,2,3\n", ":1: column 2: expected a name");
    refuse("east_m,up_m,east_m\n1,2,3\n",
           ":1: east_m: expected the column once");
    refuse("east_m,north_m,up_m,colour\n1,2,3,4\n",
           ":1: colour: unknown column: expected number, name, east_m, "
           "north_m, up_m, cable_delay_ns, cable_delay_x_ns, "
           "cable_delay_y_ns or input");
    static const char twice[] =
        ":1: cable_delay_ns: two polarisations' delays in one column: expected "
        "it alone, or cable_delay_x_ns and cable_delay_y_ns";
    refuse("east_m,north_m,up_m,cable_delay_ns,cable_delay_y_ns\n1,2,3,4,5\n",
           twice);
    refuse("east_m,north_m,up_m,cable_delay_ns,cable_delay_x_ns,"
           "cable_delay_y_ns\n1,2,3,4,5,6\n",
           twice);
}

TEST(csv_faults_of_a_row)
{
    static const char metres[] = ": expected a number of metres";
    static const struct {
        const char *row, *column, *value;
    } bad[] = {
        {"nan,0,0", "east_m", "nan"},   {"0,inf,0", "north_m", "inf"},
        {"0,0,-inf", "up_m", "-inf"},   {"0x10,0,0", "east_m", "0x10"},
        {"1 m,0,0", "east_m", "1 m"},   {",0,0", "east_m", "(empty)"},
        {"0,0,1e999", "up_m", "1e999"},
    };
    for (size_t i = 0; i < LENGTH(bad); i++) {
        char text[200], expected[200];
        snprintf(text, sizeof text, HEADER "1,1,1\n\n%s\n", bad[i].row);
        snprintf(expected, sizeof expected, ":4: %s: %s%s", bad[i].column,
                 bad[i].value, metres);
        refuse(text, expected);
    }
    refuse(HEADER "1,2\n", ":2: 2 fields: expected 3, as the header has");
    refuse(HEADER "1,2,3,4\n", ":2: 4 fields: expected 3, as the header has");
    refuse("number," HEADER "-1,0,0,0\n",
           ":2: number: -1: expected an integer from 0 to 2147483647");
    refuse("number," HEADER "2147483648,0,0,0\n",
           ":2: number: 2147483648: expected an integer from 0 to 2147483647");
    refuse("name," HEADER ",0,0,0\n",
           ":2: name: (empty): expected 1 to 63 ASCII characters");
    refuse("name," HEADER "caf\xc3\xa9,0,0,0\n",
           ":2: name: caf\xc3\xa9: expected 1 to 63 ASCII characters");
    refuse("input," HEADER "1.5,0,0,0\n",
           ":2: input: 1.5: expected a position in the recording, an integer "
           "from 0 on");
    refuse("cable_delay_ns," HEADER "2e9,0,0,0\n",
           ":2: cable_delay_ns: 2e9: expected a number of nanoseconds, at most "
           "1e9");
}

TEST(antennas_that_collide)
{
    refuse("number," HEADER "5,0,0,0\n6,1,0,0\n5,2,0,0\n",
           ":4: number: 5: expected once, but line 2 has it too");
    refuse("input," HEADER "1,0,0,0\n0,1,0,0\n1,2,0,0\n",
           ":4: input: 1: expected once, but line 2 has it too");
    refuse(HEADER "0,0,0\n5,5,5\n0,0,0.0005\n",
           ":4: position: 0, 0, 0.0005: expected at least 1 mm from the "
           "antenna of line 2");
    /* with explicit numbers nothing clashes: numbers are one column */
    load(HEADER "0,0,0\n0,0,0.002\n0,0.002,0\n", 3, NULL);
}

TEST(a_line_of_antennas_is_checked_fast)
{
    /* all on one meridian, the last in the same place as the first */
    const size_t n = 20000;
    char *text = temporary(n * 32);
    size_t length = (size_t)sprintf(text, HEADER);
    for (size_t i = 0; i + 1 < n; i++)
        length += (size_t)sprintf(text + length, "0,%zu,0\n", i);
    sprintf(text + length, "0,0,0\n");
    refuse(text, ":20001: position: 0, 0, 0: expected at least 1 mm from the "
                 "antenna of line 2");
}

TEST(json_of_tart)
{
    static const char *const texts[] = {
        "{\"antenna_positions\": [[0.068, 0.33, 0.0], [-1.5e1, 78, -0.25]]}",
        "[[0.068,0.33,0.0],[-15,78.0,-25E-2]]",
        "\xef\xbb\xbf \n{\"name\": \"a \\\"b\\\" ]\", \"deep\": [{\"x\": "
        "[true, false, null, {}, [], -0.5]}],\r\n\t\"antenna_positions\" :\n"
        "[ [0.068 , 0.33 , 0.0 ] ,\n[-15,78,-0.25]], \"more\": 1e3 }\n",
    };
    static const struct fx8_antenna expected[] = {
        {0, "ANT000", {0.068, 0.33, 0}, {0, 0}, 0},
        {1, "ANT001", {-15, 78, -0.25}, {0, 0}, 1},
    };
    for (size_t i = 0; i < LENGTH(texts); i++)
        load(texts[i], 2, expected);
}

TEST(json_faults)
{
#define MEMBER ": antenna_positions"
#define TRIPLE ": expected [east, north, up] in metres"
    static const struct {
        const char *text, *expected;
    } bad[] = {
        /* not JSON: jansson's message */
        {"{", ":1: string or '}' expected near end of file: expected JSON"},
        {"[[1,2,3],\n[1,2,x]]", ":2: invalid token near 'x': expected JSON"},
        {"[[1,2,3],\n]", ":2: unexpected token near ']': expected JSON"},
        {"[[1,2,3] [4,5,6]]", ":1: ']' expected near '[': expected JSON"},
        {"[[1,2,3]]x", ":1: end of file expected near 'x': expected JSON"},
        {"[[01,2,3]]", ":1: invalid token near '0': expected JSON"},
        {"[[1.,2,3]]", ":1: invalid token near '1.': expected JSON"},
        {"[[1e999,2,3]]", ":1: real number overflow near '1e999': expected "
                          "JSON"},
        {"[[NaN,2,3]]", ":1: invalid token near 'NaN': expected JSON"},
        {"{\"a\": \"\x80\"}", ":1: unable to decode byte 0x80 near '\"': "
                              "expected JSON"},
        {"{\"antenna_positions\": [[0,0,0]], \"antenna_positions\": 1}",
         ":1: duplicate object key near '\"antenna_positions\"': expected "
         "JSON"},
        /* valid JSON of the wrong shape */
        {"{}", MEMBER ": expected an array of [east, north, up] in metres"},
        {"{\"antenna_positions\": 5}",
         MEMBER ": expected an array of [east, north, up] in metres"},
        {"[]", MEMBER ": expected an array of [east, north, up] in metres"},
        {"[[1,2]]", MEMBER "[0]: [1.0,2.0]" TRIPLE},
        {"[[1,2,3],[1,2,3,4]]", MEMBER "[1]: [1.0,2.0,3.0,4.0]" TRIPLE},
        {"[\"here\"]", MEMBER "[0]: here" TRIPLE},
        {"[[0,0,0],\n[1,1,1],\n[0,0,0]]",
         MEMBER "[2]: position: 0, 0, 0: expected at least 1 mm from the "
                "antenna of position 0"},
    };
    for (size_t i = 0; i < LENGTH(bad); i++)
        refuse(bad[i].text, bad[i].expected);
}

/* Murchison, geocentric; the limit itself in test csv_with_every_column. */
TEST(positions_that_are_geocentric)
{
    static const char expected[] =
        ": expected metres east, north and up of the site, at most 1000 km "
        "(ECEF?)";
    static const struct {
        const char *before, *position, *after, *refused;
    } bad[] = {
        {HEADER "0,0,0\n", "-2559454.08,5095372.14,-2849057.18", "\n",
         ":3: position: -2559454.08, 5095372.14, -2849057.18"},
        {HEADER "0,0,0\n", "1000000.001,0,0", "\n",
         ":3: position: 1000000.001, 0, 0"},
        {HEADER "0,0,0\n", "0,-8e5,8e5", "\n",
         ":3: position: 0, -800000, 800000"},
        {HEADER "0,0,0\n", "0,1e99,0", "\n", ":3: position: 0, 1e+99, 0"},
        {"[[0, 0, 0],\n[", "-2559454.08, 5095372.14, -2849057.18", "]]",
         MEMBER "[1]: position: -2559454.08, 5095372.14, -2849057.18"},
    };
    for (size_t i = 0; i < LENGTH(bad); i++) {
        char text[200], whole[300];
        snprintf(text, sizeof text, "%s%s%s", bad[i].before, bad[i].position,
                 bad[i].after);
        snprintf(whole, sizeof whole, "%s%s", bad[i].refused, expected);
        refuse(text, whole);
    }
}

TEST(json_nesting_is_bounded)
{
    char text[100010] = "{\"a\": ";
    memset(text + 6, '[', 100000);
    refuse(text, ":1: maximum parsing depth reached near '[': expected JSON");
}

TEST(files_that_are_no_tables)
{
    static const char irregular[] = ": expected a regular file";
    refuse_file(scratch_path("absent.csv"),
                ": cannot be read: No such file or directory");
    refuse_file(scratch_folder(), irregular);
    /* a pipe that nobody writes to, as a CSV table and as JSON */
    for (const char *const *name = LIST("pipe.csv", "pipe.json"); *name;
         name++) {
        assert_int_equal(mkfifo(scratch_path(*name), 0600), 0);
        refuse_file(scratch_path(*name), irregular);
    }
    refuse_file(
        scratch_write("binary", HEADER "1,\0,3\n", sizeof HEADER "1,\0,3"),
        ":2: byte 0x00: expected a text file");
}
