/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_avx2.c -- correlator tiles with AVX2 and FMA, for machines without
 * an 8-bit dot product.  A tile is 4 rows x 1 column, 8 sums in registers; the
 * square on the diagonal is four such tiles, of which six in sixteen pairs are
 * not needed.
 *
 * INT8: bytes are widened to int16 and multiplied in pairs by vpmaddwd; with
 * row a and column b the pairs are (ar, ai) (br, bi) for the real part and
 * (ar, ai) (-bi, br) for the imaginary one.  A pair's sum is at most 2^15, so
 * that the only bound is that of int32: FX8_MAX_INT32_SPECTRA spectra.
 */
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/correlate_sweep.h"

/* Bytes of a row between two prefetches: a cache line. */
enum { STEP = 64 };

/* --- INT8 ------------------------------------------------------------------
 */

/* Bytes of a row that fill a register once widened: eight spectra. */
enum { STEP_INT8 = 16 };

/** Eight spectra, widened to int16. */
static inline __m256i load_int8(const char *address)
{
    return _mm256_cvtepi8_epi16(_mm_load_si128((const void *)address));
}

/** A column for the imaginary part: (-bi, br), in int16 even for -128. */
static inline __m256i rotate_int16(__m256i b)
{
    const __m256i swap =
        _mm256_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13,
                         2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    const __m256i signs = _mm256_set1_epi32(0x0001ffff);

    return _mm256_sign_epi16(_mm256_shuffle_epi8(b, swap), signs);
}

static inline __m256i dot_int16(__m256i sum, __m256i a, __m256i b)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}

/** The sums over lanes of v[0 .. 7]. */
static inline __m256i lane_sums_int32(const __m256i v[8])
{
    __m256i low = _mm256_hadd_epi32(_mm256_hadd_epi32(v[0], v[1]),
                                    _mm256_hadd_epi32(v[2], v[3]));
    __m256i high = _mm256_hadd_epi32(_mm256_hadd_epi32(v[4], v[5]),
                                     _mm256_hadd_epi32(v[6], v[7]));

    return _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20),
                            _mm256_permute2x128_si256(low, high, 0x31));
}

/** Add STEP_INT8 bytes to the eight sums [row][re, im]. */
static inline void add_int8(__m256i sum[8], const char *row, size_t pitch,
                            const char *column)
{
    __m256i re = load_int8(column);
    __m256i im = rotate_int16(re);
    __m256i a = load_int8(row);

    sum[0] = dot_int16(sum[0], a, re);
    sum[1] = dot_int16(sum[1], a, im);
    a = load_int8(row + pitch);
    sum[2] = dot_int16(sum[2], a, re);
    sum[3] = dot_int16(sum[3], a, im);
    a = load_int8(row + 2 * pitch);
    sum[4] = dot_int16(sum[4], a, re);
    sum[5] = dot_int16(sum[5], a, im);
    a = load_int8(row + 3 * pitch);
    sum[6] = dot_int16(sum[6], a, re);
    sum[7] = dot_int16(sum[7], a, im);
}

/** One column against four rows. */
static inline void column_int8(const struct fx8_tile *tile, const char *column,
                               int32_t *sums)
{
    const char *row = tile->rows;
    const char *ahead = tile->ahead;
    size_t pitch = tile->pitch;
    __m256i sum[8];

    for (size_t k = 0; k < 8; k++)
        sum[k] = _mm256_setzero_si256();
    for (size_t left = tile->n_bytes; left > 0; left -= STEP) {
        _mm_prefetch(ahead, _MM_HINT_T1);
        for (size_t k = 0; k < STEP; k += STEP_INT8)
            add_int8(sum, row + k, pitch, column + k);
        row += STEP;
        column += STEP;
        ahead += tile->ahead_step;
    }
    _mm256_storeu_si256((void *)sums,
                        _mm256_add_epi32(_mm256_loadu_si256((const void *)sums),
                                         lane_sums_int32(sum)));
}

static void rectangle_int8(const struct fx8_tile *tile)
{
    column_int8(tile, tile->columns, tile->sums);
}

static void square_int8(const struct fx8_tile *tile)
{
    int32_t *sums = tile->sums;

    for (size_t k = 0; k < FX8_ROW_BLOCK; k++)
        column_int8(tile, tile->columns + k * tile->pitch,
                    sums + k * FX8_TILE_COLUMN);
}

static void accumulate_int8(size_t n_inputs, size_t row_begin, size_t row_end,
                            size_t n_times, const struct fx8_ci8 *x,
                            size_t input_stride, int32_t *accumulator)
{
    static const struct fx8_tile_kernel kernel = {
        .segment_bytes = 4096,
        .item_size = sizeof(int32_t),
        .n_columns = 1,
        .rectangle = rectangle_int8,
        .square = square_int8,
    };

    fx8_correlate_sweep(&kernel, n_inputs, row_begin, row_end,
                        n_times * sizeof(*x), x, input_stride * sizeof(*x),
                        accumulator);
}

/* --- FP32 ------------------------------------------------------------------
 */

