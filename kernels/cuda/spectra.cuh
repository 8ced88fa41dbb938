/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spectra.cuh -- write spectra in the layout of layout.h; a thread has sixteen
 * times of one input and channel in registers.
 *
 * Four neighbouring inputs in a warp write 128 contiguous bytes.
 */
#ifndef FX8_KERNELS_CUDA_SPECTRA_CUH
#define FX8_KERNELS_CUDA_SPECTRA_CUH

#include "kernels/cuda/channelize.h"
#include "kernels/cuda/layout.h"

/** Threads of a block; inputs of a warp, its lanes / 8. */
#define FX8_SPECTRA_THREADS 256
#define FX8_SPECTRA_INPUTS  4

/** Spectra with values derived from their shape. */
struct fx8_spectra_view {
    fx8_cuda_spectra at;
    size_t pitch; /**< rows */
};

static inline fx8_spectra_view fx8_spectra_view_of(
    const fx8_cuda_spectra *spectra)
{
    return {*spectra, fx8_cuda_pitch(spectra->n_inputs)};
}

/** The column of 16 bytes of a time of int8. */
static __device__ __forceinline__ int4 *fx8_spectra_int8(
    const fx8_spectra_view &view, size_t channel, size_t time)
{
    const size_t column = channel * (view.at.n_times / FX8_CUDA_TIMES_INT8) +
                          time / FX8_CUDA_TIMES_INT8;
    return reinterpret_cast<int4 *>(view.at.int8) + column * view.pitch;
}

/** Likewise of the floats. */
static __device__ __forceinline__ float4 *fx8_spectra_fp32(
    const fx8_spectra_view &view, size_t channel, size_t time)
{
    const size_t column = channel * (view.at.n_times / FX8_CUDA_TIMES_FP32) +
                          time / FX8_CUDA_TIMES_FP32;
    return reinterpret_cast<float4 *>(view.at.fp32) + column * view.pitch;
}

/** The row of the other part of the same input: both are in 32 aligned bytes.
 *  Its address costs no registers, unlike that of fx8_cuda_row(). */
template <class Vector>
static __device__ __forceinline__ Vector *fx8_spectra_other_part(Vector *row)
{
    return reinterpret_cast<Vector *>(reinterpret_cast<uintptr_t>(row) ^
                                      sizeof(Vector));
}

/** Write sixteen times of int8: four words each of real and imaginary parts,
 *  the first time in the lowest byte. */
static __device__ __forceinline__ void fx8_spectra_store_int8(
    const fx8_spectra_view &view, size_t channel, size_t time, size_t input,
    const unsigned (&re)[4], const unsigned (&im)[4])
{
    int4 *const at =
        fx8_spectra_int8(view, channel, time) + fx8_cuda_row(input, 0);
    *at = make_int4(static_cast<int>(re[0]), static_cast<int>(re[1]),
                    static_cast<int>(re[2]), static_cast<int>(re[3]));
    *fx8_spectra_other_part(at) =
        make_int4(static_cast<int>(im[0]), static_cast<int>(im[1]),
                  static_cast<int>(im[2]), static_cast<int>(im[3]));
}

/** Write four times of floats. */
static __device__ __forceinline__ void fx8_spectra_store_fp32(
    const fx8_spectra_view &view, size_t channel, size_t time, size_t input,
    const float2 *x)
{
    float4 *const at =
        fx8_spectra_fp32(view, channel, time) + fx8_cuda_row(input, 0);
    *at = make_float4(x[0].x, x[1].x, x[2].x, x[3].x);
    *fx8_spectra_other_part(at) = make_float4(x[0].y, x[1].y, x[2].y, x[3].y);
}

/** One bit for each of the sixteen spectra from `time` on, a multiple of
 *  sixteen: set if it exists and is valid. */
static __device__ __forceinline__ unsigned fx8_part_bits(
    const fx8_cuda_part &part, size_t input, size_t time)
{
    const size_t spectrum = time - part.first_time;
    if (spectrum >= part.n_spectra)
        return 0;
    const size_t left = part.n_spectra - spectrum;
    const unsigned exist = left < FX8_CUDA_TIMES_INT8
                               ? (1U << static_cast<unsigned>(left)) - 1
                               : 0xffffU;
    if (part.valid == nullptr)
        return exist;
    const uint64_t word = part.valid[input * part.valid_words + time / 64];
    return static_cast<unsigned>(word >> time % 64) & exist;
}

/** FFT bin of a channel, as fx8_filterbank_bin(). */
static __device__ __forceinline__ size_t
fx8_spectra_bin(const struct fx8_filterbank &bank, size_t channel)
{
    if (!bank.is_complex)
        return channel;
    const size_t half = bank.n_channels / 2;
    return channel >= half ? channel - half : bank.fft_length + channel - half;
}

/** Groups of sixteen times that a part writes. */
static inline size_t fx8_part_groups(const fx8_cuda_part *part)
{
    return (part->end_time - part->first_time) / FX8_CUDA_TIMES_INT8;
}

/** Whether a part keeps the rules stated at its struct, within spectra. */
static inline bool fx8_part_is_legal(const fx8_cuda_part *part,
                                     const fx8_cuda_spectra *spectra)
{
    return part->first_input + part->n_inputs <= spectra->n_inputs &&
           part->first_time % FX8_CUDA_TIMES_INT8 == 0 &&
           part->end_time % FX8_CUDA_TIMES_INT8 == 0 &&
           part->first_time + part->n_spectra <= part->end_time &&
           part->end_time <= spectra->n_times &&
           spectra->n_times % FX8_CUDA_TIME_PAD == 0 &&
           (part->valid == nullptr ||
            part->valid_words * 64 >= part->first_time + part->n_spectra);
}

/** Set a grid; x = 0: nothing to do; returns false if it is too large. */
static inline bool fx8_spectra_grid(size_t x, size_t y, size_t z, dim3 *grid)
{
    if (x > INT32_MAX || y > 65535 || z > 65535)
        return false;
    *grid = dim3(x * y * z != 0 ? static_cast<unsigned>(x) : 0,
                 static_cast<unsigned>(y), static_cast<unsigned>(z));
    return true;
}

#endif
