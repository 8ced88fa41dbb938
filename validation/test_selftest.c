/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_selftest.c -- the trial of a variant (kernels/cpu/selftest.h): a table
 * whose operation gives one wrong number, the last, is rejected and the
 * operation named; correct variants pass.
 *
 * Shows (kernels, trials): a variant with an operation that gives one wrong
 *     number is not used, and that operation is named
 * Within: the name of the operation that was made wrong
 */
#include "kernels/cpu/selftest.h"
#include "validation/testing.h"

/* The operations, each with its last result wrong. */

static void wrong_gather(size_t n_inputs, size_t n_samples, size_t sample_size,
                         const int8_t *base, const ptrdiff_t *input_offset,
                         ptrdiff_t time_stride, int8_t *out, size_t row_stride)
{
    fx8_operations_variant(0)->gather(n_inputs, n_samples, sample_size, base,
                                      input_offset, time_stride, out,
                                      row_stride);
    out[(n_inputs - 1) * row_stride + n_samples * sample_size - 1] ^= 1;
}

static void wrong_fir(size_t n_spectra, size_t n_taps, size_t row,
                      const int8_t *samples, const float *coefficients,
                      float *folded, size_t folded_stride)
{
    fx8_operations_variant(0)->fir(n_spectra, n_taps, row, samples,
                                   coefficients, folded, folded_stride);
    float *last = &folded[(n_spectra - 1) * folded_stride + row - 1];
    *last += 1.0f + *last * 0x1p-23f;
}

static void wrong_fir_int16(size_t n_spectra, size_t n_taps, size_t row,
                            const int8_t *samples, const int16_t *coefficients,
                            float scale, float *folded, size_t folded_stride)
{
    fx8_operations_variant(0)->fir_int16(n_spectra, n_taps, row, samples,
                                         coefficients, scale, folded,
                                         folded_stride);
    folded[(n_spectra - 1) * folded_stride + row - 1] += scale;
}

/* A clip that is not counted. */
static void wrong_quantise(const struct fx8_spectra_group *group,
                           const float *gain, struct fx8_ci8 *out,
                           size_t channel_stride, uint32_t *clips)
{
    fx8_operations_variant(0)->quantise(group, gain, out, channel_stride,
                                        clips);
    clips[group->n_channels - 1]--;
}

static void wrong_turn(const struct fx8_spectra_group *group,
                       struct fx8_cf32 *out, size_t channel_stride)
{
    fx8_operations_variant(0)->corner_turn(group, out, channel_stride);
    out[(group->n_channels - 1) * channel_stride + group->n_spectra - 1].im +=
        1.0f;
}

static void wrong_count(size_t n_inputs, size_t n_words, const uint64_t *valid,
                        int64_t *counts)
{
    fx8_operations_variant(0)->count(n_inputs, n_words, valid, counts);
    counts[fx8_pair_count(n_inputs) - 1]--;
}

static void wrong_int8(size_t n_inputs, struct fx8_strip strip,
                       int32_t *accumulator, int64_t *sums)
{
    fx8_operations_variant(0)->int8.fold(n_inputs, strip, accumulator, sums);
    sums[2 * fx8_pair_count(n_inputs) - 2]++;
}

static void wrong_fp32(size_t n_inputs, struct fx8_strip strip,
                       double *accumulator, double *sums)
{
    fx8_operations_variant(0)->fp32.fold(n_inputs, strip, accumulator, sums);
    sums[2 * fx8_pair_count(n_inputs) - 2] += 1.0;
}

static void wrong_interval(size_t n_inputs, struct fx8_strip strip,
                           double *accumulator, double *down, double *up)
{
    fx8_operations_variant(0)->interval.fold(n_inputs, strip, accumulator, down,
                                             up);
    up[2 * fx8_pair_count(n_inputs) - 2] += 1.0;
}

static void wrong_half(size_t n, float scale, const float *x, uint16_t *half)
{
    fx8_operations_variant(0)->half.from_float(n, scale, x, half);
    half[n - 1] ^= 1;
}

static void wrong_image(const struct fx8_image_channel *channel,
                        const double *directions, float *phasors, float *sums)
{
    fx8_operations_variant(0)->image(channel, directions, phasors, sums);
    sums[FX8_IMAGE_LANES - 1] += 1.0f;
}

/* The reference has no vectors of pairs; NULL: nor has this machine. */
static void (*find_unscale(void))(const struct fx8_unscale *)
{
    for (size_t index = fx8_operations_variants(); index-- > 1;)
        if (fx8_operations_variant(index) != NULL)
            return fx8_operations_variant(index)->unscale;
    return NULL;
}

static void wrong_unscale(const struct fx8_unscale *row)
{
    find_unscale()(row);
    float *last =
        &row->values[(row->n_channels - 1) * row->value_step + row->n - 1].re;
    *last += 1.0f + *last;
}

/* A table that is the reference except for one operation. */
#define IS_NAMED(member, name)                                                 \
    do {                                                                       \
        struct fx8_operations table = *reference;                              \
        table.member = wrong_##name;                                           \
        const char *named = fx8_operations_disagreement(reference, &table);    \
        assert_non_null(named);                                                \
        assert_string_equal(named, #name);                                     \
    } while (0)

TEST(one_wrong_number_is_named)
{
    const struct fx8_operations *reference = fx8_operations_variant(0);
    IS_NAMED(gather, gather);
    IS_NAMED(fir, fir);
    IS_NAMED(fir_int16, fir_int16);
    IS_NAMED(quantise, quantise);
    IS_NAMED(corner_turn, turn);
    IS_NAMED(count, count);
    IS_NAMED(int8.fold, int8);
    IS_NAMED(fp32.fold, fp32);
    IS_NAMED(interval.fold, interval);
    IS_NAMED(half.from_float, half);
    IS_NAMED(image, image);
    if (find_unscale() != NULL)
        IS_NAMED(unscale, unscale);
}

TEST(right_levels_agree)
{
    const struct fx8_operations *reference = fx8_operations_variant(0);
    for (size_t index = 0; index < fx8_operations_variants(); index++) {
        const struct fx8_operations *variant = fx8_operations_variant(index);
        if (variant != NULL)
            assert_null(fx8_operations_disagreement(reference, variant));
    }
}
