/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_kernels_f.c -- gather, FIR, quantise and corner turn: the reference
 * against definitions given here, every variant against the reference, bit for
 * bit. Results start as garbage and are compared whole, including gaps and
 * guard bytes; sources have their exact size, for the address sanitizer.
 *
 * Shows (kernels, operations): every variant agrees with its definition at
 *     ragged sizes, with −128 and with garbage in the results
 * Within: integers and FIR to the bit; FP32 sums 520·2⁻²⁴ of Σ|x||x|
 * Because: integer sums have one value and the FIR has one order; 512 roundings
 *     and a few
 * In: test_kernels_x.c
 */
#include <math.h>

#include "config/base/shape.h"
#include "kernels/cpu/variants.h"
#include "validation/testing.h"
#include "validation/variants.h"

#define GUARD ((size_t)64)

/* --- variants against the reference ------------------------------------------
 */

/** One operation on one set of arguments, its results within `out`. */
typedef void run_case(const struct fx8_operations *operations, void *arguments,
                      uint8_t *out);

/** Run the reference into `expected` (size bytes), then every variant of this
 *  machine, and compare; a guard at the end stays garbage. */
static void check_variants(run_case *run, void *arguments, uint8_t *expected,
                           size_t size)
{
    memset(expected, GARBAGE, size);
    run(fx8_operations_variant(0), arguments, expected);
    uint8_t *got = exact(size);
    FOR_EACH_VARIANT (variant) {
        memset(got, GARBAGE, size);
        run(variant, arguments, got);
        if (memcmp(got, expected, size) != 0)
            print_error("variant %s differs from the reference\n",
                        variant->name);
        assert_memory_equal(got, expected, size);
    }
    free(got);
    for (size_t k = size - GUARD; k < size; k++)
        assert_int_equal(expected[k], GARBAGE);
}

/** Bytes [begin, end) were not written. */
static void check_garbage(const uint8_t *bytes, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        assert_int_equal(bytes[i], GARBAGE);
}

/* --- gather ----------------------------------------------------------------
 */

struct gather_case {
    size_t n_inputs, n_samples, sample_size;
    const int8_t *base;
    ptrdiff_t offset[80];
    ptrdiff_t time_stride;
    size_t row_stride;
    size_t out_byte; /* where the rows begin in the result */
};

static void run_gather(const struct fx8_operations *operations, void *arguments,
                       uint8_t *out)
{
    const struct gather_case *c = arguments;
    operations->gather(c->n_inputs, c->n_samples, c->sample_size, c->base,
                       c->offset, c->time_stride, (int8_t *)out + c->out_byte,
                       c->row_stride);
}

/** Offset of an input, in bytes, in one of several layouts of a recording. */
static ptrdiff_t layout_offset(int layout, size_t input, size_t n_inputs,
                               size_t size, struct generator *g)
{
    switch (layout) {
    case 0: /* neighbours */
        return (ptrdiff_t)(input * size);
    case 1: /* polarisations swapped */
        return (ptrdiff_t)((input ^ 1) * size);
    case 2: /* reversed */
        return (ptrdiff_t)((n_inputs - 1 - input) * size);
    case 3: /* several channels between two antennas */
        return (ptrdiff_t)(input * size * 3);
    case 4: /* anywhere, odd bytes too, some twice */
        return (ptrdiff_t)random_below(g, n_inputs * size);
    case 5: /* two planes far apart */
        return (ptrdiff_t)(input * size + (input >= 40 ? 1001 : 0));
    default: /* the same sample for all */
        return 0;
    }
}

