/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "config/base/shape.h"
#include "correlator/library/kept.h"

struct fx8_kept_block {
    struct fx8_kept_block *next;
    struct fx8_stream *stream; /* that gathered the samples and holds them */
    size_t bytes;
    ptrdiff_t *input_offset;
    struct fx8_run *missing;
    struct fx8_block block;
};

static void close_block(struct fx8_kept_block *kept)
{
    fx8_stream_close(&kept->stream);
    free(kept->input_offset);
    free(kept->missing);
    free(kept);
}

static void drop_first(struct fx8_kept *kept)
{
    struct fx8_kept_block *first = kept->first;
    kept->first = first->next;
    if (kept->first == NULL)
        kept->last = NULL;
    close_block(first);
}

void fx8_kept_clear(struct fx8_kept *kept)
{
    while (kept->first != NULL)
        drop_first(kept);
    kept->bytes = 0;
}

bool fx8_kept_is_over(const struct fx8_kept *kept)
{
    return kept->bytes > kept->limit;
}

/* A stream of single samples is what gathers a block's into rows. */
static enum fx8_status copy_block(struct fx8_kept_block *kept,
                                  const struct fx8_stream_shape *shape,
                                  const struct fx8_block *block, int64_t first,
                                  struct fx8_error *error)
{
    struct fx8_block read = *block;
    read.in_place = NULL;
    read.n_missing = 0;
    const struct fx8_array arrays[] = {
        {&kept->input_offset, shape->n_inputs, sizeof *kept->input_offset},
        {&kept->missing, block->n_missing, sizeof *kept->missing},
    };
    enum fx8_status status = fx8_allocate_arrays(
        arrays, sizeof arrays / sizeof *arrays, "samples", error);
    if (status == FX8_OK)
        status = fx8_stream_open(shape, first, &kept->stream, error);
    if (status == FX8_OK)
        status = fx8_stream_append(kept->stream, &read, error);
    if (status != FX8_OK)
        return status;
    const size_t stride = fx8_stream_row_stride(kept->stream);
    for (size_t i = 0; i < shape->n_inputs; i++)
        kept->input_offset[i] = (ptrdiff_t)(i * stride);
    for (size_t i = 0; i < block->n_missing; i++)
        kept->missing[i] = block->missing[i];
    kept->block = (struct fx8_block){
        .samples = fx8_stream_row(kept->stream, 0),
        .input_offset = kept->input_offset,
        .time_stride = (ptrdiff_t)shape->sample_size,
        .first_sample = first,
        .n_samples = (int64_t)shape->most_spectra,
        .missing = kept->missing,
        .n_missing = block->n_missing,
    };
    return FX8_OK;
}

enum fx8_status fx8_kept_add(struct fx8_kept *kept,
                             const struct fx8_block *block, int64_t first,
                             struct fx8_error *error)
{
    const int64_t n = block->first_sample + block->n_samples - first;
    if (n <= 0)
        return FX8_OK;
    struct fx8_stream_shape shape = kept->shape;
    shape.step = shape.window = 1;
    shape.most_spectra = (size_t)n;
    shape.has_two = shape.has_marker = false;
    const size_t bytes = fx8_stream_size(&shape);
    kept->bytes =
        bytes > SIZE_MAX - kept->bytes ? SIZE_MAX : kept->bytes + bytes;
    if (fx8_kept_is_over(kept)) {
        while (kept->first != NULL)
            drop_first(kept);
        return FX8_OK;
    }
    void *memory;
    enum fx8_status status = fx8_allocate(1, sizeof(struct fx8_kept_block),
                                          "samples", &memory, error);
    if (status != FX8_OK)
        return status;
    struct fx8_kept_block *added = memory;
    added->bytes = bytes;
    status = copy_block(added, &shape, block, first, error);
    if (status != FX8_OK) {
        close_block(added);
        return status;
    }
    if (kept->last == NULL)
        kept->first = added;
    else
        kept->last->next = added;
    kept->last = added;
    return FX8_OK;
}

static int64_t end_of(const struct fx8_kept_block *kept)
{
    return kept->block.first_sample + kept->block.n_samples;
}

const struct fx8_block *fx8_kept_at(const struct fx8_kept *kept, int64_t sample)
{
    const struct fx8_kept_block *at = kept->first;
    while (at != NULL && end_of(at) <= sample)
        at = at->next;
    return at == NULL ? NULL : &at->block;
}

void fx8_kept_drop(struct fx8_kept *kept, int64_t sample)
{
    while (kept->first != NULL && end_of(kept->first) <= sample) {
        kept->bytes -= kept->first->bytes;
        drop_first(kept);
    }
}
