/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_kernels_x.c -- correlate and count: every variant of this machine,
 * including the reference, against definitions given here: int64 for integers,
 * unrounded sums for floats. Results start with other content, because fold()
 * and count() add to them; the padding of the inputs is garbage; accumulators
 * and results have guard words.
 *
 * Shows (kernels, bounds): with directed rounding, in every variant, in the
 *     engine and in post-processing, both the unrounded sum and the FP32 sum
 *     lie inside the bounds; integers beyond 2²⁴ that are not folded: inside,
 *     width above zero; folded: width zero; the thread's rounding mode is
 *     neither used nor changed
 * Within: the exact sum inside; width at most 2·520·2⁻²³ of Σ|x||x|
 * Because: sums as 640-bit fixed-point numbers (`exact_sum.h`) do not round; a
 *     directed rounding may be off by a whole unit
 * In: test_interval_results.c
 *
 * Shows: as test_kernels_f.c
 */
#include <fenv.h>
#include <math.h>

#include "config/base/shape.h"
#include "kernels/cpu/variants.h"
#include "validation/exact_sum.h"
#include "validation/guards.h"
#include "validation/testing.h"
#include "validation/variants.h"

static const size_t sizes[] = {1,  2,  3,  4,  5,  7,  8,  15, 16,
                               17, 31, 33, 63, 64, 65, 97, 130};
static const size_t times[] = {32, 64, 96, 512, 544, 1024, 2048};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* --- data --------------------------------------------------------------------
 */

/** Integers: IMAGINARY has the largest imaginary parts, of either sign, of
 *  inputs 1 and 2 with input 0; POSITIVE grows fast.  Floats: WIDE has
 *  exponents over 40 binary digits; every other spectrum of CANCELLING cancels
 *  the one before up to its last bits; products of TINY are around the smallest
 *  float, and below it. */
enum fill {
    RANDOM,
    MINIMA,
    MAXIMA,
    ZEROS,
    ALTERNATING,
    IMAGINARY,
    POSITIVE,
    NOISE,
    WIDE,
    CANCELLING,
    TINY,
    N_FILLS
};

static int8_t integer(enum fill fill, size_t input, size_t k,
                      struct generator *g)
{
    static const int8_t imaginary[3][2] = {
        {-128, -128}, {-128, 127}, {127, -128}};
    switch (fill) {
    case MINIMA:
        return -128;
    case MAXIMA:
        return 127;
    case ZEROS:
        return 0;
    case ALTERNATING:
        return (k / 3 + k / 64 + input) % 2 != 0 ? -128 : 127;
    case IMAGINARY:
        return imaginary[input % 3][k % 2];
    case POSITIVE:
        return (int8_t)random_in(g, 40, 127);
    default:
        return k % 37 == 5 ? -128 : (int8_t)random_in(g, -128, 127);
    }
}

static float real(enum fill fill, struct generator *g)
{
    const float unit =
        (float)random_in(g, -(1 << 23), (1 << 23) - 1) * 0x1p-23f;
    return fill == WIDE   ? ldexpf(unit, (int)random_in(g, -20, 20))
           : fill == TINY ? ldexpf(unit, (int)random_in(g, -90, -60))
                          : unit * 30.0f;
}

/** Spectra of n_inputs rows, each `stride` spectra long, with garbage in
 *  padding rows and beyond n_times; integers in both precisions. */
struct spectra {
    enum fill fill;
    size_t n_inputs, n_times, stride, n_sums;
    struct fx8_ci8 *int8;
    struct fx8_cf32 *fp32;
    double prior; /* unit of the prior content of the sums */
};

static void *aligned(size_t n_items, size_t item_size)
{
    void *memory;
    assert_int_equal(fx8_allocate(n_items, item_size, "test", &memory, NULL),
                     FX8_OK);
    return memory;
}

