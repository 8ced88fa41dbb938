/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queue.h -- a bounded first-in first-out queue of pointers between two
 * threads.
 */
#ifndef FX8_CORRELATOR_RUN_QUEUE_H
#define FX8_CORRELATOR_RUN_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/** Most items that a queue holds. */
#define FX8_QUEUE_CAPACITY 8

struct fx8_queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    void *items[FX8_QUEUE_CAPACITY];
    size_t first, n_items;
    bool is_closed;
};

void fx8_queue_init(struct fx8_queue *queue);
void fx8_queue_destroy(struct fx8_queue *queue);

/** Append an item, waiting for room; false when the queue is closed. */
bool fx8_queue_put(struct fx8_queue *queue, void *item);

/** Take the oldest item, waiting for one; NULL when the queue is closed and
 *  empty. */
void *fx8_queue_take(struct fx8_queue *queue);

/** Take the oldest item without waiting: *item is NULL if the queue is empty.
 *  False when the queue is closed and empty. */
bool fx8_queue_poll(struct fx8_queue *queue, void **item);

/** No more items: takers get what is left, then NULL; putters get false. */
void fx8_queue_close(struct fx8_queue *queue);

#endif
