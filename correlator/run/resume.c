/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/keys.h"
#include "correlator/run/describe.h"
#include "correlator/run/resume.h"
#include "io/output.h"

/* --- counts of finished dumps ------------------------------------ */

enum fx8_status fx8_earlier_open(const struct fx8_job *job,
                                 struct fx8_earlier *earlier,
                                 struct fx8_error *error)
{
    const struct fx8_axes *axes = &job->axes;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(earlier->finished, (size_t)job->n_dumps),
        FX8_ITEMS(earlier->valid_spectra, axes->n_rows),
        FX8_ITEMS(earlier->dead_dumps, axes->n_rows),
        FX8_ITEMS(earlier->clips, axes->n_inputs * axes->n_fine),
    };
    return fx8_allocate_arrays(arrays, 4, "finished dumps", error);
}

void fx8_earlier_clear(struct fx8_earlier *earlier)
{
    free(earlier->finished);
    free(earlier->valid_spectra);
    free(earlier->dead_dumps);
    free(earlier->clips);
}

void fx8_earlier_add(struct fx8_earlier *earlier, const struct fx8_job *job,
                     size_t dump, const struct fx8_uvh5_counted *counts)
{
    const struct fx8_axes *axes = &job->axes;
    earlier->finished[dump] = 1;
    earlier->n_dumps++;
    earlier->n_spectra += fx8_dump_spectra(&job->plan, (int64_t)dump);
    for (size_t row = 0; row < axes->n_rows; row++) {
        earlier->valid_spectra[row] += counts->valid_spectra[row];
        earlier->dead_dumps[row] += counts->dead[row];
    }
    for (size_t i = 0; i < axes->n_inputs * axes->n_fine; i++)
        earlier->clips[i] += counts->clips[i];
}

/* --- is it the same run? ----------------------------------------- */

/* Differences found so far, as a text that leaves room for the name of the file
 * and what to do; those that do not fit are counted. */
struct differences {
    char text[FX8_ERROR_MESSAGE_SIZE - 256];
    size_t length, n, n_left_out;
};

static void add(struct differences *d, const char *format, ...)
    FX8_PRINTF(2, 3);

static void add(struct differences *d, const char *format, ...)
{
    char text[sizeof d->text];
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *between = d->length > 0 ? "; " : "";
    const size_t room = sizeof d->text - d->length;
    /* of the first one, the beginning at least */
    if (d->n > 0 && (n < 0 || strlen(between) + (size_t)n >= room))
        d->n_left_out++;
    else if (snprintf(d->text + d->length, room, "%s%s", between, text) >= 0)
        d->length = strlen(d->text);
    d->n++;
}

/* Name the keys that decide results and differ between two histories. */
static void compare_settings(const char *mine, const char *theirs,
                             struct differences *d)
{
    for (size_t i = 0; i < fx8_keys_count; i++) {
        const struct fx8_key *key = &fx8_keys[i];
        int n_mine, n_theirs;
        const char *my = fx8_key_in_history(key, mine, &n_mine);
        const char *their = fx8_key_in_history(key, theirs, &n_theirs);
        const bool is_same =
            n_mine == n_theirs &&
            (n_mine == 0 || strncmp(my, their, (size_t)n_mine) == 0);
        if (!key->is_execution && !is_same)
            add(d, "%s.%s =%.*s: expected%.*s", key->section, key->name,
                n_theirs, their == NULL ? "" : their, n_mine,
                my == NULL ? "" : my);
    }
}

/* How to compute as the earlier run did. */
static const struct {
    const char *keyword, *how;
} remedies[] = {
    {"BACKEND", "--set correlator.backend and correlator.device"},
    {"KERNEL", "--set correlator.kernel"},
    {"FFTPLAN", "--fft-plan"},
};

static void compare_text(const char *name, const char *theirs, const char *mine,
                         struct differences *d)
{
    const char *how = NULL;
    if (strcmp(theirs, mine) == 0)
        return;
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (strcmp(remedies[i].keyword, name) == 0)
            how = remedies[i].how;
    add(d, "%s: %s: expected %s%s%s%s", name, theirs, mine,
        how != NULL ? " (" : "", how != NULL ? how : "",
        how != NULL ? " gives the former)" : "");
}

static void compare_keyword(const struct fx8_keyword *mine,
                            const struct fx8_keyword *theirs,
                            struct differences *d)
{
    if (theirs == NULL)
        add(d, "%s: missing: expected one", mine->name);
    else if (mine->type == FX8_KEYWORD_TEXT)
        compare_text(mine->name, theirs->text, mine->text, d);
    else if (mine->type == FX8_KEYWORD_INTEGER &&
             mine->integer != theirs->integer)
        add(d, "%s: %" PRId64 ": expected %" PRId64, mine->name,
            theirs->integer, mine->integer);
    else if (mine->type == FX8_KEYWORD_REAL && mine->real != theirs->real)
        add(d, "%s: %.17g: expected %.17g", mine->name, theirs->real,
            mine->real);
}

