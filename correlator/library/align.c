/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/base/parallel.h"
#include "correlator/library/align.h"

/* Bytes and samples of a work item: small enough to share among threads, large
 * enough for an efficient corner turn. */
#define ITEM_BYTES    ((size_t)1 << 20)
#define MOST_SAMPLES  ((size_t)8192)
#define LEAST_SAMPLES ((size_t)512)

struct aligning {
    const struct fx8_stream_shape *shape;
    const struct fx8_block *block;
    int8_t *rows;
    size_t row_stride;
    size_t item_samples;
};

static void align_item(void *context, size_t item, size_t thread)
{
    (void)thread;
    const struct aligning *job = context;
    const struct fx8_stream_shape *shape = job->shape;
    const struct fx8_block *block = job->block;
    const size_t first = item * job->item_samples;
    const size_t rest = (size_t)block->n_samples - first;
    shape->operations->gather(
        shape->n_inputs, rest < job->item_samples ? rest : job->item_samples,
        shape->sample_size,
        block->samples + (ptrdiff_t)first * block->time_stride,
        block->input_offset, block->time_stride,
        job->rows + first * shape->sample_size, job->row_stride);
}

void fx8_align(const struct fx8_stream_shape *shape,
               const struct fx8_block *block, int8_t *rows, size_t row_stride)
{
    size_t n = ITEM_BYTES / (shape->n_inputs * shape->sample_size);
    n = n < LEAST_SAMPLES ? LEAST_SAMPLES : n;
    n = n > MOST_SAMPLES ? MOST_SAMPLES : n;
    struct aligning job = {shape, block, rows, row_stride, n};
    fx8_parallel_for(((size_t)block->n_samples + n - 1) / n,
                     shape->threads.count, shape->threads.pin, align_item,
                     &job);
}
