/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.c -- plain files as one recording: compared with each other, gathered
 * in sets, placed in time, gaps as missing samples.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/divisor.h"
#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/read_files.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/frames/frames_private.h"
#include "io/refuse.h"

/* Largest index of a sample: differences and sums stay far below 2^63, and
 * half samples times a rate's denominator below 2^86. */
#define MOST_SAMPLES (INT64_C(1) << 53)

/* --- files ---------------------------------------------------------------- */

enum fx8_status fx8_frames_open(struct fx8_frames_reader *reader, size_t number,
                                struct fx8_error *error)
{
    struct fx8_frames_file *file = &reader->files[number];
    struct stat status;
    if (reader->descriptor >= 0 && reader->open_file == number)
        return FX8_OK;
    if (reader->descriptor >= 0)
        close(reader->descriptor);
    /* O_NONBLOCK: a pipe is refused, not waited for */
    reader->descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    reader->open_file = number;
    if (reader->descriptor < 0 || fstat(reader->descriptor, &status) != 0)
        return fx8_refuse(error, file->path, strerror(errno),
                          "expected a readable file");
    if (!S_ISREG(status.st_mode))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: not a regular file: expected a recording",
                        file->path);
    if (!fx8_read_files_add(&status))
        return fx8_no_memory("the names of files", error);
    file->size = status.st_size;
    return FX8_OK;
}

enum fx8_status fx8_frames_bytes(const struct fx8_frames_reader *reader,
                                 int64_t offset, size_t n, void *bytes,
                                 struct fx8_error *error)
{
    const char *path = reader->files[reader->open_file].path;
    char *to = bytes;
    while (n > 0) {
        const ssize_t got = pread(reader->descriptor, to, n, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fx8_refuse(error, path, "data",
                              "byte %" PRId64 ": %s: expected a readable file",
                              offset, strerror(errno));
        if (got == 0)
            return fx8_refuse(error, path, "data",
                              "ends at byte %" PRId64
                              ": expected %zu %s more, a whole file",
                              offset, FX8_COUNTED(n, "byte", "bytes"));
        to += got;
        offset += got;
        n -= (size_t)got;
    }
    return FX8_OK;
}

enum fx8_status fx8_frames_add(struct fx8_frames_reader *reader,
                               const struct fx8_frames_run *run,
                               struct fx8_error *error)
{
    struct fx8_frames_file *file = &reader->files[run->file];
    const int64_t first = run->first_sample;
    if (first < 0 || run->n_samples < 1 || run->n_samples > MOST_SAMPLES ||
        first > MOST_SAMPLES - run->n_samples)
        return fx8_refuse(error, file->path, "data",
                          "%" PRId64 " samples from %" PRId64
                          ": expected samples of 0 to 2^53 after the start",
                          run->n_samples, first);
    FX8_TRY(fx8_grow(&reader->runs, reader->n_runs, sizeof *run,
                     "frames of a recording", error));
    reader->runs[reader->n_runs++] = *run;
    if (file->first == file->end || first < file->first)
        file->first = first;
    if (first + run->n_samples > file->end)
        file->end = first + run->n_samples;
    return FX8_OK;
}

/* --- the same in all files ------------------------------------------------ */

enum fx8_status fx8_frames_agree(const char *path,
                                 const struct fx8_frames_shape *a,
                                 const char *other,
                                 const struct fx8_frames_shape *b,
                                 struct fx8_error *error)
{
    const struct {
        const char *name;
        double value, expected;
    } items[] = {
        {"antennas", (double)a->n_antennas, (double)b->n_antennas},
        {"polarisations", (double)a->n_polarizations,
         (double)b->n_polarizations},
        {"streams", (double)a->n_streams, (double)b->n_streams},
        {"coarse channels", (double)a->n_bands, (double)b->n_bands},
        {"numbers of a sample", a->is_complex ? 2 : 1, b->is_complex ? 2 : 1},
        {"sampling rate (Hz)", fx8_rate_hz(a->rate), fx8_rate_hz(b->rate)},
        {"frequency (Hz)", a->dc_frequency_hz, b->dc_frequency_hz},
        {"spacing of channels (Hz)", a->band_step_hz, b->band_step_hz},
        {"sideband", (double)a->sideband, (double)b->sideband},
        {"rows of a frame", (double)a->n_rows, (double)b->n_rows},
        {"step of polarisations (bytes)", (double)a->polarization.byte,
         (double)b->polarization.byte},
        {"overlap (samples)", (double)a->most_overlap, (double)b->most_overlap},
    };
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++)
        if (items[i].value != items[i].expected &&
            !(isnan(items[i].value) && isnan(items[i].expected)))
            return fx8_refuse(error, path, items[i].name,
                              "%.12g: expected %.12g, as in %s", items[i].value,
                              items[i].expected, other);
    return FX8_OK;
}

