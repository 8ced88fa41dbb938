/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_lanes.c -- the filter bank with 16 spectra side by side, every variant:
 * its filter, quantiser and corner turn against the operations that take one
 * spectrum at a time, its transform against a direct sum in double precision.
 *
 * Shows (kernels, transform): 16 spectra side by side have the spectra of the
 *     direct sum, and filter, quantiser and corner turn of one at a time; a
 *     spectrum does not depend on its lane or on the width of the registers
 * Within: filter, quantiser and turn to the bit; transform 8·2⁻²⁴ (1 + log₂ N)
 *     √Σ|x|²; lanes and vector variants to the bit
 * Because: a transform rounds a few times a pass
 */
#include <math.h>

#include "config/base/shape.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/variants.h"
#include "validation/complex_value.h"
#include "validation/testing.h"
#include "validation/variants.h"

static const double PI = 3.14159265358979323846;

/* Columns of the transforms: every radix as the first and as the last, blocks
 * below and above those that stay in the first-level cache. */
static const size_t lengths[] = {8,  9,   10,  12,  15,  16,  25,   32,
                                 60, 100, 128, 243, 256, 625, 1024, 1536};
#define N_LENGTHS (sizeof lengths / sizeof lengths[0])

static void *new_floats(size_t n)
{
    void *memory;
    assert_int_equal(fx8_allocate(n, sizeof(float), "a test", &memory, NULL),
                     FX8_OK);
    return memory;
}

static struct fx8_lanes_plan opened(size_t length, bool is_complex)
{
    struct fx8_error error;
    struct fx8_lanes_plan plan;
    assert_true(fx8_lanes_has(length, is_complex));
    must(fx8_lanes_open(length, is_complex, &plan, &error), error);
    return plan;
}

/* --- transform ------------------------------------------------------ */

/* Sample n of a lane: of real samples, columns hold pairs. */
static double complex sample(const float *columns, bool is_complex, size_t n,
                             size_t lane)
{
    if (!is_complex)
        return columns[n * FX8_LANES + lane];
    const float *at = columns + n * FX8_COLUMN + lane;
    return CMPLX(at[0], at[FX8_LANES]);
}

/* The bins of one lane against the direct sum. */
static void check_lane(const struct fx8_lanes_plan *plan, const float *in,
                       const float *out, size_t lane)
{
    const bool is_complex = !plan->is_real;
    const size_t n = plan->n_columns * (is_complex ? 1 : 2);
    double norm = 0.0;
    for (size_t k = 0; k < n; k++) {
        const double size = cabs(sample(in, is_complex, k, lane));
        norm += size * size;
    }
    const double bound = 8 * 0x1p-24 * (1 + log2((double)n)) * sqrt(norm);
    for (size_t bin = 0; bin < plan->n_columns; bin++) {
        double complex sum = 0.0;
        for (size_t k = 0; k < n; k++)
            sum += sample(in, is_complex, k, lane) *
                   cexp(CMPLX(0, -2 * PI * (double)(k * bin % n) / (double)n));
        const double complex got = sample(out, true, plan->place[bin], lane);
        assert_true(cabs(got - sum) <= bound);
    }
}

static void transform(const struct fx8_operations *operations,
                      const struct fx8_lanes_plan *plan,
                      const struct fx8_lanes_filter *filter,
                      const int8_t *samples, float *columns)
{
    operations->lanes.begin(plan, filter, 0xffff, samples, columns);
    for (size_t part = 0; part < plan->n_parts; part++)
        operations->lanes.finish(plan, part, columns);
}

