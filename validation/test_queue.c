/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_queue.c -- the queue between two threads: order, capacity, end of data.
 *
 * Shows: as test_parallel.c
 */
#include <pthread.h>

#include "correlator/run/queue.h"
#include "validation/testing.h"

#define N_ITEMS 20000

static int items[N_ITEMS];
static struct fx8_queue queue; /* a new one for each case */

static int open_queue(void **state)
{
    (void)state;
    fx8_queue_init(&queue);
    return 0;
}

FIXTURE(NULL, open_queue)

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
