/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_session.c -- libfx8 through its public header: values against direct
 * DFTs in double precision, and choices that must not change a single bit.
 *
 * Shows: as python/test_exact.py
 */
#include <math.h>

#include "correlator/library/plan.h"
#include "validation/complex_value.h"
#include "validation/session_run.h"

static const struct delivery whole = {0};

/* --- values ------------------------------------------------------------ */

/* Spectrum `t` of an input as CONVENTIONS.md writes it: [n_channels]. */
static void plain_spectrum(const struct fx8_plan *plan, const double *weights,
                           const struct voltages *v, size_t input, int64_t t,
                           double complex *x)
{
    const size_t n = fx8_plan_axes(plan).step;
    const size_t window = fx8_plan_axes(plan).window;
    for (size_t c = 0; c < plan->channelizer.n_channels; c++) {
        const size_t k =
            plan->is_complex ? c + n - plan->channelizer.n_channels / 2 : c;
        x[c] = 0.0;
        for (size_t i = 0; i < window; i++) {
            const int64_t at = plan->first_sample + t * (int64_t)n + (int64_t)i;
            const int8_t *s = voltages_at(v, input, at);
            double complex value = plan->is_complex ? CMPLX(s[0], s[1]) : s[0];
            if (plan->lower_sideband)
                value = plan->is_complex ? conj(value)
                        : at % 2 != 0    ? -value
                                         : value;
            x[c] += weights[i] * value *
                    cexp(CMPLX(0, -2 * M_PI * (double)(k * i % n) / (double)n));
        }
    }
}

/* Visibilities of dump `dump`: [baseline][channel][product]. */
static void plain_dump(const struct fx8_plan *plan, const struct voltages *v,
                       size_t dump, double complex *out)
{
    static const size_t feeds[4][2] = {{0, 0}, {1, 1}, {0, 1}, {1, 0}};
    const size_t pols = plan->n_polarizations,
                 channels = plan->channelizer.n_channels;
    const size_t products = pols * pols, m = (size_t)plan->spectra_per_dump;
    double *weights = exact(fx8_plan_axes(plan).window * sizeof *weights);
    fx8_plan_weights(plan, weights);
    double complex *x =
        exact(v->n_inputs * m * channels * sizeof(double complex));
    for (size_t input = 0; input < v->n_inputs; input++)
        for (size_t t = 0; t < m; t++)
            plain_spectrum(plan, weights, v, input, (int64_t)(dump * m + t),
                           x + (input * m + t) * channels);
    for (size_t a = 0; a < plan->n_antennas; a++)
        for (size_t b = a; b < plan->n_antennas; b++)
            for (size_t c = 0; c < channels; c++)
                for (size_t p = 0; p < products; p++, out++) {
                    const size_t i = a * pols + feeds[p][0];
                    const size_t j = b * pols + feeds[p][1];
                    *out = 0.0;
                    for (size_t t = 0; t < m; t++)
                        *out += conj(x[(i * m + t) * channels + c]) *
                                x[(j * m + t) * channels + c] / (double)m;
                }
    free(x);
    free(weights);
}

/* FP32 within the roundings of floats: 16 of them per spectrum of rms about 17,
 * then 30 products summed.  INT8 within the noise of quantising to 8 steps:
 * sqrt(1/6) in 8 sqrt(2) is 4 % of a spectrum, 1 % of the mean of 30 products;
 * a tenth is more than six sigma. */
