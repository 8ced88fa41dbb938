/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kept.h -- copies of pushed blocks that wait for the quantiser's gains.
 */
#ifndef FX8_CORRELATOR_LIBRARY_KEPT_H
#define FX8_CORRELATOR_LIBRARY_KEPT_H

#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/library/stream.h"

struct fx8_kept_block;

/** Blocks in the order of their samples.  Initialise to zeros, then set shape
 *  and limit. */
struct fx8_kept {
    struct fx8_stream_shape shape; /**< of the session's stream */
    size_t limit;                  /**< bytes */
    size_t bytes; /**< of all blocks; past the limit: what they would need */
    int64_t end;  /**< behind the last sample kept */
    int64_t room_end; /**< behind the last sample with memory */
    struct fx8_kept_block *first, *last;
    struct fx8_kept_block
        *cursor; /**< last found; NULL: start from the first */
};

/**
 * fx8_kept_add -- copy the samples of a block from sample `first` on, which
 * must follow all kept samples.  Small blocks are merged.
 *
 * Status: FX8_ERR_SYSTEM: memory
 * Notes:  past the limit all blocks are dropped and only bytes are counted:
 *         fx8_kept_is_over()
 */
enum fx8_status fx8_kept_add(struct fx8_kept *kept,
                             const struct fx8_block *block, int64_t first,
                             struct fx8_error *error);

/** Whether the limit was passed. */
bool fx8_kept_is_over(const struct fx8_kept *kept);

/** The first block that ends behind `sample`, or NULL. */
const struct fx8_block *fx8_kept_at(struct fx8_kept *kept, int64_t sample);

/** Release the blocks that end at `sample` or before. */
void fx8_kept_drop(struct fx8_kept *kept, int64_t sample);

/** Release all blocks. */
void fx8_kept_clear(struct fx8_kept *kept);

#endif
