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

TEST(first_in_first_out)
{
    struct fx8_queue queue;
    fx8_queue_init(&queue);
    size_t put = 0, taken = 0;
    struct generator g = {41};
    while (taken < 1000) {
        const size_t held = put - taken;
        const bool puts = held == 0 || (held < FX8_QUEUE_CAPACITY &&
                                        random_below(&g, 2) == 0);
        if (puts)
            assert_true(fx8_queue_put(&queue, &items[put++]));
        else
            assert_ptr_equal(fx8_queue_take(&queue), &items[taken++]);
    }
    fx8_queue_destroy(&queue);
}

/* Items in a queue when it is closed are still handed out, no more are taken
 * in, and nobody waits. */
TEST(closing_a_queue)
{
    struct fx8_queue queue;
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

/* --- two threads
 * ------------------------------------------------------------------
 */

static void *put_all(void *queue)
{
    for (size_t i = 0; i < N_ITEMS; i++)
        if (!fx8_queue_put(queue, &items[i]))
            return NULL;
    fx8_queue_close(queue);
    return queue;
}

TEST(everything_arrives_in_order)
{
    struct fx8_queue queue;
    fx8_queue_init(&queue);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, put_all, &queue), 0);
    for (size_t i = 0; i < N_ITEMS; i++)
        assert_ptr_equal(fx8_queue_take(&queue), &items[i]);
    assert_null(fx8_queue_take(&queue));
    void *result = NULL;
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &queue);
    fx8_queue_destroy(&queue);
}

/* Closing wakes a putter that waits for room, whose call fails. */
TEST(closing_wakes_a_putter)
{
    struct fx8_queue queue;
    fx8_queue_init(&queue);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, put_all, &queue), 0);
    assert_ptr_equal(fx8_queue_take(&queue), &items[0]);
    fx8_queue_close(&queue);
    void *result = &queue;
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
    size_t left = 0;
    while (fx8_queue_take(&queue) != NULL)
        left++;
    assert_true(left <= FX8_QUEUE_CAPACITY);
    fx8_queue_destroy(&queue);
}

static void *take_one(void *queue)
{
    return fx8_queue_take(queue);
}

/* Closing wakes takers that wait for an item: they get none. */
TEST(closing_wakes_takers)
{
    struct fx8_queue queue;
    fx8_queue_init(&queue);
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_one, &queue),
                         0);
    fx8_queue_close(&queue);
    for (size_t i = 0; i < 3; i++) {
        void *result = &queue;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_null(result);
    }
    fx8_queue_destroy(&queue);
}
