/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_job_warnings.c -- when a job warns, and when it does not.
 *
 * Shows: as test_job.c
 */
#include "validation/job_case.h"

TEST(warns_of_contradictions)
{
    const struct fx8_observation o = recording();
    good(&o, LIST("observation.sample_rate_hz=2000000",
                  "observation.dc_frequency_hz=140e6",
                  "observation.start_time_utc=2021-01-01T00:00:00Z",
                  "observation.telescope=Other", "observation.object=Sun",
                  "input.sideband=lower", "array.altitude_m=500"));
    expect_warnings(LIST(
        "observation.sample_rate_hz: 2000000 wins over 1000000 recorded",
        "observation.dc_frequency_hz: 140000000 wins over 150000000 recorded",
        ("observation.start_time_utc: 2021-01-01T00:00:00Z wins over "
         "2020-09-13T12:26:40.000000000005Z recorded"),
        "observation.telescope: Other wins over Bench recorded",
        "input.sideband: lower wins over upper recorded",
        "array.altitude_m: 500 wins over 400 recorded"));
    assert_int_equal(job.plan.sample_rate.numerator_hz, 2000000);
    assert_int_equal(job.observation.start_time.unix_s, 1609459200);
    assert_string_equal(job.observation.object, "Sun");
    assert_true(job.plan.lower_sideband);
    assert_true(job.observation.site.altitude_m == 500);
}

/* The same value again does not contradict, in lowest terms or not. */
TEST(agreement_gives_no_warning)
{
    struct fx8_observation o = recording();
    o.sample_rate = (struct fx8_rate){25000000, 27};
    good(&o, LIST("observation.sample_rate_hz=50000000/54",
                  "observation.dc_frequency_hz=150e6",
                  "observation.telescope=Bench", "input.sideband=upper",
                  "array.latitude_deg=50"));
    expect_warnings(LIST(NULL));
    assert_int_equal(job.plan.sample_rate.numerator_hz, 25000000);
    assert_int_equal(job.plan.sample_rate.denominator, 27);
}

TEST(warns_of_math_without_a_quicklook)
{
    const struct fx8_observation o = recording();
    good(&o, LIST("postprocess.math=fast"));
    expect_warnings(LIST("postprocess.math: fast: has no effect without "
                         "postprocess.quicklook"));
    good(&o, LIST("postprocess.math=fast", "postprocess.quicklook=look.h5"));
    expect_warnings(LIST(NULL));
}

TEST(warns_of_dither_without_rounding)
{
    static const char warning[] = "quantizer.dither: yes: has no effect on "
                                  "spectra that are not rounded to 8 bits";
    const struct fx8_observation o = recording();
    good(&o, LIST("quantizer.dither=yes", "correlator.precision=fp32"));
    expect_warnings(LIST(warning));
    good(&o, LIST("quantizer.dither=yes", "channelizer.method=none",
                  "channelizer.channels=1"));
    expect_warnings(LIST(warning));
    good(&o, LIST("quantizer.dither=yes", "correlator.precision=both"));
    expect_warnings(LIST(NULL));
}

/* Only for real samples of the lower sideband is the bin at baseband zero
 * dropped; otherwise the channel exists, whatever is kept or averaged. */
TEST(warns_of_flag_dc_that_flags_nothing)
{
    static const struct {
        bool is_complex;
        const char *sideband, *more;
        bool is_warned;
    } cases[] = {
        {false, "input.sideband=lower", NULL, true},
        {false, "input.sideband=lower", "channelizer.flag_edges=0", true},
        {false, "input.sideband=lower", "output.channel_average=16", true},
        {false, "input.sideband=upper", NULL, false},
        {true, "input.sideband=lower", NULL, false},
        {true, "input.sideband=upper", "channelizer.keep_fraction=1/16", false},
        {true, "input.sideband=lower", "output.channel_average=16", false},
    };
    struct fx8_observation o = recording();
    o.sideband = FX8_SIDEBAND_UNKNOWN;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        o.is_complex = cases[i].is_complex;
        good(&o,
             LIST("channelizer.flag_dc=no", cases[i].sideband, cases[i].more));
        expect_warnings(LIST(NULL));
        good(&o,
             LIST("channelizer.flag_dc=yes", cases[i].sideband, cases[i].more));
        expect_warnings(LIST(
            cases[i].is_warned
                ? "channelizer.flag_dc: yes: flags nothing: real samples of "
                  "the lower sideband have no channel at baseband zero"
                : NULL));
    }
}

/* At 1 MS/s, below its half, at the rate and above it; an upper edge of real
 * samples is 0.5 MHz above the lower one. */
TEST(a_frequency_in_mhz_is_asked_about)
{
    static const struct {
        bool is_complex, is_lower;
        double dc_hz;
        bool is_odd;
    } cases[] = {
        {true, false, 0, false}, /* in the laboratory */
        {true, false, 150, true},
        {true, false, 5e5, true},
        {true, false, 1e6, true},
        {true, false, 1.0001e6, false},
        {true, true, 0, false},
        {true, true, 150, true},
        {true, true, 1.0001e6, false},
        {false, false, 0, false}, /* direct sampling */
        {false, false, 150, true},
        {false, false, 1e4, true}, /* a hundredth of the rate */
        {false, false, 1.0001e4, false},
        {false, false, 5e5, false}, /* any Nyquist zone */
        {false, true, 0, false},
        {false, true, 150, true},
        {false, true, 4.9999e5, true},
        {false, true, 5e5, false},
    };
    struct fx8_observation o = recording();
    for (size_t i = 0; i < LENGTH(cases); i++) {
        o.is_complex = cases[i].is_complex;
        o.sideband =
            cases[i].is_lower ? FX8_SIDEBAND_LOWER : FX8_SIDEBAND_UPPER;
        o.dc_frequency_hz = cases[i].dc_hz;
        good(&o, NULL);
        assert_int_equal(job.n_warnings, cases[i].is_odd);
        if (cases[i].is_odd)
            assert_non_null(strstr(job.warnings[0], ": is it in MHz?"));
    }
    o = recording();
    o.dc_frequency_hz = 150;
    good(&o, NULL);
    expect_warnings(LIST("observation.dc_frequency_hz: 150: puts the band at "
                         "-499850 to 500150 Hz: is it in MHz?"));
}

/* Coarse channels 1 and 2 of a station may really be as low as they say. */
TEST(numbered_bands_are_not_asked_about)
{
    double offsets[] = {0, 781250};
    struct fx8_observation o = recording();
    o.sample_rate = (struct fx8_rate){25000000, 27};
    o.n_bands = 2;
    o.band_offset_hz = offsets;
    o.dc_frequency_hz = 781250;
    good(&o, LIST("channelizer.keep_fraction=1/2"));
    expect_warnings(LIST(NULL));
    good(&o, LIST("channelizer.keep_fraction=1/2",
                  "observation.dc_frequency_hz=150"));
    assert_int_equal(job.n_warnings, 2);
    assert_non_null(strstr(job.warnings[1], ": is it in MHz?"));
}