/** Check one case on a source that holds exactly the bytes it may read. */
static void check_gather(struct gather_case *c, struct generator *g)
{
    const ptrdiff_t last = ((ptrdiff_t)c->n_samples - 1) * c->time_stride;
    ptrdiff_t low = PTRDIFF_MAX, high = PTRDIFF_MIN;
    for (size_t i = 0; i < c->n_inputs; i++) {
        low = c->offset[i] < low ? c->offset[i] : low;
        high = c->offset[i] > high ? c->offset[i] : high;
    }
    for (size_t i = 0; i < c->n_inputs; i++)
        c->offset[i] -= low;
    high -= low;
    const size_t extent =
        (size_t)(high + (last < 0 ? -last : last)) + c->sample_size;
    int8_t *source = exact(extent);
    for (size_t i = 0; i < extent; i++)
        source[i] = (int8_t)random_in(g, -128, 127);
    c->base = source + (last < 0 ? -last : 0);

    const size_t size = c->out_byte + c->n_inputs * c->row_stride + GUARD;
    uint8_t *expected = exact(size);
    check_variants(run_gather, c, expected, size);
    check_garbage(expected, 0, c->out_byte);
    const size_t row_bytes = c->n_samples * c->sample_size;
    for (size_t i = 0; i < c->n_inputs; i++) {
        const uint8_t *row = expected + c->out_byte + i * c->row_stride;
        for (size_t b = 0; b < row_bytes; b++) {
            const ptrdiff_t t = (ptrdiff_t)(b / c->sample_size);
            const ptrdiff_t byte = (ptrdiff_t)(b % c->sample_size);
            const int8_t want =
                c->base[c->offset[i] + t * c->time_stride + byte];
            assert_int_equal((int8_t)row[b], want);
        }
        check_garbage(row, row_bytes, c->row_stride);
    }
    free(expected);
    free(source);
}

TEST(test_gather)
{
    static const size_t sample_counts[] = {1, 31, 32, 33, 64, 257, 300};
    static const size_t input_counts[] = {1,  2,  3,  4,  7,  16, 31,
                                          32, 33, 47, 63, 64, 65, 80};
    struct generator g = {1};
    for (size_t size = 1; size <= 2; size++)
        for (size_t s = 0; s < 7; s++)
            for (size_t n = 0; n < 14; n++)
                for (int shape = 0; shape < 7 * 5; shape++) {
                    struct gather_case c = {.n_inputs = input_counts[n],
                                            .n_samples = sample_counts[s],
                                            .sample_size = size,
                                            .out_byte = 1};
                    for (size_t i = 0; i < c.n_inputs; i++)
                        c.offset[i] =
                            layout_offset(shape % 7, i, c.n_inputs, size, &g);
                    const ptrdiff_t width = (ptrdiff_t)(c.n_inputs * size);
                    const ptrdiff_t strides[] = {(ptrdiff_t)size, width,
                                                 width + 3, -width - 1, 0};
                    c.time_stride = strides[shape / 7];
                    c.row_stride = c.n_samples * size + n % 3;
                    check_gather(&c, &g);
                }
}

/* Rows large enough to be streamed past the caches, whole lines apart; they
 * begin and end within a line. */
TEST(test_gather_streamed)
{
    static const size_t input_counts[] = {32, 37, 66, 80};
    static const size_t begins[] = {0, 2, 63, 48};
    struct generator g = {2};
    for (size_t size = 1; size <= 2; size++)
        for (int k = 0; k < 16; k++) {
            struct gather_case c = {.n_inputs = input_counts[k / 4],
                                    .sample_size = size,
                                    .out_byte = begins[k % 4]};
            c.n_samples = ((size_t)520 << 10) / size / c.n_inputs;
            c.n_samples += random_below(&g, 70);
            for (size_t i = 0; i < c.n_inputs; i++)
                c.offset[i] = layout_offset(k % 4, i, c.n_inputs, size, &g);
            c.time_stride =
                (ptrdiff_t)(c.n_inputs * size * (k % 4 == 3 ? 3 : 1));
            c.row_stride = (c.n_samples * size + 127) / 64 * 64;
            check_gather(&c, &g);
        }
}

