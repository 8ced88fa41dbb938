/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_fp32_avx512.c -- FP32 correlator tiles with AVX-512 FMA, and the
 * fill function of both precisions.
 *
 * With row a and column b, conj(b) a = (ar br + ai bi) + i (ai br - ar bi): the
 * lanes of a times those of b are summed for the real part, a times b with its
 * lanes swapped in pairs for the imaginary one, where every other lane is
 * subtracted in the end.
 *
 * Rounding, u = 2^-24: of 512 spectra a lane takes 64 fused products, four
 * sums join the lanes: 68 u.  Integers up to 128 in magnitude never round: no
 * partial sum exceeds 2^24.
 */
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/correlate_avx512.h"
#include "kernels/cpu/correlate_sweep.h"

static inline __m512 join_float(__m512 x, __m512 y)
{
    return _mm512_add_ps(_mm512_unpacklo_ps(x, y), _mm512_unpackhi_ps(x, y));
}

static inline __m512 join_float_pairs(__m512 x, __m512 y)
{
    __m512d u = _mm512_castps_pd(x);
    __m512d v = _mm512_castps_pd(y);

    return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(u, v)),
                         _mm512_castpd_ps(_mm512_unpackhi_pd(u, v)));
}

static inline __m512 join_float_quads(__m512 x, __m512 y)
{
    return _mm512_add_ps(_mm512_shuffle_f32x4(x, y, 0x88),
                         _mm512_shuffle_f32x4(x, y, 0xdd));
}

static inline __m512 quarter_sums_float(const __m512 v[4])
{
    return join_float_pairs(join_float(v[0], v[1]), join_float(v[2], v[3]));
}

/** Lane k: the sum of the lanes of v[k]. */
static inline __m512 lane_sums_float(const __m512 v[16])
{
    return join_float_quads(
        join_float_quads(quarter_sums_float(v), quarter_sums_float(v + 4)),
        join_float_quads(quarter_sums_float(v + 8),
                         quarter_sums_float(v + 12)));
}

/** Imaginary sums hold (ar bi, ai br) in neighbouring lanes: negate the
 *  first. */
static inline __m512 negate_even(__m512 v)
{
    return _mm512_castsi512_ps(_mm512_xor_si512(
        _mm512_castps_si512(v), _mm512_set1_epi64(0x80000000ll)));
}

static inline void negate_im(__m512 sum[4])
{
    sum[1] = negate_even(sum[1]);
    sum[3] = negate_even(sum[3]);
}

static inline __m512 load_float(const char *address)
{
    return _mm512_load_ps((const void *)address);
}

/** A column for the imaginary part: (bi, br). */
static inline __m512 swap_float(__m512 b)
{
    return _mm512_permute_ps(b, 0xb1);
}

/** Add sixteen floats to sixteen doubles. */
static inline void add_double(double *sums, __m512 value)
{
    __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(value));
    __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(value, 1));

    _mm512_storeu_pd(sums, _mm512_add_pd(_mm512_loadu_pd(sums), low));
    _mm512_storeu_pd(sums + 8, _mm512_add_pd(_mm512_loadu_pd(sums + 8), high));
}

/** Add one step of a column to its eight sums [row][re, im]. */
static inline void add_column_fp32(__m512 sum[8], const __m512 a[4], __m512 b)
{
    __m512 im = swap_float(b);

    sum[0] = _mm512_fmadd_ps(a[0], b, sum[0]);
    sum[1] = _mm512_fmadd_ps(a[0], im, sum[1]);
    sum[2] = _mm512_fmadd_ps(a[1], b, sum[2]);
    sum[3] = _mm512_fmadd_ps(a[1], im, sum[3]);
    sum[4] = _mm512_fmadd_ps(a[2], b, sum[4]);
    sum[5] = _mm512_fmadd_ps(a[2], im, sum[5]);
    sum[6] = _mm512_fmadd_ps(a[3], b, sum[6]);
    sum[7] = _mm512_fmadd_ps(a[3], im, sum[7]);
}

static void rectangle_fp32(const struct fx8_tile *tile)
{
    const char *row = tile->rows;
    const char *column = tile->columns;
    const char *ahead = tile->ahead;
    size_t pitch = tile->pitch;
    __m512 sum[16] = {{0.0f}};

    for (size_t left = tile->n_bytes; left > 0; left -= FX8_TILE_STEP) {
        const __m512 a[4] = {load_float(row), load_float(row + pitch),
                             load_float(row + 2 * pitch),
                             load_float(row + 3 * pitch)};

        _mm_prefetch(ahead, _MM_HINT_T0);
        add_column_fp32(sum, a, load_float(column));
        add_column_fp32(sum + 8, a, load_float(column + pitch));
        row += FX8_TILE_STEP;
        column += FX8_TILE_STEP;
        ahead += tile->ahead_step;
    }
    negate_im(sum);
    negate_im(sum + 4);
    negate_im(sum + 8);
    negate_im(sum + 12);
    add_double(tile->sums, lane_sums_float(sum));
}

