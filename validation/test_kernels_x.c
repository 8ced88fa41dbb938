/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_kernels_x.c -- correlate and count: every variant of this machine,
 * including the reference, against definitions given here in int64 and long
 * double. Results start with other content, because fold() and count() add to
 * them; the padding of the inputs is garbage; accumulators and results have
 * guard words.
 *
 * Shows: as test_kernels_f.c
 */
#include <math.h>

#include "config/base/shape.h"
#include "kernels/operations.h"
#include "validation/testing.h"

#define GUARD      ((size_t)16) /* items on either side */
#define GUARD_BYTE 0x5a

static const size_t sizes[] = {1,  2,  3,  4,  5,  7,  8,  15, 16,
                               17, 31, 33, 63, 64, 65, 97, 130};
static const size_t times[] = {32, 64, 96, 512, 544, 1024, 2048};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t random_state;

/** Next value of a linear congruential generator, 24 bits. */
static uint32_t next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

/* --- memory with guards ------------------------------------------------------
 */

/** `n_items` zeroed items between two guards. */
static void *guarded(size_t n_items, size_t item_size)
{
    uint8_t *memory = malloc((n_items + 2 * GUARD) * item_size);

    assert_non_null(memory);
    memset(memory, GUARD_BYTE, (n_items + 2 * GUARD) * item_size);
    memset(memory + GUARD * item_size, 0, n_items * item_size);
    return memory + GUARD * item_size;
}

/** Check the guards and free. */
static void release(void *items, size_t n_items, size_t item_size)
{
    uint8_t *first = (uint8_t *)items - GUARD * item_size;
    uint8_t *last = (uint8_t *)items + n_items * item_size;

    for (size_t k = 0; k < GUARD * item_size; k++) {
        assert_int_equal(first[k], GUARD_BYTE);
        assert_int_equal(last[k], GUARD_BYTE);
    }
    free(first);
}

/** Prior content of a sum. */
static int64_t prior(size_t k)
{
    return (int64_t)(k % 1009) * 1000003 - 500000000;
}

/* --- data --------------------------------------------------------------------
 */

enum fill { RANDOM, MINIMA, MAXIMA, ZEROS, ALTERNATING, N_FILLS };

static int8_t value_of(enum fill fill, size_t k)
{
    switch (fill) {
    case MINIMA:
        return -128;
    case MAXIMA:
        return 127;
    case ZEROS:
        return 0;
    case ALTERNATING:
        return (k / 3 + k / 64) % 2 != 0 ? -128 : 127;
    default:
        return k % 37 == 5 ? -128 : (int8_t)((int)(next_random() % 256) - 128);
    }
}

/** Spectra of n_inputs rows, each `stride` spectra long, with garbage in
 *  padding rows and beyond n_times; both precisions hold the same values. */
struct spectra {
    size_t n_inputs, n_times, stride;
    struct fx8_ci8 *int8;
    struct fx8_cf32 *fp32;
};

static void spectra_open(struct spectra *x, size_t n_inputs, size_t n_times,
                         enum fill fill)
{
    size_t n_rows = fx8_round_up(n_inputs, FX8_ROW_BLOCK);
    size_t stride = n_times + FX8_GROUP;
    void *int8, *fp32;

    assert_int_equal(
        fx8_allocate(n_rows * stride, sizeof(*x->int8), "test", &int8, NULL),
        FX8_OK);
    assert_int_equal(
        fx8_allocate(n_rows * stride, sizeof(*x->fp32), "test", &fp32, NULL),
        FX8_OK);
    *x = (struct spectra){n_inputs, n_times, stride, int8, fp32};
    random_state = (uint32_t)(n_inputs * 4099 + n_times);
    for (size_t k = 0; k < n_rows * stride; k++) {
        if (k / stride < n_inputs && k % stride < n_times) {
            x->int8[k].re = value_of(fill, 2 * k);
            x->int8[k].im = value_of(fill, 2 * k + 1);
            x->fp32[k].re = x->int8[k].re;
            x->fp32[k].im = x->int8[k].im;
        } else {
            x->int8[k].re = 101;
            x->int8[k].im = -77;
            x->fp32[k].re = NAN;
            x->fp32[k].im = INFINITY;
        }
    }
}

