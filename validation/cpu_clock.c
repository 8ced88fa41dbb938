/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu_clock.c -- preloaded, makes the monotonic clock that of the process: what
 * a program on one thread measures then is its CPU time, whatever else runs.
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *time);

int clock_gettime(clockid_t id, struct timespec *time)
{
    return (int)syscall(SYS_clock_gettime,
                        id == CLOCK_MONOTONIC ? CLOCK_PROCESS_CPUTIME_ID : id,
                        time);
}
