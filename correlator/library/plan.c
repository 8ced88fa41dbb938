/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "config/base/divisor.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/library/plan.h"
#include "kernels/baseline.h"
#include "kernels/kurtosis.h"

/* Bounds that, with FX8_MAX_ANTENNAS, keep every index and product of sizes
 * within 63 bits, and the index of a pair of inputs within 32; see
 * FX8_LAST_SAMPLE, too. */
#define MOST_CHANNELS ((size_t)1 << 24)
#define MOST_BANDS    ((size_t)4096)
#define MOST_THREADS  ((size_t)1024)

/* FX8_FLAG_EDGES_AUTO. */
#define EDGE_COMPLEX ((size_t)2)
#define EDGE_REAL    ((size_t)1)

/* Smallest and greatest input_gain: beyond them, results could leave the float
 * range. */
#define LEAST_INPUT_GAIN 0x1p-30
#define MOST_INPUT_GAIN  0x1p30

#define LEAST_RIPPLE 1e-9
#define MOST_RIPPLE  1e9

/* Fastest rate of samples with delays: 20 s of them, and samples up to
 * FX8_LAST_SAMPLE beside, fit 63 bits. */
#define FASTEST_DELAYED_HZ 1e15

/* Allowed overlap of bands, in channels.  Frequencies are doubles with a
 * relative error of 10^-16: 10^-6 of a 1 Hz channel at 10 GHz. */
#define TOLERATED_OVERLAP 1e-6

struct fx8_plan fx8_plan_default(void)
{
    return (struct fx8_plan){
        .is_complex = true,
        .n_polarizations = 1,
        .dc_frequency_hz = NAN,
        .n_bands = 1,
        .marker = {.least_length = 64},
        .channelizer = {.method = FX8_METHOD_PFB, .n_taps = 8},
        .quantizer = {.target_rms = 20.0, .remove_bias = true},
        .machine = {.device = "auto", .kernel = "auto"},
        .precision = FX8_PRECISION_INT8,
        .channel_average = 1,
    };
}

static size_t kept(const struct fx8_plan *plan)
{
    return plan->channelizer.n_kept == 0 ? plan->channelizer.n_channels
                                         : plan->channelizer.n_kept;
}

static size_t taps(const struct fx8_plan *plan)
{
    return plan->channelizer.method == FX8_METHOD_PFB ? plan->channelizer.n_taps
                                                      : 1;
}

static size_t step_of(const struct fx8_plan *plan)
{
    if (plan->channelizer.method == FX8_METHOD_NONE)
        return 1;
    return plan->is_complex ? plan->channelizer.n_channels
                            : 2 * plan->channelizer.n_channels;
}

static size_t zero_channel(const struct fx8_plan *plan)
{
    if (plan->is_complex)
        return kept(plan) / 2; /* k = 0 is in the middle */
    return plan->lower_sideband ? kept(plan) : 0;
}

bool fx8_plan_has_delays(const struct fx8_plan *plan)
{
    return plan->delays.delay != NULL || plan->delays.turns != NULL;
}

/* Whole samples of the longest delay, and one for its change in a group. */
static size_t margin(const struct fx8_plan *plan)
{
    if (!fx8_plan_has_delays(plan))
        return 0;
    const double most_s =
        plan->delays.delay == NULL ? 0.0 : plan->delays.most_s;
    return (size_t)ceil(most_s * fx8_rate_hz(plan->sample_rate)) + 1;
}

struct fx8_axes fx8_plan_axes(const struct fx8_plan *plan)
{
    const size_t n_inputs = plan->n_antennas * plan->n_polarizations;
    const size_t n_fine = plan->n_bands * kept(plan);
    return (struct fx8_axes){
        .n_inputs = n_inputs,
        .n_rows = plan->n_bands * n_inputs,
        .n_kept = kept(plan),
        .n_fine = n_fine,
        .n_channels = n_fine / plan->channel_average,
        .band_average = kept(plan) == 1 ? 1 : plan->channel_average,
        .n_baselines = plan->baselines != NULL
                           ? plan->n_baselines
                           : fx8_baseline_count(plan->n_antennas),
        .n_products = fx8_baseline_products(plan->n_polarizations),
        .step = step_of(plan),
        .window = taps(plan) * step_of(plan),
        .margin = margin(plan),
        .zero_channel = zero_channel(plan),
        .has_quantiser = plan->channelizer.method != FX8_METHOD_NONE &&
                         (plan->precision & FX8_PRECISION_INT8) != 0,
    };
}

