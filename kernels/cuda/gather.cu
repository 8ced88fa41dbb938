/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gather.cu -- method none: the recorded integers are the spectra of one
 * channel.
 *
 * A thread takes sixteen times of one input: 32 bytes of pairs in, 16 bytes of
 * real and 16 of imaginary parts out.  A warp has eight such groups of four
 * inputs: loads take 256 contiguous bytes, stores 128.
 */
#include "kernels/cuda/spectra.cuh"

/* Groups of sixteen times in a warp and in a block, for four inputs. */
#define WARP_GROUPS  8
#define BLOCK_GROUPS (FX8_SPECTRA_THREADS / FX8_SPECTRA_INPUTS)

#define TIMES FX8_CUDA_TIMES_INT8

/** A job; its grid is [four inputs][64 groups of sixteen times]. */
struct fx8_gather_launch {
    fx8_cuda_part part;
    fx8_spectra_view out;
    const int8_t *samples;
    size_t row_stride;
    size_t n_groups;  /* of sixteen times */
    bool has_vectors; /* 32 bytes may be loaded as two vectors */
};

/** Load the pairs of sixteen times whose bit in `bits` is set; others are zero.
 */
static __device__ __forceinline__ void load_pairs(const int8_t *samples,
                                                  unsigned bits,
                                                  bool has_vectors,
                                                  unsigned (&pairs)[TIMES / 2])
{
    if (has_vectors && bits == 0xffff) {
        const uint4 first = reinterpret_cast<const uint4 *>(samples)[0];
        const uint4 second = reinterpret_cast<const uint4 *>(samples)[1];
        const unsigned all[TIMES / 2] = {first.x,  first.y,  first.z,
                                         first.w,  second.x, second.y,
                                         second.z, second.w};
#pragma unroll
        for (int k = 0; k < TIMES / 2; ++k)
            pairs[k] = all[k];
        return;
    }
#pragma unroll
    for (int k = 0; k < TIMES / 2; ++k)
        pairs[k] = 0;
#pragma unroll
    for (int t = 0; t < TIMES; ++t)
        if ((bits >> t & 1) != 0)
            pairs[t / 2] |=
                (static_cast<unsigned>(static_cast<uint8_t>(samples[2 * t])) |
                 static_cast<unsigned>(static_cast<uint8_t>(samples[2 * t + 1]))
                     << 8)
                << 16 * (t % 2);
}

/** Byte k of a word, as a float. */
static __device__ __forceinline__ float byte_of(unsigned word, int k)
{
    return static_cast<float>(static_cast<int8_t>(word >> 8 * k));
}

extern "C" __global__ void __launch_bounds__(FX8_SPECTRA_THREADS)
    fx8_gather_kernel(const fx8_gather_launch launch)
{
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t input = blockIdx.y * FX8_SPECTRA_INPUTS + lane / WARP_GROUPS;
    const size_t group = static_cast<size_t>(blockIdx.x) * BLOCK_GROUPS +
                         warp * WARP_GROUPS + lane % WARP_GROUPS;
    if (input >= launch.part.n_inputs || group >= launch.n_groups)
        return;
    const size_t place = launch.part.first_input + input;
    const size_t time = launch.part.first_time + group * TIMES;
    unsigned pairs[TIMES / 2], re[4], im[4];
    load_pairs(launch.samples + input * launch.row_stride + group * TIMES * 2,
               fx8_part_bits(launch.part, place, time), launch.has_vectors,
               pairs);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        re[k] = __byte_perm(pairs[2 * k], pairs[2 * k + 1], 0x6420);
        im[k] = __byte_perm(pairs[2 * k], pairs[2 * k + 1], 0x7531);
    }
    if (launch.out.at.int8 != nullptr)
        fx8_spectra_store_int8(launch.out, 0, time, place, re, im);
    if (launch.out.at.fp32 != nullptr) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            float2 x[4];
#pragma unroll
            for (int t = 0; t < 4; ++t)
                x[t] = make_float2(byte_of(re[k], t), byte_of(im[k], t));
            fx8_spectra_store_fp32(launch.out, 0, time + 4 * k, place, x);
        }
    }
}

cudaError_t fx8_cuda_gather(const struct fx8_cuda_part *part,
                            const int8_t *samples, size_t row_stride,
                            const struct fx8_cuda_spectra *spectra,
                            cudaStream_t stream)
{
    if (!fx8_part_is_legal(part, spectra) || spectra->n_channels != 1)
        return cudaErrorInvalidValue;
    fx8_gather_launch launch = {};
    launch.part = *part;
    launch.out = fx8_spectra_view_of(spectra);
    launch.samples = samples;
    launch.row_stride = row_stride;
    launch.n_groups = fx8_part_groups(part);
    launch.has_vectors =
        reinterpret_cast<uintptr_t>(samples) % sizeof(uint4) == 0 &&
        row_stride % sizeof(uint4) == 0;
    dim3 blocks;
    if (!fx8_spectra_grid((launch.n_groups + BLOCK_GROUPS - 1) / BLOCK_GROUPS,
                          (part->n_inputs + FX8_SPECTRA_INPUTS - 1) /
                              FX8_SPECTRA_INPUTS,
                          1, &blocks))
        return cudaErrorInvalidValue;
    if (blocks.x == 0)
        return cudaSuccess;
    FX8_LAUNCH(fx8_gather_kernel, blocks, dim3(FX8_SPECTRA_THREADS), 0, stream,
               launch);
    return cudaGetLastError();
}
