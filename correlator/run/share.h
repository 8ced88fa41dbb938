/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share.h -- what each rank of a run gets: dumps, and processors of its node.
 */
#ifndef FX8_CORRELATOR_RUN_SHARE_H
#define FX8_CORRELATOR_RUN_SHARE_H

#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/ranks/ranks.h"

/** Dumps [first, end) of a run. */
struct fx8_share {
    int64_t first, end;
};

/**
 * fx8_share_of -- the dumps of a rank, from its first to its last unfinished
 * one.
 *
 * Given: finished  uint8 [n_dumps] 1: of an earlier run
 * Notes: 1) ranges ascend with the rank; their numbers of unfinished dumps
 *           differ by one at most.  The last dump may be shorter than the
 *           others: the last rank has one of the larger shares
 *        2) a process alone has all dumps
 */
struct fx8_share fx8_share_of(const uint8_t *finished, int64_t n_dumps,
                              const struct fx8_ranks *ranks);

/**
 * fx8_share_threads -- threads that a rank may run: the processors that it may
 * use, divided among the ranks of its node that may use the same.
 *
 * Returned: n_threads  at least 1; all processors of a process alone
 * Notes:    all ranks must call it
 */
enum fx8_status fx8_share_threads(const struct fx8_ranks *ranks,
                                  size_t *n_threads, struct fx8_error *error);

#endif