static void spectra_close(struct spectra *x)
{
    free(x->int8);
    free(x->fp32);
}

/** conj(E_i) E_j summed over the spectra [begin, end), by the definition. */
static void exact_product(const struct spectra *x, size_t i, size_t j,
                          size_t begin, size_t end, int64_t product[2])
{
    const struct fx8_ci8 *e_i = x->int8 + i * x->stride;
    const struct fx8_ci8 *e_j = x->int8 + j * x->stride;

    product[0] = product[1] = 0;
    for (size_t t = begin; t < end; t++) {
        product[0] +=
            (int64_t)e_i[t].re * e_j[t].re + (int64_t)e_i[t].im * e_j[t].im;
        product[1] +=
            (int64_t)e_i[t].re * e_j[t].im - (int64_t)e_i[t].im * e_j[t].re;
    }
}

static int64_t *exact_sums(const struct spectra *x)
{
    int64_t *sums = malloc(2 * fx8_pair_count(x->n_inputs) * sizeof(*sums));

    assert_non_null(sums);
    for (size_t j = 0; j < x->n_inputs; j++) {
        for (size_t i = 0; i <= j; i++)
            exact_product(x, i, j, 0, x->n_times,
                          sums + 2 * fx8_pair_index(i, j));
    }
    return sums;
}

/* --- running one variant ---------------------------------------------- */

/** How the work is split: calls of `step` spectra (0: all in one), and rows
 *  split at `row_cut` quarters of the row blocks, the second part first. */
struct cut {
    size_t step;
    size_t row_cut;
};

static const struct cut whole = {0, 0};

/** The arguments of one call. */
struct piece {
    size_t row_begin, row_end, begin, n_times;
};

typedef void run_piece(const struct fx8_operations *variant,
                       const struct spectra *x, const struct piece *piece,
                       void *accumulator);

static void run_int8(const struct fx8_operations *variant,
                     const struct spectra *x, const struct piece *piece,
                     void *accumulator)
{
    variant->int8.accumulate(x->n_inputs, piece->row_begin, piece->row_end,
                             piece->n_times, x->int8 + piece->begin, x->stride,
                             accumulator);
}

static void run_fp32(const struct fx8_operations *variant,
                     const struct spectra *x, const struct piece *piece,
                     void *accumulator)
{
    variant->fp32.accumulate(x->n_inputs, piece->row_begin, piece->row_end,
                             piece->n_times, x->fp32 + piece->begin, x->stride,
                             accumulator);
}

static void run_cut(const struct fx8_operations *variant, run_piece *run,
                    const struct spectra *x, const struct cut *cut,
                    void *accumulator)
{
    size_t n_blocks = (x->n_inputs + FX8_ROW_BLOCK - 1) / FX8_ROW_BLOCK;
    size_t middle = n_blocks * cut->row_cut / 4;
    size_t step = cut->step == 0 ? x->n_times : cut->step;

    for (size_t t = 0; t < x->n_times; t += step) {
        size_t n = x->n_times - t < step ? x->n_times - t : step;
        const struct piece second = {middle, n_blocks, t, n};
        const struct piece first = {0, middle, t, n};

        run(variant, x, &second, accumulator);
        if (middle > 0)
            run(variant, x, &first, accumulator);
    }
}

/** Everything that fold() leaves: sums grown by `expected` and an empty
 *  accumulator. */
static void check_int8(const struct fx8_operations *variant,
                       const struct spectra *x, const struct cut *cut,
                       const int64_t *expected)
{
    size_t n_items = variant->int8.accumulator_size(x->n_inputs);
    size_t n_sums = 2 * fx8_pair_count(x->n_inputs);
    int32_t *accumulator = guarded(n_items, sizeof(*accumulator));
    int64_t *sums = guarded(n_sums, sizeof(*sums));

    for (size_t k = 0; k < n_sums; k++)
        sums[k] = prior(k);
    run_cut(variant, run_int8, x, cut, accumulator);
    variant->int8.fold(x->n_inputs, accumulator, sums);
    for (size_t k = 0; k < n_sums; k++) {
        if (sums[k] != prior(k) + expected[k])
            fail_msg("%s int8: %zu inputs, %zu times, item %zu: %lld, expected "
                     "%lld",
                     variant->name, x->n_inputs, x->n_times, k,
                     (long long)(sums[k] - prior(k)), (long long)expected[k]);
    }
    for (size_t k = 0; k < n_items; k++)
        assert_int_equal(accumulator[k], 0);
    release(accumulator, n_items, sizeof(*accumulator));
    release(sums, n_sums, sizeof(*sums));
}

