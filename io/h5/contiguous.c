/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>

#include "config/base/parallel.h"
#include "io/driver.h"
#include "io/h5/contiguous.h"
#include "io/h5/h5.h"

/* Most bytes that a thread reads at a time: enough to amortise the call, few
 * enough to share a block. */
#define PIECE_BYTES ((size_t)1 << 20)

/* Shorter runs of bytes go through HDF5's buffer. */
#define LEAST_RUN ((size_t)4 << 10)

bool fx8_h5_range_find(hid_t dataset, hid_t creation,
                       struct fx8_h5_range *range)
{
    void *handle = NULL;
    if (H5Pget_layout(creation) != H5D_CONTIGUOUS ||
        H5Pget_external_count(creation) != 0)
        return false;
    const haddr_t offset = H5Dget_offset(dataset);
    FX8_H5_AUTO file = H5Iget_file_id(dataset);
    if (offset == HADDR_UNDEF || file < 0 ||
        H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 || handle == NULL)
        return false;
    *range = (struct fx8_h5_range){*(const int *)handle /* of driver.c */,
                                   (uint64_t)offset};
    return true;
}

/* A read in progress: runs of bytes, contiguous on both sides, in pieces. */
struct reading {
    const struct fx8_h5_range *range;
    struct fx8_h5_box box;
    uint8_t *buffer;
    size_t run_bytes, n_pieces; /* of a run */
    atomic_bool has_failed;
};

/* Make one axis of the last two, if rows are side by side in file and array. */
static void join_rows(struct fx8_h5_box *box)
{
    const hsize_t row = box->extent[2];
    if (box->count[2] != row || box->memory[2] != row)
        return;
    hsize_t *const axes[] = {box->extent, box->start, box->count, box->memory};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        axes[i][2] = axes[i][1] * row;
        axes[i][1] = axes[i][0];
        axes[i][0] = axes[i] == box->start ? 0 : 1;
    }
}

/* First byte of run (x, y). */
static uint64_t run_begin(const hsize_t *start, const hsize_t *extent,
                          hsize_t x, hsize_t y, size_t element_bytes)
{
    const hsize_t row = (start[0] + x) * extent[1] + start[1] + y;
    return (row * extent[2] + start[2]) * element_bytes;
}

static void read_piece(void *context, size_t item, size_t thread)
{
    (void)thread;
    static const hsize_t first[3] = {0, 0, 0};
    struct reading *r = context;
    const struct fx8_h5_box *box = &r->box;
    const hsize_t run = item / r->n_pieces;
    const hsize_t x = run / box->count[1], y = run % box->count[1];
    const size_t at = item % r->n_pieces * PIECE_BYTES;
    const size_t rest = r->run_bytes - at, bytes = box->element_bytes;
    const uint64_t from =
        r->range->offset + run_begin(box->start, box->extent, x, y, bytes) + at;
    uint8_t *to = r->buffer + run_begin(first, box->memory, x, y, bytes) + at;
    if (!fx8_driver_read(r->range->descriptor, from,
                         rest < PIECE_BYTES ? rest : PIECE_BYTES, to))
        atomic_store(&r->has_failed, true);
}

bool fx8_h5_range_read(const struct fx8_h5_range *range,
                       const struct fx8_h5_box *box, size_t n_threads,
                       uint8_t *buffer)
{
    struct reading r = {.range = range, .box = *box, .buffer = buffer};
    join_rows(&r.box);
    join_rows(&r.box);
    r.run_bytes = (size_t)r.box.count[2] * box->element_bytes;
    if (r.run_bytes < LEAST_RUN)
        return false;
    r.n_pieces = (r.run_bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    fx8_parallel_for((size_t)(r.box.count[0] * r.box.count[1]) * r.n_pieces,
                     n_threads, false, read_piece, &r);
    return !atomic_load(&r.has_failed);
}
