/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transform_simd.c -- the transform in lanes (lanes.h).
 *
 * A butterfly takes R columns that lie L / R columns apart, all in registers:
 * a radix of 8 needs the sixteen that AVX-512 has beside constants.  A block is
 * finished before the next one is begun, so that all passes but the first ones
 * find their columns in the first-level cache.
 */
#include <string.h>

#include "kernels/cpu/fir_columns.h"
#include "kernels/cpu/lanes.h"
#include "kernels/filterbank.h"
#include "kernels/cpu/variants.h"
#include "kernels/cpu/vector.h"

/* Blocks of so many columns, 16 KiB, go through all their passes one pass
 * after the other: they fit the first-level cache. */
#define SMALL_BLOCK 128

/** VEC_LANES spectra of a column. */
struct column {
    vec_float re, im;
};

FX8_INLINE struct column load(const float *at)
{
    struct column x = {VEC(load_ps)(at), VEC(load_ps)(at + FX8_LANES)};
    /* gcc 12 would load again for every use; where registers are scarce it has
     * to */
    if (VEC_REGISTERS > 16)
        __asm__("" : "+v"(x.re), "+v"(x.im));
    return x;
}

FX8_INLINE void store(float *at, struct column x)
{
    VEC(store_ps)(at, x.re);
    VEC(store_ps)(at + FX8_LANES, x.im);
}

FX8_INLINE struct column plus(struct column a, struct column b)
{
    return (struct column){a.re + b.re, a.im + b.im};
}

FX8_INLINE struct column minus(struct column a, struct column b)
{
    return (struct column){a.re - b.re, a.im - b.im};
}

/** x - i y. */
FX8_INLINE struct column plus_turned(struct column x, struct column y)
{
    return (struct column){x.re + y.im, x.im - y.re};
}

/** x + i y. */
FX8_INLINE struct column minus_turned(struct column x, struct column y)
{
    return (struct column){x.re - y.im, x.im + y.re};
}

/** x + by y. */
FX8_INLINE struct column add_scaled(struct column x, float by, struct column y)
{
    const vec_float b = VEC(set1_ps)(by);
    return (struct column){VEC(fmadd_ps)(b, y.re, x.re),
                           VEC(fmadd_ps)(b, y.im, x.im)};
}

/** x - i by y. */
FX8_INLINE struct column add_turned(struct column x, float by, struct column y)
{
    const vec_float b = VEC(set1_ps)(by);
    return (struct column){VEC(fmadd_ps)(b, y.im, x.re),
                           VEC(fnmadd_ps)(b, y.re, x.im)};
}

/** x times the complex number at `by`. */
FX8_INLINE struct column times(struct column x, const float by[2])
{
    const vec_float re = VEC(set1_ps)(by[0]), im = VEC(set1_ps)(by[1]);
    return (struct column){VEC(fmsub_ps)(x.re, re, x.im * im),
                           VEC(fmadd_ps)(x.re, im, x.im * re)};
}

/* --- butterflies: x[m] = sum over j of exp(-2 pi i j m / R) x[j] --- */

FX8_INLINE void divide_by_2(struct column x[2])
{
    const struct column a = x[0];
    x[0] = plus(a, x[1]);
    x[1] = minus(a, x[1]);
}

FX8_INLINE void divide_by_3(struct column x[3])
{
    const float sine = 0.866025404f; /* of a third of a turn */
    const struct column sum = plus(x[1], x[2]), rest = minus(x[1], x[2]);
    const struct column middle = add_scaled(x[0], -0.5f, sum);
    x[0] = plus(x[0], sum);
    x[1] = add_turned(middle, sine, rest);
    x[2] = add_turned(middle, -sine, rest);
}

FX8_INLINE void divide_by_4(struct column x[4])
{
    const struct column a = plus(x[0], x[2]), b = minus(x[0], x[2]);
    const struct column c = plus(x[1], x[3]), d = minus(x[1], x[3]);
    x[0] = plus(a, c);
    x[1] = plus_turned(b, d);
    x[2] = minus(a, c);
    x[3] = minus_turned(b, d);
}

