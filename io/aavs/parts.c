/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.c -- correct later parts whose time stamps run ahead.
 *
 * When the acquisition continues in a new file, it adds to the time of each
 * block the time elapsed until the last stamp of the previous file, although
 * the block time already includes it.  Some versions may not do so.  A part is
 * put back only if it then follows the previous part to the sample, which a
 * loss of data would not cause.
 *
 * Source: ska-low-mccs-daq, pydaq/persisters: aavs_file.py (ingest_data,
 *         timestamp_pad), channel.py (_write_data, _append_data)
 */
#include <math.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/aavs/aavs_reader.h"
#include "io/h5/h5.h"

/* Time range of a file by its stamps. */
struct part {
    const struct fx8_aavs_file *file;
    struct fx8_aavs_stretch *first; /* of the file's stretches ... */
    struct fx8_aavs_stretch *last;
    double start_s; /* of row 0, accurate enough for sorting */
};

/* Samples from the stamp `from_s` to a row.  Differences of stamps are exact,
 * sums are not. */
static double samples_to(const struct fx8_aavs_stretch *stretch, int64_t row,
                         double from_s, double rate_hz)
{
    return (stretch->stamp_s - from_s) * rate_hz + (double)row + stretch->lag;
}

static int64_t end_row(const struct fx8_aavs_stretch *stretch)
{
    return stretch->first_row + stretch->n_rows;
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->file->tile != y->file->tile)
        return x->file->tile < y->file->tile ? -1 : 1;
    if (x->file->first_channel != y->file->first_channel)
        return x->file->first_channel < y->file->first_channel ? -1 : 1;
    return x->start_s < y->start_s ? -1 : x->start_s > y->start_s;
}

/*
 * Put a part back if it runs ahead by the time elapsed until the end of the
 * previous part.  `stamped` is the last stretch of that part by its stamps,
 * `before` its corrected position.
 */
static void put_back(struct part *part, const struct fx8_aavs_stretch *stamped,
                     const struct fx8_aavs_stretch *before, double rate_hz)
{
    const double passed =
        samples_to(stamped, end_row(stamped), part->file->start_s, rate_hz);
    const double apart = samples_to(part->first, 0, before->stamp_s, rate_hz) -
                         (double)end_row(before) - before->lag;
    /* these sums are rounded to twice the resolution of a stamp; a part at the
     * start of the recording cannot run ahead; start_s may be NaN */
    if (!(passed > 1.0) || !(fabs(apart - passed) < 1.0))
        return;
    const double shift =
        before->lag + (double)end_row(before) - part->first->lag;
    for (struct fx8_aavs_stretch *s = part->first; s <= part->last; s++) {
        s->stamp_s = before->stamp_s;
        s->lag += shift;
    }
}

/* List the stretches of each file, sorted by tile, channels and time. */
static void list_parts(struct fx8_aavs_reader *reader, struct part *parts,
                       double rate_hz)
{
    for (size_t i = 0; i < reader->stretches.n; i++) {
        struct fx8_aavs_stretch *stretch = &reader->stretches.items[i];
        struct part *part = &parts[stretch->file];
        if (part->first == NULL) {
            part->file = &reader->files[stretch->file];
            part->first = stretch;
            part->start_s = stretch->stamp_s + stretch->lag / rate_hz;
        }
        part->last = stretch;
    }
    qsort(parts, reader->n_files, sizeof *parts, compare_parts);
}

enum fx8_status fx8_aavs_put_back(struct fx8_aavs_reader *reader,
                                  struct fx8_error *error)
{
    const double rate_hz = fx8_rate_hz(reader->base.observation.sample_rate);
    FX8_AUTO_FREE struct part *parts = NULL;
    FX8_TRY(
        fx8_allocate(reader->n_files, sizeof *parts, "parts", &parts, error));
    list_parts(reader, parts, rate_hz);
    struct fx8_aavs_stretch stamped = *parts[0].last;
    for (size_t i = 1; i < reader->n_files; i++) {
        const struct fx8_aavs_stretch own = *parts[i].last;
        if (parts[i].file->tile == parts[i - 1].file->tile &&
            parts[i].file->first_channel == parts[i - 1].file->first_channel)
            put_back(&parts[i], &stamped, parts[i - 1].last, rate_hz);
        stamped = own;
    }
    return FX8_OK;
}
