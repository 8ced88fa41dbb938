/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cut.c -- the early end of a UVH5 file: its rows are cut to the dumps that
 * were written.
 *
 * On close, HDF5 removes free space at the end of a file.  Cut dumps are free
 * space, but late additions (/fx8 and keywords) are stored after them and would
 * keep the file at its full size.  So these few kilobytes are moved to memory
 * while the file is closed and reopened.
 */
#include "config/base/try.h"
#include "io/h5/h5.h"
#include "io/uvh5/writer.h"

/* Late additions, and their names in memory. */
static const struct {
    const char *name;
    const char *aside;
} late[] = {{"fx8", "a"}, {"Header/extra_keywords", "b"}};

#define N_LATE (sizeof late / sizeof late[0])

enum fx8_status fx8_uvh5_create_aside(const struct fx8_uvh5_writer *writer,
                                      hid_t *aside, struct fx8_error *error)
{
    const size_t step = (size_t)64 << 10; /* bytes it grows by */
    FX8_H5_AUTO access = H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0 || H5Pset_fapl_core(access, step, false) < 0 ||
        (*aside = H5Fcreate("fx8 aside", H5F_ACC_TRUNC, H5P_DEFAULT, access)) <
            0)
        return fx8_output_fail(writer->output, "copy in memory", error);
    return FX8_OK;
}

static enum fx8_status move_aside(const struct fx8_uvh5_writer *writer,
                                  hid_t aside, struct fx8_error *error)
{
    for (size_t i = 0; i < N_LATE; i++)
        if (H5Lexists(writer->file, late[i].name, H5P_DEFAULT) > 0 &&
            (H5Ocopy(writer->file, late[i].name, aside, late[i].aside,
                     H5P_DEFAULT, H5P_DEFAULT) < 0 ||
             H5Ldelete(writer->file, late[i].name, H5P_DEFAULT) < 0))
            return fx8_output_fail(writer->output, late[i].name, error);
    return FX8_OK;
}

static enum fx8_status move_back(const struct fx8_uvh5_writer *writer,
                                 hid_t aside, struct fx8_error *error)
{
    for (size_t i = 0; i < N_LATE; i++)
        if (H5Lexists(aside, late[i].aside, H5P_DEFAULT) > 0 &&
            H5Ocopy(aside, late[i].aside, writer->file, late[i].name,
                    H5P_DEFAULT, H5P_DEFAULT) < 0)
            return fx8_output_fail(writer->output, late[i].name, error);
    return FX8_OK;
}

enum fx8_status fx8_uvh5_end_early(struct fx8_uvh5_writer *writer,
                                   const struct fx8_uvh5_header *header,
                                   const struct fx8_result *result,
                                   struct fx8_error *error)
{
    const size_t last = header->n_times - 1;
    fx8_h5_quiet();
    writer->rows = fx8_uvh5_rows_of_header(header);
    enum fx8_status status =
        fx8_uvh5_count_dates(header, &writer->n_dates, error);
    if (status == FX8_OK && result != NULL)
        status = fx8_uvh5_rewrite_columns(
            writer, header, fx8_uvh5_rows_before(&writer->rows, last), error);
    if (status == FX8_OK && result != NULL)
        status = fx8_uvh5_write_dump(writer, last, result, error);
    return fx8_output_noted(&writer->failure, status, error);
}

/* Rows of the first n_dumps of a file, which has them all. */
static void shorten(struct fx8_uvh5_writer *writer, size_t n_dumps)
{
    if (writer->rows.n_dumps == n_dumps)
        return; /* fx8_uvh5_end_early() has */
    writer->rows.n_dumps = n_dumps;
    writer->n_dates = n_dumps;
}

enum fx8_status fx8_uvh5_cut(struct fx8_uvh5_writer *writer, size_t n_dumps,
                             struct fx8_error *error)
{
    FX8_H5_AUTO aside = FX8_H5_NONE;
    FX8_TRY(fx8_output_flush(writer->output, writer->file, error));
    FX8_TRY(fx8_output_protect_change(writer->output, error));
    shorten(writer, n_dumps);
    FX8_TRY(fx8_h5_cubes_resize(writer->output, writer->cubes, FX8_UVH5_CUBES,
                                fx8_uvh5_count_rows(writer), error));
    FX8_TRY(fx8_uvh5_cut_columns(writer, error));
    FX8_TRY(fx8_uvh5_cut_counts(writer, n_dumps, error));
    FX8_TRY(fx8_uvh5_create_aside(writer, &aside, error));
    FX8_TRY(move_aside(writer, aside, error));
    FX8_TRY(fx8_uvh5_close_handles(writer, error));
    FX8_TRY(fx8_output_open_hdf5(writer->output, H5F_ACC_RDWR, &writer->file,
                                 error));
    return move_back(writer, aside, error);
}
