/* SPDX-License-Identifier: BSD-3-Clause */
#include <erfam.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/parallel.h"
#include "config/base/dump_arrays.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/simulate/removed.h"
#include "correlator/simulate/tones.h"
#include "correlator/simulate/truth.h"
#include "correlator/simulate/validity.h"
#include "kernels/baseline.h"
#include "kernels/operations.h"

/* Segments of a dump: most spectra and, with moving sources, most seconds and
 * largest turn of a fringe (see truth.h). */
#define SEGMENT_SPECTRA 65536
#define SEGMENT_S       8.0
#define SEGMENT_TURN    0.0625

/* Sums post-processed at a time, unless a whole dump is kept. */
#define SLAB_BYTES ((size_t)16 << 20)

/* Signal of a source in an input and a channel. */
struct reception {
    double voltage[2][2];
    double turn; /* of its phase, rad per spectrum; 0: fixed source */
};

/* Moments over the valid spectra of a pair in a segment; time in spectra from
 * the middle of the segment. */
struct moments {
    double count, time, time_squared;
};

enum { N_ARRAYS = 19 };

struct fx8_truth {
    struct fx8_simulator *simulator;
    const struct fx8_job *job;
    const struct fx8_simulation *sky;
    size_t n_channels; /* of the plan, before averaging */
    size_t n_pairs;
    bool is_moving;   /* whether a source moves */
    int64_t segment;  /* most spectra */
    int64_t length;   /* its spectra now: fewer at the end of a dump */
    size_t slab;      /* channels at a time, a multiple of the average */
    size_t *recorded; /* [n_inputs] input number in the simulator */
    size_t *input_of; /* [recorded inputs] inverse; n_inputs: not correlated */
    struct fx8_filterbank bank;
    double width_hz;              /* of a channel */
    double *frequencies_hz;       /* [n_channels] */
    double *weights;              /* [samples per window] of the filter */
    double *power;                /* [n_sources][n_channels], LSB^2 */
    double (*directions)[3];      /* [n_sources] in the middle of a segment */
    double (*motion)[3];          /* [n_sources] from its begin to its end */
    struct fx8_removed removed;   /* delays, from the voltages */
    struct reception *received;   /* [n_threads][n_inputs] */
    double *means;                /* [n_channels][pair][re, im] fixed sources */
    double *sums;                 /* the same for a dump: of all channels with
                                     moving sources, else of a slab */
    int64_t *counts;              /* [pair] of a dump */
    struct moments *moments;      /* [pair] of a segment, with moving sources */
    struct fx8_validity validity; /* of a segment */
    struct fx8_product *products;
    uint8_t *flag_channel;
    uint8_t *flag_input;
    struct fx8_postprocess postprocess;
    struct fx8_result results;
    struct fx8_array arrays[N_ARRAYS]; /* all of the above */
};

/* --- expected products ------------------------------------------- */

/* Whether the spectra of a channel are real: the sum of the sky's spectrum and
 * its mirror image.  Half of such a channel lies beyond the end of the band. */
static bool is_real(const struct fx8_truth *truth, size_t channel)
{
    return fx8_filterbank_is_real(&truth->bank, channel);
}

static struct fx8_tone find_tone(const struct fx8_truth *truth,
                                 const struct fx8_source *source,
                                 size_t channel)
{
    return fx8_tone_find(&truth->bank, truth->weights,
                         (source->tone_hz - truth->frequencies_hz[channel]) /
                             truth->width_hz);
}

/* Power of a source in a channel for I = 1.  In real spectra the mirror image
 * of a tone adds the same again. */
static double power_of(const struct fx8_truth *truth,
                       const struct fx8_source *source, size_t channel)
{
    const double unit = fx8_simulator_unit(truth->simulator);
    if (!source->is_tone)
        return unit;
    const struct fx8_tone tone = find_tone(truth, source, channel);
    return unit * (is_real(truth, channel) ? 2.0 : 1.0) *
           (tone.response[0] * tone.response[0] +
            tone.response[1] * tone.response[1]);
}