/** Run one variant in FP32 and hand back the sums, without prior content. */
static double *sums_fp32(const struct fx8_operations *variant,
                         const struct spectra *x, const struct cut *cut)
{
    size_t n_items = variant->fp32.accumulator_size(x->n_inputs);
    size_t n_sums = 2 * fx8_pair_count(x->n_inputs);
    double *accumulator = guarded(n_items, sizeof(*accumulator));
    double *sums = guarded(n_sums, sizeof(*sums));

    for (size_t k = 0; k < n_sums; k++)
        sums[k] = (double)prior(k);
    run_cut(variant, run_fp32, x, cut, accumulator);
    variant->fp32.fold(x->n_inputs, accumulator, sums);
    for (size_t k = 0; k < n_items; k++)
        assert_true(accumulator[k] == 0.0);
    release(accumulator, n_items, sizeof(*accumulator));
    return sums;
}

/** FP32 on integers: as check_int8(). */
static void check_fp32(const struct fx8_operations *variant,
                       const struct spectra *x, const struct cut *cut,
                       const int64_t *expected)
{
    size_t n_sums = 2 * fx8_pair_count(x->n_inputs);
    double *sums = sums_fp32(variant, x, cut);

    for (size_t k = 0; k < n_sums; k++) {
        if (!(sums[k] == (double)(prior(k) + expected[k])))
            fail_msg("%s fp32: %zu inputs, %zu times, item %zu: %.17g, "
                     "expected %lld",
                     variant->name, x->n_inputs, x->n_times, k,
                     sums[k] - (double)prior(k), (long long)expected[k]);
    }
    release(sums, n_sums, sizeof(*sums));
}

/** Both precisions in every variant, split in each of these ways. */
static void check_variants(const struct spectra *x, const struct cut *cuts,
                           size_t n_cuts)
{
    int64_t *expected = exact_sums(x);

    for (size_t k = 0; k < n_cuts * fx8_operations_variants(); k++) {
        const struct fx8_operations *variant =
            fx8_operations_variant(k / n_cuts);

        if (variant == NULL)
            continue;
        check_int8(variant, x, &cuts[k % n_cuts], expected);
        check_fp32(variant, x, &cuts[k % n_cuts], expected);
    }
    free(expected);
}

/* --- tests -------------------------------------------------------------------
 */

/** All sizes with full-range data, under a checker a third of them; the other
 *  data at every size with one time, and at every time with one size. */
TEST(test_sizes_and_data)
{
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        for (size_t t = 0; t < COUNT_OF(times); t++) {
            for (int fill = RANDOM; fill < N_FILLS; fill++) {
                struct spectra x;

                if (fill == RANDOM ? FX8_CHECKED && (s + t) % 3 != 0
                                   : sizes[s] != 17 && times[t] != 96)
                    continue;
                spectra_open(&x, sizes[s], times[t], (enum fill)fill);
                check_variants(&x, &whole, 1);
                spectra_close(&x);
            }
        }
    }
}

/** Several calls before a fold, and rows split into ranges; 2592 spectra cross
 *  the segments of every variant. */
TEST(test_pieces)
{
    static const struct cut cuts[] = {{512, 0}, {32, 0},   {544, 1},
                                      {0, 2},   {1024, 3}, {0, 4}};
    static const size_t n_inputs[] = {5, 97, 203};

    for (size_t s = 0; s < COUNT_OF(n_inputs); s++) {
        struct spectra x;

        spectra_open(&x, n_inputs[s], 2592, RANDOM);
        check_variants(&x, cuts, COUNT_OF(cuts));
        spectra_close(&x);
    }
}

