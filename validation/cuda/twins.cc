/* SPDX-License-Identifier: BSD-3-Clause */
/* twins.cc -- see twins.h: tiles, fragments and descriptors, bit by bit. */
#include "validation/cuda/twins.h"

#include <string.h>

#include <algorithm>

namespace harness
{

void check_aligned(const char *what, const void *address, unsigned bytes,
                   Site site)
{
    if (reinterpret_cast<uintptr_t>(address) % bytes != 0)
        Block::current().fault(site, "%s: %p is not a multiple of %u", what,
                               address, bytes);
}

/* --- warp: ldmatrix, mma.sync
 * -------------------------------------------------- */

/* Lane 8 m + r gives row r of matrix m, 16 bytes; lane l gets word l % 4 of row
 * l / 4 of each matrix. */
void meet_ldmatrix(Mailbox &box, uint32_t)
{
    for (unsigned lane = 0; lane < LANES; ++lane)
        for (unsigned matrix = 0; matrix < 4; ++matrix)
            box.taken[lane][matrix] =
                box.given[matrix * 8 + lane / 4][lane % 4];
}

/* D = A B' + C modulo 2^32, A 16 x 32, B 8 x 32 (row n is column n), both
 * int8.  Lane l: g = l / 4, bytes 4 (l % 4) on; words of A: rows g, g + 8, in
 * the lower and then in the upper 16 of k; of B: row g, lower and upper; of
 * the sums: rows g, g, g + 8, g + 8, columns 2 (l % 4), + 1 and again. */
void meet_mma(Mailbox &box, uint32_t)
{
    int8_t a[16][32], b[8][32];
    for (unsigned lane = 0; lane < LANES; ++lane) {
        const uint32_t *given = box.given[lane];
        const unsigned row = lane / 4, k = lane % 4 * 4;
        for (unsigned part = 0; part < 4; ++part)
            memcpy(&a[row + part % 2 * 8][part / 2 * 16 + k], &given[part], 4);
        for (unsigned part = 0; part < 2; ++part)
            memcpy(&b[row][part * 16 + k], &given[4 + part], 4);
    }
    for (unsigned lane = 0; lane < LANES; ++lane)
        for (unsigned part = 0; part < 4; ++part) {
            const unsigned row = lane / 4 + part / 2 * 8;
            const unsigned column = lane % 4 * 2 + part % 2;
            int32_t sum = 0;
            for (unsigned k = 0; k < 32; ++k)
                sum += a[row][k] * b[column][k];
            box.taken[lane][part] =
                box.given[lane][6 + part] + static_cast<uint32_t>(sum);
        }
}

/* --- a thread's own copies: cp.async
 * --------------------------------------------- */

void copy_start(const PendingCopy &copy)
{
    Fibre &me = Block::current().fibre();
    me.copies.push_back(copy);
    me.copies.back().group = me.copy_group;
}

void copies_wait(unsigned groups_left)
{
    Fibre &me = Block::current().fibre();
    size_t kept = 0;
    for (const PendingCopy &copy : me.copies) {
        if (copy.group + groups_left >= me.copy_group) {
            me.copies[kept++] = copy;
            continue;
        }
        memcpy(copy.to, copy.from, copy.copied);
        memset(static_cast<char *>(copy.to) + copy.copied, 0, copy.zeroed);
    }
    me.copies.resize(kept);
}

/* --- warpgroup: descriptors, wgmma
 * ------------------------------------------------- */

/* Three fields of 14 bits: start, leading and stride byte offset, each over
 * 16.  Shared addresses count from the beginning of dynamic shared memory. */
uint64_t matrix_descriptor(const void *shared, unsigned leading_bytes,
                           unsigned stride_bytes, Site site)
{
    Block &block = Block::current();
    const unsigned char *address = static_cast<const unsigned char *>(shared);
    if (address < block.shared() ||
        address >= block.shared() + block.shared_bytes())
        block.fault(site, "wgmma: a tile that is not in dynamic shared memory");
    check_aligned("wgmma", shared, 16, site);
    if (((leading_bytes | stride_bytes) & 15) != 0)
        block.fault(site,
                    "wgmma: offsets of %u and %u bytes, must be "
                    "multiples of 16",
                    leading_bytes, stride_bytes);
    const uint64_t start = static_cast<uint64_t>(address - block.shared());
    return start >> 4 | static_cast<uint64_t>(leading_bytes >> 4) << 16 |
           static_cast<uint64_t>(stride_bytes >> 4) << 32;
}

/* Kinds of a descriptor, in its upper two bits. */
static const uint64_t SWIZZLE_32 = UINT64_C(3) << 62;

uint64_t swizzled_descriptor(const void *shared, Site site)
{
    check_aligned("wgmma, swizzled", shared, 256, site);
    return matrix_descriptor(shared, 16, 8 * 32, site) | SWIZZLE_32;
}

/* Where 16 bytes of a row are from the start: without swizzle 8 rows of 16
 * bytes are contiguous, the next 8 rows are `stride` further, the next 16 of k
 * `leading`; with it rows of 32 bytes are, and bit 7 of an address is added to
 * bit 4. */
static size_t place_in_tile(uint64_t descriptor, size_t row, size_t half)
{
    const size_t leading = (descriptor >> 16 & 0x3fff) << 4;
    const size_t stride = (descriptor >> 32 & 0x3fff) << 4;
    if ((descriptor & SWIZZLE_32) == 0)
        return half * leading + row / 8 * stride + row % 8 * 16;
    const size_t at = row / 8 * stride + row % 8 * 32 + half * 16;
    return at ^ (at >> 7 & 1) << 4;
}

/* Rows of 32 int8, K-major. */
template <int ROWS>
static void unpack_tile(uint64_t descriptor, int8_t (&tile)[ROWS][32])
{
    Block &block = Block::current();
    const size_t start = (descriptor & 0x3fff) << 4;
    const size_t end = start + 16 +
                       std::max(place_in_tile(descriptor, ROWS - 1, 0),
                                place_in_tile(descriptor, ROWS - 1, 1));
    if (end > block.shared_bytes())
        block.fault({"wgmma", 0},
                    "a tile ends at byte %zu of %zu of dynamic "
                    "shared memory",
                    end, block.shared_bytes());
    for (size_t row = 0; row < ROWS; ++row)
        for (size_t half = 0; half < 2; ++half)
            memcpy(&tile[row][16 * half],
                   block.shared() + start +
                       place_in_tile(descriptor, row, half),
                   16);
}

/* A lane's words of 16 rows: rows l / 4 and 8 on, bytes 4 (l % 4) on of the
 * lower, then of the upper 16 of k. */
static void unpack_rows(const int32_t *words, unsigned lane, int8_t (*rows)[32])
{
    for (unsigned part = 0; part < 4; ++part)
        memcpy(&rows[lane / 4 + part % 2 * 8][part / 2 * 16 + lane % 4 * 4],
               &words[part], 4);
}

/* Of rows that were checked when unpacked: no checkers here, as they would take
 * most of a test's time. */
static HARNESS_UNCHECKED int32_t dot_row(const int8_t (&a)[32],
                                         const int8_t (&b)[32])
{
    int32_t sum = 0;
    for (unsigned k = 0; k < 32; ++k)
        sum += a[k] * b[k];
    return sum;
}

/* Thread t of the warpgroup, warp w = t / 32, lane l = t % 32, register r:
 * row 16 w + l / 4 + 8 (r / 2 % 2), column 8 (r / 4) + 2 (l % 4) + r % 2. */
template <int COLUMNS> void wgmma_run(const PendingProduct *const *of_threads)
{
    int8_t a[64][32], b[COLUMNS][32];
    if (of_threads[0]->rows == nullptr)
        unpack_tile(of_threads[0]->a, a);
    else
        for (unsigned thread = 0; thread < WARPGROUP; ++thread)
            unpack_rows(of_threads[thread]->rows, thread % LANES,
                        &a[thread / LANES * 16]);
    unpack_tile(of_threads[0]->b, b);
    for (unsigned thread = 0; thread < WARPGROUP; ++thread) {
        int32_t *sums = of_threads[thread]->sums;
        const unsigned lane = thread % LANES;
        for (unsigned r = 0; r < COLUMNS / 2; ++r) {
            const unsigned row = thread / LANES * 16 + lane / 4 + r / 2 % 2 * 8;
            const unsigned column = r / 4 * 8 + lane % 4 * 2 + r % 2;
            sums[r] = static_cast<int32_t>(
                static_cast<uint32_t>(sums[r]) +
                static_cast<uint32_t>(dot_row(a[row], b[column])));
        }
    }
}

template void wgmma_run<64>(const PendingProduct *const *of_threads);
template void wgmma_run<128>(const PendingProduct *const *of_threads);
template void wgmma_run<256>(const PendingProduct *const *of_threads);

} // namespace harness
