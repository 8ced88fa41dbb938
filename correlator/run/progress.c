/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "config/base/clock.h"
#include "correlator/run/progress.h"

/* Back to the first column, and clear the line. */
static const char wipe[] = "\r\033[K";

/* The terminal that shows an unfinished line, for a signal handler; -1: none.
 */
static atomic_int open_terminal = -1;

/* Shorter tasks show nothing. */
#define SILENT_S 2.0

/* Seconds between two updates: smooth on a terminal, sparse in a log. */
#define TERMINAL_PERIOD_S 0.1
#define LOG_PERIOD_S      10.0

/* Width of the bar between its brackets, and the least worth drawing. */
#define BAR_MOST  24
#define BAR_LEAST 8

void fx8_progress_start(struct fx8_progress_display *display, const char *task,
                        const char *unit, FILE *stream)
{
    *display = (struct fx8_progress_display){
        .stream = stream,
        .task = task,
        .unit = unit,
        .is_terminal = stream != NULL && isatty(fileno(stream)) == 1,
        .seconds = fx8_clock_seconds,
    };
    display->start_s = display->last_s = display->seconds();
}

static int terminal_columns(FILE *stream)
{
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

/* "1:02:03", or "--" while unknown. */
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

/* Parts of the line in order, and the order in which they are dropped on a
 * narrow terminal; the time left always stays. */
enum { TASK, BAR, PERCENT, STEPS, SAMPLES, SPEED, LEFT, N_PARTS };
static const int expendable[] = {SAMPLES, SPEED, STEPS, BAR, TASK, PERCENT};

#define N_EXPENDABLE (sizeof expendable / sizeof *expendable)

struct line {
    char parts[N_PARTS][64]; /* "": omitted */
    char text[N_PARTS * 66];
};

/* Join the non-empty parts with two blanks; returns the length. */
static size_t join(struct line *line)
{
    char *end = line->text;
    for (int part = 0; part < N_PARTS; part++)
        if (line->parts[part][0] != '\0')
            end += sprintf(end, "%s%s", end == line->text ? "" : "  ",
                           line->parts[part]);
    return (size_t)(end - line->text);
}

static void draw_bar(double share, size_t width, char *bar)
{
    const double filled = share * (double)width;
    sprintf(bar, "[%*s]", (int)width, "");
    for (size_t i = 0; i < width; i++)
        bar[1 + i] = (double)i + 1.0 <= filled ? '#' : '.';
}

/* Fit the line to the terminal: a wrapped line could not be redrawn. */
static void fit(struct line *line, double share, size_t room)
{
    draw_bar(share, BAR_LEAST, line->parts[BAR]);
    size_t length = join(line);
    for (size_t i = 0; i < N_EXPENDABLE && length > room; i++) {
        line->parts[expendable[i]][0] = '\0';
        length = join(line);
    }
    if (length > room) {
        line->text[room] = '\0';
    } else if (line->parts[BAR][0] != '\0') {
        const size_t width = BAR_LEAST + room - length;
        draw_bar(share, width < BAR_MOST ? width : BAR_MOST, line->parts[BAR]);
        join(line);
    }
}

static void fill(struct line *line, const struct fx8_progress_display *display,
                 const struct fx8_progress *progress, double elapsed_s,
                 double share)
{
    const double done = (double)progress->n_samples;
    const double rate = done / elapsed_s; /* samples per input and second */
    char left[32];
    format_time(done > 0 ? elapsed_s * (1.0 - share) / share : -1.0, left,
                sizeof left);
    const size_t size = sizeof line->parts[0];
    line->parts[BAR][0] = line->parts[STEPS][0] = '\0';
    line->parts[SAMPLES][0] = line->parts[SPEED][0] = '\0';
    snprintf(line->parts[TASK], size, "%s",
             progress->task != NULL ? progress->task : display->task);
    snprintf(line->parts[PERCENT], size, "%3.0f %%", 100.0 * share);
    if (display->unit != NULL && progress->total_dumps > 0)
        snprintf(line->parts[STEPS], size, "%s %lld/%lld", display->unit,
                 (long long)progress->n_dumps,
                 (long long)progress->total_dumps);
    if (done > 0 && progress->n_inputs > 0)
        snprintf(line->parts[SAMPLES], size, "%.1f Msamples/s",
                 rate * (double)progress->n_inputs * 1e-6);
    if (done > 0 && progress->rate_hz > 0.0)
        snprintf(line->parts[SPEED], size, "%.2g x real time",
                 rate / progress->rate_hz);
    snprintf(line->parts[LEFT], size, "%s left", left);
}

/* Whether something is due now. */
static bool is_due(const struct fx8_progress_display *display, double now)
{
    const double period =
        display->is_terminal ? TERMINAL_PERIOD_S : LOG_PERIOD_S;
    const bool is_first = display->last_s == display->start_s;
    return display->stream != NULL && now - display->start_s >= SILENT_S &&
           (is_first || now - display->last_s >= period);
}

void fx8_progress_show(void *context, const struct fx8_progress *progress)
{
    struct fx8_progress_display *display = context;
    const double now = display->seconds();
    if (progress->task != display->shown) {
        display->shown = progress->task;
        display->start_s = display->last_s = now;
    }
    if (!is_due(display, now) || progress->total_samples <= 0)
        return;
    display->last_s = now;
    const double share =
        (double)progress->n_samples / (double)progress->total_samples;
    struct line line;
    fill(&line, display, progress, now - display->start_s, share);
    if (!display->is_terminal) {
        join(&line);
        fprintf(display->stream, "fx8: %s\n", line.text);
        return;
    }
    /* a letter in the last column may wrap too */
    fit(&line, share, (size_t)terminal_columns(display->stream) - 1);
    display->is_line_open = true;
    open_terminal = fileno(display->stream);
    fprintf(display->stream, "%s%s", wipe, line.text);
    fflush(display->stream);
}

void fx8_progress_count(struct fx8_progress_display *display, int64_t done,
                        int64_t total)
{
    const struct fx8_progress progress = {
        .n_samples = done,
        .total_samples = total,
        .n_dumps = done,
        .total_dumps = total,
    };
    if (display != NULL)
        fx8_progress_show(display, &progress);
}

void fx8_progress_end(struct fx8_progress_display *display)
{
    if (!display->is_line_open)
        return;
    fputs(wipe, display->stream);
    fflush(display->stream);
    open_terminal = -1;
    display->is_line_open = false;
    display->last_s = display->start_s; /* the next one is due at once */
}

void fx8_progress_wipe(void)
{
    const int terminal = open_terminal;
    if (terminal >= 0 && write(terminal, wipe, sizeof wipe - 1) < 0)
        open_terminal = -1; /* nothing else to do */
}
