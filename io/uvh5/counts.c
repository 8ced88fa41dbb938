/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts.c -- what /fx8 holds of each dump: whether it is finished, and what
 * was counted in it.
 *
 * A dump is finished once its checksum is written.  Data that were lost after
 * that, such as by a power failure, no longer match it; nor do counts, whose
 * checksum is above that of the data until the file is whole.  A run that is
 * paused says in the marks that all of this is on the disk: nobody has to read
 * it to know.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/uvh5/writer.h"

/* The checksum of the data in a mark. */
#define DATA ((int64_t)UINT32_MAX)

/* In the mark of a dump that is on the disk, with all that the file needs to
 * have it read: no failure of the machine can lose it. */
#define SYNCED INT64_MIN

static const int64_t unfinished = FX8_UVH5_UNFINISHED;

const char *const fx8_uvh5_count_names[FX8_UVH5_COUNTS] = {
    [FX8_UVH5_CHECKSUM] = "checksum",
    [FX8_UVH5_VALID_SPECTRA] = "valid_spectra",
    [FX8_UVH5_DEAD] = "dead",
    [FX8_UVH5_CLIPS] = "clips",
};

static const char *const texts[FX8_UVH5_COUNTS] = {
    [FX8_UVH5_CHECKSUM] = "CRC-32 of flags, nsamples and visdata, by dump; "
                          "-1: not finished",
    [FX8_UVH5_VALID_SPECTRA] = "valid spectra, by dump, band and input "
                               "(antenna-major)",
    [FX8_UVH5_DEAD] = "1: all samples zero, by dump, band and input "
                      "(antenna-major)",
    [FX8_UVH5_CLIPS] = "valid spectra clamped by the quantiser, by dump, "
                       "input (antenna-major) and channel",
};

/* What is only looked into has all of these, unless writes of it were lost. */
static enum fx8_status check_is_there(const struct fx8_uvh5_writer *writer,
                                      const char *name, struct fx8_error *error)
{
    char path[32];
    snprintf(path, sizeof path, "fx8/%s", name);
    if (!writer->is_read_only ||
        (H5Lexists(writer->file, "fx8", H5P_DEFAULT) > 0 &&
         H5Lexists(writer->file, path, H5P_DEFAULT) > 0))
        return FX8_OK;
    FX8_TRY(fx8_output_check_reads(writer->output, error));
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: %s: is missing: the file was damaged, as by a power "
                    "failure: expected --force without --resume, to begin "
                    "again",
                    fx8_output_part(writer->output), path);
}

/* Create a dataset with a row of [a][b] per dump, or open that of an earlier
 * run. */
static enum fx8_status create(struct fx8_uvh5_writer *writer, int index,
                              int rank, size_t a, size_t b,
                              struct fx8_error *error)
{
    FX8_H5_AUTO group = FX8_H5_NONE;
    const char *name = fx8_uvh5_count_names[index];
    const struct fx8_h5_target root = {writer->output, writer->file, false};
    struct fx8_h5_cube *cube = &writer->counts[index];
    /* clips and dead inputs are rare */
    const bool is_sparse = index == FX8_UVH5_CLIPS || index == FX8_UVH5_DEAD;
    const bool is_packed =
        is_sparse && writer->compression != FX8_COMPRESSION_NONE;
    *cube = (struct fx8_h5_cube){
        .name = name,
        .value_bytes = sizeof(int64_t),
        .rank = rank,
        .dump = {1, a, b},
        .fill = index == FX8_UVH5_CHECKSUM ? &unfinished : NULL,
        .is_sparse = is_sparse,
        .type = H5Tcopy(H5T_STD_I64LE),
    };
    if (cube->type < 0)
        return fx8_output_fail(writer->output, name, error);
    FX8_TRY(check_is_there(writer, name, error));
    fx8_h5_cube_chunk(cube, 1, writer->n_times, !is_packed);
    FX8_TRY(fx8_h5_put_group(&root, "fx8", &group, error));
    const bool is_new = H5Lexists(group, name, H5P_DEFAULT) <= 0;
    FX8_TRY(fx8_h5_cube_create(writer->output, group, cube, writer->n_times,
                               is_packed, false, error));
    if (is_new)
        FX8_TRY(fx8_h5_put_note(writer->output, cube->dataset, "description",
                                texts[index], error));
    return writer->is_read_only ? FX8_OK
                                : fx8_h5_cubes_resize(writer->output, cube, 1,
                                                      writer->n_times, error);
}

