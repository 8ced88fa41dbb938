/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_progress.c -- the progress that a task shows: on terminals of every
 * width, and in a log.
 *
 * Shows (commands, progress): on a terminal of 1 to 200 columns the remaining
 *     time is cut last, the line never wraps, and the other parts appear as
 *     room allows; a log has lines with all parts, after 2 s and then every
 *     10 s; nothing appears in the first 2 s, nor without a stream
 * Within: letters equal
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "correlator/run/progress.h"
#include "validation/testing.h"

/* Both ends of a terminal: `reader` gets what is written to `terminal`. */
static int reader;
static FILE *terminal;

static int open_terminal(void **state)
{
    (void)state;
    reader = posix_openpt(O_RDWR | O_NOCTTY);
    if (reader < 0 || grantpt(reader) != 0 || unlockpt(reader) != 0)
        return 1;
    terminal = fopen(ptsname(reader), "r+");
    return terminal == NULL;
}

FIXTURE(open_terminal, NULL)

/* The clock of every display here, which no load of the machine delays. */
static double now_s;

static double seconds(void)
{
    return now_s;
}

/* Start a display whose task began so many seconds ago. */
static void start(struct fx8_progress_display *display, const char *unit,
                  double passed_s, FILE *stream)
{
    fx8_progress_start(display, "correlate", unit, stream);
    display->seconds = seconds;
    display->start_s = display->last_s = now_s - passed_s;
}

/* The line shown on a terminal of so many columns, without control sequences;
 * `passed_s` seconds after the start. */
static void show(unsigned short columns, const struct fx8_progress *progress,
                 double passed_s, char line[512])
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    assert_int_equal(ioctl(reader, TIOCSWINSZ, &size), 0);
    struct fx8_progress_display display;
    start(&display, "dump", passed_s, terminal);
    assert_true(display.is_terminal);
    fx8_progress_show(&display, progress);
    static const char home[] = "\r\033[K";
    char text[512];
    const ssize_t n = read(reader, text, sizeof text - 1);
    assert_true(n >= (ssize_t)strlen(home));
    text[n] = '\0';
    assert_memory_equal(text, home, strlen(home));
    strcpy(line, text + strlen(home));
}

/* A long run at its start: every part has its greatest length. */
static const struct fx8_progress long_run = {
    .n_samples = 1000000000,
    .total_samples = 80000000000,
    .n_dumps = 1234,
    .total_dumps = 86400,
    .n_inputs = 512,
    .rate_hz = 925926,
};
/* an eightieth done in 1,000 s: 79,000 s left */
#define PASSED_S  1000.0
#define LONG_LEFT "21:56:40 left"

TEST(time_left_is_cut_last)
{
    size_t most = 0;
    for (unsigned short columns = 1; columns <= 200; columns++) {
        char line[512];
        show(columns, &long_run, PASSED_S, line);
        const size_t length = strlen(line), tail = strlen(LONG_LEFT);
        if (length >= columns)
            fail_msg("%d columns: %zu letters", columns, length);
        if (length < tail)
            assert_true(length == (size_t)columns - 1 &&
                        memcmp(line, LONG_LEFT, length) == 0);
        else if (strcmp(line + length - tail, LONG_LEFT) != 0)
            fail_msg("%d columns: no time left: %s", columns, line);
        /* a wider terminal never shows less */
        assert_true(length >= most);
        most = length;
    }
}

/* The parts come in this order as they fit into the width. */
TEST(parts_go_one_by_one)
{
    static const char *const parts[] = {
        "  1 %",           "correlate",       "[.",
        "dump 1234/86400", "1.1 x real time", "512.0 Msamples/s"};
    static const struct {
        unsigned short columns;
        size_t n_parts;
    } cases[] = {{20, 0}, {21, 1}, {32, 2}, {44, 3},
                 {61, 4}, {80, 5}, {96, 6}, {200, 6}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char line[512];
        show(cases[i].columns, &long_run, PASSED_S, line);
        for (size_t k = 0; k < LENGTH(parts); k++)
            if ((strstr(line, parts[k]) != NULL) != (k < cases[i].n_parts))
                fail_msg("%d columns: %s", cases[i].columns, line);
    }
}