static void find_powers(void *context, size_t channel, size_t thread)
{
    struct fx8_truth *truth = context;
    (void)thread;
    for (size_t s = 0; s < truth->sky->n_sources; s++)
        truth->power[s * truth->n_channels + channel] =
            power_of(truth, &truth->sky->sources[s], channel);
}

/* Whether a source moves against what the correlator follows. */
static bool moves(const struct fx8_truth *truth, size_t source)
{
    return truth->sky->sources[source].is_celestial ||
           truth->removed.is_changing;
}

/* Response of an input as the correlator will have it: its gain divided out,
 * its phase turned. */
static void calibrate(const struct fx8_truth *truth, size_t input,
                      double cycles, double voltage[2][2])
{
    const double phase = ERFA_D2PI * (cycles - floor(cycles));
    const double gain = 1.0 / truth->job->gains[input].amplitude;
    const double re = gain * cos(phase), im = gain * sin(phase);
    for (size_t k = 0; k < 2; k++) {
        const double x = voltage[k][0], y = voltage[k][1];
        voltage[k][0] = x * re - y * im;
        voltage[k][1] = x * im + y * re;
    }
}

/* Signals of a source in all inputs in a channel; NULL: no power. */
static const struct reception *receive(const struct fx8_truth *truth,
                                       size_t source, size_t channel,
                                       size_t thread)
{
    const struct fx8_source *of = &truth->sky->sources[source];
    double frequency_hz = truth->frequencies_hz[channel];
    if (of->is_tone)
        frequency_hz = of->tone_hz;
    else if (is_real(truth, channel))
        frequency_hz += 0.25 * truth->width_hz;
    const size_t n_inputs = truth->job->n_inputs;
    const double segment_s = (double)truth->length *
                             (double)truth->job->axes.step /
                             fx8_rate_hz(truth->job->plan.sample_rate);
    struct reception *received = truth->received + thread * n_inputs;
    if (truth->power[source * truth->n_channels + channel] == 0.0)
        return NULL;
    for (size_t i = 0; i < n_inputs; i++) {
        const size_t input = truth->recorded[i];
        fx8_simulator_voltage(truth->simulator, source,
                              truth->directions[source], input, frequency_hz,
                              received[i].voltage);
        double cycles = 0.0;
        double growth_s =
            fx8_simulator_path(truth->simulator, truth->motion[source], input);
        if (!is_real(truth, channel)) {
            cycles = fx8_removed_cycles(&truth->removed, i, frequency_hz,
                                        growth_s / segment_s);
            growth_s += fx8_removed_growth(&truth->removed, i);
        }
        calibrate(truth, i, cycles, received[i].voltage);
        received[i].turn =
            ERFA_D2PI * frequency_hz * growth_s / (double)truth->length;
    }
    return received;
}

/* conj(a) b, summed over the two signals. */
static void multiply(const struct reception *a, const struct reception *b,
                     double power, double value[2])
{
    value[0] = value[1] = 0.0;
    for (size_t k = 0; k < 2; k++) {
        const double *x = a->voltage[k], *y = b->voltage[k];
        value[0] += power * (x[0] * y[0] + x[1] * y[1]);
        value[1] += power * (x[0] * y[1] - x[1] * y[0]);
    }
}

/* Add to sums of a channel, [pair][re, im], the fixed sources, whose products
 * are constant, or, with moments [pair], the moving ones over the valid spectra
 * of a segment: exp(ipt) to second order. */
static void add_sources(const struct fx8_truth *truth, size_t channel,
                        size_t thread, const struct moments *moments,
                        double *sums)
{
    const bool is_moving = moments != NULL;
    for (size_t s = 0; s < truth->sky->n_sources; s++) {
        const struct reception *received =
            moves(truth, s) == is_moving ? receive(truth, s, channel, thread)
                                         : NULL;
        const double power = truth->power[s * truth->n_channels + channel];
        double *sum = sums;
        for (size_t j = 0; j < truth->job->n_inputs && received != NULL; j++)
            for (size_t i = 0; i <= j; i++, sum += 2) {
                double value[2], re = 1.0, im = 0.0;
                multiply(&received[i], &received[j], power, value);
                if (is_moving) {
                    const struct moments *of = &moments[(sum - sums) / 2];
                    const double p = received[j].turn - received[i].turn;
                    re = of->count - 0.5 * p * p * of->time_squared;
                    im = p * of->time;
                }
                sum[0] += value[0] * re - value[1] * im;
                sum[1] += value[0] * im + value[1] * re;
            }
    }
}

