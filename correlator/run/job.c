/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/supply.h"
#include "correlator/run/job_private.h"

/* Shortest dump: times are written as Julian dates in double precision, which
 * resolve 40 microseconds; no array needs shorter dumps. */
#define LEAST_DUMP_S 1e-3

/* Shares of the recording above this are not left out without a warning. */
#define NOTED_LOSS 0.02

/* fx8_supply_warn of a job. */
static void note(void *job, const char *text)
{
    fx8_job_warn(job, "%s", text);
}

/* What the user gives wins over what is recorded; some of it must be known. */
static enum fx8_status supply(struct fx8_job *job, struct fx8_error *error)
{
    struct fx8_observation *o = &job->observation;
    FX8_TRY(fx8_supply(job->settings, o, note, job, error));
    return fx8_settings_complete(job->settings, o, job->path, error);
}

static enum fx8_status choose_sideband(struct fx8_job *job,
                                       struct fx8_error *error)
{
    struct fx8_observation *o = &job->observation;
    if (o->sideband == FX8_SIDEBAND_UNKNOWN)
        o->sideband = FX8_SIDEBAND_UPPER;
    if (job->settings->input.conjugate && !o->is_complex)
        return fx8_settings_fail(job->settings, "input.conjugate", error,
                                 "expected no: the samples are real");
    const bool is_lower = o->sideband == FX8_SIDEBAND_LOWER;
    job->plan.lower_sideband = is_lower != job->settings->input.conjugate;
    return FX8_OK;
}

static enum fx8_status choose_polarizations(struct fx8_job *job,
                                            struct fx8_error *error)
{
    const size_t recorded = job->observation.n_polarizations;
    const int64_t given = job->settings->array.polarizations;
    if (given > (int64_t)recorded)
        return fx8_settings_fail(job->settings, "array.polarizations", error,
                                 "expected at most %zu, as %s has", recorded,
                                 job->path);
    if (job->settings->input.y_first && recorded == 1)
        return fx8_settings_fail(job->settings, "input.polarization_order",
                                 error,
                                 "expected xy: %s has one polarisation, which "
                                 "is written as X",
                                 job->path);
    job->plan.n_polarizations = given == 0 ? recorded : (size_t)given;
    return FX8_OK;
}

static enum fx8_status plan_channels(struct fx8_job *job,
                                     struct fx8_error *error)
{
    struct fx8_plan *plan = &job->plan;
    plan->is_complex = job->observation.is_complex;
    plan->channelizer = job->settings->channelizer;
    plan->channel_average = job->settings->output.channel_average;
    plan->n_bands = job->observation.n_bands;
    plan->band_offset_hz = job->observation.band_offset_hz;
    if (job->settings->postprocess.quicklook[0] != '\0' &&
        (job->settings->correlator.precision & FX8_PRECISION_BOTH) == 0)
        return fx8_settings_fail(job->settings, "postprocess.quicklook", error,
                                 "not supported with precision = interval");
    if (job->settings->postprocess.quicklook[0] != '\0' && plan->van_vleck)
        return fx8_settings_fail(job->settings, "postprocess.quicklook", error,
                                 "not supported with input.van_vleck");
    if (plan->channelizer.method == FX8_METHOD_NONE && !plan->is_complex)
        return fx8_settings_fail(job->settings, "channelizer.method", error,
                                 "expected pfb or fft: the samples are real");
    if (plan->channelizer.n_kept != 0 && !plan->is_complex)
        return fx8_settings_fail(job->settings, "channelizer.keep_fraction",
                                 error, "expected 1: the samples are real");
    job->axes = fx8_plan_axes(plan);
    const size_t kept = job->axes.n_kept;
    const size_t averaged = kept == 1 ? plan->n_bands : kept;
    if (averaged % plan->channel_average != 0)
        return fx8_settings_fail(job->settings, "output.channel_average", error,
                                 "expected a divisor of the %zu %s written%s",
                                 FX8_COUNTED(averaged, "channel", "channels"),
                                 kept == 1 ? "" : " of a band");
    FX8_TRY(fx8_job_check_bands(job, error));
    return fx8_job_load_ripple(job, error);
}

