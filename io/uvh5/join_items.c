/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join_items.c -- Header/ and /fx8 of joined files.  A table says what becomes
 * of each item; those that fx8 does not know are treated likewise.  Nothing is
 * computed again but clip fractions.
 */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/copy.h"
#include "io/uvh5/join.h"

#define HEADER   "Header/"
#define KEYWORDS "Header/extra_keywords/"

/* Spectral windows of a result. */
#define MOST_WINDOWS 4096

/* Turn of the Earth, rad/s. */
#define EARTH_RATE 7.3e-5

/* --- what becomes of an item ---------------------------------------------- */

enum fate {
    SAME = 0, /* all pieces have it; copied */
    ROWS,     /* of baselines and dumps, in all pieces */
    CHANNELS, /* by channel, in all pieces; side by side */
    LEVELS,   /* by input and channel, likewise */
    WINDOWS,  /* spectral windows of any piece */
    FIRST,    /* of the first piece */
    LONGEST,  /* of the piece with the longest dump */
    LARGEST,  /* number */
    AGREED,   /* left out if they differ */
    NAMED,    /* the same, with a warning */
    NOTHING   /* written by itself, or of use only to a run that goes on */
};

/* The first pattern that fits decides. */
static enum fate fate_of(const char *name, bool by_time)
{
    static const struct {
        const char *pattern;
        enum fate by_time, by_frequency;
    } fates[] = {{"Header/freq_array", SAME, CHANNELS},
                 {"Header/channel_width", SAME, CHANNELS},
                 {"Header/flex_spw_id_array", SAME, CHANNELS},
                 {"Header/eq_coeffs", SAME, LEVELS},
                 {"Header/spw_array", SAME, WINDOWS},
                 {"Header/Nspws", SAME, NOTHING},
                 {"Header/Nblts", NOTHING, NOTHING},
                 {"Header/Ntimes", NOTHING, NOTHING},
                 {"Header/Nfreqs", NOTHING, NOTHING},
                 {"Header/history", NOTHING, NOTHING},
                 {"Header/version", FIRST, FIRST},
                 /* of the day, or of the middle of a piece */
                 {"Header/dut1", FIRST, FIRST},
                 {"Header/gst0", FIRST, FIRST},
                 {"Header/rdate", FIRST, FIRST},
                 /* PRECISN and others have been compared before */
                 {"Header/extra_keywords", FIRST, FIRST},
                 {KEYWORDS "DELMAX", LARGEST, LARGEST},
                 {KEYWORDS "DELRATE", LARGEST, LARGEST},
                 {KEYWORDS "DELREST", LARGEST, LARGEST},
                 {KEYWORDS "DELLOSS", LARGEST, LARGEST},
                 {KEYWORDS "FX8VERS", NAMED, NAMED},
                 {KEYWORDS "BACKEND", NAMED, NAMED},
                 {KEYWORDS "KERNEL", NAMED, NAMED},
                 {KEYWORDS "FFTPLAN", NAMED, NAMED},
                 /* a short last dump may be alone in its file */
                 {KEYWORDS "NSPECTRA", LONGEST, FIRST},
                 {"fx8/spectra_per_dump", LONGEST, FIRST},
                 {KEYWORDS "CLIPMAX", NOTHING, NOTHING},
                 {KEYWORDS "*", AGREED, AGREED},
                 {"fx8", FIRST, FIRST},
                 {"fx8/gain", NAMED, LEVELS},
                 {"fx8/ripple", SAME, CHANNELS},
                 {"fx8/checksum", NOTHING, NOTHING},
                 {"fx8/valid_spectra", NOTHING, NOTHING},
                 {"fx8/dead", NOTHING, NOTHING},
                 {"fx8/clips", NOTHING, NOTHING},
                 {"fx8/clip_fraction", NOTHING, NOTHING},
                 {"fx8/gain_checksum", NOTHING, NOTHING},
                 {"fx8/no_power", NOTHING, NOTHING},
                 {"fx8/planned_dumps", NOTHING, NOTHING},
                 {"fx8/*", NAMED, NAMED},
                 {"Header/*", SAME, SAME},
                 {"*", NOTHING, NOTHING}};
    size_t i = 0;
    if (strncmp(name, HEADER, strlen(HEADER)) == 0 &&
        fx8_uvh5_is_column(name + strlen(HEADER)))
        return ROWS;
    while (fnmatch(fates[i].pattern, name, 0) != 0)
        i++;
    return by_time ? fates[i].by_time : fates[i].by_frequency;
}

static bool is_extra(const char *name)
{
    return strncmp(name, "fx8/", 4) == 0;
}

/* Whether it is of /fx8, of which no file needs more than ripple: visibilities
 * are divided by it in all files or in none. */
static bool is_optional(const char *name)
{
    return is_extra(name) && strcmp(name, "fx8/ripple") != 0;
}

/* --- the same in all pieces ----------------------------------------------- */

/* Positions may differ by 10 nm, angles by 2 mas, frequencies by less than
 * rounding to millihertz; rows by what the sky turns within the tolerance of
 * dates; what fx8 has written, by nothing. */