enum fx8_status fx8_uvh5_create_checksums(struct fx8_uvh5_writer *writer,
                                          struct fx8_error *error)
{
    return create(writer, FX8_UVH5_CHECKSUM, 1, 0, 0, error);
}

enum fx8_status fx8_uvh5_open_counts(struct fx8_uvh5_writer *writer,
                                     size_t n_bands, size_t n_inputs,
                                     size_t n_fine, struct fx8_error *error)
{
    fx8_h5_quiet();
    enum fx8_status status =
        create(writer, FX8_UVH5_VALID_SPECTRA, 3, n_bands, n_inputs, error);
    if (status == FX8_OK && n_fine > 0)
        status = create(writer, FX8_UVH5_CLIPS, 3, n_inputs, n_fine, error);
    if (status == FX8_OK)
        status = fx8_output_flush(writer->output, writer->file, error);
    return fx8_output_noted(&writer->failure, status, error);
}

enum fx8_status fx8_uvh5_open_dead(struct fx8_uvh5_writer *writer,
                                   size_t n_bands, size_t n_inputs,
                                   struct fx8_error *error)
{
    fx8_h5_quiet();
    enum fx8_status status =
        create(writer, FX8_UVH5_DEAD, 3, n_bands, n_inputs, error);
    if (status == FX8_OK)
        status = fx8_output_flush(writer->output, writer->file, error);
    return fx8_output_noted(&writer->failure, status, error);
}

/* Whether int64 [...] are all 0. */
static bool is_zero(const struct fx8_h5_cube *cube, const int64_t *values)
{
    const size_t n = fx8_h5_cube_bytes(cube) / sizeof *values;
    size_t i = 0;
    while (i < n && values[i] == 0)
        i++;
    return i == n;
}

/* Write counts, if they are not what a sparse dataset has without. */
static enum fx8_status write_counts(const struct fx8_uvh5_writer *writer,
                                    const struct fx8_h5_cube *cube, size_t dump,
                                    const int64_t *counts,
                                    struct fx8_error *error)
{
    bool is_there = cube->is_sparse && is_zero(cube, counts);
    if (is_there && writer->is_reopened) {
        /* an earlier run may have left some */
        FX8_AUTO_FREE int64_t *left = malloc(fx8_h5_cube_bytes(cube));
        if (left == NULL)
            return fx8_no_memory("counts", error);
        FX8_TRY(fx8_h5_cube_read(writer->output, cube, dump, left, error));
        is_there = is_zero(cube, left);
    }
    return is_there
               ? FX8_OK
               : fx8_h5_cube_write(writer->output, cube, dump, counts, error);
}

/* The arrays of counts that the file has, by dataset; else NULL. */
static void list_counts(const struct fx8_uvh5_writer *writer,
                        const struct fx8_uvh5_counted *counts,
                        int64_t *arrays[FX8_UVH5_COUNTS])
{
    int64_t *const all[FX8_UVH5_COUNTS] = {
        [FX8_UVH5_VALID_SPECTRA] = counts->valid_spectra,
        [FX8_UVH5_DEAD] = counts->dead,
        [FX8_UVH5_CLIPS] = counts->clips,
    };
    for (int i = 0; i < FX8_UVH5_COUNTS; i++)
        arrays[i] = writer->counts[i].dataset > 0 ? all[i] : NULL;
}

int64_t fx8_uvh5_crc_counts(const int64_t *const arrays[FX8_UVH5_COUNTS],
                            const size_t bytes[FX8_UVH5_COUNTS])
{
    uLong crc = crc32_z(0, NULL, 0);
    for (int i = 0; i < FX8_UVH5_COUNTS; i++)
        if (arrays[i] != NULL)
            crc = crc32_z(crc, (const Bytef *)arrays[i], bytes[i]);
    return (int64_t)(crc & INT32_MAX) << 32;
}

