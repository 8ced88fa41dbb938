/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/shape.h"
#include "correlator/session/baseline.h"
#include "correlator/session/plan.h"
#include "correlator/simulate/truth.h"
#include "kernels/operations.h"

/* Channels on either side of a tone in which it is looked for. */
#define TONE_REACH 256.0

struct fx8_truth {
    const struct fx8_simulator *simulator;
    const struct fx8_job *job;
    size_t n_channels; /* of the plan, before averaging */
    size_t n_pairs;
    size_t *recorded;       /* [n_inputs] input as the simulator counts */
    double *frequencies_hz; /* [n_channels] */
    double *weights;        /* [samples per window] of the filter */
    double *voltage;        /* [n_inputs][2][re, im] of one source */
    double *means;          /* [n_channels][pair][re, im] */
    double *sums;           /* means times counts */
    int64_t *counts;        /* [pair] */
    uint64_t *valid;        /* [n_inputs][valid_words] of one dump */
    size_t valid_words;
    struct fx8_product *products;
    uint8_t *flag_channel;
    uint8_t *flag_input;
    struct fx8_postprocess postprocess;
    struct fx8_visibilities results;
};

/* --- expected means ---------------------------------------------- */

/* Power response of channel `channel` to a tone, 0 beyond its reach. */
static double tone_response(const struct fx8_truth *truth, size_t channel,
                            double tone_hz)
{
    const struct fx8_plan *plan = &truth->job->plan;
    const double length = (double)fx8_samples_per_spectrum(plan);
    const double width_hz = fx8_rate_hz(plan->sample_rate) / length;
    double offset = (tone_hz - truth->frequencies_hz[channel]) / width_hz;
    offset -= length * rint(offset / length); /* the response is periodic */
    if (fabs(offset) > TONE_REACH)
        return 0.0;
    double response[2];
    fx8_filterbank_response(truth->weights, fx8_samples_per_window(plan),
                            fx8_samples_per_spectrum(plan), offset, response);
    return response[0] * response[0] + response[1] * response[1];
}

/* Add a source to the means of a channel. */
static void add_source(struct fx8_truth *truth, size_t source, size_t channel)
{
    const struct fx8_source *of =
        &fx8_simulator_plan(truth->simulator)->sources[source];
    const size_t n_inputs = truth->job->n_inputs;
    const double frequency_hz =
        of->is_tone ? of->tone_hz : truth->frequencies_hz[channel];
    double power = fx8_simulator_unit(truth->simulator);
    if (of->is_tone)
        power *= tone_response(truth, channel, of->tone_hz);
    if (power == 0.0)
        return;
    double(*voltage)[2][2] = (double(*)[2][2])(void *)truth->voltage;
    for (size_t i = 0; i < n_inputs; i++)
        fx8_simulator_voltage(truth->simulator, source, truth->recorded[i],
                              frequency_hz, voltage[i]);
    double *mean = truth->means + 2 * channel * truth->n_pairs;
    for (size_t j = 0; j < n_inputs; j++)
        for (size_t i = 0; i <= j; i++, mean += 2)
            for (size_t k = 0; k < 2; k++) {
                const double *a = voltage[i][k], *b = voltage[j][k];
                mean[0] += power * (a[0] * b[0] + a[1] * b[1]);
                mean[1] += power * (a[0] * b[1] - a[1] * b[0]);
            }
}

static void form_means(struct fx8_truth *truth)
{
    const size_t n_sources = fx8_simulator_plan(truth->simulator)->n_sources;
    for (size_t c = 0; c < truth->n_channels; c++) {
        for (size_t s = 0; s < n_sources; s++)
            add_source(truth, s, c);
        for (size_t i = 0; i < truth->job->n_inputs; i++)
            truth->means[2 * (c * truth->n_pairs + fx8_pair_index(i, i))] +=
                fx8_simulator_noise(truth->simulator, truth->recorded[i]);
    }
}

