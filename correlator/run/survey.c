/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/gaps.h"
#include "correlator/run/survey.h"

/* Samples of all inputs made contiguous at a time: they fit a cache, and rows
 * are long enough for vector code. */
#define TILE_BYTES    ((size_t)8 << 20)
#define MOST_SAMPLES  ((size_t)8192)
#define LEAST_SAMPLES ((size_t)64)

/* A survey while it runs. */
struct work {
    struct fx8_reader *reader;
    struct fx8_survey *survey;
    const struct fx8_survey_range *range;
    struct fx8_scan_plan plan; /* except the range */
    int64_t read_samples;
    int8_t *buffer;
    ptrdiff_t *input_offset; /* [n_inputs] */
    struct fx8_gaps gaps;
};

/* --- one stretch ------------------------------------------------- */

static void count_values(int64_t histogram[256], const int8_t *samples,
                         const uint64_t *valid, size_t n_samples,
                         size_t components)
{
    for (size_t t = fx8_bit_next(valid, 0, n_samples); t < n_samples;
         t = fx8_bit_next(valid, t + 1, n_samples))
        for (size_t k = 0; k < components; k++)
            histogram[samples[t * components + k] + 128]++;
}

static void add_samples(void *context, size_t input, const int8_t *samples,
                        const uint64_t *valid, size_t n_samples)
{
    const struct work *work = context;
    const size_t components = work->plan.is_complex ? 2 : 1;
    fx8_sample_sums_add(&work->survey->sums[input], samples, n_samples,
                        components, valid);
    if (work->survey->histograms != NULL)
        count_values(work->survey->histograms[input], samples, valid, n_samples,
                     components);
}

/* Show the progress of a survey of all samples. */
static void show_progress(const struct work *work, int64_t at)
{
    const struct fx8_rate rate = work->reader->observation.sample_rate;
    const struct fx8_progress progress = {
        .n_samples = at - work->range->first_sample,
        .total_samples = work->range->n_samples,
        .n_inputs = work->plan.n_rows,
        .rate_hz = rate.numerator_hz > 0 ? fx8_rate_hz(rate) : 0.0,
    };
    if (work->range->progress != NULL && work->range->is_all)
        work->range->progress(work->range->progress_context, &progress);
}

static enum fx8_status read_block(struct work *work, int64_t first, int64_t n,
                                  struct fx8_block *block,
                                  struct fx8_error *error)
{
    struct fx8_sample_layout layout = {.input_offset = work->input_offset};
    FX8_TRY(work->reader->read(work->reader, first, n, work->buffer, &layout,
                               error));
    work->survey->n_clamped += work->reader->n_clamped;
    FX8_TRY(fx8_gaps_list(&work->gaps, work->reader, first, n, error));
    *block = (struct fx8_block){
        .samples = work->buffer,
        .input_offset = work->input_offset,
        .time_stride = layout.time_stride,
        .first_sample = first,
        .n_samples = n,
        .missing = work->gaps.items,
        .n_missing = work->gaps.n,
    };
    return FX8_OK;
}

/* Survey samples [first, first + n); read as far on either side as samples may
 * make them missing. */
static enum fx8_status add_stretch(struct work *work, int64_t first, int64_t n,
                                   struct fx8_error *error)
{
    const int64_t length = work->reader->observation.n_samples;
    const int64_t more =
        fx8_missing_reach(&work->plan.marker, &work->plan.blanking);
    const int64_t stop = first + n;
    const int64_t end = length - stop < more ? length : stop + more;
    int64_t next = first < more ? 0 : first - more, n_scanned = 0;
    struct fx8_scan_plan plan = work->plan;
    FX8_AUTO(fx8_scan_close) struct fx8_scan *scan = NULL;
    plan.first_sample = first;
    plan.n_samples = n;
    FX8_TRY(fx8_scan_open(&plan, add_samples, work, &scan, error));
    while (next < end && n_scanned < n) {
        const int64_t taken =
            end - next < work->read_samples ? end - next : work->read_samples;
        struct fx8_block block;
        FX8_TRY(read_block(work, next, taken, &block, error));
        next += taken;
        FX8_TRY(fx8_scan_push(scan, &block, &n_scanned, error));
        show_progress(work, first + n_scanned);
    }
    FX8_TRY(fx8_scan_push(scan, NULL, &n_scanned, error));
    work->survey->n_blocks++;
    work->survey->n_samples += n;
    return FX8_OK;
}

/* --- which stretches --------------------------------------------- */

