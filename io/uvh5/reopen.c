/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reopen.c -- go on with the file of a run that did not end, or was ended
 * early.
 */
#include <stdlib.h>

#include "config/base/clock.h"
#include "config/base/try.h"
#include "io/h5/h5.h"
#include "io/uvh5/writer.h"

/* What a power failure takes at most, in seconds. */
#define PROTECT_S 10.0

static void discard(struct fx8_uvh5_writer **writer)
{
    fx8_uvh5_leave(writer, 0, NULL);
}

enum fx8_status fx8_uvh5_reopen(const char *path, bool force,
                                const struct fx8_uvh5_header *header,
                                enum fx8_compression compression,
                                struct fx8_uvh5_writer **result,
                                struct fx8_error *error)
{
    *result = NULL;
    fx8_h5_quiet();
    FX8_AUTO(discard) struct fx8_uvh5_writer *writer = NULL;
    FX8_TRY(
        fx8_uvh5_plan_writer(path, header, NULL, compression, &writer, error));
    FX8_TRY(fx8_output_reopen(path, force, fx8_uvh5_holds_no_dump,
                              &writer->output, error));
    if (writer->output == NULL)
        return FX8_OK;
    writer->is_reopened = true;
    *result = writer;
    writer = NULL;
    return FX8_OK;
}

const char *fx8_uvh5_name(const struct fx8_uvh5_writer *writer)
{
    return fx8_output_part(writer->output);
}

bool fx8_uvh5_has_ended(const struct fx8_uvh5_writer *writer)
{
    return fx8_output_has_ended(writer->output);
}

static enum fx8_status open_group(const struct fx8_uvh5_writer *writer,
                                  const char *name, hid_t *group,
                                  struct fx8_error *error)
{
    *group = H5Gopen2(writer->file, name, H5P_DEFAULT);
    return *group < 0 ? fx8_output_fail(writer->output, name, error) : FX8_OK;
}

/* Drop the rows of a block that was not completed: the file may have ended
 * within it, with shorter intervals. */
static enum fx8_status drop_block(struct fx8_uvh5_writer *writer,
                                  struct fx8_error *error)
{
    return fx8_h5_cubes_resize(
        writer->output, writer->cubes, FX8_UVH5_CUBES,
        fx8_uvh5_rows_before(&writer->rows, writer->n_whole), error);
}

/* Grow what was cut to the finished dumps. */
static enum fx8_status restore_length(struct fx8_uvh5_writer *writer,
                                      const struct fx8_uvh5_header *header,
                                      struct fx8_error *error)
{
    bool is_whole = fx8_uvh5_has_columns(writer);
    if (writer->rows.n_levels > 1) {
        FX8_TRY(drop_block(writer, error));
        is_whole = false;
    }
    for (int i = 0; i < FX8_UVH5_CUBES; i++)
        is_whole = is_whole && fx8_h5_cube_rows(&writer->cubes[i]) ==
                                   fx8_uvh5_count_rows(writer);
    if (!is_whole) {
        FX8_TRY(fx8_uvh5_open_columns(writer, header, error));
        FX8_TRY(fx8_uvh5_grow(writer, error));
    }
    return fx8_uvh5_put_lengths(writer, error);
}

/* Open the file, and what it has of dumps. */
static enum fx8_status open_file(struct fx8_uvh5_writer *writer, unsigned flags,
                                 struct fx8_error *error)
{
    FX8_TRY(fx8_output_open_hdf5(writer->output, flags, &writer->file, error));
    FX8_TRY(open_group(writer, "Header", &writer->header, error));
    FX8_TRY(open_group(writer, "Data", &writer->data, error));
    return fx8_uvh5_open_cubes(writer, error);
}

enum fx8_status fx8_uvh5_look_into(struct fx8_uvh5_writer *writer,
                                   struct fx8_error *error)
{
    fx8_h5_quiet();
    const enum fx8_undo_found found = fx8_output_found(writer->output);
    writer->is_sound = found == FX8_UNDO_SAME_BOOT ||
                       (found == FX8_UNDO_RESTORED &&
                        writer->compression != FX8_COMPRESSION_NONE);
    writer->is_read_only = true;
    FX8_TRY(open_file(writer, H5F_ACC_RDONLY, error));
    FX8_TRY(fx8_uvh5_create_checksums(writer, error));
    return writer->rows.n_levels == 1
               ? FX8_OK
               : fx8_uvh5_count_whole(writer, &writer->n_whole, error);
}

