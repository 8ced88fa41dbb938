/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.h -- elapsed time, for summaries and benchmarks.
 */
#ifndef FX8_CONFIG_BASE_CLOCK_H
#define FX8_CONFIG_BASE_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

/** Seconds on a monotonic clock, from an arbitrary origin. */
double fx8_clock_seconds(void);

#ifdef __cplusplus
}
#endif

#endif
