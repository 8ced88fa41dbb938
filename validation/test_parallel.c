/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_parallel.c -- every item runs once, thread numbers are in range, nested
 * and concurrent calls work, also in a forked child; affinity masks stay as
 * they were.  The queue between two threads: order, capacity, end of data.
 *
 * Shows (kernels, threads): every item runs once; queues keep their order and
 *     deliver everything
 * Within: exact
 */
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pthread.h>

#include "config/base/parallel.h"
#include "correlator/run/queue.h"
#include "validation/testing.h"

#define MOST_ITEMS 1000

/** What the items of one call recorded. */
struct tally {
    size_t n_threads;
    atomic_int runs[MOST_ITEMS];
    atomic_int in_use[64]; /**< items inside, per thread number */
    atomic_int n_wrong; /**< thread numbers out of range or in use, pinned items
                             that may run on many CPUs, a wrong order */
    size_t next;        /**< item of a single thread */
    bool is_pinned, is_nesting;
};

static bool call_is_right(size_t n_items, size_t n_threads, bool is_pinned,
                          bool is_nesting);

static void run_item(void *context, size_t item, size_t thread)
{
    struct tally *tally = context;
    cpu_set_t own;
    bool right = thread < tally->n_threads &&
                 atomic_fetch_add(&tally->in_use[thread], 1) == 0;
    if (tally->is_pinned)
        right = right && sched_getaffinity(0, sizeof own, &own) == 0 &&
                CPU_COUNT(&own) == 1;
    if (tally->n_threads == 1)
        right = right && item == tally->next++;
    if (tally->is_nesting)
        right = right && call_is_right(10, 3, tally->is_pinned, false);
    atomic_fetch_add(&tally->n_wrong, !right);
    atomic_fetch_add(&tally->runs[item], 1);
    atomic_fetch_sub(&tally->in_use[thread % 64], 1);
}

/** One call, each item of which may make another; true if all was right. */
static bool call_is_right(size_t n_items, size_t n_threads, bool is_pinned,
                          bool is_nesting)
{
    struct tally tally = {.n_threads = n_threads,
                          .is_pinned = is_pinned,
                          .is_nesting = is_nesting};
    cpu_set_t before, after;
    if (sched_getaffinity(0, sizeof before, &before) != 0)
        return false;
    fx8_parallel_for(n_items, n_threads, is_pinned, run_item, &tally);
    bool right = sched_getaffinity(0, sizeof after, &after) == 0 &&
                 CPU_EQUAL(&before, &after) && atomic_load(&tally.n_wrong) == 0;
    for (size_t item = 0; item < MOST_ITEMS; item++)
        right = right && atomic_load(&tally.runs[item]) == (item < n_items);
    return right;
}

TEST(test_every_item_once)
{
    static const size_t items[] = {0, 1, 2, 3, 17, MOST_ITEMS};
    static const size_t threads[] = {1, 2, 3, 8, 33};
    for (size_t i = 0; i < 6; i++)
        for (size_t t = 0; t < 5; t++)
            for (int flags = 0; flags < 4; flags++)
                assert_true(call_is_right(items[i], threads[t],
                                          (flags & 1) != 0, (flags & 2) != 0));
}

static void item_of_mask(void *context, size_t item, size_t thread)
{
    (void)thread;
    cpu_set_t *masks = context;
    if (sched_getaffinity(0, sizeof masks[item], &masks[item]) != 0)
        CPU_ZERO(&masks[item]);
}

/** The pool's threads have their old masks after a pinned call. */
TEST(test_pool_is_restored)
{
    cpu_set_t all, masks[64];
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_int_equal(fx8_parallel_cpus(), CPU_COUNT(&all));
    assert_true(call_is_right(64, 4, true, false));
    fx8_parallel_for(64, 4, false, item_of_mask, masks);
    for (size_t item = 0; item < 64; item++)
        assert_true(CPU_EQUAL(&masks[item], &all));
}

/** A forked child has none of the pool's threads, and starts its own. */
TEST(test_after_fork)
{
    assert_true(call_is_right(100, 4, false, false));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(call_is_right(100, 4, false, true) ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/** A separate host thread that calls repeatedly. */
static void *host(void *result)
{
    bool *right = result;
    for (size_t call = 0; call < 50; call++)
        *right = *right && call_is_right(call * 7, 1 + call % 4, call % 3 == 0,
                                         call % 5 == 0);
    return NULL;
}

TEST(test_concurrent_hosts)
{
    pthread_t hosts[3];
    bool right[3] = {true, true, true};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&hosts[i], NULL, host, &right[i]), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_join(hosts[i], NULL), 0);
    for (size_t i = 0; i < 3; i++)
        assert_true(right[i]);
}

/* --- the queue --------------------------------------------------- */

#define N_ITEMS 20000

static int items[N_ITEMS];
static struct fx8_queue queue;

static void *put_all(void *end)
{
    for (size_t i = 0; i < N_ITEMS; i++)
        if (!fx8_queue_put(&queue, &items[i]))
            return NULL;
    fx8_queue_close(&queue);
    return end;
}

static void *take_one(void *unused)
{
    (void)unused;
    return fx8_queue_take(&queue);
}

/* Items in a queue when it is closed are still handed out, no more are taken
 * in, and nobody waits. */
TEST(closing_a_queue)
{
    fx8_queue_init(&queue);
    for (size_t i = 0; i < FX8_QUEUE_CAPACITY; i++)
        assert_true(fx8_queue_put(&queue, &items[i]));
    fx8_queue_close(&queue);
    fx8_queue_close(&queue);
    assert_false(fx8_queue_put(&queue, &items[50])); /* full: would wait */
    for (size_t i = 0; i < FX8_QUEUE_CAPACITY; i++) {
        assert_ptr_equal(fx8_queue_take(&queue), &items[i]);
        assert_false(fx8_queue_put(&queue, &items[50]));
    }
    assert_null(fx8_queue_take(&queue));
    assert_null(fx8_queue_take(&queue));
    fx8_queue_destroy(&queue);
}

TEST(everything_arrives_in_order)
{
    fx8_queue_init(&queue);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, put_all, items), 0);
    for (size_t i = 0; i < N_ITEMS; i++)
        assert_ptr_equal(fx8_queue_take(&queue), &items[i]);
    assert_null(fx8_queue_take(&queue));
    void *result = NULL;
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, items);
    fx8_queue_destroy(&queue);
}

/* Closing wakes a putter that waits for room, whose call fails, and takers that
 * wait for an item, which get none. */
TEST(closing_wakes_those_who_wait)
{
    pthread_t threads[4];
    fx8_queue_init(&queue);
    assert_int_equal(pthread_create(&threads[0], NULL, put_all, items), 0);
    assert_ptr_equal(fx8_queue_take(&queue), &items[0]);
    fx8_queue_close(&queue);
    void *result = items;
    assert_int_equal(pthread_join(threads[0], &result), 0);
    assert_null(result);
    size_t left = 0;
    while (fx8_queue_take(&queue) != NULL)
        left++;
    assert_true(left <= FX8_QUEUE_CAPACITY);
    fx8_queue_destroy(&queue);
    fx8_queue_init(&queue);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_one, NULL), 0);
    fx8_queue_close(&queue);
    for (size_t i = 0; i < 4; i++) {
        result = items;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_null(result);
    }
    fx8_queue_destroy(&queue);
}
