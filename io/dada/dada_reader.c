/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dada_reader.c -- PSRDADA: a text header of HDR_SIZE bytes, keys and values,
 * then samples of 8 bits, two's complement, to the end of the file
 * (data/README.md).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/frames/cards.h"
#include "io/frames/frames.h"
#include "io/refuse.h"
#include "io/selection.h"

enum { LEAST_HEADER = 4096, MOST_HEADER = 1 << 20 };

/* --- the header ----------------------------------------------------------- */

/* "KEY value # comment", a line each, up to a zero. */
static enum fx8_status add_lines(struct fx8_cards *cards, const char *text,
                                 size_t n, struct fx8_error *error)
{
    static const char blanks[] = " \t";
    const char *end = memchr(text, '\0', n);
    end = end != NULL ? end : text + n;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop != NULL ? stop : end;
        const char *comment = memchr(text, '#', (size_t)(stop - text));
        const char *last = comment != NULL ? comment : stop;
        const char *value = text;
        while (value < last && strchr(blanks, *value) == NULL)
            value++;
        if (value > text)
            FX8_TRY(fx8_cards_add(cards, text, (size_t)(value - text), value,
                                  (size_t)(last - value), error));
        text = stop < end ? stop + 1 : end;
    }
    return FX8_OK;
}

/* Read the header; its HDR_SIZE gives its length. */
static enum fx8_status read_header(const struct fx8_frames_reader *reader,
                                   struct fx8_cards *cards, int64_t *size,
                                   struct fx8_error *error)
{
    FX8_AUTO_FREE char *text = NULL;
    *size = LEAST_HEADER;
    for (size_t n = 0; n != (size_t)*size;) {
        n = (size_t)*size;
        free(text);
        text = NULL;
        FX8_TRY(fx8_allocate(n, 1, "a header", &text, error));
        FX8_TRY(fx8_frames_bytes(reader, 0, n, text, error));
        fx8_cards_clear(cards);
        FX8_TRY(add_lines(cards, text, n, error));
        FX8_TRY(fx8_cards_integer(cards, "HDR_SIZE", LEAST_HEADER, MOST_HEADER,
                                  size, error));
    }
    return FX8_OK;
}

static bool dada_sniff(const struct fx8_file_start *start)
{
    static const char *const keys[] = {"HDR_SIZE", "NBIT", "NCHAN"};
    FX8_AUTO(fx8_cards_clear) struct fx8_cards cards = {.path = ""};
    const size_t n = start->n < LEAST_HEADER ? start->n : LEAST_HEADER;
    if (memchr(start->bytes, '\n', n) == NULL ||
        add_lines(&cards, (const char *)start->bytes, n, NULL) != FX8_OK)
        return false;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (fx8_cards_find(&cards, keys[i]) == NULL)
            return false;
    return true;
}

/* --- the order of samples ------------------------------------------------- */

enum { CHANNEL = 0, ANTENNA, POL, N_AXES };

/* The axes of a record, slowest first: from ORDER such as TFP, which must begin
 * with time but for axes of one element; else input.column_order. */
