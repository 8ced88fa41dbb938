/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_int8_avx2.c -- INT8 correlator tiles for machines without an 8-bit
 * dot product.  Unlike correlate_int8_dot.c, it uses products of 16 bits,
 * which need no bias and no fold of their own.  A tile is 4 rows x 1 column, 8
 * sums in registers.
 *
 * Bytes are widened to int16, the real and the imaginary parts of 16 spectra
 * each in a register: two shifts and one.  vpmaddwd multiplies them and adds
 * neighbours; with row a and column b
 *
 *     re += ar br + ai bi,  im += ai br - ar bi,
 *
 * eight instructions for 16 spectra of a pair, and none to swap or negate.  All
 * columns meet the same four rows, so prepare() widens these once, to where the
 * tiles read them from L1; a column is widened on the way, 3 instructions
 * beside 32.
 *
 * vpmaddwd adds two products, at most 2^15, so the only bound is that of int32:
 * FX8_MAX_INT32_SPECTRA spectra.
 */
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include "kernels/cpu/correlate_sweep.h"
#include "kernels/cpu/lane_sums.h"
#include "kernels/cpu/vector.h"

/** Real and imaginary parts of 16 spectra, in int16. */
struct wide {
    __m256i re, im;
};

/* Registers in four rows of a segment: half of the smallest L1. */
enum { SEGMENT = 2048 };
_Static_assert(2 * FX8_ROW_BLOCK * SEGMENT <= FX8_TILE_SCRATCH, "rows fit");

static inline struct wide widen(const char *spectra)
{
    const __m256i x = _mm256_load_si256((const void *)spectra);

    return (struct wide){_mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8),
                         _mm256_srai_epi16(x, 8)};
}

/** Widen the rows: [16 spectra][row]. */
static void prepare(const struct fx8_tile *tile)
{
    struct wide *wide = tile->scratch;

    for (size_t k = 0; k < tile->n_bytes; k += VEC_BYTES)
        for (size_t r = 0; r < FX8_ROW_BLOCK; r++)
            *wide++ = widen(tile->rows + r * tile->pitch + k);
}

/** sum + a[0] b[0] + a[1] b[1].  The empty assembly keeps the order of the
 *  sums: gcc 12 adds the products first, and has no registers for them. */
FX8_INLINE __m256i add_dot(__m256i sum, __m256i a, __m256i b)
{
    sum = vec_add_dot_int16(sum, a, b);
    __asm__("" : "+x"(sum));
    return sum;
}

FX8_INLINE __m256i subtract_dot(__m256i sum, __m256i a, __m256i b)
{
    sum = _mm256_sub_epi32(sum, _mm256_madd_epi16(a, b));
    __asm__("" : "+x"(sum));
    return sum;
}

/** Add 16 spectra to the sums [re, im] of a pair. */
FX8_INLINE void add_pair(__m256i sum[2], const struct wide *a, struct wide b)
{
    sum[0] = add_dot(sum[0], a->re, b.re);
    sum[0] = add_dot(sum[0], a->im, b.im);
    sum[1] = add_dot(sum[1], a->im, b.re);
    sum[1] = subtract_dot(sum[1], a->re, b.im);
}

/** One column against the rows from `first` on. */
FX8_INLINE void add_column(const struct fx8_tile *tile, const char *column,
                           size_t first, int32_t *sums)
{
    const struct wide *rows = tile->scratch;
    const char *ahead = tile->ahead;
    __m256i sum[8] = {{0}};

    for (size_t left = tile->n_bytes; left > 0; left -= FX8_TILE_STEP) {
        _mm_prefetch(ahead, _MM_HINT_T1);
        FX8_UNROLL
        for (size_t k = 0; k < FX8_TILE_STEP; k += VEC_BYTES) {
            const struct wide b = widen(column + k);
            FX8_UNROLL
            for (size_t r = first; r < FX8_ROW_BLOCK; r++)
                add_pair(sum + 2 * r, rows + r, b);
            rows += FX8_ROW_BLOCK;
        }
        column += FX8_TILE_STEP;
        ahead += tile->ahead_step;
    }
    vec_store_int(
        sums, _mm256_add_epi32(vec_load_int(sums), vec_lane_sums_int32(sum)));
}

static void rectangle(const struct fx8_tile *tile)
{
    add_column(tile, tile->columns, 0, tile->sums);
}

/** Row r with the columns up to r. */
static void square(const struct fx8_tile *tile)
{
    int32_t *sums = tile->sums;

    FX8_UNROLL
    for (size_t c = 0; c < FX8_ROW_BLOCK; c++)
        add_column(tile, tile->columns + c * tile->pitch, c,
                   sums + c * FX8_TILE_COLUMN);
}

static void accumulate(size_t n_inputs, struct fx8_row_blocks rows,
                       size_t n_times, const struct fx8_ci8 *x,
                       size_t input_stride, int32_t *accumulator)
{
    static const struct fx8_tile_kernel kernel = {
        .segment_bytes = SEGMENT,
        .item_size = sizeof(int32_t),
        .n_columns = 1,
        .prepare = prepare,
        .rectangle = rectangle,
        .square = square,
    };

    fx8_correlate_sweep(&kernel, n_inputs, rows, n_times * sizeof(*x), x,
                        input_stride * sizeof(*x), accumulator);
}

void fx8_fill_correlate_int8_avx2(struct fx8_operations *operations)
{
    operations->int8 = (struct fx8_correlate_int8){
        .accumulator_size = fx8_tile_accumulator_size,
        .accumulate = accumulate,
        .fold = fx8_tile_fold_int32,
    };
}

#endif
