/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * time.c -- gap-free stretches of a channel file, from the time stamps of its
 * samples; later parts whose stamps run ahead.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/aavs/aavs_reader.h"
#include "io/h5/h5.h"

/* Stamps read at a time, and most rows between two stamps read. */
#define PIECE 65536

/* Smaller blocks: read all stamps, as two reads per block would be slower. */
#define LEAST_SPARSE 4096

/* Most stretches of a file: no real recording has more gaps. */
#define MOST_STRETCHES 65536

/* Tolerance, in samples, of a stamp against the line through its stretch,
 * besides rounding. */
#define MOST_OFF 0.1

/* Coarsest resolution of time stamps, in samples, that still reveals a gap: a
 * stamp is at most one step off its line, a lost sample shifts it by one
 * sample. */
#define MOST_STEP 0.45

/* A stretch that grows stamp by stamp.  Lags are in samples: how much later a
 * row was stamped than `row / fs` after the file's first stamp. */
struct fit {
    const struct fx8_aavs_file *file;
    size_t index;
    double rate_hz;
    double stamp_s;      /* of row 0 */
    double step_samples; /* spacing of doubles there, in samples */
    struct fx8_aavs_stretches *stretches;
    size_t n_before;
    int64_t first_row;
    int64_t n_stamps;
    double sum;
    double last;        /* lag of the previous stamp */
    double least, most; /* lags ... */
    int64_t least_row, most_row;
};

static enum fx8_status fail_row(const struct fit *fit, int64_t row, double off,
                                const char *expected, struct fx8_error *error)
{
    return fx8_refuse(error, fit->file->path, FX8_AAVS_STAMPS,
                      "row %" PRId64 ": %+.3g samples off: expected %s", row,
                      off, expected);
}

/* Report a wrong rate, and where it comes from. */
static enum fx8_status fail_rate(const struct fit *fit, int64_t row, double off,
                                 struct fx8_error *error)
{
    const bool is_recorded = fit->file->rate.numerator_hz > 0;
    char expected[128];
    snprintf(expected, sizeof expected,
             "time stamps at a steady sampling rate, %.12g Hz (%s)",
             fit->rate_hz,
             is_recorded ? "tsamp, or observation.sample_rate_hz"
                         : "observation.sample_rate_hz; no tsamp");
    return fail_row(fit, row, off, expected, error);
}

static enum fx8_status append(struct fit *fit,
                              const struct fx8_aavs_stretch *stretch,
                              struct fx8_error *error)
{
    struct fx8_aavs_stretches *list = fit->stretches;
    if (list->n - fit->n_before >= MOST_STRETCHES)
        return fx8_refuse(error, fit->file->path, FX8_AAVS_STAMPS,
                          "more than %d gaps: expected time stamps that "
                          "run steadily",
                          MOST_STRETCHES);
    FX8_TRY(fx8_grow(&list->items, list->n, sizeof *list->items,
                     "stretches of time stamps", error));
    list->items[list->n++] = *stretch;
    return FX8_OK;
}

/* End the stretch before row `end`: fit its line and check that its stamps lie
 * on it.  A stamp and the start of its block were both rounded, which allows
 * one step; a second step in later parts, where the start is a sum of two times
 * (fx8_aavs_put_back()). */
static enum fx8_status close_stretch(struct fit *fit, int64_t end,
                                     struct fx8_error *error)
{
    const double lag = fit->sum / (double)fit->n_stamps;
    const double n_steps = fit->file->start_s < fit->stamp_s ? 2.0 : 1.0;
    const double limit = MOST_OFF + n_steps * fit->step_samples;
    const bool is_late = fit->most - lag > lag - fit->least;
    const double off = is_late ? fit->most - lag : fit->least - lag;
    if (fabs(off) > limit)
        return fail_rate(fit, is_late ? fit->most_row : fit->least_row, off,
                         error);
    const int64_t n_rows = end - fit->first_row;
    const double n_blocks =
        fmax(1.0, (double)n_rows / (double)fit->file->block_rows);
    const struct fx8_aavs_stretch stretch = {
        .file = fit->index,
        .first_row = fit->first_row,
        .n_rows = n_rows,
        .stamp_s = fit->stamp_s,
        .lag = lag,
        /* the start of each block was rounded by at most half a step */
        .doubt = 0.5 * fit->step_samples / sqrt(n_blocks),
    };
    fit->n_stamps = 0;
    return append(fit, &stretch, error);
}

/* Process the stamp of a row: it continues the stretch or starts a new one
 * after a gap. */
static enum fx8_status take_stamp(struct fit *fit, int64_t row, double stamp_s,
                                  struct fx8_error *error)
{
    /* supported dates end with the year 9999 */
    if (!(stamp_s > 0.0 && stamp_s < 253402300800.0))
        return fx8_refuse(error, fit->file->path, FX8_AAVS_STAMPS,
                          "row %" PRId64 ": %g: expected seconds since 1970",
                          row, stamp_s);
    if (row == 0) {
        fit->stamp_s = stamp_s;
        fit->step_samples =
            (nextafter(stamp_s, INFINITY) - stamp_s) * fit->rate_hz;
        if (fit->step_samples > MOST_STEP)
            return fx8_refuse(error, fit->file->path, FX8_AAVS_STAMPS,
                              "%.3g s resolved: expected a sampling rate "
                              "of at most %.3g Hz for such time stamps",
                              fit->step_samples / fit->rate_hz,
                              MOST_STEP * fit->rate_hz / fit->step_samples);
    }
    const double lag = (stamp_s - fit->stamp_s) * fit->rate_hz - (double)row;
    if (fit->n_stamps > 0) {
        const double jump = lag - fit->sum / (double)fit->n_stamps;
        /* off the line, but near the previous stamp: the rate is wrong */
        if (fabs(jump) > 0.5 && fabs(lag - fit->last) <= 0.5)
            return fail_rate(fit, row, jump, error);
        if (jump < -0.5)
            return fail_row(fit, row, jump, "ascending time stamps", error);
        if (jump > 0.5) {
            FX8_TRY(close_stretch(fit, row, error));
        }
    }
    if (fit->n_stamps == 0) {
        fit->first_row = row;
        fit->sum = 0.0;
        fit->least = INFINITY;
        fit->most = -INFINITY;
    }
    fit->n_stamps++;
    fit->sum += lag;
    fit->last = lag;
    if (lag < fit->least)
        fit->least = lag, fit->least_row = row;
    if (lag > fit->most)
        fit->most = lag, fit->most_row = row;
    return FX8_OK;
}

