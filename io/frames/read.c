/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read.c -- the samples of plain files of frames, straight into the caller's
 * buffer: a row of the buffer is a row of a stream, record by record.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/frames/frames_private.h"

static const struct fx8_frames_shape *shape_of(
    const struct fx8_frames_reader *reader)
{
    return &reader->files[0].header.shape;
}

/* --- selection ------------------------------------------------------------ */

static int compare_rows(const void *a, const void *b)
{
    const struct fx8_frames_row *x = a, *y = b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* The row that holds an input; its byte there. */
static struct fx8_frames_row row_of(const struct fx8_frames_shape *shape,
                                    const struct fx8_input_position *input,
                                    size_t *byte)
{
    const size_t band =
        shape->is_descending ? shape->n_bands - 1 - input->band : input->band;
    const size_t antenna = input->antenna % shape->n_antennas;
    const size_t at[3] = {antenna, input->polarization, band};
    const struct fx8_frames_step steps[3] = {shape->antenna,
                                             shape->polarization, shape->band};
    struct fx8_frames_row row = {
        input->antenna / shape->n_antennas * shape->n_streams, 0};
    *byte = 0;
    for (int axis = 0; axis < 3; axis++) {
        row.stream += at[axis] * steps[axis].stream;
        row.row += at[axis] * steps[axis].row;
        *byte += at[axis] * steps[axis].byte;
    }
    return row;
}

enum fx8_status fx8_frames_select(struct fx8_reader *base,
                                  const struct fx8_input_position *inputs,
                                  size_t n_inputs, struct fx8_error *error)
{
    struct fx8_frames_reader *reader = (struct fx8_frames_reader *)base;
    const struct fx8_frames_shape *shape = shape_of(reader);
    FX8_AUTO_FREE struct fx8_frames_row *rows = NULL;
    FX8_TRY(fx8_allocate(n_inputs, sizeof *rows, "a selection of inputs", &rows,
                         error));
    size_t byte;
    for (size_t i = 0; i < n_inputs; i++)
        rows[i] = row_of(shape, &inputs[i], &byte);
    qsort(rows, n_inputs, sizeof *rows, compare_rows);
    size_t n = 1;
    for (size_t i = 1; i < n_inputs; i++)
        if (compare_rows(&rows[i], &rows[n - 1]) != 0)
            rows[n++] = rows[i];
    for (size_t i = 0; i < n_inputs; i++) {
        const struct fx8_frames_row row = row_of(shape, &inputs[i], &byte);
        const struct fx8_frames_row *found =
            bsearch(&row, rows, n, sizeof *rows, compare_rows);
        base->places[i] =
            (struct fx8_input_place){(size_t)(found - rows), byte};
    }
    base->n_rows = n;
    base->sample_bytes = shape->record_bytes;
    base->chunk_samples = 1;
    struct fx8_frames_row *const before = reader->rows;
    reader->rows = rows;
    rows = before;
    return FX8_OK;
}

/* --- reading -------------------------------------------------------------- */

/* What a read reads: rows [n_rows] of one stream. */
struct task {
    struct fx8_frames_reader *reader;
    const struct fx8_frames_row *rows;
    size_t n_rows;
    int64_t first;    /* sample at the start of a row of the buffer */
    size_t row_bytes; /* of the buffer */
    int8_t *buffer;   /* of the first row */
};

/* Where a sample of a row goes. */
static int8_t *target(const struct task *task, size_t row, int64_t sample)
{
    return task->buffer + row * task->row_bytes +
           (size_t)(sample - task->first) * task->reader->base.sample_bytes;
}

static void put_zeros(const struct task *task, int64_t first, int64_t end)
{
    for (size_t i = 0; i < task->n_rows && first < end; i++)
        memset(target(task, i, first), 0,
               (size_t)(end - first) * task->reader->base.sample_bytes);
}

/* A frame that its header calls invalid. */
static enum fx8_status put_invalid(const struct task *task, size_t stream,
                                   int64_t first, int64_t end,
                                   struct fx8_error *error)
{
    struct fx8_frames_reader *reader = task->reader;
    const struct fx8_frames_shape *shape = shape_of(reader);
    put_zeros(task, first, end);
    struct fx8_missing gap = {
        first, end - first, 0,
        shape->n_streams > 1 ? (int32_t)(stream % shape->n_streams) : -1, -1};
    const size_t antenna = stream / shape->n_streams * shape->n_antennas;
    for (size_t i = 0; i < shape->n_antennas; i++) {
        gap.antenna = (int32_t)(antenna + i);
        FX8_TRY(fx8_missing_add(&reader->found, &reader->base.n_found, &gap,
                                error));
    }
    reader->base.found = reader->found;
    return FX8_OK;
}

/* Bytes that are the sample + 128 become the sample. */
static void remove_offset(int8_t *samples, size_t n)
{
    for (size_t i = 0; i < n; i++)
        samples[i] = (int8_t)(samples[i] ^ INT8_MIN);
}

/* Samples [from, to) of one frame, which begins with `sample`. */
static enum fx8_status read_frame(const struct task *task,
                                  const struct fx8_frames_run *run,
                                  int64_t sample, int64_t from, int64_t to,
                                  struct fx8_error *error)
{
    const struct fx8_frames_reader *reader = task->reader;
    const struct fx8_frames_shape *shape = shape_of(reader);
    const size_t header_bytes = shape->header_bytes;
    const int64_t bytes = (int64_t)shape->record_bytes;
    const int64_t start = run->offset + (sample - run->first_sample) /
                                            run->frame_samples * run->distance;
    uint8_t header[FX8_FRAMES_MOST_HEADER] = {0};
    bool is_valid = true;
    if (header_bytes > 0) {
        FX8_TRY(fx8_frames_bytes(reader, start - (int64_t)header_bytes,
                                 header_bytes, header, error));
        FX8_TRY(reader->format->judge(reader, run, sample, header, &is_valid,
                                      error));
    }
    if (!is_valid)
        return put_invalid(task, run->stream, from, to, error);
    for (size_t i = 0; i < task->n_rows; i++) {
        int8_t *samples = target(task, i, from);
        const size_t n = (size_t)(to - from) * shape->record_bytes;
        const int64_t row = (int64_t)task->rows[i].row * run->frame_samples;
        FX8_TRY(fx8_frames_bytes(reader, start + (row + from - sample) * bytes,
                                 n, samples, error));
        if (shape->is_offset)
            remove_offset(samples, n);
    }
    return FX8_OK;
}

static enum fx8_status read_run(const struct task *task,
                                const struct fx8_frames_run *run, int64_t from,
                                int64_t to, struct fx8_error *error)
{
    FX8_TRY(fx8_frames_open(task->reader, run->file, error));
    while (from < to) {
        const int64_t into = (from - run->first_sample) % run->frame_samples;
        const int64_t left = run->frame_samples - into;
        const int64_t end = left < to - from ? from + left : to;
        FX8_TRY(read_frame(task, run, from - into, from, end, error));
        from = end;
    }
    return FX8_OK;
}

/* The first run of a stream that ends after a sample, or one behind it. */
static size_t find_run(const struct fx8_frames_reader *reader, size_t stream,
                       int64_t sample)
{
    size_t low = 0, high = reader->n_runs;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct fx8_frames_run *run = &reader->runs[middle];
        if (run->stream < stream ||
            (run->stream == stream &&
             run->first_sample + run->n_samples <= sample))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum fx8_status read_stream(const struct task *task, int64_t n_samples,
                                   struct fx8_error *error)
{
    const struct fx8_frames_reader *reader = task->reader;
    const size_t stream = task->rows[0].stream;
    const int64_t end = task->first + n_samples;
    int64_t sample = task->first; /* end of the filled part of the rows */
    for (size_t i = find_run(reader, stream, sample);
         i < reader->n_runs && reader->runs[i].stream == stream &&
         reader->runs[i].first_sample < end;
         i++) {
        const struct fx8_frames_run *run = &reader->runs[i];
        const int64_t run_end = run->first_sample + run->n_samples;
        const int64_t from =
            run->first_sample > sample ? run->first_sample : sample;
        const int64_t to = run_end < end ? run_end : end;
        put_zeros(task, sample, from);
        FX8_TRY(read_run(task, run, from, to, error));
        sample = to;
    }
    put_zeros(task, sample, end);
    return FX8_OK;
}

enum fx8_status fx8_frames_read(struct fx8_reader *base, int64_t first,
                                int64_t n_samples, int64_t row_samples,
                                int8_t *buffer, struct fx8_error *error)
{
    struct fx8_frames_reader *reader = (struct fx8_frames_reader *)base;
    const size_t row_bytes = (size_t)row_samples * base->sample_bytes;
    for (size_t i = 0, end; i < base->n_rows; i = end) {
        for (end = i; end < base->n_rows &&
                      reader->rows[end].stream == reader->rows[i].stream;)
            end++;
        const struct task task = {.reader = reader,
                                  .rows = &reader->rows[i],
                                  .n_rows = end - i,
                                  .first = first,
                                  .row_bytes = row_bytes,
                                  .buffer = buffer + i * row_bytes};
        FX8_TRY(read_stream(&task, n_samples, error));
    }
    return FX8_OK;
}

void fx8_frames_close(struct fx8_reader *base)
{
    struct fx8_frames_reader *reader = (struct fx8_frames_reader *)base;
    if (reader->files != NULL && reader->descriptor >= 0)
        close(reader->descriptor);
    free(reader->files);
    free(reader->runs);
    free(reader->rows);
    free(reader->found);
}
