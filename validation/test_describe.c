/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_describe.c -- the header of a result: antennas, sidereal time, keywords.
 * python/test_matrix.py compares its axes.
 *
 * Shows: as test_timebase.c
 */
#include "correlator/run/describe.h"
#include "correlator/run/site.h"
#include "validation/job_case.h"

/* Three antennas with numbers out of order and two polarisations. */
static struct fx8_antenna table[] = {
    {.number = 7, .name = "seven", .enu_m = {0, 0, 0}, .position = 0},
    {.number = 3,
     .name = "thr\xc3\xa9"
             "e",
     .enu_m = {10, -4, 1},
     .position = 1},
    {.number = 5, .name = "five", .enu_m = {-2, 30, 0.5}, .position = 2},
};

/* The header of the last call; the next one clears it. */
static struct fx8_uvh5_header header;

static enum fx8_status try_to_describe(const char *precision,
                                       struct fx8_error *error)
{
    fx8_uvh5_header_clear(&header);
    return fx8_describe(&job.centers[0],
                        &(struct fx8_provenance){precision, "CPU", "avx2",
                                                 "estimate", "fx8 correlate x",
                                                 "voltages.h5"},
                        NULL, &header, error);
}

/* A second of three antennas at 1 MS/s, with one more override, or NULL. */
static void describe(const char *extra, const char *precision)
{
    struct fx8_observation o = recording();
    o.n_antennas = o.n_table = 3;
    o.antennas = table;
    o.n_samples = 1000000;
    snprintf(o.telescope, sizeof o.telescope, "Tele\nscope");
    good(&o, LIST("channelizer.channels=64",
                  "correlator.integration_time_s=0.2", extra));
    struct fx8_error error;
    must(try_to_describe(precision, &error), error);
}

/* uvw and ECEF exactly; names in ASCII. */
TEST(antennas_and_baselines)
{
    describe(NULL, "INT8");
    assert_int_equal(header.n_antennas, 3);
    assert_int_equal(header.n_baselines, 6);
    assert_string_equal(header.antenna_names[0], "seven");
    assert_string_equal(header.antenna_names[1], "thr??e");
    assert_string_equal(header.telescope, "Tele?scope");
    assert_string_equal(header.x_orientation, "east");
    check_bytes(header.products, (const int[]){-5, -6, -7, -8},
                4 * sizeof(int));
    for (size_t i = 0, b = 0; i < 3; i++) {
        double ecef[3];
        fx8_site_rotate(&job.observation.site, table[i].enu_m, ecef);
        assert_int_equal(header.antenna_numbers[i], table[i].number);
        check_bytes(header.antenna_positions_m + 3 * i, ecef, sizeof ecef);
        for (size_t j = i; j < 3; j++, b++) {
            assert_int_equal(header.ant_1[b], table[i].number);
            assert_int_equal(header.ant_2[b], table[j].number);
            for (size_t k = 0; k < 3; k++)
                assert_true(header.uvw_m[3 * b + k] ==
                            table[j].enu_m[k] - table[i].enu_m[k]);
        }
    }
}

/* sidereal time always, lst_array only with a known UT1 */
TEST(sidereal_time)
{
    describe(NULL, "FP32");
    const double without = header.apparent_lst_rad[0];
    assert_false(header.write_lst);
    assert_true(header.dut1_s == 0);
    describe("delay.dut1_s=-0.25", "FP32");
    assert_true(header.write_lst);
    assert_true(header.dut1_s == -0.25);
    assert_near(header.apparent_lst_rad[0] - without, -0.25 * 7.292116e-5,
                1e-10);
}

/* Places of the phase centre in the middle of each dump, after half of the
 * filter's window of 8 x 64 samples at 1 MS/s: 0.2 s long, the last one shorter
 * by that window. */
