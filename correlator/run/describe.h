/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * describe.h -- the UVH5 header of a job: antenna positions in ECEF, uvw,
 * times, frequencies, phase centre, provenance.
 */
#ifndef FX8_CORRELATOR_RUN_DESCRIBE_H
#define FX8_CORRELATOR_RUN_DESCRIBE_H

#include "correlator/fx8.h"
#include "correlator/run/job.h"
#include "io/uvh5/uvh5.h"

/** What the header needs besides the job: how the visibilities were made. */
struct fx8_provenance {
    const char *precision; /**< "INT8", "FP32", "FP32-DOWN", "TRUTH" */
    const char *backend;   /**< "CPU", ... or "" */
    const char *kernel;
    const char *fft_plan;
    const char *command; /**< command line, one line */
    const char *input;   /**< names of the recordings, one line */
};

/**
 * fx8_describe -- header of the visibilities of a job.
 *
 * Given:     center  one of job->centers
 *            rows    of a file of averages, which outlive the header; NULL:
 *                    each dump has a row of each baseline
 * Returned:  header  complete, with rows for all job->n_dumps dumps, or all
 *                    that `rows` has.  Extra
 *                    keywords: FX8VERS, PRECISN, BACKEND, KERNEL, FFTPLAN,
 *                    CONFSHA (SHA-256 of the resolved configuration, first 16
 *                    hex digits), POSFAKE (1, if positions are faked),
 *                    DELAYMOD, and where delays are removed DELMAX (s), DELRATE
 *                    (s/s), DELREST (samples), DELLOSS, ...
 *                    History: version, date, command, then the resolved
 *                    configuration line by line
 * Ownership: fx8_uvh5_header_clear() releases it
 * Notes:     1) antenna positions: ENU of the site (WGS84) rotated to ECEF,
 *               minus the reference position
 *            2) uvw: ENU difference r_2 - r_1 if unprojected, else turned
 *               towards the phase centre at the centre of each dump, or
 *               interval
 *            3) without dut1_s and iers_file UT1 is taken as UTC, and lst_array
 *               is not written
 * Source:    formats: UVH5 memo 1.2; ERFA eraGst06a, eraSp00, eraGd2gc
 */
enum fx8_status fx8_describe(const struct fx8_job_center *center,
                             const struct fx8_provenance *provenance,
                             const struct fx8_uvh5_rows *rows,
                             struct fx8_uvh5_header *header,
                             struct fx8_error *error);

/** A dataset of /fx8 with what tables say of each input or channel. */
struct fx8_table_item {
    const char *name;
    const char *text; /**< its description */
    size_t n_columns; /**< 1: one axis */
    void (*fill)(const struct fx8_job *job, size_t row, double *columns);
    size_t (*count)(const struct fx8_job *job); /**< rows; 0: no dataset */
};

/** Cable delays, gains, and ripple. */
#define FX8_TABLE_ITEMS 3
extern const struct fx8_table_item fx8_table_items[FX8_TABLE_ITEMS];

/** Its values [n_rows][n_columns], inputs antenna-major; the caller frees them.
 *  Status: memory. */
enum fx8_status fx8_describe_table(const struct fx8_job *job,
                                   const struct fx8_table_item *item,
                                   size_t *n_rows, double **values,
                                   struct fx8_error *error);

#endif