TEST(visibilities_by_the_definition)
{
    for (int i = 0; i < 12; i++) {
        const bool is_complex = i % 2, has_bank = i / 4 != 2;
        struct fx8_plan plan = small_plan(3, 2, is_complex, 5, 30);
        plan.lower_sideband = i / 2 % 2;
        plan.channelizer.method = has_bank ? FX8_METHOD_PFB : FX8_METHOD_FFT;
        plan.first_sample = i / 4 == 1 ? 7 : 0;
        plan.quantizer.target_rms = 8;
        plan.quantizer.remove_bias = false;
        struct voltages v =
            make_voltages(6, 1 + is_complex, 700, 15, (uint64_t)(1000 + i));
        struct collected c = collect(&plan, &v, &whole);
        assert_int_equal(c.n_cells, 6 * 5 * 4);
        assert_true(c.n_dumps >= 1);
        double complex *expected = exact(c.n_cells * sizeof *expected);
        for (size_t d = 0; d < c.n_dumps; d++) {
            plain_dump(&plan, &v, d, expected);
            for (size_t k = 0; k < c.n_cells; k++) {
                const size_t at = d * c.n_cells + k;
                const float *int8 = c.visibilities[0] + 2 * at;
                const float *fp32 = c.visibilities[1] + 2 * at;
                const double power = 17.0 * 17.0 * (is_complex ? 2 : 1);
                assert_true(cabs(CMPLX(fp32[0], fp32[1]) - expected[k]) <
                            4e-6 * power);
                assert_true(cabs(CMPLX(int8[0], int8[1]) - expected[k]) <
                            1e-1 * power);
                assert_int_equal(c.flags[0][at], 0);
                assert_true(c.nsamples[1][at] == 1.0f);
            }
        }
        free(expected);
        free_collected(&c);
        free(v.data);
    }
}

/* Method none: INT8, FP32 and a plain sum agree to the last bit, including -128
 * and conjugated samples. */
TEST(method_none_to_the_last_bit)
{
    for (size_t lower = 0; lower < 2; lower++) {
        struct fx8_plan plan = small_plan(2, 2, true, 1, 3000);
        plan.channelizer.method = FX8_METHOD_NONE;
        plan.lower_sideband = lower;
        plan.first_sample = 5;
        struct voltages v = make_voltages(4, 2, 7000, 60, 1100);
        memset(voltages_at(&v, 1, 0), -128, 7000 * 2);
        const struct delivery delivery = {.block_samples = 1234};
        struct collected c = collect(&plan, &v, &delivery);
        assert_int_equal(c.n_dumps, 2);
        assert_int_equal(c.dropped_spectra, 995);
        assert_null(c.gains);
        size_t at = 0;
        static const size_t inputs[12][2] = {{0, 0}, {1, 1}, {0, 1}, {1, 0},
                                             {0, 2}, {1, 3}, {0, 3}, {1, 2},
                                             {2, 2}, {3, 3}, {2, 3}, {3, 2}};
        for (int64_t d = 0; d < 2; d++)
            for (size_t k = 0; k < 12; k++, at++) {
                int64_t re = 0, im = 0;
                for (int64_t t = 0; t < 3000; t++) {
                    const int64_t sample = 5 + d * 3000 + t;
                    const int8_t *x = voltages_at(&v, inputs[k][0], sample);
                    const int8_t *y = voltages_at(&v, inputs[k][1], sample);
                    re += x[0] * y[0] + x[1] * y[1];
                    im += x[0] * y[1] - x[1] * y[0];
                }
                if (lower)
                    im = -im;
                for (size_t p = 0; p < 2; p++) {
                    const float *got = c.visibilities[p] + 2 * at;
                    assert_true(got[0] == (float)((double)re / 3000));
                    assert_true(got[1] == (float)((double)im / 3000));
                }
            }
        free_collected(&c);
        free(v.data);
    }
}

/* One channel of complex samples uses a FIR and a quantiser, not method none.
 */
TEST(one_channel_through_a_filter)
{
    struct fx8_plan plan = small_plan(2, 1, true, 1, 200);
    struct voltages v = make_voltages(2, 2, 500, 15, 1200);
    struct collected c = collect(&plan, &v, &whole);
    assert_int_equal(c.n_dumps, 2);
    double complex expected[3];
    plain_dump(&plan, &v, 1, expected);
    for (size_t k = 0; k < 3; k++) {
        const float *fp32 = c.visibilities[1] + 2 * (3 + k);
        assert_true(cabs(CMPLX(fp32[0], fp32[1]) - expected[k]) < 2e-3);
    }
    assert_true(c.gains[0] > 0.5f && c.gains[0] < 2.0f);
    free_collected(&c);
    free(v.data);
}

