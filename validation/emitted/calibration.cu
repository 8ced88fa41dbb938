/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calibration.cu -- kernels that hold a known number of one operation, twice:
 * what the longer one has more of is that operation.
 *
 * Notes: 1) a step needs the result of the one before it, and rounds or wraps,
 *           so that the compiler can neither fold nor drop any
 *        2) the integer ones show what is no floating-point instruction
 */
#include <cuda_fp16.h>

#include "kernels/cuda/correlate_lanes.cuh"
#include "kernels/cuda/ptx_tensor.h"

/** Kernel NAME_TIMES: so many of `step`, which changes x and n and knows a, b
 *  and m. */
#define KERNEL(name, type, times, step)                                        \
    extern "C" __global__ void name##_##times(type *data, type a, type b,      \
                                              int m)                           \
    {                                                                          \
        type x = data[threadIdx.x];                                            \
        int n = m;                                                             \
        _Pragma("unroll") for (int k = 0; k < times; ++k)                      \
        {                                                                      \
            step;                                                              \
        }                                                                      \
        data[threadIdx.x] = x;                                                 \
        ((int *)data)[threadIdx.x + m] = n;                                    \
    }

/** Both lengths of an operation; calibration.py knows them. */
#define OPERATION(name, type, step)                                            \
    KERNEL(calibrate_##name, type, 4, step)                                    \
    KERNEL(calibrate_##name, type, 12, step)

/** An instruction of the multi-function unit, with one addition, without which
 *  the compiler removes 1 / (1 / x). */
#define UNIT(name, instruction)                                                \
    OPERATION(mufu_##name, float, x = __fadd_rn(x, a);                         \
              asm(instruction " %0, %0;"                                       \
                  : "+f"(x)))

/** Integer arithmetic, memory and branches only. */
#define INTEGER(name, step) KERNEL(integer_##name, int, 4, step)

OPERATION(hfma2, __half2, x = __hfma2(x, a, b))
OPERATION(hadd2, __half2, x = __hadd2_rn(x, a))
OPERATION(hmul2, __half2, x = __hmul2_rn(x, a))
OPERATION(hset2, __half2, x = __hgt2(__hadd2_rn(x, a), b))
OPERATION(hmnmx2, __half2, x = __hmin2(__hadd2_rn(x, a), b))
OPERATION(fadd, float, x = __fadd_rn(x, a))
OPERATION(fmul, float, x = __fmul_rn(x, a))
OPERATION(ffma, float, x = __fmaf_rn(x, a, b))
OPERATION(fmnmx, float, x = fminf(__fadd_rn(x, a), b))
OPERATION(fsetp, float, x = __fadd_rn(x, a); n += x > b)
OPERATION(fsel, float, x = __fadd_rn(x, a) > b ? x : b)
OPERATION(fset, float, x = __fadd_rn(x, a) > b ? 1.0f : 0.0f)
OPERATION(frnd, float, x = rintf(__fadd_rn(x, a)))
OPERATION(fchk, float, x = __fdiv_rn(x, a))
OPERATION(f2i, float, x = __fadd_rn(x, a); n += __float2int_rn(x))
OPERATION(i2f, float, n = n * m + 1; x = __fadd_rn(x, __int2float_rn(n)))
OPERATION(f2f, float, x = __fadd_rn(x, a);
          n ^= __half_as_ushort(__float2half_rn(x)))
OPERATION(f2fp, float, x = __fadd_rn(x, a); __half2 h = __floats2half2_rn(x, b);
          n ^= *(int *)&h)
OPERATION(dadd, double, x = __dadd_rn(x, a))
OPERATION(dmul, double, x = __dmul_rn(x, a))
OPERATION(dfma, double, x = __fma_rn(x, a, b))
OPERATION(dsetp, double, x = __dadd_rn(x, a); n += x > b)
OPERATION(drnd, double, x = rint(__dadd_rn(x, a)))
OPERATION(d2i, double, x = __dadd_rn(x, a); n += (int)__double2ll_rz(x))
OPERATION(b2f, float, n = n * m + 1;
          x = __fadd_rn(x, __int2float_rn((int8_t)n)))
OPERATION(i2d, double, n = n * m + 1;
          x = __dadd_rn(x, __ll2double_rn(static_cast<long long>(n) * m)))
OPERATION(mufu_rcp64h, double, x = __dadd_rn(x, a);
          asm("rcp.approx.ftz.f64 %0, %0;"
              : "+d"(x)))
OPERATION(mufu_rsq64h, double, x = __dadd_rn(x, a);
          asm("rsqrt.approx.ftz.f64 %0, %0;"
              : "+d"(x)))
OPERATION(f2d, float, x = __double2float_rn(__dadd_rn((double)x, 1.1)))

UNIT(rcp, "rcp.approx.ftz.f32")
UNIT(rsq, "rsqrt.approx.ftz.f32")
UNIT(sqrt, "sqrt.approx.ftz.f32")
UNIT(ex2, "ex2.approx.ftz.f32")
UNIT(lg2, "lg2.approx.ftz.f32")
UNIT(sin, "sin.approx.ftz.f32")
UNIT(cos, "cos.approx.ftz.f32")
UNIT(tanh, "tanh.approx.f32")

/** A call that cannot be inlined. */
__device__ __noinline__ int call_of(int x)
{
    return x * x + 7;
}

INTEGER(multiply, x = x * a + b)
INTEGER(logic, x = (x * a) ^ b)
INTEGER(shift, x = (x * a) >> (n & 31))
INTEGER(funnel, x = (int)__funnelshift_l(x, a, b) + n)
INTEGER(select, x = (x * a) > b ? x : n)
INTEGER(minimum, x = min(x * a, b))
INTEGER(unsigned_minimum, x = (int)min((unsigned)x * a, (unsigned)b))
INTEGER(added_minimum, x = (int)min((unsigned)(x ^ a) + 64, (unsigned)b))
INTEGER(magnitude, x = abs(x * a))
INTEGER(bytes, x = (int)__byte_perm(x, a, (unsigned)b))
INTEGER(leading, x = __clz(x * a))
INTEGER(loop, for (int i = 0; i < x; ++i) x = data[x] + i)
INTEGER(wide, n += (int)((long long)x * a >> 32); x ^= n)
INTEGER(scaled, x = ((x ^ a) << 3) + b)
INTEGER(block, x = x * (int)(blockIdx.x * blockDim.x) + b)
INTEGER(address, const size_t at = (size_t)x * a + n;
        if (at < (size_t)m) x = data[at + b])
INTEGER(call, if (x > m) x = call_of(x))

/** What the threads of a block count together. */
extern "C" __global__ void integer_counts_4(unsigned long long *data, int m)
{
    __shared__ unsigned long long counts[8];
    if (threadIdx.x < 8)
        counts[threadIdx.x] = 0;
    __syncthreads();
    const unsigned long long own = data[threadIdx.x];
    atomicAdd(&counts[own & 1], 1ULL);
    if (own > 7)
        atomicAdd(&counts[m & 7], 1ULL);
    atomicMax(&counts[2], own);
    __syncthreads();
    data[threadIdx.x] = counts[threadIdx.x & 7];
}

/** Numbers of a launch, one of which a block picks. */
struct integer_numbers {
    size_t n, pitch;
    unsigned of[32];
};

extern "C" __global__ void integer_picked_4(int *data,
                                            const integer_numbers numbers)
{
    const size_t at = size_t(blockIdx.x) * 128 + threadIdx.x;
    if (at >= numbers.n)
        return;
    const size_t row = 2 * size_t(numbers.of[blockIdx.y]);
    data[at] = data[(at * numbers.pitch + row) * 16];
}

/** Tensor cores: one product of a warp; sm_75 makes it from four. */
__device__ __forceinline__ int mma_of(int x, int a, int b)
{
    int sums[4] = {x, x, x, x};
    const int rows[4] = {a, b, a, b}, columns[2] = {a, b};
    fx8_ptx_mma_s8(sums, rows, columns);
    return sums[0] ^ sums[2];
}

OPERATION(idp, int, x = __dp4a(x, a, b))
OPERATION(imma, int, x = mma_of(x, a, b))

/** An integer kernel whose step is a function: its head. */
#define STEP(name)                                                             \
    __device__ __forceinline__ int step_of_##name(int *data, int x, int a,     \
                                                  int b, int n, int m);        \
    INTEGER(name, x = step_of_##name(data, x, a, b, n, m))                     \
    __device__ __forceinline__ int step_of_##name(                             \
        [[maybe_unused]] int *data, [[maybe_unused]] int x,                    \
        [[maybe_unused]] int a, [[maybe_unused]] int b,                        \
        [[maybe_unused]] int n, [[maybe_unused]] int m)

STEP(collective)
{
    if (blockIdx.x * m > 3u)
        x += __shfl_xor_sync(~0u, x, 4) + __shfl_sync(~0u, x, n & 31);
    return x;
}

STEP(uniform)
{
    const int64_t wide = static_cast<int64_t>(blockIdx.x + b) * m;
    for (int64_t i = 0; i < wide; i += 4)
        x += a + static_cast<int>(i >> 3);
    if (wide > a && blockIdx.y < 7u)
        x ^= n;
    return blockIdx.y * m == b || (m > 5 && a < b) ? x + n : x;
}

STEP(tiles)
{
    unsigned row = 0, column = blockIdx.x;
    while (column > row)
        column -= ++row;
    const bool same = row == column;
    const size_t stride = static_cast<size_t>(a) * (a + 1) / 2;
    const int *from = data + blockIdx.y * stride + (same ? 0 : 7 * row);
    if (!same && (row * m < 9u || column * 5 > b + row))
        from += min(column, row * b) + (same ? m : a);
    for (unsigned k = 0; k < m + column; k += 2) {
        x ^= from[k * stride + x];
        from += k % 3 == 0 && !same ? stride : row;
    }
    return x;
}

STEP(ring)
{
    const unsigned end = min(static_cast<unsigned>(a), 64 * blockIdx.x + b);
    unsigned stage = 0;
    for (unsigned k = blockIdx.y; k < end; k += 2) {
        x += data[stage * 64 + threadIdx.x];
        stage = stage + 1 == 3 ? 0 : stage + 1;
    }
    return x;
}

STEP(predicates)
{
    int taken[8];
#pragma unroll
    for (int k = 0; k < 8; ++k)
        taken[k] = x + k < m && (n ^ k) < b ? data[x * k + n] : 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; ++k)
        if (x + k < m && (n ^ k) < b)
            data[n + k * a] = taken[k];
    return x ^ taken[n & 7 ? 3 : 5];
}

