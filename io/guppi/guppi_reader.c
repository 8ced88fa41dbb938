/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * guppi_reader.c -- GUPPI RAW: blocks, each a header of 80-character cards up
 * to END and then [channel][sample][polarisation][re, im] of 8 bits
 * (data/README.md).  Of Green Bank, Arecibo, Parkes, ATA, MeerKAT (hashpipe).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/divisor.h"
#include "config/base/try.h"
#include "io/frames/cards.h"
#include "io/frames/frames.h"
#include "io/refuse.h"

enum { CARD = 80, MOST_CARDS = 4096, DIRECT_BYTES = 512 };

/* Days from the Modified Julian Date's zero to 1970. */
#define UNIX_MJD 40587

/* A block: where its samples are and when. */
struct block {
    int64_t header_at, samples_at;
    int64_t n_bytes;
    int64_t overlap;
    int64_t packet; /* PKTIDX from the start */
    struct fx8_time start;
    int64_t packets_of_block, packet_bytes; /* 0: not recorded */
};

/* --- cards ---------------------------------------------------------------- */

/* "KEY     = value" or "KEY     = 'text    '", then perhaps a comment. */
static enum fx8_status add_card(struct fx8_cards *cards, const char *card,
                                struct fx8_error *error)
{
    const char *value = card + 9, *end = card + CARD;
    while (value < end && *value == ' ')
        value++;
    const char mark = value < end && *value == '\'' ? '\'' : '/';
    value += mark == '\'';
    const char *stop = memchr(value, mark, (size_t)(end - value));
    return fx8_cards_add(cards, card, 8, value,
                         (size_t)((stop != NULL ? stop : end) - value), error);
}

/* Read the cards at `*offset`, which is then behind them. */
static enum fx8_status read_cards(const struct fx8_frames_reader *reader,
                                  int64_t *offset, struct fx8_cards *cards,
                                  struct fx8_error *error)
{
    const int64_t first = *offset;
    for (int i = 0; i < MOST_CARDS; i++) {
        char card[CARD];
        FX8_TRY(fx8_frames_bytes(reader, *offset, CARD, card, error));
        *offset += CARD;
        if (memcmp(card, "END ", 4) == 0)
            return FX8_OK;
        if (card[8] != '=' && card[8] != ' ')
            return fx8_refuse(error, cards->path, "header",
                              "byte %" PRId64 ": expected a card KEY = value "
                              "or END, of 80 characters",
                              *offset - CARD);
        if (card[8] == '=')
            FX8_TRY(add_card(cards, card, error));
    }
    return fx8_refuse(error, cards->path, "header",
                      "byte %" PRId64 ": expected END within %d cards", first,
                      MOST_CARDS);
}

static bool guppi_sniff(const struct fx8_file_start *start)
{
    static const char *const keys[] = {
        "BLOCSIZE= ", "OBSNCHAN= ", "OBSBW   = ", "NBITS   = "};
    enum { N_KEYS = sizeof keys / sizeof keys[0] };
    size_t n_found = 0;
    for (size_t at = 0; at + CARD <= start->n; at += CARD) {
        const char *card = (const char *)start->bytes + at;
        if (memcmp(card, "END ", 4) == 0)
            return n_found >= 2;
        if (card[8] != '=' && card[8] != ' ')
            return false;
        for (size_t k = 0; k < N_KEYS; k++)
            n_found += memcmp(card, keys[k], 10) == 0;
    }
    return false;
}

/* --- what the header says ------------------------------------------------- */

/* NPOL counts products in old recorders, where 4 are those of two
 * polarisations; what 2 means depends on the recorder. */
static enum fx8_status count_polarizations(const struct fx8_cards *cards,
                                           const struct fx8_settings *settings,
                                           size_t *n, struct fx8_error *error)
{
    int64_t n_products = 0;
    FX8_TRY(fx8_cards_integer(cards, "NPOL", 1, 4, &n_products, error));
    if (n_products == 3)
        return fx8_cards_refuse(cards, "NPOL", error, "expected 1, 2 or 4");
    *n = n_products == 1 ? 1 : 2;
    if (n_products != 2)
        return FX8_OK;
    *n = (size_t)settings->array.polarizations;
    if (*n > 0)
        return FX8_OK;
    return fx8_cards_refuse(cards, "NPOL", error,
                            "one complex polarisation or two: expected "
                            "array.polarizations = 1 or 2, to say which");
}

/* The order in a block: [antenna, channel][time][pol], or PKTFMT SIMPLE
 * [time][antenna, channel][pol]. */
static void set_layout(struct fx8_frames_shape *shape, bool is_time_first)
{
    const size_t sample = 2 * shape->n_polarizations;
    const size_t n_columns = shape->n_antennas * shape->n_bands;
    shape->n_streams = 1;
    shape->n_rows = is_time_first ? 1 : n_columns;
    shape->record_bytes = is_time_first ? n_columns * sample : sample;
    shape->polarization.byte = 2;
    if (is_time_first) {
        shape->antenna.byte = shape->n_bands * sample;
        shape->band.byte = sample;
    } else {
        shape->antenna.row = shape->n_bands;
        shape->band.row = 1;
    }
}

