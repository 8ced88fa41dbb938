/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.h -- the memory of a run: whether its dumps may come in slices, from
 * which size on, and what to say if a limit is too low.
 */
#ifndef FX8_CORRELATOR_RUN_MEMORY_H
#define FX8_CORRELATOR_RUN_MEMORY_H

#include <stddef.h>

#include "correlator/run/pipeline.h"

/** Bytes of memory that this machine has. */
size_t fx8_memory_of_machine(void);

/** Bytes that a run takes besides its sessions and the blocks that are read:
 *  the program, its results until they are written, and what watches dumps,
 *  which must be whole for that. */
size_t fx8_memory_beside(const struct fx8_run_request *request,
                         bool has_slices);

/** slices_above of the plan of a session: the limit or, without one, half of
 * the machine's memory, which leaves as much for the results that are written
 *  while the next dump is computed; 0 if something needs whole dumps. */
size_t fx8_memory_slices_above(const struct fx8_run_request *request);

/** Rewrite the library's error about a member of the plan to name the key that
 *  set it; returns `status`. */
enum fx8_status fx8_memory_name_key(const struct fx8_run_request *request,
                                    enum fx8_status status,
                                    struct fx8_error *error);

#endif
