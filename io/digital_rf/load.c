/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.c -- load a Digital RF recording: its channels, and the gaps shown by
 * file names and indices.
 */
#include <math.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/digital_rf/digital_rf_reader.h"
#include "io/reader_formats.h"

/* Bytes of rows read at once: small enough to stay in cache until converted. */
#define ROWS_BYTES ((size_t)1 << 20)

int64_t fx8_drf_rows_at_once(const struct fx8_drf_channel *channel)
{
    const size_t n = ROWS_BYTES / fx8_drf_row_bytes(channel);
    return n > 0 ? (int64_t)n : 1;
}

static enum fx8_status open_channels(struct fx8_drf_reader *reader,
                                     const struct fx8_text_list *paths,
                                     struct fx8_error *error)
{
    const size_t n = paths->count;
    if (n == 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: no channels: expected a folder of Digital RF "
                        "channels with %s",
                        reader->base.path, FX8_DRF_PROPERTIES);
    const struct fx8_array arrays[] = {
        {&reader->channels, n, sizeof *reader->channels},
        {&reader->first_input, n + 1, sizeof *reader->first_input},
    };
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "channels", error));
    for (size_t i = 0; i < n; i++) {
        reader->n_channels = i + 1;
        FX8_TRY(fx8_drf_open(paths->items[i],
                             i > 0 ? &reader->channels[0] : NULL,
                             &reader->channels[i], error));
        reader->first_input[i + 1] =
            reader->first_input[i] + reader->channels[i].n_subchannels;
    }
    return FX8_OK;
}

/* Assign sub-channels to antennas and polarisations in order. */
static enum fx8_status set_shape(struct fx8_drf_reader *reader,
                                 const struct fx8_settings *settings,
                                 struct fx8_error *error)
{
    struct fx8_observation *observation = &reader->base.observation;
    const size_t n_inputs = reader->first_input[reader->n_channels];
    const size_t n_polarizations = settings->array.polarizations == 2 ? 2 : 1;
    if (n_inputs % n_polarizations != 0)
        return fx8_settings_fail(
            settings, "array.polarizations", error,
            "expected 1, since %s has %zu %s in all", reader->base.path,
            n_inputs, FX8_NOUN(n_inputs, "sub-channel", "sub-channels"));
    if (n_inputs / n_polarizations > FX8_READER_MAX_ANTENNAS)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: num_subchannels: %zu in all: expected at most %d "
                        "antennas",
                        reader->base.path, n_inputs, FX8_READER_MAX_ANTENNAS);
    observation->n_polarizations = n_polarizations;
    observation->n_antennas = n_inputs / n_polarizations;
    observation->is_complex = reader->channels[0].is_complex;
    reader->sample_bytes = observation->is_complex ? 2 : 1;
    return FX8_OK;
}

/* Set the extent: earliest to latest sample of any channel. */
static void set_extent(struct fx8_drf_reader *reader)
{
    struct fx8_observation *observation = &reader->base.observation;
    const struct fx8_drf_channel *channels = reader->channels;
    int64_t first = channels[0].first;
    int64_t end = channels[0].end;
    for (size_t i = 1; i < reader->n_channels; i++) {
        first = channels[i].first < first ? channels[i].first : first;
        end = channels[i].end > end ? channels[i].end : end;
    }
    reader->origin = first;
    observation->n_samples = end - first;
    observation->sample_rate = channels[0].rate;
    observation->has_start_time = true;
    observation->start_time = fx8_time_add_half_samples(
        channels[0].epoch, 2 * first, channels[0].rate);
}

/* Convert seconds to samples, limited to the recording. */
static int64_t to_samples(const struct fx8_drf_reader *reader,
                          struct fx8_rate rate, double seconds)
{
    const int64_t n = reader->base.observation.n_samples;
    const double samples = rint(seconds * fx8_rate_hz(rate));
    return samples < (double)n ? (int64_t)samples : n;
}

/* Set the range from start_s and duration_s. */
static void set_range(struct fx8_drf_reader *reader,
                      const struct fx8_settings *settings)
{
    const int64_t end = reader->origin + reader->base.observation.n_samples;
    const double duration_s = settings->input.duration_s;
    const struct fx8_rate given = settings->observation.sample_rate;
    const struct fx8_rate rate =
        given.numerator_hz > 0 ? given : reader->base.observation.sample_rate;
    reader->from =
        reader->origin + to_samples(reader, rate, settings->input.start_s);
    reader->until = end;
    if (duration_s > 0 &&
        to_samples(reader, rate, duration_s) < end - reader->from)
        reader->until = reader->from + to_samples(reader, rate, duration_s);
}

/* The part of a channel that will be processed; all of it if that part is
 * empty, which is refused elsewhere. */
static struct fx8_drf_span used_span(const struct fx8_drf_reader *reader,
                                     const struct fx8_drf_channel *channel)
{
    const bool is_empty = reader->from >= reader->until;
    const int64_t first = is_empty ? channel->first : reader->from;
    const int64_t end = is_empty ? channel->end : reader->until;
    return (struct fx8_drf_span){
        .origin = reader->origin,
        .first = first > channel->first ? first : channel->first,
        .end = end < channel->end ? end : channel->end,
        .rate = channel->rate};
}