static void check_transform(size_t length, bool is_complex, struct generator *g)
{
    static const struct fx8_lanes_plan no_passes;
    struct fx8_lanes_plan plan = opened(length, is_complex);
    const size_t row = 2 * plan.n_columns, n = row * FX8_LANES;
    float *in = new_floats(n), *out = new_floats(n), *first = new_floats(n);
    float *coefficients = new_floats(row);
    int8_t *samples = exact(n);
    for (size_t i = 0; i < row; i++)
        coefficients[i] = (float)random_uniform(g);
    for (size_t i = 0; i < n; i++)
        samples[i] = (int8_t)random_in(g, -128, 127);
    memcpy(samples + 11 * row, samples + 2 * row, row); /* one spectrum twice */
    const struct fx8_lanes_filter filter = {
        .n_taps = 1, .row = row, .coefficients = coefficients};
    const struct fx8_operations *plain = fx8_operations_variant(0);
    plain->lanes.begin(&no_passes, &filter, 0xffff, samples, in);
    bool has_first = false;
    FOR_EACH_VARIANT (variant) {
        memset(out, GARBAGE, n * sizeof *out);
        transform(variant, &plan, &filter, samples, out);
        check_lane(&plan, in, out, 5);
        check_lane(&plan, in, out, 11);
        for (size_t k = 0; k < n; k += FX8_LANES)
            assert_true(out[k + 11] == out[k + 2]);
        if (variant == plain)
            continue;
        if (has_first)
            assert_memory_equal(out, first, n * sizeof *out);
        memcpy(first, out, n * sizeof *out);
        has_first = true;
    }
    free(samples);
    free(coefficients);
    free(first);
    free(out);
    free(in);
    fx8_lanes_close(&plan);
}

TEST(test_transform)
{
    struct generator g = {1};
    for (size_t i = 0; i < N_LENGTHS; i++) {
        check_transform(lengths[i], true, &g);
        check_transform(2 * lengths[i], false, &g);
    }
}

TEST(test_lengths)
{
    static const size_t none[] = {0, 1, 7, 11, 14, 26, 49, 1 << 17};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_false(fx8_lanes_has(none[i], true));
        assert_false(fx8_lanes_has(2 * none[i], false));
    }
    assert_false(fx8_lanes_has(27, false)); /* no pairs */
    assert_true(fx8_lanes_has(65536, true));
    for (size_t i = 0; i < N_LENGTHS; i++) {
        struct fx8_lanes_plan plan = opened(lengths[i], true);
        uint8_t *seen = exact(lengths[i]);
        memset(seen, 0, lengths[i]);
        for (size_t bin = 0; bin < lengths[i]; bin++)
            assert_int_equal(seen[plan.place[bin]]++, 0);
        free(seen);
        fx8_lanes_close(&plan);
    }
}

/* --- filter --------------------------------------------------------- */

/* Both filters of one shape and mask against rows of the reference. */
static void check_fold(size_t row, size_t n_taps, uint32_t valid,
                       struct generator *g)
{
    const size_t last = 31 - (size_t)__builtin_clz(valid);
    const size_t n_samples = (last + n_taps) * row;
    int8_t *samples = exact(n_samples);
    float *coefficients = new_floats(n_taps * row);
    int16_t *integers = exact(n_taps * row * sizeof *integers);
    for (size_t i = 0; i < n_samples; i++)
        samples[i] = (int8_t)random_in(g, -128, 127);
    for (size_t i = 0; i < n_taps * row; i++) {
        coefficients[i] = (float)random_in(g, -1000000, 1000000) * 0x1p-20f;
        integers[i] = (int16_t)random_in(g, -32767, 32767);
    }
    float *rows = new_floats((last + 1) * row);
    float *folded = new_floats(row * FX8_LANES);
    static const struct fx8_lanes_plan no_passes;
    const struct fx8_operations *plain = fx8_operations_variant(0);
    for (int is_integer = 0; is_integer < 2; is_integer++) {
        if (is_integer)
            plain->fir_int16(last + 1, n_taps, row, samples, integers, 0x1p-9f,
                             rows, row);
        else
            plain->fir(last + 1, n_taps, row, samples, coefficients, rows, row);
        FOR_EACH_VARIANT (variant) {
            const struct fx8_lanes_filter filter = {
                .n_taps = n_taps,
                .row = row,
                .coefficients = coefficients,
                .integers = is_integer ? integers : NULL,
                .scale = 0x1p-9f};
            memset(folded, GARBAGE, row * FX8_LANES * sizeof *folded);
            variant->lanes.begin(&no_passes, &filter, valid, samples, folded);
            for (size_t r = 0; r < row; r++)
                for (size_t t = 0; t < FX8_LANES; t++) {
                    const float want =
                        (valid >> t & 1) == 0 ? 0.0f : rows[t * row + r];
                    assert_memory_equal(&folded[r * FX8_LANES + t], &want,
                                        sizeof want);
                }
        }
    }
    free(folded);
    free(rows);
    free(integers);
    free(coefficients);
    free(samples);
}

