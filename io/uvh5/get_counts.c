/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * get_counts.c -- read what /fx8 holds of each dump; see counts.c.
 */
#include <inttypes.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/storage.h"
#include "io/uvh5/uvh5_reader.h"
#include "io/uvh5/writer.h"

static const char valid_name[] = "fx8/valid_spectra",
                  clips_name[] = "fx8/clips";

void fx8_uvh5_clip_fractions(const struct fx8_uvh5_counts *counts,
                             const int64_t *valid_spectra, const int64_t *clips,
                             double *fractions)
{
    const size_t per_band = counts->n_fine / counts->n_bands;
    for (size_t input = 0; input < counts->n_inputs; input++)
        for (size_t channel = 0; channel < counts->n_fine; channel++) {
            const size_t at = input * counts->n_fine + channel;
            const size_t row = channel / per_band * counts->n_inputs + input;
            fractions[at] =
                valid_spectra[row] == 0
                    ? 0.0
                    : (double)clips[at] / (double)valid_spectra[row];
        }
}

size_t fx8_uvh5_unfinished(const struct fx8_uvh5_file *file)
{
    return fx8_uvh5_count_unfinished(file->file);
}

void fx8_uvh5_count_finished(const struct fx8_uvh5_file *file, size_t *n_dumps,
                             size_t *n_finished)
{
    struct fx8_uvh5_marks marks;
    fx8_uvh5_count_marks(file->file, &marks);
    *n_dumps = marks.n;
    *n_finished = marks.n_finished;
}

/* Whether there are counts, and no more than the file can hold: at most 1032
 * times its size, packed by deflate; sparse ones take no space. */
static bool is_plausible(const struct fx8_uvh5_file *file,
                         const hsize_t extent[3])
{
    hsize_t file_bytes = 0;
    const size_t bytes = fx8_product((size_t)extent[0], (size_t)extent[1],
                                     (size_t)extent[2], sizeof(int64_t));
    H5Fget_filesize(file->file, &file_bytes);
    return bytes > 0 && bytes / 1032 <= file_bytes + 1024;
}

bool fx8_uvh5_is_complete(const struct fx8_uvh5_file *file, size_t n_dumps)
{
    struct fx8_uvh5_marks marks;
    return fx8_uvh5_count_marks(file->file, &marks) && marks.n == n_dumps &&
           marks.n_trimmed == n_dumps;
}

enum fx8_status fx8_uvh5_check_dumps(const char *path, hid_t file,
                                     struct fx8_error *error)
{
    const struct fx8_h5_place root = {path, file, false};
    return fx8_h5_has(&root, "Header/extra_keywords/TIMELOSS")
               ? fx8_refuse(error, path, "TIMELOSS",
                            "rows are averages of several dumps: expected the "
                            "rows of each dump, a result without "
                            "output.time_average_loss")
               : FX8_OK;
}

/* Open integers [n_times][a][b]. */
static enum fx8_status open_counts(const struct fx8_uvh5_file *file,
                                   const char *name, hid_t *dataset, size_t *a,
                                   size_t *b, struct fx8_error *error)
{
    FX8_TRY(fx8_h5_open_whole_dataset(file->path, file->file, name, dataset,
                                      error));
    FX8_H5_AUTO type = H5Dget_type(*dataset);
    FX8_H5_AUTO space = H5Dget_space(*dataset);
    hsize_t extent[3] = {0, 0, 0};
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank == 3)
        H5Sget_simple_extent_dims(space, extent, NULL);
    if (H5Tget_class(type) != H5T_INTEGER || extent[0] != file->n_times ||
        !is_plausible(file, extent))
        return fx8_refuse(error, file->path, name,
                          "%" PRIu64 " x %" PRIu64 " x %" PRIu64
                          ": expected integers of %zu dumps",
                          (uint64_t)extent[0], (uint64_t)extent[1],
                          (uint64_t)extent[2], file->n_times);
    *a = (size_t)extent[1];
    *b = (size_t)extent[2];
    return FX8_OK;
}

enum fx8_status fx8_uvh5_find_counts(struct fx8_uvh5_file *file,
                                     struct fx8_uvh5_counts *counts,
                                     struct fx8_error *error)
{
    *counts = (struct fx8_uvh5_counts){0};
    fx8_h5_quiet();
    if (H5Lexists(file->file, "fx8", H5P_DEFAULT) <= 0 ||
        H5Lexists(file->file, valid_name, H5P_DEFAULT) <= 0)
        return FX8_OK;
    FX8_TRY(fx8_uvh5_check_dumps(file->path, file->file, error));
    struct fx8_uvh5_counts found = {.n_fine = 0};
    size_t n_inputs;
    FX8_TRY(open_counts(file, valid_name, &file->valid_spectra, &found.n_bands,
                        &found.n_inputs, error));
    if (H5Lexists(file->file, clips_name, H5P_DEFAULT) <= 0) {
        *counts = found;
        return FX8_OK;
    }
    FX8_TRY(open_counts(file, clips_name, &file->clips, &n_inputs,
                        &found.n_fine, error));
    if (n_inputs != found.n_inputs || found.n_fine % found.n_bands != 0)
        return fx8_refuse(error, file->path, clips_name,
                          "%zu x %zu: expected %zu inputs and a multiple of "
                          "%zu bands, as in %s",
                          n_inputs, found.n_fine, found.n_inputs, found.n_bands,
                          valid_name);
    *counts = found;
    return FX8_OK;
}

/* Read [a][b] of a dump. */
static enum fx8_status read_dump(const struct fx8_uvh5_file *file,
                                 const char *name, hid_t dataset, size_t dump,
                                 size_t a, size_t b, int64_t *values,
                                 struct fx8_error *error)
{
    const hsize_t start[3] = {dump, 0, 0}, count[3] = {1, a, b};
    return fx8_h5_read_part(dataset, H5T_NATIVE_INT64, start, count, values) < 0
               ? fx8_h5_fail(error, FX8_ERR_INPUT, file->path, name)
               : FX8_OK;
}

enum fx8_status fx8_uvh5_read_counts(struct fx8_uvh5_file *file,
                                     const struct fx8_uvh5_counts *counts,
                                     size_t dump, int64_t *valid_spectra,
                                     int64_t *clips, struct fx8_error *error)
{
    fx8_h5_quiet();
    const size_t per_band = counts->n_fine / counts->n_bands;
    FX8_TRY(read_dump(file, valid_name, file->valid_spectra, dump,
                      counts->n_bands, counts->n_inputs, valid_spectra, error));
    if (counts->n_fine == 0)
        return FX8_OK;
    FX8_TRY(read_dump(file, clips_name, file->clips, dump, counts->n_inputs,
                      counts->n_fine, clips, error));
    for (size_t input = 0; input < counts->n_inputs; input++)
        for (size_t channel = 0; channel < counts->n_fine; channel++) {
            const int64_t most =
                valid_spectra[channel / per_band * counts->n_inputs + input];
            const int64_t found = clips[input * counts->n_fine + channel];
            if (found < 0 || found > most)
                return fx8_refuse(error, file->path, clips_name,
                                  "[%zu, %zu, %zu]: %" PRId64
                                  ": expected 0 to %" PRId64
                                  ", the valid spectra",
                                  dump, input, channel, found, most);
        }
    return FX8_OK;
}
