/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digital_rf_reader.c -- recordings of Digital RF (data/README.md): a folder of
 * channels, each with one or more sub-channels, 8 or 16 bits.
 *
 * open() reads file names and, for channels that omit gaps from their files,
 * the indices; read() finds all other gaps.  Absolute indices count from the
 * epoch, samples of the recording from `origin`.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "io/digital_rf/load.h"
#include "io/digital_rf/digital_rf_reader.h"
#include "io/reader_formats.h"

/* Most files open at a time. */
#define MAX_OPEN 256

static bool drf_probe(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return false;
    char **channels;
    size_t n;
    const bool found =
        fx8_drf_find_channels(path, &channels, &n, NULL) == FX8_OK && n > 0;
    fx8_drf_free_paths(channels, n);
    return found;
}

/* --- a walk along a channel -------------------------------------------- */

/* Callbacks of a walk, in time order; absolute indices. */
struct visitor {
    enum fx8_status (*take)(struct visitor *visitor, int64_t first,
                            const void *rows, size_t n_rows);
    enum fx8_status (*skip)(struct visitor *visitor, int64_t first, int64_t n);
    struct fx8_drf_reader *reader;
    size_t channel;
    bool is_done;
    struct fx8_error *error;
};

static enum fx8_status give_run(struct visitor *visitor, int64_t first,
                                const char *rows, size_t n, bool is_fill)
{
    return is_fill ? visitor->skip(visitor, first, (int64_t)n)
                   : visitor->take(visitor, first, rows, n);
}

/* Visit the rows of one piece; fill rows are gaps.  A few extra rows on either
 * side give the length of a run at the edge. */
static enum fx8_status visit_rows(struct visitor *visitor,
                                  const struct fx8_drf_piece *piece)
{
    struct fx8_drf_reader *reader = visitor->reader;
    struct fx8_drf_channel *channel = &reader->channels[visitor->channel];
    const size_t row_bytes = fx8_drf_row_bytes(channel);
    const int64_t margin = channel->is_continuous
                               ? (int64_t)fx8_drf_shortest_fill(row_bytes) - 1
                               : 0;
    const int64_t ahead = piece->row - piece->least_row;
    const int64_t left = piece->rows_end - (piece->row + piece->n);
    const size_t before = (size_t)(ahead < margin ? ahead : margin);
    const size_t after = (size_t)(left < margin ? left : margin);
    const size_t end = before + (size_t)piece->n;
    FX8_TRY(fx8_drf_read_rows(
        channel, &reader->base.workers, piece->row - (int64_t)before,
        (int64_t)(end + after), reader->rows, visitor->error));
    struct fx8_drf_rows run = {0, end + after, false};
    for (size_t from = before; from < end;) {
        if (channel->is_continuous)
            run = fx8_drf_next_rows(
                reader->rows, end + after, row_bytes / channel->part_bytes,
                channel->part_bytes, run.first, (int64_t)before == ahead,
                (int64_t)after == left);
        const size_t run_end = run.first + run.n;
        const size_t stop = run_end < end ? run_end : end;
        if (stop > from) {
            FX8_TRY(give_run(visitor, piece->first + (int64_t)(from - before),
                             (const char *)reader->rows + from * row_bytes,
                             stop - from, run.is_fill));
            from = stop;
        }
        run.first = run_end;
    }
    return FX8_OK;
}

/* Visit samples [first, end) of a channel, `n_rows` at a time. */
static enum fx8_status visit(struct visitor *visitor, int64_t first,
                             int64_t end, int64_t n_rows)
{
    struct fx8_drf_channel *channel =
        &visitor->reader->channels[visitor->channel];
    while (first < end && !visitor->is_done) {
        struct fx8_drf_piece piece;
        FX8_TRY(fx8_drf_next(channel, first, end, &piece, visitor->error));
        const int64_t recorded = piece.n > 0 ? piece.first : end;
        if (recorded > first)
            FX8_TRY(visitor->skip(visitor, first, recorded - first));
        if (piece.n > n_rows)
            piece.n = n_rows;
        if (piece.n > 0)
            FX8_TRY(visit_rows(visitor, &piece));
        first = recorded + piece.n;
    }
    return FX8_OK;
}

/* --- levels ------------------------------------------------------------ */

/* Levels of the sub-channels of a channel. */
struct level_visitor {
    struct visitor base;  /* first */
    uint32_t *histograms; /* [subchannel][32769] */
    size_t n_left;        /* samples still needed */
};

static enum fx8_status take_levels(struct visitor *base, int64_t first,
                                   const void *rows, size_t n_rows)
{
    (void)first;
    struct level_visitor *visitor = (struct level_visitor *)base;
    const struct fx8_drf_channel *channel =
        &base->reader->channels[base->channel];
    const size_t n_parts = base->reader->sample_bytes;
    const size_t n = n_rows < visitor->n_left ? n_rows : visitor->n_left;
    for (size_t s = 0; s < channel->n_subchannels; s++)
        fx8_drf_count_levels(rows, n, channel->n_subchannels * n_parts,
                             s * n_parts, n_parts,
                             visitor->histograms + s * 32769);
    visitor->n_left -= n;
    base->is_done = visitor->n_left == 0;
    return FX8_OK;
}