TEST(test_fold)
{
    static const size_t rows[] = {16, 18, 20, 30, 32, 50, 64, 70, 130, 2048};
    static const size_t taps[] = {1, 2, 3, 4, 7, 8, 17};
    struct generator g = {2};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t p = 0; p < sizeof taps / sizeof *taps; p++) {
            check_fold(rows[r], taps[p], 0xffff, &g);
            check_fold(rows[r], taps[p], 1, &g);
            check_fold(rows[r], taps[p], 0x0080, &g);
            check_fold(rows[r], taps[p], 0x8000, &g);
            check_fold(rows[r], taps[p], 0x00ff, &g);
            check_fold(rows[r], taps[p], 1 + (uint32_t)random_below(&g, 0xffff),
                       &g);
        }
}

/* --- quantiser and corner turn -------------------------------------- */

/* A component: noise, some of it clipped; limits and ties; far beyond. */
static float component(int data, struct generator *g)
{
    static const float special[] = {127.5f,  -127.5f, 127.49999f, -127.49999f,
                                    126.5f,  -126.5f, 127.0f,     -127.0f,
                                    128.0f,  -128.0f, 0.5f,       -0.5f,
                                    0x1p31f, -3e38f,  3e38f,      -0x1p31f};
    return data == 0   ? (float)(300.0 * random_uniform(g) - 150.0)
           : data == 1 ? (float)(100.0 * random_uniform(g) - 50.0)
                       : special[random_below(g, 16)] / 2.0f;
}

/* The group in lanes against the same spectra one at a time, in the
 * reference. */
