/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of gains, of ripple and of phase centres: good ones and every kind of
 * bad one. test_antennas.c tests those of antennas.
 *
 * Shows: as test_config.c
 */
#include "config/catalogue.h"
#include "config/gain_table.h"
#include "config/ripple_table.h"
#include "validation/scratch.h"
#include "validation/testing.h"

/* --- gains -------------------------------------------------------- */

static const struct fx8_antenna antennas[] = {
    {.number = 7}, {.number = 0}, {.number = 2147483647}};

static enum fx8_status try_gains(const char *path, bool has_delays,
                                 struct fx8_gain gains[3][2],
                                 struct fx8_error *error)
{
    return fx8_gain_table_load(path, antennas, 3, has_delays, gains[0], error);
}

static void load_gains(const char *text, bool has_delays,
                       const struct fx8_gain expected[3][2])
{
    struct fx8_gain gains[3][2];
    struct fx8_error error;
    memset(gains, 0x55, sizeof gains);
    must(try_gains(scratch_text("gains", text), has_delays, gains, &error),
         error);
    check_bytes(gains, expected, sizeof gains);
}

/* Must be refused with "PATH" + expected. */
static void refuse_gains(const char *text, bool has_delays,
                         const char *expected)
{
    struct fx8_gain gains[3][2];
    struct fx8_error error;
    char whole[FX8_ERROR_MESSAGE_SIZE];
    const char *path = scratch_text("gains", text);
    snprintf(whole, sizeof whole, "%s%s", path, expected);
    must_fail(try_gains(path, has_delays, gains, &error), error, FX8_ERR_USAGE,
              whole);
}

#define GAINS "number,pol,amplitude,phase_deg,delay_ns\n"

TEST(gains_by_number_and_polarisation)
{
    static const struct fx8_gain all[3][2] = {
        {{1, 0, 0}, {2.5, -90, 12.5e-9}},
        {{1e-6, 360, -1.0}, {1e6, -360, 1.0}},
        {{0.5, 0, 0}, {1, 0, 0}},
    };
    load_gains(GAINS "0,X,1e-6,360,-1e9\n0,Y,1e6,-360,1e9\n"
                     "2147483647,X,.5,0,0\n7,Y,2.5,-90,12.5\n",
               true, all);
    static const struct fx8_gain one[3][2] = {
        {{1, 0, 0}, {1, 0, 0}}, {{1, 0, 0}, {3, 4, 0}}, {{1, 0, 0}, {1, 0, 0}}};
    load_gains("# found by fringe\ndelay_ns, phase_deg, pol, number, "
               "amplitude\r\n0, 4, Y, 0, 3\r\n",
               false, one);
}

TEST(gains_that_are_refused)
{
    static const char amplitude[] = ": expected a number from 1e-06 to 1e+06";
    static const char once[] = ":3: number, pol: 7 X: expected once, but line "
                               "2 has it too";
    static const char *const amplitudes[] = {"0",    "-1",    "nan", "inf",
                                             "9e-7", "1.1e6", "1 dB"};
    for (size_t i = 0; i < LENGTH(amplitudes); i++) {
        char text[100], expected[100];
        snprintf(text, sizeof text, GAINS "7,X,%s,0,0\n", amplitudes[i]);
        snprintf(expected, sizeof expected, ":2: amplitude: %s%s",
                 amplitudes[i], amplitude);
        refuse_gains(text, true, expected);
    }
    refuse_gains(GAINS "7,X,1,0,0\n7,X,1,0,0\n", true, once);
    refuse_gains(GAINS "1,X,1,0,0\n", true,
                 ":2: number: 1: expected the number of a recorded antenna");
    refuse_gains(GAINS "seven,X,1,0,0\n", true,
                 ":2: number: seven: expected the number of a recorded "
                 "antenna");
    refuse_gains(GAINS "7,x,1,0,0\n", true, ":2: pol: x: expected X or Y");
    refuse_gains(GAINS "7,,1,0,0\n", true, ":2: pol: (empty): expected X or Y");
    refuse_gains(GAINS "7,X,1,361,0\n", true,
                 ":2: phase_deg: 361: expected a number from -360 to 360");
    refuse_gains(GAINS "7,X,1,0,1.1e9\n", true,
                 ":2: delay_ns: 1.1e9: expected a number from -1e+09 to 1e+09");
    refuse_gains(GAINS "7,X,1,0,0\n\n7,Y,1,0,-3\n", false,
                 ":4: delay_ns: -3: expected 0 in array.gains unless "
                 "delay.mode is cable or track");
    refuse_gains("number,pol,amplitude,phase_deg\n7,X,1,0\n", true,
                 ":1: delay_ns: expected this column");
    refuse_gains("number,pol,gain,phase_deg,delay_ns\n7,X,1,0,0\n", true,
                 ":1: gain: unknown column: expected number, pol, amplitude, "
                 "phase_deg or delay_ns");
    refuse_gains(GAINS, true, ": expected rows below the header");
}

