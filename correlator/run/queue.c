/* SPDX-License-Identifier: BSD-3-Clause */
#include "correlator/run/queue.h"

void fx8_queue_init(struct fx8_queue *queue)
{
    *queue = (struct fx8_queue){.n_items = 0};
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->changed, NULL);
}

void fx8_queue_destroy(struct fx8_queue *queue)
{
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->mutex);
}

bool fx8_queue_put(struct fx8_queue *queue, void *item)
{
    pthread_mutex_lock(&queue->mutex);
    while (!queue->is_closed && queue->n_items == FX8_QUEUE_CAPACITY)
        pthread_cond_wait(&queue->changed, &queue->mutex);
    const bool is_open = !queue->is_closed;
    if (is_open) {
        const size_t at = (queue->first + queue->n_items) % FX8_QUEUE_CAPACITY;
        queue->items[at] = item;
        queue->n_items++;
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->mutex);
    return is_open;
}

/* The oldest item, or NULL; the mutex is locked. */
static void *take_oldest(struct fx8_queue *queue)
{
    void *item = NULL;
    if (queue->n_items > 0) {
        item = queue->items[queue->first];
        queue->first = (queue->first + 1) % FX8_QUEUE_CAPACITY;
        queue->n_items--;
        pthread_cond_broadcast(&queue->changed);
    }
    return item;
}

void *fx8_queue_take(struct fx8_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    while (!queue->is_closed && queue->n_items == 0)
        pthread_cond_wait(&queue->changed, &queue->mutex);
    void *item = take_oldest(queue);
    pthread_mutex_unlock(&queue->mutex);
    return item;
}

bool fx8_queue_poll(struct fx8_queue *queue, void **item)
{
    pthread_mutex_lock(&queue->mutex);
    *item = take_oldest(queue);
    const bool is_open = !queue->is_closed || *item != NULL;
    pthread_mutex_unlock(&queue->mutex);
    return is_open;
}

void fx8_queue_close(struct fx8_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->is_closed = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}
