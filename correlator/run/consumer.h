/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * consumer.h -- a thread beside the writer, which hands each dump to the
 * consumer of an output while the writer writes it.
 */
#ifndef FX8_CORRELATOR_RUN_CONSUMER_H
#define FX8_CORRELATOR_RUN_CONSUMER_H

#include "correlator/run/pipeline.h"

struct fx8_consumer_thread;

/** Start the thread; NULL if the output has no consumer. */
enum fx8_status fx8_consumer_open(const struct fx8_run_output *output,
                                  struct fx8_consumer_thread **thread,
                                  struct fx8_error *error);

/** Hand over a dump, which must live until fx8_consumer_wait(); a NULL thread
 *  takes none. */
void fx8_consumer_give(struct fx8_consumer_thread *thread,
                       struct fx8_run_dump *dump);

/** Wait until the dump has been taken. */
void fx8_consumer_wait(struct fx8_consumer_thread *thread);

/** End the thread, release and null the handle; a NULL handle is legal. */
void fx8_consumer_close(struct fx8_consumer_thread **thread);

#endif