static enum fx8_status set_shape(const struct fx8_cards *cards,
                                 const struct fx8_settings *settings,
                                 struct fx8_frames_shape *shape,
                                 struct fx8_error *error)
{
    static const struct fx8_cards_keys keys = {"OBSFREQ", "OBSBW", "TBIN", 1.0};
    int64_t n_bits = 0, n_channels = 0, n_antennas = 1;
    FX8_TRY(fx8_cards_integer(cards, "NBITS", 8, 8, &n_bits, error));
    FX8_TRY(fx8_cards_integer(cards, "OBSNCHAN", 1, 65536, &n_channels, error));
    FX8_TRY(
        fx8_cards_integer(cards, "NANTS", 1, n_channels, &n_antennas, error));
    if (n_channels % n_antennas != 0)
        return fx8_cards_refuse(cards, "OBSNCHAN", error,
                                "expected a multiple of NANTS %" PRId64,
                                n_antennas);
    shape->n_antennas = (size_t)n_antennas;
    shape->n_bands = (size_t)(n_channels / n_antennas);
    shape->is_complex = true;
    FX8_TRY(
        count_polarizations(cards, settings, &shape->n_polarizations, error));
    struct fx8_cards_band band;
    FX8_TRY(fx8_cards_band(cards, &keys, shape->n_bands, true,
                           settings->observation.sample_rate, &band, error));
    shape->rate = band.rate;
    shape->dc_frequency_hz = band.dc_frequency_hz;
    shape->band_step_hz = band.step_hz;
    shape->is_descending = band.is_descending;
    shape->sideband =
        band.is_descending ? FX8_SIDEBAND_LOWER : FX8_SIDEBAND_UPPER;
    const char *format = fx8_cards_find(cards, "PKTFMT");
    set_layout(shape, format != NULL && strcmp(format, "SIMPLE") == 0);
    return FX8_OK;
}

/* --- blocks --------------------------------------------------------------- */

static enum fx8_status read_start(const struct fx8_cards *cards,
                                  struct fx8_time *start,
                                  struct fx8_error *error)
{
    int64_t day = -1, second = -1;
    FX8_TRY(
        fx8_cards_integer(cards, "STT_IMJD", UNIX_MJD, 200000, &day, error));
    FX8_TRY(fx8_cards_integer(cards, "STT_SMJD", 0, 86400, &second, error));
    *start = (struct fx8_time){(day - UNIX_MJD) * 86400 + second, 0};
    return fx8_cards_add_seconds(cards, "STT_OFFS", start, error);
}

static enum fx8_status read_block(const struct fx8_frames_reader *reader,
                                  const struct fx8_cards *cards,
                                  struct block *block, struct fx8_error *error)
{
    const int64_t most = INT64_C(1) << 53;
    int64_t is_direct = 0, first_packet = 0;
    block->n_bytes = 0;
    FX8_TRY(
        fx8_cards_integer(cards, "BLOCSIZE", 1, most, &block->n_bytes, error));
    FX8_TRY(fx8_cards_integer(cards, "DIRECTIO", 0, 1, &is_direct, error));
    FX8_TRY(
        fx8_cards_integer(cards, "OVERLAP", 0, most, &block->overlap, error));
    FX8_TRY(fx8_cards_integer(cards, "PKTIDX", 0, most, &block->packet, error));
    FX8_TRY(
        fx8_cards_integer(cards, "PKTSTART", 0, most, &first_packet, error));
    FX8_TRY(fx8_cards_integer(cards, "PIPERBLK", 0, most,
                              &block->packets_of_block, error));
    FX8_TRY(fx8_cards_integer(cards, "PKTSIZE", 0, most, &block->packet_bytes,
                              error));
    FX8_TRY(read_start(cards, &block->start, error));
    block->packet -= first_packet;
    if (is_direct)
        block->samples_at = (block->samples_at + DIRECT_BYTES - 1) /
                            DIRECT_BYTES * DIRECT_BYTES;
    const int64_t left =
        reader->files[reader->open_file].size - block->samples_at;
    if (block->n_bytes > left)
        return fx8_cards_refuse(cards, "BLOCSIZE", error,
                                "block at byte %" PRId64 " has %" PRId64
                                " bytes of it: expected a whole block",
                                block->header_at, left < 0 ? 0 : left);
    return FX8_OK;
}

/* The first sample of a block after the start, by its packets; *is_whole:
 * whether that is a whole number. */
static fx8_wide first_sample(const struct block *block, int64_t n_samples,
                             int64_t sample_bytes, bool *is_whole)
{
    const bool by_blocks = block->packets_of_block > 0;
    const fx8_wide scaled =
        (fx8_wide)block->packet *
        (by_blocks ? n_samples - block->overlap : block->packet_bytes);
    const int64_t unit = by_blocks ? block->packets_of_block : sample_bytes;
    *is_whole = scaled % unit == 0;
    return scaled / unit;
}

