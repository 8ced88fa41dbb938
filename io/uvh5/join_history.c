/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join_history.c -- histories of the files to join: how each was made, and the
 * history of the result.
 *
 * A joined file, joined again, gives what joining all at once would: its first
 * lines are left out, and a line that an earlier file has is left out either
 * way.
 */
#include <fnmatch.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/keys.h"
#include "io/uvh5/join.h"

/* Lines of a joined file before the first of them. */
#define N_HEAD 3

/* --- configurations ------------------------------------------------------- */

static enum fx8_uvh5_difference judge(
    const struct fx8_uvh5_join_request *request, const char *name)
{
    for (size_t i = 0; i < request->n_rules; i++)
        if (fnmatch(request->rules[i].keys, name, 0) == 0)
            return request->rules[i].difference;
    return FX8_UVH5_LEGAL;
}

/* Compare a key of all files whose histories name it; the first one that
 * differs is named. */
static enum fx8_status match_key(const struct fx8_uvh5_join_request *request,
                                 const struct fx8_uvh5_pieces *pieces,
                                 const struct fx8_key *key,
                                 struct fx8_error *error)
{
    const char *first = NULL, *path = NULL;
    int n, n_first = 0;
    char name[FX8_TEXT_SIZE];
    snprintf(name, sizeof name, "%s.%s", key->section, key->name);
    const enum fx8_uvh5_difference difference = judge(request, name);
    for (size_t k = 0; difference != FX8_UVH5_LEGAL && k < pieces->n; k++) {
        const struct fx8_uvh5_piece *piece = &pieces->piece[k];
        const char *value = fx8_key_in_history(key, piece->header.history, &n);
        if (value != NULL && first == NULL) {
            first = value;
            n_first = n;
            path = piece->path;
        }
        if (value == NULL ||
            (n == n_first && strncmp(value, first, (size_t)n) == 0))
            continue;
        if (difference == FX8_UVH5_REFUSED)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s:%.*s: expected%.*s as in %s", piece->path,
                            name, n, value, n_first, first, path);
        request->warn("%s: %s:%.*s, but%.*s in %s", piece->path, name, n, value,
                      n_first, first, path);
        break;
    }
    return FX8_OK;
}

enum fx8_status fx8_uvh5_match_settings(
    const struct fx8_uvh5_join_request *request,
    const struct fx8_uvh5_pieces *pieces, struct fx8_error *error)
{
    for (size_t i = 0; i < fx8_keys_count; i++)
        FX8_TRY(match_key(request, pieces, &fx8_keys[i], error));
    return FX8_OK;
}

/* --- the history of the result -------------------------------------------- */

size_t fx8_uvh5_count_joined(const struct fx8_uvh5_piece *piece)
{
    size_t n = 0;
    return sscanf(piece->header.history, "fx8 %*[^,], %zu files joined by",
                  &n) == 1
               ? n
               : 0;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void keep(void *line)
{
    (void)line;
}

/* Print a history line by line: of the first all, then those that none before
 * has. */
static void print_history(const struct fx8_uvh5_piece *piece, bool is_first,
                          void **seen, FILE *stream)
{
    char *rest = piece->header.history, *line;
    const bool is_joined = fx8_uvh5_count_joined(piece) > 0;
    if (!is_joined)
        fprintf(stream, FX8_HISTORY_OF "%s:\n", piece->path);
    for (size_t i = 0; (line = strsep(&rest, "\n")) != NULL; i++) {
        if ((is_joined && i < N_HEAD) || (rest == NULL && *line == '\0'))
            continue;
        const bool is_heading =
            is_joined &&
            strncmp(line, FX8_HISTORY_OF, sizeof FX8_HISTORY_OF - 1) == 0;
        char **found = tsearch(line, seen, compare_lines);
        if (is_first || is_heading || found == NULL || *found == line)
            fprintf(stream, "%s\n", line);
    }
}

static void print_histories(const struct fx8_uvh5_join *join, FILE *stream)
{
    const struct fx8_uvh5_pieces *pieces = &join->pieces;
    char date[FX8_NUMBER_TEXT_SIZE];
    size_t n_files = 0;
    void *seen = NULL;
    for (size_t k = 0; k < pieces->n; k++) {
        const size_t n = fx8_uvh5_count_joined(&pieces->piece[k]);
        n_files += n > 0 ? n : 1;
    }
    fx8_number_format_time((struct fx8_time){time(NULL), 0}, date);
    fprintf(stream,
            "fx8 " FX8_VERSION ", %zu files joined by %s, written %s\n"
            "command: %s\n"
            "lines that an earlier history has are left out\n",
            n_files, pieces->by_time ? "time" : "frequency", date,
            join->request->command);
    for (size_t k = 0; k < pieces->n; k++)
        print_history(&pieces->piece[k], k == 0, &seen, stream);
    tdestroy(seen, keep);
}

enum fx8_status fx8_uvh5_join_histories(const struct fx8_uvh5_join *join,
                                        struct fx8_error *error)
{
    FX8_AUTO_FREE char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return fx8_no_memory("history", error);
    print_histories(join, stream);
    if (fclose(stream) != 0)
        return fx8_no_memory("history", error);
    for (char *c = text; *c != '\0'; c++)
        if (*c != '\n' && (*c < 0x20 || *c >= 0x7f))
            *c = '?';
    const struct fx8_h5_value history = {FX8_PUT_TEXT("Header/history", text)};
    return fx8_h5_put_values(&join->target, &history, 1, error);
}