STEP(zeros)
{
    int sums[8] = {};
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < 8; ++j)
            sums[j] += data[i * j];
    for (int j = 0; j < 8; ++j)
        x ^= sums[j] * n;
    return x;
}

STEP(counters)
{
    atomicAdd(reinterpret_cast<unsigned long long *>(data) + x,
              static_cast<unsigned long long>(n));
    x = min(x, min(m, b)) + static_cast<int>(__umulhi(x, m));
    const int64_t wide = static_cast<int64_t>(blockIdx.y) * m;
    x ^= static_cast<int>(min(wide, static_cast<int64_t>(n)) >> 4);
    return x;
}

STEP(words)
{
    const auto *bytes = reinterpret_cast<const uint8_t *>(data + x);
    const unsigned bits = static_cast<unsigned>(data[x + n]);
    unsigned pairs[8] = {};
    for (int t = 0; t < 16; ++t)
        if ((bits >> t & 1) != 0)
            pairs[t / 2] |= (bytes[2 * t] | bytes[2 * t + 1] << 8)
                            << 16 * (t % 2);
    for (unsigned pair : pairs)
        x ^= static_cast<int>(pair * m);
    return x;
}

STEP(places)
{
    const uint64_t from = reinterpret_cast<uint64_t>(data);
    const uint64_t place = blockIdx.y * 16ULL;
    if (from + place - 99 < from)
        data[x] = n;
    return x + 1;
}

