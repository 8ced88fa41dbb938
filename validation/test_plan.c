/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_plan.c -- which plans are valid, and the axes that follow from a plan.
 *
 * Shows (correlation, plan and products): axes are correct; so are baselines,
 *     products, conjugation and the step from sums to visibilities
 * Within: equal
 * In: test_baseline.c, python/test_matrix.py
 *
 * Shows (correlation, oversampled bands): the stitched axis has no gap or
 *     overlap; overlapping bands and gains that are no powers of two are
 *     refused
 * Within: steps equal as integers, frequencies the nearest doubles; messages
 *     word for word
 * Because: rates are fractions
 */
#include <math.h>

#include "correlator/library/plan.h"
#include "validation/testing.h"

/* Exact where 64 bits are not enough: samples times picoseconds. */
__extension__ typedef __int128 wide;

static struct fx8_plan good_plan(void)
{
    struct fx8_plan plan = fx8_plan_default();
    plan.n_antennas = 4;
    plan.sample_rate = (struct fx8_rate){1000000, 1};
    plan.dc_frequency_hz = 150e6;
    plan.channelizer.n_channels = 16;
    plan.spectra_per_dump = 100;
    return plan;
}

/* A change to a good plan, and the message about it; NULL: none. */
struct change {
    void (*make)(struct fx8_plan *plan);
    const char *text;
};

#define CHANGE(name, statement)                                                \
    static void name(struct fx8_plan *plan)                                    \
    {                                                                          \
        statement;                                                             \
    }

CHANGE(nothing, (void)plan)
CHANGE(no_antenna, plan->n_antennas = 0)
CHANGE(most_antennas, plan->n_antennas = 32768)
CHANGE(more_antennas, plan->n_antennas = 32769)
CHANGE(no_feed, plan->n_polarizations = 0)
CHANGE(two_feeds, plan->n_polarizations = 2)
CHANGE(three_feeds, plan->n_polarizations = 3)
CHANGE(no_rate, plan->sample_rate.numerator_hz = 0)
CHANGE(bad_rate, plan->sample_rate.denominator = -1)
CHANGE(no_frequency, plan->dc_frequency_hz = NAN)
CHANGE(endless_frequency, plan->dc_frequency_hz = INFINITY)
CHANGE(negative_frequency, plan->dc_frequency_hz = -1e6)
CHANGE(before_first, plan->first_sample = -1)
CHANGE(last_first, plan->first_sample = INT64_C(1) << 61)
CHANGE(beyond_first, plan->first_sample = (INT64_C(1) << 61) + 1)
CHANGE(marker, plan->marker.is_used = true; plan->marker.value = -128)
CHANGE(low_marker, plan->marker.is_used = true; plan->marker.value = -129)
CHANGE(high_marker, plan->marker.is_used = true; plan->marker.value = 128)
CHANGE(no_marker, plan->marker.value = 999; plan->marker.least_length = 0)
CHANGE(no_run, plan->marker.is_used = true; plan->marker.least_length = 0)
CHANGE(longest_run, plan->marker.is_used = true;
       plan->marker.least_length = 1048576)
CHANGE(longer_run, plan->marker.is_used = true;
       plan->marker.least_length = 1048577)
CHANGE(no_channel, plan->channelizer.n_channels = 0)
CHANGE(most_channels, plan->channelizer.n_channels = 16777216)
CHANGE(more_channels, plan->channelizer.n_channels = 16777217)
CHANGE(none_with_channels, plan->channelizer.method = FX8_METHOD_NONE)
CHANGE(none, plan->channelizer.method = FX8_METHOD_NONE;
       plan->channelizer.n_channels = 1)
CHANGE(none_real, plan->channelizer.method = FX8_METHOD_NONE;
       plan->channelizer.n_channels = 1; plan->is_complex = false)
CHANGE(no_tap, plan->channelizer.n_taps = 0)
CHANGE(most_taps, plan->channelizer.n_taps = 64)
CHANGE(more_taps, plan->channelizer.n_taps = 65)
CHANGE(fft_without_taps, plan->channelizer.method = FX8_METHOD_FFT;
       plan->channelizer.n_taps = 0)
