/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * eventful.h -- a recording in which everything happens that a session has to
 * deal with, for tests that nothing else changes a bit.
 */
#ifndef FX8_VALIDATION_EVENTFUL_H
#define FX8_VALIDATION_EVENTFUL_H

#include <math.h>

#include "validation/session_run.h"

/** A plan and a recording with everything: gaps and markers, a first sample, a
 * silent input, an input that begins late. */
static inline struct voltages eventful(struct fx8_plan *plan, bool is_complex)
{
    *plan = small_plan(3, 2, is_complex, 6, 90);
    plan->first_sample = 101;
    plan->marker.is_used = true;
    plan->marker.value = -128;
    plan->marker.least_length = 9;
    plan->channel_average = 2;
    plan->channelizer.flag_edges = 1;
    plan->lower_sideband = true;
    plan->quicklook = true;
    const size_t size = 1 + is_complex;
    struct voltages v = make_voltages(6, size, 5000, 15, 1300);
    memset(voltages_at(&v, 1, 0), 0, 5000 * size);
    memset(voltages_at(&v, 2, 0), 0, 1700 * size);
    memset(voltages_at(&v, 3, 92), -128, 10 * size); /* one reaches in */
    memset(voltages_at(&v, 4, 900), -128, 40 * size);
    memset(voltages_at(&v, 4, 980), -128, 8 * size); /* too short */
    memset(voltages_at(&v, 4, 4990), -128, 10 * size);
    v.missing[v.n_missing++] = (struct fx8_gap){2500, 30, -1};
    v.missing[v.n_missing++] = (struct fx8_gap){700, 3, 5};
    v.missing[v.n_missing++] = (struct fx8_gap){690, 11, 5};
    return v;
}

/** Delays that change by a sample every 700. */
static inline enum fx8_status find_delays(void *context, int64_t sample,
                                          double *delay_s,
                                          struct fx8_error *error)
{
    (void)error;
    for (size_t input = 0; input < *(const size_t *)context; input++)
        delay_s[input] =
            1e-6 * ((double)input * 8.3 - 20.0) * cos((double)sample * 7e-5);
    return FX8_OK;
}

#endif