STEP(choices)
{
    const bool low = x<a, high = n> b, same = (x ^ n) == m;
    if ((low && !high) || same)
        data[n] = x;
    if ((low || same) && (high || x < b))
        data[m] = n;
    return x + (low != high);
}

STEP(anywhere)
{
    const uintptr_t place = reinterpret_cast<uintptr_t>(data) ^ m;
    const size_t left = static_cast<size_t>(blockIdx.x) * m;
    x += static_cast<int>(left < 32 ? left : 32);
    return x + *reinterpret_cast<const int *>(place + x);
}

/** Parameters of a byte, and a place worked out in 64 bits. */
struct place {
    size_t n, first, end;
    unsigned step;
    bool is_wanted, is_negated;
};

extern "C" __global__ void integer_place(int *data, const place all)
{
    const size_t second = all.first + blockIdx.z;
    const size_t from = all.first + blockIdx.y * static_cast<size_t>(all.step);
    const size_t end = all.end <= second ? all.end : second + 1;
    const size_t rest = end > from ? end - from : 0;
    const unsigned count =
        static_cast<unsigned>(rest < all.step ? rest : all.step);
    const size_t left = all.n - blockIdx.x * 32ULL;
    const unsigned width = static_cast<unsigned>(left < 32 ? left : 32);
    for (unsigned k = threadIdx.x; k < width; k += 8) {
        const bool is_one = data[k] == static_cast<int>(count);
        if (is_one && all.is_wanted)
            data[k + width] = is_one != all.is_negated ? data[k] : -data[k];
    }
}

