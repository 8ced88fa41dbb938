/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digital_rf_reader.c -- recordings of Digital RF (data/README.md): a folder of
 * channels, each with one or more sub-channels, 8 or 16 bits.
 *
 * open() reads file names and, for channels that omit gaps from their files,
 * the indices; read() finds all other gaps.  Absolute indices count from the
 * epoch, samples of the recording from `origin`.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/digital_rf/digital_rf_reader.h"
#include "io/reader_formats.h"

/* Most files open at a time. */
#define MAX_OPEN 256

static bool drf_probe(const struct fx8_h5_place *root)
{
    FX8_AUTO(fx8_text_list_clear) struct fx8_text_list channels = {0};
    return fx8_drf_find_channels(root->path, &channels, NULL) == FX8_OK &&
           channels.count > 0;
}

/* --- a walk along a channel -------------------------------------------- */

/* Where a walk is; absolute indices.  `piece` is in reader->rows, with a few
 * rows on either side that give the length of a run of fill values there. */
struct walk {
    struct fx8_drf_reader *reader;
    struct fx8_drf_channel *channel;
    int64_t first, end; /* samples still to come */
    int64_t n_rows;     /* most rows of a piece */
    struct fx8_drf_piece piece;
    int64_t before, after; /* rows on either side */
    size_t next_run;       /* row of its start */
};

/* Samples [first, first + n): rows, or NULL in a gap. */
struct run {
    int64_t first;
    int64_t n;
    const char *rows;
};

/* Read the piece of the walk. */
static enum fx8_status read_piece(struct walk *walk, struct fx8_error *error)
{
    const struct fx8_drf_piece *piece = &walk->piece;
    const int64_t margin =
        walk->channel->is_continuous
            ? (int64_t)fx8_drf_shortest_fill(fx8_drf_row_bytes(walk->channel)) -
                  1
            : 0;
    const int64_t ahead = piece->row - piece->least_row;
    const int64_t left = piece->rows_end - (piece->row + piece->n);
    walk->before = ahead < margin ? ahead : margin;
    walk->after = left < margin ? left : margin;
    walk->next_run = 0;
    return fx8_drf_read_rows(
        walk->channel, walk->reader->base.n_threads, piece->row - walk->before,
        walk->before + piece->n + walk->after, walk->reader->rows, error);
}

/* The next samples of the piece. */
static void take_run(struct walk *walk, struct run *run)
{
    const struct fx8_drf_piece *piece = &walk->piece;
    const struct fx8_drf_channel *channel = walk->channel;
    const size_t row_bytes = fx8_drf_row_bytes(channel);
    const int64_t n_rows = walk->before + piece->n + walk->after;
    const int64_t from = walk->before + walk->first - piece->first;
    const int64_t end = walk->before + piece->n;
    struct fx8_drf_rows rows = {0, (size_t)n_rows, false};
    do {
        if (channel->is_continuous)
            rows = fx8_drf_next_rows(
                walk->reader->rows, (size_t)n_rows,
                row_bytes / channel->part_bytes, channel->part_bytes,
                walk->next_run, walk->before == piece->row - piece->least_row,
                walk->after == piece->rows_end - (piece->row + piece->n));
        walk->next_run = rows.first + rows.n;
    } while ((int64_t)walk->next_run <= from);
    const int64_t stop =
        (int64_t)walk->next_run < end ? (int64_t)walk->next_run : end;
    *run = (struct run){walk->first, stop - from, NULL};
    if (!rows.is_fill)
        run->rows = (const char *)walk->reader->rows + (size_t)from * row_bytes;
}

/* The next samples of the walk; fill values are gaps. */
static enum fx8_status next_run(struct walk *walk, struct run *run,
                                struct fx8_error *error)
{
    struct fx8_drf_piece *piece = &walk->piece;
    if (walk->first >= piece->first + piece->n) {
        FX8_TRY(fx8_drf_next(walk->channel, walk->first, walk->end, false,
                             piece, error));
        piece->n = piece->n < walk->n_rows ? piece->n : walk->n_rows;
        if (piece->n > 0)
            FX8_TRY(read_piece(walk, error));
        else
            piece->first = walk->end;
    }
    if (walk->first < piece->first)
        *run = (struct run){walk->first, piece->first - walk->first, NULL};
    else
        take_run(walk, run);
    walk->first += run->n;
    return FX8_OK;
}

/* --- levels ------------------------------------------------------------ */

/* Choose the shifts of a channel's inputs from the first valid samples to be
 * processed.
 */