/* Means of a channel: fixed sources and noise. */
static void form_means(void *context, size_t channel, size_t thread)
{
    struct fx8_truth *truth = context;
    double *means = truth->means + 2 * channel * truth->n_pairs;
    add_sources(truth, channel, thread, NULL, means);
    for (size_t i = 0; i < truth->job->n_inputs; i++)
        means[2 * fx8_pair_index(i, i)] +=
            fx8_simulator_noise(truth->simulator, truth->recorded[i]) /
            pow(truth->job->gains[i].amplitude, 2.0);
}

/* Add the moving sources to the sums of a channel. */
static void add_moving(void *context, size_t channel, size_t thread)
{
    struct fx8_truth *truth = context;
    add_sources(truth, channel, thread, truth->moments,
                truth->sums + 2 * channel * truth->n_pairs);
}

/* --- exact counts ------------------------------------------------ */

/* Sums over the bits set in both rows of 1, k and k^2, k their index. */
static void sum_bits(const uint64_t *a, const uint64_t *b, size_t n_words,
                     int64_t sums[3])
{
    sums[0] = sums[1] = sums[2] = 0;
    for (size_t w = 0; w < n_words; w++) {
        uint64_t bits = a[w] & b[w];
        const int64_t base = 64 * (int64_t)w;
        if (bits == UINT64_MAX) { /* sums over 0 ... 63 of k and k^2 */
            sums[0] += 64;
            sums[1] += 64 * base + 2016;
            sums[2] += 64 * base * base + 2 * base * 2016 + 85344;
            continue;
        }
        for (; bits != 0; bits &= bits - 1) {
            const int64_t k = base + __builtin_ctzll(bits);
            sums[0] += 1;
            sums[1] += k;
            sums[2] += k * k;
        }
    }
}

/* Counts and moments (with moving sources) of all pairs in n spectra. */
static void count_products(struct fx8_truth *truth, int64_t n)
{
    const struct fx8_validity *of = &truth->validity;
    const size_t n_words = fx8_bit_words((size_t)n);
    const double middle = 0.5 * (double)(n - 1);
    for (size_t j = 0; j < truth->job->n_inputs; j++)
        for (size_t i = 0; i <= j; i++) {
            const size_t pair = fx8_pair_index(i, j);
            int64_t sums[3]; /* below 2^53: segments are short */
            sum_bits(of->valid + i * of->n_words, of->valid + j * of->n_words,
                     n_words, sums);
            truth->counts[pair] += sums[0];
            if (!truth->is_moving)
                continue;
            const double count = (double)sums[0], time = (double)sums[1];
            truth->moments[pair] = (struct moments){
                .count = count,
                .time = time - middle * count,
                .time_squared = (double)sums[2] - 2.0 * middle * time +
                                middle * middle * count,
            };
        }
}

/* --- dumps ------------------------------------------------------- */

/* Directions of the sources in spectra first ... first + n - 1. */
static void find_directions(struct fx8_truth *truth, int64_t first, int64_t n)
{
    const struct fx8_plan *plan = &truth->job->plan;
    const double step = (double)truth->job->axes.step;
    const double length = (double)n * step;
    /* the middle of a window of PN samples is (PN - 1) / 2 after its first */
    const double middle = (double)plan->first_sample +
                          ((double)first + 0.5 * (double)(n - 1)) * step +
                          0.5 * (double)(truth->job->axes.window - 1);
    fx8_simulator_directions(truth->simulator, middle + 0.5 * length,
                             truth->motion);
    fx8_simulator_directions(truth->simulator, middle - 0.5 * length,
                             truth->directions);
    for (size_t s = 0; s < truth->sky->n_sources; s++)
        for (size_t axis = 0; axis < 3; axis++)
            truth->motion[s][axis] -= truth->directions[s][axis];
    fx8_simulator_directions(truth->simulator, middle, truth->directions);
    fx8_removed_find(&truth->removed, middle, length);
}