static void fill_row(struct spectra *x, size_t input, struct generator *g)
{
    struct fx8_ci8 *int8 = x->int8 + input * x->stride;
    struct fx8_cf32 *fp32 = x->fp32 + input * x->stride;
    for (size_t t = 0; t < x->n_times; t++) {
        if (x->fill >= NOISE) {
            fp32[t] = (struct fx8_cf32){real(x->fill, g), real(x->fill, g)};
            if (x->fill == CANCELLING && t % 2 == 1) {
                const float sign = input % 2 == 0 ? 1.0f : -1.0f;
                fp32[t].re = sign * fp32[t - 1].re * (1.0f + 0x1p-22f);
                fp32[t].im = sign * fp32[t - 1].im;
            }
            continue;
        }
        int8[t].re = integer(x->fill, input, 2 * t, g);
        int8[t].im = integer(x->fill, input, 2 * t + 1, g);
        fp32[t] = (struct fx8_cf32){int8[t].re, int8[t].im};
    }
}

static struct spectra new_spectra(size_t n_inputs, size_t n_times,
                                  enum fill fill)
{
    const size_t n_rows = fx8_round_up(n_inputs, FX8_ROW_BLOCK);
    const size_t stride = n_times + FX8_GROUP;
    struct generator g = {n_inputs * 4099 + n_times};
    struct spectra x = {.fill = fill,
                        .n_inputs = n_inputs,
                        .n_times = n_times,
                        .stride = stride,
                        .n_sums = 2 * fx8_pair_count(n_inputs),
                        .int8 = aligned(n_rows * stride, sizeof *x.int8),
                        .fp32 = aligned(n_rows * stride, sizeof *x.fp32),
                        .prior = fill < NOISE   ? 123456789.0
                                 : fill == TINY ? 0.0
                                                : 0x1.5555p-30};
    for (size_t k = 0; k < n_rows * stride; k++) {
        x.int8[k] = (struct fx8_ci8){101, -77};
        x.fp32[k] = (struct fx8_cf32){NAN, INFINITY};
    }
    for (size_t input = 0; input < n_inputs; input++)
        fill_row(&x, input, &g);
    return x;
}

static void free_spectra(struct spectra *x)
{
    free(x->int8);
    free(x->fp32);
}

/** Prior content of a sum; exact in any rounding mode. */
static double prior(const struct spectra *x, size_t k)
{
    return (double)(k % 7) * x->prior;
}

/* --- running one correlator ------------------------------------------- */

enum correlator { INT8, FP32, INTERVAL, N_CORRELATORS };

/** How the work is split: calls of `step` spectra, rows at `row_cut` quarters
 *  of the row blocks, the second part first; bounds are folded every `segment`
 *  spectra. */
struct cut {
    size_t step, row_cut, segment;
};

/** The pairs that are asked for. */
static const uint8_t *needed;

static const struct cut whole = {SIZE_MAX, 0, FX8_MAX_FP32_PRODUCTS};

/** Sums [pair][re, im] on top of prior(); both bounds, or twice the same. */
struct sums {
    double *down, *up;
};

static void free_sums(struct sums *sums)
{
    free(sums->down);
    free(sums->up);
}

static void accumulate(const struct fx8_operations *variant,
                       enum correlator correlator, const struct spectra *x,
                       struct fx8_row_blocks rows, size_t begin, size_t n,
                       size_t segment, void *accumulator)
{
    const struct fx8_cf32 *fp32 = x->fp32 + begin;
    if (rows.begin == rows.end)
        return;
    if (correlator == INT8)
        variant->int8.accumulate(x->n_inputs, rows, n, x->int8 + begin,
                                 x->stride, accumulator);
    else if (correlator == FP32)
        variant->fp32.accumulate(x->n_inputs, rows, n, fp32, x->stride,
                                 accumulator);
    else
        variant->interval.accumulate(x->n_inputs, rows, n, fp32, x->stride,
                                     segment, accumulator);
}

