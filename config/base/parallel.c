/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parallel.c -- a pool of threads behind fx8_parallel_for().
 *
 * The caller works too, and waits only for threads that are processing an item.
 * A thread that is not scheduled yet delays no other, unlike at the barrier of
 * an OpenMP region.  With another process on the two cores of the test machine,
 * this was seven times as fast as OpenMP with its default waiting.  If a thread
 * cannot be created, the job runs with fewer.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/base/parallel.h"

/** CPUs a thread may run on; unknown on machines with more CPUs than a
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

/** Set the calling thread's mask; failure only costs speed, so it is
 *  ignored. */
static void affinity_set(const struct affinity *affinity)
{
    if (affinity->is_known)
        (void)sched_setaffinity(0, sizeof affinity->cpus, &affinity->cpus);
}

/** Mask with only the `nth` CPU of `all`, modulo their number. */
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

/** One call of fx8_parallel_for(), on the stack of its caller. */
struct job {
    fx8_parallel_body *body;
    void *context;
    size_t n_items;
    atomic_size_t next; /* next item to take */
    bool pin;
    struct affinity cpus; /* of the caller, if pin is set */
    /* guarded by the pool's mutex */
    size_t n_helpers;   /* threads that may still join */
    size_t last_thread; /* last index given out; the caller is 0 */
    size_t n_active;    /* helpers at work */
    struct job *link;
};

/** The pool.  Threads are created on demand and kept. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t has_work;  /* a job was listed, or the pool is stopping */
    pthread_cond_t has_ended; /* a helper has left a job */
    struct job *jobs;
    pthread_t *threads;
    size_t n_threads, capacity;
    bool is_stopping;
} pool = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .has_work = PTHREAD_COND_INITIALIZER,
    .has_ended = PTHREAD_COND_INITIALIZER,
};

static void run_items(struct job *job, size_t thread)
{
    struct affinity before = {.is_known = false};
    if (job->pin) {
        before = affinity_get();
        const struct affinity own = affinity_nth(&job->cpus, thread);
        affinity_set(&own);
    }
    /* relaxed: the mutex orders all other data */
    size_t item;
    while ((item = atomic_fetch_add_explicit(
                &job->next, 1, memory_order_relaxed)) < job->n_items)
        job->body(job->context, item, thread);
    if (job->pin)
        affinity_set(&before);
}

/** A job that can use a helper, or NULL; call with the mutex held. */
static struct job *find_job(void)
{
    for (struct job *job = pool.jobs; job != NULL; job = job->link)
        if (job->n_helpers > 0)
            return job;
    return NULL;
}

static void *help(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&pool.mutex);
    while (!pool.is_stopping) {
        struct job *job = find_job();
        if (job == NULL) {
            pthread_cond_wait(&pool.has_work, &pool.mutex);
            continue;
        }
        job->n_helpers--;
        job->n_active++;
        const size_t thread = ++job->last_thread;
        pthread_mutex_unlock(&pool.mutex);
        run_items(job, thread);
        pthread_mutex_lock(&pool.mutex);
        if (--job->n_active == 0)
            pthread_cond_broadcast(&pool.has_ended);
    }
    pthread_mutex_unlock(&pool.mutex);
    return NULL;
}

/** A forked child has the pool's memory but none of its threads. */
static void forget_threads(void)
{
    pthread_mutex_init(&pool.mutex, NULL);
    pthread_cond_init(&pool.has_work, NULL);
    pthread_cond_init(&pool.has_ended, NULL);
    pool.jobs = NULL;
    pool.n_threads = 0;
}

/** Create threads until there are `n` or one fails; hold the mutex. */
static void grow(size_t n)
{
    static bool is_fork_watched;
    if (!is_fork_watched)
        is_fork_watched = pthread_atfork(NULL, NULL, forget_threads) == 0;
    if (n > pool.capacity) {
        pthread_t *threads = realloc(pool.threads, n * sizeof *threads);
        if (threads == NULL)
            return;
        pool.threads = threads;
        pool.capacity = n;
    }
    /* leave signals to the application's threads */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.n_threads < n &&
           pthread_create(&pool.threads[pool.n_threads], NULL, help, NULL) == 0)
        pool.n_threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/** The threads run code of this library: end them before it is unloaded. */
__attribute__((destructor)) static void stop_threads(void)
{
    pthread_mutex_lock(&pool.mutex);
    pool.is_stopping = true;
    pthread_cond_broadcast(&pool.has_work);
    pthread_mutex_unlock(&pool.mutex);
    for (size_t i = 0; i < pool.n_threads; i++)
        pthread_join(pool.threads[i], NULL);
    free(pool.threads);
}

static void list_job(struct job *job)
{
    pthread_mutex_lock(&pool.mutex);
    if (pool.n_threads < job->n_helpers)
        grow(job->n_helpers);
    job->link = pool.jobs;
    pool.jobs = job;
    pthread_cond_broadcast(&pool.has_work);
    pthread_mutex_unlock(&pool.mutex);
}

/** Remove the job from the list and wait for its helpers. */
static void end_job(struct job *job)
{
    pthread_mutex_lock(&pool.mutex);
    struct job **place = &pool.jobs;
    while (*place != job)
        place = &(*place)->link;
    *place = job->link;
    while (job->n_active > 0)
        pthread_cond_wait(&pool.has_ended, &pool.mutex);
    pthread_mutex_unlock(&pool.mutex);
}

void fx8_parallel_for(size_t n_items, size_t n_threads, bool pin,
                      fx8_parallel_body *body, void *context)
{
    const size_t most = n_items < n_threads ? n_items : n_threads;
    struct job job = {
        .body = body,
        .context = context,
        .n_items = n_items,
        .pin = pin,
        .n_helpers = most > 1 ? most - 1 : 0,
    };
    if (pin)
        job.cpus = affinity_get();
    const bool is_shared = job.n_helpers > 0;
    if (is_shared)
        list_job(&job);
    run_items(&job, 0);
    if (is_shared)
        end_job(&job);
}
