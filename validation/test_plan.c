/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_plan.c -- which plans are valid, and the axes that follow from a plan.
 *
 * Shows (correlation, plan and products): axes are correct; so are baselines,
 *     products, conjugation and the step from sums to visibilities
 * Within: equal
 * In: table_of_two_feeds, test_postprocess.c, python/test_matrix.py
 *
 * Shows (correlation, oversampled bands): the stitched axis has no gap or
 *     overlap; overlapping bands and gains out of range are refused
 * Within: steps equal as integers, frequencies the nearest doubles; messages
 *     word for word
 * Because: rates are fractions
 */
#include "correlator/library/plan.h"
#include "kernels/baseline.h"
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
    plan.marker.is_used = true;
    return plan;
}

/* The plan with a change must be refused with this text; NULL: it must be
 * valid. */
static void check_plan(const struct fx8_plan *plan, const char *text)
{
    struct fx8_error error;
    if (text == NULL)
        must(fx8_plan_check(plan, &error), error);
    else
        must_fail(fx8_plan_check(plan, &error), error, FX8_ERR_USAGE, text);
}

#define CHANGE(text, statement)                                                \
    do {                                                                       \
        struct fx8_plan change = good_plan(), *plan = &change;                 \
        statement;                                                             \
        check_plan(plan, text);                                                \
    } while (0)

/* A whole number is refused just beyond its limits. */
#define RANGE(text, member, low, high)                                         \
    do {                                                                       \
        CHANGE(text, plan->member = (low)-1);                                  \
        CHANGE(NULL, plan->member = (low));                                    \
        CHANGE(NULL, plan->member = (high));                                   \
        CHANGE(text, plan->member = (high) + 1);                               \
    } while (0)

/* Bands of 1 MHz each, and 13 of the 16 channels: 812.5 kHz. */
static const double near_hz[] = {0, 812.5e3, 1625e3};
static const double nearer_hz[] = {0, 812.5e3, 1624.9e3};
static const double descending_hz[] = {0, 2e6, 1e6};
static const double endless_hz[] = {0, INFINITY};
static const double gains[] = {0.75, 0x1p-30, 0x1p30};
static const double high_gains[] = {1.0, 0x1.0000000000001p30, 1.0};
static const double low_gains[] = {1.0, 1.0, 0x1.fffffffffffffp-31};
static const double zero_gains[] = {0.0, 1.0, 1.0};
static const double negative_gains[] = {-1.0, 1.0, 1.0};
static const double no_gains[] = {1.0, NAN, 1.0};

static void take_bands(struct fx8_plan *plan, size_t n, const double *offsets)
{
    plan->sample_rate = (struct fx8_rate){1000000, 1};
    plan->n_bands = n;
    plan->band_offset_hz = offsets;
}

/* All channels have this power but the last. */
static void take_ripple(struct fx8_plan *plan, double power)
{
    static double ripple[16];
    for (size_t c = 0; c < LENGTH(ripple); c++)
        ripple[c] = c + 1 < LENGTH(ripple) ? 1.0 : power;
    plan->channelizer.n_channels = LENGTH(ripple);
    plan->ripple = ripple;
}

