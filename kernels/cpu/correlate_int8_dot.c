/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_int8_dot.c -- INT8 correlator tiles with vpdpbusd, the 8-bit dot
 * product, written once for AVX-512 VNNI and for AVX-VNNI, whose registers are
 * half as wide and half as many: a tile is 4 rows x 2 columns or x 1.  AVX2 has
 * no such product and needs no bias; see correlate_int8_avx2.c.
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
 * The sums of the rows come with the tile on the diagonal, with AVX-VNNI in a
 * pass of their own.  With AVX-512 the rows of this tile are sorted into four
 * real parts, then four imaginary ones, as the order of the bytes does not
 * matter to a dot product while rows and columns share it; so one product with
 * ones sums both parts, in lanes of their own.
 *
 * Bound: sum and bias are each correct modulo 2^32, because vpdpbusd does not
 * saturate and int32 addition wraps.  So is their difference, which fits into
 * int32 if at most FX8_MAX_INT32_SPECTRA spectra were added.
 *
 * AVX-VNNI encodes vpdpbusd (VEX) as AVX-512 does not (EVEX).  The flags of
 * this variant are those of AVX2, so that the compiler itself uses neither:
 * built with FX8_EVEX, the same code runs on AVX-512, for tests alone.
 */
#include "kernels/cpu/correlate_avx512.h"
#include "kernels/cpu/correlate_sweep.h"
#include "kernels/cpu/lane_sums.h"
#include "kernels/cpu/variants.h"
#include "kernels/cpu/vector.h"

#if defined(__AVX512VNNI__)
#define FILL fx8_fill_correlate_int8_avx512
#define DOT  "vpdpbusd"
#elif defined(FX8_EVEX)
#define FILL fx8_fill_correlate_int8_evex
#define DOT  "%{evex%} vpdpbusd"
#else
#define FILL fx8_fill_correlate_int8_avxvnni
#define DOT  "%{vex%} vpdpbusd"
#endif

#define N_COLUMNS (VEC_REGISTERS / 16)

/** In assembly also because gcc 12 copies the accumulators around every use of
 *  the intrinsic, which halves the rate. */
FX8_INLINE vec_int dot(vec_int sum, vec_int column, vec_int row)
{
    __asm__(DOT " %2, %1, %0" : "+v"(sum) : "v"(column), "v"(row));
    return sum;
}

/** Add a register of int32. */
FX8_INLINE void add_int32(int32_t *sums, vec_int v)
{
    vec_store_int(sums, VEC(add_epi32)(vec_load_int(sums), v));
}

/** A register of spectra of an input. */
FX8_INLINE vec_int load(const char *address)
{
    return (vec_int)vec_load_spectra(address);
}

/** A column for the real part: (br + 128, bi + 128). */
FX8_INLINE vec_int column_re(vec_int b)
{
    return b ^ VEC(set1_epi8)((char)0x80);
}

/** A column for the imaginary part: (127 - bi, br + 128); bi ^ 0x7f = 127 - bi.
 */
FX8_INLINE vec_int column_im(vec_int b)
{
    const vec_int swap = vec_repeat(
        _mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));

    return VEC(shuffle_epi8)(b, swap) ^ VEC(set1_epi16)((short)0x807f);
}

/** Add a register of a column to its eight sums [row][re, im]. */
FX8_INLINE void add_column(vec_int sum[8], const vec_int a[4], vec_int b)
{
    const vec_int re = column_re(b);
    const vec_int im = column_im(b);
    FX8_UNROLL
    for (size_t r = 0; r < 4; r++) {
        sum[2 * r] = dot(sum[2 * r], re, a[r]);
        sum[2 * r + 1] = dot(sum[2 * r + 1], im, a[r]);
    }
}

/** N_COLUMNS columns against four rows. */
static void rectangle(const struct fx8_tile *tile)
{
    const char *row = tile->rows;
    const char *column = tile->columns;
    const char *ahead = tile->ahead;
    const size_t pitch = tile->pitch;
    vec_int sum[8 * N_COLUMNS] = {{0}};

    for (size_t left = tile->n_bytes; left > 0; left -= FX8_TILE_STEP) {
        _mm_prefetch(ahead, _MM_HINT_T1);
        FX8_UNROLL
        for (size_t k = 0; k < FX8_TILE_STEP; k += VEC_BYTES) {
            const vec_int a[4] = {load(row + k), load(row + pitch + k),
                                  load(row + 2 * pitch + k),
                                  load(row + 3 * pitch + k)};
            FX8_UNROLL
            for (size_t c = 0; c < N_COLUMNS; c++)
                add_column(sum + 8 * c, a, load(column + c * pitch + k));
        }
        row += FX8_TILE_STEP;
        column += FX8_TILE_STEP;
        ahead += tile->ahead_step;
    }
    add_int32(tile->sums, vec_lane_sums_int32(sum));
}

