/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fringe.h -- fringe fitting: delay, rate and phase of every cross baseline
 * towards one strong source, and from them those of every antenna.
 *
 * Where E_i is late by tau_i, turns at r_i and leads by phi_i,
 *
 *     V_ij = conj(E_i) E_j = A exp(i (phi_j - phi_i)
 *              - 2 pi i (f - f0) (tau_j - tau_i) + 2 pi i (r_j - r_i) (t - t0))
 *
 * with f0 and t0 at the centre of the axes, where a phase depends least on
 * delay and rate.
 */
#ifndef FX8_CORRELATOR_FRINGE_FRINGE_H
#define FX8_CORRELATOR_FRINGE_FRINGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "correlator/compare/sides.h"
#include "correlator/fringe/axes.h"
#include "correlator/fx8.h"

/** Probability that noise alone passes for a fringe anywhere in a result. */
#define FX8_FRINGE_FALSE_ALARM 1e-3

/** Residuals beyond so many standard deviations are rejected. */
#define FX8_FRINGE_SIGMAS 5.0

/** Where half of the phases are off by more than this, rad, no source
 * dominates: of random phases, half are off by 1.57. */
#define FX8_FRINGE_PHASE_ERROR 0.5

/** Largest relative error of an amplitude that is worth more than 1. */
#define FX8_FRINGE_AMPLITUDE_ERROR 0.1

/** What is measured of a baseline and of an antenna. */
enum fx8_fringe_quantity {
    FX8_FRINGE_DELAY = 0, /**< s, positive: late */
    FX8_FRINGE_RATE,      /**< Hz */
    FX8_FRINGE_PHASE,     /**< rad, at f0 and t0 */
    FX8_FRINGE_AMPLITUDE, /**< natural logarithm */
    FX8_FRINGE_QUANTITIES
};

/** A cross baseline in one parallel product. */
struct fx8_fringe {
    size_t antennas[2];  /**< positions */
    size_t polarization; /**< 0: X or R, 1: Y or L */
    bool is_found;       /**< above the threshold; else only snr is set */
    bool is_used;        /**< in the solution of the antennas */
    double snr;          /**< of the highest peak; 0: no data */
    double coherence;    /**< share of the source; 0: not known, small */
    double value[FX8_FRINGE_QUANTITIES];
    double sigma[FX8_FRINGE_QUANTITIES]; /**< 0: not measured */
};

/** An antenna in one polarisation, relative to the reference. */
struct fx8_fringe_antenna {
    bool is_solved;
    size_t n_found, n_used; /**< its baselines */
    double snr; /**< root of the sum of squares over the baselines used */
    double value[FX8_FRINGE_QUANTITIES]; /**< AMPLITUDE: not the logarithm, 1
                                              where not measured */
    double sigma[FX8_FRINGE_QUANTITIES]; /**< 0: not measured, or defined */
};

/** The antennas in one polarisation. */
struct fx8_fringe_solution {
    struct fx8_fringe_antenna *antennas; /**< [n_antennas] */
    size_t n_solved; /**< the reference included; 0 without any fringe */
    size_t n_found, n_used;
    double best_snr;  /**< highest of all baselines, found or not */
    double phase_off; /**< median of the errors of phases on all baselines with
                           a fringe, rad */
    bool has_amplitudes;
    double chi_square[FX8_FRINGE_QUANTITIES];
    int64_t freedom[FX8_FRINGE_QUANTITIES]; /**< 0: not judged */
};

/** Where the source is. */
struct fx8_fringe_direction {
    enum {
        FX8_FRINGE_CENTRE = 0, /**< at the phase centre of the result */
        FX8_FRINGE_BLIND,      /**< the visibilities are taken as they are */
        FX8_FRINGE_FIXED,      /**< fixed to the ground */
        FX8_FRINGE_SKY         /**< fixed on the sky */
    } kind;
    double azimuth_deg, elevation_deg;
    double icrs_deg[2]; /**< right ascension, declination */
};

