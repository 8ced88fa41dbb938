/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * native_reader.c -- recordings in fx8's own format (data/README.md).
 */
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/native/format.h"
#include "io/native/native_reader.h"

static bool native_probe(const struct fx8_h5_place *root)
{
    return fx8_h5_has_format(root->object, FX8_NATIVE_FORMAT);
}

static enum fx8_status native_select(struct fx8_reader *base,
                                     const struct fx8_input_position *inputs,
                                     size_t n_inputs, struct fx8_error *error)
{
    struct fx8_native_reader *reader = (struct fx8_native_reader *)base;
    const size_t sample_bytes = fx8_native_sample_bytes(&reader->files[0]);
    FX8_TRY(fx8_selection_replace(&reader->files[0].order, inputs, n_inputs,
                                  sample_bytes, &reader->selection,
                                  base->places, error));
    base->n_rows = reader->selection.n_rows;
    base->sample_bytes = reader->selection.n_after * sample_bytes;
    return FX8_OK;
}

/* Close the file that is open, if another one is needed, and open that. */
static enum fx8_status use_file(struct fx8_native_reader *reader,
                                struct fx8_native_file *file,
                                struct fx8_error *error)
{
    if (reader->open == file)
        return FX8_OK;
    if (reader->open != NULL)
        fx8_native_file_close(reader->open);
    reader->open = file;
    const enum fx8_status status = fx8_native_file_open(file, error);
    if (status != FX8_OK) {
        fx8_native_file_close(file);
        reader->open = NULL;
    }
    return status;
}

/* Read samples [first, first + n) of one rectangle of the open file into its
 * buffer rows. */
static enum fx8_status read_rectangle(const struct fx8_native_reader *reader,
                                      const struct fx8_rectangle *rectangle,
                                      int64_t first, int64_t n_samples,
                                      int64_t row_samples, int8_t *buffer,
                                      struct fx8_error *error)
{
    const struct fx8_selection *selection = &reader->selection;
    const struct fx8_axis_order *order = &reader->open->order;
    hsize_t start[3] = {0, 0, 0};
    hsize_t count[3], memory[3];
    for (int axis = 0; axis < 3; axis++)
        count[order->place[axis]] = order->extent[axis];
    for (size_t k = 0; k < selection->n_before; k++) {
        const int place = order->place[selection->before[k]];
        start[place] = rectangle->first[k];
        count[place] = rectangle->n[k];
    }
    const int time = order->place[FX8_AXIS_TIME];
    start[time] = (hsize_t)first;
    count[time] = (hsize_t)n_samples;
    memcpy(memory, count, sizeof memory);
    memory[time] = (hsize_t)row_samples;
    const size_t row_bytes = (size_t)row_samples * reader->base.sample_bytes;
    const struct fx8_h5_part part = {start, count, memory};
    return fx8_h5_dataset_read(&reader->open->voltages, reader->base.n_threads,
                               &part, buffer + rectangle->row * row_bytes,
                               error);
}

/* Clear samples [first, first + n) of every row. */
static void clear_samples(const struct fx8_native_reader *reader, int64_t first,
                          int64_t n, int64_t row_samples, int8_t *buffer)
{
    const size_t bytes = reader->base.sample_bytes;
    for (size_t row = 0; row < reader->base.n_rows && n > 0; row++)
        memset(buffer + (row * (size_t)row_samples + (size_t)first) * bytes, 0,
               (size_t)n * bytes);
}

/* The first file that ends after a sample. */
static size_t find_file(const struct fx8_native_reader *reader, int64_t sample)
{
    size_t i = 0;
    while (reader->files[i].first_sample + reader->files[i].n_samples <= sample)
        i++;
    return i;
}

