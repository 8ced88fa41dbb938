/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * progress.h -- progress display of a long task: a bar on a terminal, otherwise
 * a plain line from time to time; nothing in the first seconds.
 */
#ifndef FX8_CORRELATOR_RUN_PROGRESS_H
#define FX8_CORRELATOR_RUN_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

#include "correlator/run/pipeline.h"

/** A progress display, set up by fx8_progress_start(). */
struct fx8_progress_display {
    FILE *stream;     /**< NULL: silent */
    const char *task; /**< "simulate" */
    const char *unit; /**< of the steps that are counted; NULL: not shown */
    bool is_terminal;
    double (*seconds)(void); /**< the clock: fx8_clock_seconds() */
    double start_s;
    double last_s;     /**< when something was last shown */
    const char *shown; /**< fx8_progress.task so far */
    bool is_line_open; /**< the line of the bar is unfinished */
};

/**
 * fx8_progress_start -- start a display; the clock runs from here.
 *
 * Given: task    a word, before everything else
 *        unit    "dump": shown as "dump 3/10"; NULL: only the share is shown
 *        stream  NULL (--quiet): nothing is ever shown
 * Notes: the texts are not copied
 */
void fx8_progress_start(struct fx8_progress_display *display, const char *task,
                        const char *unit, FILE *stream);

/** Show that `done` of `total` steps are done, if it is time.  Cheap enough for
 *  every step of a millisecond; from one thread.  A NULL display is legal. */
void fx8_progress_count(struct fx8_progress_display *display, int64_t done,
                        int64_t total);

/** Show the progress of a run with its speed; context is the display.  Fits the
 *  progress callback of a request.  With another task the clock starts anew. */
void fx8_progress_show(void *context, const struct fx8_progress *progress);

/** Remove the line of any bar that is shown.  Async-signal-safe. */
void fx8_progress_wipe(void);

/** Remove the line of the bar, before anything else is printed; also at the
 *  end.  FX8_AUTO(fx8_progress_end) does so on every way out. */
void fx8_progress_end(struct fx8_progress_display *display);

#endif
