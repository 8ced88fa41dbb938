/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interval_avx512.c -- the enclosing correlator with rounding embedded in the
 * instruction: the rounding mode of the thread is neither read nor set.
 *
 * Lanes and the order in which they are joined are those of
 * correlate_fp32_avx512.c.  That one changes the sign of every other lane of
 * an imaginary sum in the end; here the column bears it, (-bi, br), as a lane
 * is rounded in one direction from its first product on.  A tile is 4 rows x 1
 * column: 8 sums for `up` and 8 for `down`, negated, by a fused negated
 * multiply-add.
 */
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/correlate_avx512.h"
#include "kernels/cpu/interval_tiles.h"

#define UPWARDS (_MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)

static inline __m512 join(__m512 x, __m512 y)
{
    return _mm512_add_round_ps(_mm512_unpacklo_ps(x, y),
                               _mm512_unpackhi_ps(x, y), UPWARDS);
}

static inline __m512 join_pairs(__m512 x, __m512 y)
{
    __m512d u = _mm512_castps_pd(x);
    __m512d v = _mm512_castps_pd(y);

    return _mm512_add_round_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(u, v)),
                               _mm512_castpd_ps(_mm512_unpackhi_pd(u, v)),
                               UPWARDS);
}

static inline __m512 join_quads(__m512 x, __m512 y)
{
    return _mm512_add_round_ps(_mm512_shuffle_f32x4(x, y, 0x88),
                               _mm512_shuffle_f32x4(x, y, 0xdd), UPWARDS);
}

static inline __m512 quarter_sums(const __m512 v[4])
{
    return join_pairs(join(v[0], v[1]), join(v[2], v[3]));
}

/** Lane k: the sum of the lanes of v[k]. */
static inline __m512 lane_sums(const __m512 v[16])
{
    return join_quads(join_quads(quarter_sums(v), quarter_sums(v + 4)),
                      join_quads(quarter_sums(v + 8), quarter_sums(v + 12)));
}

/** Add sixteen floats to sixteen doubles. */
static inline void add_double(double *sums, __m512 value)
{
    __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(value));
    __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(value, 1));

    _mm512_storeu_pd(sums,
                     _mm512_add_round_pd(_mm512_loadu_pd(sums), low, UPWARDS));
    _mm512_storeu_pd(sums + 8, _mm512_add_round_pd(_mm512_loadu_pd(sums + 8),
                                                   high, UPWARDS));
}

static inline __m512 load(const char *address)
{
    return _mm512_load_ps((const void *)address);
}

/** A column for the imaginary part: (-bi, br). */
static inline __m512 rotate(__m512 b)
{
    return _mm512_castsi512_ps(
        _mm512_xor_si512(_mm512_castps_si512(_mm512_permute_ps(b, 0xb1)),
                         _mm512_set1_epi64(0x80000000ll)));
}

/** Add one step of a row to its sums: up [re, im] and, eight on, negated
 *  down. */
static inline void add_row(__m512 sum[10], __m512 a, __m512 re, __m512 im)
{
    sum[0] = _mm512_fmadd_round_ps(a, re, sum[0], UPWARDS);
    sum[1] = _mm512_fmadd_round_ps(a, im, sum[1], UPWARDS);
    sum[8] = _mm512_fnmadd_round_ps(a, re, sum[8], UPWARDS);
    sum[9] = _mm512_fnmadd_round_ps(a, im, sum[9], UPWARDS);
}

/** One column against four rows. */
static inline void add_column(const struct fx8_tile *tile, const char *column,
                              double *sums)
{
    const char *row = tile->rows;
    const char *ahead = tile->ahead;
    size_t pitch = tile->pitch;
    __m512 sum[16] = {{0.0f}};

    for (size_t left = tile->n_bytes; left > 0; left -= FX8_TILE_STEP) {
        __m512 re = load(column);
        __m512 im = rotate(re);

        _mm_prefetch(ahead, _MM_HINT_T0);
        add_row(sum, load(row), re, im);
        add_row(sum + 2, load(row + pitch), re, im);
        add_row(sum + 4, load(row + 2 * pitch), re, im);
        add_row(sum + 6, load(row + 3 * pitch), re, im);
        row += FX8_TILE_STEP;
        column += FX8_TILE_STEP;
        ahead += tile->ahead_step;
    }
    add_double(sums, lane_sums(sum));
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

    fx8_correlate_sweep(&kernel, n_inputs, row_begin, row_end,
                        n_times * sizeof(*x), x, input_stride * sizeof(*x),
                        accumulator);
}

void fx8_fill_interval_avx512(struct fx8_operations *operations)
{
    operations->interval.accumulator_size = fx8_interval_tile_size;
    operations->interval.accumulate = accumulate;
    operations->interval.fold = fx8_interval_tile_fold;
}

#else

void fx8_fill_interval_avx512(struct fx8_operations *operations)
{
    (void)operations;
}

#endif