FX8_INLINE void divide_by_5(struct column x[5])
{
    /* of one and of two fifths of a turn */
    const float cosine[2] = {0.309016994f, -0.809016994f};
    const float sine[2] = {0.951056516f, 0.587785252f};
    const struct column near = plus(x[1], x[4]), far = plus(x[2], x[3]);
    const struct column a = minus(x[1], x[4]), b = minus(x[2], x[3]);
    const struct column first =
        add_scaled(add_scaled(x[0], cosine[0], near), cosine[1], far);
    const struct column second =
        add_scaled(add_scaled(x[0], cosine[1], near), cosine[0], far);
    x[0] = plus(x[0], plus(near, far));
    x[1] = add_turned(add_turned(first, sine[0], a), sine[1], b);
    x[4] = add_turned(add_turned(first, -sine[0], a), -sine[1], b);
    x[2] = add_turned(add_turned(second, sine[1], a), -sine[0], b);
    x[3] = add_turned(add_turned(second, -sine[1], a), sine[0], b);
}

/** Sums and differences of columns four apart, then a butterfly of four of the
 *  sums, and one of the differences, each turned back by an eighth more than
 *  the one before.  Those of odd eighths are root ((re + im) + i (im - re)) and
 *  root ((im - re) - i (re + im)): root is left to the last additions. */
FX8_INLINE void divide_by_8(struct column x[8])
{
    const float root = 0.707106781f;
    struct column sum[4], rest[4];
    FX8_UNROLL
    for (int j = 0; j < 4; j++) {
        sum[j] = plus(x[j], x[j + 4]);
        rest[j] = minus(x[j], x[j + 4]);
    }
    divide_by_4(sum);
    const struct column one = {rest[1].re + rest[1].im,
                               rest[1].im - rest[1].re};
    const struct column three = {rest[3].im - rest[3].re,
                                 rest[3].re + rest[3].im}; /* im negated */
    const struct column a = plus_turned(rest[0], rest[2]);
    const struct column b = minus_turned(rest[0], rest[2]);
    const struct column c = {one.re + three.re, one.im - three.im};
    const struct column d = {one.re - three.re, one.im + three.im};
    x[0] = sum[0];
    x[2] = sum[1];
    x[4] = sum[2];
    x[6] = sum[3];
    x[1] = add_scaled(a, root, c);
    x[3] = add_turned(b, root, d);
    x[5] = add_scaled(a, -root, c);
    x[7] = add_turned(b, -root, d);
}

FX8_INLINE void divide(size_t radix, struct column *x)
{
    switch (radix) { /* a constant */
    case 2:
        divide_by_2(x);
        break;
    case 3:
        divide_by_3(x);
        break;
    case 4:
        divide_by_4(x);
        break;
    case 5:
        divide_by_5(x);
        break;
    default:
        divide_by_8(x);
    }
}

/* --- passes --------------------------------------------------------- */

/** VEC_LANES spectra of R columns that lie `apart` floats apart. */
FX8_INLINE void run_column(size_t radix, bool is_last, const float *twiddles,
                           size_t apart, float *columns)
{
    struct column x[FX8_MOST_RADIX];
    FX8_UNROLL
    for (size_t j = 0; j < radix; j++)
        x[j] = load(columns + j * apart);
    divide(radix, x);
    store(columns, x[0]);
    FX8_UNROLL
    for (size_t m = 1; m < radix; m++)
        store(columns + m * apart,
              is_last ? x[m] : times(x[m], twiddles + 2 * m - 2));
}

/** One pass over n_blocks blocks; radix and is_last, which has no twiddle
 *  factors, are constants. */
FX8_INLINE void run_pass(size_t radix, bool is_last,
                         const struct fx8_lanes_pass *pass, size_t n_blocks,
                         float *columns)
{
    const size_t span = is_last ? 1 : pass->length / radix;
    const size_t apart = span * FX8_COLUMN;
    for (size_t block = 0; block < n_blocks; block++) {
        const float *twiddles = pass->twiddles;
        for (size_t k = 0; k < span; k++, columns += FX8_COLUMN) {
            FX8_UNROLL
            for (size_t lane = 0; lane < FX8_LANES; lane += VEC_LANES)
                run_column(radix, is_last, twiddles, apart, columns + lane);
            twiddles += 2 * (radix - 1);
        }
        columns += (radix - 1) * apart;
    }
}

