/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fx8_compare_files(): which file plays which role, what must agree, what is
 * refused. test_compare.c tests the statistics.
 *
 * Shows: as python/test_compare.py
 */
#include <math.h>
#include <stdio.h>

#include "config/base/read_files.h"
#include "correlator/compare/compare.h"
#include "correlator/run/describe.h"
#include "validation/scratch.h"
#include "validation/testing.h"

enum { BASELINES = 3, CHANNELS = 8, DUMPS = 2, CELLS = BASELINES * CHANNELS };

/* What differs between the files that a test writes. */
struct variant {
    const char *name;
    const char *precision;
    const char *override; /* of the configuration */
    double factor;        /* on cross-correlations */
    double spoil;         /* value of one visibility, 0: none */
    bool has_levels;
    int64_t shift_s; /* of the start */
};

static struct fx8_antenna table[] = {
    {.number = 4, .name = "a", .enu_m = {0, 0, 0}, .position = 0},
    {.number = 9, .name = "b", .enu_m = {10, -4, 1}, .position = 1},
};

static void put_levels(struct fx8_uvh5_writer *writer, size_t n_channels)
{
    double gain[2 * 64], clips[2 * 64] = {0};
    const double spectra = 1000;
    for (size_t k = 0; k < 2 * n_channels; k++)
        gain[k] = 0.5; /* power 800: sigma = 0.5 * sqrt(400) = 10 LSB */
    struct fx8_error error;
    assert_int_equal(fx8_uvh5_put(writer, "gain", 2, (size_t[]){2, n_channels},
                                  gain, "gain", &error),
                     FX8_OK);
    assert_int_equal(fx8_uvh5_put(writer, "clip_fraction", 2,
                                  (size_t[]){2, n_channels}, clips, "clips",
                                  &error),
                     FX8_OK);
    assert_int_equal(fx8_uvh5_put(writer, "spectra_per_dump", 1, (size_t[]){1},
                                  &spectra, "spectra", &error),
                     FX8_OK);
}

/* Autos of power 800; crosses of coherence 0.1, times the factor. */
static void write_dumps(struct fx8_uvh5_writer *writer,
                        const struct variant *variant)
{
    float visibilities[CELLS][2] = {{0}};
    uint8_t flags[CELLS] = {0};
    float nsamples[CELLS];
    for (size_t at = 0; at < CELLS; at++) {
        const bool is_cross = at / CHANNELS == 1;
        visibilities[at][0] = is_cross ? 80 * (float)variant->factor : 800;
        nsamples[at] = 1;
    }
    struct fx8_error error;
    for (size_t dump = 0; dump < DUMPS; dump++) {
        if (dump == 1 && variant->spoil != 0)
            visibilities[CHANNELS + 3][1] = (float)variant->spoil;
        assert_int_equal(
            fx8_uvh5_write_dump(
                writer, dump,
                &(struct fx8_result){&visibilities[0][0], flags, nsamples},
                &error),
            FX8_OK);
    }
}

static const char *write_file(const struct variant *variant)
{
    const char *const overrides[] = {
        "channelizer.channels=8", "correlator.integration_time_s=0.008",
        variant->override != NULL ? variant->override : "output.file=x.uvh5"};
    struct fx8_observation observation = fx8_observation_unknown();
    observation.is_complex = true;
    observation.n_antennas = 2;
    observation.n_polarizations = 1;
    observation.n_samples = 20000;
    observation.sample_rate = (struct fx8_rate){1000000, 1};
    observation.has_start_time = true;
    observation.start_time.unix_s = 1577836800 + variant->shift_s;
    observation.dc_frequency_hz = 100e6;
    observation.site = (struct fx8_site){-26.7, 116.67, 377.8};
    observation.antennas = table;
    observation.n_table = 2;
    struct fx8_settings settings;
    struct fx8_job job;
    struct fx8_uvh5_header header;
    struct fx8_uvh5_writer *writer;
    struct fx8_error error = {.message = ""};
    const char *path = scratch_path(variant->name);
    fx8_read_files_forget(); /* an earlier case may have read this name */
    if (fx8_settings_load(NULL, overrides, 3, true, &settings, &error) !=
            FX8_OK ||
        fx8_job_resolve(&settings, &observation, "x", &job, &error) != FX8_OK ||
        fx8_describe(
            &job, &settings,
            &(struct fx8_provenance){variant->precision, "", "", "", "", ""},
            &header, &error) != FX8_OK ||
        fx8_uvh5_create(path, true, &header, FX8_COMPRESSION_NONE, &writer,
                        &error) != FX8_OK)
        fail_msg("%s", error.message);
    if (header.n_channels == CHANNELS && header.n_times == DUMPS)
        write_dumps(writer, variant);
    if (variant->has_levels)
        put_levels(writer, 8);
    assert_int_equal(fx8_uvh5_close(&writer, header.n_times, &error), FX8_OK);
    fx8_uvh5_header_clear(&header);
    fx8_job_clear(&job);
    fx8_settings_clear(&settings);
    return path;
}

