/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_job.c -- settings applied to a recording: which setting wins, how much
 * is processed, in which pieces, and which message refuses what.
 *
 * Shows (commands, settings of a job): settings applied to a recording: which
 *     one wins, which contradict each other, which are refused; more antennas
 *     than can be paired; a flag_dc that flags nothing; frequencies that may be
 *     in MHz, for both kinds of samples and sidebands
 * Within: equal; messages word for word
 * In: test_job_warnings.c, test_job_antennas.c
 */
#include "validation/job_case.h"
#include "validation/scratch.h"

/* --- what the recording says, and what overrides it -------------------- */

TEST(what_is_lacking_is_supplied)
{
    struct fx8_observation o = recording();
    o.sample_rate.numerator_hz = 0;
    refuse(&o, NULL,
           "configuration: missing, also in rec.h5: observation.sample_rate_hz "
           "(the sampling rate)");
    o.dc_frequency_hz = NAN;
    refuse(&o, LIST("observation.sample_rate_hz=1e6"),
           "configuration: missing, also in rec.h5: "
           "observation.dc_frequency_hz (the sky frequency of baseband zero)");
    o.has_start_time = false;
    refuse(
        &o,
        LIST("observation.sample_rate_hz=1e6", "observation.dc_frequency_hz=0"),
        "configuration: missing, also in rec.h5: observation.start_time_utc "
        "(the instant of the first sample)");
    o.sideband = FX8_SIDEBAND_UNKNOWN;
    good(&o,
         LIST("observation.sample_rate_hz=1e6", "observation.dc_frequency_hz=0",
              "observation.start_time_utc=2021-01-01T00:00:00Z"));
    assert_int_equal(job.n_warnings, 0);
    assert_int_equal(job.observation.sideband, FX8_SIDEBAND_UPPER);
    assert_false(job.plan.lower_sideband);
}

TEST(sidebands_and_conjugation)
{
    static const struct {
        enum fx8_sideband recorded;
        bool conjugate, lower;
    } cases[] = {
        {FX8_SIDEBAND_UPPER, false, false}, {FX8_SIDEBAND_UPPER, true, true},
        {FX8_SIDEBAND_LOWER, false, true},  {FX8_SIDEBAND_LOWER, true, false},
        {FX8_SIDEBAND_UNKNOWN, true, true},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct fx8_observation o = recording();
        o.sideband = cases[i].recorded;
        good(&o, LIST(cases[i].conjugate ? "input.conjugate=yes"
                                         : "input.conjugate=no"));
        assert_int_equal(job.plan.lower_sideband, cases[i].lower);
    }
    struct fx8_observation o = recording();
    o.is_complex = false;
    refuse_last(&o, LIST("input.conjugate=yes"),
                "expected no: the samples are real");
}

/* --- how much, in which pieces ----------------------------------------- */

TEST(a_stretch_of_the_recording)
{
    static const struct {
        const char *sets[3];
        int64_t first, n;
        bool is_cut;
    } cases[] = {
        {{"input.start_s=0", "input.duration_s=all"}, 0, 100000, false},
        {{"input.start_s=0.0100004"}, 10000, 90000, false}, /* to the nearest */
        {{"input.start_s=0.0100006"}, 10001, 89999, false},
        {{"input.start_s=0.05", "input.duration_s=0.0200004"},
         50000,
         20000,
         false},
        {{"input.start_s=0.05", "input.duration_s=0.0200006"},
         50000,
         20001,
         false},
        {{"input.start_s=0.05", "input.duration_s=0.05"}, 50000, 50000, false},
        {{"input.start_s=0.05", "input.duration_s=0.0500006"},
         50000,
         50000,
         true},
        {{"input.start_s=0.05", "input.duration_s=1e6"}, 50000, 50000, true},
    };
    const struct fx8_observation o = recording();
    for (size_t i = 0; i < LENGTH(cases); i++) {
        good(&o, cases[i].sets);
        assert_int_equal(job.plan.first_sample, cases[i].first);
        assert_int_equal(job.n_samples, cases[i].n);
        expect_warnings(LIST(
            cases[i].is_cut
                ? "input.duration_s: the recording ends 0.05 s after start_s"
                : NULL));
    }
    refuse_last(&o, LIST("input.start_s=0.1"),
                "expected less than 0.1 s, the length of rec.h5");
    refuse_last(&o, LIST("input.start_s=9e6"),
                "expected less than 0.1 s, the length of rec.h5");
    /* half a sample or less rounds to none */
    refuse_last(&o, LIST("input.duration_s=4.9e-7"),
                "expected at least 1e-06 s, one sample");
    refuse(&o, LIST("input.duration_s=127e-6"),
           "--set: channelizer.channels: 16: one spectrum takes 128 samples, "
           "but rec.h5 has only 127 to process");
}