/** Add one step of a triangle, in the order of correlate_avx512.h. */
static inline void add_triangle_fp32(__m512 cross[16], const __m512 a[4])
{
    __m512 im = swap_float(a[0]);

    cross[12] = _mm512_fmadd_ps(a[0], a[0], cross[12]);
    cross[0] = _mm512_fmadd_ps(a[1], a[0], cross[0]);
    cross[1] = _mm512_fmadd_ps(a[1], im, cross[1]);
    cross[2] = _mm512_fmadd_ps(a[2], a[0], cross[2]);
    cross[3] = _mm512_fmadd_ps(a[2], im, cross[3]);
    cross[6] = _mm512_fmadd_ps(a[3], a[0], cross[6]);
    cross[7] = _mm512_fmadd_ps(a[3], im, cross[7]);
    im = swap_float(a[1]);
    cross[13] = _mm512_fmadd_ps(a[1], a[1], cross[13]);
    cross[4] = _mm512_fmadd_ps(a[2], a[1], cross[4]);
    cross[5] = _mm512_fmadd_ps(a[2], im, cross[5]);
    cross[8] = _mm512_fmadd_ps(a[3], a[1], cross[8]);
    cross[9] = _mm512_fmadd_ps(a[3], im, cross[9]);
    im = swap_float(a[2]);
    cross[14] = _mm512_fmadd_ps(a[2], a[2], cross[14]);
    cross[10] = _mm512_fmadd_ps(a[3], a[2], cross[10]);
    cross[11] = _mm512_fmadd_ps(a[3], im, cross[11]);
    cross[15] = _mm512_fmadd_ps(a[3], a[3], cross[15]);
}

static void square_fp32(const struct fx8_tile *tile)
{
    const char *row = tile->rows;
    const char *ahead = tile->ahead;
    size_t pitch = tile->pitch;
    double *sums = tile->sums;
    __m512 cross[16] = {{0.0f}};
    __m512 sum;

    for (size_t left = tile->n_bytes; left > 0; left -= FX8_TILE_STEP) {
        const __m512 a[4] = {load_float(row), load_float(row + pitch),
                             load_float(row + 2 * pitch),
                             load_float(row + 3 * pitch)};

        _mm_prefetch(ahead, _MM_HINT_T0);
        add_triangle_fp32(cross, a);
        row += FX8_TILE_STEP;
        ahead += tile->ahead_step;
    }
    negate_im(cross);
    negate_im(cross + 4);
    negate_im(cross + 8);
    sum = lane_sums_float(cross);
    add_double(sums, _mm512_maskz_permutexvar_ps(FX8_TRIANGLE_LOW_MASK,
                                                 FX8_TRIANGLE_LOW, sum));
    add_double(sums + 16, _mm512_maskz_permutexvar_ps(FX8_TRIANGLE_HIGH_MASK,
                                                      FX8_TRIANGLE_HIGH, sum));
}

static void accumulate_fp32(size_t n_inputs, size_t row_begin, size_t row_end,
                            size_t n_times, const struct fx8_cf32 *x,
                            size_t input_stride, double *accumulator)
{
    static const struct fx8_tile_kernel kernel = {
        .segment_bytes = FX8_MAX_FP32_PRODUCTS * sizeof(struct fx8_cf32),
        .item_size = sizeof(double),
        .n_columns = 2,
        .rectangle = rectangle_fp32,
        .square = square_fp32,
    };

    fx8_correlate_sweep(&kernel, n_inputs, row_begin, row_end,
                        n_times * sizeof(*x), x, input_stride * sizeof(*x),
                        accumulator);
}

void fx8_fill_correlate_avx512(struct fx8_operations *operations)
{
    operations->int8 = fx8_correlate_int8_avx512;
    operations->fp32.accumulator_size = fx8_tile_accumulator_size;
    operations->fp32.accumulate = accumulate_fp32;
    operations->fp32.fold = fx8_tile_fold_double;
}

#else

void fx8_fill_correlate_avx512(struct fx8_operations *operations)
{
    (void)operations;
}

#endif
