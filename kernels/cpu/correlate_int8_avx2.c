/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_int8_avx2.c -- INT8 correlator tiles for machines without an 8-bit
 * dot product.  Unlike correlate_int8_avx512.c, it uses products of 16 bits,
 * which need no bias and no fold of their own.  A tile is 4 rows x 1 column, 8
 * sums in registers; the square on the diagonal is four such tiles, where six
 * of sixteen pairs are not needed.
 *
 * Bytes are widened to int16 and multiplied in pairs by vpmaddwd; with
 * row a and column b the pairs are (ar, ai) (br, bi) for the real part and
 * (ar, ai) (-bi, br) for the imaginary one.  A pair's sum is at most 2^15, so
 * the only bound is that of int32: FX8_MAX_INT32_SPECTRA spectra.
 */
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include "kernels/cpu/correlate_sweep.h"
#include "kernels/cpu/vector.h"

/* Bytes of a row that fill a register once widened: eight spectra. */
enum { REGISTER = 16 };

/** Eight spectra, widened to int16. */
static inline __m256i load(const char *address)
{
    return _mm256_cvtepi8_epi16(_mm_load_si128((const void *)address));
}

/** A column for the imaginary part: (-bi, br), in int16 even for -128. */
static inline __m256i rotate(__m256i b)
{
    const __m256i swap =
        _mm256_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13,
                         2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    const __m256i signs = _mm256_set1_epi32(0x0001ffff);

    return _mm256_sign_epi16(_mm256_shuffle_epi8(b, swap), signs);
}

/** The sums over lanes of v[0 .. 7]. */
static inline __m256i lane_sums(const __m256i v[8])
{
    __m256i low = _mm256_hadd_epi32(_mm256_hadd_epi32(v[0], v[1]),
                                    _mm256_hadd_epi32(v[2], v[3]));
    __m256i high = _mm256_hadd_epi32(_mm256_hadd_epi32(v[4], v[5]),
                                     _mm256_hadd_epi32(v[6], v[7]));

    return _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20),
                            _mm256_permute2x128_si256(low, high, 0x31));
}

/** Add REGISTER bytes to the eight sums [row][re, im]. */
FX8_INLINE void add_rows(__m256i sum[8], const char *row, size_t pitch,
                         const char *column)
{
    const __m256i re = load(column);
    const __m256i im = rotate(re);

    FX8_UNROLL
    for (size_t r = 0; r < FX8_ROW_BLOCK; r++) {
        const __m256i a = load(row + r * pitch);
        sum[2 * r] = vec_add_dot_int16(sum[2 * r], a, re);
        sum[2 * r + 1] = vec_add_dot_int16(sum[2 * r + 1], a, im);
    }
}

/** One column against four rows. */
static inline void add_column(const struct fx8_tile *tile, const char *column,
                              int32_t *sums)
{
    const char *row = tile->rows;
    const char *ahead = tile->ahead;
    __m256i sum[8] = {{0}};

    for (size_t left = tile->n_bytes; left > 0; left -= FX8_TILE_STEP) {
        _mm_prefetch(ahead, _MM_HINT_T1);
        FX8_UNROLL
        for (size_t k = 0; k < FX8_TILE_STEP; k += REGISTER)
            add_rows(sum, row + k, tile->pitch, column + k);
        row += FX8_TILE_STEP;
        column += FX8_TILE_STEP;
        ahead += tile->ahead_step;
    }
    vec_store_int(sums, _mm256_add_epi32(vec_load_int(sums), lane_sums(sum)));
}

static void rectangle(const struct fx8_tile *tile)
{
    add_column(tile, tile->columns, tile->sums);
}

static void square(const struct fx8_tile *tile)
{
    int32_t *sums = tile->sums;

    for (size_t k = 0; k < FX8_ROW_BLOCK; k++)
        add_column(tile, tile->columns + k * tile->pitch,
                   sums + k * FX8_TILE_COLUMN);
}

static void accumulate(size_t n_inputs, size_t row_begin, size_t row_end,
                       size_t n_times, const struct fx8_ci8 *x,
                       size_t input_stride, int32_t *accumulator)
{
    static const struct fx8_tile_kernel kernel = {
        .segment_bytes = 4096,
        .item_size = sizeof(int32_t),
        .n_columns = 1,
        .rectangle = rectangle,
        .square = square,
    };

    fx8_correlate_sweep(&kernel, n_inputs, row_begin, row_end,
                        n_times * sizeof(*x), x, input_stride * sizeof(*x),
                        accumulator);
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
