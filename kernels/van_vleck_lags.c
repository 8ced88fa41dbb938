/* SPDX-License-Identifier: BSD-3-Clause */
/* van_vleck_lags.c -- see van_vleck.h: from channels to lags and back. */
#include <math.h>
#include <stdlib.h>

#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/baseline.h"
#include "kernels/fft.h"
#include "kernels/numeric/visibility.h"
#include "kernels/van_vleck.h"

struct fx8_van_vleck {
    bool is_complex, is_lower;
    size_t n_channels, length; /* of a band, of a transform */
    struct fx8_fft *to_lags, *to_channels;
    float *work; /* [n_threads][work_size] */
    size_t work_size;
};

static enum fx8_fft_kind forward(bool is_complex)
{
    return is_complex ? FX8_FFT_COMPLEX : FX8_FFT_REAL;
}

/* Floats for the larger of both transforms, which are of one length. */
static size_t work_size(bool is_complex, size_t n_channels)
{
    return fx8_fft_size_of(forward(is_complex),
                           is_complex ? n_channels : 2 * n_channels, 1);
}

size_t fx8_van_vleck_size(bool is_complex, size_t n_channels, size_t n_threads)
{
    return fx8_product(work_size(is_complex, n_channels), n_threads,
                       sizeof(float), 1);
}

enum fx8_status fx8_van_vleck_open(bool is_complex, bool is_lower,
                                   size_t n_channels, size_t n_threads,
                                   struct fx8_van_vleck **van_vleck,
                                   struct fx8_error *error)
{
    *van_vleck = NULL;
    FX8_AUTO(fx8_van_vleck_close) struct fx8_van_vleck *v = NULL;
    FX8_TRY(fx8_allocate(1, sizeof *v, "lags", &v, error));
    v->is_complex = is_complex;
    v->is_lower = is_lower;
    v->n_channels = n_channels;
    v->length = is_complex ? n_channels : 2 * n_channels;
    v->work_size = work_size(is_complex, n_channels);
    FX8_TRY(fx8_allocate(fx8_product(v->work_size, n_threads, 1, 1),
                         sizeof *v->work, "lags", &v->work, error));
    FX8_TRY(fx8_fft_open(forward(is_complex), v->length, 1, false,
                         &v->to_channels, error));
    FX8_TRY(fx8_fft_open(is_complex ? FX8_FFT_INVERSE_COMPLEX
                                    : FX8_FFT_INVERSE_REAL,
                         v->length, 1, false, &v->to_lags, error));
    *van_vleck = v;
    v = NULL;
    return FX8_OK;
}

void fx8_van_vleck_close(struct fx8_van_vleck **van_vleck)
{
    struct fx8_van_vleck *v = *van_vleck;
    if (v == NULL)
        return;
    fx8_fft_close(&v->to_lags);
    fx8_fft_close(&v->to_channels);
    free(v->work);
    free(v);
    *van_vleck = NULL;
}

/* --- one product of one baseline ------------------------------------------ */

/* What its lags obey. */
struct series {
    struct fx8_law re, im;     /* of the parts of a lag */
    double mean[2];            /* of all lags */
    double scale;              /* power of a correlation of 1 */
    bool is_auto, is_constant; /* constant: an input has a single value */
};

/* Real samples.  Those of the lower sideband are multiplied by (-1)^n: their
 * mean is in the channel that is not written. */
static void open_real(const struct fx8_van_vleck *v,
                      const struct fx8_staircase *a,
                      const struct fx8_staircase *b, struct series *series)
{
    series->re.n_pairs = 1;
    series->re.pairs[0].a = a;
    series->re.pairs[0].b = b;
    series->mean[0] = v->is_lower ? 0.0 : a->mean * b->mean;
    series->scale = sqrt(a->variance * b->variance);
    series->is_constant = a->n_steps == 0 || b->n_steps == 0;
}

/* Complex samples: a lag is re re + im im + i (re im - im re), the first of
 * each the first input's. */
static void open_complex(const struct fx8_staircase a[2],
                         const struct fx8_staircase b[2], struct series *series)
{
    series->re.n_pairs = series->im.n_pairs = 2;
    for (size_t part = 0; part < 2; part++) {
        series->re.pairs[part].a = series->im.pairs[part].a = &a[part];
        series->re.pairs[part].b = &b[part];
        series->im.pairs[part].b = &b[1 - part];
        series->is_constant =
            series->is_constant || a[part].n_steps == 0 || b[part].n_steps == 0;
    }
    series->im.pairs[1].is_negated = true;
    series->mean[0] = a[0].mean * b[0].mean + a[1].mean * b[1].mean;
    series->mean[1] = a[0].mean * b[1].mean - a[1].mean * b[0].mean;
    series->scale =
        sqrt((a[0].variance + a[1].variance) * (b[0].variance + b[1].variance));
}