TEST(dumps_of_a_stretch)
{
    /* 100000 samples hold 6243 spectra of 16 with 8 taps */
    static const struct {
        const char *time, *least;
        int64_t spectra, dumps, used;
    } cases[] = {
        {"all", "1", 6243, 1, 6243},
        {"0.001", "1", 63, 99, 6237}, /* 62.5: up */
        {"0.001", "0.1", 63, 99, 6237},
        {"0.001", "0.095", 63, 100, 6243}, /* 6 of 63 */
        {"0.0010079", "0.5", 63, 99, 6237},
        {"0.099888", "1", 6243, 1, 6243},
        {"0.0998879", "0", 6243, 1, 6243},
        {"0.0998959", "1", 6243, 1, 6243},
        {"0.05", "1", 3125, 1, 3125},
        {"0.05", "0.5", 3125, 2, 6243},
        {"0.049944", "0.9999", 3122, 1, 3122},
        {"0.049944", "0.9996", 3122, 2, 6243},
        {"0.0499359", "1", 3121, 2, 6242},
        {"0.04", "0.5", 2500, 2, 5000},
        {"0.04", "0.49", 2500, 3, 6243},
        {"0.06", "0.7", 3750, 1, 3750},
        {"0.1", "0.5", 6243, 1, 6243}, /* shorter than asked for */
        {"10", "0", 6243, 1, 6243},
    };
    const struct fx8_observation o = recording();
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char time[64], least[64];
        snprintf(time, sizeof time, "correlator.integration_time_s=%s",
                 cases[i].time);
        snprintf(least, sizeof least, "correlator.last_dump_min=%s",
                 cases[i].least);
        good(&o, LIST(time, least));
        assert_int_equal(job.plan.spectra_per_dump, cases[i].spectra);
        assert_int_equal(job.plan.n_spectra, cases[i].used);
        assert_int_equal(job.n_dumps, cases[i].dumps);
        assert_int_equal(job.dropped_samples,
                         100000 - 7 * 16 - cases[i].used * 16);
        /* more than 2 % is left out: the warning names a better length */
        assert_int_equal(job.n_warnings, cases[i].used < 6118);
        if (job.n_warnings == 0)
            continue;
        const char *advice = strstr(job.warnings[0], "left out: ");
        assert_non_null(advice);
        snprintf(time, sizeof time, "correlator.integration_time_s=%g",
                 strtod(advice + strlen("left out: "), NULL));
        good(&o, LIST(time, least));
        assert_int_equal(job.plan.n_spectra, 6243);
        expect_warnings(LIST(NULL));
    }
    refuse_last(&o,
                LIST("correlator.last_dump_min=1",
                     "correlator.integration_time_s=0.0998961"),
                "expected at most 0.099888 s: rec.h5 has 0.1 s to process, "
                "0.000112 s of it to fill the filter, and "
                "correlator.last_dump_min is 1");
    refuse_last(&o, LIST("correlator.integration_time_s=0.1998"),
                "expected at most 0.199776 s: rec.h5 has 0.1 s to process, "
                "0.000112 s of it to fill the filter, and "
                "correlator.last_dump_min is 0.5");
}

/* 6243 spectra, 16 us apart, the first 5 ms behind an edge (or 45 ms, for 60
 * ms).  Dumps of 12.5 ms have 781.25: 469 of 781, 781, 782, 781 ... and 305 of
 * 781; of 60 ms 938, 3750, 1555; the one of 0.2 s 6243 of 12500. */
