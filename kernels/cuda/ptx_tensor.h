/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ptx_tensor.h -- the PTX of the tensor cores and of the copies that feed
 * them, one device function each.
 *
 * validation/cuda/twins.h has each function in plain C++, so that kernels can
 * be checked without a device; keep both in step.
 *
 * Given: every tile is int8, 16 values of k in 16 bytes, in the order of time:
 *        a row of ldmatrix, a core-matrix row of wgmma, a unit of cp.async
 *
 * Notes: 1) sums are modulo 2^32, never saturated: saturation would depend on
 *           the order
 *        2) a function exists from the named architecture on; for older ones a
 *           kernel that calls it needs another body.  wgmma and setmaxnreg need
 *           sm_90a: neither sm_90 nor later architectures have them
 *        3) arguments named `shared` point to shared memory
 * Source: PTX ISA, "Warp Level Matrix Instructions", "Asynchronous Warpgroup
 *         Level Matrix Instructions", "Data Movement and Conversion",
 *         "Parallel Synchronization and Communication: mbarrier"
 */
#ifndef FX8_KERNELS_CUDA_PTX_TENSOR_H
#define FX8_KERNELS_CUDA_PTX_TENSOR_H

#if defined(__CUDACC__)

#include <stdint.h>

/** The address of `shared` within shared memory. */
static __device__ __forceinline__ uint32_t
fx8_ptx_shared_address(const void *shared)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

/** Wait for `threads` threads, whole warps, at barrier 1 to 15 of the block. */
static __device__ __forceinline__ void fx8_ptx_barrier_sync(unsigned barrier,
                                                            unsigned threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750

/**
 * fx8_ptx_ldmatrix_x4 -- four tiles of 8 rows of 16 bytes, by a whole warp.
 *
 * Given:    row    shared, a multiple of 16: lane 8 m + r names row r of tile m
 * Returned: tiles  word l % 4 of row l / 4 of each tile, l the lane
 */
static __device__ __forceinline__ void fx8_ptx_ldmatrix_x4(int (&tiles)[4],
                                                           const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(tiles[0]), "=r"(tiles[1]), "=r"(tiles[2]),
                   "=r"(tiles[3])
                 : "r"(fx8_ptx_shared_address(row))
                 : "memory");
}

/**
 * fx8_ptx_mma_s8 -- sums += A B', A 16 rows and B 8 rows of 32 values of k, by
 * a whole warp.
 *
 * Given: a     words 4 (l % 4) on of rows l / 4 and l / 4 + 8 for k below 16,
 *              then for k from 16 on: four tiles of ldmatrix
 *        b     the same of row l / 4, k below 16 and from 16 on
 *        sums  rows l / 4, twice, and l / 4 + 8, twice; columns 2 (l % 4) and
 *              the next, twice
 * Notes: sm_75 has only a quarter of the product; the registers of four such
 *        are exactly those of the whole
 */
static __device__ __forceinline__ void fx8_ptx_mma_s8(int (&sums)[4],
                                                      const int (&a)[4],
                                                      const int (&b)[2])
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
#pragma unroll
    for (int part = 0; part < 4; ++part) {
        const int rows = part % 2, k = part / 2;
        asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 "
            "{%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+r"(sums[2 * rows]), "+r"(sums[2 * rows + 1])
            : "r"(a[2 * k + rows]), "r"(b[k]));
    }
#endif
}

#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/**
 * fx8_ptx_copy_async -- copy 16 bytes to shared memory asynchronously: `bytes`
 * of them from global memory, zeros for the rest.
 *
 * Given: shared, global  multiples of 16
 *        bytes           0 to 16; with 0 nothing is read
 * Notes: visible to the thread after fx8_ptx_copy_wait(), to others after the
 *        next barrier
 */
static __device__ __forceinline__ void fx8_ptx_copy_async(void *shared,
                                                          const void *global,
                                                          unsigned bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     fx8_ptx_shared_address(shared)),
                 "l"(global), "r"(bytes)
                 : "memory");
}

/** Close the group of copies that this thread has started. */
static __device__ __forceinline__ void fx8_ptx_copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/** Wait until at most the last GROUPS_LEFT groups of this thread are pending.
 */
template <int GROUPS_LEFT>
static __device__ __forceinline__ void fx8_ptx_copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS_LEFT) : "memory");
}