/** Add what was accumulated to prior sums and empty the accumulator. */
static struct sums fold(const struct fx8_operations *variant,
                        enum correlator correlator, const struct spectra *x,
                        void *accumulator)
{
    const size_t n = x->n_sums;
    const struct fx8_strip strip = fx8_strip_whole(x->n_inputs);
    int64_t *integers = guarded(n, sizeof *integers);
    double *down = guarded(n, sizeof *down), *up = guarded(n, sizeof *up);
    struct sums sums = {exact(n * sizeof(double)), exact(n * sizeof(double))};
    for (size_t k = 0; k < n; k++) {
        integers[k] = (int64_t)prior(x, k);
        down[k] = up[k] = prior(x, k);
    }
    if (correlator == INT8)
        variant->int8.fold(x->n_inputs, strip, accumulator, integers);
    else if (correlator == FP32)
        variant->fp32.fold(x->n_inputs, strip, accumulator, down);
    else
        variant->interval.fold(x->n_inputs, strip, accumulator, down, up);
    for (size_t k = 0; k < n; k++) {
        sums.down[k] = correlator == INT8 ? (double)integers[k] : down[k];
        sums.up[k] = correlator == INTERVAL ? up[k] : sums.down[k];
    }
    release(integers, n, sizeof *integers);
    release(down, n, sizeof *down);
    release(up, n, sizeof *up);
    return sums;
}

static struct sums correlate(const struct fx8_operations *variant,
                             enum correlator correlator,
                             const struct spectra *x, const struct cut *cut)
{
    const size_t n_blocks = (x->n_inputs + FX8_ROW_BLOCK - 1) / FX8_ROW_BLOCK;
    const size_t middle = n_blocks * cut->row_cut / 4;
    const size_t n_items =
        correlator == INT8   ? variant->int8.accumulator_size(x->n_inputs)
        : correlator == FP32 ? variant->fp32.accumulator_size(x->n_inputs)
                             : variant->interval.accumulator_size(x->n_inputs);
    const size_t size = correlator == INT8 ? sizeof(int32_t) : sizeof(double);
    uint8_t *accumulator = guarded(n_items, size);
    for (size_t t = 0, n; t < x->n_times; t += n) {
        n = x->n_times - t < cut->step ? x->n_times - t : cut->step;
        const struct fx8_row_blocks parts[] = {{middle, n_blocks, needed},
                                               {0, middle, needed}};
        for (size_t k = 0; k < COUNT_OF(parts); k++)
            accumulate(variant, correlator, x, parts[k], t, n, cut->segment,
                       accumulator);
    }
    const struct sums sums = fold(variant, correlator, x, accumulator);
    for (size_t k = 0; k < n_items; k++) /* all empty */
        assert_true(correlator == INT8
                        ? ((int32_t *)(void *)accumulator)[k] == 0
                        : ((double *)(void *)accumulator)[k] == 0.0);
    release(accumulator, n_items, size);
    return sums;
}

/* --- integers --------------------------------------------------------- */

/** conj(E_i) E_j by the definition. */
static int64_t *integer_sums(const struct spectra *x)
{
    int64_t *sums = calloc(x->n_sums, sizeof *sums), *sum = sums;
    assert_non_null(sums);
    for (size_t j = 0; j < x->n_inputs; j++)
        for (size_t i = 0; i <= j; i++, sum += 2)
            for (size_t t = 0; t < x->n_times; t++) {
                const struct fx8_ci8 a = x->int8[i * x->stride + t];
                const struct fx8_ci8 b = x->int8[j * x->stride + t];
                sum[0] += a.re * b.re + a.im * b.im;
                sum[1] += a.re * b.im - a.im * b.re;
            }
    return sums;
}

static void check_integer_sums(const struct fx8_operations *variant,
                               enum correlator correlator,
                               const struct spectra *x, const struct cut *cut,
                               const int64_t *expected)
{
    static const char *const names[] = {"int8", "fp32", "interval"};
    struct sums sums = correlate(variant, correlator, x, cut);
    for (size_t k = 0, i = 0, j = 0; k < x->n_sums; k++) {
        const bool is_needed = fx8_is_needed(needed, i, j);
        const double sum =
            prior(x, k) + (is_needed ? (double)expected[k] : 0.0);
        if (k % 2 == 1 && i++ == j)
            i = 0, j++;
        if (!is_needed && correlator == INT8) /* may be anything */
            continue;
        if (sums.down[k] != sum || sums.up[k] != sum)
            fail_msg("%s %s: %zu inputs, %zu times, item %zu: %.17g to %.17g, "
                     "expected %.17g",
                     variant->name, names[correlator], x->n_inputs, x->n_times,
                     k, sums.down[k], sums.up[k], sum);
    }
    free_sums(&sums);
}