/* --- what moves data between threads and kinds of memory ------------------ */

STEP(barrier)
{
    __shared__ int kept[64];
    kept[threadIdx.x] = x;
    __syncthreads();
    x = kept[(x ^ a) & 63];
    fx8_ptx_barrier_sync(1, 64);
    return x;
}

STEP(shuffle)
{
    return __shfl_xor_sync(~0u, x, 4) + __shfl_sync(~0u, x, n & 31);
}

STEP(matrix)
{
    __shared__ int4 kept[64];
    kept[threadIdx.x].y = x;
    int tiles[4];
    fx8_ptx_ldmatrix_x4(tiles, &kept[(a + x) & 63]);
    return tiles[0] ^ tiles[3];
}

STEP(vectors)
{
    int4 *const wide = reinterpret_cast<int4 *>(data);
    int4 sum = wide[x];
    sum.x += n;
    wide[x + n] = sum;
    return x + sum.w;
}

STEP(longs)
{
    longlong2 *const sums = reinterpret_cast<longlong2 *>(data);
    sums[x].x += n;
    sums[x].y += x;
    return x + a;
}

#if __CUDA_ARCH__ >= 800
STEP(copies)
{
    __shared__ int4 kept[64];
    fx8_ptx_copy_async(&kept[x & 63], data + 4 * x, x > b ? 16 : 0);
    fx8_ptx_copy_commit();
    fx8_ptx_copy_wait<1>();
    return x + kept[a & 63].x;
}
#endif

#if __CUDA_ARCH__ >= 900
STEP(phases)
{
    __shared__ uint64_t phase[4];
    fx8_ptx_mbarrier_init(&phase[x & 3], 2);
    fx8_ptx_mbarrier_init_fence();
    fx8_ptx_mbarrier_arrive(&phase[a & 3]);
    fx8_ptx_proxy_fence();
    fx8_ptx_mbarrier_wait(&phase[x & 3], n & 1);
    return x + a;
}
#endif