size_t fx8_plan_baseline(const struct fx8_plan *plan, size_t row)
{
    return plan->baselines == NULL ? row : plan->baselines[row];
}

/* Width of a channel, in hertz. */
static long double channel_hz(const struct fx8_plan *plan)
{
    const struct fx8_rate rate = plan->sample_rate;
    return (long double)rate.numerator_hz / (long double)rate.denominator /
           (long double)step_of(plan);
}

/* Whether bands ascend and, after a filter bank, their kept channels do not
 * overlap. */
static bool bands_ascend(const struct fx8_plan *plan)
{
    if (plan->band_offset_hz == NULL)
        return plan->n_bands == 1;
    const long double least =
        plan->channelizer.method == FX8_METHOD_NONE
            ? 0.0L
            : channel_hz(plan) * ((long double)kept(plan) - TOLERATED_OVERLAP);
    for (size_t band = 0; band < plan->n_bands; band++) {
        const double offset = plan->band_offset_hz[band];
        if (!isfinite(offset))
            return false;
        if (band == 0)
            continue;
        const double before = plan->band_offset_hz[band - 1];
        if (!(offset > before) ||
            (long double)offset - (long double)before < least)
            return false;
    }
    return true;
}

/* Number of channels that channel_average must divide. */
static size_t averaged_channels(const struct fx8_plan *plan)
{
    const size_t n_kept = kept(plan);
    return n_kept == 1 ? plan->n_bands : n_kept;
}

static bool are_within(const double *values, size_t n, double least,
                       double most)
{
    for (size_t i = 0; values != NULL && i < n; i++)
        if (!(values[i] >= least && values[i] <= most))
            return false;
    return true;
}