/** A call writes nothing outside its rows, which belong to other threads. */
TEST(test_rows_are_separate)
{
    const struct piece rows = {2, 4, 0, 64};
    struct spectra x;

    spectra_open(&x, 26, 64, MAXIMA);
    for (size_t k = 0; k < fx8_operations_variants(); k++) {
        const struct fx8_operations *variant = fx8_operations_variant(k);
        size_t n_sums = 2 * fx8_pair_count(26);
        int32_t *accumulator;
        int64_t *sums;

        if (variant == NULL)
            continue;
        accumulator = guarded(variant->int8.accumulator_size(26), 4);
        sums = guarded(n_sums, sizeof(*sums));
        run_int8(variant, &x, &rows, accumulator);
        variant->int8.fold(26, accumulator, sums);
        for (size_t j = 0; j < 26; j++) {
            for (size_t i = 0; i <= j; i++)
                assert_int_equal(sums[2 * fx8_pair_index(i, j)],
                                 j / FX8_ROW_BLOCK >= rows.row_begin &&
                                         j / FX8_ROW_BLOCK < rows.row_end
                                     ? 2 * 127 * 127 * 64
                                     : 0);
        }
        release(accumulator, variant->int8.accumulator_size(26), 4);
        release(sums, n_sums, sizeof(*sums));
    }
    spectra_close(&x);
}

/** The bound of int32: the largest multiple of FX8_GROUP full-scale spectra
 *  (65,504 of 65,535) without a fold, and twice as many with one. */
TEST(test_int32_bound)
{
    const size_t most = FX8_MAX_INT32_SPECTRA / FX8_GROUP * FX8_GROUP;
    struct spectra x;

    spectra_open(&x, 5, 2048, MINIMA);
    for (size_t k = 0; k < fx8_operations_variants(); k++) {
        const struct fx8_operations *variant = fx8_operations_variant(k);
        size_t n_sums = 2 * fx8_pair_count(5);
        int32_t *accumulator;
        int64_t *sums;

        if (variant == NULL)
            continue;
        accumulator = guarded(variant->int8.accumulator_size(5), 4);
        sums = guarded(n_sums, sizeof(*sums));
        for (int64_t pass = 1; pass <= 2; pass++) {
            for (size_t done = 0; done < most; done += 2048) {
                size_t n = most - done < 2048 ? most - done : 2048;
                const struct piece piece = {0, 2, 0, n};

                run_int8(variant, &x, &piece, accumulator);
            }
            variant->int8.fold(5, accumulator, sums);
            for (size_t p = 0; p < n_sums; p += 2) {
                assert_int_equal(sums[p], pass * 2 * 128 * 128 * (int64_t)most);
                assert_int_equal(sums[p + 1], 0);
            }
        }
        release(accumulator, variant->int8.accumulator_size(5), 4);
        release(sums, n_sums, sizeof(*sums));
    }
    spectra_close(&x);
}

/** The largest imaginary part, of either sign: e_0 = -128 (1 + i), e_1 =
 *  (-128 + 127 i), e_2 = (127 - 128 i). */
TEST(test_imaginary_bound)
{
    static const struct fx8_ci8 rows[3] = {
        {-128, -128}, {-128, 127}, {127, -128}};
    const size_t n_times = 2048;
    struct spectra x;

    spectra_open(&x, 3, n_times, ZEROS);
    for (size_t i = 0; i < 3; i++) {
        for (size_t t = 0; t < n_times; t++) {
            x.int8[i * x.stride + t] = rows[i];
            x.fp32[i * x.stride + t].re = rows[i].re;
            x.fp32[i * x.stride + t].im = rows[i].im;
        }
    }
    check_variants(&x, &whole, 1);
    spectra_close(&x);
}

/** FP32 on floats: within the bound of operations.h of a long double sum.
 *  Float sums are really taken per 512 spectra of a call: splitting at
 *  multiples of 512 changes no bit. */
