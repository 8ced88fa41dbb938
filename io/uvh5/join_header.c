/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join_header.c -- Header/ of joined files.  Nothing is computed again: what
 * the pieces have in common is compared and copied from the first one, items
 * that fx8 does not know too; the rest is put side by side.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/copy.h"
#include "io/uvh5/join.h"

/* Groups within groups. */
#define MOST_DEPTH 4

/* Spectral windows of a result. */
#define MOST_WINDOWS 4096

/* What becomes of an item of Header/ that is not a column. */
enum fate {
    SAME = 0, /* all pieces have it; copied */
    CHANNELS, /* side by side along its last axis */
    WINDOWS,  /* joined by frequency, spectral windows of any piece */
    FIRST,    /* of the first piece */
    SEPARATE  /* written by a function of its own */
};

static enum fate fate_of(const char *name, bool by_time)
{
    static const struct {
        const char *name;
        enum fate by_time, by_frequency;
    } fates[] = {
        {"freq_array", SAME, CHANNELS},
        {"channel_width", SAME, CHANNELS},
        {"flex_spw_id_array", SAME, CHANNELS},
        {"eq_coeffs", SAME, CHANNELS},
        {"spw_array", SAME, WINDOWS},
        {"Nspws", SAME, SEPARATE},
        {"Nblts", SEPARATE, SEPARATE},
        {"Ntimes", SEPARATE, SEPARATE},
        {"Nfreqs", SEPARATE, SEPARATE},
        {"history", SEPARATE, SEPARATE},
        {"extra_keywords", SEPARATE, SEPARATE},
        {"version", FIRST, FIRST},
        /* of the day, or of the middle of a piece */
        {"dut1", FIRST, FIRST},
        {"gst0", FIRST, FIRST},
        {"rdate", FIRST, FIRST},
    };
    for (size_t i = 0; i < sizeof fates / sizeof *fates; i++)
        if (strcmp(fates[i].name, name) == 0)
            return by_time ? fates[i].by_time : fates[i].by_frequency;
    return fx8_uvh5_is_column(name) ? SEPARATE : SAME;
}

static struct fx8_h5_target target_of(const struct fx8_uvh5_writer *writer)
{
    return (struct fx8_h5_target){writer->output, writer->header, false};
}

/* --- what is the same ----------------------------------------------------- */

static enum fx8_status copy_same(const struct fx8_uvh5_pieces *pieces,
                                 const char *name,
                                 const struct fx8_h5_target *target,
                                 struct fx8_error *error)
{
    const struct fx8_h5_place first = fx8_uvh5_header_of(&pieces->piece[0]);
    for (size_t k = 1; k < pieces->n; k++) {
        const struct fx8_h5_place other = fx8_uvh5_header_of(&pieces->piece[k]);
        FX8_TRY(fx8_h5_match(&first, &other, name, error));
    }
    return fx8_h5_copy(&first, name, target, error);
}

/* Refuse an item of a group that only other pieces have. */
static enum fx8_status check_names(const struct fx8_uvh5_pieces *pieces,
                                   const char *group, struct fx8_error *error)
{
    const struct fx8_h5_place first = fx8_uvh5_header_of(&pieces->piece[0]);
    for (size_t k = 1; k < pieces->n; k++) {
        struct fx8_h5_place other = fx8_uvh5_header_of(&pieces->piece[k]);
        FX8_H5_AUTO of_other = H5Gopen2(other.object, group, H5P_DEFAULT);
        FX8_H5_AUTO of_first = H5Gopen2(first.object, group, H5P_DEFAULT);
        if (of_other < 0)
            return fx8_refuse(error, other.path, group,
                              "missing: expected a group as in %s", first.path);
        other.object = of_other;
        for (size_t i = 0; i < fx8_h5_count_links(of_other); i++) {
            char name[FX8_H5_NAME_SIZE];
            FX8_TRY(fx8_h5_link_name(&other, i, name, error));
            if (H5Lexists(of_first, name, H5P_DEFAULT) <= 0)
                return fx8_refuse(error, first.path, name,
                                  "missing: expected it as in %s", other.path);
        }
    }
    return FX8_OK;
}

static size_t channels_of(const struct fx8_uvh5_piece *piece)
{
    return piece->header.n_channels;
}

