/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * look_file.h -- the end of a quick-look file: averages, counts, modes.
 */
#ifndef FX8_CORRELATOR_RUN_LOOK_FILE_H
#define FX8_CORRELATOR_RUN_LOOK_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "io/quicklook/file.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What the summary tells of a quick-look. */
struct fx8_look_report {
    struct fx8_quicklook_counts counts;
    struct fx8_quicklook_differences differences;
    int64_t n_intervals, n_limits, n_empty; /**< averages by state */
    int64_t n_without;                      /**< averages without an interval */
    double highest; /**< largest averaged |rho|; 0 without one */
};

/**
 * fx8_look_file_finish -- cut the file to its dumps and write what is known at
 * the end.
 *
 * Given:    session      planned with a quick-look, all dumps processed
 *           n_baselines, n_products  of its results
 *           n_dumps      in the file
 * Returned: report       for the summary
 * Status:   memory, what writing says
 */
enum fx8_status fx8_look_file_finish(struct fx8_quicklook_file *file,
                                     const struct fx8_session *session,
                                     size_t n_baselines, size_t n_products,
                                     size_t n_dumps,
                                     struct fx8_look_report *report,
                                     struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
