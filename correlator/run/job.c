/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "correlator/run/job.h"
#include "correlator/run/job_antennas.h"
#include "correlator/run/job_bands.h"

/* Shortest dump: times are written as Julian dates in double precision, which
 * resolve 40 microseconds; no array needs shorter dumps. */
#define LEAST_DUMP_S 1e-3

/* Channels flagged at each end of a band by default: a complex band wraps at
 * its ends, a real one folds. */
#define EDGE_COMPLEX 2
#define EDGE_REAL    1

static void supply_text(struct fx8_job *job, const char *key, const char *given,
                        char *recorded)
{
    if (given[0] == '\0')
        return;
    if (recorded[0] != '\0' && strcmp(given, recorded) != 0)
        fx8_job_warn(job, "observation.%s: %.60s wins over %.60s recorded", key,
                     given, recorded);
    snprintf(recorded, FX8_TEXT_SIZE, "%s", given);
}

static enum fx8_status missing_key(const char *path, const char *key,
                                   const char *expected,
                                   struct fx8_error *error)
{
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: observation.%s: neither configured nor recorded: "
                    "expected %s",
                    path, key, expected);
}

static void warn_of_start(struct fx8_job *job, struct fx8_time given,
                          struct fx8_time recorded)
{
    char won[FX8_NUMBER_TEXT_SIZE], lost[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_time(given, won);
    fx8_number_format_time(recorded, lost);
    fx8_job_warn(job, "observation.start_time_utc: %s wins over %s recorded",
                 won, lost);
}

/* [observation] supplies what the recording lacks, and overrides it. */
static enum fx8_status supply_observation(struct fx8_job *job,
                                          const struct fx8_settings *settings,
                                          const char *path,
                                          struct fx8_error *error)
{
    struct fx8_observation *o = &job->observation;
    const struct fx8_rate rate = settings->observation.sample_rate_hz;
    if (rate.numerator_hz > 0) {
        const struct fx8_rate given = fx8_rate_reduced(rate);
        const struct fx8_rate was = o->sample_rate;
        if (was.numerator_hz > 0 && (was.numerator_hz != given.numerator_hz ||
                                     was.denominator != given.denominator))
            fx8_job_warn(job,
                         "observation.sample_rate_hz: %.12g wins over %.12g "
                         "recorded",
                         fx8_rate_hz(given), fx8_rate_hz(was));
        o->sample_rate = given;
    }
    if (o->sample_rate.numerator_hz <= 0)
        return missing_key(path, "sample_rate_hz", "the sampling rate", error);

    const double dc = settings->observation.dc_frequency_hz;
    if (isfinite(dc)) {
        if (isfinite(o->dc_frequency_hz) && o->dc_frequency_hz != dc)
            fx8_job_warn(job,
                         "observation.dc_frequency_hz: %.12g wins over %.12g "
                         "recorded",
                         dc, o->dc_frequency_hz);
        o->dc_frequency_hz = dc;
    }
    if (!isfinite(o->dc_frequency_hz))
        return missing_key(path, "dc_frequency_hz",
                           "the sky frequency of baseband zero", error);

