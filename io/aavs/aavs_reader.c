/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aavs_reader.c -- recordings of the SKA-Low/AAVS acquisition (data/README.md):
 * channel files of many tiles and parts as one recording.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/aavs/aavs_reader.h"
#include "io/h5/h5.h"
#include "io/selection.h"

/* Most files open at once: a station of 16 tiles in four parts. */
#define MOST_OPEN 64

static bool aavs_probe(const struct fx8_h5_place *root)
{
    return fx8_h5_has(root, FX8_AAVS_ROOT) && fx8_h5_has(root, "chan_") &&
           fx8_h5_has(root, "sample_timestamps");
}

/* --- files ---------------------------------------------------------------- */

/* Close the least recently used file, to make room for another. */
static void close_oldest(struct fx8_aavs_reader *reader)
{
    if (reader->n_open < MOST_OPEN)
        return;
    struct fx8_aavs_file *oldest = NULL;
    for (size_t i = 0; i < reader->n_files; i++) {
        struct fx8_aavs_file *file = &reader->files[i];
        if (file->file > 0 &&
            (oldest == NULL || file->last_use < oldest->last_use))
            oldest = file;
    }
    if (oldest != NULL) {
        fx8_aavs_file_close(oldest);
        reader->n_open--;
    }
}

/* Open a file if it is not open, and mark it as used. */
static enum fx8_status use_file(struct fx8_aavs_reader *reader, size_t index,
                                struct fx8_error *error)
{
    struct fx8_aavs_file *file = &reader->files[index];
    file->last_use = ++reader->n_uses;
    if (file->file > 0)
        return FX8_OK;
    close_oldest(reader);
    FX8_TRY(fx8_aavs_file_open(file, error));
    reader->n_open++;
    return FX8_OK;
}

/* Choose one rate for all files: the user's, or the one they agree on. */
static enum fx8_status choose_rate(struct fx8_aavs_reader *reader, size_t index,
                                   struct fx8_rate given,
                                   struct fx8_error *error)
{
    struct fx8_rate *rate = &reader->base.observation.sample_rate;
    if (given.numerator_hz > 0) {
        *rate = fx8_rate_reduced(given);
        return FX8_OK;
    }
    const struct fx8_aavs_file *file = &reader->files[index];
    const struct fx8_rate own = file->rate.numerator_hz > 0
                                    ? fx8_rate_reduced(file->rate)
                                    : fx8_aavs_usual_rate;
    if (index == 0)
        *rate = own;
    if (own.numerator_hz == rate->numerator_hz &&
        own.denominator == rate->denominator)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: tsamp: %.12g Hz: expected %.12g Hz, as in %s",
                    file->path, fx8_rate_hz(own), fx8_rate_hz(*rate),
                    reader->files[0].path);
}

/* Load metadata and time stamps of every file. */
static enum fx8_status load_files(struct fx8_aavs_reader *reader,
                                  const struct fx8_settings *settings,
                                  struct fx8_error *error)
{
    for (size_t i = 0; i < reader->n_files; i++) {
        close_oldest(reader);
        FX8_TRY(fx8_aavs_file_load(&reader->files[i], error));
        reader->n_open++;
        reader->files[i].last_use = ++reader->n_uses;
        fx8_reader_note_slow(&reader->base, reader->files[i].samples.chunks);
        FX8_TRY(
            choose_rate(reader, i, settings->observation.sample_rate, error));
        FX8_TRY(fx8_aavs_fit(&reader->files[i], i,
                             reader->base.observation.sample_rate,
                             &reader->stretches, error));
    }
    return FX8_OK;
}

/* --- columns -------------------------------------------------------------- */

/* "channel,antenna,pol" and its permutations. */
static enum fx8_status read_column_order(struct fx8_aavs_reader *reader,
                                         const struct fx8_settings *settings,
                                         struct fx8_error *error)
{
    static const char *const words[3] = {"channel", "antenna", "pol"};
    const char *text = settings->input.column_order;
    int place[3];
    if (fx8_axes_parse(*text != '\0' ? text : "channel,antenna,pol", words,
                       place)) {
        for (int axis = 0; axis < 3; axis++)
            reader->axis[place[axis]] = axis;
        return FX8_OK;
    }
    return fx8_fail(error, FX8_ERR_USAGE,
                    "input.column_order: %s: expected channel, antenna and pol "
                    "in any order, with commas between them",
                    settings->input.column_order);
}

