/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of every kind: how each is read, which are refused with which message,
 * and which combinations of keys are refused.
 *
 * Shows: as test_config.c
 */
#include "config/base/number.h"
#include "validation/settings_checks.h"

/* Values of a key that are refused. */
static void refuse_values(const char *key, const char *expected,
                          const char *const *values)
{
    for (; *values != NULL; values++) {
        char override[512];
        snprintf(override, sizeof override, "%s=%s", key, *values);
        refuse_last_override(LIST(override), false, expected);
    }
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
    for (size_t i = 0; i < LENGTH(good); i++) {
        int64_t numerator = -1, denominator = -1;
        assert_true(
            fx8_number_fraction(good[i].text, &numerator, &denominator));
        assert_int_equal(numerator, good[i].numerator);
        assert_int_equal(denominator, good[i].denominator);
    }
    const char *const *bad =
        LIST("", "/", "1/", "/2", "1/0", "-1", "+1", "1/-2", "1/2/3", "1e19",
             "1e-19", "1e99", "1e100", "1 /2", "1.2.3", "0x10",
             "1234567890123456789", "inf", "1/2 ", "9e18/0.5");
    for (; *bad != NULL; bad++) {
        int64_t numerator = -1, denominator = -1;
        assert_false(fx8_number_fraction(*bad, &numerator, &denominator));
        assert_int_equal(numerator, -1);
    }
}