#if defined(__AVX512VNNI__)

/** (re, im) of spectra, sorted within every four: the four real parts, then the
 *  four imaginary ones. */
FX8_INLINE vec_int sort_parts(vec_int a)
{
    const vec_int order = vec_repeat(
        _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));

    return VEC(shuffle_epi8)(a, order);
}

/** column_im() of a sorted column. */
FX8_INLINE vec_int sorted_im(vec_int b)
{
    return (vec_int)vec_swap_pairs((vec_float)b) ^
           vec_set_int64((long long)0x808080807f7f7f7f);
}

/** Add to the sum of a sorted row: real parts in even lanes, imaginary parts in
 *  odd ones. */
FX8_INLINE vec_int add_row(vec_int sum, vec_int a)
{
    return dot(sum, VEC(set1_epi8)(1), a);
}

/** Add a register of each row, sorted, to the sums of a triangle and of the
 *  rows themselves. */
FX8_INLINE void add_triangle(vec_int sum[16], vec_int row_sum[4],
                             const vec_int a[4])
{
    FX8_UNROLL
    for (size_t c = 0; c < 4; c++) {
        const vec_int re = column_re(a[c]);
        const vec_int im = sorted_im(a[c]);
        sum[12 + c] = dot(sum[12 + c], re, a[c]);
        row_sum[c] = add_row(row_sum[c], a[c]);
        FX8_UNROLL
        for (size_t r = c + 1; r < 4; r++) {
            vec_int *pair = sum + FX8_TRIANGLE_PAIR(c, r);
            pair[0] = dot(pair[0], re, a[r]);
            pair[1] = dot(pair[1], im, a[r]);
        }
    }
}

/** Add the lane sums of four sorted rows as [row][re, im]. */
FX8_INLINE void add_row_sums(int32_t *sums, const vec_int row_sum[4])
{
    const vec_int four =
        vec_join_int128(vec_join_int64(row_sum[0], row_sum[1]),
                        vec_join_int64(row_sum[2], row_sum[3]));
    const __m256i joined = _mm512_castsi512_si256(vec_join_int128(four, four));
    __m256i_u *items = (__m256i_u *)sums;
    _mm256_storeu_si256(items,
                        _mm256_add_epi32(_mm256_loadu_si256(items), joined));
}

static void square(const struct fx8_tile *tile)
{
    const char *row = tile->rows;
    const char *ahead = tile->ahead;
    const size_t pitch = tile->pitch;
    int32_t *sums = tile->sums;
    vec_int sum[16] = {{0}}, row_sum[4] = {{0}};

    for (size_t left = tile->n_bytes; left > 0; left -= FX8_TILE_STEP) {
        const vec_int a[4] = {sort_parts(load(row)),
                              sort_parts(load(row + pitch)),
                              sort_parts(load(row + 2 * pitch)),
                              sort_parts(load(row + 3 * pitch))};

        _mm_prefetch(ahead, _MM_HINT_T1);
        add_triangle(sum, row_sum, a);
        row += FX8_TILE_STEP;
        ahead += tile->ahead_step;
    }
    const vec_int joined = vec_lane_sums_int32(sum);
    add_int32(sums, _mm512_maskz_permutexvar_epi32(FX8_TRIANGLE_LOW_MASK,
                                                   FX8_TRIANGLE_LOW, joined));
    add_int32(sums + 16,
              _mm512_maskz_permutexvar_epi32(FX8_TRIANGLE_HIGH_MASK,
                                             FX8_TRIANGLE_HIGH, joined));
    add_row_sums(tile->bias, row_sum);
}

#else