static enum fx8_status read_order(const struct fx8_cards *cards,
                                  const struct fx8_settings *settings,
                                  const size_t extent[N_AXES], int axes[N_AXES],
                                  struct fx8_error *error)
{
    static const char *const words[N_AXES] = {"channel", "antenna", "pol"};
    static const char letters[] = "FAP";
    const char *order = fx8_cards_find(cards, "ORDER");
    int place[N_AXES] = {0, 1, 2};
    if (order == NULL && *settings->input.column_order != '\0' &&
        !fx8_axes_parse(settings->input.column_order, words, place))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "input.column_order: %s: expected channel, antenna and "
                        "pol in any order, with commas between them",
                        settings->input.column_order);
    for (int axis = 0; axis < N_AXES; axis++)
        axes[place[axis]] = axis;
    if (order == NULL)
        return FX8_OK;
    bool is_timed = false, is_good = true, is_found[N_AXES] = {false};
    int n = 0;
    for (const char *letter = order; *letter != '\0' && is_good; letter++) {
        const char *at = strchr(letters, *letter);
        const int axis = at != NULL ? (int)(at - letters) : N_AXES;
        is_good = axis == N_AXES
                      ? *letter == 'T' && !is_timed
                      : !is_found[axis] && (is_timed || extent[axis] == 1);
        if (axis == N_AXES)
            is_timed = true;
        else if (is_good)
            is_found[axes[n++] = axis] = true;
    }
    for (int axis = 0; axis < N_AXES; axis++) {
        is_good = is_good && (is_found[axis] || extent[axis] == 1);
        if (!is_found[axis] && n < N_AXES)
            axes[n++] = axis;
    }
    if (is_good && is_timed)
        return FX8_OK;
    return fx8_cards_refuse(cards, "ORDER", error,
                            "expected T, then F, P and A once each if there "
                            "are several channels, polarisations, antennas");
}

static void set_layout(const int axes[N_AXES], const size_t extent[N_AXES],
                       struct fx8_frames_shape *shape)
{
    size_t byte = shape->is_complex ? 2 : 1, step[N_AXES];
    for (int i = N_AXES; i-- > 0;) {
        step[axes[i]] = byte;
        byte *= extent[axes[i]];
    }
    shape->n_streams = 1;
    shape->n_rows = 1;
    shape->record_bytes = byte;
    shape->band.byte = step[CHANNEL];
    shape->antenna.byte = step[ANTENNA];
    shape->polarization.byte = step[POL];
}

/* --- what the header says ------------------------------------------------- */

static enum fx8_status set_shape(const struct fx8_cards *cards,
                                 const struct fx8_settings *settings,
                                 struct fx8_frames_shape *shape,
                                 struct fx8_error *error)
{
    static const struct fx8_cards_keys keys = {"FREQ", "BW", "TSAMP", 1e-6};
    int64_t n_bits = 0, n_parts = 0, n_pols = 0, n_channels = 0;
    int64_t n_antennas = 1, n_inputs = 0;
    FX8_TRY(fx8_cards_integer(cards, "NBIT", 8, 8, &n_bits, error));
    FX8_TRY(fx8_cards_integer(cards, "NDIM", 1, 2, &n_parts, error));
    FX8_TRY(fx8_cards_integer(cards, "NPOL", 1, 2, &n_pols, error));
    FX8_TRY(fx8_cards_integer(cards, "NCHAN", 1, 65536, &n_channels, error));
    FX8_TRY(fx8_cards_integer(cards, "NANT", 1, 65536 / n_channels, &n_antennas,
                              error));
    /* the MWA's sub-observations have delays before their samples */
    FX8_TRY(fx8_cards_integer(cards, "NINPUTS", 0, 0, &n_inputs, error));
    shape->is_complex = n_parts == 2;
    if (!shape->is_complex && n_channels > 1)
        return fx8_cards_refuse(
            cards, "NDIM", error,
            "expected 2, complex samples, of %" PRId64 " channels", n_channels);
    shape->n_antennas = (size_t)n_antennas;
    shape->n_polarizations = (size_t)n_pols;
    shape->n_bands = (size_t)n_channels;
    struct fx8_cards_band band;
    FX8_TRY(fx8_cards_band(cards, &keys, shape->n_bands, shape->is_complex,
                           settings->observation.sample_rate, &band, error));
    shape->rate = band.rate;
    shape->dc_frequency_hz = band.dc_frequency_hz;
    shape->band_step_hz = band.step_hz;
    shape->is_descending = band.is_descending;
    shape->sideband =
        band.is_descending ? FX8_SIDEBAND_LOWER : FX8_SIDEBAND_UPPER;
    const size_t extent[N_AXES] = {shape->n_bands, shape->n_antennas,
                                   shape->n_polarizations};
    int axes[N_AXES];
    FX8_TRY(read_order(cards, settings, extent, axes, error));
    set_layout(axes, extent, shape);
    return FX8_OK;
}