/* That of the counts that the file has. */
static int64_t crc_of(const struct fx8_uvh5_writer *writer,
                      const struct fx8_uvh5_counted *counts)
{
    int64_t *arrays[FX8_UVH5_COUNTS];
    size_t bytes[FX8_UVH5_COUNTS] = {0};
    list_counts(writer, counts, arrays);
    for (int i = 0; i < FX8_UVH5_COUNTS; i++)
        if (arrays[i] != NULL)
            bytes[i] = fx8_h5_cube_bytes(&writer->counts[i]);
    return fx8_uvh5_crc_counts((const int64_t *const *)arrays, bytes);
}

enum fx8_status fx8_uvh5_write_counts(struct fx8_uvh5_writer *writer,
                                      size_t dump,
                                      const struct fx8_uvh5_counted *counts,
                                      struct fx8_error *error)
{
    fx8_h5_quiet();
    writer->crc_of_counts = crc_of(writer, counts);
    enum fx8_status status = FX8_OK;
    int64_t *arrays[FX8_UVH5_COUNTS];
    list_counts(writer, counts, arrays);
    for (int i = 0; i < FX8_UVH5_COUNTS && status == FX8_OK; i++)
        if (arrays[i] != NULL)
            status = write_counts(writer, &writer->counts[i], dump, arrays[i],
                                  error);
    return fx8_output_noted(&writer->failure, status, error);
}

enum fx8_status fx8_uvh5_recall_counts(struct fx8_uvh5_writer *writer,
                                       size_t dump,
                                       const struct fx8_uvh5_counted *counts,
                                       struct fx8_error *error)
{
    int64_t *arrays[FX8_UVH5_COUNTS];
    fx8_h5_quiet();
    list_counts(writer, counts, arrays);
    for (int i = 0; i < FX8_UVH5_COUNTS; i++)
        if (arrays[i] != NULL)
            FX8_TRY(fx8_h5_cube_read(writer->output, &writer->counts[i], dump,
                                     arrays[i], error));
    return FX8_OK;
}

void fx8_uvh5_crc_pass(struct fx8_uvh5_crc *crc, int cube, const void *values,
                       size_t bytes)
{
    crc->of[cube] = crc32_z(crc->of[cube], values, bytes);
    crc->bytes[cube] += bytes;
}

int64_t fx8_uvh5_crc_join(const struct fx8_uvh5_crc *crc)
{
    uLong all = crc32_z(0, NULL, 0);
    for (int i = 0; i < FX8_UVH5_CUBES; i++)
        all = crc32_combine(all, crc->of[i], (z_off_t)crc->bytes[i]);
    return (int64_t)all;
}

enum fx8_status fx8_uvh5_mark(struct fx8_uvh5_writer *writer, size_t dump,
                              int64_t checksum, struct fx8_error *error)
{
    FX8_TRY(fx8_h5_cube_write(writer->output,
                              &writer->counts[FX8_UVH5_CHECKSUM], dump,
                              &checksum, error));
    return fx8_output_check(writer->output, error);
}

/* Read a dump for its checksum; without a result, into memory for the rows of a
 * chunk.  What cannot be read gives false. */