/** Variant avxvnni in the encoding of AVX-512, where that runs; else NULL. */
static const struct fx8_operations *find_evex(void)
{
#if defined(__x86_64__)
    static struct fx8_operations evex;
    FOR_EACH_VARIANT (variant)
        if (strcmp(variant->name, "avx512") == 0) {
            evex = *variant;
            evex.name = "avxvnni as EVEX";
            fx8_fill_correlate_int8_evex(&evex);
            return &evex;
        }
#endif
    return NULL;
}

/** Every variant of every correlator, split in each of these ways. */
static void check_integers(size_t n_inputs, size_t n_times, enum fill fill,
                           const struct cut *cuts, size_t n_cuts)
{
    const struct fx8_operations *evex = find_evex();
    struct spectra x = new_spectra(n_inputs, n_times, fill);
    int64_t *expected = integer_sums(&x);
    for (size_t c = 0; c < n_cuts; c++) {
        FOR_EACH_VARIANT (variant)
            for (size_t k = 0; k < N_CORRELATORS; k++)
                check_integer_sums(variant, (enum correlator)k, &x, &cuts[c],
                                   expected);
        if (evex != NULL)
            check_integer_sums(evex, INT8, &x, &cuts[c], expected);
    }
    free(expected);
    free_spectra(&x);
}

/** All sizes with full-range data, under a checker a third of them; the other
 *  data at every size with one time, and at every time with one size.  The most
 *  spectra that int32 holds, 65,504 of full scale. */
TEST(test_sizes_and_data)
{
    for (size_t s = 0; s < COUNT_OF(sizes) && sizes[s] <= FX8_MOST_INPUTS; s++)
        for (size_t t = 0; t < COUNT_OF(times); t++)
            for (enum fill fill = RANDOM; fill <= IMAGINARY; fill++)
                if (fill == RANDOM ? !FX8_CHECKED || (s + t) % 3 == 0
                                   : sizes[s] == 17 || times[t] == 96)
                    check_integers(sizes[s], times[t], fill, &whole, 1);
    check_integers(5, FX8_MAX_INT32_SPECTRA / FX8_GROUP * FX8_GROUP, MINIMA,
                   &whole, 1);
}

/** Several calls before a fold, and rows split into ranges, which belong to
 *  other threads; 2592 spectra cross the segments of every variant.  Under a
 *  checker, without 203 inputs, which take most of the time. */
TEST(test_pieces)
{
    static const struct cut cuts[] = {{512, 0, 512}, {32, 0, 512},
                                      {544, 1, 512}, {SIZE_MAX, 2, 512},
                                      {1024, 3, 64}, {SIZE_MAX, 4, 512}};
    static const size_t n_inputs[] = {5, 97, 203};
    const size_t most =
        FX8_CHECKED && FX8_MOST_INPUTS > 97 ? 97 : FX8_MOST_INPUTS;
    for (size_t s = 0; s < COUNT_OF(n_inputs) && n_inputs[s] <= most; s++)
        check_integers(n_inputs[s], 2592, RANDOM, cuts, COUNT_OF(cuts));
}

/** Two blocks of three are not computed. */
TEST(needed_pairs)
{
    static uint8_t third[FX8_MOST_INPUTS * FX8_MOST_INPUTS / 16];
    for (size_t k = 0; k < sizeof third; k++)
        third[k] = k % 3 == 1;
    needed = third;
    check_integers(31, 2592, RANDOM, &whole, 1);
    needed = NULL;
}

/** Without folds floats lose digits, and the bounds show it: they enclose the
 *  sum of integers and differ. */
TEST(integers_beyond_24_bits)
{
    const struct cut unfolded = {SIZE_MAX, 0, (size_t)1 << 17};
    struct spectra x = new_spectra(5, unfolded.segment, POSITIVE);
    int64_t *expected = integer_sums(&x);
    FOR_EACH_VARIANT (variant) {
        struct sums sums = correlate(variant, INTERVAL, &x, &unfolded);
        for (size_t k = 0; k < x.n_sums; k++) {
            const double sum = prior(&x, k) + (double)expected[k];
            assert_true(sums.down[k] <= sum && sum <= sums.up[k]);
            assert_true(k % 2 == 1 || sums.down[k] < sums.up[k]);
        }
        free_sums(&sums);
    }
    free(expected);
    free_spectra(&x);
}

