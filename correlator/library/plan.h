/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.h -- checks of a plan, and quantities derived from it inside the
 * library.
 */
#ifndef FX8_CORRELATOR_LIBRARY_PLAN_H
#define FX8_CORRELATOR_LIBRARY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "kernels/filterbank.h"

/** Largest marker.least_length, and blanking.margin, of a plan; it bounds the
 *  look-ahead. */
#define FX8_MAX_MARKER_RUN (INT64_C(1) << 20)

/** Whether level and margin are in range. */
static inline bool fx8_plan_is_blanking(const struct fx8_blanking *blanking)
{
    return blanking->level >= 0 && blanking->level <= 127 &&
           blanking->margin >= 0 && blanking->margin <= FX8_MAX_MARKER_RUN;
}

/** Bound of a sample's index. */
#define FX8_LAST_SAMPLE (INT64_C(1) << 61)

/** Bound of a delay, in samples. */
#define FX8_MAX_DELAY_SAMPLES (INT64_C(1) << 30)

/** Whether a session rotates spectra. */
bool fx8_plan_has_delays(const struct fx8_plan *plan);

/** FX8_ERR_USAGE naming the first member of the plan that is out of range. */
enum fx8_status fx8_plan_check(const struct fx8_plan *plan,
                               struct fx8_error *error);

/**
 * fx8_plan_derive -- check a plan, and work out what follows from it.
 *
 * Returned:  axes, bank
 *            weights  double [axes.window], see fx8_plan_weights()
 * Status:    as fx8_plan_check(); FX8_ERR_SYSTEM: memory
 * Ownership: the caller releases `weights` with free(); NULL after failure
 */
enum fx8_status fx8_plan_derive(const struct fx8_plan *plan,
                                struct fx8_axes *axes,
                                struct fx8_filterbank *bank, double **weights,
                                struct fx8_error *error);

#endif
