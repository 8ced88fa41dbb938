/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share.h -- what each rank of a run gets: dumps, and processors of its node.
 */
#ifndef FX8_CORRELATOR_RUN_SHARE_H
#define FX8_CORRELATOR_RUN_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/ranks/ranks.h"

/** Dumps [first, end) of a run: whole blocks of averages. */
struct fx8_share {
    int64_t first, end;
    int64_t part; /**< > 0: the dumps are divided into parts of so many
                       segments, which go to all ranks in turn; rank 0 adds
                       them */
};

/**
 * fx8_share_of -- the dumps of a rank, from its first to its last unfinished
 * block.
 *
 * Given: finished     uint8 [n_dumps] 1: of an earlier run; all dumps of a
 *                     block or none
 *        block_dumps  dumps of a block of averages, which one rank must
 *                     compute; 1: nothing is averaged
 * Notes: 1) ranges ascend with the rank; their numbers of unfinished blocks
 *           differ by one at most.  The last block may be shorter than the
 *           others: the last rank has one of the larger shares
 *        2) with fewer unfinished blocks than ranks, dumps of several segments
 *           are divided, and rank 0 has them all.  Parts of INT8 alone,
 *           without spectral kurtosis, are as long as they can be for all ranks
 *           to have one, others one segment
 *        3) a process alone has all dumps
 */
struct fx8_share fx8_share_of(const uint8_t *finished, int64_t n_dumps,
                              int64_t block_dumps, const struct fx8_plan *plan,
                              const struct fx8_ranks *ranks);

/** Whether sums of segments may be added in any order, before they are sent;
 *  those of floats are added segment by segment. */
bool fx8_share_is_exact(const struct fx8_plan *plan);

/** Parts of a dump; `part` segments in each, the last may have fewer. */
int64_t fx8_share_parts(const struct fx8_plan *plan, int64_t dump,
                        int64_t part);

/** Ranks without work among n: for a warning. */
int64_t fx8_share_idle(const struct fx8_plan *plan, int64_t n_dumps,
                       int64_t block_dumps, int n);

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