TEST(aligned_dumps_of_a_stretch)
{
    static const struct {
        const char *time, *least;
        int64_t most, dumps, skipped, used;
    } cases[] = {
        {"0.0125", "0.5", 782, 8, 0, 5938},
        {"0.0125", "0.6005", 782, 8, 0, 5938},
        {"0.0125", "0.6006", 782, 7, 469, 5469},
        {"0.0125", "1", 782, 7, 469, 5469},
        {"0.0125", "0.39", 782, 9, 0, 6243},
        {"0.06", "0", 3750, 3, 0, 6243},
        {"0.06", "0.3", 3750, 2, 938, 5305},
        {"0.06", "1", 3750, 1, 938, 3750},
        {"0.2", "0.4", 6243, 1, 0, 6243},
    };
    struct fx8_observation o = recording();
    o.start_time = (struct fx8_time){1600000000, 4936000000};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char time[64], least[64];
        snprintf(time, sizeof time, "correlator.integration_time_s=%s",
                 cases[i].time);
        snprintf(least, sizeof least, "correlator.last_dump_min=%s",
                 cases[i].least);
        good(&o, LIST("correlator.align=utc", time, least));
        assert_int_equal(job.most_spectra, cases[i].most);
        assert_int_equal(job.n_dumps, cases[i].dumps);
        assert_int_equal(job.plan.n_spectra, cases[i].used);
        assert_int_equal(job.skipped_samples, 16 * cases[i].skipped);
        assert_int_equal(job.plan.first_sample, job.skipped_samples);
        assert_int_equal(job.n_samples, 100000 - job.skipped_samples);
        assert_int_equal(job.dropped_samples,
                         job.n_samples - 7 * 16 - cases[i].used * 16);
        /* more than 2 % is left out */
        assert_int_equal(job.n_warnings, cases[i].used < 6118);
    }
    expect_warnings(LIST(NULL));
    good(&o, LIST("correlator.align=utc", "correlator.last_dump_min=1",
                  "correlator.integration_time_s=0.06"));
    expect_warnings(
        LIST("correlator.align: utc: 40 % of the recording is in incomplete "
             "dumps at its ends and is left out: correlator.last_dump_min: 0 "
             "would lose nothing"));
    refuse_last(
        &o, LIST("correlator.align=utc", "correlator.integration_time_s=0.2"),
        "expected less: the 0.1 s of rec.h5 to process fill no dump "
        "that correlator.align = utc makes, and "
        "correlator.last_dump_min is 0.5");
    refuse_last(&o,
                LIST("channelizer.channels=4096", "correlator.align=utc",
                     "correlator.integration_time_s=0.004"),
                "expected at least 0.004096 s, one spectrum, and with "
                "correlator.align = utc not so many digits");
    refuse_last(
        &o, LIST("correlator.integration_time_s=all", "correlator.align=utc"),
        "expected none with correlator.integration_time_s = all");
}

/* At 1024 Hz and two samples a spectrum everything is exact: 8.5 spectra round
 * to 9, but there are 8. */
TEST(half_a_spectrum_too_many)
{
    struct fx8_observation o = recording();
    o.sample_rate = (struct fx8_rate){1024, 1};
    o.n_samples = 16;
    refuse_last(
        &o,
        LIST("channelizer.channels=2", "channelizer.method=fft",
             "correlator.last_dump_min=1",
             "correlator.integration_time_s=0.0166015625"),
        "expected at most 0.015625 s: rec.h5 has 0.015625 s to process, and "
        "correlator.last_dump_min is 1");
    refuse_last(&o,
                LIST("channelizer.channels=8", "channelizer.method=fft",
                     "correlator.integration_time_s=0.003"),
                "expected at least 0.0078125 s, one spectrum");
    o.sample_rate.numerator_hz = 1024000;
    refuse_last(
        &o, LIST("channelizer.taps=1", "correlator.integration_time_s=all"),
        "a dump of 1 spectrum takes 1.5625e-05 s: expected at least 0.001 s");
}

TEST(channels_of_a_job)
{
    static const struct {
        bool is_complex;
        const char *sets[2];
        size_t edges;
    } cases[] = {
        {true, {NULL}, 2},
        {false, {NULL}, 1},
        {true, {"channelizer.channels=4"}, 1},
        {true, {"channelizer.channels=2"}, 0},
        {true, {"channelizer.channels=1"}, 0},
        {false, {"channelizer.channels=2"}, 0},
        {true, {"channelizer.flag_edges=0"}, 0},
        {true, {"channelizer.flag_edges=7"}, 7},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct fx8_observation o = recording();
        o.is_complex = cases[i].is_complex;
        good(&o, cases[i].sets);
        assert_int_equal(flagged_edges(), cases[i].edges);
        assert_int_equal(job.plan.is_complex, cases[i].is_complex);
    }
    struct fx8_observation o = recording();
    o.is_complex = false;
    refuse_last(&o, LIST("channelizer.channels=1", "channelizer.method=none"),
                "expected pfb or fft: the samples are real");
}

