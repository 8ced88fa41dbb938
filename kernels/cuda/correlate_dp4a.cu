/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_dp4a.cu -- the int8 correlator by DP4A, four products and their sum
 * in one instruction, for every card since 2016.
 *
 * Three sums for a pair: the real part, and the two terms of the imaginary
 * part, kept apart because -(-128) does not fit eight bits.
 */
#include "kernels/cuda/correlate_kinds.h"
#include "kernels/cuda/correlate_lanes.cuh"

/** int8, sixteen times in a vector. */
struct dp4a {
    using Vector = int4;
    using Sum = longlong2;
    using Rounding = fx8_tile_plain_add;
    /* No job is longer: 4096 times 16 spectra. */
    static constexpr unsigned FOLD = 4096;

    template <unsigned REACH> struct Sums {
        int real[REACH][REACH], one[REACH][REACH], other[REACH][REACH];

        __device__ __forceinline__ void clear()
        {
#pragma unroll
            for (unsigned a = 0; a < REACH; ++a)
#pragma unroll
                for (unsigned b = 0; b < REACH; ++b)
                    real[a][b] = one[a][b] = other[a][b] = 0;
        }

        /* Four times of each row, and of column b. */
        __device__ __forceinline__ void add(unsigned a, unsigned b, int row_re,
                                            int row_im, int re, int im)
        {
            real[a][b] = __dp4a(row_re, re, real[a][b]);
            real[a][b] = __dp4a(row_im, im, real[a][b]);
            one[a][b] = __dp4a(row_im, re, one[a][b]);
            other[a][b] = __dp4a(row_re, im, other[a][b]);
        }

        __device__ __forceinline__ int re(unsigned a, unsigned b) const
        {
            return real[a][b];
        }

        /* Each of the two is within 2^30, their difference within 2^31. */
        __device__ __forceinline__ int im(unsigned a, unsigned b) const
        {
            return one[a][b] - other[a][b];
        }
    };
};

/** A tile size: the kernel, and the function that queues it. */
#define FX8_DP4A(tile, reach, depth, blocks)                                   \
    extern "C" __global__ void __launch_bounds__(                              \
        fx8_lane_shape<tile, reach, depth>::THREADS, blocks)                   \
        fx8_correlate_dp4a_##tile##_kernel(                                    \
            const int4 *x, size_t channel_stride, size_t pitch,                \
            unsigned n_inputs, unsigned n_columns, longlong2 *sums,            \
            const unsigned *tiles)                                             \
    {                                                                          \
        fx8_correlate_lanes<dp4a, tile, reach, depth>(fx8_tile_of_block<tile>( \
            x, channel_stride, pitch, n_inputs, n_columns, sums, tiles));      \
    }                                                                          \
                                                                               \
    cudaError_t fx8_cuda_correlate_dp4a_##tile(                                \
        const struct fx8_cuda_correlation *job)                                \
    {                                                                          \
        return fx8_tile_launch<FX8_CUDA_TIMES_INT8>(                           \
            fx8_correlate_dp4a_##tile##_kernel, tile,                          \
            fx8_lane_shape<tile, reach, depth>::THREADS, 0, job);              \
    }

FX8_DP4A(16, 2, 2, 8)
FX8_DP4A(32, 4, 2, 8)
FX8_DP4A(64, 4, 2, 2)
