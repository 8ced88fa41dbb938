/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_compare_live.c -- the comparison that ends --precision both, which takes
 * the dumps while they are written, against fx8_compare_files() of the results.
 *
 * Shows (commands, the comparison of both): figures, verdict and page of a run
 *     equal those of its files: shorter last dumps, averages, gaps, dead and
 *     flagged inputs, clips, several phase centres, method none; where not
 * every dump came from this run, or an input was levelled later, the files are
 *     compared
 * Within: every character of the JSON and of the page
 */
#include <stdio.h>

#include "correlator/compare/live.h"
#include "correlator/run/pipeline.h"
#include "validation/job_case.h"

enum { ANTENNAS = 4, INPUTS = 8, SAMPLES = 100000 };

/* The recording: Gaussian, partly common to all inputs. */
static int8_t samples[INPUTS][SAMPLES][2];

static void draw_samples(double rms)
{
    struct generator g = {11};
    for (size_t t = 0; t < SAMPLES; t++) {
        const double common[2] = {0.5 * random_normal(&g),
                                  0.5 * random_normal(&g)};
        for (size_t i = 0; i < INPUTS; i++)
            for (size_t part = 0; part < 2; part++) {
                const double value =
                    rms * (common[part] + 0.87 * random_normal(&g));
                samples[i][t][part] =
                    (int8_t)fmin(127, fmax(-127, rint(value)));
            }
    }
}

/* --- a reader of these samples ------------------------------------ */

static struct fx8_missing gap;
static size_t selected[INPUTS], n_selected;
static struct fx8_input_place places[INPUTS];

static enum fx8_status choose(struct fx8_reader *reader,
                              const struct fx8_input_position *inputs, size_t n,
                              struct fx8_error *error)
{
    (void)error;
    n_selected = reader->n_inputs = reader->n_rows = n;
    for (size_t i = 0; i < n; i++) {
        selected[i] = 2 * inputs[i].antenna + inputs[i].polarization;
        places[i] = (struct fx8_input_place){i, 0};
    }
    reader->places = places;
    return FX8_OK;
}

static size_t size_of_buffer(const struct fx8_reader *reader, int64_t n)
{
    (void)reader;
    return n_selected * (size_t)n * 2;
}

static int64_t samples_per_read(const struct fx8_reader *reader)
{
    (void)reader;
    return 7001;
}

static enum fx8_status read_samples(struct fx8_reader *reader, int64_t first,
                                    int64_t n, int8_t *buffer,
                                    struct fx8_sample_layout *layout,
                                    struct fx8_error *error)
{
    (void)reader;
    (void)error;
    const int64_t pitch = fx8_row_samples(layout, n);
    layout->time_stride = 2;
    for (size_t i = 0; i < n_selected; i++) {
        layout->input_offset[i] = (ptrdiff_t)i * 2 * pitch;
        memcpy(buffer + layout->input_offset[i], samples[selected[i]][first],
               2 * (size_t)n);
    }
    return FX8_OK;
}

static struct fx8_reader reader_of(const struct fx8_observation *observation)
{
    return (struct fx8_reader){
        .path = "rec.h5",
        .observation = *observation,
        .missing = &gap,
        .n_missing = gap.n_samples > 0,
        .sample_bytes = 2,
        .chunk_samples = 1,
        .select = choose,
        .buffer_size = size_of_buffer,
        .read_samples = samples_per_read,
        .read = read_samples,
    };
}

/* --- the same both ways ------------------------------------------- */