static bool read_cubes(struct fx8_uvh5_writer *writer, size_t dump,
                       void *const values[FX8_UVH5_CUBES],
                       struct fx8_uvh5_crc *crc)
{
    const struct fx8_h5_cube *cubes = writer->cubes;
    const size_t n_baselines = writer->n_baselines;
    const size_t row =
        fx8_h5_cube_bytes(&cubes[FX8_UVH5_VISDATA]) / n_baselines;
    const size_t n_all = fx8_uvh5_rows_of(&writer->rows, dump, NULL);
    const size_t place = fx8_uvh5_rows_before(&writer->rows, dump);
    size_t most = n_all;
    FX8_AUTO_FREE char *memory = NULL;
    if (values[FX8_UVH5_VISDATA] == NULL) {
        if (cubes[FX8_UVH5_VISDATA].chunk[0] < n_all)
            most = (size_t)cubes[FX8_UVH5_VISDATA].chunk[0];
        if (fx8_allocate(most * row, 1, "rows", &memory, NULL) != FX8_OK)
            return false;
    }
    for (size_t first = 0, n; first < n_all; first += n) {
        n = n_all - first < most ? n_all - first : most;
        for (int i = 0; i < FX8_UVH5_CUBES; i++) {
            void *to = memory != NULL ? memory : values[i];
            if (fx8_h5_cube_read_rows(writer->output, &cubes[i], 0,
                                      place + first, n, to, NULL) != FX8_OK)
                return false;
            fx8_uvh5_crc_pass(crc, i, to,
                              n * (fx8_h5_cube_bytes(&cubes[i]) / n_baselines));
        }
    }
    return true;
}

/* Whether a dump can be read and has this checksum. */
static bool is_whole(struct fx8_uvh5_writer *writer, size_t dump,
                     void *const values[FX8_UVH5_CUBES], int64_t checksum)
{
    struct fx8_uvh5_crc crc = {.bytes = {0}};
    return read_cubes(writer, dump, values, &crc) &&
           checksum == fx8_uvh5_crc_join(&crc);
}

/* The checksum of a dump; a file that was cut has none of later ones. */
static enum fx8_status get_mark(const struct fx8_uvh5_writer *writer,
                                size_t dump, int64_t *checksum,
                                struct fx8_error *error)
{
    const struct fx8_h5_cube *marks = &writer->counts[FX8_UVH5_CHECKSUM];
    *checksum = unfinished;
    return dump < fx8_h5_cube_rows(marks)
               ? fx8_h5_cube_read(writer->output, marks, dump, checksum, error)
               : FX8_OK;
}

/* Whether no failure can have lost a dump with this mark: none since it was
 * written, or a run that ended well has synchronised it; one that was killed
 * may have left what has its final name since. */
static bool is_synced(const struct fx8_uvh5_writer *writer, int64_t checksum)
{
    return writer->is_sound || (checksum & SYNCED) != 0 ||
           ((checksum & ~DATA) == 0 && fx8_output_has_ended(writer->output));
}

static void list_values(const struct fx8_result *result,
                        void *values[FX8_UVH5_CUBES])
{
    values[FX8_UVH5_VISDATA] = result->visibilities;
    values[FX8_UVH5_NSAMPLES] = result->nsamples;
    values[FX8_UVH5_FLAGS] = result->flags;
}

enum fx8_status fx8_uvh5_read_dump(struct fx8_uvh5_writer *writer, size_t dump,
                                   bool trusts,
                                   const struct fx8_uvh5_counted *counts,
                                   const struct fx8_result *result,
                                   bool *is_finished, struct fx8_error *error)
{
    int64_t checksum;
    void *values[FX8_UVH5_CUBES];
    fx8_h5_quiet();
    list_values(result, values);
    *is_finished = false;
    FX8_TRY(get_mark(writer, dump, &checksum, error));
    if (checksum == unfinished)
        return FX8_OK;
    const int64_t of_counts = checksum & ~DATA & ~SYNCED;
    trusts = trusts && is_synced(writer, checksum);
    *is_finished =
        fx8_uvh5_recall_counts(writer, dump, counts, NULL) == FX8_OK &&
        (of_counts == 0 || of_counts == crc_of(writer, counts)) &&
        (trusts || is_whole(writer, dump, values, checksum & DATA));
    /* damaged data make a dump unfinished; a failed read() ends the run */
    return fx8_output_check_reads(writer->output, error);
}

