/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_int8_avx512.c -- INT8 correlator tiles with vpdpbusd, the 8-bit
 * dot product of AVX-512 VNNI.  AVX2 has no such product and needs no bias; see
 * correlate_int8_avx2.c.
 *
 * With row a and column b, conj(b) a = (ar br + ai bi) + i (ai br - ar bi):
 * the real part is a dot product of the bytes of a with those of b, the
 * imaginary part one with b's bytes swapped and the first negated.
 *
 * vpdpbusd multiplies unsigned by signed bytes, hence the bias: a row is used
 * unchanged, a column as (br + 128, bi + 128) for the real and (127 - bi,
 * br + 128) for the imaginary part: one xor each, exact for all values
 * -128 .. 127.  The sums are then too large by 128 (Sr + Si) and
 * 127 Sr + 128 Si, where (Sr, Si) is the sum of the row: fold() subtracts this
 * "bias".
 *
 * The sums of the rows come with the tile on the diagonal.  Its rows are sorted
 * into four real parts, then four imaginary ones, as the order of the bytes
 * does not matter to a dot product while rows and columns share it; so one
 * product with ones sums both parts, in lanes of their own.
 *
 * Bound: sum and bias are each correct modulo 2^32, because vpdpbusd does not
 * saturate and int32 addition wraps.  So is their difference, which fits into
 * int32 if at most FX8_MAX_INT32_SPECTRA spectra were added.
 */
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <string.h>

#include "kernels/cpu/correlate_avx512.h"
#include "kernels/cpu/correlate_sweep.h"
#include "kernels/cpu/vector.h"

/* Horizontal sums of sixteen registers at once: each join adds the halves of
 * two registers (of every 64, 128, 256 bits and of the whole) and places the
 * sums side by side; after four rounds of joins one register is left. */

static inline __m512i join_int32(__m512i x, __m512i y)
{
    return _mm512_add_epi32(_mm512_unpacklo_epi32(x, y),
                            _mm512_unpackhi_epi32(x, y));
}

static inline __m512i join_int64(__m512i x, __m512i y)
{
    return _mm512_add_epi32(_mm512_unpacklo_epi64(x, y),
                            _mm512_unpackhi_epi64(x, y));
}

static inline __m512i join_int128(__m512i x, __m512i y)
{
    return _mm512_add_epi32(_mm512_shuffle_i64x2(x, y, 0x88),
                            _mm512_shuffle_i64x2(x, y, 0xdd));
}

/** The four horizontal sums of v[0 .. 3], in each quarter of the register over
 *  that quarter's lanes. */
static inline __m512i quarter_sums_int32(const __m512i v[4])
{
    return join_int64(join_int32(v[0], v[1]), join_int32(v[2], v[3]));
}

/** Lane k: the sum of the lanes of v[k]. */
static inline __m512i lane_sums_int32(const __m512i v[16])
{
    return join_int128(
        join_int128(quarter_sums_int32(v), quarter_sums_int32(v + 4)),
        join_int128(quarter_sums_int32(v + 8), quarter_sums_int32(v + 12)));
}

static inline void add_int32(void *sums, __m512i value)
{
    _mm512_storeu_si512(sums,
                        _mm512_add_epi32(_mm512_loadu_si512(sums), value));
}

/** Makes (br, bi) unsigned for the real part; as a vector of unsigned bytes it
 *  is also the bias of the real part. */
static inline __m512i offset_re(void)
{
    return _mm512_set1_epi8((char)0x80);
}

/** Likewise (bi, br) for the imaginary part: bi ^ 0x7f = 127 - bi. */
static inline __m512i offset_im(void)
{
    return _mm512_set1_epi16((short)0x807f);
}

/** A column for the real part: (br + 128, bi + 128). */
static inline __m512i column_re(__m512i b)
{
    return _mm512_xor_si512(b, offset_re());
}