TEST(rules_of_a_plan)
{
    static const char rate[] =
        "plan: sample_rate: expected a positive fraction in Hz";
    static const char method[] =
        "plan: method none: expected complex samples and 1 channel";
    static const char target[] =
        "plan: target_rms: expected above 0, at most 127 LSB";
    static const char precision[] =
        "plan: precision: expected INT8, FP32, INTERVAL or several of them";
    static const char average[] =
        "plan: channel_average: expected a divisor of the channels";
    static const char count[] = "plan: n_bands: expected 1 to 4096";
    static const char place[] = "plan: band_offset_hz: expected ascending "
                                "bands whose kept channels do not overlap";
    static const char kept[] =
        "plan: n_kept: expected at most the channels, 0 for real samples";
    static const char gain[] = "plan: input_gain: expected 2^-30 to 2^30";
    static const char ripple[] = "plan: ripple: expected 1e-9 to 1e9";
    RANGE("plan: n_antennas: expected 1 to 32768", n_antennas, 1, 32768);
    RANGE("plan: n_polarizations: expected 1 or 2", n_polarizations, 1, 2);
    RANGE("plan: first_sample: expected 0 to 2^61", first_sample, 0,
          INT64_C(1) << 61);
    CHANGE("plan: min_weight: expected 0 to 1", plan->min_weight = -0.01);
    CHANGE("plan: min_weight: expected 0 to 1", plan->min_weight = 1.01);
    CHANGE("plan: min_weight: expected 0 to 1", plan->min_weight = NAN);
    CHANGE(NULL, plan->min_weight = 1);
    CHANGE("plan: sk_false_alarm: expected 0, or 1e-9 to 0.1",
           plan->sk_false_alarm = 0.11);
    CHANGE("plan: sk_false_alarm: expected 0, or 1e-9 to 0.1",
           plan->sk_false_alarm = NAN);
    CHANGE("plan: sk_false_alarm: expected dumps of at least 64 spectra",
           (plan->sk_false_alarm = 0.1, plan->spectra_per_dump = 63));
    CHANGE(NULL, (plan->sk_false_alarm = 0.1, plan->spectra_per_dump = 64));
    static const char blanking[] =
        "plan: blanking: expected a level of 0 to 127, a margin of 0 to "
        "1048576";
    RANGE(blanking, blanking.level, 0, 127);
    RANGE(blanking, blanking.margin, 0, 1048576);
    RANGE("plan: marker.value: expected -128 to 127", marker.value, -128, 127);
    RANGE("plan: marker.least_length: expected 1 to 1048576",
          marker.least_length, 1, 1048576);
    RANGE("plan: n_channels: expected 1 to 16777216", channelizer.n_channels, 1,
          16777216);
    RANGE("plan: n_taps: expected 1 to 64", channelizer.n_taps, 1, 64);
    RANGE("plan: spectra_per_dump: expected 1 or more, 2^61 samples at most",
          spectra_per_dump, 1, (INT64_C(1) << 61) / 16);
    RANGE("plan: n_spectra: expected 0 or more, 2^61 samples at most",
          n_spectra, 0, (INT64_C(1) << 61) / 16);
    CHANGE(NULL, plan->machine.threads.count = 1024);
    CHANGE("plan: threads.count: expected 0 to 1024",
           plan->machine.threads.count = 1025);
    CHANGE(count, take_bands(plan, 0, near_hz));
    CHANGE(count, take_bands(plan, 4097, near_hz));
    CHANGE(place, take_bands(plan, 2, NULL));
    CHANGE(NULL, take_bands(plan, 1, near_hz));
    CHANGE(place, take_bands(plan, 3, near_hz));
    CHANGE(NULL, take_bands(plan, 3, near_hz); plan->channelizer.n_kept = 13);
    CHANGE(place, take_bands(plan, 3, nearer_hz);
           plan->channelizer.n_kept = 13);
    CHANGE(NULL, take_bands(plan, 3, nearer_hz);
           plan->channelizer.method = FX8_METHOD_NONE;
           plan->channelizer.n_channels = 1);
    CHANGE(place, take_bands(plan, 3, descending_hz));
    CHANGE(place, take_bands(plan, 2, endless_hz));
    CHANGE("plan: n_bands: expected at most 16777216 channels of all bands",
           take_bands(plan, 3, near_hz);
           plan->channelizer.n_channels = 8388608;
           plan->channelizer.n_kept = 5592406);
    CHANGE(NULL, plan->channelizer.n_kept = 16);
    CHANGE(kept, plan->channelizer.n_kept = 17);
    CHANGE(kept, plan->channelizer.n_kept = 15; plan->is_complex = false);
    CHANGE(NULL, plan->channelizer.n_kept = 9; plan->channel_average = 3);
    CHANGE(average, plan->channelizer.n_kept = 9; plan->channel_average = 2);
    CHANGE(NULL, plan->n_antennas = 3; plan->input_gain = gains);
    CHANGE(gain, plan->n_antennas = 3; plan->input_gain = zero_gains);
    CHANGE(gain, plan->n_antennas = 3; plan->input_gain = negative_gains);
    CHANGE(gain, plan->n_antennas = 3; plan->input_gain = high_gains);
    CHANGE(gain, plan->n_antennas = 3; plan->input_gain = low_gains);
    CHANGE(gain, plan->n_antennas = 3; plan->input_gain = no_gains);
    CHANGE(NULL, take_ripple(plan, 1e-9));
    CHANGE(NULL, take_ripple(plan, 1e9));
    CHANGE(ripple, take_ripple(plan, 0));
    CHANGE(ripple, take_ripple(plan, -1));
    CHANGE(ripple, take_ripple(plan, 1.1e9));
    CHANGE(ripple, take_ripple(plan, NAN));
    CHANGE(NULL, (void)plan);
    CHANGE(rate, plan->sample_rate.numerator_hz = 0);
    CHANGE(rate, plan->sample_rate.denominator = -1);
    CHANGE("plan: dc_frequency_hz: expected a number",
           plan->dc_frequency_hz = NAN);
    CHANGE("plan: dc_frequency_hz: expected a number",
           plan->dc_frequency_hz = INFINITY);
    CHANGE(NULL, plan->dc_frequency_hz = -1e6);
    CHANGE(NULL, plan->marker.is_used = false; plan->marker.value = 999;
           plan->marker.least_length = 0);
    CHANGE(method, plan->channelizer.method = FX8_METHOD_NONE);
    CHANGE(NULL, plan->channelizer.method = FX8_METHOD_NONE;
           plan->channelizer.n_channels = 1);
    CHANGE(method, plan->channelizer.method = FX8_METHOD_NONE;
           plan->channelizer.n_channels = 1; plan->is_complex = false);
    CHANGE(NULL, plan->channelizer.method = FX8_METHOD_FFT;
           plan->channelizer.n_taps = 0);
    CHANGE(target, plan->quantizer.target_rms = 0);
    CHANGE(NULL, plan->quantizer.target_rms = 127);
    CHANGE(target, plan->quantizer.target_rms = 127.5);
    CHANGE(target, plan->quantizer.target_rms = NAN);
    CHANGE(precision, plan->precision = (enum fx8_precision)0);
    CHANGE(precision, plan->precision = (enum fx8_precision)16);
    CHANGE(precision,
           plan->precision = (enum fx8_precision)(1 << FX8_RESULT_UP));
    CHANGE(average, plan->channel_average = 0);
    CHANGE(NULL, plan->channel_average = 16);
    CHANGE(average, plan->channel_average = 3);
    CHANGE("plan: kernel: expected a name", plan->machine.kernel = NULL);
    CHANGE(NULL, plan->quicklook = true; plan->precision = FX8_PRECISION_FP32);
    CHANGE("plan: quicklook: expected precision INT8 or FP32: "
           "bounds have no quick-look",
           plan->quicklook = true;
           plan->precision = FX8_PRECISION_INTERVAL);
    CHANGE(NULL, plan->math = FX8_MATH_FAST);
    CHANGE("plan: math: expected IEEE or FAST", plan->math = (enum fx8_math)2);
    CHANGE("plan: method: expected PFB, FFT or NONE",
           plan->channelizer.method = (enum fx8_method)3);
    CHANGE("plan: window: expected AUTO, HAMMING, HANN or RECTANGULAR",
           plan->channelizer.window = (enum fx8_window_shape)4);
    CHANGE("plan: fir: expected FP32 or DP2A",
           plan->channelizer.fir = (enum fx8_fir)2);
    CHANGE("plan: level: expected CHANNEL or INPUT",
           plan->quantizer.gain_per = (enum fx8_gain_per)2);
    CHANGE("plan: backend: expected AUTO, CPU or CUDA",
           plan->machine.backend = (enum fx8_backend)3);
}

