/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * places.c -- where each dump of an uncompressed file lies, so that processes
 * can write dumps without HDF5: it is closed meanwhile, because it would write
 * its own copies of the chunks over theirs.
 */
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/driver.h"
#include "io/h5/h5.h"
#include "io/uvh5/writer.h"

/* Cubes of a file, in the order in which a dump is written: the checksum, which
 * marks the dump as finished, last. */
enum { N_PLACED = FX8_UVH5_CUBES + FX8_UVH5_COUNTS, LAST = N_PLACED - 1 };

/* Geometry of a cube, whose chunks are [n_rows][n_a][n_b] of them. */
struct placed {
    uint64_t value_bytes; /* 0: the file has no such cube */
    uint64_t dump[3], chunk[3];
    uint64_t n_chunks[3];
    uint64_t first; /* of its addresses */
};

struct fx8_uvh5_places {
    uint64_t size; /* bytes of all this */
    /* only to count rows: without the lists, which a copy could not use */
    struct fx8_uvh5_rows rows;
    struct placed cubes[N_PLACED];
    uint64_t addresses[];
};

/* --- finding them --------------------------------------------------------- */

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* The cubes of a writer, the checksums last. */
static void list_cubes(struct fx8_uvh5_writer *writer,
                       struct fx8_h5_cube *cubes[N_PLACED])
{
    size_t n = 0;
    for (int i = 0; i < FX8_UVH5_COUNTS; i++)
        if (i != FX8_UVH5_CHECKSUM)
            cubes[n++] = &writer->counts[i];
    for (int i = FX8_UVH5_CUBES; i-- > 0;)
        cubes[n++] = &writer->cubes[i];
    cubes[n] = &writer->counts[FX8_UVH5_CHECKSUM];
}

static bool is_count(const struct fx8_uvh5_writer *writer,
                     const struct fx8_h5_cube *cube)
{
    return cube >= writer->counts && cube < writer->counts + FX8_UVH5_COUNTS;
}

static struct placed describe(const struct fx8_uvh5_writer *writer,
                              const struct fx8_h5_cube *cube)
{
    const size_t n_rows =
        is_count(writer, cube) ? writer->n_times : fx8_uvh5_count_rows(writer);
    struct placed placed = {.value_bytes = cube->value_bytes};
    if (cube->dataset <= 0)
        return (struct placed){0};
    for (int axis = 0; axis < 3; axis++) {
        placed.dump[axis] = axis < cube->rank ? cube->dump[axis] : 1;
        placed.chunk[axis] = axis < cube->rank ? cube->chunk[axis] : 1;
        placed.n_chunks[axis] = divide_up(
            axis == 0 ? n_rows : placed.dump[axis], placed.chunk[axis]);
    }
    return placed;
}

static uint64_t count_chunks(const struct placed *cube)
{
    return cube->n_chunks[0] * cube->n_chunks[1] * cube->n_chunks[2];
}

/* HDF5's own answer, for which it passes all chunks before this one. */
static haddr_t ask(hid_t dataset, const hsize_t *start)
{
    haddr_t address = HADDR_UNDEF;
    hsize_t bytes = 0;
    unsigned mask = 0;
    return H5Dget_chunk_info_by_coord(dataset, start, &mask, &address, &bytes) <
                   0
               ? HADDR_UNDEF
               : address;
}

/* Reopen a cube without a cache, so that HDF5 has no chunk of it in memory. */
static void drop_cache(const struct fx8_uvh5_writer *writer,
                       struct fx8_h5_cube *cube)
{
    char name[64] = "";
    FX8_H5_AUTO access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(access, 0, 0, 1.0);
    H5Iget_name(cube->dataset, name, sizeof name);
    fx8_h5_close(&cube->dataset);
    cube->dataset = H5Dopen2(writer->file, name, access);
}

