/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pieces.c -- the files to join: whether they are of one observation, along
 * which axis they follow each other, and in which order.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/keys.h"
#include "io/h5/copy.h"
#include "io/uvh5/join.h"

/* Descriptors besides those of the pieces. */
#define OTHER_FILES 64

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

/* Keep dates, channels and history: the rest is common to all pieces. */
static void trim(struct fx8_uvh5_header *header)
{
    const struct fx8_uvh5_header kept = {
        .n_times = header->n_times,
        .julian_dates = header->julian_dates,
        .integration_s = header->integration_s,
        .n_channels = header->n_channels,
        .frequencies_hz = header->frequencies_hz,
        .channel_widths_hz = header->channel_widths_hz,
        .history = header->history,
    };
    header->julian_dates = header->integration_s = NULL;
    header->frequencies_hz = header->channel_widths_hz = NULL;
    header->history = NULL;
    fx8_uvh5_header_clear(header);
    *header = kept;
}

/* The types of the data must be the same. */
static enum fx8_status match_types(const struct fx8_uvh5_piece *a,
                                   const struct fx8_uvh5_piece *b,
                                   struct fx8_error *error)
{
    const hid_t of_a[] = {a->file->visdata, a->file->nsamples};
    const hid_t of_b[] = {b->file->visdata, b->file->nsamples};
    for (size_t i = 0; i < 2; i++) {
        char name_a[128], name_b[128];
        FX8_H5_AUTO type_a = H5Dget_type(of_a[i]);
        FX8_H5_AUTO type_b = H5Dget_type(of_b[i]);
        fx8_h5_type_name(type_a, name_a, sizeof name_a);
        fx8_h5_type_name(type_b, name_b, sizeof name_b);
        if (strcmp(name_a, name_b) != 0)
            return fx8_refuse(error, b->path, i == 0 ? "visdata" : "nsamples",
                              "%s: expected %s as in %s", name_b, name_a,
                              a->path);
    }
    return FX8_OK;
}

/* Keywords that must be the same.  The most telling one is first: AUTOCORR and
 * DITHER go with PRECISN. */
static enum fx8_status match_keywords(const struct fx8_uvh5_piece *a,
                                      const struct fx8_uvh5_piece *b,
                                      struct fx8_error *error)
{
    static const char *const names[] = {
        "Header/extra_keywords/PRECISN", "Header/extra_keywords/DELAYMOD",
        "Header/extra_keywords/CHANAVG", "Header/extra_keywords/AUTOCORR",
        "Header/extra_keywords/DITHER",  "Header/extra_keywords/VANVLECK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fx8_h5_has(&a->root, names[i]) || fx8_h5_has(&b->root, names[i]))
            FX8_TRY(fx8_h5_match(&a->root, &b->root, names[i],
                                 (struct fx8_h5_tolerance){0.0, 0.0}, error));
    return FX8_OK;
}

/* Refuse a piece that does not follow the first as the second does. */
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
    if (has_same_dumps == has_same_channels ||
        (k > 1 && has_same_channels != pieces->by_time))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: other %s than %s%s%s: expected files that differ "
                        "in one of both; join the files with the same dumps "
                        "first, then the results",
                        b->path,
                        has_same_channels ? "dumps"
                        : has_same_dumps  ? "channels"
                                          : "dumps and other channels",
                        a->path, k > 1 ? ", unlike " : "",
                        k > 1 ? pieces->piece[1].path : "");
    pieces->by_time = has_same_channels;
    return FX8_OK;
}

/* Get the checksums of a file of fx8, all of whose dumps must be finished. */
static enum fx8_status get_checksums(struct fx8_uvh5_piece *piece,
                                     struct fx8_error *error)
{
    static const char name[] = "fx8/checksum";
    const size_t n = piece->header.n_times;
    size_t n_unfinished = 0;
    if (!fx8_h5_is_group(&piece->root, "fx8") ||
        !fx8_h5_has(&piece->root, name))
        return FX8_OK;
    FX8_TRY(fx8_uvh5_check_dumps(piece->path, piece->file->file, error));
    FX8_TRY(fx8_allocate(n, sizeof *piece->checksums, name, &piece->checksums,
                         error));
    FX8_TRY(fx8_h5_get_integers(&piece->root, name, fx8_h5_all(n, 1),
                                piece->checksums, error));
    for (size_t dump = 0; dump < n; dump++) {
        n_unfinished += piece->checksums[dump] == FX8_UVH5_UNFINISHED;
        piece->checksums[dump] &= UINT32_MAX; /* of the data alone */
    }
    return n_unfinished == 0
               ? FX8_OK
               : fx8_refuse(error, piece->path, name,
                            "%zu of %zu dumps are not finished: expected a "
                            "result whose run has ended",
                            n_unfinished, n);
}