/* A configuration that differs shows in its keys, if one of those here does. */
static void compare_keywords(const struct fx8_uvh5_header *mine,
                             const struct fx8_uvh5_header *theirs,
                             struct differences *d)
{
    for (size_t i = 0; i < mine->n_keywords; i++) {
        const struct fx8_keyword *keyword = &mine->keywords[i];
        if (strcmp(keyword->name, "INPUT") == 0)
            continue;
        const struct fx8_keyword *other =
            fx8_uvh5_keyword(theirs, keyword->name);
        const size_t before = d->n;
        if (strcmp(keyword->name, "CONFSHA") == 0 && other != NULL &&
            strcmp(other->text, keyword->text) != 0)
            compare_settings(mine->history,
                             theirs->history != NULL ? theirs->history : "", d);
        if (d->n == before)
            compare_keyword(keyword, other, d);
    }
}

static void compare_reals(const char *name, size_t n, const double *theirs,
                          const double *mine, struct differences *d)
{
    size_t i = 0;
    while (i < n && theirs[i] == mine[i])
        i++;
    if (i < n)
        add(d, "%s: %.17g: expected %.17g", name, theirs[i], mine[i]);
}

/* fx8_uvh5_differences.take */
static void take_difference(void *differences, const char *name,
                            const char *theirs, const char *mine)
{
    add(differences, "%s: %s: expected %s", name, theirs, mine);
}

/* What tables say: CONFSHA knows but the names of their files. */
static enum fx8_status compare_tables(const struct fx8_job *job,
                                      struct fx8_uvh5_file *file,
                                      struct differences *d,
                                      struct fx8_error *error)
{
    for (size_t i = 0; i < FX8_TABLE_ITEMS; i++) {
        const struct fx8_table_item *item = &fx8_table_items[i];
        FX8_AUTO_FREE double *theirs = NULL, *mine = NULL;
        size_t shape[3], n_rows;
        char name[32];
        snprintf(name, sizeof name, "fx8/%s", item->name);
        FX8_TRY(fx8_uvh5_get(file, item->name, shape, &theirs, error));
        FX8_TRY(fx8_describe_table(job, item, &n_rows, &mine, error));
        const size_t n = n_rows * item->n_columns;
        const size_t n_theirs =
            theirs == NULL ? 0 : shape[0] * shape[1] * shape[2];
        if (n_theirs != n)
            add(d, "%s: %zu values: expected %zu", name, n_theirs, n);
        else
            compare_reals(name, n, theirs, mine, d);
    }
    return FX8_OK;
}

/* --- the file of an earlier run ---------------------------------- */

/* Whether two names are of one file, now and here. */
static bool is_one_file(const char *a, const char *b)
{
    FX8_AUTO_FREE char *path_a = realpath(a, NULL);
    FX8_AUTO_FREE char *path_b = realpath(b, NULL);
    return path_a != NULL && path_b != NULL && strcmp(path_a, path_b) == 0;
}

/* The recording may have another name.  That is named first, but only counts if
 * there are other differences: its data are compared later. */
static void compare_input(const struct fx8_run_request *request,
                          const struct fx8_uvh5_header *mine,
                          const struct fx8_uvh5_header *theirs,
                          struct fx8_resumed *result, struct differences *d)
{
    const struct fx8_keyword *own = fx8_uvh5_keyword(mine, "INPUT");
    const struct fx8_keyword *other = fx8_uvh5_keyword(theirs, "INPUT");
    if (other == NULL || strcmp(other->text, own->text) == 0)
        return;
    strcpy(result->input, other->text);
    result->has_moved = !is_one_file(other->text, request->input);
    compare_text("INPUT", other->text, own->text, d);
    d->n = 0;
}

static enum fx8_status refuse(const char *name, const struct differences *d,
                              struct fx8_error *error)
{
    char more[32] = "";
    if (d->n_left_out > 0)
        snprintf(more, sizeof more, "; and %zu more", d->n_left_out);
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: is of another run: %s%s: expected the same run, or "
                    "--force without --resume to replace it",
                    name, d->text, more);
}

