/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of every kind: how each is read, which are refused with which message,
 * and which combinations of keys are refused.
 *
 * Shows: as test_config.c
 */
#include <math.h>

#include "config/base/number.h"
#include "config/settings.h"
#include "validation/scratch.h"
#include "validation/settings_checks.h"
#include "validation/testing.h"

/* Settings of one override on top of the defaults, which must be good. */
static struct fx8_settings set(const char *override)
{
    struct fx8_settings settings;
    struct fx8_error error = {.message = ""};
    const enum fx8_status status =
        fx8_settings_load(NULL, &override, 1, false, &settings, &error);
    if (status != FX8_OK)
        print_error("%s\n", error.message);
    assert_int_equal(status, FX8_OK);
    return settings;
}

/* An override "key=value" that is refused with "--set: key: value: " and then
 * `expected`. */
static void refuse_value(const char *key, const char *value,
                         const char *expected)
{
    char text[512], whole[FX8_ERROR_MESSAGE_SIZE];
    snprintf(text, sizeof text, "%s=%s", key, value);
    snprintf(whole, sizeof whole, "--set: %s: %s: %s", key,
             *value != '\0' ? value : "(empty)", expected);
    const char *override = text;
    struct fx8_settings settings;
    struct fx8_error error = {.message = ""};
    assert_int_equal(
        fx8_settings_load(NULL, &override, 1, false, &settings, &error),
        FX8_ERR_USAGE);
    assert_string_equal(error.message, whole);
}

/* --- numbers -------------------------------------------------------------- */

TEST(fractions)
{
    static const struct {
        const char *text;
        int64_t numerator, denominator;
    } good[] = {
        {"25000000/27", 25000000, 27},
        {"50000000/54", 25000000, 27},
        {"16368000.0", 16368000, 1},
        {"925925.93", 92592593, 100},
        {"1.6368e7", 16368000, 1},
        {"25e6/2.7e1", 25000000, 27},
        {"1/3.0", 1, 3},
        {"0", 0, 1},
        {"0e50", 0, 1},
        {"0.125", 1, 8},
        {"1e-18", 1, INT64_C(1000000000000000000)},
        {"9e18", INT64_C(9000000000000000000), 1},
        {"4e18/2e18", 2, 1},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t numerator = -1, denominator = -1;
        assert_true(
            fx8_number_fraction(good[i].text, &numerator, &denominator));
        assert_int_equal(numerator, good[i].numerator);
        assert_int_equal(denominator, good[i].denominator);
    }
    static const char *const bad[] = {"",
                                      "/",
                                      "1/",
                                      "/2",
                                      "1/0",
                                      "-1",
                                      "+1",
                                      "1/-2",
                                      "1/2/3",
                                      "1e19",
                                      "1e-19",
                                      "1e99",
                                      "1e100",
                                      "1 /2",
                                      "1.2.3",
                                      "0x10",
                                      "1234567890123456789",
                                      "inf",
                                      "1/2 ",
                                      "9e18/0.5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t numerator = -1, denominator = -1;
        assert_false(fx8_number_fraction(bad[i], &numerator, &denominator));
        assert_int_equal(numerator, -1);
    }
}

TEST(numbers_of_keys)
{
    struct fx8_settings s = set("input.duration_s=all");
    assert_true(isinf(s.input.duration_s));
    fx8_settings_clear(&s);
    s = set("array.latitude_deg=");
    assert_true(isnan(s.observation.site.latitude_deg));
    fx8_settings_clear(&s);
    s = set("channelizer.flag_edges=auto");
    assert_true(s.channelizer.flag_edges == FX8_FLAG_EDGES_AUTO);
    fx8_settings_clear(&s);
    s = set("array.polarizations=as recorded");
    assert_int_equal(s.array.polarizations, 0);
    fx8_settings_clear(&s);
    s = set("observation.sample_rate_hz=50000000/54");
    assert_int_equal(s.observation.sample_rate.numerator_hz, 25000000);
    assert_int_equal(s.observation.sample_rate.denominator, 27);
    fx8_settings_clear(&s);
    s = set("observation.start_time_utc=2019-08-29T19:00:00.25Z");
    assert_true(s.observation.has_start_time);
    assert_int_equal(s.observation.start_time.unix_s, 1567105200);
    assert_int_equal(s.observation.start_time.picosecond, 250000000000);
    fx8_settings_clear(&s);
}

