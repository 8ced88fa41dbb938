/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_describe.c
 *
 * Shows: as test_timebase.c
 */
#include <math.h>
#include <stdio.h>

#include "correlator/run/describe.h"
#include "correlator/run/site.h"
#include "validation/testing.h"

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

/* Coarse bands of the recording; NULL: one. */
static double *offsets_hz;

static struct fx8_observation make_observation(void)
{
    struct fx8_observation observation = fx8_observation_unknown();
    observation.is_complex = true;
    observation.n_antennas = 3;
    observation.n_polarizations = 2;
    observation.n_samples = 1000000;
    observation.sample_rate = (struct fx8_rate){1000000, 1};
    observation.has_start_time = true;
    observation.start_time = (struct fx8_time){1577836800, 0}; /* 2020 */
    observation.dc_frequency_hz = 100e6;
    observation.sideband = FX8_SIDEBAND_UPPER;
    snprintf(observation.telescope, sizeof observation.telescope,
             "Tele\nscope");
    observation.site = (struct fx8_site){-26.7, 116.67, 377.8};
    observation.antennas = table;
    observation.n_table = 3;
    observation.n_bands = offsets_hz == NULL ? 1 : 3;
    observation.band_offset_hz = offsets_hz;
    return observation;
}

struct fixture {
    struct fx8_settings settings;
    struct fx8_job job;
    struct fx8_uvh5_header header;
};

static void describe(struct fixture *fixture, const char *extra,
                     const char *precision)
{
    const char *const overrides[] = {
        "channelizer.channels=64", "correlator.integration_time_s=0.2", extra};
    const struct fx8_observation observation = make_observation();
    struct fx8_error error = {.message = ""};
    if (fx8_settings_load(NULL, overrides, extra == NULL ? 2 : 3, true,
                          &fixture->settings, &error) != FX8_OK ||
        fx8_job_resolve(&fixture->settings, &observation, "voltages.h5",
                        &fixture->job, &error) != FX8_OK ||
        fx8_describe(&fixture->job, &fixture->settings,
                     &(struct fx8_provenance){precision, "CPU", "avx2",
                                              "estimate", "fx8 correlate x",
                                              "voltages.h5"},
                     &fixture->header, &error) != FX8_OK)
        fail_msg("%s", error.message);
}

static void clear(struct fixture *fixture)
{
    fx8_uvh5_header_clear(&fixture->header);
    fx8_job_clear(&fixture->job);
    fx8_settings_clear(&fixture->settings);
}

/* uvw and ECEF exactly; names in ASCII. */
TEST(antennas_and_baselines)
{
    struct fixture fixture;
    describe(&fixture, NULL, "INT8");
    const struct fx8_uvh5_header *header = &fixture.header;
    assert_int_equal(header->n_antennas, 3);
    assert_int_equal(header->n_baselines, 6);
    assert_string_equal(header->antenna_names[0], "seven");
    assert_string_equal(header->antenna_names[1], "thr??e");
    for (size_t i = 0, b = 0; i < 3; i++) {
        double ecef[3];
        fx8_site_rotate(&fixture.job.observation.site, table[i].enu_m, ecef);
        assert_int_equal(header->antenna_numbers[i], table[i].number);
        check_bytes(header->antenna_positions_m + 3 * i, ecef, sizeof ecef);
        for (size_t j = i; j < 3; j++, b++) {
            assert_int_equal(header->ant_1[b], table[i].number);
            assert_int_equal(header->ant_2[b], table[j].number);
            for (size_t k = 0; k < 3; k++)
                assert_true(header->uvw_m[3 * b + k] ==
                            table[j].enu_m[k] - table[i].enu_m[k]);
        }
    }
    clear(&fixture);
}

TEST(axes)
{
    struct fixture fixture;
    describe(&fixture, "output.channel_average=4", "FP32");
    const struct fx8_uvh5_header *header = &fixture.header;
    static const int products[] = {-5, -6, -7, -8};
    assert_int_equal(header->n_products, 4);
    assert_memory_equal(header->products, products, sizeof products);
    /* 64 channels of 15625 Hz from -32 on, averaged by 4 */
    assert_int_equal(header->n_channels, 16);
    assert_near(header->channel_widths_hz[15], 62500, 1e-9);
    assert_near(header->frequencies_hz[0], 100e6 - 30.5 * 15625, 1e-6);
    assert_near(header->frequencies_hz[15], 100e6 + 29.5 * 15625, 1e-6);
    const double spectra = 3125; /* 0.2 s * 15625 Hz */
    assert_near(header->integration_time_s, 0.2, 1e-15);
    assert_int_equal(header->n_times, fixture.job.n_dumps);
    for (size_t t = 0; t < header->n_times; t++) {
        /* the dump's centre: mean of the centres of its windows, each eight
         * taps long */
        const double centre_s =
            (((double)t + 0.5) * spectra - 0.5) * 64e-6 + 8 * 64e-6 / 2;
        const double got_s = (double)(header->times[t].unix_s - 1577836800) +
                             (double)header->times[t].picosecond * 1e-12;
        assert_near(got_s, centre_s, 1e-11);
        assert_true(header->julian_dates[t] ==
                    fx8_time_julian_date(header->times[t]));
    }
    assert_string_equal(header->telescope, "Tele?scope");
    assert_string_equal(header->x_orientation, "east");
    clear(&fixture);
}

