/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parallel.c -- the one file that knows OpenMP.
 */
#include <limits.h>
#include <sched.h>
#include <unistd.h>

#include <omp.h>

#include "kernels/parallel.h"

/** CPUs a thread may run on; not known on machines of more CPUs than a
 *  cpu_set_t holds. */
struct affinity {
    bool is_known;
    cpu_set_t cpus;
};

/** Mask of the calling thread. */
static struct affinity affinity_get(void)
{
    struct affinity affinity = {.is_known = false};
    CPU_ZERO(&affinity.cpus);
    affinity.is_known =
        sched_getaffinity(0, sizeof affinity.cpus, &affinity.cpus) == 0 &&
        CPU_COUNT(&affinity.cpus) > 0;
    return affinity;
}

/** Give the calling thread a mask.  Without the right to do so the thread
 *  stays where it is: placement is speed, never meaning. */
static void affinity_set(const struct affinity *affinity)
{
    if (affinity->is_known)
        (void)sched_setaffinity(0, sizeof affinity->cpus, &affinity->cpus);
}

/** The mask that holds only CPU number `nth` of `all`, counted around. */
static struct affinity affinity_nth(const struct affinity *all, size_t nth)
{
    struct affinity one = {.is_known = all->is_known};
    CPU_ZERO(&one.cpus);
    if (!all->is_known)
        return one;
    size_t left = nth % (size_t)CPU_COUNT(&all->cpus);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &all->cpus) || left-- > 0)
        cpu++;
    CPU_SET(cpu, &one.cpus);
    return one;
}

size_t fx8_parallel_cpus(void)
{
    const struct affinity affinity = affinity_get();
    if (affinity.is_known)
        return (size_t)CPU_COUNT(&affinity.cpus);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

/** Every item in ascending order on the caller's thread. */
static void run_inline(size_t n_items, bool pin, fx8_parallel_body *body,
                       void *context)
{
    struct affinity before = {.is_known = false};
    if (pin) {
        before = affinity_get();
        const struct affinity own = affinity_nth(&before, 0);
        affinity_set(&own);
    }
    for (size_t item = 0; item < n_items; item++)
        body(context, item, 0);
    if (pin)
        affinity_set(&before);
}

void fx8_parallel_for(size_t n_items, size_t n_threads, bool pin,
                      fx8_parallel_body *body, void *context)
{
    if (n_threads <= 1 || n_items <= 1) {
        run_inline(n_items, pin, body, context);
        return;
    }
    /* The team is as large as asked for even where items are few: OpenMP
     * ends and restarts threads when the size of a team changes. */
    const int team = n_threads > INT_MAX ? INT_MAX : (int)n_threads;
    struct affinity all = {.is_known = false};
    if (pin)
        all = affinity_get();
#pragma omp parallel num_threads(team)
    {
        const size_t thread = (size_t)omp_get_thread_num();
        struct affinity before = {.is_known = false};
        if (pin) {
            before = affinity_get();
            const struct affinity own = affinity_nth(&all, thread);
            affinity_set(&own);
        }
#pragma omp for schedule(dynamic)
        for (size_t item = 0; item < n_items; item++)
            body(context, item, thread);
        if (pin)
            affinity_set(&before);
    }
}