static enum fx8_status measure(struct fx8_drf_reader *reader, size_t number,
                               struct fx8_error *error)
{
    struct fx8_drf_channel *channel = &reader->channels[number];
    int *shifts = reader->shifts + reader->first_input[number];
    if (shifts[0] >= 0)
        return FX8_OK;
    FX8_AUTO_FREE uint32_t *histograms = NULL;
    FX8_TRY(fx8_allocate(channel->n_subchannels, 32769 * sizeof *histograms,
                         "levels of a recording", &histograms, error));
    const size_t n_parts = reader->sample_bytes;
    const size_t n_numbers = channel->n_subchannels * n_parts;
    const int64_t most = fx8_drf_rows_at_once(channel);
    struct walk walk = {
        .reader = reader,
        .channel = channel,
        .first = reader->from,
        .end = channel->end,
        .n_rows = most < FX8_DRF_LEVEL_SAMPLES ? most : FX8_DRF_LEVEL_SAMPLES};
    for (int64_t left = FX8_DRF_LEVEL_SAMPLES;
         left > 0 && walk.first < walk.end;) {
        struct run run;
        FX8_TRY(next_run(&walk, &run, error));
        if (run.rows == NULL)
            continue;
        const int64_t n = run.n < left ? run.n : left;
        for (size_t s = 0; s < channel->n_subchannels; s++)
            fx8_drf_count_levels((const int16_t *)(const void *)run.rows,
                                 (size_t)n, n_numbers, s * n_parts, n_parts,
                                 histograms + s * 32769);
        left -= n;
    }
    for (size_t s = 0; s < channel->n_subchannels; s++)
        shifts[s] = fx8_drf_choose_shift(histograms + s * 32769);
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
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "a selection of inputs", error));
    for (size_t i = 0; i < n_inputs; i++) {
        const size_t input =
            inputs[i].antenna * reader->base.observation.n_polarizations +
            inputs[i].polarization;
        size_t channel = 0;
        while (input >= reader->first_input[channel + 1])
            channel++;
        wanted[i] = (struct fx8_drf_wanted){
            channel, input - reader->first_input[channel], i, inputs[i]};
        base->places[i] = (struct fx8_input_place){i, 0};
    }
    qsort(wanted, n_inputs, sizeof *wanted, compare_wanted);
    free(reader->wanted);
    free(reader->gains);
    reader->wanted = wanted;
    reader->gains = gains;
    reader->n_wanted = n_inputs;
    base->input_gain = NULL;
    base->n_rows = n_inputs;
    base->sample_bytes = reader->sample_bytes;
    base->chunk_samples = 1;
    return FX8_OK;
}

/* --- reading ----------------------------------------------------------- */

/* Convert a run of one input to `samples`; zeros in a gap. */
static enum fx8_status put_run(struct fx8_drf_reader *reader,
                               const struct fx8_drf_channel *channel,
                               const struct run *run,
                               const struct fx8_drf_wanted *wanted,
                               int8_t *samples, struct fx8_error *error)
{
    const size_t n_parts = reader->sample_bytes;
    const size_t input =
        reader->first_input[wanted->channel] + wanted->subchannel;
    if (run->rows != NULL) {
        reader->base.n_clamped += fx8_drf_convert(
            run->rows, (size_t)run->n, channel->n_subchannels * n_parts,
            wanted->subchannel * n_parts, n_parts, channel->part_bytes,
            reader->shifts[input], samples);
        return FX8_OK;
    }
    memset(samples, 0, (size_t)run->n * n_parts);
    const struct fx8_missing gap = {run->first - reader->origin, run->n,
                                    (int32_t)wanted->at.antenna,
                                    (int32_t)wanted->at.polarization, -1};
    FX8_TRY(
        fx8_missing_add(&reader->found, &reader->base.n_found, &gap, error));
    reader->base.found = reader->found;
    return FX8_OK;
}

/* Read inputs wanted [n_wanted] of one channel into their rows. */
static enum fx8_status read_channel(struct fx8_drf_reader *reader,
                                    const struct fx8_drf_wanted *wanted,
                                    size_t n_wanted, int64_t first,
                                    int64_t n_samples, int64_t row_samples,
                                    int8_t *buffer, struct fx8_error *error)
{
    struct fx8_drf_channel *channel = &reader->channels[wanted->channel];
    struct walk walk = {.reader = reader,
                        .channel = channel,
                        .first = first,
                        .end = first + n_samples,
                        .n_rows = fx8_drf_rows_at_once(channel)};
    while (walk.first < walk.end) {
        struct run run;
        FX8_TRY(next_run(&walk, &run, error));
        for (size_t i = 0; i < n_wanted; i++) {
            const size_t at = wanted[i].row * (size_t)row_samples +
                              (size_t)(run.first - first);
            FX8_TRY(put_run(reader, channel, &run, &wanted[i],
                            buffer + at * reader->sample_bytes, error));
        }
    }
    if (reader->n_channels > MAX_OPEN)
        fx8_drf_close_file(channel);
    return FX8_OK;
}

static enum fx8_status drf_read(struct fx8_reader *base, int64_t first,
                                int64_t n_samples, int64_t row_samples,
                                int8_t *buffer, struct fx8_error *error)
{
    struct fx8_drf_reader *reader = (struct fx8_drf_reader *)base;
    const struct fx8_drf_wanted *wanted = reader->wanted;
    FX8_TRY(drf_measure(base, error));
    for (size_t i = 0, end; i < reader->n_wanted; i = end) {
        for (end = i; end < reader->n_wanted &&
                      wanted[end].channel == wanted[i].channel;)
            end++;
        FX8_TRY(read_channel(reader, &wanted[i], end - i,
                             reader->origin + first, n_samples, row_samples,
                             buffer, error));
    }
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

const struct fx8_reader_format fx8_reader_digital_rf = {
    .name = "digital_rf",
    .format = FX8_FORMAT_DIGITAL_RF,
    .samples = FX8_DRF_DATA,
    .size = sizeof(struct fx8_drf_reader),
    .is_folder = true,
    .single = "the folder that holds the channels of a recording of format "
              "digital_rf",
    .probe = drf_probe,
    .load = fx8_drf_load,
    .select = drf_select,
    .measure = drf_measure,
    .read = drf_read,
    .close = drf_close,
};
