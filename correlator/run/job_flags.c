/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/job_private.h"

/* Borders of channels are doubles with a relative error of 10^-16: 10^-6 of a
 * 1 Hz channel at 10 GHz.  A frequency that near to a border is on it. */
#define BORDER 1e-6

/* First of n ascending frequencies that is at least `least`, or n. */
static size_t first_at_least(const double *frequencies_hz, size_t n,
                             double least)
{
    size_t begin = 0, end = n;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (frequencies_hz[middle] < least)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Warn of a list that leaves everything as it is, or nothing unflagged. */
static void warn_of_list(struct fx8_job *job, const double *frequencies_hz,
                         double width_hz)
{
    const size_t n = job->axes.n_fine, n_flagged = job->n_flagged_channels;
    if (n_flagged == 0)
        fx8_job_warn(job,
                     "flag.channels: no entry lies in a channel: they cover "
                     "%.10g to %.10g MHz",
                     (frequencies_hz[0] - width_hz / 2.0) * 1e-6,
                     (frequencies_hz[n - 1] + width_hz / 2.0) * 1e-6);
    else if (n_flagged == n)
        fx8_job_warn(job, "flag.channels: flags every channel: %zu of %zu",
                     n_flagged, n);
}

enum fx8_status fx8_job_flag_channels(struct fx8_job *job,
                                      struct fx8_error *error)
{
    const struct fx8_frequency_list *list = &job->settings->flag.channels;
    const size_t n = job->axes.n_fine;
    FX8_AUTO_FREE double *centre_hz = NULL;
    struct fx8_plan fine = job->plan;
    double width_hz;
    if (list->count == 0)
        return FX8_OK;
    FX8_TRY(
        fx8_allocate(n, sizeof *centre_hz, "frequencies", &centre_hz, error));
    FX8_TRY(fx8_allocate(n, sizeof *job->flag_channel, "channel flags",
                         &job->flag_channel, error));
    fine.channel_average = 1;
    fx8_frequencies(&fine, centre_hz, &width_hz);
    const double reach_hz = width_hz * (0.5 + BORDER);
    for (size_t i = 0; i < list->count; i++) {
        const struct fx8_frequency_range *range = &list->items[i];
        size_t channel =
            first_at_least(centre_hz, n, range->first_hz - reach_hz);
        for (; channel < n && centre_hz[channel] <= range->last_hz + reach_hz;
             channel++)
            job->flag_channel[channel] = 1;
    }
    for (size_t channel = 0; channel < n; channel++)
        job->n_flagged_channels += job->flag_channel[channel];
    job->plan.flag_channel = job->flag_channel;
    warn_of_list(job, centre_hz, width_hz);
    return FX8_OK;
}
