/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fir.cu -- the FIR in floats: taps in ascending order, one fused multiply-add
 * each, from zero; equal bit for bit to the operation fir.
 */
#include "kernels/cuda/fir.cuh"

/** Column `c` of a word of samples, as a float. */
static __device__ __forceinline__ float sample_of(unsigned word, int c)
{
    return static_cast<float>(static_cast<int8_t>(word >> 8 * c));
}

/** Coefficients of a thread's columns; zero beyond the last tap or column. */
template <int TAPS, int COLUMNS>
static __device__ __forceinline__ void load_coefficients(
    const fx8_fir_launch &launch, const fx8_fir_place &place,
    const float *coefficients, float (&weights)[TAPS][COLUMNS])
{
    const size_t row = launch.row;
    const int n_taps = static_cast<int>(launch.job.n_taps);
#pragma unroll
    for (int p = 0; p < TAPS; ++p)
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
            weights[p][c] = p < n_taps && c < place.n_columns
                                ? coefficients[p * row + place.column + c]
                                : 0.0F;
}

/** The sums of one spectrum, whose samples begin at window[first]. */
template <int TAPS, int COLUMNS, int ROWS>
static __device__ __forceinline__ void fold_spectrum(
    const float (&weights)[TAPS][COLUMNS], const float (&window)[ROWS][COLUMNS],
    int first, float (&sums)[COLUMNS])
{
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
        sums[c] = 0.0F;
#pragma unroll
        for (int p = 0; p < TAPS; ++p)
            sums[c] = __fmaf_rn(weights[p][c], window[first + p][c], sums[c]);
    }
}

/** Work of one thread. */
template <int TAPS, int COLUMNS>
static __device__ __forceinline__ void fold(const fx8_fir_launch &launch,
                                            const float *coefficients)
{
    constexpr int STEP = FX8_FIR_STEP, KEPT = TAPS - 1;
    fx8_fir_place place;
    if (!fx8_fir_find<COLUMNS>(launch, &place))
        return;
    float weights[TAPS][COLUMNS], window[KEPT + STEP][COLUMNS];
    load_coefficients(launch, place, coefficients, weights);
    {
        unsigned words[KEPT];
        fx8_fir_load<COLUMNS>(launch, &place, words);
#pragma unroll
        for (int k = 0; k < KEPT; ++k)
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                window[k][c] = sample_of(words[k], c);
    }
#pragma unroll 1
    while (place.spectra_left > 0) {
        unsigned words[STEP];
        fx8_fir_load<COLUMNS>(launch, &place, words);
#pragma unroll
        for (int u = 0; u < STEP; ++u) {
            float sums[COLUMNS];
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                window[KEPT + u][c] = sample_of(words[u], c);
            fold_spectrum(weights, window, u, sums);
            fx8_fir_store(launch, &place, sums);
        }
#pragma unroll
        for (int k = 0; k < KEPT; ++k)
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                window[k][c] = window[k + STEP][c];
    }
}

/** A kernel for up to `taps` taps, made for `blocks` on a multiprocessor. */
#define FX8_FIR_KERNEL(taps, columns, blocks)                                  \
    extern "C" __global__ void __launch_bounds__(FX8_FIR_THREADS, blocks)      \
        fx8_fir_##taps##_kernel(const fx8_fir_launch launch,                   \
                                const float *coefficients)                     \
    {                                                                          \
        fold<taps, columns>(launch, coefficients);                             \
    }

FX8_FIR_KERNEL(4, 4, 4)
FX8_FIR_KERNEL(8, 4, 3)
FX8_FIR_KERNEL(16, 2, 4)
FX8_FIR_KERNEL(64, 1, 3)

/* Ascending in taps. */
static const fx8_fir_variant<const float *> variants[] = {
    {4, 4, fx8_fir_4_kernel},
    {8, 4, fx8_fir_8_kernel},
    {16, 2, fx8_fir_16_kernel},
    {64, 1, fx8_fir_64_kernel},
};

cudaError_t fx8_cuda_fir(const struct fx8_cuda_fir_job *job,
                         const float *coefficients, cudaStream_t stream)
{
    return fx8_fir_queue(variants, job, stream, coefficients);
}