/* Bounds around FP32, number by number, with their own flags and weights;
 * without a filter bank also around INT8, which is exact. */
TEST(bounds_enclose_the_results)
{
    for (int i = 0; i < 8; i++) {
        const bool is_none = i % 4 == 3;
        struct fx8_plan plan =
            small_plan(2, 2, i % 2 == 1, is_none ? 1 : 6, 600);
        plan.precision = FX8_PRECISION_BOTH | FX8_PRECISION_INTERVAL;
        plan.lower_sideband = i / 4 == 1;
        plan.channelizer.method = is_none ? FX8_METHOD_NONE : FX8_METHOD_FFT;
        plan.channel_average = i % 4 == 2 ? 3 : 1;
        struct voltages v =
            make_voltages(4, 1 + plan.is_complex, 9000, 15, 1250);
        v.missing[v.n_missing++] = (struct fx8_gap){1000, 700, 1};
        struct collected c = collect(&plan, &v, &whole);
        const size_t n = c.n_dumps * c.n_cells;
        for (size_t k = 0; k < 2 * n; k++) {
            const float low = c.visibilities[2][k], high = c.visibilities[3][k];
            assert_true(low <= c.visibilities[1][k]);
            assert_true(c.visibilities[1][k] <= high);
            if (is_none) {
                assert_true(low <= c.visibilities[0][k]);
                assert_true(c.visibilities[0][k] <= high);
                assert_true(nextafterf(low, INFINITY) >= high);
            }
        }
        for (size_t k = 2; k < FX8_N_RESULTS; k++) {
            check_bytes(c.flags[k], c.flags[1], n);
            check_bytes(c.nsamples[k], c.nsamples[1], n * sizeof(float));
        }
        free_collected(&c);
        free(v.data);
    }
}

/* --- what must not change a bit ---------------------------------------- */

/* A plan and a recording with everything: gaps and markers, a first sample, a
 * silent input, an input that begins late. */
static struct voltages eventful(struct fx8_plan *plan, bool is_complex)
{
    *plan = small_plan(3, 2, is_complex, 6, 90);
    plan->first_sample = 101;
    plan->marker.is_used = true;
    plan->marker.value = -128;
    plan->marker.least_length = 9;
    plan->channel_average = 2;
    plan->channelizer.flag_edges = 1;
    plan->lower_sideband = true;
    const size_t size = 1 + is_complex;
    struct voltages v = make_voltages(6, size, 5000, 15, 1300);
    memset(voltages_at(&v, 1, 0), 0, 5000 * size);
    memset(voltages_at(&v, 2, 0), 0, 1700 * size);
    memset(voltages_at(&v, 3, 92), -128, 10 * size); /* one reaches in */
    memset(voltages_at(&v, 4, 900), -128, 40 * size);
    memset(voltages_at(&v, 4, 980), -128, 8 * size); /* too short */
    memset(voltages_at(&v, 4, 4990), -128, 10 * size);
    v.missing[v.n_missing++] = (struct fx8_gap){2500, 30, -1};
    v.missing[v.n_missing++] = (struct fx8_gap){700, 3, 5};
    v.missing[v.n_missing++] = (struct fx8_gap){690, 11, 5};
    return v;
}