/* Bytes of a register: four spectra. */
enum { STEP_FP32 = 32 };

static inline __m256 load_fp32(const char *address)
{
    return _mm256_load_ps((const void *)address);
}

/** Imaginary sums hold (ar bi, ai br) in neighbouring lanes: negate the
 *  first. */
static inline __m256 negate_even(__m256 v)
{
    return _mm256_xor_ps(v,
                         _mm256_castsi256_ps(_mm256_set1_epi64x(0x80000000ll)));
}

/** The sums over lanes of v[0 .. 7]. */
static inline __m256 lane_sums_fp32(const __m256 v[8])
{
    __m256 low =
        _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
    __m256 high =
        _mm256_hadd_ps(_mm256_hadd_ps(v[4], v[5]), _mm256_hadd_ps(v[6], v[7]));

    return _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20),
                         _mm256_permute2f128_ps(low, high, 0x31));
}

/** Add STEP_FP32 bytes to the eight sums [row][re, im]. */
static inline void add_fp32(__m256 sum[8], const char *row, size_t pitch,
                            const char *column)
{
    __m256 re = load_fp32(column);
    __m256 im = _mm256_permute_ps(re, 0xb1);
    __m256 a = load_fp32(row);

    sum[0] = _mm256_fmadd_ps(a, re, sum[0]);
    sum[1] = _mm256_fmadd_ps(a, im, sum[1]);
    a = load_fp32(row + pitch);
    sum[2] = _mm256_fmadd_ps(a, re, sum[2]);
    sum[3] = _mm256_fmadd_ps(a, im, sum[3]);
    a = load_fp32(row + 2 * pitch);
    sum[4] = _mm256_fmadd_ps(a, re, sum[4]);
    sum[5] = _mm256_fmadd_ps(a, im, sum[5]);
    a = load_fp32(row + 3 * pitch);
    sum[6] = _mm256_fmadd_ps(a, re, sum[6]);
    sum[7] = _mm256_fmadd_ps(a, im, sum[7]);
}

/** Add eight floats to eight doubles. */
static inline void add_double(double *sums, __m256 value)
{
    __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(value));
    __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(value, 1));

    _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), low));
    _mm256_storeu_pd(sums + 4, _mm256_add_pd(_mm256_loadu_pd(sums + 4), high));
}

/** One column against four rows. */
static inline void column_fp32(const struct fx8_tile *tile, const char *column,
                               double *sums)
{
    const char *row = tile->rows;
    const char *ahead = tile->ahead;
    size_t pitch = tile->pitch;
    __m256 sum[8];

    for (size_t k = 0; k < 8; k++)
        sum[k] = _mm256_setzero_ps();
    for (size_t left = tile->n_bytes; left > 0; left -= STEP) {
        _mm_prefetch(ahead, _MM_HINT_T1);
        for (size_t k = 0; k < STEP; k += STEP_FP32)
            add_fp32(sum, row + k, pitch, column + k);
        row += STEP;
        column += STEP;
        ahead += tile->ahead_step;
    }
    for (size_t k = 1; k < 8; k += 2)
        sum[k] = negate_even(sum[k]);
    add_double(sums, lane_sums_fp32(sum));
}

static void rectangle_fp32(const struct fx8_tile *tile)
{
    column_fp32(tile, tile->columns, tile->sums);
}

static void square_fp32(const struct fx8_tile *tile)
{
    double *sums = tile->sums;

    for (size_t k = 0; k < FX8_ROW_BLOCK; k++)
        column_fp32(tile, tile->columns + k * tile->pitch,
                    sums + k * FX8_TILE_COLUMN);
}

/* Rounding, u = 2^-24: a lane takes 128 fused products of the 512 spectra,
 * three sums join the lanes: 131 u. */
static void accumulate_fp32(size_t n_inputs, size_t row_begin, size_t row_end,
                            size_t n_times, const struct fx8_cf32 *x,
                            size_t input_stride, double *accumulator)
{
    static const struct fx8_tile_kernel kernel = {
        .segment_bytes = FX8_MAX_FP32_PRODUCTS * sizeof(struct fx8_cf32),
        .item_size = sizeof(double),
        .n_columns = 1,
        .rectangle = rectangle_fp32,
        .square = square_fp32,
    };

    fx8_correlate_sweep(&kernel, n_inputs, row_begin, row_end,
                        n_times * sizeof(*x), x, input_stride * sizeof(*x),
                        accumulator);
}

void fx8_fill_correlate_avx2(struct fx8_operations *operations)
{
    operations->int8.accumulator_size = fx8_tile_accumulator_size;
    operations->int8.accumulate = accumulate_int8;
    operations->int8.fold = fx8_tile_fold_int32;
    operations->fp32.accumulator_size = fx8_tile_accumulator_size;
    operations->fp32.accumulate = accumulate_fp32;
    operations->fp32.fold = fx8_tile_fold_double;
}

#else

void fx8_fill_correlate_avx2(struct fx8_operations *operations)
{
    (void)operations;
}

#endif