enum fx8_status fx8_uvh5_compare_slice(struct fx8_uvh5_writer *writer,
                                       size_t dump, size_t first_baseline,
                                       size_t n_baselines,
                                       const struct fx8_result *result,
                                       bool *is_same, struct fx8_error *error)
{
    int64_t checksum;
    void *values[FX8_UVH5_CUBES];
    const size_t n_all = fx8_uvh5_rows_of(&writer->rows, dump, NULL);
    fx8_h5_quiet();
    list_values(result, values);
    for (int i = 0; i < FX8_UVH5_CUBES; i++)
        fx8_uvh5_crc_pass(&writer->crc, i, values[i],
                          n_baselines * (fx8_h5_cube_bytes(&writer->cubes[i]) /
                                         writer->n_baselines));
    *is_same = true;
    if (first_baseline + n_baselines < n_all)
        return FX8_OK;
    FX8_TRY(get_mark(writer, dump, &checksum, error));
    *is_same = (checksum & DATA) == fx8_uvh5_crc_join(&writer->crc);
    writer->crc = (struct fx8_uvh5_crc){.bytes = {0}};
    return FX8_OK;
}

enum fx8_status fx8_uvh5_mark_all(struct fx8_uvh5_writer *writer,
                                  const int64_t *checksums,
                                  struct fx8_error *error)
{
    const struct fx8_h5_cube *cube = &writer->counts[FX8_UVH5_CHECKSUM];
    const hsize_t start = 0, count = writer->n_times;
    FX8_TRY(fx8_output_flush(writer->output, writer->file, error));
    return fx8_h5_write_part(cube->dataset, cube->type, &start, &count,
                             checksums) < 0
               ? fx8_output_fail(writer->output, cube->name, error)
               : fx8_output_check(writer->output, error);
}

/* Keep these bits of the marks of finished dumps, and add others.  NULL: all
 * that are marked are finished. */
static enum fx8_status change_marks(struct fx8_uvh5_writer *writer,
                                    const uint8_t *finished, int64_t kept,
                                    int64_t added, struct fx8_error *error)
{
    const struct fx8_h5_cube *cube = &writer->counts[FX8_UVH5_CHECKSUM];
    const size_t n = fx8_h5_cube_rows(cube);
    const hsize_t start = 0, count = n;
    FX8_AUTO_FREE int64_t *marks = NULL;
    FX8_TRY(fx8_allocate(n, sizeof *marks, cube->name, &marks, error));
    if (fx8_h5_read_part(cube->dataset, cube->type, &start, &count, marks) < 0)
        return fx8_output_fail(writer->output, cube->name, error);
    for (size_t dump = 0; dump < n; dump++)
        if (finished != NULL && (dump >= writer->n_times || !finished[dump]))
            marks[dump] = unfinished;
        else if (marks[dump] != unfinished)
            marks[dump] = (marks[dump] & kept) | added;
    return fx8_h5_write_part(cube->dataset, cube->type, &start, &count, marks) <
                   0
               ? fx8_output_fail(writer->output, cube->name, error)
               : fx8_output_check(writer->output, error);
}

static enum fx8_status flush_and_sync(struct fx8_uvh5_writer *writer,
                                      struct fx8_error *error)
{
    FX8_TRY(fx8_output_flush(writer->output, writer->file, error));
    return fx8_output_sync(writer->output, error);
}

enum fx8_status fx8_uvh5_trim_marks(struct fx8_uvh5_writer *writer,
                                    struct fx8_error *error)
{
    FX8_TRY(flush_and_sync(writer, error));
    return change_marks(writer, NULL, DATA, 0, error);
}

/* Closing writes what HDF5 still holds. */
static enum fx8_status close_and_sync(struct fx8_uvh5_writer *writer,
                                      struct fx8_error *error)
{
    FX8_TRY(fx8_uvh5_close_handles(writer, error));
    FX8_TRY(fx8_output_check(writer->output, error));
    return fx8_output_sync(writer->output, error);
}

enum fx8_status fx8_uvh5_sync_marks(struct fx8_uvh5_writer *writer,
                                    struct fx8_error *error)
{
    fx8_h5_quiet();
    FX8_TRY(close_and_sync(writer, error));
    FX8_TRY(fx8_output_open_hdf5(writer->output, H5F_ACC_RDWR, &writer->file,
                                 error));
    FX8_TRY(fx8_uvh5_create_checksums(writer, error));
    FX8_TRY(change_marks(writer, NULL, ~SYNCED, SYNCED, error));
    FX8_TRY(close_and_sync(writer, error));
    fx8_output_unprotect(writer->output);
    return FX8_OK;
}

