/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_fp32_simd.c -- FP32 correlator tiles with fused multiply-adds.  A
 * register holds consecutive spectra of one input, {re, im} in memory order; a
 * tile is 4 rows x 1 column with AVX2, x 2 with AVX-512: the sums take half of
 * the registers.
 *
 * With row a and column b, conj(b) a = (ar br + ai bi) + i (ai br - ar bi).
 * The real part sums a times b lane by lane, the imaginary part a times b with
 * its lanes swapped in pairs, where every other lane is subtracted at the end.
 *
 * Rounding, u = 2^-24: of 512 spectra a lane takes 128 fused products with
 * AVX2, 64 with AVX-512; three or four sums join the lanes: 131 u, 68 u.
 * Integers up to 128 in magnitude never round: no partial sum exceeds 2^24.
 */
#include "kernels/cpu/correlate_avx512.h"
#include "kernels/cpu/correlate_sweep.h"
#include "kernels/cpu/variants.h"
#include "kernels/cpu/vector.h"

#define N_COLUMNS (VEC_REGISTERS / 16)

/** A register of each of the four rows. */
FX8_INLINE void load_rows(const char *row, size_t pitch, vec_float a[4])
{
    FX8_UNROLL
    for (size_t r = 0; r < 4; r++)
        a[r] = vec_load_spectra(row + r * pitch);
}

/** Add a register of a column to its eight sums [row][re, im]. */
FX8_INLINE void add_column(vec_float sum[8], const vec_float a[4], vec_float b)
{
    const vec_float im = vec_swap_pairs(b);
    FX8_UNROLL
    for (size_t r = 0; r < 4; r++) {
        sum[2 * r] = VEC(fmadd_ps)(a[r], b, sum[2 * r]);
        sum[2 * r + 1] = VEC(fmadd_ps)(a[r], im, sum[2 * r + 1]);
    }
}

/** Imaginary sums hold (ar bi, ai br) in neighbouring lanes: negate the
 *  first. */
FX8_INLINE void negate_im(size_t n_sums, vec_float *sum)
{
    FX8_UNROLL
    for (size_t k = 1; k < n_sums; k += 2)
        sum[k] = vec_negate_even(sum[k]);
}

/** N_COLUMNS columns against four rows. */
FX8_INLINE void add_columns(const struct fx8_tile *tile, const char *column,
                            double *sums)
{
    const char *row = tile->rows;
    const char *ahead = tile->ahead;
    const size_t pitch = tile->pitch;
    vec_float sum[8 * N_COLUMNS] = {{0.0f}};

    for (size_t left = tile->n_bytes; left > 0; left -= FX8_TILE_STEP) {
        _mm_prefetch(ahead, _MM_HINT_T1);
        FX8_UNROLL
        for (size_t k = 0; k < FX8_TILE_STEP; k += VEC_BYTES) {
            vec_float a[4];
            load_rows(row + k, pitch, a);
            FX8_UNROLL
            for (size_t c = 0; c < N_COLUMNS; c++)
                add_column(sum + 8 * c, a,
                           vec_load_spectra(column + c * pitch + k));
        }
        row += FX8_TILE_STEP;
        column += FX8_TILE_STEP;
        ahead += tile->ahead_step;
    }
    negate_im(8 * N_COLUMNS, sum);
    vec_add_to_doubles(sums, vec_lane_sums(sum));
}

static void rectangle(const struct fx8_tile *tile)
{
    add_columns(tile, tile->columns, tile->sums);
}

#if defined(__AVX512VNNI__)

/** Add a register of each row to the sums of a triangle. */
FX8_INLINE void add_triangle(vec_float sum[16], const vec_float a[4])
{
    FX8_UNROLL
    for (size_t c = 0; c < 4; c++) {
        const vec_float im = vec_swap_pairs(a[c]);
        sum[12 + c] = VEC(fmadd_ps)(a[c], a[c], sum[12 + c]);
        FX8_UNROLL
        for (size_t r = c + 1; r < 4; r++) {
            vec_float *pair = sum + FX8_TRIANGLE_PAIR(c, r);
            pair[0] = VEC(fmadd_ps)(a[r], a[c], pair[0]);
            pair[1] = VEC(fmadd_ps)(a[r], im, pair[1]);
        }
    }
}

/* Only the ten needed products of sixteen: their sums fit into the 32
 * registers. */
static void square(const struct fx8_tile *tile)
{
    const char *row = tile->rows;
    const char *ahead = tile->ahead;
    double *sums = tile->sums;
    vec_float sum[16] = {{0.0f}};

    for (size_t left = tile->n_bytes; left > 0; left -= FX8_TILE_STEP) {
        vec_float a[4];
        _mm_prefetch(ahead, _MM_HINT_T1);
        load_rows(row, tile->pitch, a);
        add_triangle(sum, a);
        row += FX8_TILE_STEP;
        ahead += tile->ahead_step;
    }
    negate_im(12, sum);
    const vec_float joined = vec_lane_sums(sum);
    vec_add_to_doubles(sums,
                       _mm512_maskz_permutexvar_ps(FX8_TRIANGLE_LOW_MASK,
                                                   FX8_TRIANGLE_LOW, joined));
    vec_add_to_doubles(sums + 16,
                       _mm512_maskz_permutexvar_ps(FX8_TRIANGLE_HIGH_MASK,
                                                   FX8_TRIANGLE_HIGH, joined));
}

#else

/* Four tiles of one column; six of the sixteen products are not needed. */
static void square(const struct fx8_tile *tile)
{
    double *sums = tile->sums;

    for (size_t c = 0; c < FX8_ROW_BLOCK; c += N_COLUMNS)
        add_columns(tile, tile->columns + c * tile->pitch,
                    sums + c * FX8_TILE_COLUMN);
}

#endif

static void accumulate(size_t n_inputs, struct fx8_row_blocks rows,
                       size_t n_times, const struct fx8_cf32 *x,
                       size_t input_stride, double *accumulator)
{
    static const struct fx8_tile_kernel kernel = {
        .segment_bytes = FX8_MAX_FP32_PRODUCTS * sizeof(struct fx8_cf32),
        .item_size = sizeof(double),
        .n_columns = N_COLUMNS,
        .rectangle = rectangle,
        .square = square,
    };

    fx8_correlate_sweep(&kernel, n_inputs, rows, n_times * sizeof(*x), x,
                        input_stride * sizeof(*x), accumulator);
}

void FX8_VARIANT(fx8_fill_correlate_fp32)(struct fx8_operations *operations)
{
    operations->fp32 = (struct fx8_correlate_fp32){
        .accumulator_size = fx8_tile_accumulator_size,
        .accumulate = accumulate,
        .fold = fx8_tile_fold_double,
    };
}