CHANGE(no_target, plan->quantizer.target_rms = 0)
CHANGE(most_target, plan->quantizer.target_rms = 127)
CHANGE(more_target, plan->quantizer.target_rms = 127.5)
CHANGE(nan_target, plan->quantizer.target_rms = NAN)
CHANGE(no_precision, plan->precision = (enum fx8_precision)0)
CHANGE(more_precision, plan->precision = (enum fx8_precision)16)
CHANGE(one_bound, plan->precision = (enum fx8_precision)(1 << FX8_RESULT_UP))
CHANGE(no_spectrum, plan->spectra_per_dump = 0)
CHANGE(most_spectra, plan->spectra_per_dump = (INT64_C(1) << 61) / 16)
CHANGE(more_spectra, plan->spectra_per_dump = (INT64_C(1) << 61) / 16 + 1)
CHANGE(no_average, plan->channel_average = 0)
CHANGE(whole_average, plan->channel_average = 16)
CHANGE(odd_average, plan->channel_average = 3)
CHANGE(no_kernel, plan->machine.kernel = NULL)
CHANGE(look_at_floats, plan->quicklook = true;
       plan->precision = FX8_PRECISION_FP32)
CHANGE(look_at_bounds, plan->quicklook = true;
       plan->precision = FX8_PRECISION_INTERVAL)
CHANGE(fast_math, plan->math = FX8_MATH_FAST)
CHANGE(other_math, plan->math = (enum fx8_math)2)
CHANGE(other_method, plan->channelizer.method = (enum fx8_method)3)
CHANGE(other_window, plan->channelizer.window = (enum fx8_window_shape)4)
CHANGE(other_fir, plan->channelizer.fir = (enum fx8_fir)2)
CHANGE(other_level, plan->quantizer.gain_per = (enum fx8_gain_per)2)
CHANGE(other_backend, plan->machine.backend = (enum fx8_backend)3)
CHANGE(most_threads, plan->machine.threads.count = 1024)
CHANGE(more_threads, plan->machine.threads.count = 1025)

/* Bands of 1 MHz each, and 13 of the 16 channels: 812.5 kHz. */
static const double near_hz[] = {0, 812.5e3, 1625e3};
static const double nearer_hz[] = {0, 812.5e3, 1624.9e3};
static const double descending_hz[] = {0, 2e6, 1e6};
static const double endless_hz[] = {0, INFINITY};
static const double gains[] = {1.0, 0x1p-30, 0.25};
static const double odd_gains[] = {1.0, 0.75, 0.25};
static const double high_gains[] = {1.0, 2.0, 1.0};
static const double low_gains[] = {1.0, 1.0, 0x1p-31};
static const double no_gains[] = {1.0, NAN, 1.0};

static void take_bands(struct fx8_plan *plan, size_t n, const double *offsets)
{
    plan->sample_rate = (struct fx8_rate){1000000, 1};
    plan->n_bands = n;
    plan->band_offset_hz = offsets;
}

CHANGE(no_band, take_bands(plan, 0, near_hz))
CHANGE(many_bands, take_bands(plan, 4097, near_hz))
CHANGE(bands_without_place, take_bands(plan, 2, NULL))
CHANGE(band_with_place, take_bands(plan, 1, near_hz))
CHANGE(wide_bands, take_bands(plan, 3, near_hz))
CHANGE(kept_bands, take_bands(plan, 3, near_hz); plan->channelizer.n_kept = 13)
CHANGE(near_bands, take_bands(plan, 3, nearer_hz);
       plan->channelizer.n_kept = 13)
CHANGE(near_bands_unfiltered, take_bands(plan, 3, nearer_hz);
       plan->channelizer.method = FX8_METHOD_NONE;
       plan->channelizer.n_channels = 1)
CHANGE(descending_bands, take_bands(plan, 3, descending_hz))
CHANGE(endless_bands, take_bands(plan, 2, endless_hz))
CHANGE(channels_of_bands, take_bands(plan, 3, near_hz);
       plan->channelizer.n_channels = 8388608;
       plan->channelizer.n_kept = 5592406)
