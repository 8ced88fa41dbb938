/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook.h -- the quick-look of a run: it consumes the dumps into a file of
 * its own, and has its lines in the summary.
 */
#ifndef FX8_CORRELATOR_RUN_QUICKLOOK_H
#define FX8_CORRELATOR_RUN_QUICKLOOK_H

#include <stdint.h>
#include <stdio.h>

#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fx8_consumer;
struct fx8_provenance;
struct fx8_run_request;

/** What the summary tells of a quick-look. */
struct fx8_look_report {
    struct fx8_quicklook_counts counts;
    struct fx8_quicklook_differences differences;
    int64_t n_intervals, n_limits, n_empty; /**< averages by state */
    int64_t n_without;                      /**< averages without an interval */
    double highest; /**< largest averaged |rho|; 0 without one */
};

/**
 * fx8_quicklook_consume -- create the file that a run asks for.
 *
 * Given:    kind      of the results that are looked at, with its provenance
 *           session   planned with a quick-look
 * Returned: report    filled when the consumer is finished
 *           consumer  to be closed, also after a failure
 * Status:   memory, what writing says
 */
enum fx8_status fx8_quicklook_consume(const struct fx8_run_request *request,
                                      const struct fx8_provenance *provenance,
                                      enum fx8_result_kind kind,
                                      const struct fx8_session *session,
                                      struct fx8_look_report *report,
                                      struct fx8_consumer *consumer,
                                      struct fx8_error *error);

/** Its lines of the summary. */
void fx8_quicklook_print(const struct fx8_look_report *look, FILE *stream);

#ifdef __cplusplus
}
#endif

#endif