/* Whether an incomplete last dump of `rest` spectra instead of M is written. */
static bool is_enough(const struct fx8_job *job, int64_t rest, long double m)
{
    const double least = job->settings->correlator.last_dump_min;
    return rest > 0 && (long double)rest < m && least < 1.0 &&
           (long double)rest >= (long double)least * m;
}

/* Spectra that dumps of m spectra use of `all`. */
static int64_t spectra_used(const struct fx8_job *job, int64_t all, int64_t m)
{
    const int64_t rest = all % m;
    return is_enough(job, rest, (long double)m) ? all : all - rest;
}

/* All spectra of the recording: as dumps of one. */
static enum fx8_status count_spectra(struct fx8_job *job,
                                     struct fx8_error *error)
{
    struct fx8_plan *plan = &job->plan;
    plan->spectra_per_dump = 1;
    plan->n_spectra = fx8_count_dumps(plan, job->n_samples);
    if (plan->n_spectra > 0)
        return FX8_OK;
    return fx8_settings_fail(job->settings, "channelizer.channels", error,
                             "one spectrum takes %zu samples, but %s has "
                             "only %lld to process",
                             job->axes.window, job->path,
                             (long long)job->n_samples);
}

/* Spectra per dump from the integration time. */
static enum fx8_status choose_dump_length(struct fx8_job *job,
                                          struct fx8_error *error)
{
    static const char key[] = "correlator.integration_time_s";
    struct fx8_plan *plan = &job->plan;
    const double integration_s = job->settings->correlator.integration_time_s;
    const double last_dump_min = job->settings->correlator.last_dump_min;
    const double rate_hz = fx8_rate_hz(plan->sample_rate);
    const double step = (double)job->axes.step;
    const double fills_s = ((double)job->axes.window - step) / rate_hz;
    char filling[64] = "";
    if (fills_s > 0.0)
        snprintf(filling, sizeof filling, ", %.3g s of it to fill the filter",
                 fills_s);
    const long double spectra =
        roundl((long double)integration_s *
               (long double)plan->sample_rate.numerator_hz /
               (long double)plan->sample_rate.denominator / (long double)step);
    const int64_t all = plan->n_spectra;
    if (isinf(integration_s) || is_enough(job, all, spectra))
        plan->spectra_per_dump = all;
    else if (spectra > (long double)all)
        return fx8_settings_fail(
            job->settings, key, error,
            "expected at most %.9g s: %s has %.9g s to process%s, and "
            "correlator.last_dump_min is %g",
            (double)all / last_dump_min * step / rate_hz, job->path,
            (double)job->n_samples / rate_hz, filling, last_dump_min);
    else if (spectra < 1)
        return fx8_settings_fail(job->settings, key, error,
                                 "expected at least %.9g s, one spectrum",
                                 step / rate_hz);
    else
        plan->spectra_per_dump = (int64_t)spectra;
    const double dump_s = (double)plan->spectra_per_dump * step / rate_hz;
    if (dump_s < LEAST_DUMP_S)
        return fx8_settings_fail(
            job->settings, key, error,
            "a dump of %lld %s takes %.6g s: expected at least 0.001 s",
            FX8_COUNTED((long long)plan->spectra_per_dump, "spectrum",
                        "spectra"),
            dump_s);
    return FX8_OK;
}

/* Where much is left out, advise a length that loses nothing: with one dump
 * more, or else with fewer and longer ones. */
