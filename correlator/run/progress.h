/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * progress.h -- progress display of a run: a bar on a terminal, otherwise a
 * plain line from time to time.
 */
#ifndef FX8_CORRELATOR_RUN_PROGRESS_H
#define FX8_CORRELATOR_RUN_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

#include "correlator/run/pipeline.h"

/** A progress display, set up by fx8_progress_start(). */
struct fx8_progress_display {
    FILE *stream;
    bool is_terminal;
    double start_s;    /**< fx8_clock_seconds() */
    double last_s;     /**< when something was last shown */
    bool is_line_open; /**< the line of the bar is unfinished */
};

/** Start a display on `stream`; the clock runs from here. */
void fx8_progress_start(struct fx8_progress_display *display, FILE *stream);

/** Show the progress; context is the display.  Fits the request's progress
 *  callback. */
void fx8_progress_show(void *context, const struct fx8_progress *progress);

/** Finish the line of the bar. */
void fx8_progress_end(struct fx8_progress_display *display);

#endif
