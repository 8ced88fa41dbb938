/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/delays.h"
#include "correlator/simulate/removed.h"
#include "kernels/operations.h"

/* Delays between two samples: those of the samples, and the share between
 * them. */
static enum fx8_status find(struct fx8_removed *removed, double sample,
                            double *delay_s, struct fx8_error *error)
{
    const int64_t before = (int64_t)floor(sample);
    const double share = sample - floor(sample);
    FX8_TRY(fx8_delays_find(removed->center, before, delay_s, error));
    FX8_TRY(
        fx8_delays_find(removed->center, before + 1, removed->nearby_s, error));
    for (size_t i = 0; i < removed->job->n_inputs; i++)
        delay_s[i] += share * (removed->nearby_s[i] - delay_s[i]);
    return FX8_OK;
}

enum fx8_status fx8_removed_open(const struct fx8_job *job,
                                 struct fx8_removed *removed,
                                 struct fx8_error *error)
{
    const size_t n_inputs = job->n_inputs;
    *removed = (struct fx8_removed){.job = job};
    const struct fx8_array arrays[] = {
        FX8_ITEMS(removed->delay_s, fx8_product(FX8_REMOVED_N, n_inputs, 1, 1)),
        FX8_ITEMS(removed->nearby_s, n_inputs),
        FX8_ITEMS(removed->shifts, n_inputs),
    };
    FX8_TRY(fx8_allocate_arrays(arrays, 3, "delays", error));
    if (job->plan.delays.delay == NULL)
        return FX8_OK;
    removed->center = &job->centers[0];
    removed->is_changing = removed->center->is_tracked;
    /* if the first and the last are known, so are all between; a group may end
     * behind the job */
    const double first = (double)job->plan.first_sample;
    const double step = (double)job->axes.step;
    FX8_TRY(find(removed,
                 first + (double)job->n_samples + step * FX8_GROUP +
                     (double)job->axes.window,
                 removed->delay_s, error));
    return find(removed, first - step, removed->delay_s, error);
}

void fx8_removed_find(struct fx8_removed *removed, double middle, double length)
{
    if (removed->center == NULL)
        return;
    for (int k = FX8_REMOVED_FIRST; k < FX8_REMOVED_N; k++)
        (void)find(removed,
                   middle + 0.5 * (double)(k - FX8_REMOVED_MIDDLE) * length,
                   removed->delay_s + (size_t)k * removed->job->n_inputs, NULL);
}

double fx8_removed_cycles(const struct fx8_removed *removed, size_t input,
                          double frequency_hz, double path_rate)
{
    const struct fx8_job *job = removed->job;
    const size_t middle = FX8_REMOVED_MIDDLE * job->n_inputs;
    return frequency_hz * (1.0 + path_rate) * removed->delay_s[middle + input] -
           job->gain_turns[input];
}

double fx8_removed_growth(const struct fx8_removed *removed, size_t input)
{
    const size_t last = FX8_REMOVED_LAST * removed->job->n_inputs;
    return removed->delay_s[last + input] - removed->delay_s[input];
}

void fx8_removed_shift(struct fx8_removed *removed, int64_t spectrum)
{
    const struct fx8_job *job = removed->job;
    const double middle =
        (double)job->plan.first_sample +
        ((double)spectrum + 0.5 * FX8_GROUP) * (double)job->axes.step +
        0.5 * (double)job->axes.window;
    if (removed->center == NULL)
        return;
    (void)find(removed, middle, removed->delay_s, NULL);
    for (size_t i = 0; i < job->n_inputs; i++)
        removed->shifts[i] = (int64_t)rint(removed->delay_s[i] *
                                           fx8_rate_hz(job->plan.sample_rate));
}

void fx8_removed_clear(struct fx8_removed *removed)
{
    free(removed->delay_s);
    free(removed->nearby_s);
    free(removed->shifts);
    *removed = (struct fx8_removed){0};
}