/* --- time ----------------------------------------------------------------- */

/* The sample of the grid of the first file at a file's start, which may be
 * negative. */
static enum fx8_status place(const struct fx8_frames_file *first,
                             struct fx8_frames_file *file,
                             struct fx8_error *error)
{
    const struct fx8_rate rate = first->header.shape.rate;
    const struct fx8_time a = first->header.start, b = file->header.start;
    const fx8_wide after_ps =
        (fx8_wide)(b.unix_s - a.unix_s) * FX8_PICOSECONDS +
        (b.picosecond - a.picosecond);
    const fx8_wide unit = (fx8_wide)rate.denominator * FX8_PICOSECONDS;
    if (after_ps > (fx8_wide)(FX8_READER_LONGEST_S * 1e12) ||
        after_ps < -(fx8_wide)(FX8_READER_LONGEST_S * 1e12))
        return fx8_refuse(error, file->path, "start",
                          "%" PRId64 " s after that of %s: expected files of "
                          "one recording, at most %g s long",
                          b.unix_s - a.unix_s, first->path,
                          FX8_READER_LONGEST_S);
    /* rounded to the nearest: the division truncates towards 0 */
    const fx8_wide length = after_ps * rate.numerator_hz;
    const fx8_wide half = length < 0 ? -unit / 2 : unit / 2;
    const fx8_wide nearest = (length + half) / unit;
    const double off = (double)(length - nearest * unit) / (double)unit;
    if (fabs(off) > FX8_READER_MOST_OFF)
        return fx8_refuse(error, file->path, "start",
                          "%+.3g samples off the sampling of %s: expected at "
                          "most %.3g",
                          off, first->path, FX8_READER_MOST_OFF);
    file->origin = (int64_t)nearest;
    file->first += file->origin;
    file->end += file->origin;
    return FX8_OK;
}

/* A file goes on where the one before it ends; or it begins another set, if it
 * was recorded at the same time as a file of this one. */
static enum fx8_status choose_set(struct fx8_frames_reader *reader, size_t k,
                                  struct fx8_error *error)
{
    struct fx8_frames_file *file = &reader->files[k];
    if (k == 0) {
        reader->n_sets = 1;
        return FX8_OK;
    }
    const struct fx8_frames_file *before = &reader->files[k - 1];
    file->set = before->set;
    bool is_other = file->header.station != before->header.station;
    if (!is_other &&
        file->first >= before->end - file->header.shape.most_overlap)
        return FX8_OK;
    for (size_t i = k; i-- > 0 && reader->files[i].set == before->set;)
        is_other = is_other || (file->first < reader->files[i].end &&
                                file->end > reader->files[i].first);
    if (!is_other)
        return fx8_refuse(error, file->path, "start",
                          "before %s: expected the files of an antenna in "
                          "order of time, then those of the next antenna",
                          before->path);
    file->set = reader->n_sets++;
    return FX8_OK;
}

/* --- runs ----------------------------------------------------------------- */

static int compare_runs(const void *a, const void *b)
{
    const struct fx8_frames_run *x = a, *y = b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->first_sample > y->first_sample) -
           (x->first_sample < y->first_sample);
}