/* --- exact counts ------------------------------------------------ */

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Clear the spectra of the dump whose window holds a missing sample. */
static void clear_missing(struct fx8_truth *truth, int64_t dump)
{
    const struct fx8_plan *plan = &truth->job->plan;
    const int64_t step = (int64_t)fx8_samples_per_spectrum(plan);
    const int64_t window = (int64_t)fx8_samples_per_window(plan);
    const int64_t n_spectra = plan->spectra_per_dump;
    size_t n_missing;
    const struct fx8_missing *missing =
        fx8_simulator_missing(truth->simulator, &n_missing);
    const size_t n_slots =
        fx8_simulator_plan(truth->simulator)->n_polarizations;
    for (size_t input = 0; input < truth->job->n_inputs; input++)
        for (size_t m = 0; m < n_missing; m++) {
            if ((size_t)missing[m].antenna * n_slots +
                    (size_t)missing[m].polarization !=
                truth->recorded[input])
                continue;
            /* windows [tN, tN + PN) that meet [first, first + n) */
            const int64_t first = missing[m].first_sample - plan->first_sample;
            int64_t from = floor_divide(first - window, step) + 1;
            int64_t to =
                floor_divide(first + missing[m].n_samples - 1, step) + 1;
            from = from > dump * n_spectra ? from - dump * n_spectra : 0;
            to =
                to < (dump + 1) * n_spectra ? to - dump * n_spectra : n_spectra;
            for (int64_t t = from; t < to; t++)
                fx8_bit_clear(truth->valid + input * truth->valid_words,
                              (size_t)t);
        }
}

static void count_products(struct fx8_truth *truth, int64_t dump)
{
    const size_t n_spectra = (size_t)truth->job->plan.spectra_per_dump;
    const size_t n_words = truth->valid_words;
    for (size_t i = 0; i < truth->job->n_inputs; i++) {
        uint64_t *row = truth->valid + i * n_words;
        memset(row, 0xff, n_words * sizeof *row);
        if (n_spectra % 64 != 0)
            row[n_words - 1] = ((uint64_t)1 << (n_spectra % 64)) - 1;
    }
    clear_missing(truth, dump);
    for (size_t j = 0; j < truth->job->n_inputs; j++)
        for (size_t i = 0; i <= j; i++) {
            const uint64_t *a = truth->valid + i * n_words;
            const uint64_t *b = truth->valid + j * n_words;
            int64_t count = 0;
            for (size_t w = 0; w < n_words; w++)
                count += __builtin_popcountll(a[w] & b[w]);
            truth->counts[fx8_pair_index(i, j)] = count;
        }
}

void fx8_truth_dump(struct fx8_truth *truth, int64_t dump,
                    struct fx8_visibilities *results)
{
    count_products(truth, dump);
    for (size_t c = 0; c < truth->n_channels; c++)
        for (size_t pair = 0; pair < truth->n_pairs; pair++) {
            const size_t at = 2 * (c * truth->n_pairs + pair);
            const double count = (double)truth->counts[pair];
            truth->sums[at] = truth->means[at] * count;
            truth->sums[at + 1] = truth->means[at + 1] * count;
        }
    fx8_postprocess_fp32(&truth->postprocess, truth->sums, truth->counts,
                         &truth->results);
    *results = truth->results;
}

/* --- open, close ------------------------------------------------- */