static struct fx8_h5_tolerance tolerance_of(const struct fx8_uvh5_join *join,
                                            const char *name, enum fate fate)
{
    const double turn =
        EARTH_RATE * fx8_uvh5_dates_tolerance_s(&join->pieces.piece[0].header);
    if (fate == ROWS)
        return (struct fx8_h5_tolerance){turn, turn};
    if (is_extra(name) || strncmp(name, KEYWORDS, strlen(KEYWORDS)) == 0)
        return (struct fx8_h5_tolerance){0.0, 0.0};
    return (struct fx8_h5_tolerance){1e-8, 1e-12};
}

static enum fx8_status match_all(const struct fx8_uvh5_join *join,
                                 const char *name, enum fate fate,
                                 struct fx8_error *error)
{
    const struct fx8_uvh5_piece *piece = join->pieces.piece;
    const struct fx8_h5_tolerance tolerance = tolerance_of(join, name, fate);
    for (size_t k = 1; k < join->pieces.n; k++)
        FX8_TRY(fx8_h5_match(&piece[0].root, &piece[k].root, name, tolerance,
                             error));
    return FX8_OK;
}

static enum fx8_status copy_first(const struct fx8_uvh5_join *join,
                                  const char *name, struct fx8_error *error)
{
    return fx8_h5_copy(&join->pieces.piece[0].root, name, &join->target, error);
}

static enum fx8_status copy_longest(const struct fx8_uvh5_join *join,
                                    const char *name, struct fx8_error *error)
{
    const struct fx8_uvh5_piece *found = join->pieces.piece;
    for (size_t k = 1; k < join->pieces.n; k++) {
        const struct fx8_uvh5_piece *piece = &join->pieces.piece[k];
        if (fx8_h5_has(&piece->root, name) &&
            fx8_uvh5_longest_s(&piece->header) >
                fx8_uvh5_longest_s(&found->header))
            found = piece;
    }
    return fx8_h5_copy(&found->root, name, &join->target, error);
}

static enum fx8_status copy_largest(const struct fx8_uvh5_join *join,
                                    const char *name, struct fx8_error *error)
{
    double largest = -INFINITY;
    const struct fx8_uvh5_piece *found = join->pieces.piece;
    for (size_t k = 0; k < join->pieces.n; k++) {
        const struct fx8_uvh5_piece *piece = &join->pieces.piece[k];
        double value;
        FX8_TRY(fx8_h5_get_real(&piece->root, name, &value, error));
        if (value > largest) {
            largest = value;
            found = piece;
        }
    }
    return fx8_h5_copy(&found->root, name, &join->target, error);
}

static enum fx8_status leave_out(const struct fx8_uvh5_join *join,
                                 const char *name)
{
    join->request->warn("%s: not the same in all files: left out", name);
    return FX8_OK;
}

/* --- side by side --------------------------------------------------------- */

static size_t rows_of(const struct fx8_uvh5_piece *piece)
{
    return piece->file->n_rows;
}

static size_t channels_of(const struct fx8_uvh5_piece *piece)
{
    return piece->header.n_channels;
}

/* Put lists of all pieces side by side.  By frequency the rows of the first are
 * those of all.  Lists of /fx8 that do not fit are left out. */
static enum fx8_status join_lists(const struct fx8_uvh5_join *join,
                                  const char *name, enum fate fate,
                                  struct fx8_error *error)
{
    const struct fx8_uvh5_pieces *pieces = &join->pieces;
    const struct fx8_h5_place *root = &pieces->piece[0].root;
    const struct fx8_output *output = join->target.output;
    const bool is_first_only = fate == ROWS && !pieces->by_time;
    struct fx8_uvh5_lists lists = {name, fate == LEVELS ? 1 : 0, rows_of};
    FX8_H5_AUTO joined = FX8_H5_NONE;
    FX8_H5_AUTO_ITEM first = {0};
    hsize_t shape[3];
    if (fate != ROWS)
        lists.count = is_extra(name) ? NULL : channels_of;
    if (is_optional(name) &&
        fx8_uvh5_find_shape(join, &lists, shape, NULL) != FX8_OK)
        return leave_out(join, name);
    FX8_TRY(fx8_uvh5_find_shape(join, &lists, shape, error));
    if (is_first_only)
        FX8_TRY(match_all(join, name, fate, error));
    FX8_TRY(fx8_h5_open_item(root, name, &first, error));
    const struct fx8_h5_layout layout = {
        .name = name, .type = first.type, .rank = first.rank, .extent = shape};
    FX8_TRY(fate == ROWS ? fx8_uvh5_create_column(
                               join->writer, name + strlen(HEADER), first.type,
                               (size_t)shape[1], &joined, error)
                         : fx8_h5_create(output, join->target.object, &layout,
                                         &joined, error));
    FX8_TRY(fx8_h5_copy_note(root->path, first.id, output, joined, error));
    return fx8_uvh5_copy_lists(join, &lists, is_first_only ? 1 : pieces->n,
                               joined, error);
}