/* --- floats ----------------------------------------------------------- */

/** The unrounded sums [pair][re, im], and the sum of |x||x| of each pair. */
static struct exact_sum *exact_sums(const struct spectra *x, double *scale)
{
    struct exact_sum *sums = calloc(x->n_sums, sizeof *sums), *sum = sums;
    assert_non_null(sums);
    for (size_t k = 0; k < x->n_sums; k++)
        exact_add(&sums[k], prior(x, k));
    for (size_t j = 0; j < x->n_inputs; j++)
        for (size_t i = 0; i <= j; i++, sum += 2, scale++) {
            *scale = 0.0;
            for (size_t t = 0; t < x->n_times; t++) {
                const struct fx8_cf32 a = x->fp32[i * x->stride + t];
                const struct fx8_cf32 b = x->fp32[j * x->stride + t];
                exact_add_product(sum, a.re, b.re);
                exact_add_product(sum, a.im, b.im);
                exact_add_product(sum + 1, a.re, b.im);
                exact_add_product(sum + 1, -a.im, b.re);
                *scale += hypot((double)a.re, (double)a.im) *
                          hypot((double)b.re, (double)b.im);
            }
        }
    return sums;
}

static bool is_inside(const struct exact_sum *sum, double down, double up)
{
    return exact_compare(sum, down) >= 0 && exact_compare(sum, up) <= 0;
}

/** The bounds enclose the exact sum, however the work is split, and FP32's;
 * they are near; FP32 has the error of operations.h, and float sums are taken
 * over 512 spectra of a call: splitting at multiples of 512 changes no bit. */
static void check_floats(const struct fx8_operations *variant,
                         const struct spectra *x, const struct exact_sum *exact,
                         const double *scale, struct generator *g)
{
    const struct cut at_512 = {1024, 2, 512};
    const struct cut anywhere = {FX8_GROUP * (1 + random_below(g, 20)),
                                 random_below(g, 4),
                                 FX8_GROUP * (1 + random_below(g, 40))};
    struct sums bounds = correlate(variant, INTERVAL, x, &whole);
    struct sums split = correlate(variant, INTERVAL, x, &anywhere);
    struct sums fp32 = correlate(variant, FP32, x, &whole);
    struct sums pieces = correlate(variant, FP32, x, &at_512);
    assert_memory_equal(fp32.up, pieces.up, x->n_sums * sizeof(double));
    for (size_t k = 0; k < x->n_sums; k++) {
        const double value = fp32.up[k], down = bounds.down[k];
        const double up = bounds.up[k], most = 520 * 0x1p-24 * scale[k / 2];
        /* a unit of directed rounding may be as large as two of FP32's, in
         * either direction; products of TINY lose more than a share */
        const bool is_near = x->fill == TINY ||
                             (up - down <= 4 * most &&
                              is_inside(&exact[k], value - most, value + most));
        if (!is_inside(&exact[k], down, up) || value < down || value > up ||
            !is_inside(&exact[k], split.down[k], split.up[k]) || !is_near ||
            (x->fill == NOISE && k % 2 == 0 && !(down < up)))
            fail_msg("%s: data %d, %zu inputs, %zu times, item %zu: bounds %a "
                     "and %a, FP32 %a",
                     variant->name, x->fill, x->n_inputs, x->n_times, k, down,
                     up, value);
    }
    free_sums(&bounds);
    free_sums(&split);
    free_sums(&fp32);
    free_sums(&pieces);
}

TEST(exact_and_fp32_sums_lie_inside)
{
    static const size_t n_times[] = {32, 64, 96, 512, 544, 1056, 2592};
    struct generator g = {41};
    for (size_t n_inputs = 1; n_inputs <= 33;
         n_inputs += n_inputs < 17 ? 1 : 16)
        for (enum fill fill = NOISE; fill < N_FILLS; fill++) {
            const size_t n = n_inputs > 17
                                 ? 2592
                                 : n_times[random_below(&g, COUNT_OF(n_times))];
            struct spectra x = new_spectra(n_inputs, n, fill);
            double *scale = exact(x.n_sums / 2 * sizeof *scale);
            struct exact_sum *sums = exact_sums(&x, scale);
            FOR_EACH_VARIANT (variant)
                check_floats(variant, &x, sums, scale, &g);
            free(sums);
            free(scale);
            free_spectra(&x);
        }
}