TEST(numbers_that_keys_refuse)
{
    static const char taps[] = "expected an integer from 1 to 64";
    static const char *const bad_taps[] = {
        "0",   "65",     "-1",
        "8.0", "8 taps", "",
        "x",   "1e1",    "9223372036854775808"};
    for (size_t i = 0; i < sizeof bad_taps / sizeof *bad_taps; i++)
        refuse_value("channelizer.taps", bad_taps[i], taps);
    static const char seconds[] = "expected a plain number from 0 to 1e+07 s";
    static const char *const bad_seconds[] = {
        "5 ms", "5s",  "-1", "1e8",   "nan",  "inf", "",   "all",
        "1e",   "1e+", ".",  "1e309", "0x10", "1,5", "1_0"};
    for (size_t i = 0; i < sizeof bad_seconds / sizeof *bad_seconds; i++)
        refuse_value("input.start_s", bad_seconds[i], seconds);
    refuse_value("observation.dc_frequency_hz", "150 MHz",
                 "expected a plain number from 0 to 1e+15 Hz");
    refuse_value("correlator.integration_time_s", "0.0009",
                 "expected a plain number from 0.001 to 1e+07 s, or all");
    refuse_value("input.missing_run", "0",
                 "expected an integer from 1 to 1048576 samples");
    refuse_value("channelizer.channels", "1048577",
                 "expected an integer from 1 to 1048576");
    refuse_value("quantizer.target_rms", "0.09",
                 "expected a plain number from 0.1 to 60 LSB");
    refuse_value("correlator.memory_limit_mib", "0",
                 "expected an integer from 1 to 1073741824 MiB, or auto");
    static const char rate[] =
        "expected a plain number or a fraction such as 25000000/27 from 1 to "
        "1e+11 Hz, over at most 1000000 in lowest terms";
    static const char *const bad_rates[] = {
        "0", "0.5", "-5", "1e12", "1/0", "5 MHz", "abc", "10.0000001"};
    for (size_t i = 0; i < sizeof bad_rates / sizeof *bad_rates; i++)
        refuse_value("observation.sample_rate_hz", bad_rates[i], rate);
    refuse_value("observation.start_time_utc", "yesterday",
                 "expected UTC as 2019-08-29T19:00:00[.123456789]Z, no leap "
                 "second");
}

TEST(scales)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"auto", 0},          {"1", 1},
                {"0.5", 0.5},         {"1/256", 1.0 / 256},
                {"2/512", 1.0 / 256}, {"1/16384", 1.0 / 16384}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[80];
        snprintf(text, sizeof text, "input.scale_to_8bit=%s", good[i].text);
        struct fx8_settings s = set(text);
        assert_true(s.input.scale_to_8bit == good[i].value);
        fx8_settings_clear(&s);
    }
    static const char *const bad[] = {"",    "0",    "2",       "3/4",
                                      "1/3", "-1/2", "1/32768", "none"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse_value("input.scale_to_8bit", bad[i],
                     "expected a power of two from 1/16384 to 1 such as "
                     "1/256, or auto");
}

/* --- words, markers, texts ------------------------------------------------ */

TEST(words_and_booleans)
{
    static const char *const yes[] = {"yes", "true"};
    static const char *const no[] = {"no", "false"};
    for (size_t i = 0; i < 2; i++) {
        char text[80];
        snprintf(text, sizeof text, "channelizer.flag_dc=%s", yes[i]);
        struct fx8_settings s = set(text);
        assert_true(s.channelizer.flag_dc);
        fx8_settings_clear(&s);
        snprintf(text, sizeof text, "postprocess.quantization_bias=%s", no[i]);
        s = set(text);
        assert_false(s.quantizer.remove_bias);
        fx8_settings_clear(&s);
    }
    refuse_value("channelizer.flag_dc", "Yes",
                 "expected yes, no, true or false");
    refuse_value("channelizer.flag_dc", "1", "expected yes, no, true or false");
    refuse_value("channelizer.method", "dft", "expected pfb, fft or none");
    refuse_value("input.sideband", "", "expected as recorded, upper or lower");
    refuse_value("array.x_orientation", "west", "expected east or north");
    struct fx8_settings s = set("input.polarization_order=yx");
    assert_true(s.input.y_first);
    fx8_settings_clear(&s);
    s = set("correlator.precision=both");
    assert_int_equal(s.correlator.precision, FX8_PRECISION_BOTH);
    fx8_settings_clear(&s);
    s = set("output.compression=bitshuffle");
    assert_int_equal(s.output.compression, FX8_COMPRESSION_BITSHUFFLE);
    fx8_settings_clear(&s);
}

