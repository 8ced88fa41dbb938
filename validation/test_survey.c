/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_survey.c -- levels of recordings: sums, gaps and blocks against a
 * sample-by-sample count over a recording in memory.
 *
 * Shows (commands, levels): sums over recordings; gaps that overlap and repeat;
 *     markers across the ends of blocks; which blocks are read; which inputs
 *     look wrong
 * Within: integers equal, sample by sample
 */
#include "config/base/shape.h"
#include "correlator/run/gaps.h"
#include "correlator/run/survey.h"
#include "validation/memory_reader.h"

/* Gaps that only a read finds. */
static const struct fx8_missing found = {40, 9, 1, 0, 1};

/* --- sample by sample ------------------------------------------------- */

static bool is_missing(const struct memory_reader *reader, size_t input,
                       int64_t t)
{
    const struct fx8_input_position at = position_of(input);
    return lacks(&reader->base, &at, t);
}

static bool equals(const struct memory_reader *reader, size_t input, int64_t t,
                   int value)
{
    if (t < 0 || t >= reader->base.observation.n_samples)
        return false;
    const int8_t *sample = reader->samples[input][t];
    return sample[0] == value &&
           (reader->components == 1 || sample[1] == value);
}

static bool is_marked(const struct memory_reader *reader,
                      const struct fx8_settings *settings, size_t input,
                      int64_t t)
{
    const int value = settings->input.marker.value;
    if (!settings->input.marker.is_used || !equals(reader, input, t, value))
        return false;
    int64_t run = 1;
    for (int64_t s = t - 1; equals(reader, input, s, value); s--)
        run++;
    for (int64_t s = t + 1; equals(reader, input, s, value); s++)
        run++;
    return run >= settings->input.marker.least_length;
}

/* Sums of the samples [first, first + n) of an input, added one by one. */
static void add_plainly(const struct memory_reader *reader,
                        const struct fx8_settings *settings, size_t input,
                        int64_t first, int64_t n, struct fx8_sample_sums *sums)
{
    for (int64_t t = first; t < first + n; t++) {
        if (is_missing(reader, input, t) ||
            is_marked(reader, settings, input, t)) {
            sums->n_missing++;
            continue;
        }
        bool is_zero = true;
        sums->n_samples++;
        for (size_t part = 0; part < reader->components; part++) {
            const int x = reader->samples[input][t][part];
            sums->sum[part] += x;
            sums->square += x * x;
            sums->n_clipped += abs(x) > 126;
            sums->n_most += x == 127;
            sums->n_least += x == -128;
            is_zero = is_zero && x == 0;
        }
        sums->n_zero += is_zero;
    }
}

/* --- sums ----------------------------------------------------------------- */

/* Beyond what 32 bits hold: 2^18 samples of -128 have 2^32 of power a
 * component. */
TEST(full_scale)
{
    const size_t n = (size_t)1 << 18;
    int8_t *samples = temporary(2 * n);
    uint64_t *valid = temporary(n / 8);
    memset(samples, -128, 2 * n);
    memset(valid, 0xff, n / 8);
    struct fx8_sample_sums sums = {0};
    fx8_sample_sums_add(&sums, samples, n, 2, valid);
    assert_int_equal(sums.square, INT64_C(1) << 33);
    assert_int_equal(sums.sum[0], -(INT64_C(1) << 25));
    assert_int_equal(sums.sum[1], -(INT64_C(1) << 25));
    assert_int_equal(sums.n_least, 2 * n);
    assert_int_equal(sums.n_clipped, 2 * n);
    assert_int_equal(sums.n_most, 0);
    const struct fx8_sample_figures f = fx8_sample_sums_figures(&sums, 2);
    assert_true(f.rms_lsb == 128.0 && f.mean_lsb[1] == -128.0);
    assert_true(f.least_share == 1.0 && f.clipped_share == 1.0);
    assert_true(f.zero_share == 0.0 && f.missing_share == 0.0);
}

/* --- remarks ---------------------------------------------------------- */

/* Sums of 10^6 real samples of an rms, none of them at the limits. */
static struct fx8_sample_sums noise(double rms)
{
    return (struct fx8_sample_sums){
        .n_samples = 1000000,
        .square = (int64_t)(rms * rms * 1e6),
    };
}