/* Read samples [first, first + n) of a file. */
static enum fx8_status read_file(struct fx8_native_reader *reader,
                                 struct fx8_native_file *file, int64_t first,
                                 int64_t n_samples, int64_t row_samples,
                                 int8_t *buffer, struct fx8_error *error)
{
    const struct fx8_selection *selection = &reader->selection;
    FX8_TRY(use_file(reader, file, error));
    for (size_t i = 0; i < selection->n_rectangles; i++)
        FX8_TRY(read_rectangle(reader, &selection->rectangles[i], first,
                               n_samples, row_samples, buffer, error));
    return FX8_OK;
}

static enum fx8_status native_read(struct fx8_reader *base, int64_t first,
                                   int64_t n_samples, int64_t row_samples,
                                   int8_t *buffer, struct fx8_error *error)
{
    struct fx8_native_reader *reader = (struct fx8_native_reader *)base;
    const int64_t end = first + n_samples;
    int64_t sample = first; /* end of the filled part of the rows */
    for (size_t i = find_file(reader, first); sample < end; i++) {
        struct fx8_native_file *file = &reader->files[i];
        const int64_t begin = file->first_sample;
        const int64_t from = begin > sample ? begin : sample;
        const int64_t to =
            begin + file->n_samples < end ? begin + file->n_samples : end;
        clear_samples(reader, sample - first,
                      (from < end ? from : end) - sample, row_samples, buffer);
        if (from < to)
            FX8_TRY(read_file(
                reader, file, from - begin, to - from, row_samples,
                buffer + (size_t)(from - first) * base->sample_bytes, error));
        sample = to;
    }
    return FX8_OK;
}

static void native_close(struct fx8_reader *base)
{
    struct fx8_native_reader *reader = (struct fx8_native_reader *)base;
    for (size_t i = 0; i < reader->n_files; i++) {
        fx8_native_file_close(&reader->files[i]);
        free(reader->files[i].missing);
    }
    free(reader->files);
    free(reader->selection.rectangles);
}

/* Load a file and compare it with the first one.  A single file stays open. */
static enum fx8_status load_file(struct fx8_native_reader *reader, size_t index,
                                 struct fx8_error *error)
{
    struct fx8_reader *base = &reader->base;
    struct fx8_native_file *file = &reader->files[index];
    FX8_AUTO(fx8_observation_clear)
    struct fx8_observation other = fx8_observation_unknown();
    FX8_TRY(fx8_native_file_load(file, index == 0 ? &base->observation : &other,
                                 error));
    fx8_reader_note_slow(base, file->voltages.chunks);
    const int64_t good = fx8_native_file_good_samples(file);
    base->chunk_samples =
        good > base->chunk_samples ? good : base->chunk_samples;
    if (reader->n_files == 1)
        reader->open = file;
    else
        fx8_native_file_close(file);
    return index == 0 ? FX8_OK
                      : fx8_native_agree(file, &other, &reader->files[0],
                                         &base->observation, error);
}

static enum fx8_status native_load(struct fx8_reader *base,
                                   const struct fx8_settings *settings,
                                   struct fx8_error *error)
{
    struct fx8_native_reader *reader = (struct fx8_native_reader *)base;
    const struct fx8_rate given = settings->observation.sample_rate;
    FX8_TRY(fx8_allocate(base->paths.count, sizeof *reader->files,
                         "a recording's files", &reader->files, error));
    reader->n_files = base->paths.count;
    for (size_t i = 0; i < reader->n_files; i++) {
        reader->files[i].path = base->paths.items[i];
        FX8_TRY(load_file(reader, i, error));
    }
    return fx8_native_join(
        reader, given.numerator_hz > 0 ? given : base->observation.sample_rate,
        error);
}

const struct fx8_reader_format fx8_reader_fx8 = {
    .name = "fx8",
    .format = FX8_FORMAT_FX8,
    .samples = FX8_NATIVE_VOLTAGES,
    .size = sizeof(struct fx8_native_reader),
    .probe = native_probe,
    .load = native_load,
    .select = native_select,
    .read = native_read,
    .close = native_close,
};