TEST(phase_centre_of_each_dump)
{
    static const double per_s = 7.292116e-5; /* of sidereal time, rad */
    struct fx8_observation o = recording();
    o.n_samples = 1000000;
    good(&o,
         LIST("channelizer.channels=64", "correlator.integration_time_s=0.2",
              "delay.mode=track", "delay.phase_center_ra_deg=120",
              "delay.dut1_s=0", "delay.phase_center_dec_deg=80",
              "delay.phase_center_name=pole star"));
    struct fx8_error error;
    must(try_to_describe("FP32", &error), error);
    assert_true(header.is_phased);
    assert_string_equal(header.object, "pole star");
    struct fx8_celestial sky = {.site = o.site, .earth = job.earth};
    double lst_rad;
    must(fx8_celestial_sidereal_time(&sky, o.start_time, &lst_rad, &error),
         error);
    assert_int_equal(header.n_times, 5);
    for (size_t t = 0; t < 5; t++) {
        const double length_s = header.integration_s[t];
        const double middle_s = 0.2 * (double)t + 0.5 * length_s + 3.5 * 64e-6;
        assert_near(length_s, t < 4 ? 0.2 : 0.2 - 7 * 64e-6, 1e-9);
        assert_near(header.places[t].lst_rad - lst_rad, middle_s * per_s,
                    1e-11);
        assert_true(header.apparent_lst_rad[t] == header.places[t].lst_rad);
        assert_near(header.places[t].app_dec_rad, 80 * 0.0174533, 3e-3);
    }
}

static void assert_keyword(const char *name, const char *text)
{
    const struct fx8_keyword *keyword = NULL;
    for (size_t k = 0; k < header.n_keywords; k++)
        if (strcmp(header.keywords[k].name, name) == 0) {
            assert_null(keyword); /* each keyword once */
            keyword = &header.keywords[k];
        }
    if (text == NULL) {
        assert_null(keyword);
        return;
    }
    assert_non_null(keyword);
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)keyword->integer);
    assert_string_equal(
        keyword->type == FX8_KEYWORD_TEXT ? keyword->text : number, text);
}

TEST(provenance)
{
    describe(NULL, "INT8");
    assert_keyword("PRECISN", "INT8");
    assert_keyword("BACKEND", "CPU");
    assert_keyword("KERNEL", "avx2");
    assert_keyword("FFTPLAN", "estimate");
    assert_keyword("FX8VERS", fx8_version());
    assert_keyword("INPUT", "voltages.h5");
    assert_keyword("CHANAVG", "1");
    assert_keyword("AUTOCORR", "QUANTISER NOISE REMOVED");
    assert_keyword("DITHER", NULL);
    assert_keyword("POSFAKE", NULL);
    assert_non_null(strstr(header.history, "command: fx8 correlate x\n"));
    assert_non_null(strstr(header.history, "\n[channelizer]\n"));
    assert_non_null(strstr(header.history, "integration_time_s"));
    for (const char *c = header.history; *c != '\0'; c++)
        assert_true(*c == '\n' || (*c >= 0x20 && *c < 0x7f));
    char digest[17];
    snprintf(digest, sizeof digest, "%.16s",
             fx8_uvh5_keyword(&header, "CONFSHA")->text);
    assert_int_equal(strspn(digest, "0123456789abcdef"), 16);
    /* equal configurations have equal names, different ones different names */
    describe(NULL, "FP32");
    assert_keyword("CONFSHA", digest);
    assert_keyword("AUTOCORR", NULL);
    describe("correlator.threads=1", "FP32"); /* the same result */
    assert_keyword("CONFSHA", digest);
    describe("quantizer.target_rms=21", "FP32");
    assert_string_not_equal(fx8_uvh5_keyword(&header, "CONFSHA")->text, digest);
    describe("array.positions=none", "FP32");
    assert_keyword("POSFAKE", "1");
    describe("postprocess.quantization_bias=no", "INT8");
    assert_keyword("AUTOCORR", "AS MEASURED");
    describe("quantizer.dither=yes", "INT8");
    assert_keyword("DITHER", "UNIFORM");
    describe("quantizer.dither=yes", "FP32");
    assert_keyword("DITHER", NULL);
}