/* Add a block as a run of one frame; `end`: sample after the block before. */
static enum fx8_status add_block(struct fx8_frames_reader *reader, size_t file,
                                 const struct fx8_cards *cards,
                                 const struct fx8_frames_shape *shape,
                                 const struct block *block, int64_t *end,
                                 struct fx8_error *error)
{
    const int64_t sample_bytes = (int64_t)(shape->n_rows * shape->record_bytes);
    const int64_t n = block->n_bytes / sample_bytes;
    if (n == 0 || block->n_bytes % sample_bytes != 0)
        return fx8_cards_refuse(cards, "BLOCSIZE", error,
                                "expected a multiple of %" PRId64
                                ", the bytes of all inputs at one time",
                                sample_bytes);
    if (block->overlap >= n)
        return fx8_cards_refuse(
            cards, "OVERLAP", error,
            "expected fewer than %" PRId64 ", the samples of a block", n);
    struct fx8_frames_run run = {.file = file,
                                 .offset = block->samples_at,
                                 .distance = block->n_bytes,
                                 .first_sample = *end,
                                 .n_samples = n,
                                 .frame_samples = n};
    bool is_whole = true;
    if (fx8_cards_find(cards, "PKTIDX") != NULL &&
        block->packets_of_block + block->packet_bytes > 0) {
        const fx8_wide first = first_sample(block, n, sample_bytes, &is_whole);
        is_whole = is_whole && first >= 0 && first < INT64_C(1) << 53;
        run.first_sample = (int64_t)first;
    }
    if (!is_whole || run.first_sample < *end)
        return fx8_cards_refuse(
            cards, "PKTIDX", error,
            "block at byte %" PRId64
            ": expected packets that make whole samples, after those before",
            block->header_at);
    *end = run.first_sample + n - block->overlap;
    return fx8_frames_add(reader, &run, error);
}

static enum fx8_status next_block(struct fx8_frames_reader *reader, size_t file,
                                  const struct fx8_settings *settings,
                                  struct fx8_frames_header *header,
                                  struct block *block, int64_t *end,
                                  struct fx8_error *error)
{
    FX8_AUTO(fx8_cards_clear)
    struct fx8_cards cards = {.path = reader->files[file].path};
    const bool is_first = block->samples_at == 0;
    const struct fx8_time start = block->start;
    struct fx8_frames_shape shape = {0};
    FX8_TRY(read_cards(reader, &block->samples_at, &cards, error));
    FX8_TRY(set_shape(&cards, settings, &shape, error));
    FX8_TRY(read_block(reader, &cards, block, error));
    shape.most_overlap = block->overlap;
    if (is_first) {
        header->shape = shape;
        header->start = block->start;
        fx8_cards_text(&cards, "TELESCOP", header->telescope);
        fx8_cards_text(&cards, "BACKEND", header->instrument);
        fx8_cards_text(&cards, "SRC_NAME", header->object);
    } else if (block->start.unix_s != start.unix_s ||
               block->start.picosecond != start.picosecond)
        return fx8_cards_refuse(&cards, "STT_SMJD", error,
                                "block at byte %" PRId64
                                ": expected the start of the blocks before",
                                block->header_at);
    FX8_TRY(fx8_frames_agree(reader->files[file].path, &shape,
                             reader->files[file].path, &header->shape, error));
    return add_block(reader, file, &cards, &shape, block, end, error);
}

static enum fx8_status guppi_parse(struct fx8_frames_reader *reader,
                                   size_t file,
                                   const struct fx8_settings *settings,
                                   struct fx8_frames_header *header,
                                   struct fx8_error *error)
{
    struct block block = {.header_at = 0};
    int64_t end = 0;
    do {
        block = (struct block){.header_at = block.samples_at + block.n_bytes,
                               .samples_at = block.samples_at + block.n_bytes,
                               .start = block.start};
        FX8_TRY(
            next_block(reader, file, settings, header, &block, &end, error));
    } while (block.samples_at + block.n_bytes < reader->files[file].size);
    return FX8_OK;
}

static enum fx8_status guppi_load(struct fx8_reader *base,
                                  const struct fx8_settings *settings,
                                  struct fx8_error *error)
{
    static const struct fx8_frames_format format = {.parse = guppi_parse};
    return fx8_frames_load(base, settings, &format, error);
}

const struct fx8_reader_format fx8_reader_guppi = {
    .name = "guppi",
    .format = FX8_FORMAT_GUPPI,
    .samples = "data",
    .size = sizeof(struct fx8_frames_reader),
    .sniff = guppi_sniff,
    .load = guppi_load,
    .select = fx8_frames_select,
    .read = fx8_frames_read,
    .close = fx8_frames_close,
};