static void check_group(size_t n_channels, uint32_t valid, int data,
                        bool is_rotated, bool is_dithered, struct generator *g)
{
    const size_t stride = 2 * FX8_GROUP, n_items = n_channels * stride;
    const size_t n_columns = n_channels + 3;
    float *halves[2], *gain = new_floats(n_channels);
    struct fx8_lanes_channel *channels = exact(n_channels * sizeof *channels);
    float *factors = new_floats(fx8_lanes_factors(n_channels));
    struct fx8_cf32 *spectra = exact(FX8_GROUP * n_channels * sizeof *spectra);
    struct fx8_phases phases = {.middle_slope = random_bits(g)};
    for (size_t h = 0; h < 2; h++) {
        halves[h] = new_floats(n_columns * FX8_COLUMN);
        memset(halves[h], 0, n_columns * FX8_COLUMN * sizeof *halves[h]);
    }
    for (size_t c = 0; c < n_channels; c++) {
        channels[c] = (struct fx8_lanes_channel){(uint32_t)c,
                                                 (uint32_t)(n_columns - 1 - c)};
        gain[c] = data == 2 ? 2.0f : 0.5f + (float)random_uniform(g);
        for (size_t t = 0; t < FX8_GROUP; t++) {
            struct fx8_cf32 *x = &spectra[t * n_channels + c];
            *x = (valid >> t & 1) == 0 ? (struct fx8_cf32){0.0f, 0.0f}
                                       : (struct fx8_cf32){component(data, g),
                                                           component(data, g)};
            float *at = halves[t / FX8_LANES] +
                        channels[c].column * FX8_COLUMN + t % FX8_LANES;
            at[0] = (valid >> t & 1) == 0 ? -0.0f : x->re;
            at[FX8_LANES] = (valid >> t & 1) == 0 ? -0.0f : x->im;
        }
    }
    for (size_t t = 0; t < FX8_GROUP; t++) {
        phases.first[t] = random_bits(g);
        phases.slope[t] = random_bits(g);
    }
    const struct fx8_dither dither = {
        .input = (uint32_t)random_bits(g),
        .band_hz = (uint32_t)random_bits(g),
        .channel = (uint32_t)random_bits(g),
        .first_sample = (int64_t)random_bits(g),
        .spectrum = random_in(g, 0, 1000) * FX8_DITHER_SPECTRA,
    };
    const struct fx8_spectra_group one = {
        .n_spectra = FX8_GROUP,
        .n_channels = n_channels,
        .spectra = spectra,
        .stride = n_channels,
        .valid = valid,
        .phases = is_rotated ? &phases : NULL,
        .dither = is_dithered ? &dither : NULL,
    };
    const struct fx8_lanes_group group = {
        .n_channels = n_channels,
        .channels = channels,
        .halves = {(valid & 0xffff) == 0 ? NULL : halves[0],
                   valid >> FX8_LANES == 0 ? NULL : halves[1]},
        .valid = valid,
        .phases = one.phases,
        .factors = factors,
        .dither = one.dither,
        .is_streamed = random_below(g, 2) == 0};
    struct fx8_ci8 *int8 = new_floats(n_items), *got8 = new_floats(n_items);
    struct fx8_cf32 *fp32 = new_floats(2 * n_items);
    struct fx8_cf32 *got32 = new_floats(2 * n_items);
    uint32_t *clips = exact(n_channels * sizeof *clips);
    uint32_t *got_clips = exact(n_channels * sizeof *clips);
    const struct fx8_operations *plain = fx8_operations_variant(0);
    memset(int8, GARBAGE, n_items * sizeof *int8);
    memset(clips, 0, n_channels * sizeof *clips);
    plain->quantise(&one, gain, int8, stride, clips);
    plain->corner_turn(&one, fp32, stride);
    FOR_EACH_VARIANT (variant) {
        memset(got8, GARBAGE, n_items * sizeof *got8);
        memset(got_clips, 0, n_channels * sizeof *clips);
        variant->lanes.find_factors(&phases, n_channels, factors);
        variant->lanes.quantise(&group, gain, got8, stride, got_clips);
        assert_memory_equal(got8, int8, n_items * sizeof *int8);
        assert_memory_equal(got_clips, clips, n_channels * sizeof *clips);
        variant->lanes.corner_turn(&group, got32, stride);
        for (size_t c = 0; c < n_channels; c++)
            assert_memory_equal(got32 + c * stride, fp32 + c * stride,
                                FX8_GROUP * sizeof *fp32);
    }
    free(got_clips);
    free(clips);
    free(got32);
    free(fp32);
    free(got8);
    free(int8);
    free(spectra);
    free(factors);
    free(channels);
    free(gain);
    free(halves[1]);
    free(halves[0]);
}

TEST(test_groups)
{
    static const size_t channels[] = {1, 2, 31, 32, 33, 64, 100};
    static const uint32_t masks[] = {0xffffffff, 0x0000ffff, 0xffff0000,
                                     0x00000001, 0x80000000, 0xfff7fffe,
                                     0};
    struct generator g = {3};
    for (size_t c = 0; c < sizeof channels / sizeof *channels; c++)
        for (size_t m = 0; m < sizeof masks / sizeof *masks; m++)
            for (int data = 0; data < 3; data++)
                for (int k = 0; k < 4; k++)
                    check_group(channels[c], masks[m], data, k % 2 == 1, k > 1,
                                &g);
}