/* Put a list of channels of all pieces side by side, along its last axis. */
static enum fx8_status join_channels(const struct fx8_uvh5_pieces *pieces,
                                     const char *name,
                                     struct fx8_uvh5_writer *writer,
                                     struct fx8_error *error)
{
    char path[MOST_DEPTH * FX8_H5_NAME_SIZE + sizeof "Header/"];
    const struct fx8_h5_place first = fx8_uvh5_header_of(&pieces->piece[0]);
    FX8_H5_AUTO joined = FX8_H5_NONE;
    FX8_H5_AUTO_ITEM item = {0};
    struct fx8_uvh5_shape shape;
    snprintf(path, sizeof path, "Header/%s", name);
    FX8_TRY(fx8_h5_open_item(&first, name, &item, error));
    const int axis = item.rank > 1 ? 1 : 0;
    FX8_TRY(
        fx8_uvh5_join_shape(pieces, path, axis, channels_of, &shape, error));
    const struct fx8_h5_layout layout = {.name = name,
                                         .type = item.type,
                                         .rank = shape.rank,
                                         .extent = shape.extent};
    FX8_TRY(
        fx8_h5_create(writer->output, writer->header, &layout, &joined, error));
    return fx8_uvh5_join_values(pieces, path, axis, joined, writer, error);
}

/* Write the spectral windows of all pieces, each once. */
static enum fx8_status join_windows(const struct fx8_uvh5_pieces *pieces,
                                    const struct fx8_h5_target *target,
                                    struct fx8_error *error)
{
    int64_t windows[MOST_WINDOWS], of_piece[MOST_WINDOWS], n;
    size_t n_windows = 0;
    for (size_t k = 0; k < pieces->n; k++) {
        const struct fx8_h5_place place = fx8_uvh5_header_of(&pieces->piece[k]);
        FX8_TRY(
            fx8_h5_get_integer(&place, "Nspws", 1, MOST_WINDOWS, &n, error));
        FX8_TRY(fx8_h5_get_integers(&place, "spw_array",
                                    fx8_h5_all((size_t)n, 1), of_piece, error));
        for (int64_t i = 0; i < n; i++) {
            size_t at = 0;
            while (at < n_windows && windows[at] != of_piece[i])
                at++;
            if (at == MOST_WINDOWS)
                return fx8_refuse(error, place.path, "spw_array",
                                  "expected at most %d windows in all files",
                                  MOST_WINDOWS);
            if (at == n_windows)
                windows[n_windows++] = of_piece[i];
        }
    }
    const struct fx8_h5_value values[] = {
        {FX8_PUT_LIST("spw_array", FX8_H5_INTEGER, n_windows, windows)},
        {FX8_PUT_INTEGER("Nspws", n_windows)}};
    return fx8_h5_put_values(target, values, 2, error);
}

static enum fx8_status join_group(const struct fx8_uvh5_pieces *pieces,
                                  const char *group, int depth,
                                  struct fx8_uvh5_writer *writer,
                                  struct fx8_error *error);

static enum fx8_status join_item(const struct fx8_uvh5_pieces *pieces,
                                 const char *name, int depth,
                                 struct fx8_uvh5_writer *writer,
                                 struct fx8_error *error)
{
    const struct fx8_h5_place first = fx8_uvh5_header_of(&pieces->piece[0]);
    const struct fx8_h5_target target = target_of(writer);
    switch (depth > 0 ? SAME : fate_of(name, pieces->by_time)) {
    case CHANNELS:
        return join_channels(pieces, name, writer, error);
    case WINDOWS:
        return join_windows(pieces, &target, error);
    case FIRST:
        return fx8_h5_copy(&first, name, &target, error);
    case SAME:
        return fx8_h5_is_group(&first, name)
                   ? join_group(pieces, name, depth + 1, writer, error)
                   : copy_same(pieces, name, &target, error);
    default:
        return FX8_OK;
    }
}

/* Everything below a group; "." is Header itself. */
static enum fx8_status join_group(const struct fx8_uvh5_pieces *pieces,
                                  const char *group, int depth,
                                  struct fx8_uvh5_writer *writer,
                                  struct fx8_error *error)
{
    struct fx8_h5_place first = fx8_uvh5_header_of(&pieces->piece[0]);
    FX8_H5_AUTO id = H5Gopen2(first.object, group, H5P_DEFAULT);
    FX8_H5_AUTO made = FX8_H5_NONE;
    if (id < 0 || depth > MOST_DEPTH)
        return fx8_refuse(error, first.path, group,
                          "expected at most %d groups in each other",
                          MOST_DEPTH);
    const struct fx8_h5_target target = target_of(writer);
    if (depth > 0)
        FX8_TRY(fx8_h5_put_group(&target, group, &made, error));
    FX8_TRY(check_names(pieces, group, error));
    first.object = id;
    for (size_t i = 0; i < fx8_h5_count_links(id); i++) {
        char name[FX8_H5_NAME_SIZE], path[MOST_DEPTH * FX8_H5_NAME_SIZE];
        FX8_TRY(fx8_h5_link_name(&first, i, name, error));
        snprintf(path, sizeof path, "%s%s%s", depth > 0 ? group : "",
                 depth > 0 ? "/" : "", name);
        FX8_TRY(join_item(pieces, path, depth, writer, error));
    }
    return FX8_OK;
}

