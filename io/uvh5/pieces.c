/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pieces.c -- the files to join: whether they are of one observation, along
 * which axis they follow each other, and in which order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/uvh5/join.h"

/* Descriptors besides those of the pieces. */
#define OTHER_FILES 64

struct fx8_h5_place fx8_uvh5_header_of(const struct fx8_uvh5_piece *piece)
{
    return (struct fx8_h5_place){piece->path, piece->file->group, false};
}

static struct fx8_uvh5_named named(const struct fx8_uvh5_piece *piece)
{
    return (struct fx8_uvh5_named){piece->path, &piece->header};
}

/* --- open ----------------------------------------------------------------- */

/* Let this process open them all at once, if the system permits it. */
static void raise_limit(size_t n)
{
    struct rlimit files;
    const rlim_t wanted = n + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted)
        return;
    files.rlim_cur = files.rlim_max < wanted ? files.rlim_max : wanted;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

/* Keep dates and channels alone: the rest is common to all pieces. */
static void trim(struct fx8_uvh5_header *header)
{
    const struct fx8_uvh5_header kept = {
        .n_times = header->n_times,
        .julian_dates = header->julian_dates,
        .integration_s = header->integration_s,
        .n_channels = header->n_channels,
        .frequencies_hz = header->frequencies_hz,
        .channel_widths_hz = header->channel_widths_hz,
    };
    header->julian_dates = header->integration_s = NULL;
    header->frequencies_hz = header->channel_widths_hz = NULL;
    fx8_uvh5_header_clear(header);
    *header = kept;
}

static enum fx8_status match_type(const struct fx8_uvh5_piece *a, hid_t of_a,
                                  const struct fx8_uvh5_piece *b, hid_t of_b,
                                  const char *name, struct fx8_error *error)
{
    char name_a[128], name_b[128];
    FX8_H5_AUTO type_a = H5Dget_type(of_a), type_b = H5Dget_type(of_b);
    fx8_h5_type_name(type_a, name_a, sizeof name_a);
    fx8_h5_type_name(type_b, name_b, sizeof name_b);
    return strcmp(name_a, name_b) == 0
               ? FX8_OK
               : fx8_refuse(error, b->path, name, "%s: expected %s as in %s",
                            name_b, name_a, a->path);
}

/* Refuse pieces that do not follow `a` as the second piece does. */
static enum fx8_status choose_axis(struct fx8_uvh5_pieces *pieces, size_t k,
                                   struct fx8_error *error)
{
    const struct fx8_uvh5_piece *a = &pieces->piece[0];
    const struct fx8_uvh5_piece *b = &pieces->piece[k];
    const bool has_same_dumps =
        fx8_uvh5_match_dumps(named(a), named(b), NULL) == FX8_OK;
    const bool has_same_channels =
        fx8_uvh5_match_channels(named(a), named(b), NULL) == FX8_OK;
    if (has_same_dumps && has_same_channels)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: the same dumps and channels as %s: expected "
                        "others",
                        b->path, a->path);
    if (!has_same_dumps && !has_same_channels)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: other dumps and other channels than %s: expected "
                        "the same of one; join the files with the same dumps "
                        "first, then the results",
                        b->path, a->path);
    if (k > 1 && has_same_channels != pieces->by_time)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: other %s than %s, and %s other %s: expected one "
                        "axis; join the files with the same dumps first, then "
                        "the results",
                        b->path, pieces->by_time ? "channels" : "dumps",
                        a->path, pieces->piece[1].path,
                        pieces->by_time ? "dumps" : "channels");
    pieces->by_time = has_same_channels;
    return FX8_OK;
}

static enum fx8_status open_piece(struct fx8_uvh5_pieces *pieces, size_t k,
                                  const char *path, struct fx8_error *error)
{
    const struct fx8_uvh5_piece *first = &pieces->piece[0];
    struct fx8_uvh5_piece *piece = &pieces->piece[k];
    piece->path = path;
    FX8_TRY(fx8_uvh5_open(path, &piece->file, &piece->header, error));
    const size_t n_unfinished = fx8_uvh5_unfinished(piece->file);
    if (n_unfinished > 0)
        return fx8_refuse(error, path, "fx8/checksum",
                          "%zu of %zu dumps are not finished: expected a "
                          "result whose run has ended",
                          n_unfinished, piece->header.n_times);
    if (k == 0)
        return FX8_OK;
    FX8_TRY(fx8_uvh5_match_array(named(first), named(piece), error));
    FX8_TRY(match_type(first, first->file->visdata, piece, piece->file->visdata,
                       "visdata", error));
    FX8_TRY(match_type(first, first->file->nsamples, piece,
                       piece->file->nsamples, "nsamples", error));
    FX8_TRY(choose_axis(pieces, k, error));
    trim(&piece->header);
    return FX8_OK;
}

/* --- order ---------------------------------------------------------------- */

static int compare_starts(const void *a, const void *b)
{
    const double of_a = ((const struct fx8_uvh5_piece *)a)->start;
    const double of_b = ((const struct fx8_uvh5_piece *)b)->start;
    return (of_a > of_b) - (of_a < of_b);
}