enum fx8_status fx8_uvh5_check_sound(const struct fx8_uvh5_writer *writer,
                                     struct fx8_error *error)
{
    bool is_sound =
        writer->is_sound || writer->compression == FX8_COMPRESSION_NONE;
    if (!is_sound)
        FX8_TRY(fx8_uvh5_are_synced(writer, &is_sound, error));
    if (is_sound)
        return FX8_OK;
    const bool is_foreign =
        fx8_output_found(writer->output) == FX8_UNDO_FOREIGN;
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: compressed, and neither whole nor paused: %s, or "
                    "--force without --resume, to begin again",
                    fx8_uvh5_name(writer),
                    is_foreign ? "its .part.undo is damaged, or this is a copy "
                                 "of its file: expected the file itself"
                               : "expected its .part.undo beside it");
}

void fx8_uvh5_remove_undo(const struct fx8_uvh5_writer *writer)
{
    fx8_output_remove_undo(writer->output);
}

void fx8_uvh5_drop(struct fx8_uvh5_writer **handle)
{
    struct fx8_uvh5_writer *writer = *handle;
    *handle = NULL;
    if (writer == NULL)
        return;
    fx8_h5_quiet();
    (void)fx8_uvh5_close_handles(writer, NULL);
    fx8_output_abandon(&writer->output);
    free(writer);
}

static enum fx8_status take_up(struct fx8_uvh5_writer *writer,
                               const struct fx8_uvh5_header *header,
                               const uint8_t *finished, struct fx8_error *error)
{
    FX8_TRY(fx8_uvh5_close_handles(writer, error));
    writer->is_read_only = false;
    /* before it gets another name, by which it counts as one that was killed.
     * Where dumps were read and may be damaged, a kill takes the file back
     * until their marks are gone: then the next run reads them again */
    FX8_TRY(fx8_output_protect(writer->output, true, writer->is_sound, error));
    FX8_TRY(fx8_output_take_up(writer->output, fx8_uvh5_holds_no_dump, error));
    FX8_TRY(open_file(writer, H5F_ACC_RDWR, error));
    fx8_output_hold(writer->output);
    FX8_TRY(fx8_uvh5_create_checksums(writer, error));
    FX8_TRY(fx8_uvh5_unsync_marks(writer, finished, error));
    FX8_TRY(fx8_output_protect(writer->output, true, true, error));
    fx8_output_hold(writer->output);
    FX8_TRY(restore_length(writer, header, error));
    FX8_TRY(fx8_output_flush(writer->output, writer->file, error));
    return writer->compression == FX8_COMPRESSION_NONE
               ? fx8_output_reserve(writer->output, error)
               : FX8_OK;
}

enum fx8_status fx8_uvh5_take_up(struct fx8_uvh5_writer *writer,
                                 const struct fx8_uvh5_header *header,
                                 const uint8_t *finished,
                                 struct fx8_error *error)
{
    fx8_h5_quiet();
    return fx8_output_noted(&writer->failure,
                            take_up(writer, header, finished, error), error);
}

enum fx8_status fx8_uvh5_protect(struct fx8_uvh5_writer *writer,
                                 struct fx8_error *error)
{
    const double now_s = fx8_clock_seconds();
    if (writer->protected_s > 0.0 && now_s < writer->protected_s + PROTECT_S)
        return FX8_OK;
    fx8_h5_quiet();
    writer->protected_s = now_s;
    enum fx8_status status =
        fx8_output_flush(writer->output, writer->file, error);
    if (status == FX8_OK)
        status = fx8_output_protect(writer->output,
                                    writer->compression != FX8_COMPRESSION_NONE,
                                    true, error);
    return fx8_output_noted(&writer->failure, status, error);
}