/* Cut what neighbouring frames repeat. */
static enum fx8_status cut_overlaps(struct fx8_frames_reader *reader,
                                    struct fx8_error *error)
{
    const int64_t most = reader->files[0].header.shape.most_overlap;
    for (size_t i = 1; i < reader->n_runs; i++) {
        struct fx8_frames_run *before = &reader->runs[i - 1];
        const struct fx8_frames_run *run = &reader->runs[i];
        const int64_t overlap =
            before->first_sample + before->n_samples - run->first_sample;
        if (run->stream != before->stream)
            continue;
        if (run->file == before->file && run->offset < before->offset)
            return fx8_refuse(error, reader->files[run->file].path, "data",
                              "samples of byte %" PRId64 " are earlier than "
                              "those of byte %" PRId64
                              ": expected frames in order of time",
                              before->offset, run->offset);
        if (overlap <= 0)
            continue;
        if (overlap > most || overlap >= before->n_samples)
            return fx8_refuse(error, reader->files[run->file].path, "data",
                              "%" PRId64 " %s from byte %" PRId64
                              " recorded before: expected at most %" PRId64,
                              FX8_COUNTED(overlap, "sample", "samples"),
                              run->offset, most);
        before->n_samples -= overlap;
    }
    return FX8_OK;
}

/* List samples [first, end) of a stream as missing. */
static enum fx8_status list_gap(struct fx8_frames_reader *reader, size_t stream,
                                int64_t first, int64_t end,
                                struct fx8_error *error)
{
    const struct fx8_frames_shape *shape = &reader->files[0].header.shape;
    struct fx8_missing gap = {first, end - first, -1, -1, -1};
    const size_t set = stream / shape->n_streams;
    const size_t n =
        reader->n_sets == 1 && shape->n_streams == 1 ? 1 : shape->n_antennas;
    if (first >= end)
        return FX8_OK;
    if (shape->n_streams > 1)
        gap.polarization = (int32_t)(stream % shape->n_streams);
    for (size_t i = 0; i < n; i++) {
        if (n > 1 || reader->n_sets > 1 || shape->n_streams > 1)
            gap.antenna = (int32_t)(set * shape->n_antennas + i);
        FX8_TRY(fx8_missing_add(&reader->base.missing, &reader->base.n_missing,
                                &gap, error));
    }
    return FX8_OK;
}

static enum fx8_status list_gaps(struct fx8_frames_reader *reader,
                                 struct fx8_error *error)
{
    const int64_t length = reader->base.observation.n_samples;
    const size_t n_streams =
        reader->n_sets * reader->files[0].header.shape.n_streams;
    size_t i = 0;
    for (size_t stream = 0; stream < n_streams; stream++) {
        int64_t end = 0;
        for (; i < reader->n_runs && reader->runs[i].stream == stream; i++) {
            const struct fx8_frames_run *run = &reader->runs[i];
            FX8_TRY(list_gap(reader, stream, end, run->first_sample, error));
            end = run->first_sample + run->n_samples;
        }
        FX8_TRY(list_gap(reader, stream, end, length, error));
    }
    return FX8_OK;
}

/* --- the recording -------------------------------------------------------- */

/* Sets that have no time in common are files in the wrong order, or of no use.
 */
static enum fx8_status check_common(const struct fx8_frames_reader *reader,
                                    struct fx8_error *error)
{
    const struct fx8_frames_file *late = &reader->files[0];
    const struct fx8_frames_file *early = NULL;
    for (size_t i = 0; i < reader->n_files; i++) {
        const struct fx8_frames_file *file = &reader->files[i];
        const bool is_first = i == 0 || file->set != file[-1].set;
        const bool is_last =
            i + 1 == reader->n_files || file->set != file[1].set;
        if (is_first && file->first > late->first)
            late = file;
        if (is_last && (early == NULL || file->end < early->end))
            early = file;
    }
    if (late->first < early->end)
        return FX8_OK;
    return fx8_refuse(error, late->path, "start",
                      "after the end of %s: expected antennas recorded at the "
                      "same time, all files of one before those of the next",
                      early->path);
}