/* UTC_START is yyyy-mm-dd-hh:mm:ss, perhaps with decimals. */
static enum fx8_status read_start(const struct fx8_cards *cards,
                                  struct fx8_time *start,
                                  struct fx8_error *error)
{
    char text[FX8_TEXT_SIZE];
    int64_t picoseconds = 0;
    fx8_cards_text(cards, "UTC_START", text);
    if (strlen(text) > 10 && text[10] == '-')
        text[10] = 'T';
    if (!fx8_number_time(text, start))
        return fx8_cards_refuse(cards, "UTC_START", error,
                                "expected a time in UTC such as "
                                "2024-01-31-12:34:56");
    FX8_TRY(fx8_cards_integer(cards, "PICOSECONDS", 0, FX8_PICOSECONDS - 1,
                              &picoseconds, error));
    if (start->picosecond == 0) /* else both say the same */
        start->picosecond = picoseconds;
    return FX8_OK;
}

/* A number of bytes as samples. */
static enum fx8_status read_samples(const struct fx8_cards *cards,
                                    const char *key, int64_t record, int64_t *n,
                                    struct fx8_error *error)
{
    int64_t bytes = 0;
    FX8_TRY(fx8_cards_integer(cards, key, 0, INT64_MAX, &bytes, error));
    *n = bytes / record;
    if (bytes % record == 0)
        return FX8_OK;
    return fx8_cards_refuse(cards, key, error,
                            "expected a multiple of %" PRId64
                            ", the bytes of all inputs at one time",
                            record);
}

static enum fx8_status dada_parse(struct fx8_frames_reader *reader, size_t file,
                                  const struct fx8_settings *settings,
                                  struct fx8_frames_header *header,
                                  struct fx8_error *error)
{
    const char *path = reader->files[file].path;
    struct fx8_frames_shape *shape = &header->shape;
    FX8_AUTO(fx8_cards_clear) struct fx8_cards cards = {.path = path};
    int64_t size = 0;
    struct fx8_frames_run run = {.file = file};
    FX8_TRY(read_header(reader, &cards, &size, error));
    FX8_TRY(set_shape(&cards, settings, shape, error));
    FX8_TRY(read_start(&cards, &header->start, error));
    const int64_t record = (int64_t)shape->record_bytes;
    FX8_TRY(
        read_samples(&cards, "OBS_OFFSET", record, &run.first_sample, error));
    FX8_TRY(read_samples(&cards, "OBS_OVERLAP", record, &shape->most_overlap,
                         error));
    fx8_cards_text(&cards, "TELESCOPE", header->telescope);
    fx8_cards_text(&cards, "INSTRUMENT", header->instrument);
    fx8_cards_text(&cards, "SOURCE", header->object);
    const int64_t bytes = reader->files[file].size - size;
    if (bytes <= 0 || bytes % record != 0)
        return fx8_refuse(error, path, "data",
                          "%" PRId64 " bytes after the header: expected a "
                          "multiple of %" PRId64 ", those of all inputs at "
                          "one time",
                          bytes, record);
    run.offset = size;
    run.n_samples = run.frame_samples = bytes / record;
    return fx8_frames_add(reader, &run, error);
}

static enum fx8_status dada_load(struct fx8_reader *base,
                                 const struct fx8_settings *settings,
                                 struct fx8_error *error)
{
    static const struct fx8_frames_format format = {.parse = dada_parse};
    return fx8_frames_load(base, settings, &format, error);
}

const struct fx8_reader_format fx8_reader_dada = {
    .name = "dada",
    .format = FX8_FORMAT_DADA,
    .samples = "data",
    .size = sizeof(struct fx8_frames_reader),
    .sniff = dada_sniff,
    .load = dada_load,
    .select = fx8_frames_select,
    .read = fx8_frames_read,
    .close = fx8_frames_close,
};
