/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vdif_reader.c -- VDIF (VLBI Data Interchange Format, release 1.1.1): frames
 * of a header of 32 bytes (16 in legacy mode), little-endian words, and samples
 * of 8 bits in offset binary (data/README.md).  The polarisations of an antenna
 * are two threads, or two channels of one thread.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/try.h"
#include "io/frames/frames.h"
#include "io/refuse.h"

enum { HEADER_BYTES = 32, LEGACY_BYTES = 16 };

/* Frames that show which threads a file has. */
enum { FIRST_FRAMES = 64 };

/* A header. */
struct header {
    bool is_invalid, is_legacy, is_complex;
    int64_t second; /* Unix */
    int64_t number; /* of the frame in its second */
    int64_t frame_bytes;
    unsigned version, log2_channels, bits, thread, station;
    int64_t rate_hz; /* 0: not recorded */
    uint64_t kind;   /* length, channels, bits, thread, station: words 2, 3 */
};

#define THREAD_BITS (UINT64_C(1023) << 16)

static unsigned bits_of(uint32_t word, int first, int n)
{
    return word >> first & ((1U << n) - 1);
}

/* Unix time of a reference epoch: the half-years since 2000. */
static int64_t epoch_s(unsigned epoch)
{
    const unsigned year = 2000 + epoch / 2;
    char text[FX8_NUMBER_TEXT_SIZE];
    struct fx8_time time = {0, 0};
    snprintf(text, sizeof text, "%04u-%s-01T00:00:00Z", year,
             epoch % 2 == 0 ? "01" : "07");
    (void)fx8_number_time(text, &time); /* 2000 to 2031: always a date */
    return time.unix_s;
}

static struct header decode(const uint8_t bytes[HEADER_BYTES])
{
    uint32_t words[5];
    for (int i = 0; i < 5; i++)
        words[i] = (uint32_t)bytes[4 * i] | (uint32_t)bytes[4 * i + 1] << 8 |
                   (uint32_t)bytes[4 * i + 2] << 16 |
                   (uint32_t)bytes[4 * i + 3] << 24;
    struct header h = {
        .is_invalid = bits_of(words[0], 31, 1) != 0,
        .is_legacy = bits_of(words[0], 30, 1) != 0,
        .second = epoch_s(bits_of(words[1], 24, 6)) + bits_of(words[0], 0, 30),
        .number = bits_of(words[1], 0, 24),
        .version = bits_of(words[2], 29, 3),
        .log2_channels = bits_of(words[2], 24, 5),
        .frame_bytes = (int64_t)bits_of(words[2], 0, 24) * 8,
        .is_complex = bits_of(words[3], 31, 1) != 0,
        .bits = bits_of(words[3], 26, 5) + 1,
        .thread = bits_of(words[3], 16, 10),
        .station = bits_of(words[3], 0, 16),
        .kind = (uint64_t)words[2] << 32 | words[3],
    };
    if (h.is_legacy)
        return h;
    /* NICT's and the VLBA's extensions: the width of a channel in kHz or MHz */
    const unsigned extension = bits_of(words[4], 24, 8);
    if (extension == 1 || extension == 3)
        h.rate_hz = (int64_t)bits_of(words[4], 0, 23) *
                    (bits_of(words[4], 23, 1) != 0 ? 1000000 : 1000) *
                    (h.is_complex ? 1 : 2);
    return h;
}

static int64_t header_bytes(const struct header *header)
{
    return header->is_legacy ? LEGACY_BYTES : HEADER_BYTES;
}

/* Frames of one thread since a second; -1: none of one recording. */
static int64_t frame_index(const struct header *header, int64_t since_s,
                           int64_t frames_per_s)
{
    const int64_t seconds = header->second - since_s;
    return seconds < 0 || seconds > (int64_t)FX8_READER_LONGEST_S
               ? -1
               : seconds * frames_per_s + header->number;
}

/* Whether headers differ at most in time and thread. */
static bool is_same_kind(const struct header *a, const struct header *b)
{
    return a->is_legacy == b->is_legacy &&
           ((a->kind ^ b->kind) & ~THREAD_BITS) == 0;
}