/* JSON and page. */
static char *report_of(const struct fx8_comparison *comparison)
{
    char *text = NULL;
    size_t size;
    struct fx8_error error;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    fx8_compare_print_json(comparison, stream);
    must(fx8_compare_print_html(comparison, stream, &error), error);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void check_equal(const char *const paths[FX8_N_RESULTS],
                        const struct fx8_comparison *live)
{
    struct fx8_comparison files;
    struct fx8_error error;
    must(fx8_compare_files(paths[FX8_RESULT_INT8], paths[FX8_RESULT_FP32], NULL,
                           &files, &error),
         error);
    char *expected = report_of(&files), *got = report_of(live);
    assert_string_equal(got, expected);
    free(expected);
    free(got);
    fx8_compare_clear(&files);
}

enum { MOST_CENTERS = 2 };

/* A file that was read must not be written. */
static const char *new_path(void)
{
    static int number;
    char name[32];
    snprintf(name, sizeof name, "%d.uvh5", number++);
    return scratch_path(name);
}

/* Correlate, and compare both ways; how many comparisons were live. */
static size_t correlate(const char *const *sets)
{
    const struct fx8_observation observation = recording();
    struct fx8_reader reader = reader_of(&observation);
    struct fx8_run_report reports[MOST_CENTERS];
    struct fx8_run_output outputs[MOST_CENTERS] = {0};
    struct fx8_compare_live *live[MOST_CENTERS];
    struct fx8_error error;
    size_t n_live = 0;
    good(&observation, sets);
    assert_true(job.n_centers <= MOST_CENTERS);
    for (size_t c = 0; c < job.n_centers; c++) {
        for (size_t k = 0; k < 2; k++)
            outputs[c].paths[k == 0 ? FX8_RESULT_INT8 : FX8_RESULT_FP32] =
                new_path();
        must(fx8_compare_live_open(
                 &job.centers[c], outputs[c].paths[FX8_RESULT_INT8],
                 outputs[c].paths[FX8_RESULT_FP32], &live[c], &error),
             error);
        outputs[c].consumer = fx8_compare_live_consumer(live[c]);
        assert_true(outputs[c].consumer.memory > 0);
    }
    const struct fx8_run_request request = {.ranks = &fx8_ranks_alone,
                                            .job = &job,
                                            .reader = &reader,
                                            .outputs = outputs,
                                            .force = true,
                                            .command = "",
                                            .input = ""};
    must(fx8_pipeline_run(&request, reports, &error), error);
    for (size_t c = 0; c < job.n_centers; c++) {
        assert_int_equal(reports[c].n_dumps, job.n_dumps);
        /* a result with another dump, from another run, is not this one */
        assert_null(fx8_compare_live_finish(live[c], job.n_dumps + 1));
        const struct fx8_comparison *comparison =
            fx8_compare_live_finish(live[c], job.n_dumps);
        n_live += comparison != NULL;
        if (comparison != NULL)
            check_equal(outputs[c].paths, comparison);
        fx8_compare_live_close(&live[c]);
        free(reports[c].dead);
    }
    return n_live;
}

#define BOTH "correlator.precision=both"

/* rec.h5 gives 9 dumps of 625 spectra and a shorter one */
TEST(a_run_and_its_files_agree)
{
    static const char *const cases[][MOST_SETS] = {
        {BOTH},
        {BOTH, "correlator.last_dump_min=0.1",
         "correlator.integration_time_s=0.03"},
        {BOTH, "correlator.align=utc", "correlator.last_dump_min=0.1",
         "correlator.integration_time_s=0.0333"},
        {BOTH, "output.channel_average=2"},
        {BOTH, "channelizer.channels=5"},
        {BOTH, "array.flag_antennas=12", "correlator.integration_time_s=0.02"},
        {BOTH, "array.polarizations=1"},
        {BOTH, "quantizer.target_rms=45"},
        {BOTH, "quantizer.level=input", "postprocess.quantization_bias=no"},
        {BOTH, "quantizer.dither=yes", "quantizer.target_rms=4"},
        {BOTH, "channelizer.method=none", "channelizer.channels=1"},
        {BOTH, "output.compression=gzip"},
    };
    draw_samples(20);
    for (int kind = 0; kind < 3; kind++) {
        /* whole; with a gap; with a dead input too */
        if (kind == 1)
            gap = (struct fx8_missing){31000, 29000, 2, 1, -1};
        if (kind == 2)
            memset(samples[3], 0, sizeof samples[3]);
        for (size_t k = 0; k < LENGTH(cases); k++) {
            assert_int_equal(correlate(cases[k]), 1);
        }
    }
    gap.n_samples = 0;
}

TEST(every_phase_centre_has_its_own)
{
    char centers[SCRATCH_PATH_SIZE + 32];
    snprintf(centers, sizeof centers, "delay.phase_centers=%s",
             scratch_text("centers.csv", "name,ra_deg,dec_deg\n"
                                         "one,10,50\ntwo,40,60\n"));
    draw_samples(20);
    assert_int_equal(
        correlate((const char *[]){BOTH, "delay.mode=track", centers, NULL}),
        2);
}

/* --- when the files must be compared ------------------------------ */

/* The file has one gain for all dumps, which dump 0 did not know yet. */
TEST(an_input_that_is_levelled_later)
{
    draw_samples(20);
    for (size_t t = 0; t < SAMPLES / 2; t++)
        samples[5][t][0] = samples[5][t][1] = 0;
    assert_int_equal(correlate((const char *[]){BOTH, NULL}), 0);
}

/* A dump of zeros of the job. */
struct zeros {
    float *values;
    size_t n_values;
    struct fx8_dump dump;
    struct fx8_run_dump given;
};

static void make_zeros(struct zeros *zeros)
{
    const struct fx8_observation observation = recording();
    good(&observation, (const char *[]){BOTH, NULL});
    const struct fx8_axes *axes = &job.axes;
    const size_t n = axes->n_baselines * axes->n_channels * axes->n_products;
    const size_t n_levels = axes->n_inputs * axes->n_fine;
    zeros->n_values = 2 * n;
    zeros->values = temporary_zeros(2 * n * sizeof *zeros->values);
    const struct fx8_result result = {zeros->values, temporary_zeros(n),
                                      temporary_zeros(n * sizeof(float))};
    zeros->dump = (struct fx8_dump){
        .results = {[FX8_RESULT_INT8] = result, [FX8_RESULT_FP32] = result}};
    zeros->given = (struct fx8_run_dump){
        &zeros->dump, temporary_zeros(n_levels * sizeof(double)),
        temporary_zeros(n_levels * sizeof(int64_t)),
        temporary_zeros(n_levels * sizeof(int64_t))};
}

/* Let a comparison take it; whether it is then one of so many dumps. */
static bool takes(const struct zeros *zeros, int64_t n_dumps)
{
    struct fx8_compare_live *live;
    struct fx8_error error;
    must(fx8_compare_live_open(&job.centers[0], "a", "b", &live, &error),
         error);
    const struct fx8_run_consumer consumer = fx8_compare_live_consumer(live);
    assert_null(fx8_compare_live_finish(live, 0));
    consumer.take(consumer.context, &zeros->given);
    const bool is_whole = fx8_compare_live_finish(live, n_dumps) != NULL;
    fx8_compare_live_close(&live);
    assert_null(live);
    return is_whole;
}

/* As in a run that goes on with the dumps of another one. */
TEST(dumps_that_another_run_computed)
{
    struct zeros zeros;
    make_zeros(&zeros);
    assert_true(takes(&zeros, 1));
    zeros.dump.index = 3;
    for (int64_t n = 0; n < 5; n++)
        assert_false(takes(&zeros, n));
}

/* fx8_compare_files() refuses values that are not finite, with their place. */
TEST(values_that_are_not_finite)
{
    static const float bad[] = {INFINITY, -INFINITY, NAN, -NAN};
    struct zeros zeros;
    make_zeros(&zeros);
    for (size_t k = 0; k < LENGTH(bad); k++) {
        float *value = &zeros.values[k % 2 == 0 ? 0 : zeros.n_values - 1];
        *value = bad[k];
        assert_false(takes(&zeros, 1));
        *value = 0;
    }
}
