/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/driver.h"
#include "io/h5/overlaps.h"

/* Most chunks of a dataset to look at: HDF5 1.10 finds each by going through
 * all before it, in half a second with so many.  What damage there is to larger
 * ones shows when the file is read back. */
#define MOST_CHUNKS 8192

/* Where a chunk is in the file. */
struct place {
    haddr_t begin, end;
};

/* All chunks so far. */
struct places {
    struct place *items; /* [n] */
    size_t n;
    bool has_failed; /* no memory, or a table that cannot be read */
};

static int compare_places(const void *a, const void *b)
{
    const haddr_t of_a = ((const struct place *)a)->begin;
    const haddr_t of_b = ((const struct place *)b)->begin;
    return (of_a > of_b) - (of_a < of_b);
}

/* Step to the next chunk; false behind the last. */
static bool next_chunk(int rank, const hsize_t *extent, const hsize_t *chunk,
                       hsize_t *start)
{
    for (int axis = rank; axis-- > 0; start[axis] = 0)
        if ((start[axis] += chunk[axis]) < extent[axis])
            return true;
    return false;
}

static void add_chunks(struct places *places, hid_t dataset)
{
    hsize_t extent[H5S_MAX_RANK] = {0}, chunk[H5S_MAX_RANK] = {0};
    hsize_t start[H5S_MAX_RANK] = {0};
    FX8_H5_AUTO space = H5Dget_space(dataset);
    FX8_H5_AUTO creation = H5Dget_create_plist(dataset);
    const int rank = H5Sget_simple_extent_dims(space, extent, NULL);
    hsize_t n_chunks = 0;
    if (H5Pget_layout(creation) != H5D_CHUNKED ||
        H5Sget_simple_extent_npoints(space) == 0 ||
        (H5Dget_num_chunks(dataset, space, &n_chunks) >= 0 &&
         n_chunks > MOST_CHUNKS))
        return;
    if (rank < 1 || H5Pget_chunk(creation, rank, chunk) != rank) {
        places->has_failed = true;
        return;
    }
    do {
        haddr_t address;
        hsize_t size;
        unsigned mask;
        if (H5Dget_chunk_info_by_coord(dataset, start, &mask, &address, &size) <
                0 ||
            fx8_grow(&places->items, places->n, sizeof *places->items, "chunks",
                     NULL) != FX8_OK)
            places->has_failed = true;
        else if (address != HADDR_UNDEF && size > 0)
            places->items[places->n++] =
                (struct place){address, address + size};
    } while (!places->has_failed && next_chunk(rank, extent, chunk, start));
}

static herr_t visit(hid_t file, const char *name, const H5O_info_t *info,
                    void *context)
{
    struct places *places = context;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    FX8_H5_AUTO dataset = H5Dopen2(file, name, H5P_DEFAULT);
    if (dataset < 0)
        places->has_failed = true;
    else
        add_chunks(places, dataset);
    return places->has_failed;
}

enum fx8_status fx8_h5_check_overlaps(const char *path, hid_t file,
                                      struct fx8_error *error)
{
    struct places places = {NULL, 0, false};
    const haddr_t end = fx8_driver_find_end(file);
    bool is_sound =
        end != HADDR_UNDEF &&
        H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, &places) >= 0 &&
        !places.has_failed;
    if (is_sound && places.n > 0)
        qsort(places.items, places.n, sizeof *places.items, compare_places);
    for (size_t i = 0; i < places.n && is_sound; i++)
        is_sound = places.items[i].end <=
                   (i + 1 < places.n ? places.items[i + 1].begin : end);
    free(places.items);
    return is_sound
               ? FX8_OK
               : fx8_fail(
                     error, FX8_ERR_INPUT,
                     "%s: damaged, as by a power failure: tables of chunks "
                     "that contradict each other: expected --force "
                     "without --resume, to begin again",
                     path);
}