/* Add z_i z_j of the fixed tones to the sums of channel 0, whose spectra are
 * z + conj(z). */
static void add_beats(const struct fx8_truth *truth, int64_t first, int64_t n,
                      double *sums)
{
    const struct fx8_plan *plan = &truth->job->plan;
    const struct fx8_simulation *of = truth->sky;
    const double unit = 2.0 * fx8_simulator_unit(truth->simulator);
    for (size_t s = 0; s < of->n_sources; s++) {
        if (!of->sources[s].is_tone || moves(truth, s))
            continue;
        const struct fx8_tone tone = find_tone(truth, &of->sources[s], 0);
        const struct reception *received = receive(truth, s, 0, 0);
        double b[2];
        fx8_tone_beat(&tone, &truth->bank, plan->first_sample, first, n, b);
        double *sum = sums;
        for (size_t j = 0; j < truth->job->n_inputs && received != NULL; j++)
            for (size_t i = 0; i <= j; i++, sum += 2) {
                const double *x = received[i].voltage[0];
                const double *y = received[j].voltage[0];
                *sum += unit * (double)truth->counts[fx8_pair_index(i, j)] *
                        (b[0] * (x[0] * y[0] - x[1] * y[1]) -
                         b[1] * (x[0] * y[1] + x[1] * y[0]));
            }
    }
}

/* Results of channels first ... first + n - 1 of a dump. */
static void finish_slab(struct fx8_truth *truth, int64_t dump, size_t first,
                        size_t n)
{
    const size_t n_pairs = truth->n_pairs;
    const double *means = truth->means + 2 * first * n_pairs;
    double *sums = truth->sums + (truth->is_moving ? 2 * first * n_pairs : 0);
    for (size_t c = 0; c < n; c++)
        for (size_t pair = 0; pair < n_pairs; pair++) {
            const size_t at = 2 * (c * n_pairs + pair);
            const double count = (double)truth->counts[pair];
            for (size_t part = 0; part < 2; part++)
                sums[at + part] = (truth->is_moving ? sums[at + part] : 0.0) +
                                  means[at + part] * count;
            if (is_real(truth, first + c))
                sums[at + 1] = 0.0;
        }
    const int64_t n_spectra = fx8_dump_spectra(&truth->job->plan, dump);
    if (is_real(truth, first))
        add_beats(truth, fx8_dump_first(&truth->job->plan, dump), n_spectra,
                  sums);
    struct fx8_postprocess slab = truth->postprocess;
    slab.spectra_per_dump = n_spectra;
    slab.n_channels = n;
    slab.flag_channel += first;
    if (slab.ripple != NULL)
        slab.ripple += first;
    const size_t cell = first / slab.channel_average * slab.n_products;
    const struct fx8_result results[FX8_N_RESULTS] = {
        [FX8_RESULT_FP32] = fx8_result_from(&truth->results, cell)};
    fx8_postprocess_dump(&slab,
                         (void *[FX8_N_RESULTS]){[FX8_RESULT_FP32] = sums},
                         truth->counts, results);
}

