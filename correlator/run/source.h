/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source.h -- the reader's side of the pipeline: a thread that reads blocks
 * of a recording ahead of the correlation.
 */
#ifndef FX8_CORRELATOR_RUN_SOURCE_H
#define FX8_CORRELATOR_RUN_SOURCE_H

#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/run/job.h"
#include "io/reader.h"

struct fx8_source;

/** A block as read, with its memory. */
struct fx8_source_block {
    struct fx8_block block;
    int8_t *buffer;
    ptrdiff_t *input_offset; /* [n_inputs] */
    struct fx8_gap *missing; /* [block.n_missing] */
    int64_t n_clamped; /* real numbers clamped to 8 bits as they were read */
    bool is_pinned;    /* as far as possible */
};

/**
 * fx8_source_open -- allocate; fx8_source_start() starts reading.
 *
 * Given:  reader         with the job's inputs selected; used by the source
 *                        alone until it is closed
 *         block_samples  per read; 0: chosen to suit the file and the session
 *         session        consumer of the blocks, which uses them in place
 *                        where it can; NULL: none
 * Notes:  the session may use and pin the source's memory, so end with
 *         fx8_source_stop(), fx8_close(), fx8_source_close() in this order
 */
enum fx8_status fx8_source_open(struct fx8_reader *reader,
                                const struct fx8_job *job,
                                int64_t block_samples,
                                struct fx8_session *session,
                                struct fx8_source **source,
                                struct fx8_error *error);

/** Read from this sample on, of those that the job can need.  Samples from
 *  pause_sample on are read when all before have been taken and more are asked
 *  for.  A source that has started before starts again: it takes all blocks
 *  back, so no session may use one in place any more. */
enum fx8_status fx8_source_start(struct fx8_source *source,
                                 int64_t first_sample, int64_t pause_sample,
                                 struct fx8_error *error);

/** Next block in time; NULL at the end, and after a failed read, which
 *  fx8_source_status() reports.  Return it with fx8_source_release(). */
struct fx8_source_block *fx8_source_take(struct fx8_source *source);

void fx8_source_release(struct fx8_source *source,
                        struct fx8_source_block *block);

/** The reader thread's status, once fx8_source_take() has returned NULL. */
enum fx8_status fx8_source_status(struct fx8_source *source,
                                  struct fx8_error *error);

/**
 * fx8_source_reread -- read a block out of turn.
 *
 * Given:    center        whose session asks: index of the phase centre
 *           first_sample  absolute
 * Returned: block         in the source's memory, valid until the next call for
 *                         this centre; empty after the last sample
 */
enum fx8_status fx8_source_reread(struct fx8_source *source, size_t center,
                                  int64_t first_sample, struct fx8_block *block,
                                  struct fx8_error *error);

/** Bytes of the blocks. */
size_t fx8_source_memory(const struct fx8_source *source);

/** Most bytes of the blocks of a source with memory_limit; arguments as those
 *  of fx8_source_open(). */
size_t fx8_source_limited_memory(struct fx8_reader *reader,
                                 const struct fx8_job *job,
                                 int64_t block_samples);

/** Seconds spent reading so far. */
double fx8_source_seconds(struct fx8_source *source);

/** Stop reading, before the session is closed; the blocks' memory remains. NULL
 *  is legal. */
void fx8_source_stop(struct fx8_source *source);

/** Stop reading, release and null the handle; a NULL handle is legal. */
void fx8_source_close(struct fx8_source **source);

#endif