static enum fx8_status skip_levels(struct visitor *base, int64_t first,
                                   int64_t n)
{
    (void)base;
    (void)first;
    (void)n;
    return FX8_OK;
}

/* Choose the shifts of a channel's inputs from the first valid samples to be
 * processed.
 */
static enum fx8_status measure(struct fx8_drf_reader *reader, size_t number,
                               struct fx8_error *error)
{
    const struct fx8_drf_channel *channel = &reader->channels[number];
    int *shifts = reader->shifts + reader->first_input[number];
    if (shifts[0] >= 0)
        return FX8_OK;
    FX8_AUTO_FREE void *memory = NULL;
    FX8_TRY(fx8_allocate(channel->n_subchannels, 32769 * sizeof(uint32_t),
                         "levels of a recording", &memory, error));
    struct level_visitor visitor = {
        .base = {.take = take_levels,
                 .skip = skip_levels,
                 .reader = reader,
                 .channel = number,
                 .error = error},
        .histograms = memory,
        .n_left = FX8_DRF_LEVEL_SAMPLES,
    };
    const int64_t most = fx8_drf_rows_at_once(channel);
    FX8_TRY(visit(&visitor.base, reader->from, channel->end,
                  most < FX8_DRF_LEVEL_SAMPLES ? most : FX8_DRF_LEVEL_SAMPLES));
    for (size_t s = 0; s < channel->n_subchannels; s++)
        shifts[s] = fx8_drf_choose_shift(visitor.histograms + s * 32769);
    return FX8_OK;
}

/* Set the gains of the selected inputs, once per selection. */
static enum fx8_status drf_measure(struct fx8_reader *base,
                                   struct fx8_error *error)
{
    struct fx8_drf_reader *reader = (struct fx8_drf_reader *)base;
    if (!reader->base.is_16bit || reader->base.input_gain != NULL)
        return FX8_OK;
    for (size_t i = 0; i < reader->n_wanted; i++) {
        const struct fx8_drf_wanted *wanted = &reader->wanted[i];
        FX8_TRY(measure(reader, wanted->channel, error));
        const size_t input =
            reader->first_input[wanted->channel] + wanted->subchannel;
        reader->gains[wanted->row] = ldexp(1.0, -reader->shifts[input]);
    }
    reader->base.input_gain = reader->gains;
    return FX8_OK;
}

/* --- selection --------------------------------------------------------- */

static int compare_wanted(const void *a, const void *b)
{
    const struct fx8_drf_wanted *wanted_a = a;
    const struct fx8_drf_wanted *wanted_b = b;
    if (wanted_a->channel != wanted_b->channel)
        return wanted_a->channel < wanted_b->channel ? -1 : 1;
    return wanted_a->row < wanted_b->row ? -1 : wanted_a->row > wanted_b->row;
}

static enum fx8_status drf_select(struct fx8_reader *base,
                                  const struct fx8_input_position *inputs,
                                  size_t n_inputs, struct fx8_error *error)
{
    struct fx8_drf_reader *reader = (struct fx8_drf_reader *)base;
    struct fx8_drf_wanted *wanted = NULL;
    double *gains = NULL;
    const struct fx8_array arrays[] = {
        {&wanted, n_inputs, sizeof *wanted},
        {&gains, n_inputs, sizeof *gains},
    };
    const enum fx8_status status =
        fx8_allocate_arrays(arrays, 2, "a selection of inputs", error);
    if (status != FX8_OK) {
        fx8_free_arrays(arrays, 2);
        return status;
    }
    for (size_t i = 0; i < n_inputs; i++) {
        const size_t input =
            inputs[i].antenna * reader->base.observation.n_polarizations +
            inputs[i].polarization;
        size_t channel = 0;
        while (input >= reader->first_input[channel + 1])
            channel++;
        wanted[i] = (struct fx8_drf_wanted){
            channel, input - reader->first_input[channel], i, inputs[i]};
    }
    qsort(wanted, n_inputs, sizeof *wanted, compare_wanted);
    free(reader->wanted);
    free(reader->gains);
    reader->wanted = wanted;
    reader->gains = gains;
    reader->n_wanted = n_inputs;
    base->input_gain = NULL;
    base->buffer_bytes = fx8_product(n_inputs, reader->sample_bytes, 1, 1);
    base->chunk_samples = 1;
    return FX8_OK;
}

/* --- reading ----------------------------------------------------------- */

/* One read, [input][time]. */
struct read_visitor {
    struct visitor base;                 /* first */
    const struct fx8_drf_wanted *wanted; /* [n_wanted] of the channel */
    size_t n_wanted;
    int8_t *buffer;
    int64_t first; /* absolute */
    int64_t row_samples;
};

static int8_t *place(const struct read_visitor *visitor,
                     const struct fx8_drf_wanted *wanted, int64_t first)
{
    const size_t at = wanted->row * (size_t)visitor->row_samples +
                      (size_t)(first - visitor->first);
    return visitor->buffer + at * visitor->base.reader->sample_bytes;
}