static enum fx8_status allocate_all(struct fx8_truth *truth,
                                    struct fx8_error *error)
{
    const struct fx8_plan *plan = &truth->job->plan;
    const size_t n_inputs = truth->job->n_inputs;
    const size_t n_sums = fx8_product(truth->n_channels, truth->n_pairs, 2, 1);
    const size_t n_products = fx8_baseline_products(plan->n_polarizations);
    const size_t n_table =
        fx8_product(fx8_baseline_count(plan->n_antennas), n_products, 1, 1);
    const size_t n_cells =
        fx8_product(n_table, truth->n_channels / plan->channel_average, 1, 1);
    struct fx8_visibilities *results = &truth->results;
    const struct fx8_array arrays[] = {
        {&truth->recorded, n_inputs, sizeof(size_t)},
        {&truth->frequencies_hz, truth->n_channels, sizeof(double)},
        {&truth->weights, fx8_samples_per_window(plan), sizeof(double)},
        {&truth->voltage, n_inputs, 4 * sizeof(double)},
        {&truth->means, n_sums, sizeof(double)},
        {&truth->sums, n_sums, sizeof(double)},
        {&truth->counts, truth->n_pairs, sizeof(int64_t)},
        {&truth->valid, fx8_product(n_inputs, truth->valid_words, 1, 1),
         sizeof(uint64_t)},
        {&truth->products, n_table, sizeof *truth->products},
        {&truth->flag_channel, truth->n_channels, 1},
        {&truth->flag_input, n_inputs, 1},
        {&results->visibilities, n_cells, 2 * sizeof(float)},
        {&results->flags, n_cells, 1},
        {&results->nsamples, n_cells, sizeof(float)},
    };
    return fx8_allocate_arrays(arrays, sizeof arrays / sizeof *arrays,
                               "true visibilities", error);
}

static void plan_postprocess(struct fx8_truth *truth)
{
    const struct fx8_plan *plan = &truth->job->plan;
    fx8_baseline_table(plan->n_antennas, plan->n_polarizations,
                       truth->products);
    fx8_plan_flag_channels(plan, truth->flag_channel);
    for (size_t i = 0; i < truth->job->n_inputs; i++)
        truth->flag_input[i] =
            truth->job->flag_antenna[i / plan->n_polarizations];
    truth->postprocess = (struct fx8_postprocess){
        .n_antennas = plan->n_antennas,
        .n_products = fx8_baseline_products(plan->n_polarizations),
        .n_inputs = truth->job->n_inputs,
        .n_channels = truth->n_channels,
        .channel_average = plan->channel_average,
        .products = truth->products,
        .spectra_per_dump = plan->spectra_per_dump,
        .flag_channel = truth->flag_channel,
        .flag_input = truth->flag_input,
        .n_threads = fx8_simulator_plan(truth->simulator)->n_threads,
    };
}

enum fx8_status fx8_truth_open(const struct fx8_simulator *simulator,
                               const struct fx8_job *job,
                               struct fx8_truth **truth,
                               struct fx8_error *error)
{
    *truth = NULL;
    void *memory;
    enum fx8_status status =
        fx8_allocate(1, sizeof **truth, "true visibilities", &memory, error);
    if (status != FX8_OK)
        return status;
    struct fx8_truth *made = memory;
    *made = (struct fx8_truth){
        .simulator = simulator,
        .job = job,
        .n_channels = fx8_channels(&job->plan),
        .n_pairs = fx8_pair_count(job->n_inputs),
        .valid_words = fx8_bit_words((size_t)job->plan.spectra_per_dump),
    };
    status = allocate_all(made, error);
    if (status != FX8_OK) {
        fx8_truth_close(&made);
        return status;
    }
    const size_t n_slots = fx8_simulator_plan(simulator)->n_polarizations;
    for (size_t i = 0; i < job->n_inputs; i++)
        made->recorded[i] =
            job->inputs[i].antenna * n_slots + job->inputs[i].polarization;
    struct fx8_plan unaveraged = job->plan;
    unaveraged.channel_average = 1;
    double width_hz;
    fx8_frequencies(&unaveraged, made->frequencies_hz, &width_hz);
    fx8_plan_weights(&job->plan, made->weights);
    plan_postprocess(made);
    form_means(made);
    *truth = made;
    return FX8_OK;
}

void fx8_truth_close(struct fx8_truth **truth)
{
    struct fx8_truth *closed = *truth;
    if (closed == NULL)
        return;
    free(closed->recorded);
    free(closed->frequencies_hz);
    free(closed->weights);
    free(closed->voltage);
    free(closed->means);
    free(closed->sums);
    free(closed->counts);
    free(closed->valid);
    free(closed->products);
    free(closed->flag_channel);
    free(closed->flag_input);
    free(closed->results.visibilities);
    free(closed->results.flags);
    free(closed->results.nsamples);
    free(closed);
    *truth = NULL;
}