static void warn_of_loss(struct fx8_job *job, int64_t all)
{
    const struct fx8_plan *plan = &job->plan;
    const double lost = (double)(all - plan->n_spectra) / (double)all;
    if (lost <= NOTED_LOSS)
        return;
    int64_t n_dumps = job->n_dumps + 1, m = (all - 1) / n_dumps + 1;
    while (spectra_used(job, all, m) < all)
        m = (all - 1) / --n_dumps + 1;
    fx8_job_warn(
        job,
        "correlator.integration_time_s: %.9g: %.2g %% of the recording "
        "fills no dump and is left out: %.9g would lose nothing",
        job->settings->correlator.integration_time_s, 100.0 * lost,
        (double)m * (double)job->axes.step / fx8_rate_hz(plan->sample_rate));
}

static enum fx8_status plan_equal_dumps(struct fx8_job *job,
                                        struct fx8_error *error)
{
    FX8_TRY(choose_dump_length(job, error));
    struct fx8_plan *plan = &job->plan;
    const int64_t all = plan->n_spectra;
    job->most_spectra = plan->spectra_per_dump;
    plan->n_spectra = spectra_used(job, all, job->most_spectra);
    job->n_dumps = (plan->n_spectra - 1) / job->most_spectra + 1;
    warn_of_loss(job, all);
    return FX8_OK;
}

/* The grid of dumps.  The integration time is the shortest decimal that reads
 * back as the same double: what was given, and what histories have. */
static enum fx8_status choose_grid(struct fx8_job *job, struct fx8_error *error)
{
    static const char key[] = "correlator.integration_time_s";
    const double integration_s = job->settings->correlator.integration_time_s;
    char text[FX8_NUMBER_TEXT_SIZE];
    struct fx8_error unused;
    int64_t numerator, denominator;
    if (isinf(integration_s))
        return fx8_settings_fail(job->settings, "correlator.align", error,
                                 "expected none with "
                                 "correlator.integration_time_s = all");
    fx8_number_format_real(integration_s, text);
    if (fx8_number_fraction(text, &numerator, &denominator) &&
        fx8_align_dumps(&job->plan, job->observation.start_time, numerator,
                        denominator, &unused) == FX8_OK)
        return FX8_OK;
    return fx8_settings_fail(
        job->settings, key, error,
        "expected at least %.9g s, one spectrum, and with correlator.align = "
        "utc not so many digits",
        (double)job->axes.step / fx8_rate_hz(job->plan.sample_rate));
}

/* Whether a dump is written that holds `held` of its spectra. */
static bool is_written(const struct fx8_job *job, int64_t held, int64_t whole)
{
    return held == whole || is_enough(job, held, (long double)whole);
}

/* The dumps of the grid to write, [*begin, *end); the last spectrum is known.
 */
static void choose_dumps(const struct fx8_job *job, int64_t *begin,
                         int64_t *end)
{
    const struct fx8_plan *plan = &job->plan;
    const int64_t last = fx8_dump_of(plan, plan->n_spectra - 1);
    /* dump 0 has lost those before the first sample */
    const int64_t before = plan->grid.offset / plan->grid.denominator;
    *begin = !is_written(job, fx8_dump_spectra(plan, 0),
                         before + fx8_dump_first(plan, 1));
    *end = last + 1;
    if (last > 0 && !is_written(job, fx8_dump_spectra(plan, last),
                                fx8_dump_first(plan, last + 1) -
                                    fx8_dump_first(plan, last)))
        *end = last;
}

/* Let dump 1 be the first. */
static void skip_dump(struct fx8_job *job)
{
    struct fx8_plan *plan = &job->plan;
    const int64_t n = fx8_dump_first(plan, 1);
    job->skipped_samples = n * (int64_t)job->axes.step;
    job->n_samples -= job->skipped_samples;
    plan->first_sample += job->skipped_samples;
    plan->n_spectra -= n;
    plan->grid.offset += n * plan->grid.denominator - plan->grid.numerator;
}

