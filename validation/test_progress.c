/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_progress.c -- the progress that a run shows: on terminals of every
 * width, and in a log.
 *
 * Shows (commands, progress): on a terminal of 1 to 200 columns the remaining
 *     time is cut last, the line never wraps, and the other parts appear as
 *     room allows; a log has all parts
 * Within: letters equal, except for a second that may pass
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "config/base/clock.h"
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

/* The line shown on a terminal of so many columns, without control sequences;
 * `passed_s` seconds after the start. */
static void show(unsigned short columns, const struct fx8_progress *progress,
                 double passed_s, char line[512])
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    assert_int_equal(ioctl(reader, TIOCSWINSZ, &size), 0);
    struct fx8_progress_display display;
    fx8_progress_start(&display, terminal);
    assert_true(display.is_terminal);
    display.start_s = fx8_clock_seconds() - passed_s;
    display.last_s = 0;
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
        /* a second may pass between the two clocks */
        if (length < tail)
            assert_true(length == (size_t)columns - 1 &&
                        memcmp(line, LONG_LEFT, length < 3 ? length : 3) == 0);
        else if (strstr(line, "21:5") == NULL ||
                 strcmp(line + length - 5, " left") != 0)
            fail_msg("%d columns: no time left: %s", columns, line);
        /* a wider terminal never shows less */
        assert_true(length >= most);
        most = length;
    }
}

/* The parts come in this order as they fit into the width. */
TEST(parts_go_one_by_one)
{
    static const char *const parts[] = {"  1 %", "[.", "dump 1234/86400",
                                        "1.1 x real time", "512.0 Msamples/s"};
    static const struct {
        unsigned short columns;
        size_t n_parts;
    } cases[] = {{20, 0}, {21, 1}, {33, 2}, {51, 3},
                 {80, 4}, {88, 5}, {200, 5}};
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
        {0, "[........................]    0 %  0.0 Msamples/s  -- left"},
        {240, "[######..................]   25 %  0.0 Msamples/s  0:30 left"},
        {960, "[########################]  100 %  0.0 Msamples/s  0:00 left"},
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

TEST(a_log_has_every_part)
{
    char *text = NULL;
    size_t size = 0;
    FILE *log = tmpfile();
    assert_non_null(log);
    struct fx8_progress_display display;
    fx8_progress_start(&display, log);
    assert_false(display.is_terminal);
    fx8_progress_show(&display, &long_run); /* too soon */
    assert_int_equal(ftell(log), 0);
    display.start_s = fx8_clock_seconds() - PASSED_S;
    display.last_s = 0;
    fx8_progress_show(&display, &long_run);
    rewind(log);
    assert_true(getline(&text, &size, log) > 0);
    text[strcspn(text, "\n")] = '\0';
    /* the seconds may be one more */
    assert_memory_equal(text,
                        "fx8:   1 %  dump 1234/86400  512.0 Msamples/s  "
                        "1.1 x real time  21:56:",
                        69);
    free(text);
    fclose(log);
}