/* The middle half of each band, 32 channels, averaged by 8: four of 125 kHz
 * each from -16 channels of 15625 Hz on. */
TEST(axis_of_bands)
{
    static double three_hz[] = {0, 500e3, 2e6};
    struct fixture fixture;
    offsets_hz = three_hz;
    describe(&fixture, "channelizer.keep_fraction=1/2", "INT8");
    fixture.job.plan.channel_average = 8;
    fixture.job.axes = fx8_plan_axes(&fixture.job.plan);
    fx8_uvh5_header_clear(&fixture.header);
    struct fx8_error error;
    must(fx8_describe(&fixture.job, &fixture.settings,
                      &(struct fx8_provenance){"INT8", "", "", "", "", ""},
                      &fixture.header, &error),
         error);
    offsets_hz = NULL;
    assert_int_equal(fixture.header.n_channels, 12);
    for (size_t c = 0; c < 12; c++) {
        assert_near(fixture.header.frequencies_hz[c],
                    100e6 + three_hz[c / 4] +
                        (-16 + 3.5 + 8 * (double)(c % 4)) * 15625,
                    1e-6);
        assert_near(fixture.header.channel_widths_hz[c], 125e3, 1e-9);
    }
    assert_non_null(strstr(fixture.header.history, "keep_fraction = 1/2"));
    clear(&fixture);
}

/* sidereal time always, lst_array only with a known UT1 */
TEST(sidereal_time)
{
    struct fixture fixture;
    describe(&fixture, NULL, "FP32");
    const double without = fixture.header.apparent_lst_rad[0];
    assert_false(fixture.header.write_lst);
    assert_true(fixture.header.dut1_s == 0);
    clear(&fixture);
    describe(&fixture, "delay.dut1_s=-0.25", "FP32");
    assert_true(fixture.header.write_lst);
    assert_true(fixture.header.dut1_s == -0.25);
    assert_near(fixture.header.apparent_lst_rad[0] - without,
                -0.25 * 7.292116e-5, 1e-10);
    clear(&fixture);
}

static void assert_keyword(const struct fx8_uvh5_header *header,
                           const char *name, const char *text)
{
    const struct fx8_keyword *keyword = NULL;
    for (size_t k = 0; k < header->n_keywords; k++)
        if (strcmp(header->keywords[k].name, name) == 0) {
            assert_null(keyword); /* each keyword once */
            keyword = &header->keywords[k];
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
    struct fixture fixture;
    describe(&fixture, NULL, "INT8");
    const struct fx8_uvh5_header *header = &fixture.header;
    assert_keyword(header, "PRECISN", "INT8");
    assert_keyword(header, "BACKEND", "CPU");
    assert_keyword(header, "KERNEL", "avx2");
    assert_keyword(header, "FFTPLAN", "estimate");
    assert_keyword(header, "FX8VERS", fx8_version());
    assert_keyword(header, "INPUT", "voltages.h5");
    assert_keyword(header, "CHANAVG", "1");
    assert_keyword(header, "AUTOCORR", "QUANTISER NOISE REMOVED");
    assert_keyword(header, "POSFAKE", NULL);
    assert_non_null(strstr(header->history, "command: fx8 correlate x\n"));
    assert_non_null(strstr(header->history, "\n[channelizer]\n"));
    assert_non_null(strstr(header->history, "integration_time_s"));
    for (const char *c = header->history; *c != '\0'; c++)
        assert_true(*c == '\n' || (*c >= 0x20 && *c < 0x7f));
    char digest[17];
    snprintf(digest, sizeof digest, "%.16s",
             fx8_uvh5_keyword(header, "CONFSHA")->text);
    assert_int_equal(strspn(digest, "0123456789abcdef"), 16);
    clear(&fixture);
    /* equal configurations have equal names, different ones different names */
    describe(&fixture, NULL, "FP32");
    assert_keyword(&fixture.header, "CONFSHA", digest);
    assert_keyword(&fixture.header, "AUTOCORR", NULL);
    clear(&fixture);
    describe(&fixture, "quantizer.target_rms=21", "FP32");
    assert_string_not_equal(fx8_uvh5_keyword(&fixture.header, "CONFSHA")->text,
                            digest);
    clear(&fixture);
    describe(&fixture, "array.positions=none", "FP32");
    assert_keyword(&fixture.header, "POSFAKE", "1");
    clear(&fixture);
    describe(&fixture, "postprocess.quantization_bias=no", "INT8");
    assert_keyword(&fixture.header, "AUTOCORR", "AS MEASURED");
    clear(&fixture);
}

TEST(no_site_is_an_error)
{
    struct fixture fixture;
    describe(&fixture, NULL, "FP32");
    fx8_uvh5_header_clear(&fixture.header);
    fixture.job.observation.site.longitude_deg = NAN;
    struct fx8_error error;
    assert_int_equal(
        fx8_describe(&fixture.job, &fixture.settings,
                     &(struct fx8_provenance){"FP32", "", "", "", "", ""},
                     &fixture.header, &error),
        FX8_ERR_USAGE);
    assert_non_null(strstr(error.message, "array.longitude_deg"));
    assert_null(fixture.header.history);
    clear(&fixture);
}