static void warn_of_ends(struct fx8_job *job, int64_t all)
{
    const double lost = (double)(all - job->plan.n_spectra) / (double)all;
    if (lost > NOTED_LOSS)
        fx8_job_warn(job,
                     "correlator.align: utc: %.2g %% of the recording is in "
                     "incomplete dumps at its ends and is left out: "
                     "correlator.last_dump_min: 0 would lose nothing",
                     100.0 * lost);
}

static enum fx8_status plan_aligned_dumps(struct fx8_job *job,
                                          struct fx8_error *error)
{
    struct fx8_plan *plan = &job->plan;
    const int64_t all = plan->n_spectra;
    int64_t begin, end;
    FX8_TRY(choose_grid(job, error));
    choose_dumps(job, &begin, &end);
    if (begin >= end)
        return fx8_settings_fail(
            job->settings, "correlator.integration_time_s", error,
            "expected less: the %.9g s of %s to process fill no dump that "
            "correlator.align = utc makes, and correlator.last_dump_min is %g",
            (double)job->n_samples / fx8_rate_hz(plan->sample_rate), job->path,
            job->settings->correlator.last_dump_min);
    const int64_t behind = fx8_dump_first(plan, end);
    plan->n_spectra = behind < all ? behind : all;
    if (begin > 0)
        skip_dump(job);
    job->n_dumps = end - begin;
    for (int64_t dump = 0;
         dump < job->n_dumps && job->most_spectra < plan->spectra_per_dump;
         dump++) {
        const int64_t n = fx8_dump_spectra(plan, dump);
        job->most_spectra = n > job->most_spectra ? n : job->most_spectra;
    }
    warn_of_ends(job, all);
    return FX8_OK;
}

static enum fx8_status plan_dumps(struct fx8_job *job, struct fx8_error *error)
{
    const int64_t step = (int64_t)job->axes.step;
    FX8_TRY(count_spectra(job, error));
    FX8_TRY(job->settings->correlator.is_aligned
                ? plan_aligned_dumps(job, error)
                : plan_equal_dumps(job, error));
    job->dropped_samples = job->n_samples - job->plan.n_spectra * step -
                           ((int64_t)job->axes.window - step);
    return FX8_OK;
}

static void warn_of_frequency(struct fx8_job *job)
{
    char text[FX8_TEXT_SIZE];
    if (fx8_observation_doubt(&job->observation, text))
        fx8_job_warn(job, "%s", text);
}

/* postprocess.math has no effect without a quick-look. */
static void warn_of_math(struct fx8_job *job)
{
    if (job->settings->postprocess.math != FX8_MATH_IEEE &&
        job->settings->postprocess.quicklook[0] == '\0')
        fx8_job_warn(job, "postprocess.math: fast: has no effect without "
                          "postprocess.quicklook");
}

/* quantizer.dither has no effect where nothing is rounded. */
static void warn_of_dither(struct fx8_job *job)
{
    if (job->settings->quantizer.dither &&
        (job->settings->channelizer.method == FX8_METHOD_NONE ||
         (job->settings->correlator.precision & FX8_PRECISION_INT8) == 0))
        fx8_job_warn(job, "quantizer.dither: yes: has no effect on spectra "
                          "that are not rounded to 8 bits");
}

/* The bin at baseband zero is not always written. */
static void warn_of_flag_dc(struct fx8_job *job)
{
    if (job->plan.channelizer.flag_dc &&
        job->axes.zero_channel == job->axes.n_kept)
        fx8_job_warn(job,
                     "channelizer.flag_dc: yes: flags nothing: real samples of "
                     "the lower sideband have no channel at baseband zero");
}

static void plan_correlator(struct fx8_job *job)
{
    struct fx8_plan *plan = &job->plan;
    plan->sample_rate = job->observation.sample_rate;
    plan->dc_frequency_hz = job->observation.dc_frequency_hz;
    plan->marker = job->settings->input.marker;
    plan->van_vleck = job->settings->input.van_vleck;
    plan->blanking = job->settings->flag.blanking;
    plan->quantizer = job->settings->quantizer;
    plan->machine = job->settings->machine;
    plan->precision = job->settings->correlator.precision;
    plan->min_weight = job->settings->flag.min_weight;
    plan->sk_false_alarm = job->settings->flag.sk_false_alarm;
    plan->quicklook = job->settings->postprocess.quicklook[0] != '\0';
    plan->math = job->settings->postprocess.math;
}