TEST(blocks_layouts_and_threads)
{
    for (size_t is_complex = 0; is_complex < 2; is_complex++) {
        struct fx8_plan plan;
        struct voltages v = eventful(&plan, is_complex);
        struct collected first = collect(&plan, &v, &whole);
        assert_true(first.n_dumps >= 4);
        assert_int_equal(first.statistics.n_gain_rounds, 2);
        assert_true(first.statistics.n_clipped > 0);
        static const struct delivery deliveries[] = {
            {.block_samples = 1, .layout = TIME_MAJOR},
            {.block_samples = 2},
            {.block_samples = 13, .layout = BACKWARDS},
            {.block_samples = 100, .layout = TIME_MAJOR},
            {.block_samples = 1024},
            {.layout = TIME_MAJOR},
            {.layout = BACKWARDS},
            {.block_samples = 50, .layout = TIME_MAJOR, .overlap = 49},
            {.block_samples = 700, .layout = BACKWARDS, .overlap = 900},
            {.block_samples = 3, .overlap = 11},
            {.layout = IN_PLACE},
            {.block_samples = 100, .layout = IN_PLACE},
            {.block_samples = 500, .layout = IN_PLACE, .overlap = 70},
            {.block_samples = 1, .layout = IN_PLACE},
            /* samples delivered again, dumps taken */
            {.block_samples = 100, .reread_samples = 7},
            {.block_samples = 900, .overlap = 30, .reread_samples = 5000},
            {.block_samples = 333, .layout = IN_PLACE, .reread_samples = 999},
            {.block_samples = 1, .reread_samples = 50, .is_pulled = true},
            {.layout = IN_PLACE, .is_pulled = true},
            {.block_samples = 640, .reread_samples = 64, .is_pulled = true},
            {.block_samples = 250, .layout = IN_PLACE, .is_pulled = true},
        };
        for (size_t i = 0; i < sizeof deliveries / sizeof *deliveries; i++) {
            plan.machine.threads.count = 1 + i % 3;
            struct collected c = collect(&plan, &v, &deliveries[i]);
            check_same(&first, &c);
            free_collected(&c);
        }
        free_collected(&first);
        free(v.data);
    }
}

/* Samples that never come are as missing as a gap that says so: parts of a
 * dump, dumps, and parts of several engine blocks, of 2048 spectra. */
TEST(a_gap_is_a_missing_stretch)
{
    static const struct {
        int64_t n_samples, spectra_per_dump, block_samples;
        int64_t starts[4], lengths[4];
    } cases[] = {
        {3000, 60, 100, {0, 1, 777, 2500}, {1, 334, 667, 1000}},
        {50000, 5000, 999, {0, 7, 8192, 19999}, {8200, 19990, 29000, 31234}},
    };
    for (size_t k = 0; k < 2 * 4 * 4; k++) {
        const size_t c = k / 16;
        const int64_t n = cases[c].n_samples;
        const int64_t start = cases[c].starts[k % 4];
        const int64_t behind = start + cases[c].lengths[k / 4 % 4];
        const int64_t end = behind < n ? behind : n - 1;
        struct fx8_plan plan =
            small_plan(2, 2, true, 4, cases[c].spectra_per_dump);
        plan.precision = FX8_PRECISION_BOTH | FX8_PRECISION_INTERVAL;
        struct voltages v = make_voltages(4, 2, n, 15, 1400);
        v.n_missing = 1;
        v.missing[0] = (struct fx8_gap){start, end - start, -1};
        struct collected stretch = collect(&plan, &v, &whole);
        v.n_missing = 0;
        const struct delivery delivery = {
            .block_samples = cases[c].block_samples,
            .layout = TIME_MAJOR,
            .gap_first = start,
            .gap_end = end,
            .reread_samples = k % 2 ? 1 + 500 * (int64_t)c : 0,
            .is_pulled = k % 3 == 0,
        };
        struct collected gap = collect(&plan, &v, &delivery);
        check_same(&stretch, &gap);
        assert_true(stretch.statistics.n_valid_spectra <
                    4 * stretch.statistics.n_spectra);
        free_collected(&stretch);
        free_collected(&gap);
        free(v.data);
    }
}

/* A dump depends only on its own samples: a plan that starts there gives the
 * same bits.  FP32, and INT8 without a quantiser, have no gains to differ. */