static enum fx8_status add_range(struct work *work,
                                 const struct fx8_survey_range *range,
                                 struct fx8_error *error)
{
    const int64_t block = work->read_samples;
    const size_t bytes = work->reader->buffer_size(work->reader, block);
    const int64_t n_all = (range->n_samples - 1) / block + 1;
    int64_t n =
        bytes < FX8_SURVEY_BYTES ? (int64_t)(FX8_SURVEY_BYTES / bytes) : 1;
    if (range->is_all || n >= n_all) {
        work->survey->block_samples = range->n_samples;
        return add_stretch(work, range->first_sample, range->n_samples, error);
    }
    work->survey->block_samples = block;
    for (int64_t k = 0; k < n; k++) {
        /* k (n_all - 1) / (n - 1) without overflow of the product */
        const int64_t step = n > 1 ? (n_all - 1) / (n - 1) : 0;
        const int64_t rest = n > 1 ? (n_all - 1) % (n - 1) : 0;
        const int64_t index = n > 1 ? k * step + k * rest / (n - 1) : 0;
        const int64_t left = range->n_samples - index * block;
        FX8_TRY(add_stretch(work, range->first_sample + index * block,
                            left < block ? left : block, error));
    }
    return FX8_OK;
}

/* --- beginning and end ------------------------------------------- */

static enum fx8_status select_all(struct fx8_reader *reader, size_t n_inputs,
                                  struct fx8_error *error)
{
    const struct fx8_observation *o = &reader->observation;
    FX8_AUTO_FREE struct fx8_input_position *inputs = NULL;
    FX8_TRY(fx8_allocate(n_inputs, sizeof *inputs, "inputs", &inputs, error));
    for (size_t i = 0; i < n_inputs; i++)
        inputs[i] = (struct fx8_input_position){
            .antenna = i / o->n_polarizations % o->n_antennas,
            .polarization = i % o->n_polarizations,
            .band = i / o->n_polarizations / o->n_antennas};
    return reader->select(reader, inputs, n_inputs, error);
}

static enum fx8_status prepare(struct work *work,
                               const struct fx8_settings *settings,
                               const struct fx8_survey_range *range,
                               struct fx8_error *error)
{
    const size_t n_inputs = work->survey->n_inputs;
    const size_t size = work->reader->observation.is_complex ? 2 : 1;
    size_t tile = TILE_BYTES / size / n_inputs;
    tile = tile > MOST_SAMPLES    ? MOST_SAMPLES
           : tile < LEAST_SAMPLES ? LEAST_SAMPLES
                                  : tile;
    work->plan = (struct fx8_scan_plan){
        .n_rows = n_inputs,
        .is_complex = size == 2,
        .marker = settings->input.marker,
        .blanking = settings->flag.blanking,
        .most_samples = tile,
        .n_threads = fx8_parallel_cpus(),
    };
    work->reader->n_threads = work->plan.n_threads;
    FX8_TRY(select_all(work->reader, n_inputs, error));
    work->read_samples = work->reader->read_samples(work->reader);
    if (work->read_samples > range->n_samples)
        work->read_samples = range->n_samples;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(work->survey->sums, n_inputs),
        FX8_ITEMS(work->survey->remarks, n_inputs),
        {&work->survey->histograms, n_inputs,
         range->has_histograms ? sizeof *work->survey->histograms : 0},
        {&work->buffer,
         work->reader->buffer_size(work->reader, work->read_samples), 1},
        FX8_ITEMS(work->input_offset, n_inputs),
    };
    return fx8_allocate_arrays(arrays, sizeof arrays / sizeof arrays[0],
                               "levels", error);
}

static void clear(struct work *work)
{
    free(work->buffer);
    free(work->input_offset);
    fx8_gaps_clear(&work->gaps);
}

enum fx8_status fx8_survey_run(struct fx8_reader *reader,
                               const struct fx8_settings *settings,
                               const struct fx8_survey_range *range,
                               struct fx8_survey *survey,
                               struct fx8_error *error)
{
    *survey = (struct fx8_survey){
        .n_inputs = fx8_observation_inputs(&reader->observation)};
    FX8_AUTO(clear)
    struct work work = {.reader = reader, .survey = survey, .range = range};
    FX8_TRY(prepare(&work, settings, range, error));
    FX8_TRY(add_range(&work, range, error));
    return fx8_sample_sums_judge(survey->sums, reader->input_gain,
                                 survey->n_inputs, reader->observation.n_bands,
                                 work.plan.is_complex ? 2 : 1, survey->remarks,
                                 error);
}

void fx8_survey_clear(struct fx8_survey *survey)
{
    free(survey->sums);
    free(survey->remarks);
    free(survey->histograms);
    *survey = (struct fx8_survey){0};
}