static bool are_finite(const double *values, size_t n)
{
    for (size_t i = 0; values != NULL && i < n; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

/* Whether there are some, in ascending order. */
static bool are_baselines(const struct fx8_plan *plan)
{
    const size_t *baselines = plan->baselines;
    if (baselines == NULL)
        return true;
    for (size_t row = 1; row < plan->n_baselines; row++)
        if (baselines[row] <= baselines[row - 1])
            return false;
    return plan->n_baselines > 0 && baselines[plan->n_baselines - 1] <
                                        fx8_baseline_count(plan->n_antennas);
}

/* Whether any kind is planned, and of the two bounds both or neither. */
static bool is_precision(enum fx8_precision precision)
{
    const int interval = precision & FX8_PRECISION_INTERVAL;
    return precision != 0 && precision < 1 << FX8_N_RESULTS &&
           (interval == 0 || interval == FX8_PRECISION_INTERVAL);
}

/* A plan may do without a grid.  With one, each dump has a spectrum or more,
 * and the longest dump has `longest`. */
static bool is_grid(const struct fx8_dump_grid *grid, int64_t longest)
{
    return grid->denominator == 0 ||
           (grid->denominator > 0 && grid->numerator >= grid->denominator &&
            grid->numerator <= FX8_LAST_SAMPLE && grid->offset >= 0 &&
            grid->offset < grid->numerator &&
            longest == (grid->numerator - 1) / grid->denominator + 1);
}

/* One condition on a plan. */
struct rule {
    bool holds;
    const char *what;
};

/* FX8_ERR_USAGE naming the first of n rules that does not hold. */
static enum fx8_status check_rules(const struct rule *rules, size_t n,
                                   struct fx8_error *error)
{
    for (size_t i = 0; i < n; i++)
        if (!rules[i].holds)
            return fx8_fail(error, FX8_ERR_USAGE, "plan: %s", rules[i].what);
    return FX8_OK;
}

/* Where samples of a few bits can be corrected. */
static enum fx8_status check_van_vleck(const struct fx8_plan *plan,
                                       struct fx8_error *error)
{
    const struct fx8_channelizer *bank = &plan->channelizer;
    const struct rule rules[] = {
        {bank->method == FX8_METHOD_FFT,
         "van_vleck: expected method fft: other channels give no lags"},
        {bank->window == FX8_WINDOW_AUTO ||
             bank->window == FX8_WINDOW_RECTANGULAR,
         "van_vleck: expected a rectangular window: others mix samples"},
        {bank->n_kept == 0 || bank->n_kept == bank->n_channels,
         "van_vleck: expected keep_fraction 1: lags need every channel"},
        {plan->channel_average == 1,
         "van_vleck: expected channel_average 1: lags need every channel"},
        {plan->ripple == NULL,
         "van_vleck: expected no ripple: lags are of the spectra as recorded"},
        {!fx8_plan_has_delays(plan),
         "van_vleck: expected no delays, and gains without phases: they turn "
         "the spectra"},
        {plan->precision == FX8_PRECISION_INT8 ||
             plan->precision == FX8_PRECISION_FP32,
         "van_vleck: expected precision int8 or fp32: bounds and the loss that "
         "a comparison predicts do not hold with it"},
        {!plan->quicklook, "van_vleck: expected no quick-look, whose intervals "
                           "do not hold with it"},
    };
    return plan->van_vleck
               ? check_rules(rules, sizeof rules / sizeof *rules, error)
               : FX8_OK;
}

enum fx8_status fx8_plan_check(const struct fx8_plan *plan,
                               struct fx8_error *error)
{
    const struct fx8_channelizer *bank = &plan->channelizer;
    const struct fx8_marker *marker = &plan->marker;
    const bool none = bank->method == FX8_METHOD_NONE;
    const bool has_delays = fx8_plan_has_delays(plan);
    const bool has_channels =
        bank->n_channels >= 1 && bank->n_channels <= MOST_CHANNELS;
    const bool has_bands = plan->n_bands >= 1 && plan->n_bands <= MOST_BANDS;
    const bool has_rate =
        plan->sample_rate.numerator_hz > 0 && plan->sample_rate.denominator > 0;
    const bool has_antennas =
        plan->n_antennas >= 1 && plan->n_antennas <= FX8_MAX_ANTENNAS;
    const bool has_feeds =
        plan->n_polarizations == 1 || plan->n_polarizations == 2;
    const int64_t step = has_channels ? (int64_t)step_of(plan) : 1;
    const bool has_kurtosis = plan->sk_false_alarm != 0.0;
    const struct rule rules[] = {
        {has_antennas, "n_antennas: expected 1 to 32768"},
        {has_feeds, "n_polarizations: expected 1 or 2"},
        {has_rate, "sample_rate: expected a positive fraction in Hz"},
        {isfinite(plan->dc_frequency_hz), "dc_frequency_hz: expected a number"},
        {plan->first_sample >= 0 && plan->first_sample <= FX8_LAST_SAMPLE,
         "first_sample: expected 0 to 2^61"},
        {!marker->is_used || (marker->value >= -128 && marker->value <= 127),
         "marker.value: expected -128 to 127"},
        {!marker->is_used || (marker->least_length >= 1 &&
                              marker->least_length <= FX8_MAX_MARKER_RUN),
         "marker.least_length: expected 1 to 1048576"},
        {fx8_plan_is_blanking(&plan->blanking),
         "blanking: expected a level of 0 to 127, a margin of 0 to 1048576"},
        {has_channels, "n_channels: expected 1 to 16777216"},
        {bank->n_kept <= bank->n_channels &&
             (plan->is_complex || bank->n_kept == 0),
         "n_kept: expected at most the channels, 0 for real samples"},
        {has_bands, "n_bands: expected 1 to 4096"},
        {!has_bands || !has_channels ||
             kept(plan) <= MOST_CHANNELS / plan->n_bands,
         "n_bands: expected at most 16777216 channels of all bands"},
        {!has_bands || !has_channels || !has_rate || bands_ascend(plan),
         "band_offset_hz: expected ascending bands whose kept channels do not "
         "overlap"},
        {!has_bands || !has_antennas || !has_feeds ||
             are_within(plan->input_gain,
                        plan->n_bands * plan->n_antennas *
                            plan->n_polarizations,
                        LEAST_INPUT_GAIN, MOST_INPUT_GAIN),
         "input_gain: expected 2^-30 to 2^30"},
        {!has_bands || !has_channels || bank->n_kept > bank->n_channels ||
             are_within(plan->ripple, plan->n_bands * kept(plan), LEAST_RIPPLE,
                        MOST_RIPPLE),
         "ripple: expected 1e-9 to 1e9"},
        {!has_antennas || !has_feeds ||
             are_finite(plan->delays.turns,
                        plan->n_antennas * plan->n_polarizations),
         "delays.turns: expected numbers"},
        {(unsigned)bank->method <= FX8_METHOD_NONE,
         "method: expected PFB, FFT or NONE"},
        {!none || (plan->is_complex && bank->n_channels == 1),
         "method none: expected complex samples and 1 channel"},
        {plan->delays.delay == NULL ||
             (plan->delays.most_s >= 0.0 &&
              plan->delays.most_s * fx8_rate_hz(plan->sample_rate) <
                  (double)FX8_MAX_DELAY_SAMPLES),
         "delays.most_s: expected less than 2^30 samples"},
        {!has_delays || fx8_rate_hz(plan->sample_rate) <= FASTEST_DELAYED_HZ,
         "delays: expected a sample_rate of at most 10^15 Hz"},
        {!has_delays || !none, "delays: expected method PFB or FFT"},
        {bank->method != FX8_METHOD_PFB ||
             (bank->n_taps >= 1 && bank->n_taps <= FX8_MAX_TAPS),
         "n_taps: expected 1 to 64"},
        {(unsigned)bank->window <= FX8_WINDOW_RECTANGULAR,
         "window: expected AUTO, HAMMING, HANN or RECTANGULAR"},
        {(unsigned)bank->fir <= FX8_FIR_DP2A, "fir: expected FP32 or DP2A"},
        {plan->quantizer.target_rms > 0 && plan->quantizer.target_rms <= 127,
         "target_rms: expected above 0, at most 127 LSB"},
        {(unsigned)plan->quantizer.gain_per <= FX8_GAIN_PER_INPUT,
         "level: expected CHANNEL or INPUT"},
        {is_precision(plan->precision),
         "precision: expected INT8, FP32, INTERVAL or several of them"},
        {plan->spectra_per_dump >= 1 &&
             plan->spectra_per_dump <= FX8_LAST_SAMPLE / step,
         "spectra_per_dump: expected 1 or more, 2^61 samples at most"},
        {is_grid(&plan->grid, plan->spectra_per_dump),
         "grid: expected dumps of at least one spectrum, offset below "
         "numerator, and spectra_per_dump of the longest"},
        {plan->n_spectra >= 0 && plan->n_spectra <= FX8_LAST_SAMPLE / step,
         "n_spectra: expected 0 or more, 2^61 samples at most"},
        {plan->channel_average >= 1 &&
             averaged_channels(plan) % plan->channel_average == 0,
         "channel_average: expected a divisor of the channels"},
        {plan->min_weight >= 0.0 && plan->min_weight <= 1.0,
         "min_weight: expected 0 to 1"},
        {!has_kurtosis ||
             (plan->sk_false_alarm >= 1e-9 && plan->sk_false_alarm <= 0.1),
         "sk_false_alarm: expected 0, or 1e-9 to 0.1"},
        {!has_kurtosis || plan->spectra_per_dump >= FX8_LEAST_KURTOSIS_SPECTRA,
         "sk_false_alarm: expected dumps of at least 64 spectra"},
        {!plan->quicklook || (plan->precision & FX8_PRECISION_BOTH) != 0,
         "quicklook: expected precision INT8 or FP32: bounds have no "
         "quick-look"},
        {!has_antennas || are_baselines(plan),
         "baselines: expected at least one, ascending, of n_antennas"},
        {plan->baselines == NULL || !plan->quicklook,
         "baselines: expected all with a quick-look"},
        {plan->machine.slices_above == 0 || !plan->quicklook,
         "slices_above: expected 0 with a quick-look, which takes whole dumps"},
        {plan->machine.slices_above == 0 || none ||
             (plan->precision & FX8_PRECISION_INT8) == 0 ||
             plan->reread != NULL,
         "slices_above: expected reread, for the samples that set the gains"},
        {(unsigned)plan->math <= FX8_MATH_FAST, "math: expected IEEE or FAST"},
        {(unsigned)plan->machine.backend <= FX8_BACKEND_CUDA,
         "backend: expected AUTO, CPU or CUDA"},
        {(unsigned)plan->machine.spot_check <= FX8_SPOT_NO,
         "spot_check: expected AUTO, YES or NO"},
        {plan->machine.kernel != NULL, "kernel: expected a name"},
        {plan->machine.device != NULL, "device: expected auto or ordinals"},
        {plan->machine.threads.count <= MOST_THREADS,
         "threads.count: expected 0 to 1024"},
    };
    FX8_TRY(check_rules(rules, sizeof rules / sizeof *rules, error));
    return check_van_vleck(plan, error);
}

enum fx8_status fx8_plan_derive(const struct fx8_plan *plan,
                                struct fx8_axes *axes,
                                struct fx8_filterbank *bank, double **weights,
                                struct fx8_error *error)
{
    *weights = NULL;
    FX8_TRY(fx8_plan_check(plan, error));
    *axes = fx8_plan_axes(plan);
    *bank = (struct fx8_filterbank){
        .is_complex = plan->is_complex,
        .fft_length = axes->step,
        .n_taps = taps(plan),
        .n_channels = axes->n_kept,
    };
    FX8_TRY(fx8_allocate(axes->window, sizeof **weights, "filter weights",
                         weights, error));
    fx8_plan_weights(plan, *weights);
    return FX8_OK;
}

void fx8_plan_weights(const struct fx8_plan *plan, double *weights)
{
    const bool is_pfb = plan->channelizer.method == FX8_METHOD_PFB;
    static const enum fx8_filter_window windows[] = {
        [FX8_WINDOW_HAMMING] = FX8_FILTER_HAMMING,
        [FX8_WINDOW_HANN] = FX8_FILTER_HANN,
        [FX8_WINDOW_RECTANGULAR] = FX8_FILTER_RECTANGULAR,
    };
    enum fx8_window_shape shape = plan->channelizer.window;
    if (shape == FX8_WINDOW_AUTO)
        shape = is_pfb ? FX8_WINDOW_HAMMING : FX8_WINDOW_RECTANGULAR;
    fx8_filterbank_weights(windows[shape], taps(plan), step_of(plan), is_pfb,
                           weights);
}

/* Channels to flag at each end of a band: by default, complex bands wrap at
 * their ends and real ones fold; a band of few channels keeps one unflagged. */
static size_t flagged_edges(const struct fx8_plan *plan)
{
    const struct fx8_channelizer *bank = &plan->channelizer;
    if (bank->flag_edges != FX8_FLAG_EDGES_AUTO)
        return bank->flag_edges;
    if (bank->method == FX8_METHOD_NONE || bank->n_kept != 0)
        return 0;
    const size_t edge = plan->is_complex ? EDGE_COMPLEX : EDGE_REAL;
    const size_t most = (bank->n_channels - 1) / 2;
    return edge < most ? edge : most;
}

void fx8_plan_flag_channels(const struct fx8_plan *plan, uint8_t *flags)
{
    const size_t n = kept(plan), n_edge = flagged_edges(plan);
    const size_t zero = zero_channel(plan);
    for (size_t channel = 0; channel < plan->n_bands * n; channel++) {
        const size_t k = channel % n;
        flags[channel] =
            k < n_edge || n - 1 - k < n_edge ||
            (plan->channelizer.flag_dc && k == zero) ||
            (plan->flag_channel != NULL && plan->flag_channel[channel] != 0);
    }
}

int64_t fx8_count_dumps(const struct fx8_plan *plan, int64_t n_samples)
{
    const int64_t n = (int64_t)step_of(plan);
    const int64_t overlap = ((int64_t)taps(plan) - 1) * n;
    if (n_samples <= overlap)
        return 0;
    return fx8_dump_of(plan, (n_samples - overlap) / n);
}

/* First spectrum of a dump. */
static fx8_wide first_of(const struct fx8_plan *plan, fx8_wide index)
{
    const struct fx8_dump_grid *grid = &plan->grid;
    if (grid->denominator == 0)
        return index * plan->spectra_per_dump;
    const fx8_wide at = index * grid->numerator - grid->offset;
    return at > 0 ? (at - 1) / grid->denominator + 1 : 0;
}

int64_t fx8_dump_first(const struct fx8_plan *plan, int64_t index)
{
    const fx8_wide first = first_of(plan, index);
    return first < INT64_MAX ? (int64_t)first : INT64_MAX;
}

int64_t fx8_dump_of(const struct fx8_plan *plan, int64_t spectrum)
{
    const struct fx8_dump_grid *grid = &plan->grid;
    if (grid->denominator == 0)
        return spectrum / plan->spectra_per_dump;
    return (int64_t)(((fx8_wide)spectrum * grid->denominator + grid->offset) /
                     grid->numerator);
}

/* Spectra of n_dumps dumps. */
static int64_t count_spectra(const struct fx8_plan *plan, int64_t index,
                             int64_t n_dumps)
{
    const fx8_wide first = first_of(plan, index);
    fx8_wide end = first_of(plan, (fx8_wide)index + n_dumps);
    if (plan->n_spectra > 0 && end > plan->n_spectra)
        end = plan->n_spectra;
    return end > first ? (int64_t)(end - first) : 0;
}

int64_t fx8_dump_spectra(const struct fx8_plan *plan, int64_t index)
{
    return count_spectra(plan, index, 1);
}

/* Sky frequency of baseband zero, averaged over n bands. */
static long double zero_hz(const struct fx8_plan *plan, size_t band, size_t n)
{
    long double offset = 0.0L;
    for (size_t k = band; k < band + n && plan->band_offset_hz != NULL; k++)
        offset += (long double)plan->band_offset_hz[k];
    return (long double)plan->dc_frequency_hz + offset / (long double)n;
}

void fx8_frequencies(const struct fx8_plan *plan, double *frequencies_hz,
                     double *width_hz)
{
    const size_t n = kept(plan);
    const size_t average = fx8_plan_axes(plan).band_average;
    const size_t n_bands = plan->channel_average / average; /* per channel */
    const size_t n_written = n / average;
    const long double step_hz = channel_hz(plan);
    /* offset of channel 0 from baseband zero, in channels: see CONVENTIONS */
    const long double first = -(long double)zero_channel(plan);
    for (size_t group = 0; group < plan->n_bands / n_bands; group++)
        for (size_t channel = 0; channel < n_written; channel++) {
            /* centre of a group: mean of its channels' centres */
            const long double centre = (long double)(channel * average) +
                                       ((long double)average - 1.0L) / 2.0L;
            frequencies_hz[group * n_written + channel] =
                (double)(zero_hz(plan, group * n_bands, n_bands) +
                         (first + centre) * step_hz);
        }
    *width_hz = (double)(step_hz * (long double)plan->channel_average);
}

struct fx8_time fx8_dump_time(const struct fx8_plan *plan,
                              struct fx8_time start, int64_t index)
{
    return fx8_dumps_time(plan, start, index, 1);
}

struct fx8_time fx8_dumps_time(const struct fx8_plan *plan,
                               struct fx8_time start, int64_t index,
                               int64_t n_dumps)
{
    /* ((d M + (m - 1)/2) N + P N / 2), in half samples */
    const int64_t m = count_spectra(plan, index, n_dumps);
    const int64_t n = (int64_t)step_of(plan);
    const int64_t window = (int64_t)taps(plan) * n;
    const int64_t first = fx8_dump_first(plan, index);
    const int64_t half_samples =
        (2 * first + m - 1) * n + window + 2 * plan->first_sample;
    return fx8_time_add_half_samples(start, half_samples, plan->sample_rate);
}

const char *fx8_version(void)
{
    return FX8_VERSION;
}