/* Give a chunk of a sparse cube its place: zeros, which it has without one. */
static bool make_chunk(const struct fx8_h5_cube *cube,
                       const struct placed *placed, const hsize_t *start)
{
    const size_t bytes = (size_t)(placed->value_bytes * placed->chunk[0] *
                                  placed->chunk[1] * placed->chunk[2]);
    FX8_AUTO_FREE char *zeros = calloc(1, bytes);
    return zeros != NULL && cube->is_sparse &&
           H5Dwrite_chunk(cube->dataset, H5P_DEFAULT, 0, start, bytes, zeros) >=
               0;
}

/* Addresses of all chunks of a cube, in the order of their indices.  HDF5 is
 * asked for the first and the last one; for all if the quick way fails. */
static enum fx8_status find_addresses(const struct fx8_uvh5_writer *writer,
                                      struct fx8_h5_cube *cube,
                                      const struct placed *placed,
                                      uint64_t *addresses,
                                      struct fx8_error *error)
{
    const uint64_t n = placed->value_bytes == 0 ? 0 : count_chunks(placed);
    const uint64_t a = placed->n_chunks[1], b = placed->n_chunks[2];
    haddr_t (*find)(hid_t, const hsize_t *) = fx8_driver_find_chunk;
    if (n > 0)
        drop_cache(writer, cube);
    for (uint64_t k = 0; k < n; k++) {
        const hsize_t start[FX8_H5_CUBE_RANK] = {k / (a * b) * placed->chunk[0],
                                                 k / b % a * placed->chunk[1],
                                                 k % b * placed->chunk[2]};
        addresses[k] = find(cube->dataset, start);
        if (addresses[k] == HADDR_UNDEF && make_chunk(cube, placed, start))
            addresses[k] = find(cube->dataset, start);
        if (k == 0 && addresses[k] != ask(cube->dataset, start)) {
            find = ask;
            addresses[k] = ask(cube->dataset, start);
        }
        if (addresses[k] == HADDR_UNDEF ||
            (k == n - 1 && addresses[k] != ask(cube->dataset, start)))
            return fx8_output_fail(writer->output, cube->name, error);
    }
    return FX8_OK;
}

static enum fx8_status find_places(struct fx8_uvh5_writer *writer,
                                   struct fx8_uvh5_places **places,
                                   struct fx8_error *error)
{
    struct fx8_h5_cube *cubes[N_PLACED];
    struct fx8_uvh5_places head = {.rows = writer->rows};
    uint64_t n = 0;
    head.rows.levels = NULL;
    head.rows.lists = NULL;
    list_cubes(writer, cubes);
    for (int i = 0; i < N_PLACED; i++) {
        head.cubes[i] = describe(writer, cubes[i]);
        head.cubes[i].first = n;
        n += head.cubes[i].value_bytes == 0 ? 0 : count_chunks(&head.cubes[i]);
    }
    head.size = sizeof head + n * sizeof head.addresses[0];
    FX8_TRY(fx8_allocate(head.size, 1, "places of dumps", places, error));
    memcpy(*places, &head, sizeof head);
    for (int i = 0; i < N_PLACED; i++)
        FX8_TRY(find_addresses(writer, cubes[i], &head.cubes[i],
                               (*places)->addresses + head.cubes[i].first,
                               error));
    return FX8_OK;
}

enum fx8_status fx8_uvh5_share(struct fx8_uvh5_writer *writer,
                               bool is_one_machine,
                               struct fx8_uvh5_places **places,
                               struct fx8_error *error)
{
    *places = NULL;
    fx8_h5_quiet();
    enum fx8_status status =
        fx8_output_flush(writer->output, writer->file, error);
    if (status == FX8_OK)
        status = find_places(writer, places, error);
    if (status == FX8_OK)
        status = fx8_uvh5_close_handles(writer, error);
    if (status == FX8_OK)
        status = fx8_output_check(writer->output, error);
    if (status == FX8_OK)
        status =
            fx8_output_protect(writer->output, false, is_one_machine, error);
    return fx8_output_noted(&writer->failure, status, error);
}

size_t fx8_uvh5_places_size(const struct fx8_uvh5_places *places)
{
    return (size_t)places->size;
}

/* --- writing there -------------------------------------------------------- */

