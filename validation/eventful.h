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
    plan->blanking = (struct fx8_blanking){.level = 126, .margin = 13};
    plan->channel_average = 2;
    plan->channelizer.flag_edges = 1;
    plan->min_weight = 0.75;
    plan->sk_false_alarm = 0.05;
    plan->lower_sideband = true;
    plan->quicklook = true;
    const size_t size = 1 + is_complex;
    struct voltages v = make_voltages(6, size, 5000, 15, 1300);
    memset(voltages_at(&v, 1, 0), 0, 5000 * size);
    memset(voltages_at(&v, 2, 0), 0, 1700 * size);
    memset(voltages_at(&v, 3, 92), -128, 10 * size); /* one reaches in */
    /* 10 before a border of dumps: its margin reaches in */
    memset(voltages_at(&v, 0, 1171), 127, size);
    memset(voltages_at(&v, 4, 900), -128, 40 * size);
    memset(voltages_at(&v, 4, 980), -128, 8 * size); /* too short */
    for (int64_t t = 0; t < 24; t++)                 /* clips, not blanked */
        memset(voltages_at(&v, 4, 1400 + t), t / 2 % 2 == 0 ? 126 : -126, size);
    memset(voltages_at(&v, 4, 4990), -128, 10 * size);
    v.missing[v.n_missing++] = (struct fx8_gap){2500, 30, -1};
    v.missing[v.n_missing++] = (struct fx8_gap){700, 3, 5};
    v.missing[v.n_missing++] = (struct fx8_gap){690, 11, 5};
    return v;
}

/** The same with two dumps of 3 and 2 segments; gaps and runs of markers at and
 *  across their borders, a silent input, one that begins in the second dump,
 *  one in the second segment. */
static inline struct voltages eventful_segments(struct fx8_plan *plan,
                                                bool is_complex)
{
    enum { SEGMENT = 8192 };
    *plan = small_plan(3, 2, is_complex, 4, 2 * SEGMENT + 600);
    plan->first_sample = 101;
    plan->marker.is_used = true;
    plan->marker.value = -128;
    plan->marker.least_length = 9;
    plan->blanking = (struct fx8_blanking){.level = 60, .margin = 7};
    plan->sk_false_alarm = 0.1;
    plan->lower_sideband = true;
    plan->n_spectra = plan->spectra_per_dump + SEGMENT + 5000;
    const size_t size = 1 + is_complex;
    const int64_t step = is_complex ? 4 : 8, border = 101 + SEGMENT * step;
    const int64_t second = 101 + plan->spectra_per_dump * step;
    struct voltages v = make_voltages(
        6, size, 101 + (plan->n_spectra + 1) * step + 77, 15, 1301);
    memset(voltages_at(&v, 1, 0), 0, (size_t)v.n_samples * size);
    memset(voltages_at(&v, 2, 0), 0, (size_t)(border + 900) * size);
    memset(voltages_at(&v, 3, 0), 0, (size_t)(second + 300) * size);
    memset(voltages_at(&v, 4, border - 5), -128, 10 * size);
    memset(voltages_at(&v, 5, second - 20), -128, 21 * size);
    v.missing[v.n_missing++] = (struct fx8_gap){border - 3, 40, 0};
    v.missing[v.n_missing++] = (struct fx8_gap){2 * border, 3 * step, -1};
    return v;
}

/** A dump of 3 segments in which the order of additions shows.  The product of
 *  the two inputs is large at first, later its negative, and 2^-3 between, with
 *  the bits of a float: in three segments or, `within` one, in the halves of
 * the second after the first. */
static inline struct voltages cancelling_segments(struct fx8_plan *plan,
                                                  bool within)
{
    enum { SEGMENT = 8 * 8192 };
    *plan = small_plan(2, 1, true, 8, 3 * 8192);
    plan->channelizer.method = FX8_METHOD_FFT;
    plan->channelizer.n_kept = 2;
    plan->precision = FX8_PRECISION_FP32 | FX8_PRECISION_INTERVAL;
    struct voltages v = make_voltages(2, 2, 3 * SEGMENT, 30, 1302);
    const int64_t n = within ? SEGMENT / 2 : SEGMENT;
    const int64_t first = within ? SEGMENT : 0;
    const int64_t last = within ? first + n : first + 2 * n;
    int8_t *noise = temporary((size_t)n * 2);
    memcpy(noise, voltages_at(&v, 0, 0), (size_t)n * 2);
    memset(v.data, 0, 2 * (size_t)v.n_samples * v.size);
    for (int64_t t = 0; t < 2 * n; t++) {
        const int8_t loud = noise[t] < 0 ? -127 : 127;
        for (size_t input = 0; input < 2; input++)
            voltages_at(&v, input, first)[t] = loud;
        voltages_at(&v, 0, last)[t] = loud;
        voltages_at(&v, 1, last)[t] = (int8_t)-loud;
    }
    for (size_t input = 0; input < 2; input++)
        *voltages_at(&v, input,
                     (within ? 0 : SEGMENT) + 4000 + (int64_t)input) = 1;
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
