/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * figures.h -- figures derived from the sums of a comparison, shared by the
 * table, the JSON and the page.
 */
#ifndef FX8_CORRELATOR_COMPARE_FIGURES_H
#define FX8_CORRELATOR_COMPARE_FIGURES_H

#include "correlator/compare/compare.h"

/** Most groups that fx8_compare_worst() returns. */
#define FX8_COMPARE_WORST 10

/** Bins of the histogram of phase differences; odd, so that 0 is in the middle
 *  of one. */
#define FX8_COMPARE_PHASE_BINS 61

/** Cells that are looked at together. */
enum fx8_compare_group { FX8_COMPARE_CHANNEL, FX8_COMPARE_BASELINE };

/** Figures of a group of cells; NaN if there are no cells, or nothing is
 *  predicted. */
struct fx8_compare_figures {
    int64_t n_cells;
    double amplitude; /**< |sum conj(B) A| / sum |B|^2 */
    double phase_deg; /**< of that sum */
    double measured;  /**< rms difference */
    double predicted; /**< likewise */
    double ratio;     /**< measured over predicted */
    double sigmas;    /**< mean of |delta|^2 over expected: its excess over 1
                           in standard deviations of that mean */
};

/** `group`: all pairs of a channel (or of all), or one baseline. */
struct fx8_compare_figures fx8_compare_figures_of(
    const struct fx8_comparison *comparison,
    const struct fx8_compare_sums *sums, enum fx8_compare_group group);

/** The figures of one baseline. */
static inline struct fx8_compare_figures fx8_compare_baseline_figures(
    const struct fx8_comparison *comparison, size_t baseline)
{
    return fx8_compare_figures_of(comparison, &comparison->baselines[baseline],
                                  FX8_COMPARE_BASELINE);
}

/**
 * fx8_compare_worst -- the groups farthest from theory, either way; without
 * theory, the groups that differ most.
 *
 * Returned: worst  indices of channels or baselines, worst first; the function
 *                  returns their number
 */
size_t fx8_compare_worst(const struct fx8_comparison *comparison,
                         enum fx8_compare_group group,
                         size_t worst[FX8_COMPARE_WORST]);

/** Phase differences in even steps around 0. */
struct fx8_compare_phases {
    double first_deg, step_deg; /**< bin k is [first + k step, + step) */
    double percent[FX8_COMPARE_PHASE_BINS]; /**< of all cells with a phase */
    double percent_outside;
    double rms_deg, median_deg;
    double median_absolute_deg; /**< half of the cells are within it */
};

void fx8_compare_phases_of(const struct fx8_comparison *comparison,
                           struct fx8_compare_phases *phases);

/** |A / B|: the median, and the range of the middle 68.27 % of the cells (one
 *  standard deviation either way of a Gaussian).  NaN: no cells. */
struct fx8_compare_amplitudes {
    double median, low, high;
};

struct fx8_compare_amplitudes fx8_compare_amplitudes_of(
    const struct fx8_comparison *comparison);

/** Antenna number and feed: "5X"; antenna numbers: "5-7". */
#define FX8_COMPARE_NAME_SIZE 48
void fx8_compare_input_name(const struct fx8_comparison *comparison,
                            size_t input, char name[FX8_COMPARE_NAME_SIZE]);
void fx8_compare_baseline_name(const struct fx8_comparison *comparison,
                               size_t baseline,
                               char name[FX8_COMPARE_NAME_SIZE]);

/** Names of the inputs with a count, at most `most`: "5X, 5Y"; returns the
 *  number of inputs with a count.  counts [n_inputs]. */
size_t fx8_compare_print_inputs(const struct fx8_comparison *comparison,
                                const int64_t *counts, size_t most,
                                FILE *stream);

/**
 * fx8_compare_print_ranges -- channels with a count, as ranges: "0-1, 63".
 *
 * Given:    counts  [n]
 *           most    most ranges to print
 *           dash    between the first and the last channel of a range
 * Returned: number of ranges not printed
 */
size_t fx8_compare_print_ranges(const int64_t *counts, size_t n, size_t most,
                                const char *dash, FILE *stream);

/** The figures on the page, each with a caption; every mark carries its numbers
 *  as text.  Status: FX8_ERR_SYSTEM when memory is short. */
enum fx8_status fx8_compare_draw(const struct fx8_comparison *comparison,
                                 FILE *stream, struct fx8_error *error);

/** Why cells are left out, in words. */
extern const char *const fx8_compare_reason_names[FX8_COMPARE_N_REASONS];

/** Unit of the differences: "coherence", or a unit. */
const char *fx8_compare_unit(const struct fx8_comparison *comparison);

/* --- the largest difference that rounding and clamping alone can cause, cell
 * by cell and group by group: judge.c, verdict.c --------------------------- */

/** One cell, with its inputs' figures in this dump. */
struct fx8_compare_cell {
    struct fx8_compare_place place;
    size_t inputs[2];
    const double *subject, *reference; /**< re, im */
    double nsamples;
    bool is_flagged;
    const struct fx8_compare_level *levels[2];
    double coherence;  /**< |rho_B|^2, for pairs only, like the next three */
    double difference; /**< |delta|^2 */
    double expected;   /**< of difference */
    double ratio;      /**< difference / expected, 0 if nothing is expected */
};

/** The largest clip fraction of each group of averaged channels: from
 *  [n_inputs][n_plan_channels] to [n_inputs][n_channels]. */
void fx8_compare_combine_clips(const struct fx8_comparison *comparison,
                               const double *fractions, double *largest);

/** Levels of an input in the current dump. */
void fx8_compare_level_input(struct fx8_comparison *comparison, size_t input);

/** Check that both files flag and weight cell `at` of the rows alike. */
void fx8_compare_judge_mask(struct fx8_compare_part *part,
                            struct fx8_compare_cell *cell,
                            const struct fx8_compare_row *subject,
                            const struct fx8_compare_row *reference, size_t at);

/** Judge a pair that is not flagged; `reason`: why its cell is left out. */
void fx8_compare_judge_pair(struct fx8_comparison *comparison,
                            struct fx8_compare_part *part,
                            const struct fx8_compare_cell *cell,
                            enum fx8_compare_reason reason);

/** Judge an auto that is not flagged. */
void fx8_compare_judge_auto(const struct fx8_comparison *comparison,
                            struct fx8_compare_part *part,
                            const struct fx8_compare_cell *cell);

/** Add the sums over other cells. */
void fx8_compare_add_sums(struct fx8_compare_sums *sum,
                          const struct fx8_compare_sums *more);

/** End of the last dump: add up all parts. */
void fx8_compare_merge(struct fx8_comparison *comparison);

/** End of a dump; `scores` of all its cells. */
void fx8_compare_judge_dump(struct fx8_comparison *comparison,
                            const struct fx8_compare_scores *scores);

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