static enum fx8_status take_samples(struct visitor *base, int64_t first,
                                    const void *rows, size_t n_rows)
{
    struct read_visitor *visitor = (struct read_visitor *)base;
    struct fx8_drf_reader *reader = base->reader;
    const struct fx8_drf_channel *channel = &reader->channels[base->channel];
    const size_t n_parts = reader->sample_bytes;
    for (size_t i = 0; i < visitor->n_wanted; i++) {
        const struct fx8_drf_wanted *wanted = &visitor->wanted[i];
        const size_t input =
            reader->first_input[wanted->channel] + wanted->subchannel;
        reader->base.n_clamped += fx8_drf_convert(
            rows, n_rows, channel->n_subchannels * n_parts,
            wanted->subchannel * n_parts, n_parts, channel->part_bytes,
            reader->shifts[input], place(visitor, wanted, first));
    }
    return FX8_OK;
}

static enum fx8_status skip_samples(struct visitor *base, int64_t first,
                                    int64_t n)
{
    struct read_visitor *visitor = (struct read_visitor *)base;
    struct fx8_drf_reader *reader = base->reader;
    for (size_t i = 0; i < visitor->n_wanted; i++) {
        const struct fx8_drf_wanted *wanted = &visitor->wanted[i];
        memset(place(visitor, wanted, first), 0,
               (size_t)n * reader->sample_bytes);
        const struct fx8_missing gap = {first - reader->origin, n,
                                        (int32_t)wanted->at.antenna,
                                        (int32_t)wanted->at.polarization, -1};
        FX8_TRY(fx8_missing_add(&reader->found, &reader->base.n_found, &gap,
                                base->error));
    }
    reader->base.found = reader->found;
    return FX8_OK;
}

/* Read every channel with a selected input. */
static enum fx8_status read_channels(struct fx8_drf_reader *reader,
                                     int64_t first, int64_t n_samples,
                                     int64_t row_samples, int8_t *buffer,
                                     struct fx8_error *error)
{
    enum fx8_status status = FX8_OK;
    for (size_t i = 0; i < reader->n_wanted && status == FX8_OK;) {
        const size_t number = reader->wanted[i].channel;
        size_t end = i;
        while (end < reader->n_wanted && reader->wanted[end].channel == number)
            end++;
        struct read_visitor visitor = {
            .base = {.take = take_samples,
                     .skip = skip_samples,
                     .reader = reader,
                     .channel = number,
                     .error = error},
            .wanted = &reader->wanted[i],
            .n_wanted = end - i,
            .buffer = buffer,
            .first = first,
            .row_samples = row_samples,
        };
        struct fx8_drf_channel *channel = &reader->channels[number];
        status = visit(&visitor.base, first, first + n_samples,
                       fx8_drf_rows_at_once(channel));
        if (reader->n_channels > MAX_OPEN)
            fx8_drf_close_file(channel);
        i = end;
    }
    return status;
}

static enum fx8_status drf_read(struct fx8_reader *base, int64_t first,
                                int64_t n_samples, int64_t row_samples,
                                int8_t *buffer,
                                struct fx8_sample_layout *layout,
                                struct fx8_error *error)
{
    struct fx8_drf_reader *reader = (struct fx8_drf_reader *)base;
    FX8_TRY(drf_measure(base, error));
    FX8_TRY(read_channels(reader, reader->origin + first, n_samples,
                          row_samples, buffer, error));
    layout->time_stride = (ptrdiff_t)reader->sample_bytes;
    for (size_t i = 0; i < reader->n_wanted; i++)
        layout->input_offset[i] =
            (ptrdiff_t)(i * (size_t)row_samples * reader->sample_bytes);
    return FX8_OK;
}

/* --- opening ----------------------------------------------------------- */

static void drf_close(struct fx8_reader *base)
{
    struct fx8_drf_reader *reader = (struct fx8_drf_reader *)base;
    for (size_t i = 0; i < reader->n_channels; i++)
        fx8_drf_close(&reader->channels[i]);
    free(reader->channels);
    free(reader->first_input);
    free(reader->shifts);
    free(reader->wanted);
    free(reader->gains);
    free(reader->found);
    free(reader->rows);
}

static enum fx8_status drf_load(struct fx8_reader *base,
                                const char *const *paths, size_t n_paths,
                                const struct fx8_settings *settings,
                                struct fx8_error *error)
{
    (void)paths, (void)n_paths;
    return fx8_drf_load((struct fx8_drf_reader *)base, settings, error);
}

const struct fx8_reader_format fx8_reader_digital_rf = {
    .name = "digital_rf",
    .format = FX8_FORMAT_DIGITAL_RF,
    .samples = FX8_DRF_DATA,
    .size = sizeof(struct fx8_drf_reader),
    .single = "the folder that holds the channels of a recording of format "
              "digital_rf",
    .probe = drf_probe,
    .load = drf_load,
    .select = drf_select,
    .measure = drf_measure,
    .read = drf_read,
    .close = drf_close,
};