/* Find the channels' common centre frequency for the processed range. */
static enum fx8_status find_frequency(struct fx8_drf_reader *reader,
                                      struct fx8_error *error)
{
    double *kept = &reader->base.observation.dc_frequency_hz;
    for (size_t i = 0; i < reader->n_channels; i++) {
        const struct fx8_drf_channel *channel = &reader->channels[i];
        const struct fx8_drf_span span = used_span(reader, channel);
        double found = NAN;
        if (span.first < span.end)
            FX8_TRY(
                fx8_drf_center_frequency(channel->path, &span, &found, error));
        if (isnan(*kept))
            *kept = found;
        if (!isnan(found) && found != *kept)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s/metadata: center_frequencies: %.12g Hz: "
                            "expected %.12g Hz as in the channels before, or "
                            "observation.dc_frequency_hz",
                            channel->path, found, *kept);
    }
    return FX8_OK;
}

/* A frequency from the user overrides contradictory metadata. */
static enum fx8_status set_frequency(struct fx8_drf_reader *reader,
                                     const struct fx8_settings *settings,
                                     struct fx8_error *error)
{
    const double given = settings->observation.dc_frequency_hz;
    const enum fx8_status status = find_frequency(reader, error);
    if (status != FX8_ERR_INPUT || !isfinite(given))
        return status;
    reader->base.observation.dc_frequency_hz = given;
    return FX8_OK;
}

/* Set gains known without reading samples: for 8 bits, or given by the user. */
static enum fx8_status set_shifts(struct fx8_drf_reader *reader,
                                  const struct fx8_settings *settings,
                                  struct fx8_error *error)
{
    const size_t n_inputs = reader->first_input[reader->n_channels];
    FX8_TRY(fx8_allocate(n_inputs, sizeof *reader->shifts, "levels",
                         &reader->shifts, error));
    const double given = settings->input.scale_to_8bit;
    const int shift = given > 0 ? -ilogb(given) : -1;
    size_t rows_size = 0;
    for (size_t i = 0; i < reader->n_channels; i++) {
        const struct fx8_drf_channel *channel = &reader->channels[i];
        const bool is_16bit = channel->part_bytes == 2;
        reader->base.is_16bit = reader->base.is_16bit || is_16bit;
        for (size_t k = reader->first_input[i]; k < reader->first_input[i + 1];
             k++)
            reader->shifts[k] = is_16bit ? shift : 0;
        const size_t row_bytes = fx8_drf_row_bytes(channel);
        const size_t n_rows = (size_t)fx8_drf_rows_at_once(channel) +
                              2 * (fx8_drf_shortest_fill(row_bytes) - 1);
        if (n_rows * row_bytes > rows_size)
            rows_size = n_rows * row_bytes;
    }
    return fx8_allocate(rows_size, 1, "samples", &reader->rows, error);
}

/* --- gaps by file names and indices ------------------------------------ */

static enum fx8_status list_gap(struct fx8_drf_reader *reader, size_t channel,
                                int64_t first, int64_t end,
                                struct fx8_error *error)
{
    const size_t n_polarizations = reader->base.observation.n_polarizations;
    struct fx8_missing gap = {first - reader->origin, end - first, -1, -1, -1};
    if (reader->n_channels == 1)
        return fx8_missing_add(&reader->base.missing, &reader->base.n_missing,
                               &gap, error);
    for (size_t k = reader->first_input[channel];
         k < reader->first_input[channel + 1]; k++) {
        gap.antenna = (int32_t)(k / n_polarizations);
        gap.polarization = (int32_t)(k % n_polarizations);
        FX8_TRY(fx8_missing_add(&reader->base.missing, &reader->base.n_missing,
                                &gap, error));
    }
    return FX8_OK;
}

/* List gaps in [first, end), from the indices of files or only their names. */
static enum fx8_status list_gaps(struct fx8_drf_reader *reader, size_t number,
                                 int64_t first, int64_t end, bool by_name,
                                 struct fx8_error *error)
{
    struct fx8_drf_channel *channel = &reader->channels[number];
    while (first < end) {
        struct fx8_drf_piece piece;
        FX8_TRY(fx8_drf_next(channel, first, end, by_name, &piece, error));
        const int64_t recorded = piece.n > 0 ? piece.first : end;
        if (recorded > first)
            FX8_TRY(list_gap(reader, number, first, recorded, error));
        first = recorded + piece.n;
    }
    fx8_drf_close_file(channel);
    return FX8_OK;
}

/* Files with fill values for missing samples are complete.  Others are opened
 * to read their indices, within the processed range. */
static enum fx8_status list_missing(struct fx8_drf_reader *reader,
                                    struct fx8_error *error)
{
    const int64_t end = reader->origin + reader->base.observation.n_samples;
    const int64_t bounds[4] = {reader->origin, reader->from, reader->until,
                               end};
    for (size_t i = 0; i < reader->n_channels; i++)
        for (int part = 0; part < 3; part++)
            FX8_TRY(list_gaps(reader, i, bounds[part], bounds[part + 1],
                              part != 1 || (!reader->channels[i].is_chunked &&
                                            reader->channels[i].is_continuous),
                              error));
    return FX8_OK;
}

enum fx8_status fx8_drf_load(struct fx8_reader *base,
                             const struct fx8_settings *settings,
                             struct fx8_error *error)
{
    struct fx8_drf_reader *reader = (struct fx8_drf_reader *)base;
    FX8_AUTO(fx8_text_list_clear) struct fx8_text_list paths = {0};
    FX8_TRY(fx8_drf_find_channels(base->path, &paths, error));
    FX8_TRY(open_channels(reader, &paths, error));
    FX8_TRY(set_shape(reader, settings, error));
    set_extent(reader);
    set_range(reader, settings);
    FX8_TRY(set_frequency(reader, settings, error));
    FX8_TRY(set_shifts(reader, settings, error));
    return list_missing(reader, error);
}