/* --- ripple ------------------------------------------------------- */

TEST(ripple_between_its_rows)
{
    struct fx8_ripple_table table;
    struct fx8_error error;
    must(fx8_ripple_load(scratch_text("ripple", "# measured\npower,offset_hz\n"
                                                "1e-9,-4e5\n2,-100.5\n3,0\n"
                                                "1e9,4e5\n"),
                         &table, &error),
         error);
    static const double at[][2] = {
        {-4e5, 1e-9},  {-4.1e5, 1e-9}, {-100.5, 2},     {-50.25, 2.5}, {0, 3},
        {-1e15, 1e-9}, {4e5, 1e9},     {4.0001e5, 1e9}, {1e15, 1e9}};
    for (size_t i = 0; i < LENGTH(at); i++)
        assert_true(fx8_ripple_at(&table, at[i][0]) == at[i][1]);
    assert_true(fabs(fx8_ripple_at(&table, 1e5) - (3 + (1e9 - 3) / 4)) < 1e-6);
    fx8_ripple_clear(&table);
    must(fx8_ripple_load(scratch_text("ripple", "offset_hz,power\n5,0.25\n"),
                         &table, &error),
         error);
    assert_true(fx8_ripple_at(&table, 4) == 0.25);
    assert_true(fx8_ripple_at(&table, 6) == 0.25);
    fx8_ripple_clear(&table);
    fx8_ripple_clear(&table);
}

TEST(ripple_that_is_refused)
{
    static const struct {
        const char *text, *expected;
    } bad[] = {
        {"0,0\n", ":2: power: 0: expected a number from 1e-09 to 1e+09"},
        {"0,-1\n", ":2: power: -1: expected a number from 1e-09 to 1e+09"},
        {"0,nan\n", ":2: power: nan: expected a number from 1e-09 to 1e+09"},
        {"0,1\n2 kHz,1\n",
         ":3: offset_hz: 2 kHz: expected a number from -1e+15 to 1e+15"},
        {"0,1\n1,1\n1,2\n",
         ":4: offset_hz: 1: expected more than in the row before"},
        {"", ": expected rows below the header"},
    };
    struct fx8_ripple_table table;
    struct fx8_error error;
    char whole[FX8_ERROR_MESSAGE_SIZE];
    for (size_t i = 0; i < LENGTH(bad); i++) {
        snprintf(whole, sizeof whole, "offset_hz,power\n%s", bad[i].text);
        const char *path = scratch_text("ripple", whole);
        snprintf(whole, sizeof whole, "%s%s", path, bad[i].expected);
        must_fail(fx8_ripple_load(path, &table, &error), error, FX8_ERR_USAGE,
                  whole);
        assert_true(table.offset_hz == NULL && table.power == NULL);
    }
}

/* --- phase centres ------------------------------------------------ */

/* The catalogue of the last call; the next one frees it. */
static struct fx8_phase_center *centers;

