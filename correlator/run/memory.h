/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.h -- the memory of a run, and what to say if a limit is too low.
 */
#ifndef FX8_CORRELATOR_RUN_MEMORY_H
#define FX8_CORRELATOR_RUN_MEMORY_H

#include <stddef.h>

#include "correlator/run/job.h"

/** Bytes of memory that this machine has. */
size_t fx8_memory_of_machine(void);

/** Rewrite the library's error about a member of the plan to name the key that
 *  set it; returns `status`. */
enum fx8_status fx8_memory_name_key(const struct fx8_job *job,
                                    enum fx8_status status,
                                    struct fx8_error *error);

#endif
