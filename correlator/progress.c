/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kernels/clock.h"
#include "correlator/progress.h"

/* Seconds between two updates: smooth for an eye, sparse in a log. */
#define TERMINAL_PERIOD_S 0.1
#define LOG_PERIOD_S      10.0

#define BAR_WIDTH 24

void fx8_progress_start(struct fx8_progress_display *display, FILE *stream)
{
    *display = (struct fx8_progress_display){
        .stream = stream,
        .is_terminal = isatty(fileno(stream)) == 1,
        .start_s = fx8_clock_seconds(),
    };
    display->last_s = display->start_s;
}

static int terminal_columns(FILE *stream)
{
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

/* "1:02:03", or "--" where there is nothing to go by yet. */
static void format_time(double seconds, char *text, size_t size)
{
    if (!(seconds >= 0.0 && seconds < 360000.0)) {
        snprintf(text, size, "--");
        return;
    }
    const long whole = (long)(seconds + 0.5);
    if (whole < 3600)
        snprintf(text, size, "%ld:%02ld", whole / 60, whole % 60);
    else
        snprintf(text, size, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60,
                 whole % 60);
}

void fx8_progress_show(void *context, const struct fx8_progress *progress)
{
    struct fx8_progress_display *display = context;
    const double now = fx8_clock_seconds();
    const double period =
        display->is_terminal ? TERMINAL_PERIOD_S : LOG_PERIOD_S;
    if (now - display->last_s < period)
        return;
    display->last_s = now;
    const double elapsed_s = now - display->start_s;
    const double done = (double)progress->n_samples;
    const double share = done / (double)progress->total_samples;
    const double rate = done / elapsed_s; /* samples per input and second */
    char left[32];
    format_time(done > 0 ? elapsed_s * (1.0 - share) / share : -1.0, left,
                sizeof left);
    char line[256];
    char dumps[64] = "", speed[64] = "";
    if (progress->total_dumps > 0)
        snprintf(dumps, sizeof dumps, "dump %lld/%lld  ",
                 (long long)progress->n_dumps,
                 (long long)progress->total_dumps);
    if (progress->rate_hz > 0.0)
        snprintf(speed, sizeof speed, "%.2g x real time  ",
                 rate / progress->rate_hz);
    int length =
        snprintf(line, sizeof line, "%3.0f %%  %s%.1f Msamples/s  %s%s left",
                 100.0 * share, dumps, rate * (double)progress->n_inputs * 1e-6,
                 speed, left);
    if (!display->is_terminal) {
        fprintf(display->stream, "fx8: %s\n", line);
        return;
    }
    char bar[BAR_WIDTH + 1];
    const int filled = (int)(share * BAR_WIDTH);
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#',
           (size_t)(filled < 0           ? 0
                    : filled > BAR_WIDTH ? BAR_WIDTH
                                         : filled));
    bar[BAR_WIDTH] = '\0';
    /* never wrap: a wrapped line could not be drawn over */
    const int room = terminal_columns(display->stream) - BAR_WIDTH - 4;
    if (length > room)
        length = room > 0 ? room : 0;
    fprintf(display->stream, "\r\033[K[%s] %.*s", bar, length, line);
    fflush(display->stream);
    display->is_line_open = true;
}

void fx8_progress_end(struct fx8_progress_display *display)
{
    if (display->is_line_open)
        fprintf(display->stream, "\r\033[K");
    display->is_line_open = false;
}