static enum fx8_status read_stamps(const struct fx8_h5_dataset *stamps,
                                   int64_t first, int64_t n, double *values,
                                   struct fx8_error *error)
{
    const hsize_t start[2] = {(hsize_t)first, 0};
    const hsize_t count[2] = {(hsize_t)n, 1};
    const struct fx8_h5_part part = {start, count, count};
    return fx8_h5_dataset_read(stamps, 1, &part, values, error);
}

/* Process rows [first, first + n): the stamps at both ends suffice if their
 * distance matches the row count. */
static enum fx8_status take_rows(struct fit *fit,
                                 const struct fx8_h5_dataset *stamps,
                                 int64_t first, int64_t n, double *values,
                                 struct fx8_error *error)
{
    if (fit->file->block_rows >= LEAST_SPARSE && n > 1) {
        FX8_TRY(read_stamps(stamps, first, 1, &values[0], error));
        FX8_TRY(read_stamps(stamps, first + n - 1, 1, &values[1], error));
        const double apart = (values[1] - values[0]) * fit->rate_hz;
        if (fabs(apart - (double)(n - 1)) < 0.5) {
            FX8_TRY(take_stamp(fit, first, values[0], error));
            return take_stamp(fit, first + n - 1, values[1], error);
        }
    }
    FX8_TRY(read_stamps(stamps, first, n, values, error));
    for (int64_t i = 0; i < n; i++)
        FX8_TRY(take_stamp(fit, first + i, values[i], error));
    return FX8_OK;
}

/* Open the stamps, check their type and shape; rows beyond those written are
 * ignored. */
static enum fx8_status open_stamps(const struct fx8_aavs_file *file,
                                   struct fx8_h5_dataset *stamps,
                                   struct fx8_error *error)
{
    FX8_TRY(fx8_h5_dataset_open(file->path, file->file, FX8_AAVS_STAMPS, stamps,
                                error));
    if (stamps->part != H5T_NATIVE_DOUBLE || stamps->parts != FX8_H5_REALS)
        return fx8_h5_dataset_fail_type(stamps, "float64", error);
    const int rank = stamps->rank;
    const hsize_t *extent = stamps->extent;
    if (rank < 1 || rank > 2 || extent[1] != 1 ||
        extent[0] < (hsize_t)file->n_rows)
        return fx8_refuse(error, file->path, FX8_AAVS_STAMPS,
                          "%d %s, %" PRIu64 " x %" PRIu64
                          ": expected one column of at least %" PRId64
                          " rows, n_blocks x n_samples",
                          rank, FX8_NOUN(rank, "axis", "axes"),
                          (uint64_t)extent[0], (uint64_t)extent[1],
                          file->n_rows);
    const struct fx8_h5_use use = {.time_axis = 0,
                                   .samples = 1,
                                   .n_rows = (uint64_t)file->n_rows,
                                   .cache_bytes = PIECE * sizeof(double)};
    return fx8_h5_dataset_prepare(stamps, &use, error);
}

/* Fit all rows, with `values` [PIECE] for their stamps. */
static enum fx8_status fit_rows(struct fit *fit,
                                const struct fx8_h5_dataset *stamps,
                                double *values, struct fx8_error *error)
{
    const struct fx8_aavs_file *file = fit->file;
    const int64_t step =
        file->block_rows < LEAST_SPARSE || file->block_rows > PIECE
            ? PIECE
            : file->block_rows;
    for (int64_t row = 0; row < file->n_rows; row += step) {
        const int64_t left = file->n_rows - row;
        FX8_TRY(take_rows(fit, stamps, row, left < step ? left : step, values,
                          error));
    }
    return close_stretch(fit, file->n_rows, error);
}

enum fx8_status fx8_aavs_fit(const struct fx8_aavs_file *file, size_t index,
                             struct fx8_rate rate,
                             struct fx8_aavs_stretches *stretches,
                             struct fx8_error *error)
{
    struct fit fit = {.file = file,
                      .index = index,
                      .rate_hz = fx8_rate_hz(rate),
                      .stretches = stretches,
                      .n_before = stretches->n};
    FX8_AUTO_FREE double *values = NULL;
    FX8_TRY(fx8_allocate(PIECE, sizeof *values, "time stamps", &values, error));
    FX8_AUTO(fx8_h5_dataset_close) struct fx8_h5_dataset stamps = {0};
    FX8_TRY(open_stamps(file, &stamps, error));
    return fit_rows(&fit, &stamps, values, error);
}

/* --- parts ---------------------------------------------------------------- */

/*
 * Later parts whose time stamps run ahead.
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
