/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook.h -- the quick-look of a run: turns the dumps into a file of its
 * own and prints its lines of the summary.
 */
#ifndef FX8_CORRELATOR_RUN_QUICKLOOK_H
#define FX8_CORRELATOR_RUN_QUICKLOOK_H

#include <stdint.h>
#include <stdio.h>

#include "correlator/fx8.h"

struct fx8_consumer;
struct fx8_provenance;
struct fx8_run_request;

/** Figures of a quick-look for the summary. */
struct fx8_quicklook_figures {
    struct fx8_quicklook_counts counts;
    struct fx8_quicklook_differences differences;
    int64_t n_intervals, n_limits, n_empty; /**< averages by state */
    int64_t n_without;                      /**< averages without an interval */
    double highest; /**< largest averaged |rho|; 0 without one */
};

/**
 * fx8_quicklook_consume -- create the quick-look file that a run asks for.
 *
 * Given:    kind      which results to use, with their provenance
 *           session   planned with a quick-look
 * Returned: report    filled when the consumer finishes
 *           consumer  must be closed, also after a failure
 * Status:   memory; errors of writing
 */
enum fx8_status fx8_quicklook_consume(const struct fx8_run_request *request,
                                      const struct fx8_provenance *provenance,
                                      enum fx8_result_kind kind,
                                      const struct fx8_session *session,
                                      struct fx8_quicklook_figures *report,
                                      struct fx8_consumer *consumer,
                                      struct fx8_error *error);

/** Print the quick-look's lines of the summary. */
void fx8_quicklook_print(const struct fx8_quicklook_figures *quicklook,
                         FILE *stream);

#endif