TEST(an_average_divides_the_channels)
{
    const struct fx8_observation o = recording();
    good(&o, LIST("output.channel_average=4"));
    assert_int_equal(job.plan.channel_average, 4);
    fx8_job_clear(&job);
    settings.output.channel_average = 3; /* refused by the settings alone */
    struct fx8_error error;
    fx8_job_clear(&job);
    must_fail(fx8_job_resolve(&settings, &o, "rec.h5", &job, &error), error,
              FX8_ERR_USAGE,
              "--set: output.channel_average: 4: expected a divisor of the 16 "
              "channels written of a band");
}

/* --- coarse bands ------------------------------------------------------ */

static const double coarse_hz[] = {0, 781250, 1562500, 3125000};

static struct fx8_observation coarse_recording(void)
{
    struct fx8_observation o = recording();
    o.sample_rate = (struct fx8_rate){25000000, 27};
    o.n_bands = 4;
    o.band_offset_hz = (double *)(uintptr_t)coarse_hz;
    return o;
}

TEST(bands_of_a_job)
{
    const struct fx8_observation o = coarse_recording();
    good(&o, LIST("channelizer.channels=64", "channelizer.keep_fraction=27/32",
                  "array.antennas=2,0", "input.polarization_order=yx"));
    assert_int_equal(job.plan.n_bands, 4);
    assert_int_equal(job.plan.channelizer.n_kept, 54);
    assert_int_equal(flagged_edges(), 0);
    assert_int_equal(fx8_plan_axes(&job.plan).n_fine, 4 * 54);
    assert_true(job.plan.band_offset_hz != coarse_hz); /* an independent copy */
    assert_memory_equal(job.plan.band_offset_hz, coarse_hz, sizeof coarse_hz);
    /* band by band, antennas in the requested order, Y recorded first */
    assert_int_equal(job.n_inputs, 4 * 2 * 2);
    for (size_t i = 0; i < job.n_inputs; i++) {
        assert_int_equal(job.inputs[i].band, i / 4);
        assert_int_equal(job.inputs[i].antenna, i / 2 % 2 == 0 ? 2 : 0);
        assert_int_equal(job.inputs[i].polarization, 1 - i % 2);
    }
    good(&o, LIST("channelizer.method=none", "channelizer.channels=1"));
    assert_int_equal(fx8_plan_axes(&job.plan).n_fine, 4);
    assert_int_equal(flagged_edges(), 0);
    good(&o, LIST("channelizer.method=none", "channelizer.channels=1",
                  "output.channel_average=2"));
    assert_int_equal(job.plan.channel_average, 2);
    refuse_last(&o,
                LIST("channelizer.method=none", "channelizer.channels=1",
                     "output.channel_average=3"),
                "expected a divisor of the 4 channels written");
    /* as many are flagged as requested */
    good(&o, LIST("channelizer.channels=32", "channelizer.keep_fraction=1/2",
                  "channelizer.flag_edges=3"));
    assert_int_equal(flagged_edges(), 3);
}

TEST(bands_that_overlap)
{
    struct fx8_observation o = coarse_recording();
    refuse(&o, NULL,
           "default: channelizer.keep_fraction: 1: bands of rec.h5 781250 Hz "
           "apart overlap by 144675.926 Hz: expected at most 27/32");
    refuse_last(&o, LIST("channelizer.keep_fraction=15/16"),
                "bands of rec.h5 781250 Hz apart overlap by 86805.5556 Hz: "
                "expected at most 27/32");
    /* not a simple fraction of the rate: whole channels, 12.5 of 16 */
    static const double uneven_hz[] = {0, 723379.6};
    o.n_bands = 2;
    o.band_offset_hz = (double *)(uintptr_t)uneven_hz;
    refuse(&o, NULL,
           "default: channelizer.keep_fraction: 1: bands of rec.h5 723379.6 Hz "
           "apart overlap by 202546.326 Hz: expected at most 3/4");
    good(&o, LIST("channelizer.keep_fraction=3/4"));
}

/* Bands so close that no whole channel could be kept are refused; so is leaving
 * out a part of real samples. */