static const struct variant fp32 = {"fp32", "FP32", NULL, 1, 0, false, 0};
static const struct variant int8 = {"int8", "INT8", NULL, 1.001, 0, true, 0};

/* either order: INT8 is the subject, its gains are used */
TEST(order_does_not_matter)
{
    const char *a = write_file(&int8), *b = write_file(&fp32);
    for (int order = 0; order < 2; order++) {
        struct fx8_comparison comparison;
        struct fx8_error error;
        assert_int_equal(fx8_compare_files(order ? b : a, order ? a : b,
                                           &comparison, &error),
                         FX8_OK);
        assert_string_equal(comparison.subject_name, a);
        assert_string_equal(comparison.reference_name, b);
        assert_true(comparison.has_theory);
        const struct fx8_compare_sums *sums = &comparison.overall;
        assert_int_equal(sums->n_cells, DUMPS * CHANNELS);
        assert_true(fabs(sums->product[0] / sums->coherence - 1.001) < 1e-6);
        /* eps = 1 / 1200 */
        const double expected = (2.0 / 1200 + 1.0 / 1200 / 1200) / 1000;
        assert_true(fabs(sums->expected / (DUMPS * CHANNELS) / expected - 1) <
                    1e-6);
        assert_int_equal(comparison.autos.n_cells, DUMPS * CHANNELS * 2);
        assert_int_equal(comparison.antenna_numbers[1], 9);
        assert_true(fabs(comparison.frequencies_hz[0] - 99.5e6) < 1);
        fx8_compare_clear(&comparison);
    }
}

TEST(one_file_against_itself_is_identical)
{
    const char *a = write_file(&int8);
    struct fx8_comparison comparison;
    struct fx8_error error;
    assert_int_equal(fx8_compare_files(a, a, &comparison, &error), FX8_OK);
    char reason[FX8_TEXT_SIZE];
    assert_false(comparison.has_theory);
    assert_true(fx8_compare_verdict(&comparison, reason));
    assert_string_equal(reason, "identical to the last bit");
    fx8_compare_clear(&comparison);
}

/* without gains: identical is fine (method none), different is not */
TEST(missing_levels)
{
    struct variant bare = int8;
    bare.has_levels = false;
    for (int kind = 0; kind < 2; kind++) {
        bare.factor = kind == 0 ? 1 : 1.001;
        const char *a = write_file(&bare), *b = write_file(&fp32);
        struct fx8_comparison comparison;
        struct fx8_error error;
        char reason[FX8_TEXT_SIZE];
        assert_int_equal(fx8_compare_files(a, b, &comparison, &error), FX8_OK);
        assert_true(fx8_compare_verdict(&comparison, reason) == (kind == 0));
        fx8_compare_clear(&comparison);
    }
}

static void assert_refused(const struct variant *variant, const char *expected)
{
    const char *a = write_file(&fp32), *b = write_file(variant);
    struct fx8_comparison comparison;
    struct fx8_error error;
    must_fail_with(fx8_compare_files(a, b, &comparison, &error), error,
                   FX8_ERR_INPUT, expected);
    assert_null(comparison.channels);
}

TEST(different_files_are_refused)
{
    struct variant other = int8;
    other.override = "channelizer.channels=16";
    assert_refused(&other, ": Nfreqs: 16: expected 8 as in ");
    other.override = "output.channel_average=2";
    assert_refused(&other, ": Nfreqs: 4: expected 8 as in ");
    other.override = "array.antennas=1,0";
    assert_refused(&other, ": antenna_numbers[0]: 9: expected 4 as in ");
    other.override = "observation.dc_frequency_hz=100.01e6";
    assert_refused(&other, ": freq_array[0]: 99510000: expected 99500000 as");
    other.override = "correlator.integration_time_s=0.004";
    assert_refused(&other, ": Ntimes: 4: expected 2 as in ");
    other.override = NULL;
    other.shift_s = 3600;
    assert_refused(&other, ": time_array[0]: 2458849.5416");
    other = int8;
    other.spoil = NAN;
    assert_refused(&other, ": Data/visdata[4, 3, 0]: nan: expected a finite");
    other.spoil = -INFINITY;
    assert_refused(&other, ": Data/visdata[4, 3, 0]: -inf: expected a finite");
    struct fx8_comparison comparison;
    struct fx8_error error;
    must_fail_with(fx8_compare_files(scratch_path("fp32"),
                                     scratch_path("nowhere"), &comparison,
                                     &error),
                   error, FX8_ERR_INPUT, "nowhere");
}
