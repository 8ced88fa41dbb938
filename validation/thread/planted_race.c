/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * planted_race.c -- a sum over threads, with its guard or without it: shows
 * that the thread checker, as the suite runs it, sees a race in an OpenMP loop
 * and is quiet about the same loop without one.
 */
#include <stdio.h>

int main(void)
{
    long sum = 0;
#pragma omp parallel for num_threads(4)
    for (int item = 0; item < 100000; item++) {
#ifndef WITHOUT_GUARD
#pragma omp atomic
#endif
        sum += item;
    }
    printf("# sum %ld\n", sum);
    return 0;
}