static enum fx8_status no_delay(void *context, int64_t sample, double *delay_s,
                                struct fx8_error *error)
{
    (void)context;
    (void)sample;
    (void)error;
    delay_s[0] = 0.0;
    return FX8_OK;
}

/* Delays at this rate. */
static void take_delays(struct fx8_plan *plan, double most_s, int64_t rate_hz)
{
    plan->sample_rate.numerator_hz = rate_hz;
    plan->delays.delay = no_delay;
    plan->delays.most_s = most_s;
}

TEST(rules_of_delays)
{
    static const char most[] =
        "plan: delays.most_s: expected less than 2^30 samples";
    static const char method[] = "plan: delays: expected method PFB or FFT";
    static const double turns[] = {0.0, -7.25, 1e300, 0.5, INFINITY};
    CHANGE(NULL, take_delays(plan, 0.0, 1000000));
    CHANGE(NULL, take_delays(plan, 1073.741823, 1000000));
    CHANGE(most, take_delays(plan, 1073.741824, 1000000));
    CHANGE(most, take_delays(plan, -1e-9, 1000000));
    CHANGE(most, take_delays(plan, NAN, 1000000));
    CHANGE(NULL, take_delays(plan, 0.0, INT64_C(1000000000000000)));
    CHANGE("plan: delays: expected a sample_rate of at most 10^15 Hz",
           take_delays(plan, 0.0, INT64_C(1000000000000001)));
    CHANGE(method, take_delays(plan, 0.0, 1000000);
           plan->channelizer.method = FX8_METHOD_NONE;
           plan->channelizer.n_channels = 1);
    CHANGE(method, plan->delays.turns = turns;
           plan->channelizer.method = FX8_METHOD_NONE;
           plan->channelizer.n_channels = 1);
    CHANGE(NULL, plan->delays.turns = turns; plan->delays.most_s = NAN);
    CHANGE("plan: delays.turns: expected numbers",
           plan->delays.turns = turns + 1);
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
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct fx8_plan plan = good_plan();
        plan.channelizer.n_channels = cases[i].channels;
        plan.channelizer.flag_edges = cases[i].edges;
        plan.channelizer.flag_dc = cases[i].dc;
        plan.is_complex = cases[i].is_complex;
        plan.lower_sideband = cases[i].lower;
        uint8_t *flags = temporary(cases[i].channels);
        for (size_t n_dropped = 0; n_dropped <= 5; n_dropped += 5) {
            if (n_dropped > 0 && cases[i].is_complex) {
                plan.channelizer.n_kept = cases[i].channels;
                plan.channelizer.n_channels += n_dropped;
            }
            memset(flags, GARBAGE, cases[i].channels);
            fx8_plan_flag_channels(&plan, flags);
            for (size_t c = 0; c < cases[i].channels; c++)
                assert_int_equal(flags[c], cases[i].flags[c] == '#');
        }
    }
}