TEST(a_dump_does_not_know_what_came_before)
{
    for (int i = 0; i < 6; i++) {
        struct fx8_plan plan = small_plan(2, 2, i % 2, 5, 70);
        plan.first_sample = 3;
        plan.lower_sideband = i / 2 == 1;
        plan.precision = FX8_PRECISION_FP32;
        if (i / 2 == 2) {
            plan.is_complex = true;
            plan.channelizer.n_channels = 1;
            plan.channelizer.method = FX8_METHOD_NONE;
            plan.precision = FX8_PRECISION_BOTH;
        }
        struct voltages v =
            make_voltages(4, 1 + plan.is_complex, 4000, 15, 1500);
        v.missing[v.n_missing++] = (struct fx8_gap){1000, 40, 1};
        struct collected all = collect(&plan, &v, &whole);
        struct fx8_plan later = plan;
        const size_t d = 3;
        later.first_sample += (int64_t)(d * 70 * fx8_plan_axes(&plan).step);
        struct collected rest = collect(&later, &v, &whole);
        assert_int_equal(all.n_dumps - d, rest.n_dumps);
        for (size_t k = 0; k < 2; k++)
            if (all.visibilities[k] != NULL)
                assert_memory_equal(all.visibilities[k] + 2 * d * all.n_cells,
                                    rest.visibilities[k],
                                    2 * rest.n_dumps * all.n_cells *
                                        sizeof(float));
        free_collected(&all);
        free_collected(&rest);
        free(v.data);
    }
}

/* --- missing, dead, biased --------------------------------------------- */

/* nsamples counted from the gaps, spectrum by spectrum. */
TEST(weights_count_valid_products)
{
    struct fx8_plan plan = small_plan(3, 1, true, 4, 50);
    struct voltages v = make_voltages(3, 2, 1000, 15, 1600);
    v.missing[v.n_missing++] = (struct fx8_gap){100, 1, 0};
    v.missing[v.n_missing++] = (struct fx8_gap){211, 5, 1};
    v.missing[v.n_missing++] = (struct fx8_gap){430, 400, 2};
    struct collected c = collect(&plan, &v, &whole);
    const size_t pairs[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};
    for (size_t d = 0; d < c.n_dumps; d++)
        for (size_t b = 0; b < 6; b++) {
            int count = 0;
            for (int64_t t = 0; t < 50; t++) {
                bool is_valid = true;
                for (int64_t k = 0; k < 16; k++)
                    for (size_t side = 0; side < 2; side++)
                        is_valid =
                            is_valid &&
                            !voltages_missing(&v, pairs[b][side],
                                              ((int64_t)d * 50 + t) * 4 + k);
                count += is_valid;
            }
            for (size_t k = 0; k < 2; k++) {
                const size_t at = (d * 6 + b) * 4;
                const float *vis = c.visibilities[k] + 2 * at;
                assert_true(c.nsamples[k][at] == (float)((double)count / 50));
                assert_int_equal(c.flags[k][at], count == 0);
                if (count == 0)
                    assert_true(vis[0] == 0.0f && vis[1] == 0.0f);
            }
        }
    free_collected(&c);
    free(v.data);
}

TEST(dead_inputs_and_missing_ones)
{
    struct fx8_plan plan = small_plan(3, 1, true, 4, 50);
    const uint8_t flags[3] = {0, 0, 0};
    plan.flag_antenna = flags;
    struct voltages v = make_voltages(3, 2, 460, 15, 1700);
    memset(voltages_at(&v, 1, 0), 0, 460 * 2);
    v.missing[v.n_missing++] = (struct fx8_gap){0, 460, 2};
    struct collected c = collect(&plan, &v, &whole);
    assert_int_equal(c.n_dumps, 2);
    static const uint8_t dead[6] = {0, 1, 0, 0, 1, 0};
    assert_memory_equal(c.dead, dead, 6);
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < 2 * c.n_cells; i++) {
            const size_t b = i % c.n_cells / 4; /* 01: dead; 02: missing */
            const bool is_dead = b == 1 || b == 3;
            const bool is_missing = b == 2 || b == 4 || b == 5;
            assert_int_equal(c.flags[k][i], is_dead || is_missing);
            assert_true(c.nsamples[k][i] == (is_missing ? 0.0f : 1.0f));
            if (is_dead || is_missing) {
                assert_true(c.visibilities[k][2 * i] == 0.0f);
                assert_true(c.visibilities[k][2 * i + 1] == 0.0f);
            } else {
                assert_true(c.visibilities[k][2 * i] > 0.0f);
            }
        }
    assert_int_equal(c.valid_spectra[0], 100);
    assert_int_equal(c.valid_spectra[1], 100);
    assert_int_equal(c.valid_spectra[2], 0);
    assert_true(c.gains[1 * 4] == 1.0f && c.zero[1 * 4] == 0);
    free_collected(&c);
    free(v.data);
}

