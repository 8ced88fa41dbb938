/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * judge.h -- the largest difference that rounding and clamping alone can
 * cause, cell by cell and group by group.
 */
#ifndef FX8_CORRELATOR_COMPARE_JUDGE_H
#define FX8_CORRELATOR_COMPARE_JUDGE_H

#include "correlator/compare/compare.h"

/** One cell, with its inputs' figures in this dump. */
struct fx8_compare_cell {
    struct fx8_compare_place place;
    size_t inputs[2];
    const double *subject, *reference; /**< re, im */
    double nsamples;
    double weights[2]; /**< nsamples of the autos of both inputs */
    bool is_flagged;
    bool has_unit_gain;
    const struct fx8_compare_level *levels[2];
    double power;      /**< P_i P_j */
    double coherence;  /**< |rho_B|^2, for pairs only, like the next two */
    double difference; /**< |delta|^2 */
    double expected;   /**< of difference */
};

/** Levels of an input in the current dump. */
void fx8_compare_level_input(struct fx8_comparison *comparison, size_t input);

/** Check that both files flag and weight cell `at` of a row alike. */
void fx8_compare_judge_mask(struct fx8_comparison *comparison,
                            struct fx8_compare_cell *cell,
                            const struct fx8_compare_row *subject,
                            const struct fx8_compare_row *reference, size_t at);

/** Judge a pair that is not flagged; `reason`: why its cell is left out. */
void fx8_compare_judge_pair(struct fx8_comparison *comparison,
                            const struct fx8_compare_cell *cell,
                            enum fx8_compare_reason reason);

/** Judge an auto that is not flagged. */
void fx8_compare_judge_auto(struct fx8_comparison *comparison,
                            const struct fx8_compare_cell *cell);

/** End of a dump. */
void fx8_compare_judge_dump(struct fx8_comparison *comparison);

/** End of the file: judge its groups, set the limits. */
void fx8_compare_judge_all(struct fx8_comparison *comparison);

/** The check that fails most clearly, or N_CHECKS. */
enum fx8_compare_check fx8_compare_failed(
    const struct fx8_comparison *comparison);

/** Whether a check is within its limits. */
bool fx8_compare_is_within(const struct fx8_compare_worst_of *worst);

/** Names of the checks, and of the place of the worst: "channel 3, dump 0"; ""
 *  for all pairs, or if nothing was judged. */
extern const char *const fx8_compare_check_names[FX8_COMPARE_N_CHECKS];
#define FX8_COMPARE_PLACE_SIZE 160
void fx8_compare_place_name(const struct fx8_comparison *comparison,
                            enum fx8_compare_check check,
                            char name[FX8_COMPARE_PLACE_SIZE]);

#endif