    if (settings->observation.has_start_time) {
        const struct fx8_time given = settings->observation.start_time_utc;
        if (o->has_start_time && (o->start_time.unix_s != given.unix_s ||
                                  o->start_time.picosecond != given.picosecond))
            warn_of_start(job, given, o->start_time);
        o->start_time = given;
        o->has_start_time = true;
    }
    if (!o->has_start_time)
        return missing_key(path, "start_time_utc",
                           "the instant of the first sample", error);
    supply_text(job, "telescope", settings->observation.telescope,
                o->telescope);
    supply_text(job, "instrument", settings->observation.instrument,
                o->instrument);
    supply_text(job, "object", settings->observation.object, o->object);
    return FX8_OK;
}

static const char *sideband_name(enum fx8_sideband sideband)
{
    return sideband == FX8_SIDEBAND_LOWER ? "lower" : "upper";
}

static enum fx8_status choose_sideband(struct fx8_job *job,
                                       const struct fx8_settings *settings,
                                       struct fx8_error *error)
{
    struct fx8_observation *o = &job->observation;
    if (settings->input.sideband != FX8_SIDEBAND_UNKNOWN) {
        if (o->sideband != FX8_SIDEBAND_UNKNOWN &&
            o->sideband != settings->input.sideband)
            fx8_job_warn(job, "input.sideband: %s wins over %s recorded",
                         sideband_name(settings->input.sideband),
                         sideband_name(o->sideband));
        o->sideband = settings->input.sideband;
    }
    if (o->sideband == FX8_SIDEBAND_UNKNOWN)
        o->sideband = FX8_SIDEBAND_UPPER;
    if (settings->input.conjugate && !o->is_complex)
        return fx8_settings_fail(settings, "input.conjugate", error,
                                 "expected no: the samples are real");
    const bool is_lower = o->sideband == FX8_SIDEBAND_LOWER;
    job->plan.lower_sideband = is_lower != settings->input.conjugate;
    return FX8_OK;
}

static enum fx8_status choose_polarizations(struct fx8_job *job,
                                            const struct fx8_settings *settings,
                                            const char *path,
                                            struct fx8_error *error)
{
    const size_t recorded = job->observation.n_polarizations;
    const int64_t given = settings->array.polarizations;
    if (given > (int64_t)recorded)
        return fx8_settings_fail(settings, "array.polarizations", error,
                                 "expected at most %zu, as %s has", recorded,
                                 path);
    if (settings->input.y_first && recorded == 1)
        return fx8_settings_fail(settings, "input.polarization_order", error,
                                 "expected xy: %s has one polarisation, which "
                                 "is written as X",
                                 path);
    job->plan.n_polarizations = given == 0 ? recorded : (size_t)given;
    return FX8_OK;
}

/* A duration in samples, to the nearest; -1 if it exceeds 2^62. */
static int64_t to_samples(double duration_s, struct fx8_rate rate)
{
    const long double samples = (long double)duration_s *
                                (long double)rate.numerator_hz /
                                (long double)rate.denominator;
    return samples < 0x1p62L ? (int64_t)roundl(samples) : -1;
}

static enum fx8_status choose_samples(struct fx8_job *job,
                                      const struct fx8_settings *settings,
                                      const char *path, struct fx8_error *error)
{
    const struct fx8_observation *o = &job->observation;
    const double rate_hz = fx8_rate_hz(o->sample_rate);
    const int64_t first = to_samples(settings->input.start_s, o->sample_rate);
    if (first < 0 || first >= o->n_samples)
        return fx8_settings_fail(settings, "input.start_s", error,
                                 "expected less than %.9g s, the length of %s",
                                 (double)o->n_samples / rate_hz, path);
    job->plan.first_sample = first;
    job->n_samples = o->n_samples - first;
    if (isinf(settings->input.duration_s))
        return FX8_OK;
    const int64_t wanted =
        to_samples(settings->input.duration_s, o->sample_rate);
    if (wanted == 0)
        return fx8_settings_fail(settings, "input.duration_s", error,
                                 "expected at least %.9g s, one sample",
                                 1.0 / rate_hz);
    if (wanted < 0 || wanted > job->n_samples)
        fx8_job_warn(job, "input.duration_s: only %.9g s are left from start_s",
                     (double)job->n_samples / rate_hz);
    else
        job->n_samples = wanted;
    return FX8_OK;
}

static enum fx8_status plan_channels(struct fx8_job *job,
                                     const struct fx8_settings *settings,
                                     const char *path, struct fx8_error *error)
{
    struct fx8_plan *plan = &job->plan;
    plan->is_complex = job->observation.is_complex;
    plan->method = settings->channelizer.method;
    plan->n_channels = (size_t)settings->channelizer.channels;
    plan->n_taps = (size_t)settings->channelizer.taps;
    plan->window = settings->channelizer.window;
    plan->fir = settings->channelizer.fir;
    plan->flag_dc = settings->channelizer.flag_dc;
    plan->channel_average = (size_t)settings->output.channel_average;
    plan->n_bands = job->observation.n_bands;
    plan->band_offset_hz = job->observation.band_offset_hz;
    if (settings->postprocess.quicklook[0] != '\0' &&
        (settings->correlator.precision & FX8_PRECISION_BOTH) == 0)
        return fx8_settings_fail(settings, "postprocess.quicklook", error,
                                 "not supported with precision = interval");
    const bool is_none = plan->method == FX8_METHOD_NONE;
    if (is_none && !plan->is_complex)
        return fx8_settings_fail(settings, "channelizer.method", error,
                                 "expected pfb or fft: the samples are real");
    const size_t kept = (size_t)fx8_settings_kept_channels(settings);
    if (kept != plan->n_channels && !plan->is_complex)
        return fx8_settings_fail(settings, "channelizer.keep_fraction", error,
                                 "expected 1: the samples are real");
    plan->n_kept = kept == plan->n_channels ? 0 : kept;
    const size_t averaged = kept == 1 ? plan->n_bands : kept;
    if (averaged % plan->channel_average != 0)
        return fx8_settings_fail(settings, "output.channel_average", error,
                                 "expected a divisor of the %zu %s written%s",
                                 averaged,
                                 FX8_NOUN(averaged, "channel", "channels"),
                                 kept == 1 ? "" : " of a band");
    if (settings->channelizer.flag_edges >= 0) {
        plan->flag_edges = (size_t)settings->channelizer.flag_edges;
    } else {
        /* a band of few channels keeps one unflagged */
        const size_t edge = plan->is_complex ? EDGE_COMPLEX : EDGE_REAL;
        const size_t most = (plan->n_channels - 1) / 2;
        const bool is_whole = plan->n_kept == 0;
        plan->flag_edges = is_none || !is_whole ? 0 : edge < most ? edge : most;
    }
    return fx8_job_check_bands(job, settings, path, error);
}

static enum fx8_status plan_dumps(struct fx8_job *job,
                                  const struct fx8_settings *settings,
                                  const char *path, struct fx8_error *error)
{
    static const char key[] = "correlator.integration_time_s";
    struct fx8_plan *plan = &job->plan;
    const double integration_s = settings->correlator.integration_time_s;
    const double rate_hz = fx8_rate_hz(plan->sample_rate);
    const struct fx8_axes axes = fx8_plan_axes(plan);
    const double step = (double)axes.step;
    const double available_s = (double)job->n_samples / rate_hz;
    const long double spectra =
        roundl((long double)integration_s *
               (long double)plan->sample_rate.numerator_hz /
               (long double)plan->sample_rate.denominator / (long double)step);
    plan->spectra_per_dump = 1;
    const int64_t all = fx8_count_dumps(plan, job->n_samples);
    if (all == 0)
        return fx8_settings_fail(settings, "channelizer.channels", error,
                                 "one spectrum takes %zu samples: expected at "
                                 "most %lld, the samples of %s to be processed",
                                 axes.window, (long long)job->n_samples, path);
    if (isinf(integration_s))
        plan->spectra_per_dump = all;
    else if (spectra > (long double)all)
        return fx8_settings_fail(settings, key, error,
                                 "expected at most %.9g s: %s has %.9g s to be "
                                 "processed",
                                 (double)all * step / rate_hz, path,
                                 available_s);
    else if (spectra < 1)
        return fx8_settings_fail(settings, key, error,
                                 "expected at least %.9g s, one spectrum",
                                 step / rate_hz);
    else
        plan->spectra_per_dump = (int64_t)spectra;
    const double dump_s = (double)plan->spectra_per_dump * step / rate_hz;
    if (dump_s < LEAST_DUMP_S)
        return fx8_settings_fail(
            settings, key, error,
            "a dump of %lld %s takes %.6g s: expected at least 0.001 s",
            (long long)plan->spectra_per_dump,
            FX8_NOUN(plan->spectra_per_dump, "spectrum", "spectra"), dump_s);
    job->n_dumps = fx8_count_dumps(plan, job->n_samples);
    const int64_t used = job->n_dumps * plan->spectra_per_dump * (int64_t)step +
                         (int64_t)axes.window - (int64_t)axes.step;
    job->dropped_samples = job->n_samples - used;
    return FX8_OK;
}

static void warn_of_frequency(struct fx8_job *job)
{
    char text[FX8_TEXT_SIZE];
    if (fx8_observation_doubt(&job->observation, text))
        fx8_job_warn(job, "%s", text);
}

/* postprocess.math has no effect without a quick-look. */
static void warn_of_math(struct fx8_job *job,
                         const struct fx8_settings *settings)
{
    if (settings->postprocess.math != FX8_MATH_IEEE &&
        settings->postprocess.quicklook[0] == '\0')
        fx8_job_warn(job, "postprocess.math: fast: changes nothing without "
                          "postprocess.quicklook");
}

/* The bin at baseband zero is not always written. */
static void warn_of_flag_dc(struct fx8_job *job)
{
    if (job->plan.flag_dc && job->axes.zero_channel == job->axes.n_kept)
        fx8_job_warn(job,
                     "channelizer.flag_dc: yes: flags nothing: real samples of "
                     "the lower sideband have no channel at baseband zero");
}

static void plan_correlator(struct fx8_job *job,
                            const struct fx8_settings *settings)
{
    struct fx8_plan *plan = &job->plan;
    plan->sample_rate = job->observation.sample_rate;
    plan->dc_frequency_hz = job->observation.dc_frequency_hz;
    plan->has_marker = settings->input.marker == FX8_MARKER_VALUE;
    plan->marker_value = settings->input.missing_value;
    plan->marker_run = settings->input.missing_run;
    plan->target_rms = settings->quantizer.target_rms;
    plan->level = settings->quantizer.level;
    plan->precision = settings->correlator.precision;
    plan->backend = settings->correlator.backend;
    plan->device = settings->correlator.device;
    plan->kernel = settings->correlator.kernel;
    plan->n_threads = (size_t)settings->correlator.threads;
    plan->pin_threads = settings->correlator.pin_threads;
    plan->spot_check = settings->correlator.spot_check;
    plan->memory_limit = (size_t)settings->correlator.memory_limit_mib << 20;
    plan->remove_quantization_bias = settings->postprocess.quantization_bias;
    plan->quicklook = settings->postprocess.quicklook[0] != '\0';
    plan->math = settings->postprocess.math;
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
        {&copy->antennas, recorded->n_table, sizeof *copy->antennas},
        {&copy->band_offset_hz, recorded->n_bands,
         has_offsets * sizeof *copy->band_offset_hz},
    };
    const enum fx8_status status = fx8_allocate_arrays(
        arrays, sizeof arrays / sizeof *arrays, "antennas", error);
    if (status != FX8_OK)
        return status;
    if (recorded->n_table > 0)
        memcpy(copy->antennas, recorded->antennas,
               recorded->n_table * sizeof *copy->antennas);
    if (has_offsets)
        memcpy(copy->band_offset_hz, recorded->band_offset_hz,
               recorded->n_bands * sizeof *copy->band_offset_hz);
    return FX8_OK;
}

