/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "config/base/divisor.h"
#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/ripple_table.h"
#include "correlator/run/job_private.h"

/* Largest denominator of a fraction that is still readable. */
#define LARGEST_DENOMINATOR 65536

/* A table that ends this share of a channel before its centre covers it: its
 * decimals may be rounded. */
#define ROUNDING 1e-6

/* Distance between the two nearest bands. */
static double least_distance_hz(const struct fx8_plan *plan)
{
    double least = INFINITY;
    for (size_t band = 1; band < plan->n_bands; band++)
        least = fmin(least, plan->band_offset_hz[band] -
                                plan->band_offset_hz[band - 1]);
    return least;
}

/* distance / sample rate in lowest terms if that is a simple fraction; else in
 * whole channels, rounded down. */
static struct fx8_fraction widest_part(const struct fx8_plan *plan,
                                       double distance_hz)
{
    const struct fx8_rate rate = plan->sample_rate;
    struct fx8_fraction part = {0, rate.numerator_hz};
    const bool is_whole = distance_hz < 0x1p31 &&
                          distance_hz == floor(distance_hz) &&
                          rate.denominator < INT64_C(1) << 31;
    if (is_whole)
        part.numerator = (int64_t)distance_hz * rate.denominator;
    const int64_t divisor =
        (int64_t)fx8_greatest_divisor(part.numerator, part.denominator);
    if (!is_whole || part.denominator / divisor > LARGEST_DENOMINATOR) {
        const double channels = (double)plan->channelizer.n_channels;
        part.numerator =
            (int64_t)floor(distance_hz / fx8_rate_hz(rate) * channels + 1e-6);
        part.denominator = (int64_t)plan->channelizer.n_channels;
    }
    const int64_t common =
        (int64_t)fx8_greatest_divisor(part.numerator, part.denominator);
    return (struct fx8_fraction){part.numerator / common,
                                 part.denominator / common};
}

enum fx8_status fx8_job_check_bands(const struct fx8_job *job,
                                    struct fx8_error *error)
{
    const struct fx8_plan *plan = &job->plan;
    if (plan->n_bands == 1 || plan->channelizer.method == FX8_METHOD_NONE)
        return FX8_OK;
    const double distance_hz = least_distance_hz(plan);
    const double kept = (double)job->axes.n_kept / (double)job->axes.step;
    const double width_hz = kept * fx8_rate_hz(plan->sample_rate);
    /* equal within double precision */
    if (width_hz <= distance_hz * (1.0 + 1e-12))
        return FX8_OK;
    if (!plan->is_complex)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: bands %.9g Hz apart: expected at least their "
                        "width, %.9g Hz",
                        job->path, distance_hz, width_hz);
    const struct fx8_fraction part = widest_part(plan, distance_hz);
    if (part.numerator == 0)
        return fx8_fail(
            error, FX8_ERR_INPUT,
            "%s: bands %.9g Hz apart: expected at least one of %zu "
            "%s of %.9g Hz",
            job->path, distance_hz,
            FX8_COUNTED(plan->channelizer.n_channels, "channel", "channels"),
            fx8_rate_hz(plan->sample_rate));
    char expected[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_fraction(part.numerator, part.denominator, expected);
    return fx8_settings_fail(job->settings, "channelizer.keep_fraction", error,
                             "bands of %s %.9g Hz apart overlap by %.9g Hz: "
                             "expected at most %s",
                             job->path, distance_hz, width_hz - distance_hz,
                             expected);
}

/* Sky frequency of a channel minus that of the centre of its band. */
static double offset_hz(const struct fx8_job *job, size_t channel)
{
    const double rate_hz = fx8_rate_hz(job->plan.sample_rate);
    const double step = (double)job->axes.step; /* of 2C real samples */
    return job->plan.is_complex
               ? ((double)channel - (double)(job->axes.n_kept / 2)) * rate_hz /
                     step
               : (double)channel * rate_hz / step - rate_hz / 4.0;
}

/* Whether a table covers a frequency, but for rounding. */
static bool covers(const struct fx8_ripple_table *table, double hz,
                   double tolerance_hz)
{
    return hz >= table->offset_hz[0] - tolerance_hz &&
           hz <= table->offset_hz[table->n - 1] + tolerance_hz;
}

enum fx8_status fx8_job_load_ripple(struct fx8_job *job,
                                    struct fx8_error *error)
{
    static const char key[] = "channelizer.ripple_file";
    const char *path = job->settings->ripple_file;
    const size_t kept = job->axes.n_kept;
    FX8_AUTO(fx8_ripple_clear) struct fx8_ripple_table table = {0};
    if (path[0] == '\0')
        return FX8_OK;
    FX8_TRY(fx8_ripple_load(path, &table, error));
    FX8_TRY(fx8_allocate(job->axes.n_fine, sizeof *job->ripple, "ripple",
                         &job->ripple, error));
    const double width_hz =
        fx8_rate_hz(job->plan.sample_rate) / (double)job->axes.step;
    for (size_t c = 0; c < job->axes.n_fine; c++) {
        const double hz = offset_hz(job, c % kept);
        if (!covers(&table, hz, ROUNDING * width_hz))
            return fx8_settings_fail(
                job->settings, key, error,
                "covers %.10g to %.10g Hz: expected a power for each channel; "
                "one is at %.10g Hz",
                table.offset_hz[0], table.offset_hz[table.n - 1], hz);
        job->ripple[c] = fx8_ripple_at(&table, hz);
    }
    job->plan.ripple = job->ripple;
    return FX8_OK;
}

double fx8_job_band_mhz(const struct fx8_job *job, size_t band)
{
    const struct fx8_plan *plan = &job->plan;
    const double offset_hz =
        plan->band_offset_hz == NULL ? 0.0 : plan->band_offset_hz[band];
    return (plan->dc_frequency_hz + offset_hz) * 1e-6;
}
