/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook.h -- the quick-look of a run: turns the dumps into a file of its
 * own and prints its lines of the summary.
 */
#ifndef FX8_CORRELATOR_RUN_QUICKLOOK_H
#define FX8_CORRELATOR_RUN_QUICKLOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "correlator/fx8.h"

struct fx8_provenance;
struct fx8_run_quicklook;
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
 * fx8_run_quicklook_open -- create the quick-look file that a run asks for.
 *
 * Given:     center   index of the phase centre
 *            kind     which results to use, with their provenance
 *            is_resumed  replace that of an earlier run, whose dumps are
 *                     kept
 * Status:    memory; errors of writing
 * Ownership: fx8_run_quicklook_close() releases, also after a failure
 */
enum fx8_status fx8_run_quicklook_open(const struct fx8_run_request *request,
                                       size_t center,
                                       const struct fx8_provenance *provenance,
                                       enum fx8_result_kind kind,
                                       bool is_resumed,
                                       struct fx8_run_quicklook **quicklook,
                                       struct fx8_error *error);

/** Write the quick-look of a dump; on the writer thread. */
enum fx8_status fx8_run_quicklook_take(struct fx8_run_quicklook *quicklook,
                                       const struct fx8_dump *dump,
                                       struct fx8_error *error);

/** All dumps have been taken: n_dumps of them are the result.  The session,
 *  planned with a quick-look, has looked at them.  Fills the figures. */
enum fx8_status fx8_run_quicklook_finish(struct fx8_run_quicklook *quicklook,
                                         const struct fx8_session *session,
                                         size_t n_dumps,
                                         struct fx8_quicklook_figures *figures,
                                         struct fx8_error *error);

/** Close and null the handle, a NULL handle is legal; keep: the file is
 *  complete. */
enum fx8_status fx8_run_quicklook_close(struct fx8_run_quicklook **quicklook,
                                        bool keep, struct fx8_error *error);

/** Print the quick-look's lines of the summary. */
void fx8_quicklook_print(const struct fx8_quicklook_figures *quicklook,
                         FILE *stream);

#endif
