/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/consumer.h"
#include "correlator/run/queue.h"

struct fx8_consumer_thread {
    const struct fx8_run_consumer *consumer;
    struct fx8_queue given, taken;
    pthread_t thread;
};

static void *take_all(void *argument)
{
    struct fx8_consumer_thread *t = argument;
    struct fx8_run_dump *dump;
    while ((dump = fx8_queue_take(&t->given)) != NULL) {
        t->consumer->take(t->consumer->context, dump);
        fx8_queue_put(&t->taken, dump);
    }
    return NULL;
}

enum fx8_status fx8_consumer_open(const struct fx8_run_output *output,
                                  struct fx8_consumer_thread **thread,
                                  struct fx8_error *error)
{
    *thread = NULL;
    if (output->consumer.take == NULL)
        return FX8_OK;
    struct fx8_consumer_thread *t;
    FX8_TRY(fx8_allocate(1, sizeof *t, "consumer", &t, error));
    t->consumer = &output->consumer;
    fx8_queue_init(&t->given);
    fx8_queue_init(&t->taken);
    if (pthread_create(&t->thread, NULL, take_all, t) == 0) {
        *thread = t;
        return FX8_OK;
    }
    fx8_queue_destroy(&t->given);
    fx8_queue_destroy(&t->taken);
    free(t);
    return fx8_fail(error, FX8_ERR_SYSTEM, "cannot start the consumer thread");
}

void fx8_consumer_give(struct fx8_consumer_thread *thread,
                       struct fx8_run_dump *dump)
{
    if (thread != NULL)
        fx8_queue_put(&thread->given, dump);
}

void fx8_consumer_wait(struct fx8_consumer_thread *thread)
{
    if (thread != NULL)
        (void)fx8_queue_take(&thread->taken);
}

void fx8_consumer_close(struct fx8_consumer_thread **thread)
{
    struct fx8_consumer_thread *t = *thread;
    *thread = NULL;
    if (t == NULL)
        return;
    fx8_queue_close(&t->given);
    pthread_join(t->thread, NULL);
    fx8_queue_destroy(&t->given);
    fx8_queue_destroy(&t->taken);
    free(t);
}
