/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interval_avx2.c -- the enclosing correlator with AVX2 and FMA, under the
 * rounding mode of the thread, which accumulate() sets upwards and puts back;
 * the arithmetic runs in functions that the sweep calls by pointer, out of
 * any compiler's sight.
 *
 * Lanes and the order in which they are joined are those of correlate_avx2.c,
 * but that the column bears the sign, (-bi, br), as a lane is rounded in one
 * direction from its first product on.  Sixteen registers hold the sums of one
 * bound: a column goes past its rows twice, once for `up`, once for `down`,
 * negated.
 */
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <fenv.h>
#include <immintrin.h>

#include "kernels/cpu/interval_tiles.h"
#include "kernels/cpu/simd.h"

/* Bytes of a row between two prefetches: a cache line; and of a register. */
enum { STEP = 64, REGISTER = 32 };

static inline __m256 load(const char *address)
{
    return _mm256_load_ps((const void *)address);
}

/** A column for the imaginary part: (-bi, br). */
static inline __m256 rotate(__m256 b)
{
    return _mm256_xor_ps(_mm256_permute_ps(b, 0xb1),
                         _mm256_castsi256_ps(_mm256_set1_epi64x(0x80000000ll)));
}

/** The sums over lanes of v[0 .. 7]. */
static inline __m256 lane_sums(const __m256 v[8])
{
    __m256 low =
        _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
    __m256 high =
        _mm256_hadd_ps(_mm256_hadd_ps(v[4], v[5]), _mm256_hadd_ps(v[6], v[7]));

    return _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20),
                         _mm256_permute2f128_ps(low, high, 0x31));
}

/** sum + a b, or sum - a b, rounded once. */
FX8_INLINE __m256 add_product(bool is_negated, __m256 a, __m256 b, __m256 sum)
{
    return is_negated ? _mm256_fnmadd_ps(a, b, sum)
                      : _mm256_fmadd_ps(a, b, sum);
}

/** Add a register of each row to the eight sums [row][re, im]. */
FX8_INLINE void add_rows(bool is_negated, __m256 sum[8], const char *row,
                         size_t pitch, const char *column)
{
    __m256 re = load(column);
    __m256 im = rotate(re);

    FX8_UNROLL
    for (size_t k = 0; k < FX8_ROW_BLOCK; k++) {
        __m256 a = load(row + k * pitch);

        sum[2 * k] = add_product(is_negated, a, re, sum[2 * k]);
        sum[2 * k + 1] = add_product(is_negated, a, im, sum[2 * k + 1]);
    }
}

/** Add eight floats to eight doubles. */
static inline void add_double(double *sums, __m256 value)
{
    __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(value));
    __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(value, 1));

    _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), low));
    _mm256_storeu_pd(sums + 4, _mm256_add_pd(_mm256_loadu_pd(sums + 4), high));
}

/** One bound of one column against four rows; the rows to come are prefetched
 *  from `ahead` on. */
FX8_INLINE void add_bound(bool is_negated, const struct fx8_tile *tile,
                          const char *column, const char *ahead,
                          size_t ahead_step, double *sums)
{
    const char *row = tile->rows;
    __m256 sum[8];

    for (size_t k = 0; k < 8; k++)
        sum[k] = _mm256_setzero_ps();
    for (size_t left = tile->n_bytes; left > 0; left -= STEP) {
        _mm_prefetch(ahead, _MM_HINT_T1);
        for (size_t k = 0; k < STEP; k += REGISTER)
            add_rows(is_negated, sum, row + k, tile->pitch, column + k);
        row += STEP;
        column += STEP;
        ahead += ahead_step;
    }
    add_double(sums, lane_sums(sum));
}

static void add_column(const struct fx8_tile *tile, const char *column,
                       double *sums)
{
    add_bound(false, tile, column, tile->ahead, tile->ahead_step, sums);
    add_bound(true, tile, column, tile->rows, 0, sums + FX8_TILE_COLUMN);
}

static void rectangle(const struct fx8_tile *tile)
{
    add_column(tile, tile->columns, tile->sums);
}

static void square(const struct fx8_tile *tile)
{
    double *sums = tile->sums;

    for (size_t k = 0; k < FX8_ROW_BLOCK; k++)
        add_column(tile, tile->columns + k * tile->pitch,
                   sums + k * FX8_INTERVAL_COLUMN);
}

static void accumulate(size_t n_inputs, size_t row_begin, size_t row_end,
                       size_t n_times, const struct fx8_cf32 *x,
                       size_t input_stride, size_t segment, double *accumulator)
{
    const struct fx8_tile_kernel kernel = {
        .segment_bytes = segment * sizeof(*x),
        .item_size = 2 * sizeof(double),
        .n_columns = 1,
        .rectangle = rectangle,
        .square = square,
    };
    const int mode = fegetround();

    fesetround(FE_UPWARD);
    fx8_correlate_sweep(&kernel, n_inputs, row_begin, row_end,
                        n_times * sizeof(*x), x, input_stride * sizeof(*x),
                        accumulator);
    fesetround(mode);
}

void fx8_fill_interval_avx2(struct fx8_operations *operations)
{
    operations->interval.accumulator_size = fx8_interval_tile_size;
    operations->interval.accumulate = accumulate;
    operations->interval.fold = fx8_interval_tile_fold;
}

#else

void fx8_fill_interval_avx2(struct fx8_operations *operations)
{
    (void)operations;
}

#endif