/* An input may die and come back: each dump is judged on its own. */
TEST(inputs_dead_for_a_while)
{
    struct fx8_plan plan = small_plan(2, 1, true, 4, 50);
    struct voltages v = make_voltages(2, 2, 4 * 200 + 12, 15, 1750);
    memset(voltages_at(&v, 0, 200), 0, 212 * 2); /* the second dump */
    memset(voltages_at(&v, 1, 600), 0, 212 * 2); /* the fourth */
    struct collected c = collect(&plan, &v, &whole);
    assert_int_equal(c.n_dumps, 4);
    static const uint8_t dead[8] = {0, 0, 1, 0, 0, 0, 0, 1};
    assert_memory_equal(c.dead, dead, 8);
    for (size_t d = 0; d < 4; d++)
        for (size_t b = 0; b < 3; b++) {
            const size_t at = (d * 3 + b) * 4;
            const bool is_dead =
                (dead[2 * d] && b < 2) || (dead[2 * d + 1] && b > 0);
            assert_int_equal(c.flags[0][at], is_dead);
            assert_int_equal(c.flags[1][at], is_dead);
        }
    free_collected(&c);
    free(v.data);
}

/* 1/6 of a step squared is subtracted from autos, in input counts 1/6 / gain^2,
 * where the level is at least a step; crosses do not change.  Both values are
 * rounded to float once: 2^-23 of the auto. */
TEST(bias_of_the_quantiser)
{
    static const double targets[] = {20.0, 3.0, 0.5};
    for (size_t i = 0; i < 3; i++) {
        struct fx8_plan plan = small_plan(2, 2, true, 4, 100);
        plan.quantizer.target_rms = targets[i];
        plan.precision = FX8_PRECISION_INT8;
        struct voltages v = make_voltages(4, 2, 500, 15, 1800);
        struct collected with = collect(&plan, &v, &whole);
        plan.quantizer.remove_bias = false;
        struct collected without = collect(&plan, &v, &whole);
        for (size_t k = 0; k < with.n_cells; k++) {
            const size_t baseline = k / 16, product = k % 4, c = k / 4 % 4;
            const float a = with.visibilities[0][2 * k];
            const float b = without.visibilities[0][2 * k];
            const bool is_auto = baseline != 1 && product < 2;
            assert_true(with.visibilities[0][2 * k + 1] ==
                        without.visibilities[0][2 * k + 1]);
            if (!is_auto || targets[i] < 1) {
                assert_true(a == b);
                continue;
            }
            const size_t input = (baseline == 2 ? 2 : 0) + product;
            const double gain = with.gains[input * 4 + c];
            assert_true(fabs((double)b - a - 1.0 / 6 / (gain * gain)) <=
                        0x1p-23 * b);
        }
        free_collected(&with);
        free_collected(&without);
        free(v.data);
    }
}

TEST(flagged_antennas_keep_their_data)
{
    struct fx8_plan plan = small_plan(3, 1, true, 4, 50);
    struct voltages v = make_voltages(3, 2, 300, 15, 1900);
    struct collected before = collect(&plan, &v, &whole);
    uint8_t flags[3] = {0, 1, 0};
    plan.flag_antenna = flags;
    plan.channelizer.flag_edges = 1;
    plan.channelizer.flag_dc = true;
    struct collected after = collect(&plan, &v, &whole);
    check_bytes(before.visibilities[0], after.visibilities[0],
                2 * before.n_cells * sizeof(float));
    check_bytes(before.nsamples[1], after.nsamples[1],
                before.n_cells * sizeof(float));
    for (size_t i = 0; i < before.n_cells; i++) {
        const size_t b = i / 4;
        assert_int_equal(before.flags[0][i], 0);
        assert_int_equal(after.flags[0][i],
                         i % 4 != 1 || b == 1 || b == 3 || b == 4);
    }
    free_collected(&before);
    free_collected(&after);
    free(v.data);
}