TEST(exact_sums_are_exact)
{
    struct exact_sum sum = {{0}};
    exact_add(&sum, 0x1p100);
    exact_add(&sum, 0x1p-298);
    exact_add(&sum, -0x1p100);
    assert_int_equal(exact_compare(&sum, 0.0), 1);
    assert_int_equal(exact_compare(&sum, 0x1p-298), 0);
    exact_add_product(&sum, 0x1p-149f, -0x1p-148f);
    assert_int_equal(exact_compare(&sum, 0.0), -1);
    exact_add(&sum, 0x1.fffffffffffffp255);
    assert_int_equal(exact_compare(&sum, 0x1.fffffffffffffp255), -1);
    assert_int_equal(exact_compare(&sum, 0x1.ffffffffffffep255), 1);
}

TEST(mode_is_neither_used_nor_left_changed)
{
    static const int modes[] = {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    const struct cut cut = {96, 2, 64};
    struct spectra x = new_spectra(6, 544, NOISE);
    FOR_EACH_VARIANT (variant) {
        struct sums first = correlate(variant, INTERVAL, &x, &cut);
        for (size_t m = 0; m < COUNT_OF(modes); m++) {
            fesetround(modes[m]);
            struct sums sums = correlate(variant, INTERVAL, &x, &cut);
            const int mode = fegetround();
            fesetround(FE_TONEAREST);
            assert_int_equal(mode, modes[m]);
            assert_memory_equal(sums.down, first.down,
                                x.n_sums * sizeof(double));
            assert_memory_equal(sums.up, first.up, x.n_sums * sizeof(double));
            free_sums(&sums);
        }
        free_sums(&first);
    }
    free_spectra(&x);
}

/* --- count ------------------------------------------------------------ */

/** Masks of every kind: full rows, rows with holes, empty ones; `kind` 0 mixes
 *  them, 1 all full, 2 none full, 3 all empty. */
static void fill_mask(uint64_t *row, size_t n_words, size_t i, int kind,
                      struct generator *g)
{
    const bool is_full = kind == 1 || (kind == 0 && i % 3 == 0);
    const bool is_empty = kind == 3 || (kind == 0 && i % 7 == 1);
    for (size_t k = 0; k < n_words; k++)
        row[k] = is_full ? UINT64_MAX : is_empty ? 0 : random_bits(g);
    /* The last word is only partly used: bits beyond the spectra are clear. */
    row[n_words - 1] &= UINT64_MAX >> 21;
}

static void check_count(const struct fx8_operations *variant, size_t n_inputs,
                        size_t n_words, const uint64_t *valid)
{
    const size_t n_pairs = fx8_pair_count(n_inputs);
    int64_t *counts = guarded(n_pairs, sizeof *counts);
    for (size_t k = 0; k < n_pairs; k++)
        counts[k] = (int64_t)k * 1000003;
    variant->count(n_inputs, n_words, valid, counts);
    for (size_t pair = 0, j = 0; j < n_inputs; j++)
        for (size_t i = 0; i <= j; i++, pair++) {
            int64_t expected = (int64_t)pair * 1000003;
            for (size_t k = 0; k < n_words; k++)
                expected += __builtin_popcountll(valid[i * n_words + k] &
                                                 valid[j * n_words + k]);
            assert_int_equal(counts[pair], expected);
        }
    release(counts, n_pairs, sizeof *counts);
}

TEST(test_count)
{
    static const size_t n_words[] = {1, 2, 7, 8, 9, 32};
    struct generator g = {11};
    for (size_t s = 0; s < COUNT_OF(sizes); s++)
        for (size_t w = 0; w < COUNT_OF(n_words); w++)
            for (int kind = 0; kind < 4; kind++) {
                uint64_t *valid = exact(sizes[s] * n_words[w] * sizeof *valid);
                for (size_t i = 0; i < sizes[s]; i++)
                    fill_mask(valid + i * n_words[w], n_words[w], i, kind, &g);
                FOR_EACH_VARIANT (variant)
                    check_count(variant, sizes[s], n_words[w], valid);
                free(valid);
            }
}