/* Sort the pieces and find where each begins. */
static void sort(struct fx8_uvh5_pieces *pieces)
{
    size_t next = 0;
    for (size_t k = 0; k < pieces->n; k++) {
        const struct fx8_uvh5_header *header = &pieces->piece[k].header;
        pieces->piece[k].start = pieces->by_time ? header->julian_dates[0]
                                                 : header->frequencies_hz[0];
    }
    qsort(pieces->piece, pieces->n, sizeof *pieces->piece, compare_starts);
    for (size_t k = 0; k < pieces->n; k++) {
        const struct fx8_uvh5_header *header = &pieces->piece[k].header;
        pieces->piece[k].first = next;
        next += pieces->by_time ? header->n_times : header->n_channels;
    }
    if (pieces->by_time)
        pieces->n_times = next;
    else
        pieces->n_channels = next;
}

/* Channels ascend over all pieces and have one width. */
static enum fx8_status check_channels(const struct fx8_uvh5_pieces *pieces,
                                      struct fx8_error *error)
{
    const struct fx8_uvh5_piece *first = &pieces->piece[0], *before = first;
    const double width_hz = first->header.channel_widths_hz[0];
    double last_hz = -INFINITY;
    for (size_t k = 0; k < pieces->n; k++) {
        const struct fx8_uvh5_piece *piece = &pieces->piece[k];
        for (size_t c = 0; c < piece->header.n_channels; c++) {
            const double hz = piece->header.frequencies_hz[c];
            FX8_TRY(fx8_uvh5_match_value(named(first), named(piece),
                                         "channel_width", c, width_hz,
                                         piece->header.channel_widths_hz[c],
                                         1e-6 * fabs(width_hz), error));
            if (!(hz > last_hz + 1e-6 * fabs(width_hz)))
                return fx8_fail(error, FX8_ERR_INPUT,
                                "%s: freq_array[%zu]: %.17g: expected more "
                                "than the %.17g Hz before it in %s",
                                piece->path, c, hz, last_hz, before->path);
            last_hz = hz;
            before = piece;
        }
    }
    return FX8_OK;
}

/* The piece whose first dump is the longest: a shorter last one may be alone in
 * its file. */
static const struct fx8_uvh5_piece *longest(
    const struct fx8_uvh5_pieces *pieces)
{
    const struct fx8_uvh5_piece *found = &pieces->piece[0];
    for (size_t k = 1; k < pieces->n; k++)
        if (pieces->piece[k].header.integration_s[0] >
            found->header.integration_s[0])
            found = &pieces->piece[k];
    return found;
}

/* Dumps follow each other over all pieces and have one length; the last of each
 * piece may be shorter. */
static enum fx8_status check_dumps(const struct fx8_uvh5_pieces *pieces,
                                   struct fx8_error *error)
{
    const struct fx8_uvh5_piece *model = longest(pieces);
    const double length_s = model->header.integration_s[0];
    const double tolerance_s = fx8_uvh5_dates_tolerance_s(&model->header);
    const struct fx8_uvh5_piece *before = NULL;
    double last_date = 0.0, last_s = 0.0;
    for (size_t k = 0; k < pieces->n; k++) {
        const struct fx8_uvh5_piece *piece = &pieces->piece[k];
        const struct fx8_uvh5_header *header = &piece->header;
        for (size_t t = 0; t < header->n_times; t++) {
            const double date = header->julian_dates[t];
            const double dump_s = header->integration_s[t];
            if (!(dump_s < length_s && t == header->n_times - 1))
                FX8_TRY(fx8_uvh5_match_value(named(model), named(piece),
                                             "integration_time", t, length_s,
                                             dump_s, 1e-6 * length_s, error));
            if (before != NULL && !((date - last_date) * 86400.0 >=
                                    (dump_s + last_s) / 2 - tolerance_s))
                return fx8_fail(error, FX8_ERR_INPUT,
                                "%s: time_array: dump %zu at JD %.8f: expected "
                                "no overlap with the %g s around JD %.8f in "
                                "%s",
                                piece->path, t, date, last_s, last_date,
                                before->path);
            last_date = date;
            last_s = dump_s;
            before = piece;
        }
    }
    return FX8_OK;
}

const struct fx8_uvh5_piece *fx8_uvh5_piece_of(
    const struct fx8_uvh5_pieces *pieces, size_t dump)
{
    size_t k = pieces->n - 1;
    while (k > 0 && pieces->piece[k].first > dump)
        k--;
    return &pieces->piece[k];
}

enum fx8_status fx8_uvh5_pieces_open(const char *const *paths, size_t n,
                                     struct fx8_uvh5_pieces *pieces,
                                     struct fx8_error *error)
{
    *pieces = (struct fx8_uvh5_pieces){.n = n};
    FX8_TRY(fx8_allocate(n, sizeof *pieces->piece, "files to join",
                         &pieces->piece, error));
    raise_limit(n);
    for (size_t k = 0; k < n; k++)
        FX8_TRY(open_piece(pieces, k, paths[k], error));
    const struct fx8_uvh5_header *header = &pieces->piece[0].header;
    pieces->n_times = header->n_times;
    pieces->n_baselines = header->n_baselines;
    pieces->n_channels = header->n_channels;
    pieces->n_products = header->n_products;
    sort(pieces);
    return pieces->by_time ? check_dumps(pieces, error)
                           : check_channels(pieces, error);
}

void fx8_uvh5_pieces_close(struct fx8_uvh5_pieces *pieces)
{
    for (size_t k = 0; pieces->piece != NULL && k < pieces->n; k++) {
        fx8_uvh5_file_close(&pieces->piece[k].file);
        fx8_uvh5_header_clear(&pieces->piece[k].header);
    }
    free(pieces->piece);
    *pieces = (struct fx8_uvh5_pieces){0};
}