#define DEFINE_PASS(radix)                                                     \
    static void divide_blocks_by_##radix(const struct fx8_lanes_pass *pass,    \
                                         size_t n_blocks, float *columns)      \
    {                                                                          \
        if (pass->length == (radix))                                           \
            run_pass(radix, true, pass, n_blocks, columns);                    \
        else                                                                   \
            run_pass(radix, false, pass, n_blocks, columns);                   \
    }

DEFINE_PASS(2)
DEFINE_PASS(3)
DEFINE_PASS(4)
DEFINE_PASS(5)
DEFINE_PASS(8)

static void divide_blocks(const struct fx8_lanes_pass *pass, size_t n_blocks,
                          float *columns)
{
    static void (*const by_radix[FX8_MOST_RADIX + 1])(
        const struct fx8_lanes_pass *, size_t, float *) = {
        [2] = divide_blocks_by_2, [3] = divide_blocks_by_3,
        [4] = divide_blocks_by_4, [5] = divide_blocks_by_5,
        [8] = divide_blocks_by_8,
    };
    by_radix[pass->radix](pass, n_blocks, columns);
}

/** All passes of a block from `pass` on. */
static void finish_block(const struct fx8_lanes_pass *pass, size_t n_passes,
                         float *columns)
{
    if (n_passes == 0)
        return;
    const size_t length = pass->length;
    if (length <= SMALL_BLOCK) {
        for (size_t p = 0; p < n_passes; p++)
            divide_blocks(&pass[p], length / pass[p].length, columns);
        return;
    }
    divide_blocks(pass, 1, columns);
    for (size_t m = 0; m < pass->radix; m++)
        finish_block(pass + 1, n_passes - 1,
                     columns + m * (length / pass->radix) * FX8_COLUMN);
}

/* --- the filter and the first pass ---------------------------------- */

/** Filter and samples of 16 spectra. */
struct source {
    const struct fx8_lanes_filter *filter;
    const int8_t *samples;
    uint32_t valid;
    size_t n_rows; /* of samples that may be read */
};

/** VEC_LANES floats of a row, from `first` on, in all lanes; their samples
 *  begin at `lines`, LINE apart. */
FX8_INLINE void filter_lanes(bool is_integer, const struct source *source,
                             const int8_t *lines, size_t first, float *folded)
{
    const struct fx8_lanes_filter *filter = source->filter;
    for (size_t lane = 0; lane < FX8_LANES; lane += VEC_LANES) {
        const struct columns at = {
            .samples = lines + lane * LINE,
            .sample_row = LINE,
            .coefficients = is_integer ? NULL : filter->coefficients + first,
            .integers = is_integer ? filter->integers + first : NULL,
            .scale = filter->scale,
            .row = filter->row,
            .n = VEC_LANES,
            .n_taps = filter->n_taps,
        };
        vec_float sums[MOST_SPECTRA];
        sum_columns(is_integer, VEC_LANES, &at, sums);
        vec_turn_floats(sums);
        const uint32_t valid = source->valid >> lane;
        if (source->valid != (1u << FX8_LANES) - 1)
            for (size_t r = 0; r < VEC_LANES; r++)
                sums[r] = vec_keep_lanes(valid, sums[r]);
        FX8_UNROLL
        for (size_t r = 0; r < VEC_LANES; r++)
            VEC(store_ps)(folded + r * FX8_LANES + lane, sums[r]);
    }
}

/** Floats [first, first + width) of a row; the last step overlaps the previous
 *  one.  Rows that may not be read belong to no valid spectrum: their place
 * holds whatever it held. */
FX8_INLINE void filter_lines(bool is_integer, const struct source *source,
                             size_t first, size_t width, float *columns)
{
    FX8_ALIGNED int8_t lines[(FX8_LANES + FX8_MAX_TAPS - 1) * LINE];
    copy_lines(source->n_rows, source->samples + first, source->filter->row,
               width, lines);
    prefetch_rows(FX8_LANES, source->samples + first, source->filter->row,
                  source->filter->n_taps);
    size_t c = 0;
    for (; c + VEC_LANES <= width; c += VEC_LANES)
        filter_lanes(is_integer, source, lines + c, first + c,
                     columns + (first + c) * FX8_LANES);
    if (c < width) {
        c = width - VEC_LANES;
        filter_lanes(is_integer, source, lines + c, first + c,
                     columns + (first + c) * FX8_LANES);
    }
}