/* --- FIR -------------------------------------------------------------------
 */

struct fir_case {
    size_t n_spectra, n_taps, row, folded_stride;
    const int8_t *samples;
    const float *coefficients;
    const int16_t *integers;
};

/* Value of a unit of the integers. */
#define SCALE 0x1.3579bp-17f

static void run_fir(const struct fx8_operations *operations, void *arguments,
                    uint8_t *out)
{
    const struct fir_case *c = arguments;
    operations->fir(c->n_spectra, c->n_taps, c->row, c->samples,
                    c->coefficients, (float *)(void *)out, c->folded_stride);
}

static void run_fir_int16(const struct fx8_operations *operations,
                          void *arguments, uint8_t *out)
{
    const struct fir_case *c = arguments;
    operations->fir_int16(c->n_spectra, c->n_taps, c->row, c->samples,
                          c->integers, SCALE, (float *)(void *)out,
                          c->folded_stride);
}

/**
 * Reference against a direct long-double sum: P roundings, each of relative
 * size u = 2^-24 at most, err by no more than P u / (1 - P u) sum |c x|.  A
 * double holds every sum of integers.
 */
static void check_fir_sum(const struct fir_case *c, bool is_integer, size_t t,
                          size_t r, float got)
{
    long double sum = 0, magnitude = 0;
    double exact_sum = 0;
    for (size_t tap = 0; tap < c->n_taps; tap++) {
        const size_t at = tap * c->row + r;
        const int8_t sample = c->samples[t * c->row + at];
        const long double term = (long double)c->coefficients[at] * sample;
        exact_sum += (double)c->integers[at] * sample;
        sum += term;
        magnitude += fabsl(term);
    }
    const long double roundings = (long double)c->n_taps * 0x1p-24L;
    const long double bound = roundings / (1 - roundings) * magnitude;
    if (is_integer)
        assert_true(got == (float)exact_sum * SCALE);
    else
        assert_true(fabsl((long double)got - sum) <= bound);
}

/** Check one shape of both filters; data 0: random, 1: the largest sums,
 *  positive, 2: and negative, 3: extremes. */
static void check_fir(size_t n_spectra, size_t n_taps, size_t row, int data,
                      struct generator *g)
{
    const size_t n_samples = (n_spectra + n_taps - 1) * row;
    const size_t n = n_taps * row;
    int8_t *memory = exact(n_samples + 1);
    int8_t *samples = memory + 1; /* unaligned */
    int16_t *integers = exact(n * sizeof *integers);
    void *coefficients;
    assert_int_equal(
        fx8_allocate(n, sizeof(float), "coefficients", &coefficients, NULL),
        FX8_OK);
    for (size_t i = 0; i < n_samples; i++)
        samples[i] = data == 0   ? (int8_t)random_in(g, -128, 127)
                     : data == 3 ? (random_below(g, 2) == 0 ? 127 : -128)
                                 : -128;
    for (size_t i = 0; i < n; i++) {
        integers[i] =
            (int16_t)(data == 0   ? random_in(g, -32767, 32767)
                      : data == 1 ? -32767
                      : data == 2 ? 32767
                                  : random_in(g, 0, 1) * 65534 - 32767);
        ((float *)coefficients)[i] =
            ((float)random_below(g, 1 << 24) - 0x1p23f) * 0x1p-24f;
    }
    struct fir_case c = {n_spectra, n_taps,       row,     row + n_spectra % 3,
                         samples,   coefficients, integers};
    const size_t size = n_spectra * c.folded_stride * sizeof(float) + GUARD;
    uint8_t *expected = exact(size);
    for (int is_integer = 0; is_integer < 2; is_integer++) {
        check_variants(is_integer ? run_fir_int16 : run_fir, &c, expected,
                       size);
        const float *folded = (const float *)(const void *)expected;
        for (size_t t = 0; t < n_spectra; t++) {
            for (size_t r = 0; r < row; r++)
                check_fir_sum(&c, is_integer, t, r,
                              folded[t * c.folded_stride + r]);
            check_garbage(expected, (t * c.folded_stride + row) * sizeof(float),
                          (t + 1) * c.folded_stride * sizeof(float));
        }
    }
    free(expected);
    free(coefficients);
    free(integers);
    free(memory);
}