/* Write the spectral windows of all pieces, each once. */
static enum fx8_status join_windows(const struct fx8_uvh5_join *join,
                                    const char *name, struct fx8_error *error)
{
    int64_t windows[MOST_WINDOWS], of_piece[MOST_WINDOWS], n;
    size_t n_windows = 0;
    for (size_t k = 0; k < join->pieces.n; k++) {
        const struct fx8_h5_place *root = &join->pieces.piece[k].root;
        FX8_TRY(fx8_h5_get_integer(root, "Header/Nspws", 1, MOST_WINDOWS, &n,
                                   error));
        FX8_TRY(fx8_h5_get_integers(root, name, fx8_h5_all((size_t)n, 1),
                                    of_piece, error));
        for (int64_t i = 0; i < n; i++) {
            size_t at = 0;
            while (at < n_windows && windows[at] != of_piece[i])
                at++;
            if (at == MOST_WINDOWS)
                return fx8_refuse(error, root->path, name,
                                  "expected at most %d windows in all files",
                                  MOST_WINDOWS);
            if (at == n_windows)
                windows[n_windows++] = of_piece[i];
        }
    }
    const struct fx8_h5_value values[] = {
        {FX8_PUT_LIST(name, FX8_H5_INTEGER, n_windows, windows)},
        {FX8_PUT_INTEGER("Header/Nspws", n_windows)}};
    return fx8_h5_put_values(&join->target, values, 2, error);
}

static enum fx8_status join_item(const struct fx8_uvh5_join *join,
                                 const char *name, struct fx8_error *error)
{
    const enum fate fate = fate_of(name, join->pieces.by_time);
    switch (fate) {
    case SAME:
        FX8_TRY(match_all(join, name, fate, error));
        return copy_first(join, name, error);
    case ROWS:
    case CHANNELS:
    case LEVELS:
        return join_lists(join, name, fate, error);
    case WINDOWS:
        return join_windows(join, name, error);
    case FIRST:
        return copy_first(join, name, error);
    case LONGEST:
        return copy_longest(join, name, error);
    case LARGEST:
        return copy_largest(join, name, error);
    case AGREED:
    case NAMED:
        if (match_all(join, name, fate, NULL) == FX8_OK)
            return copy_first(join, name, error);
        return fate == NAMED ? leave_out(join, name) : FX8_OK;
    default:
        return FX8_OK;
    }
}

/* A walk over the items of a piece. */
struct walk {
    const struct fx8_uvh5_join *join;
    const struct fx8_uvh5_piece *piece;
    enum fx8_status status;
    struct fx8_error *error;
};

/* Join an item of the first piece; of others, refuse what the first one lacks
 * if all must have it. */
static enum fx8_status take(const struct walk *walk, const char *name)
{
    const struct fx8_uvh5_pieces *pieces = &walk->join->pieces;
    const struct fx8_h5_place *first = &pieces->piece[0].root;
    const enum fate fate = fate_of(name, pieces->by_time);
    FX8_H5_AUTO made = FX8_H5_NONE;
    if (walk->piece == &pieces->piece[0])
        return fate != NOTHING && fx8_h5_is_group(first, name)
                   ? fx8_h5_put_group(&walk->join->target, name, &made,
                                      walk->error)
                   : join_item(walk->join, name, walk->error);
    return is_optional(name) || fate > LEVELS || fx8_h5_has(first, name)
               ? FX8_OK
               : fx8_refuse(walk->error, first->path, name,
                            "missing: expected it as in %s", walk->piece->path);
}

/* H5L_iterate_t */
static herr_t visit(hid_t root, const char *name, const H5L_info_t *info,
                    void *context)
{
    struct walk *walk = context;
    (void)root;
    (void)info;
    walk->status = take(walk, name);
    return walk->status == FX8_OK ? 0 : 1;
}

enum fx8_status fx8_uvh5_join_items(const struct fx8_uvh5_join *join,
                                    struct fx8_error *error)
{
    const struct fx8_uvh5_pieces *pieces = &join->pieces;
    FX8_H5_AUTO words = FX8_H5_NONE;
    const struct fx8_h5_value counts[] = {
        {FX8_PUT_INTEGER("Header/Nblts",
                         pieces->n_times * pieces->n_baselines)},
        {FX8_PUT_INTEGER("Header/Ntimes", pieces->n_times)},
        {FX8_PUT_INTEGER("Header/Nfreqs", pieces->n_channels)},
    };
    FX8_TRY(fx8_h5_put_values(&join->target, counts, 3, error));
    FX8_TRY(fx8_h5_put_group(&join->target, "Header/extra_keywords", &words,
                             error));
    for (size_t k = pieces->n; k-- > 0;) {
        struct walk walk = {join, &pieces->piece[k], FX8_OK, error};
        if (H5Lvisit(walk.piece->file->file, H5_INDEX_NAME, H5_ITER_INC, visit,
                     &walk) < 0)
            return fx8_h5_fail(error, FX8_ERR_INPUT, walk.piece->path, "links");
        FX8_TRY(walk.status);
    }
    FX8_TRY(fx8_uvh5_join_histories(join, error));
    return fx8_uvh5_join_counts(join, error);
}