/* --- what correlators do between their products ----------------------------
 */

/** For correlate_lanes.cuh: products without multiplications. */
struct no_products {
    using Vector = int4;
    using Sum = longlong2;
    using Rounding = fx8_tile_plain_add;
    static constexpr unsigned FOLD = 64;

    template <unsigned REACH> struct Sums {
        int kept[REACH][REACH];

        __device__ __forceinline__ void clear()
        {
#pragma unroll
            for (unsigned a = 0; a < REACH * REACH; ++a)
                kept[a / REACH][a % REACH] = 0;
        }
        __device__ __forceinline__ void add(unsigned a, unsigned b, int row_re,
                                            int row_im, int column_re,
                                            int column_im)
        {
            kept[a][b] ^= (row_re & column_re) + (row_im & column_im);
        }
        __device__ __forceinline__ int re(unsigned a, unsigned b) const
        {
            return kept[a][b];
        }
        __device__ __forceinline__ int im(unsigned a, unsigned b) const
        {
            return kept[b][a];
        }
    };
};

/* Loads and stores that stay, though nobody uses what they move. */
KERNEL(memory_load, int, 4, (void)((volatile int *)data)[k])
KERNEL(memory_load, int, 12, (void)((volatile int *)data)[k])
KERNEL(memory_store, int, 4, ((volatile int *)data)[k] = m)
KERNEL(memory_store, int, 12, ((volatile int *)data)[k] = m)

/** Kernel integer_tile_TILE_DEPTH. */
#define TILE_OF(tile, reach, depth)                                            \
    extern "C" __global__ void __launch_bounds__(                              \
        fx8_lane_shape<tile, reach, depth>::THREADS)                           \
        integer_tile_##tile##_##depth(const int4 *x, size_t channel_stride,    \
                                      size_t pitch, unsigned n_inputs,         \
                                      unsigned n_columns, longlong2 *sums)     \
    {                                                                          \
        fx8_correlate_lanes<no_products, tile, reach, depth>(                  \
            fx8_tile_of_block<tile>(x, channel_stride, pitch, n_inputs,        \
                                    n_columns, sums));                         \
    }

TILE_OF(16, 2, 2)
TILE_OF(16, 2, 4)
TILE_OF(32, 4, 2)
TILE_OF(32, 4, 4)
TILE_OF(64, 4, 2)
TILE_OF(64, 4, 4)

/* --- the warpgroups of sm_90a --------------------------------------------- */

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
/* The assembler drops these where it does not know how many threads run. */
extern "C" __global__ void __launch_bounds__(384, 1)
    integer_registers_4(int *data, int a, int b, int m)
{
    if (threadIdx.x / 128 == m) {
        fx8_ptx_registers_release<40>();
        data[threadIdx.x] = a;
    } else {
        fx8_ptx_registers_claim<232>();
        data[threadIdx.x + m] = b;
    }
}

STEP(warpgroup)
{
    fx8_ptx_wgmma_fence();
    fx8_ptx_wgmma_commit();
    fx8_ptx_wgmma_wait<0>();
    return x + data[x];
}

__device__ __forceinline__ int wgmma_of(int x, int a, const void *tile)
{
    int sums[32];
#pragma unroll
    for (int k = 0; k < 32; ++k)
        sums[k] = x;
    const int rows[4] = {a, a, a, a};
    fx8_ptx_wgmma_fence();
    fx8_ptx_wgmma_s8(sums, rows, fx8_ptx_matrix_descriptor(tile, 128, 128));
    fx8_ptx_wgmma_commit();
    fx8_ptx_wgmma_wait<0>();
    return sums[0];
}

OPERATION(igmma, int, __shared__ int4 tile[256]; x = wgmma_of(x, a, tile))
#endif