/* Remarks just beyond their limits and just within, at a median rms of 20. */
TEST(remarks_case_by_case)
{
#define RMS(rms) .n_samples = 1000000, .square = (int64_t)((rms) * (rms)*1e6)
    static const struct {
        struct fx8_sample_sums sums;
        unsigned remarks;
    } cases[] = {
        {{RMS(20.0)}, 0},
        {{RMS(20.0)}, 0},
        {{0}, 0},
        {{.n_missing = 5}, FX8_REMARK_ABSENT},
        {{.n_samples = 5, .n_zero = 5}, FX8_REMARK_DEAD},
        {{RMS(6.3)}, FX8_REMARK_WEAK}, /* 20 / sqrt(10) = 6.32 */
        {{RMS(6.4)}, 0},
        {{RMS(63.2)}, 0},
        {{RMS(63.3)}, FX8_REMARK_STRONG},
        /* 6.33^2 is slightly more than a tenth of 20^2 */
        {{RMS(20.0), .sum = {6330000}}, FX8_REMARK_OFFSET},
        {{RMS(20.0), .n_clipped = 1001}, FX8_REMARK_CLIPPED},
        {{RMS(20.0), .n_clipped = 1001, .n_least = 1001},
         FX8_REMARK_MARKERS | FX8_REMARK_CLIPPED},
        /* clipped equally on both sides: a converter */
        {{RMS(20.0), .n_clipped = 1800, .n_least = 900, .n_most = 900},
         FX8_REMARK_CLIPPED},
        {{RMS(20.0), .n_clipped = 1000, .n_least = 1000, .sum = {-6320000}}, 0},
    };
    struct fx8_sample_sums sums[LENGTH(cases)];
    unsigned remarks[LENGTH(cases)];
    struct fx8_error error;
    for (size_t i = 0; i < LENGTH(cases); i++)
        sums[i] = cases[i].sums;
    must(
        fx8_sample_sums_judge(sums, NULL, LENGTH(cases), 1, 1, remarks, &error),
        error);
    for (size_t i = 0; i < LENGTH(cases); i++)
        assert_int_equal(remarks[i], cases[i].remarks);
    const struct fx8_sample_figures none =
        fx8_sample_sums_figures(&cases[2].sums, 2);
    assert_true(isnan(none.rms_lsb) && isnan(none.missing_share));
    const struct fx8_sample_figures lost =
        fx8_sample_sums_figures(&cases[3].sums, 1);
    assert_true(isnan(lost.zero_share) && lost.missing_share == 1.0);
}

TEST(levels_are_compared_within_a_band_as_recorded)
{
    struct fx8_sample_sums sums[6];
    const double gain[6] = {1.0, 0.25, 1.0, 1.0, 1.0, 1.0};
    unsigned remarks[6];
    struct fx8_error error;
    for (size_t i = 0; i < 6; i++)
        sums[i] = noise(i < 3 ? 20.0 : 2.0);
    must(fx8_sample_sums_judge(sums, NULL, 6, 2, 1, remarks, &error), error);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(remarks[i], 0);
    must(fx8_sample_sums_judge(sums, gain, 6, 2, 1, remarks, &error), error);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(remarks[i], i == 1 ? FX8_REMARK_STRONG : 0);
    /* a few samples of noise also have a mean */
    const struct fx8_sample_sums few = {
        .n_samples = 20, .square = 20 * 400, .sum = {20 * 7, 0}};
    must(fx8_sample_sums_judge(&few, NULL, 1, 1, 1, remarks, &error), error);
    assert_int_equal(remarks[0], 0);
}

/* --- gaps ------------------------------------------------------------- */

static void list_gaps(struct memory_reader *reader, struct generator *g)
{
    reader->base.n_missing = random_below(g, MOST_GAPS);
    draw_gaps(g, reader->missing, reader->base.n_missing,
              reader->base.observation.n_samples);
}

/* Samples [first, end) counted one by one: those that every input lacks
 * (is_whole), or only some do. */
static struct fx8_gap_count count_samples(const struct memory_reader *reader,
                                          int64_t first, int64_t end,
                                          bool is_whole)
{
    struct fx8_gap_count count = {0};
    int64_t run = 0;
    for (int64_t t = first; t < end; t++) {
        size_t n_lacking = 0;
        for (size_t i = 0; i < N_INPUTS; i++)
            n_lacking += is_missing(reader, i, t);
        const bool is_counted =
            is_whole ? n_lacking == N_INPUTS : n_lacking % N_INPUTS != 0;
        run = is_counted ? run + 1 : 0;
        count.n_stretches += run == 1;
        count.n_samples += is_counted;
        if (run > count.longest_samples) {
            count.longest_samples = run;
            count.longest_first = t + 1 - run;
        }
    }
    return count;
}

