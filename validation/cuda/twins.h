/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * twins.h -- the CPU twin of each device function in kernels/cuda/ptx.h and
 * kernels/cuda/ptx_tensor.h; the comments there describe it.
 *
 * Notes: 1) integer instructions are exact.  MUFU functions are computed by the
 *           C library and rounded to float, with subnormals as zero for .ftz:
 *           more accurate than the device, with other bits
 *        2) asynchronous work happens as late as its wait allows, so that a
 *           missing wait shows as wrong data: cp.async and wgmma at their
 *           wait_group.  Fences do nothing
 * Source: PTX ISA, "Warp Level Matrix Instructions", "Asynchronous Warpgroup
 *         Level Matrix Instructions", "Data Movement and Conversion"
 */
#ifndef FX8_VALIDATION_CUDA_TWINS_H
#define FX8_VALIDATION_CUDA_TWINS_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "validation/cuda/device.h"

namespace harness
{

/** Replace a subnormal by zero of the same sign. */
inline float flush(float x)
{
    return fabsf(x) < FLT_MIN ? copysignf(0.0F, x) : x;
}

void meet_ldmatrix(Mailbox &box, uint32_t lanes);
void meet_mma(Mailbox &box, uint32_t lanes);

/** Compute a warpgroup's sums of 64 rows by COLUMNS, each thread its part. */
template <int COLUMNS> void wgmma_run(const PendingProduct *const *of_threads);

void copy_start(const PendingCopy &copy);
void copies_wait(unsigned groups_left);
uint64_t matrix_descriptor(const void *shared, unsigned leading_bytes,
                           unsigned stride_bytes, Site site);
uint64_t swizzled_descriptor(const void *shared, Site site);
void check_aligned(const char *what, const void *address, unsigned bytes,
                   Site site);

} // namespace harness

/* --- ptx.h
 * ---------------------------------------------------------------------- */

inline float fx8_ptx_rcp(float x)
{
    return harness::flush(1 / harness::flush(x));
}
inline float fx8_ptx_rsqrt(float x)
{
    return static_cast<float>(1 / sqrt(static_cast<double>(harness::flush(x))));
}
inline float fx8_ptx_ex2(float x)
{
    return harness::flush(exp2f(harness::flush(x)));
}
inline float fx8_ptx_lg2(float x)
{
    return harness::flush(log2f(harness::flush(x)));
}
inline float fx8_ptx_sin(float x)
{
    return harness::flush(sinf(harness::flush(x)));
}
inline float fx8_ptx_cos(float x)
{
    return harness::flush(cosf(harness::flush(x)));
}
inline float fx8_ptx_tanh(float x)
{
    return tanhf(x);
}

/* --- ptx_tensor.h: tiles through shared memory
 * ------------------------------------ */

inline void fx8_ptx_ldmatrix_x4(int (&tiles)[4], const void *row, FX8_HERE)
{
    harness::check_aligned("ldmatrix", row, 16, {file, line});
    harness::Block::current().meet("ldmatrix", 0xffffffff,
                                   harness::meet_ldmatrix, row, 16, tiles,
                                   sizeof tiles, {file, line});
}

inline void fx8_ptx_mma_s8(int (&sums)[4], const int (&a)[4], const int (&b)[2],
                           FX8_HERE)
{
    const int given[10] = {a[0], a[1],    a[2],    a[3],    b[0],
                           b[1], sums[0], sums[1], sums[2], sums[3]};
    harness::Block::current().meet("mma.sync", 0xffffffff, harness::meet_mma,
                                   given, sizeof given, sums, sizeof sums,
                                   {file, line});
}

inline void fx8_ptx_copy_async(void *shared, const void *global, unsigned bytes,
                               FX8_HERE)
{
    harness::check_aligned("cp.async", shared, 16, {file, line});
    harness::check_aligned("cp.async", global, 16, {file, line});
    harness::copy_start({shared, global, bytes, 16 - bytes, 0});
}

