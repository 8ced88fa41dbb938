/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * results.h -- the visibility files that a run may write, one for each result
 * in a dump: what each is called, and when there is one.
 */
#ifndef FX8_CORRELATOR_RUN_RESULTS_H
#define FX8_CORRELATOR_RUN_RESULTS_H

#include <stdbool.h>

#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The results in a dump. */
enum fx8_result_kind {
    FX8_RESULT_INT8 = 0,
    FX8_RESULT_FP32,
    FX8_RESULT_DOWN,
    FX8_RESULT_UP,
    FX8_N_RESULTS
};

/** Keyword PRECISN of the bounds. */
#define FX8_PRECISN_DOWN "FP32-DOWN"
#define FX8_PRECISN_UP   "FP32-UP"

/** One of them. */
struct fx8_result_name {
    const char *word;    /**< in the name of a file: OUT.int8.uvh5 */
    const char *keyword; /**< PRECISN, and in the summary */
    enum fx8_precision precision;
};

/** Names, by enum fx8_result_kind. */
extern const struct fx8_result_name fx8_result_names[FX8_N_RESULTS];

/** Whether a run in a precision (bits) has a result of a kind. */
bool fx8_result_is_planned(enum fx8_precision precision,
                           enum fx8_result_kind kind);

/** A result of a dump; its pointers are NULL where it was not planned. */
const struct fx8_result *fx8_result_of(const struct fx8_dump *dump,
                                       enum fx8_result_kind kind);

#ifdef __cplusplus
}
#endif

#endif