TEST(gaps_against_samples)
{
    struct generator g = {77};
    struct fx8_error error;
    for (int round = 0; round < 100; round++) {
        struct memory_reader *reader = open_memory(1, 400);
        list_gaps(reader, &g);
        /* all of it, or a stretch */
        const int64_t first = round % 2 * (int64_t)random_below(&g, 200);
        const int64_t end = first + 400 - 2 * first;
        struct fx8_gap_count whole, single;
        int64_t missing[N_INPUTS];
        memset(missing, GARBAGE, sizeof missing);
        must(fx8_gaps_count(&reader->base, first, end - first, &whole, &single,
                            missing, &error),
             error);
        for (size_t i = 0; i < N_INPUTS; i++) {
            int64_t want = 0;
            for (int64_t t = first; t < end; t++)
                want += is_missing(reader, i, t);
            assert_int_equal(missing[i], want);
        }
        const struct fx8_gap_count all =
            count_samples(reader, first, end, true);
        const struct fx8_gap_count some =
            count_samples(reader, first, end, false);
        assert_memory_equal(&whole, &all, sizeof all);
        assert_memory_equal(&single, &some, sizeof some);
    }
}

/* --- surveys ---------------------------------------------------------- */

static void assert_survey(const struct fx8_survey *survey,
                          const struct fx8_sample_sums *want)
{
    for (size_t i = 0; i < N_INPUTS; i++)
        assert_memory_equal(&survey->sums[i], &want[i], sizeof want[i]);
}

static int64_t n_shown; /* samples, at the last call */

static void count_progress(void *context, const struct fx8_progress *progress)
{
    assert_ptr_equal(context, &n_shown);
    assert_in_range(progress->n_samples, n_shown, progress->total_samples);
    assert_int_equal(progress->n_inputs, N_INPUTS);
    n_shown = progress->n_samples;
}

/* Everything: blocks of any size, orders, lists, markers, parts. */
TEST(whole_surveys)
{
    struct generator g = {1234};
    struct fx8_error error;
    for (int round = 0; round < 60; round++) {
        const int64_t n = random_in(&g, 1, 700);
        struct memory_reader *reader = open_memory((size_t)(1 + round % 2), n);
        struct fx8_settings settings = {
            .input = {.marker = {.is_used = round % 3 != 0,
                                 .value = -7,
                                 .least_length = random_in(&g, 1, 12)}}};
        fill_memory(reader, &g);
        list_gaps(reader, &g);
        reader->found[0] = found;
        reader->base.n_found = n > 60 && round % 4 == 1;
        reader->is_time_major = round % 5 < 2;
        reader->read_samples = random_in(&g, 1, 200);
        struct fx8_survey_range range = {.is_all = true,
                                         .progress = count_progress,
                                         .progress_context = &n_shown};
        n_shown = 0;
        range.first_sample = random_in(&g, 0, n - 1);
        range.n_samples = random_in(&g, 1, n - range.first_sample);
        struct fx8_survey survey;
        must(fx8_survey_run(&reader->base, &settings, &range, &survey, &error),
             error);
        struct fx8_sample_sums want[N_INPUTS] = {0};
        for (size_t i = 0; i < N_INPUTS; i++)
            add_plainly(reader, &settings, i, range.first_sample,
                        range.n_samples, &want[i]);
        assert_survey(&survey, want);
        assert_int_equal(survey.n_samples, range.n_samples);
        assert_int_equal(survey.n_clamped, reader->n_read);
        /* whether a run of markers at the end counts depends on what follows */
        assert_true(n_shown + settings.input.marker.least_length >
                    range.n_samples);
        fx8_survey_clear(&survey);
    }
}

/* 32 samples at 256 KiB each are 8 MiB; 64 MiB hold eight such blocks, spread
 * over the recording. */
TEST(blocks_of_a_long_recording)
{
    struct generator g = {4321};
    struct fx8_error error;
    const struct fx8_settings settings = {0};
    static const int64_t lengths[] = {256, 257, 288, 1000, 2999};
    for (size_t k = 0; k < LENGTH(lengths); k++) {
        const int64_t n = lengths[k];
        struct memory_reader *reader = open_memory(2, n);
        fill_memory(reader, &g);
        reader->read_samples = 32;
        reader->sample_bytes = (size_t)256 << 10;
        const struct fx8_survey_range range = {.n_samples = n};
        struct fx8_survey survey;
        must(fx8_survey_run(&reader->base, &settings, &range, &survey, &error),
             error);
        struct fx8_sample_sums want[N_INPUTS] = {0};
        int64_t looked_at = 0;
        for (int64_t b = 0; b < 8; b++) {
            const int64_t first = 32 * (b * ((n + 31) / 32 - 1) / 7);
            const int64_t length = n - first < 32 ? n - first : 32;
            for (size_t i = 0; i < N_INPUTS; i++)
                add_plainly(reader, &settings, i, first, length, &want[i]);
            looked_at += length;
        }
        assert_survey(&survey, want);
        assert_int_equal(survey.n_samples, looked_at);
        assert_int_equal(reader->n_read, looked_at);
        fx8_survey_clear(&survey);
    }
}