/* Correct lag c of the transform; lag[1] only if the samples are complex. */
static void correct_lag(const struct fx8_van_vleck *v, struct series *series,
                        size_t c, float *lag)
{
    const double n = (double)v->length;
    const size_t distance = c <= v->length / 2 ? c : v->length - c;
    const double share = 1.0 - (double)distance / n;
    if (series->is_auto && c == 0) {
        lag[0] = (float)series->scale;
        if (v->is_complex)
            lag[1] = 0.0f;
        return;
    }
    /* what the lower sideband does to samples */
    const double sign =
        v->is_lower && !v->is_complex && c % 2 == 1 ? -1.0 : 1.0;
    const double turn = v->is_lower ? -1.0 : 1.0;
    const double re = (sign * (double)lag[0] / n - series->mean[0]) / share;
    lag[0] = (float)(sign * share * series->scale *
                     fx8_law_correlation(&series->re, re));
    if (!v->is_complex)
        return;
    const double im = (turn * (double)lag[1] / n - series->mean[1]) / share;
    lag[1] = (float)(turn * share * series->scale *
                     fx8_law_correlation(&series->im, im));
}

/* Where in a transform a channel is. */
static size_t bin_of(const struct fx8_van_vleck *v, size_t channel)
{
    const size_t n = v->length;
    return v->is_complex ? (channel + n - n / 2) % n : channel;
}

/* Correct visibilities `step` floats apart, which `gain` brings to LSB^2. */
static void correct_spectrum(const struct fx8_van_vleck *v,
                             struct series *series, double gain, size_t step,
                             float *visibilities, float *work)
{
    const size_t size = v->is_complex ? 2 : 1, n = v->n_channels;
    for (size_t channel = 0; channel < n; channel++)
        for (size_t part = 0; part < 2; part++)
            work[2 * bin_of(v, channel) + part] =
                (float)(gain * (double)visibilities[channel * step + part]);
    if (!v->is_complex) {
        work[2 * n] = work[2 * (n - 1)];
        work[2 * n + 1] = 0.0f;
    }
    float *lags = fx8_fft_execute(v->to_lags, work);
    for (size_t c = 0; c < v->length; c++)
        correct_lag(v, series, c, lags + size * c);
    const float *spectrum = fx8_fft_execute(v->to_channels, work);
    for (size_t channel = 0; channel < n; channel++) {
        const float *value = spectrum + 2 * bin_of(v, channel);
        visibilities[channel * step] = (float)((double)value[0] / gain);
        visibilities[channel * step + 1] =
            series->is_auto ? 0.0f : (float)((double)value[1] / gain);
    }
}

/* --- a band --------------------------------------------------------------- */

struct context {
    const struct fx8_van_vleck *v;
    const struct fx8_staircase *staircases;
    const struct fx8_postprocess *plan;
    const struct fx8_result *result;
};

/* Zero and flag a product. */
static void clear(const struct context *job, size_t first)
{
    for (size_t channel = 0; channel < job->v->n_channels; channel++) {
        const size_t at = first + channel * job->plan->n_products;
        job->result->visibilities[2 * at] = 0.0f;
        job->result->visibilities[2 * at + 1] = 0.0f;
        job->result->flags[at] = 1;
    }
}

static void correct_product(void *context, size_t item, size_t thread)
{
    const struct context *job = context;
    const struct fx8_postprocess *plan = job->plan;
    const struct fx8_product pair = plan->products[item];
    const size_t first = fx8_postprocess_cell(plan, item / plan->n_products, 0,
                                              item % plan->n_products);
    const struct fx8_staircase *a = &job->staircases[2 * pair.input_1];
    const struct fx8_staircase *b = &job->staircases[2 * pair.input_2];
    struct series series = {.is_auto = pair.input_1 == pair.input_2};
    const double *gains = plan->input_gain;
    if (!(job->result->nsamples[first] > 0.0f)) /* of all channels */
        return;
    if (job->v->is_complex)
        open_complex(a, b, &series);
    else
        open_real(job->v, a, b, &series);
    if (series.is_constant) {
        clear(job, first);
        return;
    }
    correct_spectrum(
        job->v, &series,
        gains == NULL ? 1.0 : gains[pair.input_1] * gains[pair.input_2],
        2 * plan->n_products, job->result->visibilities + 2 * first,
        job->v->work + thread * job->v->work_size);
}

void fx8_van_vleck_correct(const struct fx8_van_vleck *van_vleck,
                           const struct fx8_staircase *staircases,
                           const struct fx8_postprocess *plan,
                           const struct fx8_result *result)
{
    struct context job = {van_vleck, staircases, plan, result};
    const size_t n = plan->n_antennas, rest = n - fx8_postprocess_starts(plan);
    const size_t n_baselines = fx8_baseline_count(n) - fx8_baseline_count(rest);
    fx8_parallel_for(n_baselines * plan->n_products, plan->threads.count,
                     plan->threads.pin, correct_product, &job);
}