#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/** Create a 64-bit barrier in shared memory whose phases end after `arrivals`.
 *  One thread calls it, then fx8_ptx_mbarrier_init_fence(); then all threads
 *  synchronise. */
static __device__ __forceinline__ void fx8_ptx_mbarrier_init(uint64_t *barrier,
                                                             unsigned arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(
                     fx8_ptx_shared_address(barrier)),
                 "r"(arrivals)
                 : "memory");
}

/** Make barriers created so far visible to wgmma. */
static __device__ __forceinline__ void fx8_ptx_mbarrier_init_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/** Count one arrival of the current phase. */
static __device__ __forceinline__ void fx8_ptx_mbarrier_arrive(
    uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(
                     fx8_ptx_shared_address(barrier))
                 : "memory");
}

/** Count one arrival; the phase does not end before `bytes` of copies have
 *  arrived, of which some may already have. */
static __device__ __forceinline__ void fx8_ptx_mbarrier_expect(
    uint64_t *barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(
                     fx8_ptx_shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

/** A place in a tensor of four dimensions, the fastest first. */
struct fx8_ptx_place {
    unsigned at[4];
};

/**
 * fx8_ptx_copy_box -- start to copy a box of a tensor to shared memory; what is
 * outside the tensor becomes zero.
 *
 * Given: shared   a multiple of 128
 *        map      CUtensorMap in the arguments of the kernel: tensor and box
 *        barrier  expects the bytes of the box: fx8_ptx_mbarrier_expect()
 * Notes: visible to threads that waited for the barrier's phase, and to wgmma
 */
static __device__ __forceinline__ void fx8_ptx_copy_box(
    void *shared, const void *map, const fx8_ptx_place &place,
    uint64_t *barrier)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(
                     fx8_ptx_shared_address(shared)),
                 "l"(map), "r"(place.at[0]), "r"(place.at[1]), "r"(place.at[2]),
                 "r"(place.at[3]), "r"(fx8_ptx_shared_address(barrier))
                 : "memory");
}

/** Wait for the end of the phase of this parity: 0 for the first, then
 *  alternating.  A new barrier counts as having ended a phase of parity 1. */
static __device__ __forceinline__ void fx8_ptx_mbarrier_wait(uint64_t *barrier,
                                                             unsigned parity)
{
    uint32_t is_over;
    do
        asm volatile("{ .reg .pred p;"
                     " mbarrier.try_wait.parity.shared.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(is_over)
                     : "r"(fx8_ptx_shared_address(barrier)), "r"(parity)
                     : "memory");
    while (is_over == 0);
}

/** Make the threads' writes to shared memory visible to wgmma. */
static __device__ __forceinline__ void fx8_ptx_proxy_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#endif

/**
 * fx8_ptx_matrix_descriptor -- a tile in shared memory, for wgmma: 64 rows (A)
 * or as many as the product has columns (B) of 32 values of k; K-major, no
 * swizzle.
 *
 * Given: shared         dynamic shared memory, a multiple of 16
 *        leading_bytes  from the first 16 values of k to the next 16
 *        stride_bytes   from 8 rows (16 bytes each, one after the other) to
 *                       the next 8
 */
static __device__ __forceinline__ uint64_t fx8_ptx_matrix_descriptor(
    const void *shared, unsigned leading_bytes, unsigned stride_bytes)
{
    return (fx8_ptx_shared_address(shared) >> 4 & 0x3fff) |
           static_cast<uint64_t>(leading_bytes >> 4) << 16 |
           static_cast<uint64_t>(stride_bytes >> 4) << 32;
}

/**
 * fx8_ptx_swizzled_descriptor -- the same of rows of 32 bytes, one after the
 * other: 32-byte swizzle.
 *
 * Given: shared  dynamic shared memory, a multiple of 256; in every second four
 *                rows the first and the last 16 values of k are exchanged
 */
static __device__ __forceinline__ uint64_t
fx8_ptx_swizzled_descriptor(const void *shared)
{
    constexpr uint64_t SWIZZLE_32 = 3;
    return fx8_ptx_matrix_descriptor(shared, 16, 8 * 32) | SWIZZLE_32 << 62;
}

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)

/** Keep REGISTERS per thread (a multiple of 8, 24 to 240) and release the rest;
 *  all threads of a warpgroup call it. */
template <int REGISTERS>
static __device__ __forceinline__ void fx8_ptx_registers_release()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

