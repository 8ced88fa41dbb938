/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * postprocess_interval.c -- from bounds of sums to bounds of visibilities: the
 * operations of postprocess.c in their order, each rounded in the direction of
 * its bound, including the conversion to float.
 *
 * The rounding mode is per thread: it is set for the values of an antenna and
 * restored.  Flags and weights are computed before, so they equal those of
 * every other result.  The arithmetic accesses sums and results through memory,
 * in a function that is never inlined, so no compiler can move it across the
 * call that sets the mode; the Makefile adds -frounding-math.
 */
#include <fenv.h>

#include "config/base/parallel.h"
#include "kernels/numeric/visibility.h"

struct context {
    const struct fx8_postprocess *plan;
    void *const *sums; /* [2] down, up */
    const int64_t *counts;
    const struct fx8_result *results; /* likewise */
};

static const int directions[2] = {FE_DOWNWARD, FE_UPWARD};

/* Mean of one component over the used channels of a group, in the current
 * rounding mode.  The sign is changed first, which is exact. */
static double mean(const struct fx8_series *series,
                   const struct fx8_group *group, const double *sums,
                   double sign)
{
    double sum = 0.0;
    for (size_t c = group->first; c < group->first + group->n; c++)
        if (fx8_group_uses(group, series, c)) {
            double value =
                sign * sums[c * series->stride] / series->count / series->scale;
            if (series->ripple != NULL)
                value /= series->ripple[c];
            sum += value;
        }
    return sum / group->n_used;
}

/* Flags and weights of one product of one baseline, in both results. */
static void write_weights(const struct context *job, size_t baseline,
                          size_t product)
{
    const struct fx8_postprocess *plan = job->plan;
    const size_t n = plan->channel_average;
    const size_t n_channels = plan->n_channels / n;
    const struct fx8_series series =
        fx8_series_open(plan, false, job->counts,
                        &plan->products[baseline * plan->n_products + product]);
    for (size_t channel = 0; channel < n_channels; channel++) {
        const struct fx8_group group = fx8_group_open(&series, channel * n, n);
        const size_t at =
            fx8_postprocess_cell(plan, baseline, channel, product);
        for (size_t bound = 0; bound < 2; bound++) {
            job->results[bound].flags[at] = group.is_flagged;
            job->results[bound].nsamples[at] = group.nsamples;
        }
    }
}

/* One bound of one product of one baseline, in its rounding mode.  If the pair
 * is stored in the other order, the imaginary part is minus the opposite
 * bound. */
__attribute__((noinline)) static void write_values(const struct context *job,
                                                   size_t bound,
                                                   size_t baseline,
                                                   size_t product)
{
    const struct fx8_postprocess *plan = job->plan;
    const size_t n = plan->channel_average;
    const size_t n_channels = plan->n_channels / n;
    const struct fx8_series series =
        fx8_series_open(plan, false, job->counts,
                        &plan->products[baseline * plan->n_products + product]);
    const double *re = job->sums[bound];
    const double *im = job->sums[series.is_negated ? 1 - bound : bound];
    const double sign = series.is_negated ? -1.0 : 1.0;
    for (size_t channel = 0; channel < n_channels; channel++) {
        const struct fx8_group group = fx8_group_open(&series, channel * n, n);
        const size_t at =
            fx8_postprocess_cell(plan, baseline, channel, product);
        float *value = job->results[bound].visibilities + 2 * at;
        value[0] = value[1] = 0.0f;
        if (series.count == 0.0)
            continue;
        value[0] = (float)mean(&series, &group, re + series.first, 1.0);
        if (!series.is_auto)
            value[1] =
                (float)mean(&series, &group, im + series.first + 1, sign);
    }
}

/* All baselines that start on one antenna, which are contiguous. */
static void process_antenna(void *context, size_t antenna_1, size_t thread)
{
    (void)thread;
    const struct context *job = context;
    const size_t n_antennas = job->plan->n_antennas;
    const size_t begin = antenna_1 * (2 * n_antennas - antenna_1 + 1) / 2;
    const size_t end = begin + n_antennas - antenna_1;
    const size_t n_products = job->plan->n_products;
    for (size_t baseline = begin; baseline < end; baseline++)
        for (size_t product = 0; product < n_products; product++)
            write_weights(job, baseline, product);
    const int mode = fegetround();
    for (size_t bound = 0; bound < 2; bound++) {
        fesetround(directions[bound]);
        for (size_t baseline = begin; baseline < end; baseline++)
            for (size_t product = 0; product < n_products; product++)
                write_values(job, bound, baseline, product);
    }
    fesetround(mode);
}

void fx8_postprocess_interval(const struct fx8_postprocess *plan,
                              void *const *sums, const int64_t *counts,
                              const struct fx8_result *results)
{
    struct context job = {plan, sums + FX8_RESULT_DOWN, counts,
                          results + FX8_RESULT_DOWN};
    fx8_parallel_for(fx8_postprocess_starts(plan), plan->threads.count,
                     plan->threads.pin, process_antenna, &job);
}