TEST(test_fir)
{
    static const size_t taps[] = {1, 2, 3, 4, 5, 8, 15, 16, 64};
    struct generator g = {2};
    for (size_t p = 0; p < sizeof taps / sizeof taps[0]; p++) {
        for (size_t row = 1; row <= 67; row += 2)
            for (size_t n = 1; n <= 33; n += row % 8 == 7 ? 1 : 5)
                check_fir(n, taps[p], row, (int)((n + row / 2) % 4), &g);
        for (int data = 0; data < 4; data++) {
            check_fir(33, taps[p], 128, data, &g);
            check_fir(20, taps[p], 64, data, &g);
        }
        check_fir(17, taps[p], 2048, 0, &g);
    }
}

/* --- quantise and corner turn
 * ------------------------------------------------------
 */

struct quantise_case {
    struct fx8_spectra_group group;
    size_t channel_stride;
    const float *gain;
};

/** Clips of a result: behind its rows and a guard, counting up from 7. */
static size_t clips_at(const struct quantise_case *c)
{
    return fx8_round_up(c->group.n_channels * c->channel_stride *
                                sizeof(struct fx8_ci8) +
                            GUARD,
                        4);
}

static void run_quantise(const struct fx8_operations *operations,
                         void *arguments, uint8_t *out)
{
    const struct quantise_case *c = arguments;
    uint32_t *clips = (uint32_t *)(void *)(out + clips_at(c));
    for (size_t channel = 0; channel < c->group.n_channels; channel++)
        clips[channel] = 7;
    operations->quantise(&c->group, c->gain, (struct fx8_ci8 *)out,
                         c->channel_stride, clips);
}

static void run_turn(const struct fx8_operations *operations, void *arguments,
                     uint8_t *out)
{
    const struct quantise_case *c = arguments;
    operations->corner_turn(&c->group, (struct fx8_cf32 *)(void *)out,
                            c->channel_stride);
}

/** Rounding half to even and clamping, in integers where it matters. */
static int want_quantised(float value, bool *is_clipped)
{
    *is_clipped = *is_clipped || value >= 127.5f || value <= -127.5f;
    if (value >= 127.0f)
        return 127;
    if (value <= -127.0f)
        return -127;
    const int below = (int)floorf(value);
    const float rest = value - (float)below;
    if (rest == 0.5f)
        return below % 2 == 0 ? below : below + 1;
    return rest > 0.5f ? below + 1 : below;
}

/** A spectrum's value times a gain, rotated; test_engine.c compares rotations
 *  with another computation. */
static struct fx8_cf32 want_turned(const struct fx8_spectra_group *group,
                                   size_t t, size_t channel, float gain)
{
    const struct fx8_cf32 x = group->spectra[t * group->stride + channel];
    if ((group->valid >> t & 1) == 0)
        return (struct fx8_cf32){0, 0};
    return group->phases == NULL
               ? (struct fx8_cf32){x.re * gain, x.im * gain}
               : fx8_rotate_reference(x, group->phases, t, channel, gain);
}

