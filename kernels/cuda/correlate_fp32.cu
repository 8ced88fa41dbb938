/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_fp32.cu -- the FP32 correlator of the device, the reference for the
 * integer correlators.
 *
 * A component of a pair is one float, to which every spectrum adds two
 * products, each by a fused multiply-add; after 256 spectra it is added to the
 * double sum in global memory and cleared.  A product is thus rounded at most
 * 512 times before it is double, and integers up to 128 are exact, because
 * 512 * 128^2 < 2^24.
 *
 * There are three versions: rounded to nearest, and with every operation
 * rounded downwards or upwards, in the same order.  Rounding is monotonic: the
 * exact sum and the first version lie between the other two.  The minus of an
 * imaginary part is on an operand, which is exact; on the product it would
 * reverse the direction.
 */
#include "kernels/cuda/correlate_kinds.h"
#include "kernels/cuda/correlate_lanes.cuh"

/* A rounding of fused multiply-adds and of additions to the double sums. */

struct to_nearest : fx8_tile_plain_add {
    static __device__ __forceinline__ float fma(float a, float b, float c)
    {
        return __fmaf_rn(a, b, c);
    }
};

struct downwards {
    static __device__ __forceinline__ float fma(float a, float b, float c)
    {
        return __fmaf_rd(a, b, c);
    }
    static __device__ __forceinline__ double add(double sum, double part)
    {
        return __dadd_rd(sum, part);
    }
};

struct upwards {
    static __device__ __forceinline__ float fma(float a, float b, float c)
    {
        return __fmaf_ru(a, b, c);
    }
    static __device__ __forceinline__ double add(double sum, double part)
    {
        return __dadd_ru(sum, part);
    }
};

/** Floats, four times in a vector. */
template <class ItsRounding> struct fp32 {
    using Vector = float4;
    using Sum = double2;
    using Rounding = ItsRounding;
    static constexpr unsigned FOLD =
        FX8_MAX_FP32_PRODUCTS / 2 / FX8_CUDA_TIMES_FP32;

    template <unsigned REACH> struct Sums {
        float real[REACH][REACH], imaginary[REACH][REACH];

        __device__ __forceinline__ void clear()
        {
#pragma unroll
            for (unsigned a = 0; a < REACH; ++a)
#pragma unroll
                for (unsigned b = 0; b < REACH; ++b)
                    real[a][b] = imaginary[a][b] = 0;
        }

        /* One time of a row, and of column b. */
        __device__ __forceinline__ void add(unsigned a, unsigned b,
                                            float row_re, float row_im,
                                            float re, float im)
        {
            real[a][b] = Rounding::fma(row_re, re, real[a][b]);
            real[a][b] = Rounding::fma(row_im, im, real[a][b]);
            imaginary[a][b] = Rounding::fma(row_im, re, imaginary[a][b]);
            imaginary[a][b] = Rounding::fma(-row_re, im, imaginary[a][b]);
        }

        __device__ __forceinline__ double re(unsigned a, unsigned b) const
        {
            return static_cast<double>(real[a][b]);
        }

        __device__ __forceinline__ double im(unsigned a, unsigned b) const
        {
            return static_cast<double>(imaginary[a][b]);
        }
    };
};

/** A rounding and a size of tile: the kernel, and the function that queues it.
 */
#define FX8_FP32(name, rounding, tile, reach, depth, blocks)                   \
    extern "C" __global__ void __launch_bounds__(                              \
        fx8_lane_shape<tile, reach, depth>::THREADS, blocks)                   \
        fx8_correlate_##name##_##tile##_kernel(                                \
            const float4 *x, size_t channel_stride, size_t pitch,              \
            unsigned n_inputs, unsigned n_columns, double2 *sums,              \
            const unsigned *tiles)                                             \
    {                                                                          \
        fx8_correlate_lanes<fp32<rounding>, tile, reach, depth>(               \
            fx8_tile_of_block<tile>(x, channel_stride, pitch, n_inputs,        \
                                    n_columns, sums, tiles));                  \
    }                                                                          \
                                                                               \
    cudaError_t fx8_cuda_correlate_##name##_##tile(                            \
        const struct fx8_cuda_correlation *job)                                \
    {                                                                          \
        return fx8_tile_launch<FX8_CUDA_TIMES_FP32>(                           \
            fx8_correlate_##name##_##tile##_kernel, tile,                      \
            fx8_lane_shape<tile, reach, depth>::THREADS, 0, job);              \
    }

#define FX8_FP32_SIZES(name, rounding)                                         \
    FX8_FP32(name, rounding, 16, 2, 4, 8)                                      \
    FX8_FP32(name, rounding, 32, 4, 4, 8)                                      \
    FX8_FP32(name, rounding, 64, 4, 4, 2)

FX8_FP32_SIZES(fp32, to_nearest)
FX8_FP32_SIZES(fp32_down, downwards)
FX8_FP32_SIZES(fp32_up, upwards)
