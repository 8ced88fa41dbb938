/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interval_simd.c -- the enclosing correlator.  accumulate() sets the rounding
 * mode of the thread upwards and restores it; the sweep calls the arithmetic
 * through pointers, so no compiler can move it across these calls.
 *
 * Lanes and the order of joining them are as in correlate_fp32_simd.c.  There,
 * the sign of every other lane of an imaginary sum is changed at the end; here
 * the column is (-bi, br) instead, because a lane is rounded in one direction
 * from its first product on.  A tile is 4 rows x 1 column: 8 sums for `up` and
 * 8 for `down`, negated, by a fused negated multiply-add.  AVX2 has registers
 * for one bound only: each column is processed twice.
 */

#include "kernels/cpu/interval_tiles.h"
#include "kernels/cpu/variants.h"
#include "kernels/cpu/vector.h"

/* Bounds that have their sums in registers at once. */
#define N_BOUNDS (VEC_REGISTERS / 16)

/** sum + a b, or sum - a b, rounded once. */
FX8_INLINE vec_float add_product(bool is_negated, vec_float a, vec_float b,
                                 vec_float sum)
{
    return is_negated ? VEC(fnmadd_ps)(a, b, sum) : VEC(fmadd_ps)(a, b, sum);
}

/** Add a register of each row to the sums [bound][row][re, im], from bound
 *  `first` (constant) on. */
FX8_INLINE void add_rows(size_t first, vec_float *sum, const char *row,
                         size_t pitch, const char *column)
{
    const vec_float re = vec_load_spectra(column);
    const vec_float im = vec_negate_even(vec_swap_pairs(re));

    FX8_UNROLL
    for (size_t r = 0; r < FX8_ROW_BLOCK; r++) {
        const vec_float a = vec_load_spectra(row + r * pitch);
        FX8_UNROLL
        for (size_t b = 0; b < N_BOUNDS; b++) {
            vec_float *of = sum + 8 * b + 2 * r;
            of[0] = add_product(first + b == 1, a, re, of[0]);
            of[1] = add_product(first + b == 1, a, im, of[1]);
        }
    }
}

/** N_BOUNDS bounds of one column against four rows; later rows are prefetched
 *  from `ahead` on. */
FX8_INLINE void add_bounds(size_t first, const struct fx8_tile *tile,
                           const char *column, const char *ahead,
                           size_t ahead_step, double *sums)
{
    const char *row = tile->rows;
    vec_float sum[8 * N_BOUNDS] = {{0.0f}};

    for (size_t left = tile->n_bytes; left > 0; left -= FX8_TILE_STEP) {
        _mm_prefetch(ahead, _MM_HINT_T0);
        FX8_UNROLL
        for (size_t k = 0; k < FX8_TILE_STEP; k += VEC_BYTES)
            add_rows(first, sum, row + k, tile->pitch, column + k);
        row += FX8_TILE_STEP;
        column += FX8_TILE_STEP;
        ahead += ahead_step;
    }
    vec_add_to_doubles(sums, vec_lane_sums(sum));
}

static void add_column(const struct fx8_tile *tile, const char *column,
                       double *sums)
{
    add_bounds(0, tile, column, tile->ahead, tile->ahead_step, sums);
    if (N_BOUNDS == 1)
        add_bounds(1, tile, column, tile->rows, 0, sums + FX8_TILE_COLUMN);
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

static void accumulate(size_t n_inputs, struct fx8_row_blocks rows,
                       size_t n_times, const struct fx8_cf32 *x,
                       size_t input_stride, size_t segment, double *accumulator)
{
    fx8_interval_tile_sweep(rectangle, square, n_inputs, rows, n_times, x,
                            input_stride, segment, accumulator);
}

void FX8_VARIANT(fx8_fill_interval)(struct fx8_operations *operations)
{
    operations->interval = (struct fx8_correlate_interval){
        .accumulator_size = fx8_interval_tile_size,
        .accumulate = accumulate,
        .fold = fx8_interval_tile_fold,
    };
}