enum fx8_status fx8_job_resolve(const struct fx8_settings *settings,
                                const struct fx8_observation *recorded,
                                const char *path, struct fx8_job *job,
                                struct fx8_error *error)
{
    *job = (struct fx8_job){.plan = fx8_plan_default()};
    enum fx8_status status = copy_observation(job, recorded, error);
    if (status != FX8_OK)
        goto fail;
    if ((status = supply_observation(job, settings, path, error)) != FX8_OK ||
        (status = choose_sideband(job, settings, error)) != FX8_OK ||
        (status = choose_polarizations(job, settings, path, error)) != FX8_OK)
        goto fail;
    plan_correlator(job, settings);
    warn_of_frequency(job);
    warn_of_math(job, settings);
    if ((status = plan_channels(job, settings, path, error)) != FX8_OK ||
        (status = choose_samples(job, settings, path, error)) != FX8_OK ||
        (status = plan_dumps(job, settings, path, error)) != FX8_OK ||
        (status = fx8_job_choose_antennas(job, settings, path, error)) !=
            FX8_OK)
        goto fail;
    job->axes = fx8_plan_axes(&job->plan);
    warn_of_flag_dc(job);
    return FX8_OK;
fail:
    fx8_job_clear(job);
    return status;
}

void fx8_job_clear(struct fx8_job *job)
{
    fx8_observation_clear(&job->observation);
    free(job->inputs);
    free(job->flag_antenna);
    *job = (struct fx8_job){0};
}