/* Column of an input within its group. */
static size_t column_of(const struct fx8_aavs_reader *reader,
                        const struct fx8_aavs_group *group,
                        const struct fx8_input_position *input)
{
    const size_t index[3] = {input->band - group->first_band,
                             input->antenna - group->first_antenna,
                             input->polarization};
    const size_t extent[3] = {group->n_channels, group->n_antennas,
                              reader->base.observation.n_polarizations};
    size_t column = 0;
    for (int i = 0; i < 3; i++)
        column = column * extent[reader->axis[i]] + index[reader->axis[i]];
    return column;
}

/* The group that holds an input. */
static size_t group_of(const struct fx8_aavs_reader *reader,
                       const struct fx8_input_position *input)
{
    size_t g = 0;
    for (; g + 1 < reader->n_groups; g++) {
        /* differences below the first wrap around to large values */
        const struct fx8_aavs_group *group = &reader->groups[g];
        if (input->antenna - group->first_antenna < group->n_antennas &&
            input->band - group->first_band < group->n_channels)
            break;
    }
    return g;
}

/* Rows of the longest chunk of the selected groups. */
static int64_t longest_chunk(const struct fx8_aavs_reader *reader)
{
    int64_t rows = 1;
    for (size_t i = 0; i < reader->n_files; i++)
        if (reader->groups[reader->files[i].group].is_selected &&
            reader->files[i].chunk_rows > rows)
            rows = reader->files[i].chunk_rows;
    return rows;
}

/* The buffer is [slot][sample][n_wide]: tiles one after the other, in the
 * layout of their files; narrower ones leave the end of a row unused. */
static enum fx8_status aavs_select(struct fx8_reader *base,
                                   const struct fx8_input_position *inputs,
                                   size_t n_inputs, struct fx8_error *error)
{
    (void)error;
    struct fx8_aavs_reader *reader = (struct fx8_aavs_reader *)base;
    struct fx8_input_place *places = base->places;
    for (size_t g = 0; g < reader->n_groups; g++)
        reader->groups[g].is_selected = false;
    for (size_t i = 0; i < n_inputs; i++) {
        places[i].row = group_of(reader, &inputs[i]); /* its slot, below */
        struct fx8_aavs_group *group = &reader->groups[places[i].row];
        group->is_selected = true;
        places[i].byte =
            column_of(reader, group, &inputs[i]) * FX8_AAVS_SAMPLE_BYTES;
    }
    base->n_rows = 0;
    reader->n_wide = 0;
    for (size_t g = 0; g < reader->n_groups; g++) {
        struct fx8_aavs_group *group = &reader->groups[g];
        if (!group->is_selected)
            continue;
        group->slot = base->n_rows++;
        if (group->n_columns > reader->n_wide)
            reader->n_wide = group->n_columns;
    }
    for (size_t i = 0; i < n_inputs; i++)
        places[i].row = reader->groups[places[i].row].slot;
    base->sample_bytes = reader->n_wide * FX8_AAVS_SAMPLE_BYTES;
    base->chunk_samples = longest_chunk(reader);
    return FX8_OK;
}

/* --- reading -------------------------------------------------------------- */

/* Read rows [first, first + n) of a file into rows of n_wide samples. */
static enum fx8_status read_rows(const struct fx8_aavs_reader *reader,
                                 const struct fx8_aavs_file *file,
                                 int64_t first, int64_t n, int8_t *buffer,
                                 struct fx8_error *error)
{
    const hsize_t start[2] = {(hsize_t)first, 0};
    const hsize_t count[2] = {(hsize_t)n, file->n_columns};
    const hsize_t extent[2] = {(hsize_t)n, reader->n_wide};
    const struct fx8_h5_part part = {start, count, extent};
    return fx8_h5_dataset_read(&file->samples, reader->base.n_threads, &part,
                               buffer, error);
}