TEST(bands_that_cannot_be_helped)
{
    static const double near_hz[] = {0, 100};
    struct fx8_observation o = coarse_recording();
    o.n_bands = 2;
    o.band_offset_hz = (double *)(uintptr_t)near_hz;
    o.sample_rate = (struct fx8_rate){1000003, 1};
    refuse_as(FX8_ERR_INPUT, &o, NULL,
              "rec.h5: bands 100 Hz apart: expected at least one of 16 "
              "channels of 1000003 Hz");
    o = coarse_recording();
    o.is_complex = false;
    good(&o, LIST("correlator.integration_time_s=0.02"));
    o.sample_rate = (struct fx8_rate){1600000, 1};
    refuse_as(FX8_ERR_INPUT, &o, NULL,
              "rec.h5: bands 781250 Hz apart: expected at least their width, "
              "800000 Hz");
    refuse_last(&o, LIST("channelizer.keep_fraction=3/4"),
                "expected 1: the samples are real");
}

/* Offsets are from the centre of each band, whatever is kept of it. */
TEST(ripple_by_offset_from_the_centre)
{
    struct fx8_observation o = coarse_recording();
    char key[600];
    snprintf(key, sizeof key, "channelizer.ripple_file=%s",
             scratch_text("ripple", "offset_hz,power\n-390625,1\n"
                                    "376157.4074074,54\n"));
    good(&o, LIST("channelizer.channels=64", "channelizer.keep_fraction=27/32",
                  key));
    for (size_t c = 0; c < 4 * 54; c++)
        assert_true(fabs(job.plan.ripple[c] - (double)(1 + c % 54)) < 1e-9);
    snprintf(key, sizeof key, "channelizer.ripple_file=%s",
             scratch_text("ripple", "offset_hz,power\n-390625,1\n376157,54\n"));
    refuse_last(
        &o,
        LIST("channelizer.channels=64", "channelizer.keep_fraction=27/32", key),
        "covers -390625 to 376157 Hz: expected a power for each "
        "channel; one is at 376157.4074 Hz");
    /* 32 channels of real samples of either sideband: from fs/4 below */
    o = recording();
    o.is_complex = false;
    o.sample_rate = (struct fx8_rate){1024000, 1};
    snprintf(key, sizeof key, "channelizer.ripple_file=%s",
             scratch_text("ripple", "offset_hz,power\n-256000,1\n240000,32\n"));
    for (enum fx8_sideband side = FX8_SIDEBAND_UPPER;
         side <= FX8_SIDEBAND_LOWER; side++) {
        o.sideband = side;
        good(&o, LIST("channelizer.channels=32", key));
        for (size_t c = 0; c < 32; c++)
            assert_true(job.plan.ripple[c] == (double)(1 + c));
    }
}

/* Keys reach the plan one by one; a value from a file is named with its line.
 */
TEST(keys_reach_the_plan)
{
    const struct fx8_observation o = recording();
    good(&o,
         LIST("input.missing_value=-128", "input.missing_run=77",
              "quantizer.target_rms=11", "quantizer.level=input",
              "correlator.precision=both", "correlator.memory_limit_mib=3",
              "correlator.spot_check=no", "postprocess.quantization_bias=no",
              "channelizer.flag_dc=yes"));
    const struct fx8_plan *plan = &job.plan;
    assert_true(plan->marker.is_used && plan->marker.value == -128);
    assert_int_equal(plan->marker.least_length, 77);
    assert_true(plan->quantizer.target_rms == 11 &&
                plan->quantizer.gain_per == FX8_GAIN_PER_INPUT);
    assert_int_equal(plan->precision, FX8_PRECISION_BOTH);
    assert_int_equal(plan->machine.memory_limit, 3 << 20);
    assert_int_equal(plan->machine.spot_check, FX8_SPOT_NO);
    assert_true(plan->channelizer.flag_dc && !plan->quantizer.remove_bias);
    assert_string_equal(plan->machine.kernel, "auto");

    const char *path =
        scratch_text("job.ini", "[channelizer]\nchannels = 16\n"
                                "[correlator]\nintegration_time_s = 5\n");
    struct fx8_error error;
    char text[900];
    load_file(path, NULL, true);
    snprintf(text, sizeof text,
             "%s:4: correlator.integration_time_s: 5: expected at most "
             "0.199776 s: rec.h5 has 0.1 s to process, 0.000112 s of it to "
             "fill the filter, and correlator.last_dump_min is 0.5",
             path);
    fx8_job_clear(&job);
    must_fail(fx8_job_resolve(&settings, &o, "rec.h5", &job, &error), error,
              FX8_ERR_USAGE, text);
}