inline void fx8_ptx_copy_commit()
{
    ++harness::Block::current().fibre().copy_group;
}

template <int GROUPS_LEFT> void fx8_ptx_copy_wait()
{
    harness::copies_wait(GROUPS_LEFT);
}

/* --- ptx_tensor.h: barriers in shared memory
 * --------------------------------------- */

inline void fx8_ptx_barrier_sync(unsigned barrier, unsigned threads, FX8_HERE)
{
    harness::Block::current().sync_named(barrier, threads, {file, line});
}

inline void fx8_ptx_mbarrier_init(uint64_t *barrier, unsigned arrivals)
{
    harness::Block::current().barrier_init(
        reinterpret_cast<harness::Barrier *>(barrier), arrivals);
}

inline void fx8_ptx_mbarrier_init_fence()
{
}

inline void fx8_ptx_mbarrier_arrive(uint64_t *barrier)
{
    harness::Block::current().barrier_arrive(
        reinterpret_cast<harness::Barrier *>(barrier));
}

inline void fx8_ptx_mbarrier_expect(uint64_t *barrier, unsigned bytes)
{
    harness::Block::current().barrier_expect(
        reinterpret_cast<harness::Barrier *>(barrier), bytes);
}

struct fx8_ptx_place {
    unsigned at[4];
};

inline void fx8_ptx_copy_box(void *shared, const void *map,
                             const fx8_ptx_place &place, uint64_t *barrier,
                             FX8_HERE)
{
    harness::check_aligned("cp.async.bulk", shared, 128, {file, line});
    harness::Block::current().box_start(
        {static_cast<const CUtensorMap *>(map),
         {place.at[0], place.at[1], place.at[2], place.at[3]},
         static_cast<unsigned char *>(shared),
         reinterpret_cast<harness::Barrier *>(barrier)},
        {file, line});
}

inline void fx8_ptx_mbarrier_wait(uint64_t *barrier, unsigned parity, FX8_HERE)
{
    harness::Block::current().barrier_wait(
        reinterpret_cast<harness::Barrier *>(barrier), parity, {file, line});
}

inline void fx8_ptx_proxy_fence()
{
}

/* --- ptx_tensor.h: warpgroups
 * --------------------------------------------------------- */

inline uint64_t fx8_ptx_matrix_descriptor(const void *shared,
                                          unsigned leading_bytes,
                                          unsigned stride_bytes, FX8_HERE)
{
    return harness::matrix_descriptor(shared, leading_bytes, stride_bytes,
                                      {file, line});
}

inline uint64_t fx8_ptx_swizzled_descriptor(const void *shared, FX8_HERE)
{
    return harness::swizzled_descriptor(shared, {file, line});
}

template <int REGISTERS> void fx8_ptx_registers_release()
{
}

template <int REGISTERS> void fx8_ptx_registers_claim()
{
}

inline void fx8_ptx_wgmma_fence()
{
}

inline void fx8_ptx_wgmma_s8(int (&sums)[128], uint64_t a, uint64_t b)
{
    harness::Block::current().products_start(
        {harness::wgmma_run<256>, sums, nullptr, a, b, 0});
}

template <int COUNT>
void fx8_ptx_wgmma_s8(int (&sums)[COUNT], const int (&a)[4], uint64_t b)
{
    static_assert(COUNT == 32 || COUNT == 64, "64 or 128 columns");
    harness::Block::current().products_start(
        {harness::wgmma_run<2 * COUNT>, sums, a, 0, b, 0});
}

inline void fx8_ptx_wgmma_commit()
{
    ++harness::Block::current().fibre().product_group;
}

template <int GROUPS_LEFT> void fx8_ptx_wgmma_wait(FX8_HERE)
{
    harness::Block::current().products_run(GROUPS_LEFT, {file, line});
}

#endif