void fx8_truth_dump(struct fx8_truth *truth, int64_t dump,
                    struct fx8_result *results)
{
    const struct fx8_plan *plan = &truth->job->plan;
    const int64_t n_spectra = fx8_dump_spectra(plan, dump);
    memset(truth->counts, 0, truth->n_pairs * sizeof *truth->counts);
    if (truth->is_moving)
        memset(truth->sums, 0,
               2 * truth->n_channels * truth->n_pairs * sizeof *truth->sums);
    for (int64_t done = 0; done < n_spectra; done += truth->segment) {
        const int64_t left = n_spectra - done;
        const int64_t n = left < truth->segment ? left : truth->segment;
        const int64_t first = fx8_dump_first(plan, dump) + done;
        truth->length = n;
        fx8_validity_mark(&truth->validity, first, n);
        count_products(truth, n);
        if (!truth->is_moving)
            continue;
        find_directions(truth, first, n);
        fx8_parallel_for(truth->n_channels, truth->postprocess.threads.count,
                         false, add_moving, truth);
    }
    for (size_t first = 0; first < truth->n_channels; first += truth->slab) {
        const size_t left = truth->n_channels - first;
        finish_slab(truth, dump, first,
                    left < truth->slab ? left : truth->slab);
    }
    fx8_postprocess_flag_light(
        truth->job->axes.n_baselines * truth->job->axes.n_products *
            (truth->n_channels / plan->channel_average),
        plan->min_weight, truth->postprocess.threads, &truth->results);
    *results = truth->results;
    if (plan->baselines != NULL)
        fx8_postprocess_pack(
            0, plan->baselines, plan->n_baselines,
            truth->job->axes.n_channels * truth->job->axes.n_products, results);
}

/* --- open, close ------------------------------------------------- */

/* Choose the spectra per segment and the channels per slab. */
static void choose_sizes(struct fx8_truth *truth)
{
    const struct fx8_plan *plan = &truth->job->plan;
    const struct fx8_simulation *simulation = truth->sky;
    const double step = (double)truth->job->axes.step;
    double n = (double)plan->spectra_per_dump;
    n = fmin(n, SEGMENT_SPECTRA);
    for (size_t s = 0; s < simulation->n_sources; s++)
        truth->is_moving |= moves(truth, s);
    if (truth->is_moving) {
        n = fmin(n, SEGMENT_S * fx8_rate_hz(plan->sample_rate) / step);
        n = fmin(n, SEGMENT_TURN / fx8_simulator_turn(truth->simulator, step));
    }
    truth->segment = n < 1.0 ? 1 : (int64_t)n;
    truth->length = truth->segment;
    truth->validity.n_words = fx8_bit_words((size_t)truth->segment);
    const size_t group =
        plan->channel_average * truth->n_pairs * 2 * sizeof(double);
    truth->slab =
        plan->channel_average * (group < SLAB_BYTES ? SLAB_BYTES / group : 1);
    if (truth->slab > truth->n_channels)
        truth->slab = truth->n_channels;
}

static enum fx8_status allocate_all(struct fx8_truth *truth,
                                    struct fx8_error *error)
{
    const struct fx8_plan *plan = &truth->job->plan;
    const struct fx8_simulation *simulation = truth->sky;
    const size_t n_inputs = truth->job->n_inputs;
    const size_t n_sources = simulation->n_sources;
    const size_t n_recorded =
        fx8_product(simulation->n_antennas, simulation->n_polarizations, 1, 1);
    const size_t n_sums = fx8_product(truth->n_channels, truth->n_pairs, 2, 1);
    const struct fx8_axes *axes = &truth->job->axes;
    const size_t n_table = fx8_product(fx8_baseline_count(plan->n_antennas),
                                       axes->n_products, 1, 1);
    const size_t n_cells =
        fx8_product(n_table, truth->n_channels / plan->channel_average, 1, 1);
    const struct fx8_array arrays[N_ARRAYS - FX8_RESULT_ARRAYS] = {
        FX8_ITEMS(truth->recorded, n_inputs),
        FX8_ITEMS(truth->input_of, n_recorded),
        FX8_ITEMS(truth->frequencies_hz, truth->n_channels),
        FX8_ITEMS(truth->weights, axes->window),
        FX8_ITEMS(truth->power,
                  fx8_product(n_sources, truth->n_channels, 1, 1)),
        FX8_ITEMS(truth->directions, n_sources),
        FX8_ITEMS(truth->motion, n_sources),
        FX8_ITEMS(truth->received,
                  fx8_product(simulation->n_threads, n_inputs, 1, 1)),
        FX8_ITEMS(truth->means, n_sums),
        FX8_ITEMS(truth->sums,
                  truth->is_moving
                      ? n_sums
                      : fx8_product(truth->slab, truth->n_pairs, 2, 1)),
        FX8_ITEMS(truth->counts, truth->n_pairs),
        FX8_ITEMS(truth->moments, truth->is_moving ? truth->n_pairs : 0),
        FX8_ITEMS(truth->validity.valid,
                  fx8_product(n_inputs, truth->validity.n_words, 1, 1)),
        FX8_ITEMS(truth->products, n_table),
        {&truth->flag_channel, truth->n_channels, 1},
        {&truth->flag_input, n_inputs, 1},
    };
    memcpy(truth->arrays, arrays, sizeof arrays);
    fx8_list_result(&truth->results, n_cells, true,
                    truth->arrays + N_ARRAYS - FX8_RESULT_ARRAYS);
    return fx8_allocate_arrays(truth->arrays, N_ARRAYS, "true visibilities",
                               error);
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
        .n_products = truth->job->axes.n_products,
        .n_inputs = truth->job->n_inputs,
        .n_channels = truth->n_channels,
        .row_channels = truth->n_channels,
        .channel_average = plan->channel_average,
        .products = truth->products,
        .ripple = plan->ripple,
        .spectra_per_dump = plan->spectra_per_dump,
        .flag_channel = truth->flag_channel,
        .flag_input = truth->flag_input,
        .threads.count = truth->sky->n_threads,
    };
}