/* Compare all that the file holds, and read its gains. */
static enum fx8_status check(const struct fx8_run_request *request,
                             struct fx8_uvh5_writer *writer,
                             const struct fx8_uvh5_header *header,
                             const struct fx8_uvh5_gains *gains,
                             struct fx8_resumed *result,
                             struct fx8_error *error)
{
    const char *name = fx8_uvh5_name(writer);
    FX8_AUTO(fx8_uvh5_file_close) struct fx8_uvh5_file *file = NULL;
    FX8_AUTO(fx8_uvh5_header_clear) struct fx8_uvh5_header found = {0};
    FX8_AUTO_FREE double *planned = NULL;
    size_t shape[3], n_dumps;
    struct differences d = {.n = 0};
    const struct fx8_uvh5_differences differences = {take_difference, &d};
    /* first: both read through the same descriptor then */
    FX8_TRY(fx8_uvh5_look_into(writer, error));
    FX8_TRY(fx8_uvh5_open_words(name, &file, &found, error));
    FX8_TRY(fx8_uvh5_get(file, FX8_PLANNED_DUMPS, shape, &planned, error));
    compare_input(request, header, &found, result, &d);
    compare_keywords(header, &found, &d);
    FX8_TRY(fx8_uvh5_compare_header(writer, header, &differences, error));
    FX8_TRY(compare_tables(request->job, file, &d, error));
    if (planned == NULL || planned[0] != (double)header->n_times)
        add(&d, "fx8/%s: %.0f: expected %zu", FX8_PLANNED_DUMPS,
            planned == NULL ? 0.0 : planned[0], header->n_times);
    if (d.n > 0)
        return refuse(name, &d, error);
    FX8_TRY(fx8_uvh5_check_sound(writer, error));
    result->is_usable = true;
    result->is_complete = fx8_uvh5_is_complete(file, header->n_times);
    fx8_uvh5_count_finished(file, &n_dumps, &result->n_finished);
    return gains == NULL
               ? FX8_OK
               : fx8_uvh5_get_gains(file, gains, &result->is_usable, error);
}

/* A .part without its gains is begun again. */
static void warn_of_gains(const struct fx8_run_request *request,
                          const char *name)
{
    char text[FX8_ERROR_MESSAGE_SIZE];
    snprintf(text, sizeof text,
             "%s: fx8/gain: damaged: none of its dumps can be kept", name);
    if (request->warn != NULL)
        request->warn(request->warn_context, text);
}

enum fx8_status fx8_resume_open(const struct fx8_run_request *request,
                                const char *path,
                                const struct fx8_uvh5_header *header,
                                const struct fx8_uvh5_gains *gains,
                                struct fx8_uvh5_writer **writer,
                                struct fx8_resumed *found,
                                struct fx8_error *error)
{
    *found = (struct fx8_resumed){.is_usable = false};
    FX8_TRY(fx8_uvh5_reopen(path, request->force, header,
                            request->job->settings->output.compression, writer,
                            error));
    if (*writer == NULL)
        return FX8_OK;
    enum fx8_status status =
        check(request, *writer, header, gains, found, error);
    const bool has_ended = fx8_uvh5_has_ended(*writer);
    found->is_complete = found->is_complete && has_ended;
    const bool is_damaged = status == FX8_OK && !found->is_usable;
    if (is_damaged && !has_ended)
        warn_of_gains(request, fx8_uvh5_name(*writer));
    if (is_damaged && has_ended)
        status = fx8_fail(error, FX8_ERR_USAGE,
                          "%s: its gains are damaged: expected --force without "
                          "--resume to replace it",
                          path);
    if (status != FX8_OK)
        fx8_uvh5_leave(writer, 0, NULL);
    else if (found->is_complete)
        fx8_uvh5_remove_undo(*writer);
    return status;
}

/* --- a file that is in the way ----------------------------------- */

bool fx8_resume_is_unfinished(const char *path, size_t *n_finished)
{
    FX8_AUTO(fx8_uvh5_file_close) struct fx8_uvh5_file *file = NULL;
    FX8_AUTO(fx8_uvh5_header_clear) struct fx8_uvh5_header header = {0};
    FX8_AUTO_FREE double *planned = NULL;
    size_t shape[3], n_dumps;
    if (fx8_uvh5_open_words(path, &file, &header, NULL) != FX8_OK ||
        fx8_uvh5_get(file, FX8_PLANNED_DUMPS, shape, &planned, NULL) !=
            FX8_OK ||
        planned == NULL)
        return false;
    fx8_uvh5_count_finished(file, &n_dumps, n_finished);
    return fx8_output_is_part(path) ? *n_finished > 0
                                    : (double)n_dumps != planned[0] ||
                                          !fx8_uvh5_is_complete(file, n_dumps);
}

void fx8_resume_explain(const char *command, struct fx8_error *error)
{
    char *const end = error->message + strlen(error->message);
    const size_t room = sizeof error->message - (size_t)(end - error->message);
    const char *found = strstr(error->message, ": exists");
    if (found == NULL)
        return;
    FX8_AUTO_FREE char *path =
        strndup(error->message, (size_t)(found - error->message));
    size_t n_finished;
    if (path == NULL || !fx8_resume_is_unfinished(path, &n_finished))
        return;
    const int n = snprintf(end, room, "; to go on with it: %s",
                           command != NULL ? command : "--resume");
    if (n < 0 || (size_t)n >= room)
        snprintf(end, room, "; to go on with it: --resume");
}