/* Two headers of a kind in a row: VDIF has no signature. */
static bool vdif_sniff(const struct fx8_file_start *start)
{
    if (start->n < HEADER_BYTES)
        return false;
    const struct header first = decode(start->bytes);
    const size_t next = (size_t)first.frame_bytes;
    if (first.frame_bytes <= header_bytes(&first) || first.version > 1 ||
        first.second > epoch_s(63) + 200 * 86400)
        return false;
    if (first.frame_bytes == start->size)
        return true;
    if (next + HEADER_BYTES > start->n)
        return false;
    const struct header second = decode(start->bytes + next);
    return is_same_kind(&first, &second) && second.second - first.second >= 0 &&
           second.second - first.second <= 1;
}

/* --- a file --------------------------------------------------------------- */

/* A file that is searched for gaps. */
struct scan {
    struct fx8_frames_reader *reader;
    size_t file;
    const char *path;
    struct header first; /* its first frame */
    int64_t frames_per_s;
    int64_t frame_samples;
    unsigned threads[2]; /* ascending */
    int64_t n_threads;
    struct fx8_error *error;
};

static enum fx8_status read_header(const struct scan *scan, int64_t frame,
                                   struct header *header)
{
    uint8_t bytes[HEADER_BYTES];
    FX8_TRY(fx8_frames_bytes(scan->reader, frame * scan->first.frame_bytes,
                             HEADER_BYTES, bytes, scan->error));
    *header = decode(bytes);
    if (!is_same_kind(header, &scan->first))
        return fx8_refuse(scan->error, scan->path, "header",
                          "frame %" PRId64 ": expected length, channels, bits "
                          "and station of the first frame",
                          frame);
    if (header->number >= scan->frames_per_s && scan->frames_per_s > 0)
        return fx8_refuse(scan->error, scan->path, "header",
                          "frame %" PRId64 ": number %" PRId64
                          " in its second: expected less than %" PRId64
                          ", the frames of a second at this sampling rate",
                          frame, header->number, scan->frames_per_s);
    return FX8_OK;
}

static enum fx8_status find_threads(struct scan *scan, int64_t n_frames)
{
    for (int64_t i = 0; i < n_frames && i < FIRST_FRAMES; i++) {
        struct header header;
        FX8_TRY(read_header(scan, i, &header));
        int64_t k = 0;
        while (k < scan->n_threads && scan->threads[k] != header.thread)
            k++;
        if (k < scan->n_threads)
            continue;
        if (scan->n_threads == 2)
            return fx8_refuse(scan->error, scan->path, "header",
                              "threads %u, %u and %u: expected one, or two "
                              "that are polarisations",
                              scan->threads[0], scan->threads[1],
                              header.thread);
        scan->threads[scan->n_threads++] = header.thread;
    }
    if (scan->n_threads == 2 && scan->threads[1] < scan->threads[0]) {
        const unsigned larger = scan->threads[0];
        scan->threads[0] = scan->threads[1];
        scan->threads[1] = larger;
    }
    return FX8_OK;
}

/* Frames of one thread since the file's first second. */
static int64_t index_of(const struct scan *scan, const struct header *header)
{
    return frame_index(header, scan->first.second, scan->frames_per_s);
}

/* Add `n` frames of one thread, each `scan->n_threads` frames after the last
 * if there are several. */
static enum fx8_status add_frames(const struct scan *scan, int64_t frame,
                                  int64_t n, const struct header *header)
{
    const int64_t most = (INT64_C(1) << 53) / scan->frame_samples;
    const int64_t index = index_of(scan, header);
    if (header->thread != scan->threads[0] &&
        (scan->n_threads == 1 || header->thread != scan->threads[1]))
        return fx8_refuse(scan->error, scan->path, "header",
                          "frame %" PRId64 ": thread %u: expected those of "
                          "the first frames",
                          frame, header->thread);
    if (index < 0 || index > most)
        return fx8_refuse(scan->error, scan->path, "header",
                          "frame %" PRId64 ": %" PRId64 " s after the first: "
                          "expected frames of one recording, in order of time",
                          frame, header->second - scan->first.second);
    const struct fx8_frames_run run = {
        .file = scan->file,
        .stream = header->thread == scan->threads[0] ? 0 : 1,
        .offset = frame * scan->first.frame_bytes + header_bytes(header),
        .distance = scan->n_threads * scan->first.frame_bytes,
        .first_sample = index * scan->frame_samples,
        .n_samples = n * scan->frame_samples,
        .frame_samples = scan->frame_samples,
        .mark = header->kind};
    return fx8_frames_add(scan->reader, &run, scan->error);
}

