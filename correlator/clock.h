/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.h -- time spent, for summaries.
 */
#ifndef FX8_CORRELATOR_CLOCK_H
#define FX8_CORRELATOR_CLOCK_H

#include <time.h>

/** Seconds on a clock that only goes forward. */
static inline double fx8_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