static enum fx8_status try_centers(const char *path, size_t *n,
                                   struct fx8_error *error)
{
    free(centers);
    centers = (void *)&centers;
    const enum fx8_status status = fx8_catalogue_load(path, &centers, n, error);
    assert_true(status == FX8_OK || centers == NULL);
    return status;
}

static void refuse_centers(const char *text, const char *expected)
{
    size_t n;
    struct fx8_error error;
    char whole[FX8_ERROR_MESSAGE_SIZE];
    const char *path = scratch_text("centres", text);
    snprintf(whole, sizeof whole, "%s%s", path, expected);
    must_fail(try_centers(path, &n, &error), error, FX8_ERR_USAGE, whole);
}

#define CENTERS "name,ra_deg,dec_deg\n"
#define SIXTY   "012345678901234567890123456789012345678901234567890123456789"

TEST(phase_centres_in_order)
{
    static const struct fx8_phase_center expected[] = {
        {"3C 273", {187.2779, 2.0524}},
        {"..", {0, -90}},
        {SIXTY "abc", {360, 90}},
    };
    size_t n;
    struct fx8_error error;
    must(try_centers(scratch_text("centres", "dec_deg,name,ra_deg\n"
                                             "2.0524, 3C 273, 187.2779\n"
                                             "-90,..,0\n90," SIXTY "abc,360\n"),
                     &n, &error),
         error);
    assert_int_equal(n, LENGTH(expected));
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(centers[i].name, expected[i].name);
        check_bytes(centers[i].icrs_deg, expected[i].icrs_deg,
                    sizeof expected[i].icrs_deg);
    }
}

TEST(phase_centres_that_are_refused)
{
    static const char *const names[] = {"",         "a/b",  "/",
                                        "\xce\xb1", "a\tb", SIXTY "abcd"};
    static const char *const shown[] = {"(empty)",  "a/b", "/",
                                        "\xce\xb1", "a?b", SIXTY "abcd"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        char text[200], expected[200];
        snprintf(text, sizeof text, CENTERS "%s,1,2\n", names[i]);
        snprintf(expected, sizeof expected,
                 ":2: name: %s: expected 1 to 63 ASCII characters without /, "
                 "for the name of a file",
                 shown[i]);
        refuse_centers(text, expected);
    }
    refuse_centers(CENTERS "Sun,1,2\nsun,1,2\nSun,3,4\n",
                   ":4: name: Sun: expected once, but line 2 has it too");
    refuse_centers(CENTERS "A,-0.1,2\n",
                   ":2: ra_deg: -0.1: expected a number from 0 to 360");
    refuse_centers(CENTERS "A,360.1,2\n",
                   ":2: ra_deg: 360.1: expected a number from 0 to 360");
    refuse_centers(CENTERS "A,12h30,2\n",
                   ":2: ra_deg: 12h30: expected a number from 0 to 360");
    refuse_centers(CENTERS "A,1,-91\n",
                   ":2: dec_deg: -91: expected a number from -90 to 90");
    refuse_centers(CENTERS "A,1,nan\n",
                   ":2: dec_deg: nan: expected a number from -90 to 90");
    refuse_centers(CENTERS, ": expected rows below the header");
    refuse_centers("", ": expected a header line and rows");
    refuse_centers("name,ra_deg\nA,1\n", ":1: dec_deg: expected this column");
    refuse_centers("name,ra,dec\nA,1,2\n",
                   ":1: ra: unknown column: expected name, ra_deg or dec_deg");
}

TEST(too_many_phase_centres)
{
    static char text[40000];
    size_t length = (size_t)snprintf(text, sizeof text, CENTERS), n;
    struct fx8_error error;
    for (int i = 0; i < 1024; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "source %d,1,2\n", i);
    must(try_centers(scratch_text("centres", text), &n, &error), error);
    assert_int_equal(n, 1024);
    snprintf(text + length, sizeof text - length, "one,1,2\n");
    refuse_centers(text, ":1026: expected at most 1024 phase centres");
}