/* Channels flagged one by one, beside those of every band. */
TEST(flagged_channels_of_bands)
{
    static const double offsets_hz[] = {0, 1e6};
    static const uint8_t listed[] = {0, 0, 0, 1, 0, 0, 1, 0, 0, 0};
    static const char expected[] = "#.######.#";
    uint8_t flags[LENGTH(listed)];
    struct fx8_plan plan = good_plan();
    plan.channelizer.n_channels = 5;
    plan.channelizer.n_kept = 0;
    plan.channelizer.flag_edges = 1;
    plan.channelizer.flag_dc = true;
    plan.n_bands = 2;
    plan.band_offset_hz = offsets_hz;
    plan.flag_channel = listed;
    memset(flags, GARBAGE, sizeof flags);
    fx8_plan_flag_channels(&plan, flags);
    for (size_t c = 0; c < LENGTH(listed); c++)
        assert_int_equal(flags[c], expected[c] == '#');
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
        double *frequencies = temporary(n * sizeof *frequencies);
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

/* N = 16, P = 8: the first spectrum takes 128 samples, each further one 16. */
TEST(dumps_in_a_stretch)
{
    static const struct {
        int64_t spectra_per_dump, n_samples, dumps;
    } cases[] = {
        {100, -5, 0},   {100, 0, 0},    {100, 112, 0},  {100, 1711, 0},
        {100, 1712, 1}, {100, 3311, 1}, {100, 3312, 2}, {1, 127, 0},
        {1, 128, 1},    {1, 143, 1},    {1, 144, 2},
    };
    struct fx8_plan plan = good_plan();
    plan.first_sample = 12345; /* not used here */
    for (size_t i = 0; i < LENGTH(cases); i++) {
        plan.spectra_per_dump = cases[i].spectra_per_dump;
        assert_int_equal(fx8_count_dumps(&plan, cases[i].n_samples),
                         cases[i].dumps);
    }
    plan.channelizer.method = FX8_METHOD_NONE;
    plan.channelizer.n_channels = 1;
    assert_int_equal(fx8_count_dumps(&plan, 1), 1);
    assert_int_equal(fx8_count_dumps(&plan, INT64_MAX), INT64_MAX);
}

/* With an end, the last dump may be shorter, and none follows. */
TEST(spectra_of_dumps)
{
    struct fx8_plan plan = good_plan();
    plan.spectra_per_dump = 100;
    assert_int_equal(fx8_dump_spectra(&plan, INT64_MAX), 100);
    static const int64_t ends[][5] = {
        {1, 1, 0, 0, 0},         {99, 99, 0, 0, 0},     {100, 100, 0, 0, 0},
        {101, 100, 1, 0, 0},     {200, 100, 100, 0, 0}, {250, 100, 100, 50, 0},
        {399, 100, 100, 100, 99}};
    for (size_t i = 0; i < LENGTH(ends); i++)
        for (int64_t dump = 0; dump < 4; dump++) {
            plan.n_spectra = ends[i][0];
            assert_int_equal(fx8_dump_spectra(&plan, dump), ends[i][1 + dump]);
        }
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
        const int64_t d = indices[i / 9 % 5], whole = plan.spectra_per_dump;
        const int64_t m = i % 2 == 0 ? whole : (whole + 1) / 2;
        plan.n_spectra = d * whole + m;
        const int64_t n = plan.is_complex ? 16 : 32;
        const wide half =
            (wide)(2 * d * whole + m - 1) * n + 8 * n + 2 * plan.first_sample;
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

/* Three antennas of two feeds, written out; input = 2 antenna + feed. */
TEST(table_of_two_feeds)
{
    static const struct {
        unsigned input_1, input_2, pair;
        bool conjugate;
    } expected[24] = {
        {0, 0, 0, 0},  {1, 1, 2, 0},  {0, 1, 1, 0},  {1, 0, 1, 1},
        {0, 2, 3, 0},  {1, 3, 7, 0},  {0, 3, 6, 0},  {1, 2, 4, 0},
        {0, 4, 10, 0}, {1, 5, 16, 0}, {0, 5, 15, 0}, {1, 4, 11, 0},
        {2, 2, 5, 0},  {3, 3, 9, 0},  {2, 3, 8, 0},  {3, 2, 8, 1},
        {2, 4, 12, 0}, {3, 5, 18, 0}, {2, 5, 17, 0}, {3, 4, 13, 0},
        {4, 4, 14, 0}, {5, 5, 20, 0}, {4, 5, 19, 0}, {5, 4, 19, 1},
    };
    struct fx8_product table[24];
    fx8_baseline_table(3, 2, table);
    for (size_t k = 0; k < 24; k++) {
        assert_int_equal(table[k].input_1, expected[k].input_1);
        assert_int_equal(table[k].input_2, expected[k].input_2);
        assert_int_equal(table[k].pair, expected[k].pair);
        assert_int_equal(table[k].conjugate, expected[k].conjugate);
    }
}
