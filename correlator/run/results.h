/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * results.h -- names of the visibility files of a run, one for each kind of
 * result.
 */
#ifndef FX8_CORRELATOR_RUN_RESULTS_H
#define FX8_CORRELATOR_RUN_RESULTS_H

#include "correlator/fx8.h"

/** Values of keyword PRECISN for the bounds. */
#define FX8_PRECISN_DOWN "FP32-DOWN"
#define FX8_PRECISN_UP   "FP32-UP"

/** Names of a kind of result. */
struct fx8_result_name {
    const char *word;    /**< in the name of a file: OUT.int8.uvh5 */
    const char *keyword; /**< PRECISN, and in the summary */
};

/** Names, by enum fx8_result_kind. */
extern const struct fx8_result_name fx8_result_names[FX8_N_RESULTS];

#endif
