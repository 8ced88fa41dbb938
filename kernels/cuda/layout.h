/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout.h -- layout of spectra in device memory between the channeliser and
 * the correlators, the same for every correlator kernel.
 *
 * A row holds the real or the imaginary part of an input: a correlator is the
 * product of a real matrix with its own transpose, without negations.  Rows 2 i
 * and 2 i + 1 are those of input i.  The real part comes first in four inputs,
 * the imaginary part in the next four, and so on: so the tensor cores of sm_90
 * expect 8 rows of 32 bytes in shared memory, where they read all banks at
 * once (PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout",
 * 32-byte swizzling), and a copy need not move anything.
 *
 * Sixteen bytes hold one row for sixteen consecutive times (int8) or four
 * (float), the unit of every copy and ldmatrix row:
 *
 *     int8   [n_channels][n_times / 16][pitch][16]
 *     float  [n_channels][n_times / 4][pitch][4]
 *
 * Notes: 1) pitch is n_rows rounded up to FX8_CUDA_ROW_PAD; rows from
 *           2 n_inputs on may hold anything and affect no result
 *        2) n_times is a multiple of FX8_CUDA_TIME_PAD; times after the last
 *           spectrum are zero
 *        3) the allocation ends FX8_CUDA_TAIL_ROWS rows of 16 bytes after the
 *           last: a whole tile may be loaded
 */
#ifndef FX8_KERNELS_CUDA_LAYOUT_H
#define FX8_KERNELS_CUDA_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/numeric/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Times in 16 bytes. */
#define FX8_CUDA_TIMES_INT8 16
#define FX8_CUDA_TIMES_FP32 4

/** Rows are padded to a multiple of this: eight inputs, 256 bytes, a group of
 *  tensor_map.h. */
#define FX8_CUDA_ROW_PAD 16

/** Times are padded to a multiple of this, the longest stage of a kernel. */
#define FX8_CUDA_TIME_PAD 128

/** Readable rows of 16 bytes after the last. */
#define FX8_CUDA_TAIL_ROWS 512

/** Rows from one 16-byte column to the next, for n_inputs inputs. */
static inline size_t fx8_cuda_pitch(size_t n_inputs)
{
    return (2 * n_inputs + FX8_CUDA_ROW_PAD - 1) / FX8_CUDA_ROW_PAD *
           FX8_CUDA_ROW_PAD;
}

/** The row of a part (0: real, 1: imaginary) of an input. */
FX8_NUMERIC size_t fx8_cuda_row(size_t input, unsigned part)
{
    return 2 * input + (part ^ (unsigned)(input >> 2 & 1));
}

/** Spectra in memory for n_spectra of them. */
static inline size_t fx8_cuda_times(size_t n_spectra)
{
    return (n_spectra + FX8_CUDA_TIME_PAD - 1) / FX8_CUDA_TIME_PAD *
           FX8_CUDA_TIME_PAD;
}

/** 16-byte vectors of one channel; n_times from fx8_cuda_times(). */
static inline size_t fx8_cuda_channel_vectors(size_t n_inputs, size_t n_times,
                                              size_t times_per_vector)
{
    return n_times / times_per_vector * fx8_cuda_pitch(n_inputs);
}

#ifdef __cplusplus
}

/** A vector of 16 bytes, by the type of a spectrum. */
template <class Complex> struct fx8_cuda_vector_of;
template <> struct fx8_cuda_vector_of<struct fx8_ci8> {
    typedef int8_t Part;
    static constexpr size_t TIMES = FX8_CUDA_TIMES_INT8;
};
template <> struct fx8_cuda_vector_of<struct fx8_cf32> {
    typedef float Part;
    static constexpr size_t TIMES = FX8_CUDA_TIMES_FP32;
};
#endif

#endif