CHANGE(kept_all, plan->channelizer.n_kept = 16)
CHANGE(kept_more, plan->channelizer.n_kept = 17)
CHANGE(kept_real, plan->channelizer.n_kept = 15; plan->is_complex = false)
CHANGE(kept_average, plan->channelizer.n_kept = 9; plan->channel_average = 3)
CHANGE(kept_odd_average, plan->channelizer.n_kept = 9;
       plan->channel_average = 2)
CHANGE(input_gains, plan->n_antennas = 3; plan->input_gain = gains)
CHANGE(odd_input_gains, plan->n_antennas = 3; plan->input_gain = odd_gains)
CHANGE(high_input_gains, plan->n_antennas = 3; plan->input_gain = high_gains)
CHANGE(low_input_gains, plan->n_antennas = 3; plan->input_gain = low_gains)
CHANGE(no_input_gains, plan->n_antennas = 3; plan->input_gain = no_gains)

TEST(rules_of_a_plan)
{
    static const char antennas[] = "plan: n_antennas: expected 1 to 32768";
    static const char feeds[] = "plan: n_polarizations: expected 1 or 2";
    static const char rate[] =
        "plan: sample_rate: expected a positive fraction in Hz";
    static const char dc[] = "plan: dc_frequency_hz: expected a number";
    static const char first[] = "plan: first_sample: expected 0 to 2^61";
    static const char value[] = "plan: marker.value: expected -128 to 127";
    static const char length[] =
        "plan: marker.least_length: expected 1 to 1048576";
    static const char channels[] = "plan: n_channels: expected 1 to 16777216";
    static const char method[] =
        "plan: method none: expected complex samples and 1 channel";
    static const char taps[] = "plan: n_taps: expected 1 to 64";
    static const char target[] =
        "plan: target_rms: expected above 0, at most 127 LSB";
    static const char precision[] =
        "plan: precision: expected INT8, FP32, INTERVAL or several of them";
    static const char spectra[] =
        "plan: spectra_per_dump: expected 1 or more, 2^61 samples at most";
    static const char average[] =
        "plan: channel_average: expected a divisor of the channels";
    static const char count[] = "plan: n_bands: expected 1 to 4096";
    static const char place[] = "plan: band_offset_hz: expected ascending "
                                "bands whose kept channels do not overlap";
    static const char kept[] =
        "plan: n_kept: expected at most the channels, 0 for real samples";
    static const char gain[] =
        "plan: input_gain: expected powers of two, 2^-30 to 1";
    static const struct change changes[] = {
        {no_band, count},
        {many_bands, count},
        {bands_without_place, place},
        {band_with_place, NULL},
        {wide_bands, place},
        {kept_bands, NULL},
        {near_bands, place},
        {near_bands_unfiltered, NULL},
        {descending_bands, place},
        {endless_bands, place},
        {channels_of_bands,
         "plan: n_bands: expected at most 16777216 channels of all bands"},
        {kept_all, NULL},
        {kept_more, kept},
        {kept_real, kept},
        {kept_average, NULL},
        {kept_odd_average, average},
        {input_gains, NULL},
        {odd_input_gains, gain},
        {high_input_gains, gain},
        {low_input_gains, gain},
        {no_input_gains, gain},
        {nothing, NULL},
        {no_antenna, antennas},
        {most_antennas, NULL},
        {more_antennas, antennas},
        {no_feed, feeds},
        {two_feeds, NULL},
        {three_feeds, feeds},
        {no_rate, rate},
        {bad_rate, rate},
        {no_frequency, dc},
        {endless_frequency, dc},
        {negative_frequency, NULL},
        {before_first, first},
        {last_first, NULL},
        {beyond_first, first},
        {marker, NULL},
        {low_marker, value},
        {high_marker, value},
        {no_marker, NULL},
        {no_run, length},
        {longest_run, NULL},
        {longer_run, length},
        {no_channel, channels},
        {most_channels, NULL},
        {more_channels, channels},
        {none_with_channels, method},
        {none, NULL},
        {none_real, method},
        {no_tap, taps},
        {most_taps, NULL},
        {more_taps, taps},
        {fft_without_taps, NULL},
        {no_target, target},
        {most_target, NULL},
        {more_target, target},
        {nan_target, target},
        {no_precision, precision},
        {more_precision, precision},
        {one_bound, precision},
        {no_spectrum, spectra},
        {most_spectra, NULL},
        {more_spectra, spectra},
        {no_average, average},
        {whole_average, NULL},
        {odd_average, average},
        {no_kernel, "plan: kernel: expected a name"},
        {look_at_floats, NULL},
        {look_at_bounds, "plan: quicklook: expected precision INT8 or FP32: "
                         "bounds have no quick-look"},
        {fast_math, NULL},
        {other_math, "plan: math: expected IEEE or FAST"},
        {other_method, "plan: method: expected PFB, FFT or NONE"},
        {other_window,
         "plan: window: expected AUTO, HAMMING, HANN or RECTANGULAR"},
        {other_fir, "plan: fir: expected FP32 or DP2A"},
        {other_level, "plan: level: expected CHANNEL or INPUT"},
        {other_backend, "plan: backend: expected AUTO, CPU or CUDA"},
        {most_threads, NULL},
        {more_threads, "plan: threads.count: expected 0 to 1024"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct fx8_plan plan = good_plan();
        changes[i].make(&plan);
        struct fx8_error error;
        if (changes[i].text == NULL)
            must(fx8_plan_check(&plan, &error), error);
        else
            must_fail(fx8_plan_check(&plan, &error), error, FX8_ERR_USAGE,
                      changes[i].text);
    }
}

/* No default is enough for what a caller must set. */
TEST(defaults_are_not_enough)
{
    struct fx8_plan plan = fx8_plan_default();
    struct fx8_error error;
    must_fail(fx8_plan_check(&plan, &error), error, FX8_ERR_USAGE,
              "plan: n_antennas: expected 1 to 32768");
    assert_true(plan.is_complex && isnan(plan.dc_frequency_hz));
    assert_int_equal(plan.channelizer.n_taps, 8);
    assert_int_equal(plan.marker.least_length, 64);
    assert_true(plan.quantizer.target_rms == 20.0 &&
                plan.quantizer.remove_bias);
}

TEST(geometry_of_the_filter_bank)
{
    static const struct {
        enum fx8_method method;
        bool is_complex, has_quantiser;
        size_t channels, step, window;
    } cases[] = {
        {FX8_METHOD_PFB, true, true, 16, 16, 128},
        {FX8_METHOD_PFB, false, true, 16, 32, 256},
        {FX8_METHOD_FFT, true, true, 15, 15, 15},
        {FX8_METHOD_FFT, false, true, 15, 30, 30},
        {FX8_METHOD_NONE, true, false, 1, 1, 1},
    };
    for (size_t i = 0; i < 5; i++) {
        struct fx8_plan plan = good_plan();
        plan.channelizer.method = cases[i].method;
        plan.is_complex = cases[i].is_complex;
        plan.channelizer.n_channels = cases[i].channels;
        struct fx8_axes axes;
        struct fx8_filterbank bank;
        double *weights, expected[256];
        struct fx8_error error;
        must(fx8_plan_derive(&plan, &axes, &bank, &weights, &error), error);
        assert_int_equal(axes.step, cases[i].step);
        assert_int_equal(axes.window, cases[i].window);
        fx8_plan_weights(&plan, expected);
        assert_memory_equal(weights, expected, axes.window * sizeof *weights);
        free(weights);
        assert_int_equal(bank.is_complex, cases[i].is_complex);
        assert_int_equal(bank.fft_length, cases[i].step);
        assert_int_equal(bank.n_taps, cases[i].window / cases[i].step);
        assert_int_equal(bank.n_channels, cases[i].channels);
        assert_int_equal(axes.has_quantiser, cases[i].has_quantiser);
        plan.precision = FX8_PRECISION_FP32;
        assert_false(fx8_plan_axes(&plan).has_quantiser);
    }
}

/* auto is Hamming with taps, rectangular without; each other by its name. */
TEST(windows_by_name)
{
    for (int is_pfb = 0; is_pfb < 2; is_pfb++)
        for (int shape = FX8_WINDOW_AUTO; shape <= FX8_WINDOW_RECTANGULAR;
             shape++) {
            struct fx8_plan plan = good_plan();
            plan.channelizer.method = is_pfb ? FX8_METHOD_PFB : FX8_METHOD_FFT;
            plan.channelizer.window = (enum fx8_window_shape)shape;
            double got[128], expected[128];
            const enum fx8_filter_window window =
                shape == FX8_WINDOW_HANN ? FX8_FILTER_HANN
                : shape == FX8_WINDOW_HAMMING ||
                        (shape == FX8_WINDOW_AUTO && is_pfb)
                    ? FX8_FILTER_HAMMING
                    : FX8_FILTER_RECTANGULAR;
            fx8_plan_weights(&plan, got);
            fx8_filterbank_weights(window, is_pfb ? 8 : 1, 16, is_pfb,
                                   expected);
            assert_memory_equal(got, expected,
                                (is_pfb ? 128 : 16) * sizeof *got);
        }
}

TEST(channels_flagged_by_position)
{
    static const struct {
        size_t channels, edges;
        bool dc, is_complex, lower;
        const char *flags;
    } cases[] = {
        {8, 0, false, true, false, "........"},
        {8, 2, false, true, false, "##....##"},
        {8, 1, true, true, false, "#...#..#"},
        {8, 1, true, true, true, "#...#..#"},
        {7, 0, true, true, false, "...#..."},
        {8, 0, true, false, false, "#......."},
        {8, 0, true, false, true, "........"}, /* DC is beyond the end */
        {3, 1, false, true, false, "#.#"},
        {3, 2, false, true, false, "###"}, /* the edges meet */
        {3, 100, false, false, false, "###"},
        {1, 0, true, true, false, "#"},
        {1, 1, false, true, false, "#"},
        {7, 1, true, true, false, "#..#..#"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fx8_plan plan = good_plan();
        plan.channelizer.n_channels = cases[i].channels;
        plan.channelizer.flag_edges = cases[i].edges;
        plan.channelizer.flag_dc = cases[i].dc;
        plan.is_complex = cases[i].is_complex;
        plan.lower_sideband = cases[i].lower;
        uint8_t *flags = exact(cases[i].channels);
        fx8_plan_flag_channels(&plan, flags);
        for (size_t c = 0; c < cases[i].channels; c++)
            assert_int_equal(flags[c], cases[i].flags[c] == '#');
        if (cases[i].is_complex) { /* the same with some channels dropped */
            plan.channelizer.n_kept = plan.channelizer.n_channels;
            plan.channelizer.n_channels += 5;
            memset(flags, GARBAGE, cases[i].channels);
            fx8_plan_flag_channels(&plan, flags);
            for (size_t c = 0; c < cases[i].channels; c++)
                assert_int_equal(flags[c], cases[i].flags[c] == '#');
        }
        free(flags);
    }
}

TEST(frequencies_ascend_from_the_rule)
{
    /* dc 100 MHz, 1 MS/s: numbers that a double holds exactly */
    static const struct {
        bool is_complex, lower;
        size_t channels, average;
        double first, step;
    } cases[] = {
        {true, false, 8, 1, 99.5e6, 125e3},
        {true, true, 8, 1, 99.5e6, 125e3},
        {true, false, 5, 1, 99.6e6, 200e3}, /* k = -2 .. 2 */
        {false, false, 8, 1, 100e6, 62.5e3},
        {false, true, 8, 1, 99.5e6, 62.5e3},
        {true, false, 8, 2, 99.5e6 + 62.5e3, 250e3},
        {true, false, 8, 8, 99.5e6 + 437.5e3, 1e6},
        {false, true, 8, 4, 99.5e6 + 93.75e3, 250e3},
        {true, false, 1, 1, 100e6, 1e6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fx8_plan plan = good_plan();
        plan.dc_frequency_hz = 100e6;
        plan.is_complex = cases[i].is_complex;
        plan.lower_sideband = cases[i].lower;
        plan.channelizer.n_channels = cases[i].channels;
        plan.channel_average = cases[i].average;
        const size_t n = cases[i].channels / cases[i].average;
        double *frequencies = exact(n * sizeof *frequencies), width = 0;
        fx8_frequencies(&plan, frequencies, &width);
        assert_true(width == cases[i].step);
        for (size_t c = 0; c < n; c++)
            assert_true(frequencies[c] ==
                        cases[i].first + (double)c * cases[i].step);
        free(frequencies);
    }
}

/* Coarse channels of 25/27 MHz every 25/32 MHz, 27/32 of each kept.  In units
 * of 1/(27 N) Hz every frequency is an integer, the whole axis has equal steps
 * of 25,000,000, and each double is the nearest one. */
TEST(oversampled_bands_make_one_axis)
{
    enum { COARSE = 5, FIRST = 140 };
    static const size_t lengths[] = {32, 64, 96, 1024};
    for (size_t i = 0; i < 4 * 2; i++) {
        const size_t length = lengths[i / 2], kept = length / 32 * 27;
        const size_t n = COARSE * kept;
        double offsets_hz[COARSE], width = 0;
        for (size_t b = 0; b < COARSE; b++)
            offsets_hz[b] = 781250.0 * (double)b;
        struct fx8_plan plan = good_plan();
        plan.sample_rate = (struct fx8_rate){25000000, 27};
        plan.dc_frequency_hz = FIRST * 781250.0;
        plan.n_bands = COARSE;
        plan.band_offset_hz = offsets_hz;
        plan.channelizer.n_channels = length;
        plan.channelizer.n_kept = kept;
        plan.lower_sideband = i % 2; /* not used for complex samples */
        struct fx8_error error;
        must(fx8_plan_check(&plan, &error), error);
        assert_int_equal(fx8_plan_axes(&plan).n_fine, n);
        double *frequencies = exact(n * sizeof *frequencies);
        fx8_frequencies(&plan, frequencies, &width);
        const wide unit = 27 * (wide)length;
        assert_true(width == 25e6 / (27.0 * (double)length));
        wide before = 0;
        for (size_t at = 0; at < n; at++) {
            const wide b = (wide)(at / kept), c = (wide)(at % kept);
            const wide exact_units =
                781250 * (FIRST + b) * unit + (c - (wide)(kept / 2)) * 25000000;
            if (at > 0)
                assert_true(exact_units - before == 25000000);
            before = exact_units;
            /* nearer than half the distance to the next double */
            const long double got =
                (long double)frequencies[at] * (long double)unit;
            const double ulp =
                nextafter(frequencies[at], INFINITY) - frequencies[at];
            assert_true(fabsl(got - (long double)exact_units) <=
                        (0.5L + 0x1p-8L) * ulp * (long double)unit);
        }
        plan.channel_average = kept / 9;
        fx8_frequencies(&plan, frequencies, &width);
        assert_true(fabs(width * 9 - 781250) < 1e-9);
        for (size_t at = 1; at < COARSE * 9; at++)
            assert_true(fabs(frequencies[at] - frequencies[at - 1] - width) <
                        1e-7);
        free(frequencies);
    }
}

/* Bands of one channel each are averaged together. */
TEST(averages_of_bands)
{
    static const double offsets_hz[] = {0, 500e3, 3e6, 4e6};
    struct fx8_plan plan = good_plan();
    plan.dc_frequency_hz = 100e6;
    plan.channelizer.method = FX8_METHOD_NONE;
    plan.channelizer.n_channels = 1;
    plan.n_bands = 4;
    plan.band_offset_hz = offsets_hz;
    plan.channel_average = 2;
    struct fx8_error error;
    must(fx8_plan_check(&plan, &error), error);
    double frequencies[2], width;
    fx8_frequencies(&plan, frequencies, &width);
    assert_true(frequencies[0] == 100.25e6);
    assert_true(frequencies[1] == 103.5e6);
    assert_true(width == 2e6);
    plan.channel_average = 3;
    must_fail(fx8_plan_check(&plan, &error), error, FX8_ERR_USAGE,
              "plan: channel_average: expected a divisor of the channels");
}

/* Real samples: every band has its own baseband zero. */
TEST(real_bands_side_by_side)
{
    static const double offsets_hz[] = {0, 500e3, 3e6};
    for (int lower = 0; lower < 2; lower++) {
        struct fx8_plan plan = good_plan();
        plan.dc_frequency_hz = 100e6;
        plan.is_complex = false;
        plan.lower_sideband = lower;
        plan.channelizer.n_channels = 4;
        plan.n_bands = 3;
        plan.band_offset_hz = offsets_hz;
        struct fx8_error error;
        must(fx8_plan_check(&plan, &error), error);
        double frequencies[12], width;
        fx8_frequencies(&plan, frequencies, &width);
        for (size_t at = 0; at < 12; at++)
            assert_true(frequencies[at] == 100e6 + offsets_hz[at / 4] -
                                               (lower ? 500e3 : 0) +
                                               (double)(at % 4) * 125e3);
    }
}

TEST(dumps_in_a_stretch)
{
    struct fx8_plan plan = good_plan(); /* N = 16, P = 8, M = 100 */
    plan.first_sample = 12345;          /* not used here */
    const int64_t dump = 100 * 16, overlap = 7 * 16;
    assert_int_equal(fx8_count_dumps(&plan, -5), 0);
    assert_int_equal(fx8_count_dumps(&plan, 0), 0);
    assert_int_equal(fx8_count_dumps(&plan, overlap), 0);
    for (int64_t n = 1; n < 4; n++) {
        assert_int_equal(fx8_count_dumps(&plan, overlap + n * dump - 1), n - 1);
        assert_int_equal(fx8_count_dumps(&plan, overlap + n * dump), n);
        assert_int_equal(fx8_count_dumps(&plan, overlap + n * dump + 1), n);
    }
    plan.spectra_per_dump = 1;
    assert_int_equal(fx8_count_dumps(&plan, 8 * 16 - 1), 0);
    assert_int_equal(fx8_count_dumps(&plan, 8 * 16), 1);
    assert_int_equal(fx8_count_dumps(&plan, 9 * 16 - 1), 1);
    plan.channelizer.method = FX8_METHOD_NONE;
    plan.channelizer.n_channels = 1;
    assert_int_equal(fx8_count_dumps(&plan, 1), 1);
    assert_int_equal(fx8_count_dumps(&plan, INT64_MAX), INT64_MAX);
}

/* The time is the nearest picosecond to start + half / (2 fs): twice the rate
 * times the difference is at most the rate. */
TEST(centres_of_dumps)
{
    static const int64_t indices[] = {0, 1, 2, 999, 123456789};
    static const int64_t firsts[] = {0, 1, 7777777};
    static const int64_t spectra[] = {1, 2, 57870};
    const struct fx8_time start = {1700000000, 999999999999};
    for (size_t i = 0; i < 5 * 3 * 3 * 2; i++) {
        struct fx8_plan plan = good_plan();
        plan.sample_rate = (struct fx8_rate){25000000, 27};
        plan.is_complex = i >= 45;
        plan.first_sample = firsts[i % 3];
        plan.spectra_per_dump = spectra[i / 3 % 3];
        const int64_t d = indices[i / 9 % 5], m = plan.spectra_per_dump;
        const int64_t n = plan.is_complex ? 16 : 32;
        const wide half =
            (wide)(2 * d * m + m - 1) * n + 8 * n + 2 * plan.first_sample;
        const struct fx8_time time = fx8_dump_time(&plan, start, d);
        assert_true(time.picosecond >= 0 && time.picosecond < FX8_PICOSECONDS);
        const wide later =
            (wide)(time.unix_s - start.unix_s) * FX8_PICOSECONDS +
            time.picosecond - start.picosecond;
        const wide difference =
            later * 2 * 25000000 - half * 27 * FX8_PICOSECONDS;
        assert_true(difference <= 25000000 && difference >= -25000000);
    }
}