/* --- keywords ------------------------------------------------------------- */

/* What becomes of a keyword that differs. */
enum choice { LEFT_OUT = 0, REFUSED, LARGEST, OF_THE_FIRST };

static const struct {
    const char *name;
    enum choice choice;
} choices[] = {
    {"PRECISN", REFUSED},
    {"DELAYMOD", REFUSED},
    {"AUTOCORR", REFUSED},
    {"CHANAVG", REFUSED},
    {"DELMAX", LARGEST},
    {"DELRATE", LARGEST},
    {"DELREST", LARGEST},
    {"DELLOSS", LARGEST},
    /* goes with the length of the first dump; a short last one may be alone in
     * its file */
    {"NSPECTRA", OF_THE_FIRST},
};

#define N_CHOICES (sizeof choices / sizeof *choices)

static enum choice choice_of(const char *name)
{
    for (size_t i = 0; i < N_CHOICES; i++)
        if (strcmp(choices[i].name, name) == 0)
            return choices[i].choice;
    return LEFT_OUT;
}

/* Copy the largest value of a keyword. */
static enum fx8_status copy_largest(const struct fx8_uvh5_pieces *pieces,
                                    const char *path,
                                    const struct fx8_h5_target *target,
                                    struct fx8_error *error)
{
    double largest = -INFINITY;
    struct fx8_h5_place found = fx8_uvh5_header_of(&pieces->piece[0]);
    for (size_t k = 0; k < pieces->n; k++) {
        const struct fx8_h5_place place = fx8_uvh5_header_of(&pieces->piece[k]);
        double value;
        FX8_TRY(fx8_h5_get_real(&place, path, &value, error));
        if (value > largest) {
            largest = value;
            found = place;
        }
    }
    return fx8_h5_copy(&found, path, target, error);
}

static enum fx8_status join_keyword(const struct fx8_uvh5_pieces *pieces,
                                    const char *name,
                                    const struct fx8_h5_target *target,
                                    struct fx8_error *error)
{
    const struct fx8_h5_place first = fx8_uvh5_header_of(&pieces->piece[0]);
    char path[FX8_H5_NAME_SIZE + sizeof "extra_keywords/"];
    snprintf(path, sizeof path, "extra_keywords/%s", name);
    struct fx8_error difference = {.status = FX8_OK};
    for (size_t k = 1; k < pieces->n && difference.status == FX8_OK; k++) {
        const struct fx8_h5_place other = fx8_uvh5_header_of(&pieces->piece[k]);
        difference.status = fx8_h5_match(&first, &other, path, &difference);
    }
    if (difference.status == FX8_OK)
        return fx8_h5_copy(&first, path, target, error);
    switch (choice_of(name)) {
    case REFUSED:
        return fx8_fail(error, difference.status, "%s", difference.message);
    case LARGEST:
        return copy_largest(pieces, path, target, error);
    case OF_THE_FIRST:
        return fx8_h5_copy(&first, path, target, error);
    default:
        return FX8_OK;
    }
}

/* Refuse what only other pieces than the first have, if it must not differ. */
static enum fx8_status check_keywords(const struct fx8_uvh5_pieces *pieces,
                                      struct fx8_error *error)
{
    const struct fx8_h5_place first = fx8_uvh5_header_of(&pieces->piece[0]);
    for (size_t i = 0; i < N_CHOICES; i++) {
        char path[64];
        snprintf(path, sizeof path, "extra_keywords/%s", choices[i].name);
        if (choices[i].choice != REFUSED || fx8_h5_has(&first, path))
            continue;
        for (size_t k = 1; k < pieces->n; k++) {
            const struct fx8_h5_place other =
                fx8_uvh5_header_of(&pieces->piece[k]);
            if (fx8_h5_has(&other, path))
                return fx8_refuse(error, other.path, path,
                                  "set: expected none as in %s", first.path);
        }
    }
    return FX8_OK;
}