TEST(markers)
{
    static const struct {
        const char *override;
        bool is_used;
        int value;
    } good[] = {{"input.missing_value=none", false, 0},
                {"input.missing_value=zero", true, 0},
                {"input.missing_value=0", true, 0},
                {"input.missing_value=-128", true, -128},
                {"input.missing_value=127", true, 127}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct fx8_settings s = set(good[i].override);
        assert_int_equal(s.input.marker.is_used, good[i].is_used);
        assert_int_equal(s.input.marker.value, good[i].value);
        fx8_settings_clear(&s);
    }
    static const char *const bad[] = {"-129", "128", "nan", "", "0.0"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse_value("input.missing_value", bad[i],
                     "expected zero, an integer from -128 to 127, or none");
}

TEST(texts)
{
    char text[FX8_TEXT_SIZE + 40] = "observation.object=";
    const size_t start = strlen(text);
    memset(text + start, 'x', FX8_TEXT_SIZE - 1);
    struct fx8_settings s = set(text);
    assert_int_equal(strlen(s.observation.object), FX8_TEXT_SIZE - 1);
    fx8_settings_clear(&s);
    text[start + FX8_TEXT_SIZE - 1] = 'x';
    const char *override = text;
    struct fx8_error error;
    assert_int_equal(fx8_settings_load(NULL, &override, 1, false, &s, &error),
                     FX8_ERR_USAGE);
    assert_non_null(
        strstr(error.message, "x...: expected at most 255 ASCII characters"));
    refuse_value("input.files", "a,,b", "expected paths separated by commas");
    refuse_value("input.files", "a,", "expected paths separated by commas");
    refuse_value("input.files", ",", "expected paths separated by commas");
}

/* --- lists of numbers ----------------------------------------------------- */

static void assert_list(const char *override, bool is_flags, size_t count,
                        const int64_t *items)
{
    struct fx8_settings s = set(override);
    const struct fx8_number_list *list =
        is_flags ? &s.array.flag_antennas : &s.array.antennas;
    assert_false(list->is_all);
    assert_false(list->is_count);
    assert_int_equal(list->count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(list->items[i], items[i]);
    fx8_settings_clear(&s);
}

TEST(selections)
{
    struct fx8_settings s = set("array.antennas=all");
    assert_true(s.array.antennas.is_all);
    assert_null(s.array.antennas.items);
    fx8_settings_clear(&s);
    s = set("array.antennas=24");
    assert_true(s.array.antennas.is_count);
    assert_int_equal(s.array.antennas.count, 24);
    fx8_settings_clear(&s);
    const int64_t one[] = {5}, several[] = {9, 0, 1, 2, 3, 20},
                  last[] = {65535};
    assert_list("array.antennas=5-5", false, 1, one);
    assert_list("array.antennas=9, 0-3 ,20", false, 6, several);
    assert_list("array.antennas=65535-65535", false, 1, last);
    assert_list("array.flag_antennas=5", true, 1, one);
    assert_list("array.flag_antennas=9,0-3,20", true, 6, several);
    assert_list("array.flag_antennas=", true, 0, NULL);
    s = set("array.antennas=0-65535");
    assert_int_equal(s.array.antennas.count, 65536);
    assert_int_equal(s.array.antennas.items[65535], 65535);
    fx8_settings_clear(&s);
}

TEST(selections_that_are_none)
{
    static const char *const bad[] = {"0",
                                      "-1",
                                      "65537",
                                      "3-1",
                                      "1,",
                                      ",1",
                                      "1,,2",
                                      "",
                                      "1,1",
                                      "0-3,2",
                                      "x",
                                      "1-2-3",
                                      "1-",
                                      "-",
                                      "1.5,2",
                                      "+1,2",
                                      "0-65536",
                                      "1-+2",
                                      "ALL",
                                      "all,1",
                                      "1 2",
                                      "99999999999999999999",
                                      "0-9223372036854775807",
                                      "1--2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse_value("array.antennas", bad[i],
                     "expected all, a count, or a list such as 0-15,20 of "
                     "numbers from 0 to 65535, each once");
    static const char *const bad_flags[] = {"all", "2147483648", "0-65536",
                                            "0-2147483647", "1,1"};
    for (size_t i = 0; i < sizeof bad_flags / sizeof *bad_flags; i++)
        refuse_value("array.flag_antennas", bad_flags[i],
                     "expected a list such as 0-15,20 of numbers from 0 to "
                     "2147483647, each once");
}

/* --- what is not built, contradictions ------------------------------------ */

TEST(stages_that_are_not_built)
{
    static const char *const bad[][3] = {
        {"quantizer.dither", "yes", "no or false"},
        {"quantizer.dither", "true", "no or false"},
        {"delay.mode", "cable", "none"},
        {"delay.mode", "track", "none"},
        {"delay.phase_center_ra_deg", "83.6", "nothing"},
        {"delay.phase_center_dec_deg", "22", "nothing"},
        {"delay.phase_center_name", "Crab", "nothing"},
        {"delay.iers_file", "finals.all", "nothing"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char expected[160];
        snprintf(expected, sizeof expected, "is not built yet: expected %s",
                 bad[i][2]);
        refuse_value(bad[i][0], bad[i][1], expected);
    }
    /* an unknown value has its own message */
    refuse_value("delay.mode", "tracking", "expected none");
    /* valid in every build: the machine decides */
    struct fx8_settings s = set("correlator.backend=cuda");
    assert_int_equal(s.machine.backend, FX8_BACKEND_CUDA);
    fx8_settings_clear(&s);
    s = set("delay.dut1_s=-0.17");
    assert_true(s.delay.dut1_s == -0.17);
    fx8_settings_clear(&s);
    s = set("quantizer.dither=false");
    assert_false(s.dither);
    fx8_settings_clear(&s);
}

TEST(method_none_has_one_channel)
{
    struct fx8_settings s = load("[channelizer]\nmethod = none\n"
                                 "[correlator]\nintegration_time_s = all\n");
    assert_int_equal(s.channelizer.n_channels, 1);
    fx8_settings_clear(&s);
    s = load("[channelizer]\nmethod = none\nchannels = 1\n"
             "[correlator]\nintegration_time_s = all\n");
    fx8_settings_clear(&s);
    refuse("[channelizer]\nmethod = none\nchannels = 2\n"
           "[correlator]\nintegration_time_s = all\n",
           ":3: channelizer.channels: 2: expected 1 with channelizer.method = "
           "none");
    refuse("[channelizer]\nwindow = hann\nmethod = none\n"
           "[correlator]\nintegration_time_s = all\n",
           ":2: channelizer.window: hann: expected auto with "
           "channelizer.method = none, which has no filter");
    refuse("[channelizer]\nmethod = none\nfir = dp2a\n"
           "[correlator]\nintegration_time_s = all\n",
           ":3: channelizer.fir: dp2a: expected fp32 with "
           "channelizer.method = none, which has no filter");
    refuse("[channelizer]\nmethod = none\nflag_dc = yes\n"
           "[correlator]\nintegration_time_s = all\n",
           ":3: channelizer.flag_dc: yes: expected no with channelizer.method "
           "= none, whose one channel it would flag");
    refuse("[channelizer]\nmethod = none\nkeep_fraction = 27/32\n"
           "[correlator]\nintegration_time_s = all\n",
           ":3: channelizer.keep_fraction: 27/32: expected 1 with "
           "channelizer.method = none");
    refuse("[channelizer]\nmethod = none\nflag_edges = 1\n"
           "[correlator]\nintegration_time_s = all\n",
           ":3: channelizer.flag_edges: 1: expected less than half of the 1 "
           "channel");
}

TEST(numbers_that_must_fit_the_channels)
{
    refuse("[channelizer]\nchannels = 64\nflag_edges = 32\n"
           "[correlator]\nintegration_time_s = 1\n",
           ":3: channelizer.flag_edges: 32: expected less than half of the 64 "
           "channels");
    refuse(REQUIRED "[output]\nchannel_average = 48\n",
           ":6: output.channel_average: 48: expected a divisor of the 64 "
           "channels");
    refuse(REQUIRED "[output]\nchannel_average = 128\n",
           ":6: output.channel_average: 128: expected a divisor of the 64 "
           "channels");
    struct fx8_settings s = load(REQUIRED "[output]\nchannel_average = 64\n"
                                          "[channelizer]\nflag_edges = 31\n");
    assert_int_equal(s.output.channel_average, 64);
    assert_int_equal(s.channelizer.n_kept, 0); /* all */
    fx8_settings_clear(&s);
    s = load(REQUIRED "[output]\nchannel_average = 9\n"
                      "[channelizer]\nflag_edges = 26\n"
                      "keep_fraction = 54/64\n");
    assert_int_equal(s.keep_fraction.numerator, 27);
    assert_int_equal(s.channelizer.n_kept, 54);
    fx8_settings_clear(&s);
    refuse(REQUIRED "[output]\nchannel_average = 8\n"
                    "[channelizer]\nkeep_fraction = 27/32\n",
           ":6: output.channel_average: 8: expected a divisor of the 54 "
           "channels kept of a band");
    refuse(REQUIRED "[channelizer]\nflag_edges = 27\nkeep_fraction = 27/32\n",
           ":6: channelizer.flag_edges: 27: expected less than half of the 54 "
           "channels");
    refuse(REQUIRED "[channelizer]\nkeep_fraction = 27/33\n",
           ":6: channelizer.keep_fraction: 27/33: expected a fraction that is "
           "a whole number of the 64 channels");
    refuse(REQUIRED "[channelizer]\nkeep_fraction = 1/128\n",
           ":6: channelizer.keep_fraction: 1/128: expected a fraction that is "
           "a whole number of the 64 channels");
}
