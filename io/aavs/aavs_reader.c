/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aavs_reader.c -- recordings of the SKA-Low/AAVS acquisition (data/README.md):
 * channel files of many tiles and parts as one recording.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/text.h"
#include "io/aavs/aavs_reader.h"
#include "io/h5/h5.h"
#include "io/h5/storage.h"

/* Most files open at once: a station of 16 tiles in four parts. */
#define MOST_OPEN 64

/* The rate of a station's coarse channels: 800 MHz / 1024 x 32/27. */
static const struct fx8_rate usual_rate = {25000000, 27};

static bool aavs_probe(const char *path)
{
    fx8_h5_quiet();
    hid_t file = FX8_H5_NONE;
    bool found = false;
    if (fx8_h5_open_file(path, &file, NULL) == FX8_OK) {
        const struct fx8_h5_place top = {path, file, false};
        found = fx8_h5_has(&top, FX8_AAVS_ROOT) && fx8_h5_has(&top, "chan_") &&
                fx8_h5_has(&top, "sample_timestamps");
    }
    fx8_h5_close(&file);
    return found;
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
        if (file->file >= 0 &&
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
    if (file->file >= 0)
        return FX8_OK;
    close_oldest(reader);
    const enum fx8_status status = fx8_aavs_file_open(file, error);
    if (status == FX8_OK)
        reader->n_open++;
    return status;
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
    const struct fx8_rate own =
        file->rate.numerator_hz > 0 ? fx8_rate_reduced(file->rate) : usual_rate;
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

/* Record why HDF5 must undo a file's filters, if so. */
static void note_slow(struct fx8_aavs_reader *reader,
                      const struct fx8_aavs_file *file)
{
    const char *reason = fx8_h5_chunks_slow_reason(file->chunks);
    if (reason == NULL || reader->base.slow_reason != NULL)
        return;
    snprintf(reader->slow_reason, sizeof reader->slow_reason, "%s", reason);
    reader->base.slow_reason = reader->slow_reason;
}

/* Load metadata and time stamps of every file. */
static enum fx8_status load_files(struct fx8_aavs_reader *reader,
                                  const struct fx8_settings *settings,
                                  struct fx8_error *error)
{
    enum fx8_status status = FX8_OK;
    for (size_t i = 0; i < reader->n_files && status == FX8_OK; i++) {
        close_oldest(reader);
        status = fx8_aavs_file_load(&reader->files[i], error);
        if (status != FX8_OK)
            break;
        reader->n_open++;
        reader->files[i].last_use = ++reader->n_uses;
        note_slow(reader, &reader->files[i]);
        status =
            choose_rate(reader, i, settings->observation.sample_rate, error);
        if (status == FX8_OK)
            status = fx8_aavs_fit(&reader->files[i], i,
                                  reader->base.observation.sample_rate,
                                  &reader->stretches, error);
    }
    return status;
}

/* --- columns -------------------------------------------------------------- */

/* "channel,antenna,pol" and its permutations. */
static enum fx8_status read_column_order(struct fx8_aavs_reader *reader,
                                         const struct fx8_settings *settings,
                                         struct fx8_error *error)
{
    static const char *const words[3] = {"channel", "antenna", "pol"};
    const char *text = settings->input.column_order;
    if (*text == '\0')
        text = "channel,antenna,pol";
    bool is_used[3] = {false, false, false};
    size_t n = 0;
    for (; n < 3; n++) {
        const size_t length = strcspn(text, ",");
        int axis = 0;
        while (axis < 3 && (strlen(words[axis]) != length ||
                            strncmp(words[axis], text, length) != 0))
            axis++;
        if (axis == 3 || is_used[axis])
            break;
        is_used[axis] = true;
        reader->axis[n] = axis;
        text += length;
        if (*text == ',' && n < 2)
            text++;
    }
    if (n == 3 && *text == '\0')
        return FX8_OK;
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

static enum fx8_status aavs_select(struct fx8_reader *base,
                                   const struct fx8_input_position *inputs,
                                   size_t n_inputs, struct fx8_error *error)
{
    struct fx8_aavs_reader *reader = (struct fx8_aavs_reader *)base;
    size_t *input_group = NULL, *input_column = NULL;
    enum fx8_status status =
        fx8_reader_check_inputs(base, inputs, n_inputs, error);
    if (status != FX8_OK)
        return status;
    const struct fx8_array arrays[] = {
        {&input_group, n_inputs, sizeof *input_group},
        {&input_column, n_inputs, sizeof *input_column},
    };
    status = fx8_allocate_arrays(arrays, 2, "a selection of inputs", error);
    if (status != FX8_OK) {
        free(input_group);
        free(input_column);
        return status;
    }
    for (size_t g = 0; g < reader->n_groups; g++)
        reader->groups[g].is_selected = false;
    for (size_t i = 0; i < n_inputs; i++) {
        input_group[i] = group_of(reader, &inputs[i]);
        struct fx8_aavs_group *group = &reader->groups[input_group[i]];
        group->is_selected = true;
        input_column[i] = column_of(reader, group, &inputs[i]);
    }
    reader->n_slots = 0;
    reader->n_wide = 0;
    for (size_t g = 0; g < reader->n_groups; g++) {
        struct fx8_aavs_group *group = &reader->groups[g];
        if (!group->is_selected)
            continue;
        group->slot = reader->n_slots++;
        if (group->n_columns > reader->n_wide)
            reader->n_wide = group->n_columns;
    }
    free(reader->input_group);
    free(reader->input_column);
    reader->input_group = input_group;
    reader->input_column = input_column;
    reader->n_inputs = n_inputs;
    return FX8_OK;
}

/* --- reading -------------------------------------------------------------- */

/* The buffer is [slot][sample][n_wide]: tiles one after the other, in the
 * layout of their files; narrower ones leave the end of a row unused. */
static size_t aavs_buffer_size(const struct fx8_reader *base, int64_t n_samples)
{
    const struct fx8_aavs_reader *reader = (const struct fx8_aavs_reader *)base;
    if (n_samples < 0)
        return SIZE_MAX;
    return fx8_product(reader->n_slots, (size_t)n_samples, reader->n_wide,
                       FX8_AAVS_SAMPLE_BYTES);
}

static int64_t aavs_read_samples(const struct fx8_reader *base)
{
    const struct fx8_aavs_reader *reader = (const struct fx8_aavs_reader *)base;
    int64_t chunk = 1;
    for (size_t i = 0; i < reader->n_files; i++)
        if (reader->groups[reader->files[i].group].is_selected &&
            reader->files[i].chunk_rows > chunk)
            chunk = reader->files[i].chunk_rows;
    return fx8_reader_samples(aavs_buffer_size(base, 1), chunk);
}

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
    const enum fx8_status status = fx8_h5_chunks_read(
        file->chunks, &reader->base.workers, &part, buffer, error);
    return fx8_h5_check_uncut(file->storage, file->path, FX8_AAVS_SAMPLES,
                              first, n, status, error);
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
    const size_t row_bytes = reader->n_wide * FX8_AAVS_SAMPLE_BYTES;
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
        enum fx8_status status = use_file(reader, s->file, error);
        if (status == FX8_OK)
            status =
                read_rows(reader, &reader->files[s->file],
                          s->first_row + (from - s->first_sample), to - from,
                          buffer + (size_t)(from - first) * row_bytes, error);
        if (status != FX8_OK)
            return status;
        sample = to;
    }
    memset(buffer + (size_t)(sample - first) * row_bytes, 0,
           (size_t)(first + n - sample) * row_bytes);
    return FX8_OK;
}

static enum fx8_status aavs_read(struct fx8_reader *base, int64_t first,
                                 int64_t n_samples, int8_t *buffer,
                                 struct fx8_sample_layout *layout,
                                 struct fx8_error *error)
{
    struct fx8_aavs_reader *reader = (struct fx8_aavs_reader *)base;
    fx8_h5_quiet();
    enum fx8_status status =
        fx8_reader_check_range(base, FX8_AAVS_SAMPLES, first, n_samples, error);
    if (status != FX8_OK)
        return status;
    const int64_t row_samples = fx8_row_samples(layout, n_samples);
    if (aavs_buffer_size(base, row_samples) > PTRDIFF_MAX)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: %s: %" PRId64
                        " samples at once: expected fewer, see read_samples",
                        base->path, FX8_AAVS_SAMPLES, n_samples);
    const size_t stride = reader->n_wide * FX8_AAVS_SAMPLE_BYTES;
    const size_t slot_bytes = (size_t)row_samples * stride;
    for (size_t g = 0; g < reader->n_groups && status == FX8_OK; g++)
        if (reader->groups[g].is_selected)
            status =
                read_group(reader, &reader->groups[g], first, n_samples,
                           buffer + reader->groups[g].slot * slot_bytes, error);
    if (status != FX8_OK)
        return status;
    layout->time_stride = (ptrdiff_t)stride;
    for (size_t i = 0; i < reader->n_inputs; i++)
        layout->input_offset[i] =
            (ptrdiff_t)(reader->groups[reader->input_group[i]].slot *
                            slot_bytes +
                        reader->input_column[i] * FX8_AAVS_SAMPLE_BYTES);
    return FX8_OK;
}