static enum fx8_status join_keywords(const struct fx8_uvh5_pieces *pieces,
                                     const struct fx8_h5_target *target,
                                     struct fx8_error *error)
{
    struct fx8_h5_place words = fx8_uvh5_header_of(&pieces->piece[0]);
    FX8_H5_AUTO made = FX8_H5_NONE, id = FX8_H5_NONE;
    FX8_TRY(check_keywords(pieces, error));
    FX8_TRY(fx8_h5_put_group(target, "extra_keywords", &made, error));
    if (!fx8_h5_is_group(&words, "extra_keywords"))
        return FX8_OK;
    id = H5Gopen2(words.object, "extra_keywords", H5P_DEFAULT);
    words.object = id;
    for (size_t i = 0; i < fx8_h5_count_links(id); i++) {
        char name[FX8_H5_NAME_SIZE];
        FX8_TRY(fx8_h5_link_name(&words, i, name, error));
        /* CLIPMAX goes with the clip fractions */
        if (strcmp(name, "CLIPMAX") != 0)
            FX8_TRY(join_keyword(pieces, name, target, error));
    }
    return FX8_OK;
}

/* --- history -------------------------------------------------------------- */

/* Whether a text has this line. */
static bool has_line(const char *text, const char *line, size_t length)
{
    for (const char *end; *text != '\0'; text = *end == '\0' ? end : end + 1) {
        end = text + strcspn(text, "\n");
        if ((size_t)(end - text) == length && memcmp(text, line, length) == 0)
            return true;
    }
    return false;
}

/* The history of the first piece, and the lines of the others that it does not
 * have. */
static enum fx8_status print_histories(const struct fx8_uvh5_pieces *pieces,
                                       FILE *stream, struct fx8_error *error)
{
    FX8_AUTO_FREE char *first = NULL;
    for (size_t k = 0; k < pieces->n; k++) {
        const struct fx8_h5_place place = fx8_uvh5_header_of(&pieces->piece[k]);
        FX8_AUTO_FREE char *text = NULL;
        FX8_TRY(fx8_h5_get_long_text(&place, "history", &text, error));
        fprintf(stream, "history of %s%s:\n", place.path,
                k == 0 ? "" : ", where it has other lines");
        for (const char *line = text, *end; *line != '\0';
             line = *end == '\0' ? end : end + 1) {
            end = line + strcspn(line, "\n");
            if (first == NULL || !has_line(first, line, (size_t)(end - line)))
                fprintf(stream, "%.*s\n", (int)(end - line), line);
        }
        if (k == 0) {
            first = text;
            text = NULL;
        }
    }
    return FX8_OK;
}

static enum fx8_status join_histories(const struct fx8_uvh5_pieces *pieces,
                                      const char *command,
                                      const struct fx8_h5_target *target,
                                      struct fx8_error *error)
{
    char date[FX8_NUMBER_TEXT_SIZE];
    FX8_AUTO_FREE char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return fx8_no_memory("history", error);
    fx8_number_format_time((struct fx8_time){time(NULL), 0}, date);
    fprintf(stream,
            "fx8 " FX8_VERSION ", %zu files joined by %s, written %s\n"
            "command: %s\n",
            pieces->n, pieces->by_time ? "time" : "frequency", date, command);
    const enum fx8_status status = print_histories(pieces, stream, error);
    const bool is_whole = fclose(stream) == 0;
    FX8_TRY(status);
    if (!is_whole)
        return fx8_no_memory("history", error);
    for (char *c = text; *c != '\0'; c++)
        if (*c != '\n' && (*c < 0x20 || *c >= 0x7f))
            *c = '?';
    const struct fx8_h5_value history = {FX8_PUT_TEXT("history", text)};
    return fx8_h5_put_values(target, &history, 1, error);
}

enum fx8_status fx8_uvh5_join_header(const struct fx8_uvh5_pieces *pieces,
                                     const char *command,
                                     struct fx8_uvh5_writer *writer,
                                     struct fx8_error *error)
{
    const struct fx8_h5_target target = target_of(writer);
    const struct fx8_h5_value counts[] = {
        {FX8_PUT_INTEGER("Nblts", pieces->n_times * pieces->n_baselines)},
        {FX8_PUT_INTEGER("Ntimes", pieces->n_times)},
        {FX8_PUT_INTEGER("Nfreqs", pieces->n_channels)},
    };
    FX8_TRY(fx8_h5_put_values(&target, counts, 3, error));
    FX8_TRY(join_group(pieces, ".", 0, writer, error));
    FX8_TRY(join_keywords(pieces, &target, error));
    return join_histories(pieces, command, &target, error);
}