/* Overrides, and what the dump writes of the value that was read. */
TEST(values_that_are_read)
{
    static const char *const cases[][2] = {
        {"input.duration_s=all", "duration_s = all"},
        {"array.latitude_deg=", "latitude_deg ="},
        {"channelizer.flag_edges=auto", "flag_edges = auto"},
        {"array.polarizations=as recorded", "polarizations = as recorded"},
        {"observation.sample_rate_hz=50000000/54",
         "sample_rate_hz = 25000000/27"},
        {"observation.start_time_utc=2019-08-29T19:00:00.25Z",
         "start_time_utc = 2019-08-29T19:00:00.25Z"},
        {"delay.dut1_s=-0.17", "dut1_s = -0.17"},
        {"input.scale_to_8bit=auto", "scale_to_8bit = auto"},
        {"input.scale_to_8bit=1", "scale_to_8bit = 1"},
        {"input.scale_to_8bit=0.5", "scale_to_8bit = 1/2"},
        {"input.scale_to_8bit=1/256", "scale_to_8bit = 1/256"},
        {"input.scale_to_8bit=2/512", "scale_to_8bit = 1/256"},
        {"input.scale_to_8bit=1/16384", "scale_to_8bit = 1/16384"},
        {"channelizer.flag_dc=yes", "flag_dc = yes"},
        {"channelizer.flag_dc=true", "flag_dc = yes"},
        {"postprocess.quantization_bias=no", "quantization_bias = no"},
        {"postprocess.quantization_bias=false", "quantization_bias = no"},
        {"quantizer.dither=false", "dither = no"},
        {"quantizer.dither=yes", "dither = yes"},
        {"input.polarization_order=yx", "polarization_order = yx"},
        {"correlator.precision=both", "precision = both"},
        /* capitals, as the table spells the word */
        {"channelizer.method=PFB", "method = pfb"},
        {"correlator.precision=INT8", "precision = int8"},
        {"channelizer.flag_dc=YES", "flag_dc = yes"},
        {"delay.mode=Track", "mode = track"},
        {"array.positions=None", "positions = none"},
        {"input.column_order=Pol,Antenna,Channel",
         "column_order = pol,antenna,channel"},
        {"input.duration_s=All", "duration_s = all"},
        {"input.missing_value=ZERO", "missing_value = zero"},
        {"array.antennas=ALL", "antennas = all"},
        /* valid in every build: the machine decides */
        {"correlator.backend=cuda", "backend = cuda"},
        {"output.compression=bitshuffle", "compression = bitshuffle"},
        {"input.missing_value=none", "missing_value = none"},
        {"input.missing_value=zero", "missing_value = zero"},
        {"input.missing_value=0", "missing_value = zero"},
        {"input.missing_value=-128", "missing_value = -128"},
        {"input.missing_value=127", "missing_value = 127"},
        {"array.antennas=all", "antennas = all"},
        {"array.antennas=24", "antennas = 24"},
        {"array.antennas=5-5", "antennas = 5-5"},
        {"array.antennas=9, 0-3 ,20", "antennas = 9,0-3,20"},
        {"array.antennas=65535-65535", "antennas = 65535-65535"},
        {"array.antennas=0-65535", "antennas = 0-65535"},
        {"array.flag_antennas=5", "flag_antennas = 5"},
        {"array.flag_antennas=9,0-3,20", "flag_antennas = 9,0-3,20"},
        {"array.flag_antennas=", "flag_antennas ="},
        {"flag.clip_level=None", "clip_level = none"},
        {"flag.clip_level=127", "clip_level = 127"},
        {"flag.channels=None", "channels = none"},
        {"flag.channels=150e6", "channels = 1.5e+08"},
        {"flag.channels=3e6, 1e6 - 2.5E+06 ,0",
         "channels = 3e+06,1e+06-2.5e+06,0"},
        {"flag.channels=-5e3--4e3,-1e-3-1e-3,7-7",
         "channels = -5000--4000,-0.001-0.001,7"},
        {"output.baselines=ALL", "baselines = all"},
        {"output.baselines=cross", "baselines = cross"},
        {"output.baselines=auto", "baselines = auto"},
        {"output.baselines=1&2, 40 & 1 ,5&5", "baselines = 1&2,40&1,5&5"},
        {"output.baselines=0&2147483647", "baselines = 0&2147483647"},
        {"output.max_baseline_m=none", "max_baseline_m = none"},
        {"output.max_baseline_m=0.5", "max_baseline_m = 0.5"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char line[100];
        load_file(NULL, LIST(cases[i][0]), false);
        char *text = dump();
        snprintf(line, sizeof line, "\n%s\n", cases[i][1]);
        if (strstr(text, line) == NULL)
            fail_msg("%s: the dump lacks '%s'", cases[i][0], cases[i][1]);
        free(text);
    }
}

TEST(values_that_are_refused)
{
    refuse_values("channelizer.taps", "expected an integer from 1 to 64",
                  LIST("0", "65", "-1", "8.0", "8 taps", "", "x", "1e1",
                       "9223372036854775808"));
    refuse_values("input.start_s", "expected a plain number from 0 to 1e+07 s",
                  LIST("5 ms", "5s", "-1", "1e8", "nan", "inf", "", "all", "1e",
                       "1e+", ".", "1e309", "0x10", "1,5", "1_0"));
    refuse_values("observation.dc_frequency_hz",
                  "expected a plain number from 0 to 1e+15 Hz",
                  LIST("150 MHz"));
    refuse_values("correlator.integration_time_s",
                  "expected a plain number from 0.001 to 1e+07 s, or all",
                  LIST("0.0009"));
    refuse_values("input.missing_run",
                  "expected an integer from 1 to 1048576 samples", LIST("0"));
    refuse_values("channelizer.channels",
                  "expected an integer from 1 to 1048576", LIST("1048577"));
    refuse_values("quantizer.target_rms",
                  "expected a plain number from 0.1 to 60 LSB", LIST("0.09"));
    refuse_values("correlator.memory_limit_mib",
                  "expected an integer from 1 to 1073741824 MiB, or auto",
                  LIST("0"));
    refuse_values(
        "observation.sample_rate_hz",
        "expected a plain number or a fraction such as 25000000/27 from 1 to "
        "1e+11 Hz, over at most 1000000 in lowest terms",
        LIST("0", "0.5", "-5", "1e12", "1/0", "5 MHz", "abc", "10.0000001"));
    refuse_values("observation.start_time_utc",
                  "expected UTC as 2019-08-29T19:00:00[.123456789]Z, no leap "
                  "second",
                  LIST("yesterday"));
    refuse_values(
        "input.scale_to_8bit",
        "expected a power of two from 1/16384 to 1 such as 1/256, or auto",
        LIST("", "0", "2", "3/4", "1/3", "-1/2", "1/32768", "none"));
    refuse_values("flag.channels",
                  "expected none, a list such as 100.5e6,137e6-138e6 in Hz, "
                  "or a CSV of at most 1000 rows",
                  LIST("", ",", "1e6,", "2-1", "1 MHz", "1-2-3", "1e16", "-",
                       "1e6;2e6", "no such table.csv"));
    refuse_values("channelizer.flag_dc", "expected yes, no, true or false",
                  LIST("y", "1"));
    refuse_values("channelizer.method", "expected pfb, fft or none",
                  LIST("dft"));
    refuse_values("input.sideband", "expected as recorded, upper or lower",
                  LIST(""));
    refuse_values("array.x_orientation", "expected east or north",
                  LIST("west"));
    refuse_values("input.missing_value",
                  "expected zero, an integer from -128 to 127, or none",
                  LIST("-129", "128", "nan", "", "0.0"));
    refuse_values("input.files", "expected paths separated by commas",
                  LIST("a,,b", "a,", ","));
    refuse_values(
        "array.antennas",
        "expected all, a count, or a list such as 0-15,20 of numbers from 0 to "
        "65535, each once",
        LIST("0", "-1", "65537", "3-1", "1,", ",1", "1,,2", "", "1,1", "0-3,2",
             "x", "1-2-3", "1-", "-", "1.5,2", "+1,2", "0-65536", "1-+2",
             "ALLE", "all,1", "1 2", "99999999999999999999",
             "0-9223372036854775807", "1--2"));
    refuse_values(
        "array.flag_antennas",
        "expected a list such as 0-15,20 of numbers from 0 to 2147483647, each "
        "once",
        LIST("all", "2147483648", "0-65536", "0-2147483647", "1,1"));
    refuse_values(
        "output.baselines",
        "expected all, cross, auto, or at most 2048 pairs such as 1&2,1&40, "
        "each once, of numbers from 0 to 2147483647",
        LIST("", "1", "1&", "&1", "1&2&3", "1&2,", ",1&2", "1&2,,3&4", "1-2",
             "1&2,1&2", "1&2,3&4,2&1", "5&5,5&5", "-1&2", "1&2147483648",
             "all,1&2", "autos", "1&x", "1.5&2", "1&&2"));
    refuse_values("output.min_baseline_m",
                  "expected a plain number from 0 to 2e+07 m",
                  LIST("-1", "none", "1 m"));
    refuse_values("quantizer.dither", "expected yes, no, true or false",
                  LIST("", "1", "on", "no, yes"));
    refuse_values("delay.mode", "expected none, cable or track",
                  LIST("tracking", "cables"));
}

/* As many pairs as fit a line. */
TEST(long_lists_of_baselines)
{
    const size_t most = 2048;
    char *text = temporary(24 * (most + 1) + 20);
    size_t at = (size_t)sprintf(text, "output.baselines=0&1");
    for (size_t k = 2; k <= most; k++)
        at += (size_t)sprintf(text + at, ",0&%zu", k);
    load_file(NULL, LIST(text), false);
    assert_int_equal(settings.output.baselines.count, most);
    assert_int_equal(settings.output.baselines.pairs[most - 1][1], most);
    sprintf(text + at, ",1&1");
    struct fx8_error error;
    must_fail_with(try_to_load(NULL, LIST(text), false, &error), error,
                   FX8_ERR_USAGE, "at most 2048 pairs");
}

TEST(texts)
{
    char text[FX8_TEXT_SIZE + 40] = "observation.object=";
    const size_t start = strlen(text);
    memset(text + start, 'x', FX8_TEXT_SIZE - 1);
    load_file(NULL, LIST(text), false);
    assert_int_equal(strlen(settings.observation.object), FX8_TEXT_SIZE - 1);
    text[start + FX8_TEXT_SIZE - 1] = 'x';
    struct fx8_error error;
    must_fail_with(try_to_load(NULL, LIST(text), false, &error), error,
                   FX8_ERR_USAGE,
                   "x...: expected at most 255 ASCII characters");
}

/* --- contradictions ------------------------------------------------------- */

/* Keys that contradict the method or the number of channels. */
TEST(combinations)
{
#define NONE "channelizer.method=none"
#define SOME "channelizer.channels=64"
    static const struct {
        const char *sets[4];
        const char *expected; /* of the last; NULL: accepted */
    } cases[] = {
        {{NONE}, NULL},
        {{NONE, "channelizer.channels=1"}, NULL},
        {{NONE, "channelizer.channels=2"},
         "expected 1 with channelizer.method = none"},
        {{NONE, "channelizer.window=hann"},
         "expected auto with channelizer.method = none, which has no filter"},
        {{NONE, "channelizer.fir=dp2a"},
         "expected fp32 with channelizer.method = none, which has no filter"},
        {{NONE, "channelizer.flag_dc=yes"},
         "expected no with channelizer.method = none, whose one channel it "
         "would flag"},
        {{NONE, "channelizer.keep_fraction=27/32"},
         "expected 1 with channelizer.method = none"},
        {{NONE, "channelizer.flag_edges=1"},
         "expected less than half of the 1 channel"},
        {{SOME, "channelizer.flag_edges=32"},
         "expected less than half of the 64 channels"},
        {{SOME, "output.channel_average=48"},
         "expected a divisor of the 64 channels"},
        {{SOME, "output.channel_average=128"},
         "expected a divisor of the 64 channels"},
        {{SOME, "output.channel_average=64", "channelizer.flag_edges=31"},
         NULL},
        {{SOME, "channelizer.keep_fraction=27/32", "output.channel_average=8"},
         "expected a divisor of the 54 channels kept of a band"},
        {{SOME, "channelizer.keep_fraction=27/32", "channelizer.flag_edges=27"},
         "expected less than half of the 54 channels"},
        {{SOME, "channelizer.keep_fraction=27/33"},
         "expected a fraction that is a whole number of the 64 channels"},
        {{SOME, "channelizer.keep_fraction=1/128"},
         "expected a fraction that is a whole number of the 64 channels"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *const *sets = cases[i].sets;
        const char *const *all = LIST("correlator.integration_time_s=all",
                                      sets[0], sets[1], sets[2]);
        if (cases[i].expected != NULL)
            refuse_last_override(all, true, cases[i].expected);
        else
            load_file(NULL, all, true);
    }
    load_file(NULL, LIST(NONE, "correlator.integration_time_s=all"), true);
    assert_int_equal(settings.channelizer.n_channels, 1);
    load_text(REQUIRED);
    assert_int_equal(settings.channelizer.n_kept, 0); /* all */
    load_text(REQUIRED "[output]\nchannel_average = 9\n[channelizer]\n"
                       "flag_edges = 26\nkeep_fraction = 54/64\n");
    assert_int_equal(settings.keep_fraction.numerator, 27);
    assert_int_equal(settings.channelizer.n_kept, 54);
}