/** Whole rows; the last line overlaps the previous one. */
FX8_INLINE void filter_rows(bool is_integer, const struct source *source,
                            float *columns)
{
    const size_t row = source->filter->row;
    if (row < LINE) {
        filter_lines(is_integer, source, 0, row, columns);
        return;
    }
    size_t first = 0;
    for (; first + LINE <= row; first += LINE)
        filter_lines(is_integer, source, first, LINE, columns);
    if (first < row)
        filter_lines(is_integer, source, row - LINE, LINE, columns);
}

static void begin(const struct fx8_lanes_plan *plan,
                  const struct fx8_lanes_filter *filter, uint32_t valid,
                  const int8_t *samples, float *columns)
{
    const size_t last = 31 - (size_t)__builtin_clz(valid);
    const struct source source = {filter, samples, valid,
                                  last + filter->n_taps};
    if (filter->integers == NULL)
        filter_rows(false, &source, columns);
    else
        filter_rows(true, &source, columns);
    if (plan->n_passes > 0)
        divide_blocks(plan->passes, 1, columns);
}

/* --- the other passes ------------------------------------------------ */

/** X[0] of real samples. */
static void join_first(float *at)
{
    for (size_t lane = 0; lane < FX8_LANES; lane += VEC_LANES) {
        const struct column x = load(at + lane);
        store(at + lane, (struct column){x.re + x.im, VEC(set1_ps)(0.0f)});
    }
}

/** Separate and join the even and the odd samples in bins k and n - k: E is
 *  half the sum of one and the conjugate of the other, and joints hold the half
 *  of O. */
FX8_INLINE void join_bins(const struct fx8_lanes_plan *plan, size_t k,
                          float *columns)
{
    const vec_float half = VEC(set1_ps)(0.5f);
    float *low = columns + plan->place[k] * FX8_COLUMN;
    float *high = columns + plan->place[plan->n_columns - k] * FX8_COLUMN;
    for (size_t lane = 0; lane < FX8_LANES; lane += VEC_LANES) {
        const struct column a = load(low + lane), b = load(high + lane);
        const struct column sum = {a.re + b.re, a.im - b.im};
        const struct column odd = times(
            (struct column){a.re - b.re, a.im + b.im}, plan->joints + 2 * k);
        store(low + lane, add_scaled(odd, 0.5f, sum));
        store(high + lane,
              (struct column){VEC(fmsub_ps)(half, sum.re, odd.re),
                              VEC(fnmadd_ps)(half, sum.im, odd.im)});
    }
}

/** The bins of a part: part + i radix, and their mirrors. */
static void join_part(const struct fx8_lanes_plan *plan, size_t part,
                      float *columns)
{
    const size_t radix = plan->passes[0].radix, n = plan->n_columns;
    if (part == 0)
        join_first(columns + plan->place[0] * FX8_COLUMN);
    for (size_t k = part == 0 ? radix : part; 2 * k <= n; k += radix)
        join_bins(plan, k, columns);
    if (part != 0 && 2 * part != radix)
        for (size_t k = radix - part; 2 * k <= n; k += radix)
            join_bins(plan, k, columns);
}

static void finish(const struct fx8_lanes_plan *plan, size_t part,
                   float *columns)
{
    const struct fx8_lanes_pass *first = plan->passes;
    const size_t block = first->length / first->radix * FX8_COLUMN;
    const size_t mirror = (first->radix - part) % first->radix;
    finish_block(first + 1, plan->n_passes - 1, columns + part * block);
    if (!plan->is_real)
        return;
    if (mirror != part)
        finish_block(first + 1, plan->n_passes - 1, columns + mirror * block);
    join_part(plan, part, columns);
}

void FX8_VARIANT(fx8_fill_transform)(struct fx8_operations *operations)
{
    operations->lanes.begin = begin;
    operations->lanes.finish = finish;
}