/* Count samples from the earliest one. */
static enum fx8_status set_extent(struct fx8_frames_reader *reader,
                                  struct fx8_error *error)
{
    struct fx8_observation *o = &reader->base.observation;
    const struct fx8_frames_shape *shape = &reader->files[0].header.shape;
    int64_t first = reader->files[0].first, end = reader->files[0].end;
    for (size_t i = 1; i < reader->n_files; i++) {
        const struct fx8_frames_file *file = &reader->files[i];
        first = file->first < first ? file->first : first;
        end = file->end > end ? file->end : end;
    }
    o->n_samples = end - first;
    if ((double)o->n_samples > fx8_rate_hz(shape->rate) * FX8_READER_LONGEST_S)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: data: %.9g s from first to last sample: expected "
                        "at most %g s",
                        reader->base.path,
                        (double)o->n_samples / fx8_rate_hz(shape->rate),
                        FX8_READER_LONGEST_S);
    o->has_start_time = true;
    o->start_time = fx8_time_add_half_samples(reader->files[0].header.start,
                                              2 * first, shape->rate);
    for (size_t i = 0; i < reader->n_files; i++)
        reader->files[i].origin -= first;
    for (size_t i = 0; i < reader->n_runs; i++) {
        struct fx8_frames_run *run = &reader->runs[i];
        const struct fx8_frames_file *file = &reader->files[run->file];
        run->first_sample += file->origin;
        run->stream += file->set * shape->n_streams;
    }
    return FX8_OK;
}

static enum fx8_status set_observation(struct fx8_frames_reader *reader,
                                       struct fx8_error *error)
{
    struct fx8_observation *o = &reader->base.observation;
    const struct fx8_frames_header *header = &reader->files[0].header;
    const struct fx8_frames_shape *shape = &header->shape;
    if (reader->n_sets > FX8_READER_MAX_ANTENNAS / shape->n_antennas)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: antennas: %zu x %zu: expected at most %d",
                        reader->base.path, reader->n_sets, shape->n_antennas,
                        FX8_READER_MAX_ANTENNAS);
    o->n_antennas = reader->n_sets * shape->n_antennas;
    o->n_polarizations = shape->n_polarizations;
    o->is_complex = shape->is_complex;
    o->sample_rate = shape->rate;
    o->dc_frequency_hz = shape->dc_frequency_hz;
    o->sideband = shape->sideband;
    memcpy(o->telescope, header->telescope, sizeof o->telescope);
    memcpy(o->instrument, header->instrument, sizeof o->instrument);
    memcpy(o->object, header->object, sizeof o->object);
    o->n_bands = shape->n_bands;
    if (shape->n_bands == 1)
        return FX8_OK;
    FX8_TRY(fx8_allocate(o->n_bands, sizeof *o->band_offset_hz, "bands",
                         &o->band_offset_hz, error));
    for (size_t band = 0; band < o->n_bands; band++)
        o->band_offset_hz[band] = (double)band * shape->band_step_hz;
    return FX8_OK;
}

enum fx8_status fx8_frames_load(struct fx8_reader *base,
                                const struct fx8_settings *settings,
                                const struct fx8_frames_format *format,
                                struct fx8_error *error)
{
    struct fx8_frames_reader *reader = (struct fx8_frames_reader *)base;
    const size_t n = base->paths.count;
    reader->format = format;
    reader->descriptor = -1;
    FX8_TRY(fx8_allocate(n, sizeof *reader->files, "files of a recording",
                         &reader->files, error));
    reader->n_files = n;
    for (size_t i = 0; i < n; i++) {
        struct fx8_frames_file *file = &reader->files[i];
        file->path = base->paths.items[i];
        FX8_TRY(fx8_frames_open(reader, i, error));
        FX8_TRY(format->parse(reader, i, settings, &file->header, error));
        FX8_TRY(fx8_frames_agree(file->path, &file->header.shape,
                                 reader->files[0].path,
                                 &reader->files[0].header.shape, error));
        FX8_TRY(place(&reader->files[0], file, error));
        FX8_TRY(choose_set(reader, i, error));
    }
    FX8_TRY(check_common(reader, error));
    FX8_TRY(set_extent(reader, error));
    FX8_TRY(set_observation(reader, error));
    if (reader->n_runs > 1)
        qsort(reader->runs, reader->n_runs, sizeof *reader->runs, compare_runs);
    FX8_TRY(cut_overlaps(reader, error));
    return list_gaps(reader, error);
}