/* Map inputs of the job to inputs of the simulator, and back. */
static void map_inputs(struct fx8_truth *truth)
{
    const struct fx8_simulation *plan = truth->sky;
    const struct fx8_job *job = truth->job;
    const size_t n_slots = plan->n_polarizations;
    for (size_t r = 0; r < plan->n_antennas * n_slots; r++)
        truth->input_of[r] = job->n_inputs;
    for (size_t i = 0; i < job->n_inputs; i++) {
        truth->recorded[i] =
            job->inputs[i].antenna * n_slots + job->inputs[i].polarization;
        truth->input_of[truth->recorded[i]] = i;
    }
}

enum fx8_status fx8_truth_open(struct fx8_simulator *simulator,
                               const struct fx8_job *job,
                               struct fx8_truth **truth,
                               struct fx8_error *error)
{
    *truth = NULL;
    FX8_AUTO(fx8_truth_close) struct fx8_truth *made = NULL;
    FX8_TRY(fx8_allocate(1, sizeof *made, "true visibilities", &made, error));
    *made = (struct fx8_truth){
        .simulator = simulator,
        .job = job,
        .sky = fx8_simulator_plan(simulator),
        .n_channels = job->axes.n_fine,
        .n_pairs = fx8_pair_count(job->n_inputs),
        .bank = {.is_complex = job->plan.is_complex,
                 .fft_length = job->axes.step,
                 .n_taps = job->axes.window / job->axes.step,
                 .n_channels = job->axes.n_kept},
    };
    FX8_TRY(fx8_removed_open(job, &made->removed, error));
    choose_sizes(made);
    FX8_TRY(allocate_all(made, error));
    map_inputs(made);
    made->validity.simulator = simulator;
    made->validity.removed = &made->removed;
    made->validity.input_of = made->input_of;
    struct fx8_plan unaveraged = job->plan;
    unaveraged.channel_average = 1;
    fx8_frequencies(&unaveraged, made->frequencies_hz, &made->width_hz);
    fx8_plan_weights(&job->plan, made->weights);
    plan_postprocess(made);
    const size_t n_threads = made->postprocess.threads.count;
    fx8_parallel_for(made->n_channels, n_threads, false, find_powers, made);
    /* fixed sources and delays: any sample will do */
    fx8_simulator_directions(simulator, 0.0, made->directions);
    fx8_removed_find(&made->removed, (double)job->plan.first_sample, 0.0);
    fx8_parallel_for(made->n_channels, n_threads, false, form_means, made);
    *truth = made;
    made = NULL;
    return FX8_OK;
}

void fx8_truth_close(struct fx8_truth **truth)
{
    struct fx8_truth *closed = *truth;
    if (closed == NULL)
        return;
    fx8_free_arrays(closed->arrays, N_ARRAYS);
    fx8_removed_clear(&closed->removed);
    free(closed);
    *truth = NULL;
}