/** The reference's integers and clips against want_quantised(). */
static void check_quantised(const struct quantise_case *c, const uint8_t *out)
{
    const struct fx8_ci8 *got = (const struct fx8_ci8 *)out;
    const uint32_t *clips = (const uint32_t *)(const void *)(out + clips_at(c));
    for (size_t channel = 0; channel < c->group.n_channels; channel++) {
        uint32_t n_clips = 7;
        for (size_t t = 0; t < c->group.n_spectra; t++) {
            struct fx8_cf32 x =
                want_turned(&c->group, t, channel, c->gain[channel]);
            if (c->group.dither != NULL && (c->group.valid >> t & 1) != 0) {
                const uint32_t noise =
                    fx8_dither_at(c->group.dither, t, channel);
                x.re += fx8_dither_re(noise);
                x.im += fx8_dither_im(noise);
            }
            bool is_clipped = false;
            const size_t at = channel * c->channel_stride + t;
            assert_int_equal(got[at].re, want_quantised(x.re, &is_clipped));
            assert_int_equal(got[at].im, want_quantised(x.im, &is_clipped));
            n_clips += is_clipped;
        }
        assert_int_equal(clips[channel], n_clips);
        check_garbage(out,
                      (channel * c->channel_stride + c->group.n_spectra) *
                          sizeof *got,
                      (channel + 1) * c->channel_stride * sizeof *got);
    }
}

static void check_turned(const struct quantise_case *c, const uint8_t *out)
{
    const struct fx8_cf32 *got = (const struct fx8_cf32 *)(const void *)out;
    for (size_t channel = 0; channel < c->group.n_channels; channel++) {
        const size_t row = channel * c->channel_stride;
        for (size_t t = 0; t < c->group.n_spectra; t++) {
            const struct fx8_cf32 x = want_turned(&c->group, t, channel, 1.0f);
            assert_memory_equal(&got[row + t], &x, sizeof x);
        }
        check_garbage(out, (row + c->group.n_spectra) * sizeof *got,
                      (row + c->channel_stride) * sizeof *got);
    }
}

/** One component; data 0: noise, some of it clipped, 1: ties and values near
 *  the limits, 2: zero, 3: far beyond, 4: subnormal. */
static float component(int data, struct generator *g)
{
    static const float special[] = {
        127.5f,  -127.5f,  127.49999f, -127.49999f, 126.5f, -126.5f,
        127.0f,  -127.0f,  128.0f,     -128.0f,     0.5f,   -0.5f,
        1.5f,    -1.5f,    2.5f,       -2.5f,       -0.0f,  0.49999997f,
        0x1p31f, -0x1p31f, 0x1p63f,    3e38f,       -3e38f, 125.5f};
    switch (data) {
    case 0:
        return (float)(300.0 * random_uniform(g) - 150.0);
    case 1:
        return special[random_below(g, 24)];
    case 2:
        return 0.0f;
    case 3:
        return random_below(g, 2) == 0 ? 1e30f : -1e30f;
    default:
        return (float)random_below(g, 1 << 24) * 0x1p-149f;
    }
}

/** Any place, also where the number of a call has more than 32 bits. */
static struct fx8_dither some_dither(size_t n_spectra, struct generator *g)
{
    const size_t room = FX8_GROUP - n_spectra;
    const size_t most = room < FX8_DITHER_SPECTRA ? room + 1 : room;
    const uint64_t block = random_bits(g) >> random_in(g, 8, 40);
    return (struct fx8_dither){
        .input = (uint32_t)random_bits(g),
        .band_hz = (uint32_t)random_bits(g),
        .channel = (uint32_t)random_bits(g),
        .first_sample = (int64_t)random_bits(g),
        .spectrum =
            (int64_t)(block * FX8_DITHER_SPECTRA +
                      random_below(g, (unsigned)most) % FX8_DITHER_SPECTRA),
    };
}

