/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.h -- checks of a plan, and quantities derived from it inside the
 * library.
 */
#ifndef FX8_CORRELATOR_LIBRARY_PLAN_H
#define FX8_CORRELATOR_LIBRARY_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "kernels/filterbank.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Largest marker.least_length of a plan; it bounds the look-ahead. */
#define FX8_MAX_MARKER_RUN (INT64_C(1) << 20)

/** FX8_ERR_USAGE naming the first member of the plan that is out of range. */
enum fx8_status fx8_plan_check(const struct fx8_plan *plan,
                               struct fx8_error *error);

/** Baseband zero of a band, relative to dc_frequency_hz. */
double fx8_plan_offset_hz(const struct fx8_plan *plan, size_t band);

/** Geometry of the plan's filter bank. */
struct fx8_filterbank fx8_plan_filterbank(const struct fx8_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