TEST(the_bar_is_as_full_as_the_run)
{
    static const struct {
        int64_t n_samples;
        const char *line;
    } cases[] = {
        {0, "correlate  [........................]    0 %  -- left"},
        {240, "correlate  [######..................]   25 %  0.0 Msamples/s  "
              "0:30 left"},
        {960, "correlate  [########################]  100 %  0.0 Msamples/s  "
              "0:00 left"},
    };
    for (size_t i = 0; i < 3; i++) {
        const struct fx8_progress progress = {
            .n_samples = cases[i].n_samples,
            .total_samples = 960,
            .n_inputs = 2,
        };
        char line[512];
        show(80, &progress, 10.0, line);
        assert_string_equal(line, cases[i].line);
    }
}

/* --- in a log ---------------------------------------------------- */

/* A display in a file whose task began so many seconds ago. */
static struct fx8_progress_display start_log(const char *unit, double passed_s)
{
    struct fx8_progress_display display;
    FILE *log = tmpfile();
    assert_non_null(log);
    start(&display, unit, passed_s, log);
    assert_false(display.is_terminal);
    return display;
}

/* Check the text of a log. */
static void check_log(struct fx8_progress_display *display, const char *want)
{
    char text[512];
    rewind(display->stream);
    text[fread(text, 1, sizeof text - 1, display->stream)] = '\0';
    assert_string_equal(text, want);
    fclose(display->stream);
}

TEST(a_log_has_every_part)
{
    struct fx8_progress_display display = start_log("dump", PASSED_S);
    fx8_progress_show(&display, &long_run);
    check_log(&display, "fx8: correlate    1 %  dump 1234/86400  "
                        "512.0 Msamples/s  1.1 x real time  " LONG_LEFT "\n");
}

/* A count of steps has no speed; without a unit only its share. */
TEST(a_count_has_a_share_and_steps)
{
    struct fx8_progress_display display = start_log("case", PASSED_S);
    fx8_progress_count(&display, 1, 11);
    check_log(&display, "fx8: correlate    9 %  case 1/11  2:46:40 left\n");
    display = start_log(NULL, PASSED_S);
    fx8_progress_count(&display, 1, 11);
    check_log(&display, "fx8: correlate    9 %  2:46:40 left\n");
    display = start_log(NULL, PASSED_S);
    fx8_progress_count(&display, 0, 0); /* nothing to do */
    check_log(&display, "");
}

/* --- when -------------------------------------------------------- */

/* The first after two seconds; each with the first step after it is due. */
TEST(a_log_gets_a_line_every_ten_seconds)
{
    static const double steps_s[] = {0.0, 1.9, 2.0, 11.9, 12.5, 22.4, 22.5};
    struct fx8_progress_display display = start_log(NULL, 0.0);
    for (size_t i = 0; i < LENGTH(steps_s); i++) {
        now_s = display.start_s + steps_s[i];
        fx8_progress_count(&display, 1, 2);
    }
    check_log(&display, "fx8: correlate   50 %  0:02 left\n"
                        "fx8: correlate   50 %  0:13 left\n"
                        "fx8: correlate   50 %  0:23 left\n");
}

/* As on a terminal. */
TEST(what_is_over_in_two_seconds_shows_nothing)
{
    FILE *sink = fopen("/dev/null", "w");
    assert_non_null(sink);
    struct fx8_progress_display display;
    start(&display, NULL, 1.9, sink);
    display.is_terminal = true;
    fx8_progress_count(&display, 1, 2);
    assert_false(display.is_line_open);
    now_s += 0.1;
    fx8_progress_count(&display, 1, 2);
    assert_true(display.is_line_open);
    const double shown_s = now_s;
    now_s += 0.09;
    fx8_progress_count(&display, 1, 2);
    assert_true(display.last_s == shown_s);
    fx8_progress_end(&display);
    assert_false(display.is_line_open);
    fx8_progress_count(&display, 1, 2); /* again below what was printed */
    assert_true(display.is_line_open);
    fx8_progress_end(&display);
    fclose(sink);
}

TEST(without_a_stream_nothing_is_shown)
{
    struct fx8_progress_display display;
    start(&display, NULL, PASSED_S, NULL);
    fx8_progress_count(&display, 1, 2);
    assert_false(display.is_line_open);
    fx8_progress_end(&display);
    fx8_progress_count(NULL, 1, 2);
}
