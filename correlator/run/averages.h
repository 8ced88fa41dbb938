/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * averages.h -- averages of dumps: over as many as a baseline can take before a
 * source anywhere above the horizon would lose too much.
 */
#ifndef FX8_CORRELATOR_RUN_AVERAGES_H
#define FX8_CORRELATOR_RUN_AVERAGES_H

#include "correlator/fx8.h"
#include "correlator/run/job.h"
#include "io/uvh5/rows.h"

/**
 * fx8_averages_rate_hz -- fringe rate that no source above the horizon exceeds.
 *
 * Given:  baseline_m    double [3]  east, north, up
 *         latitude_deg  of the site
 *         hz            sky frequency
 *         cos_dec       cosine of the declination that is tracked; 0: nothing
 *                       is tracked
 * Notes:  1) the fringe of direction s turns at s . a hz / c, where a is the
 *            baseline times the Earth's rotation, a vector in the plane of the
 *            equator.  Of a and -a, one is above the horizon: untracked, |a|
 *            is the maximum
 *         2) tracked, that of the phase centre is subtracted, which is at most
 *            |a| cos_dec: a bound, which not every baseline reaches
 */
double fx8_averages_rate_hz(const double baseline_m[3], double latitude_deg,
                            double hz, double cos_dec);

/**
 * fx8_averages_level -- log2 of the number of dumps that a baseline is averaged
 * over.
 *
 * Notes: averaged over T seconds, a fringe of up to `rate_hz` keeps at least
 *        sin(x) / x of its amplitude, x = pi rate_hz T <= pi: its phase is
 *        never farther than x from that of the middle.  T is that of whole
 *        dumps: what they lose themselves is part of it
 */
unsigned fx8_averages_level(double rate_hz, double dump_s, double loss);

/** The rows of a phase centre's results.  If nothing is averaged, n_levels is
 *  1, and there is nothing to release; else fx8_uvh5_rows_clear() does. */
enum fx8_status fx8_averages_plan(const struct fx8_job_center *center,
                                  struct fx8_uvh5_rows *rows,
                                  struct fx8_error *error);

/** Dumps that one rank must compute, in order: the largest blocks of all phase
 *  centres; 1 if nothing is averaged. */
enum fx8_status fx8_averages_block_dumps(const struct fx8_job *job,
                                         int64_t *block_dumps,
                                         struct fx8_error *error);

/** The dump after the block that a dump belongs to; the last block may be
 *  shorter. */
static inline int64_t fx8_averages_block_end(int64_t dump, int64_t block_dumps,
                                             int64_t n_dumps)
{
    const int64_t end = dump - dump % block_dumps + block_dumps;
    return end < n_dumps ? end : n_dumps;
}

/**
 * Averages of one kind of result.
 *
 * Notes: 1) a mean is weighted by the valid products: nsamples times the
 *           spectra of the dump.  Cells that are flagged in some dumps only
 *           are the mean of the others; nsamples is relative to all spectra
 *        2) sums are double, in the order of the dumps
 */
struct fx8_averages {
    struct fx8_uvh5_rows rows; /**< the caller's */
    size_t n_cells;            /**< of a row */
    double *sums;              /**< [baselines above level 0][n_cells][2] */
    double *weights;           /**< [the same][n_cells] */
    uint8_t *flags;            /**< [the same][n_cells] all dumps so far */
    double planned[FX8_UVH5_LEVELS]; /**< spectra of the interval, by level */
    struct fx8_result out;           /**< [n_baselines][n_cells] */
};

/** Allocate.  fx8_averages_close() releases; a zeroed structure is legal
 *  there. */
enum fx8_status fx8_averages_open(const struct fx8_uvh5_rows *rows,
                                  size_t n_cells, struct fx8_averages *averages,
                                  struct fx8_error *error);

void fx8_averages_close(struct fx8_averages *averages);

/** Bytes of these averages. */
size_t fx8_averages_memory(const struct fx8_uvh5_rows *rows, size_t n_cells);

/** Add a dump: in turn, from the begin of a block on.  Returned: the rows that
 *  end with it, valid until the next call. */
const struct fx8_result *fx8_averages_add(struct fx8_averages *averages,
                                          size_t dump, int64_t n_spectra,
                                          const struct fx8_result *result);

/** End all intervals with the dump that was added last: a row of every
 *  baseline. */
const struct fx8_result *fx8_averages_end(struct fx8_averages *averages,
                                          size_t dump);

#endif