/** Check quantise and corner turn of one shape. */
static void check_quantise(size_t n_spectra, size_t n_channels, int data,
                           bool is_rotated, bool is_dithered,
                           struct generator *g)
{
    struct quantise_case c = {.group = {.n_spectra = n_spectra,
                                        .n_channels = n_channels,
                                        .stride = n_channels + n_spectra % 5},
                              .channel_stride = n_spectra + n_channels % 4};
    if (n_spectra == FX8_GROUP && n_channels % 2 == 0)
        c.channel_stride = 3 * (size_t)FX8_GROUP;
    const size_t n_items = (n_spectra - 1) * c.group.stride + n_channels;
    struct fx8_cf32 *spectra = exact(n_items * sizeof *spectra);
    for (size_t i = 0; i < n_items; i++)
        spectra[i] = (struct fx8_cf32){component(data, g), component(data, g)};
    /* room for |x| beyond the larger component */
    for (size_t i = 0; i < n_items && is_rotated; i++)
        spectra[i] =
            (struct fx8_cf32){spectra[i].re / 2.0f, spectra[i].im / 2.0f};
    float *gain = exact(n_channels * sizeof *gain);
    for (size_t i = 0; i < n_channels; i++)
        gain[i] = data == 0   ? 0.25f + (float)random_uniform(g)
                  : data == 3 ? (float)(i % 3) * 1e20f
                              : 1.0f;
    struct fx8_phases phases = {.middle_slope = random_bits(g)};
    for (size_t t = 0; t < n_spectra; t++) {
        phases.first[t] = random_bits(g);
        phases.slope[t] = random_bits(g);
    }
    c.group.spectra = spectra;
    c.group.phases = is_rotated ? &phases : NULL;
    const struct fx8_dither dither = some_dither(n_spectra, g);
    c.group.dither = is_dithered ? &dither : NULL;
    c.gain = gain;
    c.group.valid = n_channels % 3 == 0   ? 0xffffffffu
                    : n_channels % 3 == 1 ? (uint32_t)random_bits(g)
                                          : 0xfffffffeu;

    const size_t size = clips_at(&c) + n_channels * sizeof(uint32_t) + GUARD;
    uint8_t *expected = exact(size);
    check_variants(run_quantise, &c, expected, size);
    check_quantised(&c, expected);
    check_garbage(expected,
                  n_channels * c.channel_stride * sizeof(struct fx8_ci8),
                  clips_at(&c));
    free(expected);

    const size_t transposed =
        n_channels * c.channel_stride * sizeof(struct fx8_cf32);
    expected = exact(transposed + GUARD);
    check_variants(run_turn, &c, expected, transposed + GUARD);
    check_turned(&c, expected);
    free(expected);
    free(gain);
    free(spectra);
}

TEST(test_quantise_and_turn)
{
    struct generator g = {3};
    for (size_t n_spectra = 1; n_spectra <= FX8_GROUP; n_spectra++)
        for (size_t n_channels = 1; n_channels <= 70; n_channels++)
            check_quantise(n_spectra, n_channels,
                           (int)((n_spectra + n_channels) % 5),
                           n_channels % 4 > 1, n_channels % 3 == 1, &g);
    for (int data = 0; data < 5; data++)
        for (size_t n_channels = 94; n_channels <= 99; n_channels++) {
            for (int k = 0; k < 4; k++)
                check_quantise(FX8_GROUP, n_channels, data, k % 2 == 1, k > 1,
                               &g);
        }
}

/* --- the table of variants -------------------------------------------- */

TEST(test_select)
{
    const struct fx8_operations *operations, *fastest = NULL;
    struct fx8_error error;
    FOR_EACH_VARIANT (variant) {
        fastest = variant;
        must(fx8_operations_select(variant->name, &operations, &error), error);
        assert_ptr_equal(operations, variant);
    }
    /* The fastest variant is used: on this machine none fails its trial. */
    must(fx8_operations_select("auto", &operations, &error), error);
    assert_ptr_equal(operations, fastest);
    assert_string_equal(fx8_operations_variant(0)->name, "reference");
    assert_null(fx8_operations_variant(fx8_operations_variants()));
    must_fail_with(fx8_operations_select("avx3", &operations, &error), error,
                   FX8_ERR_USAGE, "plan: kernel: avx3: expected auto");
    assert_null(operations);
}