/** Two columns of the square with the rows from each on. */
FX8_INLINE void square_columns(const struct fx8_tile *tile, size_t c0,
                               size_t c1)
{
    const size_t columns[2] = {c0, c1};
    const char *row = tile->rows;
    const char *ahead = tile->ahead;
    vec_int sum[2][8] = {{{0}}};

    for (size_t left = tile->n_bytes; left > 0; left -= VEC_BYTES) {
        vec_int re[2], im[2];
        _mm_prefetch(ahead, _MM_HINT_T1);
        FX8_UNROLL
        for (size_t r = c0; r < FX8_ROW_BLOCK; r++) {
            const vec_int a = load(row + r * tile->pitch);
            FX8_UNROLL
            for (size_t k = 0; k < 2; k++) {
                if (r == columns[k]) {
                    re[k] = column_re(a);
                    im[k] = column_im(a);
                }
                if (r >= columns[k])
                    sum[k][2 * r] = dot(sum[k][2 * r], re[k], a);
                if (r > columns[k])
                    sum[k][2 * r + 1] = dot(sum[k][2 * r + 1], im[k], a);
            }
        }
        row += VEC_BYTES;
        ahead += tile->ahead_step / 2;
    }
    for (size_t k = 0; k < 2; k++)
        add_int32((int32_t *)tile->sums + columns[k] * FX8_TILE_COLUMN,
                  vec_lane_sums_int32(sum[k]));
}

/** The sums of the rows; not sorted here, where the shuffles would take the
 *  ports of the products. */
static void add_rows(const struct fx8_tile *tile)
{
    const char *row = tile->rows;
    vec_int sum[8] = {{0}};

    for (size_t left = tile->n_bytes; left > 0; left -= VEC_BYTES) {
        FX8_UNROLL
        for (size_t r = 0; r < FX8_ROW_BLOCK; r++) {
            const vec_int a = load(row + r * tile->pitch);
            sum[2 * r] = dot(sum[2 * r], VEC(set1_epi16)(0x0001), a);
            sum[2 * r + 1] = dot(sum[2 * r + 1], VEC(set1_epi16)(0x0100), a);
        }
        row += VEC_BYTES;
    }
    add_int32(tile->bias, vec_lane_sums_int32(sum));
}

/** In three passes: more sums do not fit into 16 registers. */
static void square(const struct fx8_tile *tile)
{
    square_columns(tile, 0, 3);
    square_columns(tile, 1, 2);
    add_rows(tile);
}

#endif

static void accumulate(size_t n_inputs, struct fx8_row_blocks rows,
                       size_t n_times, const struct fx8_ci8 *x,
                       size_t input_stride, int32_t *accumulator)
{
    /* 2048 spectra: the sums over lanes then cost only 3 % */
    static const struct fx8_tile_kernel kernel = {
        .segment_bytes = 4096,
        .item_size = sizeof(int32_t),
        .n_columns = N_COLUMNS,
        .rectangle = rectangle,
        .square = square,
    };

    fx8_correlate_sweep(&kernel, n_inputs, rows, n_times * sizeof(*x), x,
                        input_stride * sizeof(*x), accumulator);
}

/** The sums of the rows [row][re, im] become their bias: 128 (Sr + Si) and
 *  127 Sr + 128 Si. */
static void find_bias(int32_t sums[FX8_TILE_COLUMN])
{
    __m256i_u *items = (__m256i_u *)sums;
    const __m256i rows = _mm256_loadu_si256(items);
    const __m256i both =
        _mm256_add_epi32(rows, _mm256_shuffle_epi32(rows, 0xb1));
    _mm256_storeu_si256(items, _mm256_sub_epi32(_mm256_slli_epi32(both, 7),
                                                _mm256_slli_epi64(rows, 32)));
}

static void fold(size_t n_inputs, struct fx8_strip strip, int32_t *accumulator,
                 int64_t *sums)
{
    const size_t n_blocks = fx8_tile_row_blocks(n_inputs);
    int32_t *bias = accumulator + fx8_tile_offset(n_blocks);
    /* once, with the first strip */
    for (size_t block = 0; block < n_blocks && strip.begin == 0; block++)
        find_bias(bias + block * FX8_TILE_COLUMN);
    fx8_tile_fold_biased(n_inputs, strip, accumulator, sums);
}

void FILL(struct fx8_operations *operations)
{
    operations->int8 = (struct fx8_correlate_int8){
        .accumulator_size = fx8_tile_biased_size,
        .accumulate = accumulate,
        .fold = fold,
    };
}