static enum fx8_status copy_observation(struct fx8_job *job,
                                        const struct fx8_observation *recorded,
                                        struct fx8_error *error)
{
    struct fx8_observation *copy = &job->observation;
    *copy = *recorded;
    copy->antennas = NULL;
    copy->band_offset_hz = NULL;
    const bool has_offsets = recorded->band_offset_hz != NULL;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(copy->antennas, recorded->n_table),
        {&copy->band_offset_hz, recorded->n_bands,
         has_offsets * sizeof *copy->band_offset_hz},
    };
    FX8_TRY(fx8_allocate_arrays(arrays, sizeof arrays / sizeof *arrays,
                                "antennas", error));
    if (recorded->n_table > 0)
        memcpy(copy->antennas, recorded->antennas,
               recorded->n_table * sizeof *copy->antennas);
    if (has_offsets)
        memcpy(copy->band_offset_hz, recorded->band_offset_hz,
               recorded->n_bands * sizeof *copy->band_offset_hz);
    return FX8_OK;
}

static enum fx8_status resolve(struct fx8_job *job,
                               const struct fx8_observation *recorded,
                               struct fx8_error *error)
{
    FX8_TRY(copy_observation(job, recorded, error));
    FX8_TRY(supply(job, error));
    FX8_TRY(choose_sideband(job, error));
    FX8_TRY(choose_polarizations(job, error));
    plan_correlator(job);
    warn_of_frequency(job);
    warn_of_math(job);
    warn_of_dither(job);
    FX8_TRY(plan_channels(job, error));
    FX8_TRY(fx8_supply_range(job->settings, &job->observation, job->path,
                             &job->plan.first_sample, &job->n_samples, note,
                             job, error));
    FX8_TRY(plan_dumps(job, error));
    FX8_TRY(fx8_job_choose_antennas(job, error));
    FX8_TRY(fx8_job_choose_baselines(job, error));
    job->axes = fx8_plan_axes(&job->plan); /* now with antennas */
    FX8_TRY(fx8_job_plan_delays(job, error));
    job->axes = fx8_plan_axes(&job->plan); /* and delays */
    FX8_TRY(fx8_job_flag_channels(job, error));
    warn_of_flag_dc(job);
    return FX8_OK;
}

enum fx8_status fx8_job_resolve(const struct fx8_settings *settings,
                                const struct fx8_observation *recorded,
                                const char *path, struct fx8_job *job,
                                struct fx8_error *error)
{
    *job = (struct fx8_job){
        .settings = settings, .path = path, .plan = fx8_plan_default()};
    const enum fx8_status status = resolve(job, recorded, error);
    if (status != FX8_OK)
        fx8_job_clear(job);
    return status;
}

size_t fx8_job_threads(const struct fx8_job *job)
{
    const size_t count = job->plan.machine.threads.count;
    return count > 0 ? count : fx8_parallel_cpus();
}

size_t fx8_job_packers(const struct fx8_job *job, size_t n_threads)
{
    return job->settings->output.compression == FX8_COMPRESSION_GZIP &&
                   job->plan.machine.memory_limit == 0
               ? n_threads
               : 1;
}

void fx8_job_clear(struct fx8_job *job)
{
    fx8_observation_clear(&job->observation);
    free(job->inputs);
    free(job->flag_antenna);
    free(job->flag_channel);
    free(job->ripple);
    free(job->baselines);
    fx8_earth_close(&job->earth);
    free(job->gains);
    free(job->gain_turns);
    free(job->fixed_delay_s);
    free(job->centers);
    *job = (struct fx8_job){0};
}