/* Add frames [first, first + n), n a multiple of the threads, as runs if the
 * last ones come as long after the first ones as there are frames between them;
 * *is_whole: whether they did.  judge() looks at each frame as it is read. */
static enum fx8_status add_whole(const struct scan *scan, int64_t first,
                                 int64_t n, bool *is_whole)
{
    struct header from[2], to[2];
    *is_whole = true;
    for (int64_t k = 0; k < scan->n_threads; k++) {
        FX8_TRY(read_header(scan, first + k, &from[k]));
        FX8_TRY(read_header(scan, first + n - scan->n_threads + k, &to[k]));
        *is_whole = *is_whole && from[k].thread == to[k].thread &&
                    (k == 0 || from[0].thread != from[1].thread) &&
                    index_of(scan, &to[k]) - index_of(scan, &from[k]) ==
                        n / scan->n_threads - 1;
    }
    for (int64_t k = 0; k < scan->n_threads && *is_whole; k++)
        FX8_TRY(add_frames(scan, first + k, n / scan->n_threads, &from[k]));
    return FX8_OK;
}

/* Add frames [first, first + n): halves, until they are without gaps. */
static enum fx8_status add_range(const struct scan *scan, int64_t first,
                                 int64_t n)
{
    const int64_t most = n / scan->n_threads * scan->n_threads;
    bool is_whole = false;
    if (most > 0)
        FX8_TRY(add_whole(scan, first, most, &is_whole));
    if (!is_whole && n == 1) {
        struct header header;
        FX8_TRY(read_header(scan, first, &header));
        return add_frames(scan, first, 1, &header);
    }
    const int64_t half = is_whole ? most : n / 2;
    if (!is_whole)
        FX8_TRY(add_range(scan, first, half));
    return n > half ? add_range(scan, first + half, n - half) : FX8_OK;
}

/* --- shape ---------------------------------------------------------------- */

static enum fx8_status choose_rate(struct scan *scan, struct fx8_rate given,
                                   struct fx8_rate *rate)
{
    *rate = (struct fx8_rate){scan->first.rate_hz, 1};
    if (given.numerator_hz > 0)
        *rate = fx8_rate_reduced(given);
    if (rate->numerator_hz == 0)
        return fx8_refuse(scan->error, scan->path, "header",
                          "no sampling rate: expected "
                          "observation.sample_rate_hz");
    if (rate->denominator != 1 || rate->numerator_hz > FX8_FRAMES_FASTEST_HZ ||
        rate->numerator_hz % scan->frame_samples != 0)
        return fx8_refuse(
            scan->error, scan->path, "header",
            "%.12g Hz in frames of %" PRId64 " %s: expected a "
            "whole number of frames a second",
            fx8_rate_hz(*rate),
            FX8_COUNTED(scan->frame_samples, "sample", "samples"));
    scan->frames_per_s = rate->numerator_hz / scan->frame_samples;
    return FX8_OK;
}

/* Check the first header and count its channels. */
static enum fx8_status check_first(const struct scan *scan, int64_t *n_frames)
{
    const struct header *h = &scan->first;
    const int64_t size = scan->reader->files[scan->file].size;
    const int64_t payload = h->frame_bytes - header_bytes(h);
    if (h->bits != 8)
        return fx8_refuse(scan->error, scan->path, "header",
                          "%u bits a sample: expected 8", h->bits);
    if (h->log2_channels > 1)
        return fx8_refuse(scan->error, scan->path, "header",
                          "%" PRId64 " channels: expected one, or two that "
                          "are polarisations",
                          INT64_C(1) << h->log2_channels);
    const int64_t record = (int64_t)(h->is_complex ? 2 : 1) << h->log2_channels;
    if (h->frame_bytes <= HEADER_BYTES || payload % record != 0)
        return fx8_refuse(scan->error, scan->path, "header",
                          "frames of %" PRId64 " bytes: expected more than %d",
                          h->frame_bytes, HEADER_BYTES);
    *n_frames = size / h->frame_bytes;
    if (size % h->frame_bytes != 0)
        return fx8_refuse(scan->error, scan->path, "data",
                          "%" PRId64 " bytes after the last whole frame of "
                          "%" PRId64 ": expected whole frames",
                          size % h->frame_bytes, h->frame_bytes);
    return FX8_OK;
}