/** Wait for REGISTERS per thread; all threads of a warpgroup call it. */
template <int REGISTERS>
static __device__ __forceinline__ void fx8_ptx_registers_claim()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

/** Order the threads' writes to registers before the products that follow. */
static __device__ __forceinline__ void fx8_ptx_wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/** Close the group of products started. */
static __device__ __forceinline__ void fx8_ptx_wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/** Wait until at most the last GROUPS_LEFT groups are pending; sums and tiles
 *  of the others may be used again. */
template <int GROUPS_LEFT>
static __device__ __forceinline__ void fx8_ptx_wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GROUPS_LEFT)
                 : "memory");
}

/* Lists of registers, as assembler text and as operands. */
#define FX8_PTX_TEXT_0_TO_31                                                   \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "                  \
    "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "                  \
    "%24, %25, %26, %27, %28, %29, %30, %31"
#define FX8_PTX_TEXT_32_TO_63                                                  \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, "                  \
    "%43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "                  \
    "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define FX8_PTX_TEXT_64_TO_127                                                 \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, "                  \
    "%75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, "                  \
    "%86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, "                  \
    "%97, %98, %99, %100, %101, %102, %103, %104, %105, "                      \
    "%106, %107, %108, %109, %110, %111, %112, %113, %114, "                   \
    "%115, %116, %117, %118, %119, %120, %121, %122, %123, "                   \
    "%124, %125, %126, %127"
#define FX8_PTX_SUMS_4(k)                                                      \
    "+r"(sums[k]), "+r"(sums[(k) + 1]), "+r"(sums[(k) + 2]), "+r"(sums[(k) + 3])
#define FX8_PTX_SUMS_16(k)                                                     \
    FX8_PTX_SUMS_4(k), FX8_PTX_SUMS_4((k) + 4), FX8_PTX_SUMS_4((k) + 8),       \
        FX8_PTX_SUMS_4((k) + 12)
#define FX8_PTX_SUMS_32(k) FX8_PTX_SUMS_16(k), FX8_PTX_SUMS_16((k) + 16)

/**
 * fx8_ptx_wgmma_s8 -- sums += A B', A 64 rows and B 256 rows of 32 values of k.
 * A warpgroup starts it; fx8_ptx_wgmma_wait() waits for it.
 *
 * Given:  a, b  descriptors
 *         sums  half as many as B has rows.  Thread t, register r: row
 *               16 (t / 32) + t % 32 / 4 + 8 (r / 2 % 2), column
 *               8 (r / 4) + 2 (t % 4) + r % 2
 */
static __device__ __forceinline__ void fx8_ptx_wgmma_s8(int (&sums)[128],
                                                        uint64_t a, uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 "
                 "{" FX8_PTX_TEXT_0_TO_31 ", " FX8_PTX_TEXT_32_TO_63
                 ", " FX8_PTX_TEXT_64_TO_127 "}, %128, %129, 1;"
                 : FX8_PTX_SUMS_32(0), FX8_PTX_SUMS_32(32), FX8_PTX_SUMS_32(64),
                   FX8_PTX_SUMS_32(96)
                 : "l"(a), "l"(b));
}

/**
 * The same with A from registers, 64 or 128 rows of B.
 *
 * Given: a  as of fx8_ptx_mma_s8() for rows 16 (t / 32) on; not to be touched
 *           before the wait
 */
static __device__ __forceinline__ void fx8_ptx_wgmma_s8(int (&sums)[32],
                                                        const int (&a)[4],
                                                        uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 "
                 "{" FX8_PTX_TEXT_0_TO_31 "}, {%32, %33, %34, %35}, %36, 1;"
                 : FX8_PTX_SUMS_32(0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

/** The same with 128 rows of B. */
static __device__ __forceinline__ void fx8_ptx_wgmma_s8(int (&sums)[64],
                                                        const int (&a)[4],
                                                        uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 "
                 "{" FX8_PTX_TEXT_0_TO_31 ", " FX8_PTX_TEXT_32_TO_63
                 "}, {%64, %65, %66, %67}, %68, 1;"
                 : FX8_PTX_SUMS_32(0), FX8_PTX_SUMS_32(32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

#undef FX8_PTX_SUMS_32
#undef FX8_PTX_SUMS_16
#undef FX8_PTX_SUMS_4
#undef FX8_PTX_TEXT_64_TO_127
#undef FX8_PTX_TEXT_32_TO_63
#undef FX8_PTX_TEXT_0_TO_31

#endif

#endif

#endif
