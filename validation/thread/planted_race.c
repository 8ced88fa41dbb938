/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * planted_race.c -- a sum over the threads of fx8_parallel_for(), with its
 * guard or without it: shows that the thread checker, as the suite runs it,
 * sees a race between items and is quiet about the same loop without one.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "config/base/parallel.h"

struct sum {
    pthread_mutex_t guard;
    long value;
};

static void add(void *context, size_t item, size_t thread)
{
    struct sum *sum = context;
    (void)thread;
    /* long enough for every thread to get items of its own */
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
#ifndef WITHOUT_GUARD
    pthread_mutex_lock(&sum->guard);
#endif
    sum->value += (long)item;
#ifndef WITHOUT_GUARD
    pthread_mutex_unlock(&sum->guard);
#endif
}

int main(void)
{
    struct sum sum = {.guard = PTHREAD_MUTEX_INITIALIZER};
    fx8_parallel_for(64, 4, false, add, &sum);
    printf("# sum %ld\n", sum.value);
    return 0;
}