/* --- opening and closing -------------------------------------------------- */

static void aavs_close(struct fx8_reader *base)
{
    struct fx8_aavs_reader *reader = (struct fx8_aavs_reader *)base;
    for (size_t i = 0; i < reader->n_files; i++) {
        fx8_aavs_file_close(&reader->files[i]);
        free(reader->files[i].path);
    }
    fx8_observation_clear(&base->observation);
    free(base->missing);
    free(reader->files);
    free(reader->stretches.items);
    free(reader->groups);
    free(reader->input_group);
    free(reader->input_column);
    free(reader);
}

/* Set the file names; no file is open yet. */
static enum fx8_status name_files(struct fx8_aavs_reader *reader,
                                  const char *const *paths, size_t n_paths,
                                  struct fx8_error *error)
{
    void *memory = NULL;
    const enum fx8_status status = fx8_allocate(
        n_paths, sizeof *reader->files, "a recording's files", &memory, error);
    if (status != FX8_OK)
        return status;
    reader->files = memory;
    for (; reader->n_files < n_paths; reader->n_files++) {
        struct fx8_aavs_file *file = &reader->files[reader->n_files];
        *file = (struct fx8_aavs_file){.path = strdup(paths[reader->n_files]),
                                       .file = FX8_H5_NONE,
                                       .samples = FX8_H5_NONE,
                                       .space = FX8_H5_NONE,
                                       .memory_type = FX8_H5_NONE};
        if (file->path == NULL)
            return fx8_no_memory("a file's path", error);
    }
    reader->base.path = reader->files[0].path;
    return FX8_OK;
}