/** A column for the imaginary part: (127 - bi, br + 128). */
static inline __m512i column_im(__m512i b)
{
    const __m512i swap =
        _mm512_set4_epi32(0x0e0f0c0d, 0x0a0b0809, 0x06070405, 0x02030001);

    return _mm512_xor_si512(_mm512_shuffle_epi8(b, swap), offset_im());
}

/** vpdpbusd, in assembly because gcc 12 copies the accumulators around every
 *  use of the intrinsic, which halves the rate. */
static inline __m512i dot(__m512i sum, __m512i column, __m512i row)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(column), "v"(row));
    return sum;
}

/** Add a register of a column to its eight sums [row][re, im]. */
FX8_INLINE void add_column(__m512i sum[8], const __m512i a[4], __m512i b)
{
    const __m512i re = column_re(b);
    const __m512i im = column_im(b);
    FX8_UNROLL
    for (size_t r = 0; r < 4; r++) {
        sum[2 * r] = dot(sum[2 * r], re, a[r]);
        sum[2 * r + 1] = dot(sum[2 * r + 1], im, a[r]);
    }
}

static void rectangle(const struct fx8_tile *tile)
{
    const char *row = tile->rows;
    const char *column = tile->columns;
    const char *ahead = tile->ahead;
    size_t pitch = tile->pitch;
    __m512i sum[16] = {{0}};

    for (size_t left = tile->n_bytes; left > 0; left -= FX8_TILE_STEP) {
        const __m512i a[4] = {_mm512_load_si512(row),
                              _mm512_load_si512(row + pitch),
                              _mm512_load_si512(row + 2 * pitch),
                              _mm512_load_si512(row + 3 * pitch)};

        _mm_prefetch(ahead, _MM_HINT_T1);
        add_column(sum, a, _mm512_load_si512(column));
        add_column(sum + 8, a, _mm512_load_si512(column + pitch));
        row += FX8_TILE_STEP;
        column += FX8_TILE_STEP;
        ahead += tile->ahead_step;
    }
    add_int32(tile->sums, lane_sums_int32(sum));
}

/** (re, im) of 32 spectra, sorted within every four spectra: the four real
 *  parts, then the four imaginary ones. */
static inline __m512i sort_parts(__m512i a)
{
    const __m512i order =
        _mm512_set4_epi32(0x0f0d0b09, 0x0e0c0a08, 0x07050301, 0x06040200);

    return _mm512_shuffle_epi8(a, order);
}

/** column_im() of a sorted column. */
static inline __m512i sorted_im(__m512i b)
{
    return _mm512_xor_si512(_mm512_shuffle_epi32(b, _MM_PERM_CDAB),
                            _mm512_set1_epi64((long long)0x808080807f7f7f7f));
}

/** Add a register of each row, sorted, to the sums of a triangle and of the
 *  rows themselves. */
FX8_INLINE void add_triangle(__m512i sum[16], __m512i row_sum[4],
                             const __m512i a[4])
{
    FX8_UNROLL
    for (size_t c = 0; c < 4; c++) {
        const __m512i re = column_re(a[c]);
        const __m512i im = sorted_im(a[c]);
        sum[12 + c] = dot(sum[12 + c], re, a[c]);
        row_sum[c] = dot(row_sum[c], _mm512_set1_epi8(1), a[c]);
        FX8_UNROLL
        for (size_t r = c + 1; r < 4; r++) {
            __m512i *pair = sum + FX8_TRIANGLE_PAIR(c, r);
            pair[0] = dot(pair[0], re, a[r]);
            pair[1] = dot(pair[1], im, a[r]);
        }
    }
}

/** Add up row sums, real parts in even lanes and imaginary ones in odd lanes,
 *  as [row][re, im]. */
FX8_INLINE void add_row_sums(int32_t *sums, const __m512i row_sum[4])
{
    __m512i sum = join_int128(join_int64(row_sum[0], row_sum[1]),
                              join_int64(row_sum[2], row_sum[3]));
    sum = join_int128(sum, sum);
    _mm256_storeu_si256((__m256i_u *)sums,
                        _mm256_add_epi32(_mm256_loadu_si256((__m256i_u *)sums),
                                         _mm512_castsi512_si256(sum)));
}