static enum fx8_status open_piece(struct fx8_uvh5_pieces *pieces, size_t k,
                                  const char *path, struct fx8_error *error)
{
    const struct fx8_uvh5_piece *first = &pieces->piece[0];
    struct fx8_uvh5_piece *piece = &pieces->piece[k];
    piece->path = path;
    FX8_TRY(fx8_uvh5_open(path, &piece->file, &piece->header, error));
    piece->root = (struct fx8_h5_place){path, piece->file->file, false};
    FX8_TRY(get_checksums(piece, error));
    if (k == 0)
        return FX8_OK;
    FX8_TRY(match_keywords(first, piece, error));
    FX8_TRY(fx8_uvh5_match_array(named(first), named(piece), error));
    FX8_TRY(match_types(first, piece, error));
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

/* Whether dumps are aligned with UTC: then their lengths differ by a spectrum,
 * and the first may be shorter, too. */
static bool is_aligned(const struct fx8_uvh5_header *header)
{
    int length;
    const char *value = fx8_key_in_history(fx8_key_find("correlator", "align"),
                                           header->history, &length);
    return length == 4 && strncmp(value, " utc", 4) == 0;
}

/* Dumps follow each other over all pieces and have one length; the last of a
 * run may be shorter, and so may any of a joined file or an aligned one. */
static enum fx8_status check_dumps(const struct fx8_uvh5_pieces *pieces,
                                   struct fx8_error *error)
{
    const struct fx8_uvh5_piece *model = &pieces->piece[0];
    double length_s = fx8_uvh5_longest_s(&model->header);
    double last_date = 0.0, last_s = 0.0;
    for (size_t k = 1; k < pieces->n; k++)
        if (fx8_uvh5_longest_s(&pieces->piece[k].header) > length_s) {
            model = &pieces->piece[k];
            length_s = fx8_uvh5_longest_s(&model->header);
        }
    const double tolerance_s = fx8_uvh5_dates_tolerance_s(&model->header);
    const struct fx8_uvh5_piece *before = NULL;
    for (size_t k = 0; k < pieces->n; k++) {
        const struct fx8_uvh5_piece *piece = &pieces->piece[k];
        const struct fx8_uvh5_header *header = &piece->header;
        const bool varies =
            fx8_uvh5_count_joined(piece) > 0 || is_aligned(header);
        for (size_t t = 0; t < header->n_times; t++) {
            const double date = header->julian_dates[t];
            const double dump_s = header->integration_s[t];
            if (!varies && t < header->n_times - 1)
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

struct fx8_uvh5_piece *fx8_uvh5_piece_of(const struct fx8_uvh5_pieces *pieces,
                                         size_t dump)
{
    size_t k = pieces->n - 1;
    while (k > 0 && pieces->piece[k].first > dump)
        k--;
    return &pieces->piece[k];
}

enum fx8_status fx8_uvh5_pieces_open(
    const struct fx8_uvh5_join_request *request, struct fx8_uvh5_pieces *pieces,
    struct fx8_error *error)
{
    *pieces = (struct fx8_uvh5_pieces){.n = request->n_paths};
    FX8_TRY(fx8_allocate(pieces->n, sizeof *pieces->piece, "files to join",
                         &pieces->piece, error));
    raise_limit(pieces->n);
    for (size_t k = 0; k < pieces->n; k++)
        FX8_TRY(open_piece(pieces, k, request->paths[k], error));
    const struct fx8_uvh5_header *header = &pieces->piece[0].header;
    pieces->n_times = header->n_times;
    pieces->n_baselines = header->n_baselines;
    pieces->n_channels = header->n_channels;
    pieces->n_products = header->n_products;
    FX8_TRY(fx8_uvh5_match_settings(request, pieces, error));
    sort(pieces);
    return pieces->by_time ? check_dumps(pieces, error)
                           : check_channels(pieces, error);
}

void fx8_uvh5_pieces_close(struct fx8_uvh5_pieces *pieces)
{
    for (size_t k = 0; pieces->piece != NULL && k < pieces->n; k++) {
        fx8_uvh5_file_close(&pieces->piece[k].file);
        fx8_uvh5_header_clear(&pieces->piece[k].header);
        free(pieces->piece[k].checksums);
    }
    free(pieces->piece);
    *pieces = (struct fx8_uvh5_pieces){0};
}
