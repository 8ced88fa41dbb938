/* SPDX-License-Identifier: BSD-3-Clause */
#include <time.h>

#include "config/base/clock.h"

double fx8_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