enum fx8_status fx8_uvh5_unsync_marks(struct fx8_uvh5_writer *writer,
                                      const uint8_t *finished,
                                      struct fx8_error *error)
{
    FX8_TRY(change_marks(writer, finished, ~SYNCED, 0, error));
    return flush_and_sync(writer, error);
}

enum fx8_status fx8_uvh5_are_synced(const struct fx8_uvh5_writer *writer,
                                    bool *are_synced, struct fx8_error *error)
{
    *are_synced = true;
    for (size_t dump = 0; dump < writer->n_times && *are_synced; dump++) {
        int64_t checksum;
        FX8_TRY(get_mark(writer, dump, &checksum, error));
        *are_synced = is_synced(writer, checksum);
    }
    return FX8_OK;
}

bool fx8_uvh5_count_marks(hid_t file, struct fx8_uvh5_marks *marks)
{
    FX8_H5_AUTO checksums = FX8_H5_NONE;
    hsize_t n = 0;
    *marks = (struct fx8_uvh5_marks){0};
    if (fx8_h5_open_dataset("", file, "fx8/checksum", H5P_DEFAULT, &checksums,
                            NULL) != FX8_OK)
        return false;
    FX8_H5_AUTO space = H5Dget_space(checksums);
    if (H5Sget_simple_extent_ndims(space) != 1 ||
        H5Sget_simple_extent_dims(space, &n, NULL) != 1)
        return false;
    for (hsize_t i = 0; i < n; i++) {
        const hsize_t one = 1;
        int64_t value;
        const bool is_read = fx8_h5_read_part(checksums, H5T_NATIVE_INT64, &i,
                                              &one, &value) >= 0;
        marks->n_finished += !is_read || value != unfinished;
        marks->n_trimmed += is_read && (value & ~DATA) == 0;
    }
    marks->n = (size_t)n;
    return true;
}

bool fx8_uvh5_holds_no_dump(hid_t file)
{
    struct fx8_uvh5_marks marks;
    return fx8_uvh5_count_marks(file, &marks) && marks.n_finished == 0;
}

size_t fx8_uvh5_count_unfinished(hid_t file)
{
    struct fx8_uvh5_marks marks;
    fx8_uvh5_count_marks(file, &marks);
    return marks.n - marks.n_finished;
}

enum fx8_status fx8_uvh5_count_marked(struct fx8_uvh5_writer *writer,
                                      size_t *n_dumps, struct fx8_error *error)
{
    const size_t n = *n_dumps;
    *n_dumps = 0;
    for (size_t dump = 0; dump < n; dump++) {
        int64_t checksum;
        FX8_TRY(fx8_h5_cube_read(writer->output,
                                 &writer->counts[FX8_UVH5_CHECKSUM], dump,
                                 &checksum, error));
        *n_dumps += checksum != unfinished;
    }
    return FX8_OK;
}

enum fx8_status fx8_uvh5_count_whole(struct fx8_uvh5_writer *writer,
                                     size_t *n_dumps, struct fx8_error *error)
{
    *n_dumps = 0;
    bool is_whole = true;
    for (size_t dump = 0; dump < writer->n_times; dump++) {
        int64_t checksum;
        FX8_TRY(get_mark(writer, dump, &checksum, error));
        is_whole =
            checksum != unfinished &&
            (is_whole || dump == fx8_uvh5_block_begin(&writer->rows, dump));
        if (is_whole && dump + 1 == fx8_uvh5_block_end(&writer->rows, dump))
            *n_dumps = dump + 1;
    }
    return FX8_OK;
}

enum fx8_status fx8_uvh5_cut_counts(struct fx8_uvh5_writer *writer,
                                    size_t n_dumps, struct fx8_error *error)
{
    for (int i = 0; i < FX8_UVH5_COUNTS; i++)
        if (writer->counts[i].dataset > 0)
            FX8_TRY(fx8_h5_cubes_resize(writer->output, &writer->counts[i], 1,
                                        n_dumps, error));
    return FX8_OK;
}