static enum fx8_status load(struct fx8_aavs_reader *reader,
                            const struct fx8_settings *settings,
                            struct fx8_error *error)
{
    struct fx8_observation *observation = &reader->base.observation;
    observation->is_complex = true;
    enum fx8_status status = read_column_order(reader, settings, error);
    if (status == FX8_OK)
        status = load_files(reader, settings, error);
    if (status == FX8_OK)
        status = fx8_aavs_put_back(reader, error);
    if (status == FX8_OK)
        status =
            fx8_aavs_join(reader, settings->input.allow_missing_tiles, error);
    if (status != FX8_OK)
        return status;
    snprintf(observation->telescope, sizeof observation->telescope, "%s",
             reader->files[0].station);
    return fx8_reader_select_all(&reader->base, aavs_select, error);
}

static enum fx8_status aavs_open(const char *const *paths, size_t n_paths,
                                 const struct fx8_settings *settings,
                                 struct fx8_reader **result,
                                 struct fx8_error *error)
{
    *result = NULL;
    fx8_h5_quiet();
    struct fx8_aavs_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL)
        return fx8_no_memory("a reader", error);
    reader->base = (struct fx8_reader){.format = &fx8_reader_aavs,
                                       .observation = fx8_observation_unknown(),
                                       .select = aavs_select,
                                       .buffer_size = aavs_buffer_size,
                                       .read_samples = aavs_read_samples,
                                       .read = aavs_read,
                                       .close = aavs_close};
    enum fx8_status status = name_files(reader, paths, n_paths, error);
    if (status == FX8_OK)
        status = load(reader, settings, error);
    if (status != FX8_OK) {
        aavs_close(&reader->base);
        return status;
    }
    *result = &reader->base;
    return FX8_OK;
}

const struct fx8_reader_format fx8_reader_aavs = {
    .name = "aavs",
    .format = FX8_FORMAT_AAVS,
    .probe = aavs_probe,
    .open = aavs_open,
};