/* Where the bytes of a dump go. */
struct target {
    fx8_uvh5_put_bytes *put;
    void *context;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Rows [first, end) of the file that lie in one chunk: they are in one piece
 * there.  `values` is [rows of the dump][...], `at` the chunk's place along the
 * other axes, in values. */
static enum fx8_status write_rows(const struct placed *cube, uint64_t address,
                                  const uint64_t at[2], uint64_t first,
                                  uint64_t end, uint64_t first_of_dump,
                                  const char *values,
                                  const struct target *target,
                                  struct fx8_error *error)
{
    const uint64_t row_bytes =
        cube->dump[1] * cube->dump[2] * cube->value_bytes;
    const uint64_t width = cube->chunk[2] * cube->value_bytes;
    const uint64_t chunk_row = cube->chunk[1] * width;
    const uint64_t offset = address + first % cube->chunk[0] * chunk_row;
    const char *from = values + (first - first_of_dump) * row_bytes;
    if (chunk_row == row_bytes)
        return target->put(target->context, offset, from,
                           (size_t)((end - first) * row_bytes), error);
    /* the edges of a chunk beyond the dump hold nothing */
    FX8_AUTO_FREE char *packed = NULL;
    FX8_TRY(fx8_allocate((size_t)((end - first) * chunk_row), 1, "chunk",
                         &packed, error));
    const uint64_t n_a = least(cube->chunk[1], cube->dump[1] - at[0]);
    const uint64_t n_b = least(cube->chunk[2], cube->dump[2] - at[1]);
    for (uint64_t row = 0; row < end - first; row++)
        for (uint64_t a = 0; a < n_a; a++)
            memcpy(packed + row * chunk_row + a * width,
                   from + row * row_bytes +
                       ((at[0] + a) * cube->dump[2] + at[1]) *
                           cube->value_bytes,
                   (size_t)(n_b * cube->value_bytes));
    return target->put(target->context, offset, packed,
                       (size_t)((end - first) * chunk_row), error);
}

/* Write rows [begin, end) of one cube. */
static enum fx8_status write_cube(const struct fx8_uvh5_places *places,
                                  const struct placed *cube, uint64_t begin,
                                  uint64_t end, const void *values,
                                  const struct target *target,
                                  struct fx8_error *error)
{
    for (uint64_t first = begin, next; first < end; first = next) {
        const uint64_t chunk = first / cube->chunk[0];
        next = least(end, (chunk + 1) * cube->chunk[0]);
        for (uint64_t a = 0; a < cube->n_chunks[1]; a++)
            for (uint64_t b = 0; b < cube->n_chunks[2]; b++) {
                const uint64_t k =
                    (chunk * cube->n_chunks[1] + a) * cube->n_chunks[2] + b;
                const uint64_t at[2] = {a * cube->chunk[1], b * cube->chunk[2]};
                FX8_TRY(write_rows(cube, places->addresses[cube->first + k], at,
                                   first, next, begin, values, target, error));
            }
    }
    return FX8_OK;
}

enum fx8_status fx8_uvh5_write_placed(const struct fx8_uvh5_places *places,
                                      size_t dump,
                                      const struct fx8_uvh5_counted *counts,
                                      const struct fx8_result *result,
                                      fx8_uvh5_put_bytes *put, void *context,
                                      int64_t *checksum,
                                      struct fx8_error *error)
{
    const uint64_t begin = fx8_uvh5_rows_before(&places->rows, dump);
    const uint64_t end = begin + fx8_uvh5_rows_of(&places->rows, dump, NULL);
    const struct target target = {put, context};
    const void *const cubes[FX8_UVH5_CUBES] = {
        [FX8_UVH5_VISDATA] = result->visibilities,
        [FX8_UVH5_NSAMPLES] = result->nsamples,
        [FX8_UVH5_FLAGS] = result->flags,
    };
    const int64_t *const arrays[FX8_UVH5_COUNTS] = {
        [FX8_UVH5_VALID_SPECTRA] = counts->valid_spectra,
        [FX8_UVH5_DEAD] = counts->dead,
        [FX8_UVH5_CLIPS] = counts->clips,
    };
    struct fx8_uvh5_crc crc = {.bytes = {0}};
    const struct placed *cube = places->cubes;
    const int64_t *written[FX8_UVH5_COUNTS] = {NULL};
    size_t bytes[FX8_UVH5_COUNTS] = {0};
    for (int i = 0; i < FX8_UVH5_COUNTS; i++) {
        if (i == FX8_UVH5_CHECKSUM)
            continue;
        if (cube->value_bytes > 0) {
            written[i] = arrays[i];
            bytes[i] =
                (size_t)(cube->dump[1] * cube->dump[2] * cube->value_bytes);
            FX8_TRY(write_cube(places, cube, dump, dump + 1, arrays[i], &target,
                               error));
        }
        cube++;
    }
    for (int i = FX8_UVH5_CUBES; i-- > 0; cube++) {
        fx8_uvh5_crc_pass(&crc, i, cubes[i],
                          (size_t)((end - begin) * cube->dump[1] *
                                   cube->dump[2] * cube->value_bytes));
        FX8_TRY(write_cube(places, cube, begin, end, cubes[i], &target, error));
    }
    *checksum = fx8_uvh5_crc_join(&crc) | fx8_uvh5_crc_counts(written, bytes);
    return FX8_OK;
}

enum fx8_status fx8_uvh5_mark_placed(const struct fx8_uvh5_places *places,
                                     size_t dump, int64_t checksum,
                                     fx8_uvh5_put_bytes *put, void *context,
                                     struct fx8_error *error)
{
    const struct target target = {put, context};
    return write_cube(places, &places->cubes[LAST], dump, dump + 1, &checksum,
                      &target, error);
}

/* --- back to HDF5 --------------------------------------------------------- */

static enum fx8_status open_again(struct fx8_uvh5_writer *writer,
                                  struct fx8_error *error)
{
    const struct fx8_h5_target root = {writer->output, writer->file, false};
    struct fx8_h5_cube *cubes[N_PLACED];
    FX8_H5_AUTO group = FX8_H5_NONE;
    FX8_TRY(fx8_h5_put_group(&root, "Header", &writer->header, error));
    FX8_TRY(fx8_h5_put_group(&root, "Data", &writer->data, error));
    FX8_TRY(fx8_h5_put_group(&root, "fx8", &group, error));
    list_cubes(writer, cubes);
    for (int i = 0; i < N_PLACED; i++) {
        if (cubes[i]->name == NULL)
            continue; /* not in this file */
        cubes[i]->dataset =
            H5Dopen2(is_count(writer, cubes[i]) ? group : writer->data,
                     cubes[i]->name, H5P_DEFAULT);
        cubes[i]->type = H5Dget_type(cubes[i]->dataset);
        if (cubes[i]->dataset < 0 || cubes[i]->type < 0)
            return fx8_output_fail(writer->output, cubes[i]->name, error);
    }
    return FX8_OK;
}

/* A process may have written into another file of the same name. */
static enum fx8_status check_marks(struct fx8_uvh5_writer *writer,
                                   size_t *n_dumps, struct fx8_error *error)
{
    const size_t n = *n_dumps;
    FX8_TRY(fx8_uvh5_count_marked(writer, n_dumps, error));
    return *n_dumps == n
               ? FX8_OK
               : fx8_fail(error, FX8_ERR_SYSTEM,
                          "%s: %zu of %zu dumps did not arrive: expected a "
                          "folder that all ranks share",
                          fx8_uvh5_name(writer), n - *n_dumps, n);
}

enum fx8_status fx8_uvh5_unshare(struct fx8_uvh5_writer *writer,
                                 size_t *n_dumps, struct fx8_error *error)
{
    fx8_h5_quiet();
    enum fx8_status status = fx8_output_open_hdf5(writer->output, H5F_ACC_RDWR,
                                                  &writer->file, error);
    if (status == FX8_OK)
        status = open_again(writer, error);
    if (status == FX8_OK)
        status = check_marks(writer, n_dumps, error);
    return fx8_output_noted(&writer->failure, status, error);
}
