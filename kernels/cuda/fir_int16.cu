/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fir_int16.cu -- the FIR in integers: DP2A multiplies two 16-bit coefficients
 * with two samples consecutive in time, and adds exactly.
 *
 * A word holds four samples of one column.  Of the four spectra that begin
 * within it, the first and third use coefficients in pairs that begin with an
 * even tap, the second and fourth in pairs that begin with an odd tap.  Both
 * pairings are kept, so samples are never shifted.
 *
 * Notes: no sum overflows: 64 taps of 32767 * 128 are less than 2^28
 */
#include "kernels/cuda/fir.cuh"

/** Two numbers of 16 bits in a word, the first in the lower half. */
static __device__ __forceinline__ int pair_of(int16_t first, int16_t second)
{
    return static_cast<int>(static_cast<unsigned>(static_cast<uint16_t>(second))
                                << 16 |
                            static_cast<uint16_t>(first));
}

/** The coefficients of one column in pairs: even[p] has taps 2 p and 2 p + 1,
 *  odd[p] taps 2 p - 1 and 2 p; 0 for missing taps. */
template <int TAPS> struct fx8_fir_pairs {
    int even[TAPS / 2], odd[TAPS / 2 + 1];
};

template <int TAPS>
static __device__ __forceinline__ fx8_fir_pairs<TAPS> load_pairs(
    const fx8_fir_launch &launch, const fx8_fir_place &place, int column,
    const int16_t *coefficients)
{
    const int n_taps = static_cast<int>(launch.job.n_taps);
    fx8_fir_pairs<TAPS> pairs;
    int16_t before = 0;
#pragma unroll
    for (int p = 0; p < TAPS / 2; ++p) {
        int16_t two[2];
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            const int tap = 2 * p + k;
            two[k] =
                tap < n_taps && column < place.n_columns
                    ? coefficients[tap * launch.row + place.column + column]
                    : static_cast<int16_t>(0);
        }
        pairs.even[p] = pair_of(two[0], two[1]);
        pairs.odd[p] = pair_of(before, two[0]);
        before = two[1];
    }
    pairs.odd[TAPS / 2] = pair_of(before, 0);
    return pairs;
}

/** Multiply COUNT pairs of coefficients with pairs of samples, from pair
 *  `first` of the words on. */
template <int COUNT, int COLUMNS, int WORDS>
static __device__ __forceinline__ int dot_pairs(
    const int (&pairs)[COUNT], const unsigned (&window)[WORDS][COLUMNS],
    int column, int first)
{
    int sum = 0;
#pragma unroll
    for (int p = 0; p < COUNT; ++p) {
        const int word = static_cast<int>(window[(first + p) / 2][column]);
        sum = (first + p) % 2 == 0 ? __dp2a_lo(pairs[p], word, sum)
                                   : __dp2a_hi(pairs[p], word, sum);
    }
    return sum;
}

/** Turn words of four columns, one per row, into words of four rows. */
template <int COLUMNS>
static __device__ __forceinline__ void turn_words(const unsigned *rows,
                                                  unsigned (&columns)[COLUMNS])
{
    const unsigned low01 = __byte_perm(rows[0], rows[1], 0x5140);
    const unsigned low23 = __byte_perm(rows[2], rows[3], 0x5140);
    const unsigned high01 = __byte_perm(rows[0], rows[1], 0x7362);
    const unsigned high23 = __byte_perm(rows[2], rows[3], 0x7362);
    const unsigned all[4] = {__byte_perm(low01, low23, 0x5410),
                             __byte_perm(low01, low23, 0x7632),
                             __byte_perm(high01, high23, 0x5410),
                             __byte_perm(high01, high23, 0x7632)};
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c)
        columns[c] = all[c];
}

/** Four spectra, which begin in the window's first word. */
template <int TAPS, int COLUMNS, int WORDS>
static __device__ __forceinline__ void fold_four(
    const fx8_fir_launch &launch, fx8_fir_place *place,
    const fx8_fir_pairs<TAPS> (&pairs)[COLUMNS],
    const unsigned (&window)[WORDS][COLUMNS], float scale)
{
#pragma unroll
    for (int u = 0; u < 4; ++u) {
        float sums[COLUMNS];
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
            const int sum = u % 2 == 0
                                ? dot_pairs(pairs[c].even, window, c, u / 2)
                                : dot_pairs(pairs[c].odd, window, c, u / 2);
            sums[c] = __fmul_rn(__int2float_rn(sum), scale);
        }
        fx8_fir_store(launch, place, sums);
    }
}

/** Work of one thread. */
template <int TAPS, int COLUMNS>
static __device__ __forceinline__ void fold(const fx8_fir_launch &launch,
                                            const int16_t *coefficients,
                                            float scale)
{
    constexpr int STEP = FX8_FIR_STEP, KEPT = TAPS / 4;
    fx8_fir_place place;
    if (!fx8_fir_find<COLUMNS>(launch, &place))
        return;
    fx8_fir_pairs<TAPS> pairs[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c)
        pairs[c] = load_pairs<TAPS>(launch, place, c, coefficients);
    unsigned window[KEPT + 1][COLUMNS];
    {
        unsigned rows[TAPS];
        fx8_fir_load<COLUMNS>(launch, &place, rows);
#pragma unroll
        for (int k = 0; k < KEPT; ++k)
            turn_words(rows + 4 * k, window[k]);
    }
#pragma unroll 1
    while (place.spectra_left > 0) {
        unsigned rows[STEP];
        fx8_fir_load<COLUMNS>(launch, &place, rows);
#pragma unroll
        for (int u = 0; u < STEP; u += 4) {
            turn_words(rows + u, window[KEPT]);
            fold_four<TAPS>(launch, &place, pairs, window, scale);
#pragma unroll
            for (int k = 0; k < KEPT; ++k)
#pragma unroll
                for (int c = 0; c < COLUMNS; ++c)
                    window[k][c] = window[k + 1][c];
        }
    }
}

/** A kernel for up to `taps` taps, made for `blocks` on a multiprocessor. */
#define FX8_FIR_KERNEL(taps, columns, blocks)                                  \
    extern "C" __global__ void __launch_bounds__(FX8_FIR_THREADS, blocks)      \
        fx8_fir_int16_##taps##_kernel(const fx8_fir_launch launch,             \
                                      const int16_t *coefficients,             \
                                      float scale)                             \
    {                                                                          \
        fold<taps, columns>(launch, coefficients, scale);                      \
    }

FX8_FIR_KERNEL(4, 4, 4)
FX8_FIR_KERNEL(8, 4, 4)
FX8_FIR_KERNEL(16, 4, 3)
FX8_FIR_KERNEL(64, 1, 3)

/* Ascending in taps. */
static const fx8_fir_variant<const int16_t *, float> variants[] = {
    {4, 4, fx8_fir_int16_4_kernel},
    {8, 4, fx8_fir_int16_8_kernel},
    {16, 4, fx8_fir_int16_16_kernel},
    {64, 1, fx8_fir_int16_64_kernel},
};

cudaError_t fx8_cuda_fir_int16(const struct fx8_cuda_fir_job *job,
                               const int16_t *coefficients, float scale,
                               cudaStream_t stream)
{
    return fx8_fir_queue(variants, job, stream, coefficients, scale);
}