/** All of it. */
struct fx8_fringes {
    const char *path;
    struct fx8_compare_shape shape;
    int64_t *antenna_numbers; /**< [n_antennas] */
    struct fx8_fringe_axis time, frequency;
    double threshold; /**< of snr */
    size_t n;
    struct fx8_fringe *items;                /**< [n] baseline by baseline */
    size_t reference;                        /**< position */
    struct fx8_fringe_solution solutions[2]; /**< of each polarisation */
    double *recorded; /**< [n_inputs][amplitude, phase_deg, delay_ns]: what
                           makes a gain of what is measured */
};

/**
 * fx8_fringes_read -- measure every cross baseline of a result.
 *
 * Given:     path       UVH5; lives as long as the fringes
 *            direction  of the source
 *            progress   of the baselines; may be NULL
 * Status:    FX8_ERR_INPUT: no UVH5, fewer than two channels, no cross
 *            baselines or parallel products, positions that are not known or a
 *            direction that is not; FX8_ERR_SYSTEM: memory
 * Ownership: fx8_fringes_clear() releases them, also after a failure
 * Notes: 1) visibilities are divided by the roots of the mean autos, per
 *           channel, if the file has autos
 *        2) baselines are read in blocks of at most 256 MiB; where a baseline
 *           has more than 2^20 cells, dumps are averaged first, then channels
 */
enum fx8_status fx8_fringes_read(const char *path,
                                 const struct fx8_fringe_direction *direction,
                                 struct fx8_progress_display *progress,
                                 struct fx8_fringes *fringes,
                                 struct fx8_error *error);

/** Release; zeroed fringes are legal. */
void fx8_fringes_clear(struct fx8_fringes *fringes);

/**
 * fx8_fringes_solve -- the antennas, polarisation by polarisation.
 *
 * Given:    reference  number of the antenna that has delay, rate and phase 0;
 *                      NULL: the one with the highest signal to noise
 * Status:   FX8_ERR_USAGE: no such antenna; FX8_ERR_INPUT: no fringe is above
 *           the threshold, or none on baselines of the reference; or no source
 *           dominates, FX8_FRINGE_PHASE_ERROR
 */
enum fx8_status fx8_fringes_solve(struct fx8_fringes *fringes,
                                  const int64_t *reference,
                                  struct fx8_error *error);

/**
 * fx8_fringe_solve -- the antennas in one polarisation, by least squares.
 *
 * Given:    n_antennas
 *           items      [n] of one polarisation or all; is_used is set
 *           reference  position
 * Returned: solution   its antennas [n_antennas]
 * Numerics: 1) starts from the baselines whose triangles close best and from
 *              what most baselines of an antenna agree on, so that bad ones do
 *              not matter while they are a minority; then those with a residual
 *              beyond FX8_FRINGE_SIGMAS errors are rejected
 *           2) errors are those of the noise, of a strong source as well: its
 *              part that all baselines of an antenna share cannot be averaged
 *              out.  Where most residuals are larger than twice the noise (more
 *              than one source, say), the error that explains them is added.
 *              chi-square is that of the noise alone: 1 per degree of freedom
 *              where nothing else is at work
 *           3) amplitudes: log |V_ij| = a_i + a_j, with geometric mean 1; they
 *              remain 1 without a triangle of baselines, or where an error
 *              exceeds FX8_FRINGE_AMPLITUDE_ERROR
 */
enum fx8_status fx8_fringe_solve(size_t n_antennas, size_t n,
                                 struct fx8_fringe *items, size_t polarization,
                                 size_t reference,
                                 struct fx8_fringe_solution *solution,
                                 struct fx8_error *error);

/** Letter of a polarisation: X, Y, R or L. */
char fx8_fringes_letter(const struct fx8_fringes *fringes, size_t polarization);

/** Whether an antenna and polarisation has a solution. */
static inline bool fx8_fringes_has(const struct fx8_fringes *fringes,
                                   size_t antenna, size_t polarization)
{
    const struct fx8_fringe_solution *solution =
        &fringes->solutions[polarization];
    return solution->n_solved > 0 && solution->antennas[antenna].is_solved;
}

/** Print the tables for people. */
void fx8_fringes_print(const struct fx8_fringes *fringes, FILE *stream);

/** Print everything as JSON. */
void fx8_fringes_print_json(const struct fx8_fringes *fringes, FILE *stream);

#endif