TEST(test_fp32_bound)
{
    static const struct cut cut = {1024, 2};
    struct spectra x;

    spectra_open(&x, 33, 2592, RANDOM);
    for (size_t k = 0; k < 33 * x.stride; k++) {
        x.fp32[k].re = (float)next_random() / 16777216.0f - 0.4f;
        x.fp32[k].im = (float)next_random() / 16777216.0f - 0.6f;
    }
    for (size_t k = 0; k < fx8_operations_variants(); k++) {
        const struct fx8_operations *variant = fx8_operations_variant(k);
        size_t n_sums = 2 * fx8_pair_count(33);
        double *sums, *pieces;

        if (variant == NULL)
            continue;
        sums = sums_fp32(variant, &x, &whole);
        pieces = sums_fp32(variant, &x, &cut);
        assert_memory_equal(sums, pieces, n_sums * sizeof(*sums));
        for (size_t pair = 0, j = 0; j < 33; j++) {
            for (size_t i = 0; i <= j; i++, pair++) {
                const struct fx8_cf32 *a = x.fp32 + i * x.stride;
                const struct fx8_cf32 *b = x.fp32 + j * x.stride;
                long double re = 0, im = 0, scale = 0, bound;

                for (size_t t = 0; t < x.n_times; t++) {
                    re += (long double)a[t].re * b[t].re +
                          (long double)a[t].im * b[t].im;
                    im += (long double)a[t].re * b[t].im -
                          (long double)a[t].im * b[t].re;
                    scale +=
                        hypotl(a[t].re, a[t].im) * hypotl(b[t].re, b[t].im);
                }
                bound = 520.0L / 16777216.0L * scale;
                assert_true(fabsl(sums[2 * pair] -
                                  (long double)prior(2 * pair) - re) <= bound);
                assert_true(fabsl(sums[2 * pair + 1] -
                                  (long double)prior(2 * pair + 1) - im) <=
                            bound);
            }
        }
        release(sums, n_sums, sizeof(*sums));
        release(pieces, n_sums, sizeof(*pieces));
    }
    spectra_close(&x);
}

/* --- count -------------------------------------------------------------------
 */

/** Masks of every kind: full rows, rows with holes, empty ones; `kind` 0 mixes
 *  them, 1 all full, 2 none full, 3 all empty. */
static void fill_mask(uint64_t *row, size_t n_words, size_t i, int kind)
{
    for (size_t k = 0; k < n_words; k++) {
        uint64_t noise = (uint64_t)next_random() << 40 ^
                         (uint64_t)next_random() << 20 ^ next_random();

        row[k] = kind == 3                                ? 0
                 : kind == 1 || (kind == 0 && i % 3 == 0) ? UINT64_MAX
                 : kind == 0 && i % 7 == 1                ? 0
                                                          : noise;
    }
    /* The last word is only partly used: bits beyond the spectra are clear. */
    row[n_words - 1] &= UINT64_MAX >> 21;
}

static void check_count(const struct fx8_operations *variant, size_t n_inputs,
                        size_t n_words, const uint64_t *valid)
{
    size_t n_pairs = fx8_pair_count(n_inputs);
    int64_t *counts = guarded(n_pairs, sizeof(*counts));

    for (size_t k = 0; k < n_pairs; k++)
        counts[k] = prior(k);
    variant->count(n_inputs, n_words, valid, counts);
    for (size_t pair = 0, j = 0; j < n_inputs; j++) {
        for (size_t i = 0; i <= j; i++, pair++) {
            int64_t expected = 0;

            for (size_t k = 0; k < n_words; k++)
                expected += __builtin_popcountll(valid[i * n_words + k] &
                                                 valid[j * n_words + k]);
            assert_int_equal(counts[pair] - prior(pair), expected);
        }
    }
    release(counts, n_pairs, sizeof(*counts));
}

TEST(test_count)
{
    static const size_t n_words[] = {1, 2, 7, 8, 9, 32};

    random_state = 11;
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        for (size_t w = 0; w < COUNT_OF(n_words); w++) {
            size_t n_items = sizes[s] * n_words[w];
            uint64_t *valid = malloc(n_items * sizeof(*valid));

            assert_non_null(valid);
            for (int kind = 0; kind < 4; kind++) {
                for (size_t i = 0; i < sizes[s]; i++)
                    fill_mask(valid + i * n_words[w], n_words[w], i, kind);
                for (size_t k = 0; k < fx8_operations_variants(); k++) {
                    if (fx8_operations_variant(k) != NULL)
                        check_count(fx8_operations_variant(k), sizes[s],
                                    n_words[w], valid);
                }
            }
            free(valid);
        }
    }
}