/* The first stretch of a group that ends after a sample. */
static size_t find_stretch(const struct fx8_aavs_reader *reader,
                           const struct fx8_aavs_group *group, int64_t sample)
{
    size_t low = group->first_stretch;
    size_t high = low + group->n_stretches;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct fx8_aavs_stretch *s = &reader->stretches.items[middle];
        if (s->first_sample + s->n_rows <= sample)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Read samples [first, first + n) of a group; zeros in gaps. */
static enum fx8_status read_group(struct fx8_aavs_reader *reader,
                                  const struct fx8_aavs_group *group,
                                  int64_t first, int64_t n, int8_t *buffer,
                                  struct fx8_error *error)
{
    const size_t row_bytes = reader->base.sample_bytes;
    const size_t end_stretch = group->first_stretch + group->n_stretches;
    if (group->n_columns < reader->n_wide)
        memset(buffer, 0, (size_t)n * row_bytes);
    int64_t sample = first; /* end of the filled part of the buffer */
    for (size_t i = find_stretch(reader, group, first);
         i < end_stretch && sample < first + n; i++) {
        const struct fx8_aavs_stretch *s = &reader->stretches.items[i];
        const int64_t end = s->first_sample + s->n_rows;
        const int64_t from =
            s->first_sample > sample ? s->first_sample : sample;
        const int64_t to = end < first + n ? end : first + n;
        if (from >= to)
            break;
        memset(buffer + (size_t)(sample - first) * row_bytes, 0,
               (size_t)(from - sample) * row_bytes);
        FX8_TRY(use_file(reader, s->file, error));
        FX8_TRY(read_rows(reader, &reader->files[s->file],
                          s->first_row + (from - s->first_sample), to - from,
                          buffer + (size_t)(from - first) * row_bytes, error));
        sample = to;
    }
    memset(buffer + (size_t)(sample - first) * row_bytes, 0,
           (size_t)(first + n - sample) * row_bytes);
    return FX8_OK;
}

static enum fx8_status aavs_read(struct fx8_reader *base, int64_t first,
                                 int64_t n_samples, int64_t row_samples,
                                 int8_t *buffer, struct fx8_error *error)
{
    struct fx8_aavs_reader *reader = (struct fx8_aavs_reader *)base;
    const size_t slot_bytes = (size_t)row_samples * base->sample_bytes;
    for (size_t g = 0; g < reader->n_groups; g++)
        if (reader->groups[g].is_selected)
            FX8_TRY(read_group(reader, &reader->groups[g], first, n_samples,
                               buffer + reader->groups[g].slot * slot_bytes,
                               error));
    return FX8_OK;
}

/* --- opening and closing -------------------------------------------------- */

static void aavs_close(struct fx8_reader *base)
{
    struct fx8_aavs_reader *reader = (struct fx8_aavs_reader *)base;
    for (size_t i = 0; i < reader->n_files; i++)
        fx8_aavs_file_close(&reader->files[i]);
    free(reader->files);
    free(reader->stretches.items);
    free(reader->groups);
}

static enum fx8_status aavs_load(struct fx8_reader *base,
                                 const struct fx8_settings *settings,
                                 struct fx8_error *error)
{
    struct fx8_aavs_reader *reader = (struct fx8_aavs_reader *)base;
    struct fx8_observation *observation = &base->observation;
    observation->is_complex = true;
    FX8_TRY(fx8_allocate(base->paths.count, sizeof *reader->files,
                         "a recording's files", &reader->files, error));
    for (; reader->n_files < base->paths.count; reader->n_files++)
        reader->files[reader->n_files].path =
            base->paths.items[reader->n_files];
    FX8_TRY(read_column_order(reader, settings, error));
    FX8_TRY(load_files(reader, settings, error));
    FX8_TRY(fx8_aavs_put_back(reader, error));
    FX8_TRY(fx8_aavs_join(reader, settings->input.allow_missing_tiles, error));
    snprintf(observation->telescope, sizeof observation->telescope, "%s",
             reader->files[0].station);
    return FX8_OK;
}

const struct fx8_reader_format fx8_reader_aavs = {
    .name = "aavs",
    .format = FX8_FORMAT_AAVS,
    .samples = FX8_AAVS_SAMPLES,
    .size = sizeof(struct fx8_aavs_reader),
    .probe = aavs_probe,
    .load = aavs_load,
    .select = aavs_select,
    .read = aavs_read,
    .close = aavs_close,
};