static void set_shape(const struct scan *scan, struct fx8_rate rate,
                      struct fx8_frames_shape *shape)
{
    const size_t part = scan->first.is_complex ? 2 : 1;
    const size_t n_channels = (size_t)1 << scan->first.log2_channels;
    *shape = (struct fx8_frames_shape){
        .n_antennas = 1,
        .n_polarizations = n_channels * (size_t)scan->n_threads,
        .n_bands = 1,
        .is_complex = scan->first.is_complex,
        .is_offset = true,
        .rate = rate,
        .dc_frequency_hz = NAN,
        .n_streams = (size_t)scan->n_threads,
        .n_rows = 1,
        .header_bytes = (size_t)header_bytes(&scan->first),
        .record_bytes = n_channels * part,
        .polarization = {.stream = scan->n_threads > 1 ? 1 : 0,
                         .byte = scan->n_threads > 1 ? 0 : part}};
}

static enum fx8_status vdif_parse(struct fx8_frames_reader *reader, size_t file,
                                  const struct fx8_settings *settings,
                                  struct fx8_frames_header *header,
                                  struct fx8_error *error)
{
    struct scan scan = {.reader = reader,
                        .file = file,
                        .path = reader->files[file].path,
                        .error = error};
    uint8_t bytes[HEADER_BYTES];
    int64_t n_frames = 0;
    struct fx8_rate rate;
    FX8_TRY(fx8_frames_bytes(reader, 0, HEADER_BYTES, bytes, error));
    scan.first = decode(bytes);
    FX8_TRY(check_first(&scan, &n_frames));
    const int64_t payload = scan.first.frame_bytes - header_bytes(&scan.first);
    scan.frame_samples =
        (payload / (scan.first.is_complex ? 2 : 1)) >> scan.first.log2_channels;
    FX8_TRY(choose_rate(&scan, settings->observation.sample_rate, &rate));
    FX8_TRY(find_threads(&scan, n_frames));
    if (scan.n_threads == 2 && scan.first.log2_channels > 0)
        return fx8_refuse(error, scan.path, "header",
                          "2 threads of 2 channels: expected one or two "
                          "polarisations");
    set_shape(&scan, rate, &header->shape);
    header->start = (struct fx8_time){scan.first.second, 0};
    header->station = scan.first.station;
    return add_range(&scan, 0, n_frames);
}

/* --- reading -------------------------------------------------------------- */

static enum fx8_status vdif_judge(const struct fx8_frames_reader *reader,
                                  const struct fx8_frames_run *run,
                                  int64_t sample, const uint8_t *bytes,
                                  bool *is_valid, struct fx8_error *error)
{
    const struct fx8_frames_file *file = &reader->files[run->file];
    const struct fx8_frames_shape *shape = &file->header.shape;
    const struct header header = decode(bytes);
    const int64_t wanted = (sample - file->origin) / run->frame_samples;
    const int64_t index =
        frame_index(&header, file->header.start.unix_s,
                    shape->rate.numerator_hz / run->frame_samples);
    if (index != wanted || header.kind != run->mark)
        return fx8_refuse(error, file->path, "header",
                          "frame %" PRId64 " after the first second, thread "
                          "%u, where %" PRId64 " of thread %u belongs: "
                          "expected frames in order of time, all of a kind",
                          index, header.thread, wanted,
                          (unsigned)((run->mark & THREAD_BITS) >> 16));
    *is_valid = !header.is_invalid;
    return FX8_OK;
}

static enum fx8_status vdif_load(struct fx8_reader *base,
                                 const struct fx8_settings *settings,
                                 struct fx8_error *error)
{
    static const struct fx8_frames_format format = {.parse = vdif_parse,
                                                    .judge = vdif_judge};
    return fx8_frames_load(base, settings, &format, error);
}

const struct fx8_reader_format fx8_reader_vdif = {
    .name = "vdif",
    .format = FX8_FORMAT_VDIF,
    .samples = "data",
    .size = sizeof(struct fx8_frames_reader),
    .sniff = vdif_sniff,
    .load = vdif_load,
    .select = fx8_frames_select,
    .read = fx8_frames_read,
    .close = fx8_frames_close,
};