static void square(const struct fx8_tile *tile)
{
    const char *row = tile->rows;
    const char *ahead = tile->ahead;
    const size_t pitch = tile->pitch;
    __m512i sum[16] = {{0}}, row_sum[4] = {{0}};

    for (size_t left = tile->n_bytes; left > 0; left -= FX8_TILE_STEP) {
        const __m512i a[4] = {sort_parts(_mm512_load_si512(row)),
                              sort_parts(_mm512_load_si512(row + pitch)),
                              sort_parts(_mm512_load_si512(row + 2 * pitch)),
                              sort_parts(_mm512_load_si512(row + 3 * pitch))};

        _mm_prefetch(ahead, _MM_HINT_T1);
        add_triangle(sum, row_sum, a);
        row += FX8_TILE_STEP;
        ahead += tile->ahead_step;
    }
    const __m512i joined = lane_sums_int32(sum);
    add_int32(tile->sums, _mm512_maskz_permutexvar_epi32(
                              FX8_TRIANGLE_LOW_MASK, FX8_TRIANGLE_LOW, joined));
    add_int32((int32_t *)tile->sums + 16,
              _mm512_maskz_permutexvar_epi32(FX8_TRIANGLE_HIGH_MASK,
                                             FX8_TRIANGLE_HIGH, joined));
    add_row_sums(tile->bias, row_sum);
}

static size_t accumulator_size(size_t n_inputs)
{
    size_t n_blocks = fx8_tile_row_blocks(n_inputs);

    return fx8_tile_offset(n_blocks) + FX8_TILE_COLUMN * n_blocks;
}

static void accumulate(size_t n_inputs, size_t row_begin, size_t row_end,
                       size_t n_times, const struct fx8_ci8 *x,
                       size_t input_stride, int32_t *accumulator)
{
    /* 2048 spectra: the sums over lanes then cost only 3 % */
    static const struct fx8_tile_kernel kernel = {
        .segment_bytes = 4096,
        .item_size = sizeof(int32_t),
        .n_columns = 2,
        .rectangle = rectangle,
        .square = square,
    };

    fx8_correlate_sweep(&kernel, n_inputs, row_begin, row_end,
                        n_times * sizeof(*x), x, input_stride * sizeof(*x),
                        accumulator);
}

/** The bias [row][re, im] of the rows with these sums: 128 (Sr + Si) and
 *  127 Sr + 128 Si. */
static inline __m256i bias_of(__m256i row_sums)
{
    const __m256i both = _mm256_add_epi32(
        row_sums, _mm256_shuffle_epi32(row_sums, _MM_SHUFFLE(2, 3, 0, 1)));
    const __m256i only_re = _mm256_slli_epi64(row_sums, 32);

    return _mm256_sub_epi32(_mm256_slli_epi32(both, 7), only_re);
}

static void fold(size_t n_inputs, int32_t *accumulator, int64_t *sums)
{
    const size_t n_blocks = fx8_tile_row_blocks(n_inputs);
    int32_t *items = accumulator;
    int32_t *bias = accumulator + fx8_tile_offset(n_blocks);

    for (size_t block = 0; block < n_blocks; block++, bias += FX8_TILE_COLUMN) {
        const __m256i of_rows =
            bias_of(_mm256_loadu_si256((const __m256i_u *)bias));
        const int32_t *end = accumulator + fx8_tile_offset(block + 1);
        for (; items < end; items += FX8_TILE_COLUMN) {
            __m256i_u *column = (__m256i_u *)items;
            *column = _mm256_sub_epi32(*column, of_rows);
        }
        memset(bias, 0, FX8_TILE_COLUMN * sizeof *bias);
    }
    fx8_tile_fold_int32(n_inputs, accumulator, sums);
}

void fx8_fill_correlate_int8_avx512(struct fx8_operations *operations)
{
    operations->int8 = (struct fx8_correlate_int8){
        .accumulator_size = accumulator_size,
        .accumulate = accumulate,
        .fold = fold,
    };
}

#endif
