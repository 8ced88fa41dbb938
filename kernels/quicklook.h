/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook.h -- results for people to look at, from the visibilities of a
 * dump: coherences, amplitudes and phases in half precision, spectra in dB, and
 * the Fisher-averaged coherence of every baseline over the whole run.
 */
#ifndef FX8_KERNELS_QUICKLOOK_H
#define FX8_KERNELS_QUICKLOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "kernels/engine.h"
#include "kernels/functions.h"
#include "kernels/postprocess.h"
#include "kernels/quicklook_work.h"

/** In fast mode, the first and every 16th dump are also evaluated in IEEE
 *  mode. */
#define FX8_QUICKLOOK_CHECK_DUMPS 16

/** Such a check covers all spectra and every baseline; if there are more than
 *  twice this many baselines, at least this many, evenly spaced. */
#define FX8_QUICKLOOK_CHECK_BASELINES 64

/** Sizes and choices; the caller owns arrays and tables and keeps them until
 *  the quick-look is closed. */
struct fx8_quicklook_plan {
    size_t n_products, n_inputs, n_baselines;
    size_t n_channels;                  /**< of the visibilities */
    const struct fx8_product *products; /**< [n_baselines][n_products] */
    /** Independent products in a cell of weight 1: spectra per dump x channels
     *  averaged / fx8_filterbank_overlap(). */
    double products_per_cell;
    size_t band_channels; /**< of one band of the visibilities; 0: all */
    /** The channel of each band whose spectra are real (channel 0 of real
     *  samples): it is not averaged; n_channels: none. */
    size_t real_channel;
    size_t channel_average; /**< gain channels per visibility channel */
    enum fx8_functions_mode mode;
    const struct fx8_functions *functions; /**< [FX8_N_FUNCTIONS_MODES] */
    const struct fx8_half_functions *half;
    struct fx8_threads threads;
    bool is_on_device; /**< fx8_quicklook_process_on() is used: the bounds of
                            the modes' differences are the device's */
};

struct fx8_quicklook;

/**
 * fx8_quicklook_open -- allocate tables and sums.
 *
 * Returned: quicklook  fx8_quicklook_close() releases it
 * Status:   FX8_ERR_SYSTEM: memory; FX8_ERR_USAGE: an input without an auto,
 *           more than 4 products
 */
enum fx8_status fx8_quicklook_open(const struct fx8_quicklook_plan *plan,
                                   struct fx8_quicklook **quicklook,
                                   struct fx8_error *error);

/** Bytes that fx8_quicklook_open() allocates, SIZE_MAX on overflow. */
size_t fx8_quicklook_size(const struct fx8_quicklook_plan *plan);

/** Set products_per_cell for the dumps to come, which may be shorter. */
void fx8_quicklook_set_products(struct fx8_quicklook *quicklook,
                                double products_per_cell);

/**
 * fx8_quicklook_process -- process the next dump.
 *
 * Given:    visibilities  results of fx8_postprocess_*()
 *           gain          [n_inputs][n_channels * channel_average], the
 *                         quantiser gains used for them, or NULL
 * Returned: results       all elements set; see fx8.h
 * Numerics: rho is V rsqrt(P_1) rsqrt(P_2), each product rounded to float; the
 *           amplitude sqrt(re^2 + im^2), in fast mode p rsqrt(p), 0 where p is
 *           below the least normal float; stored values are rounded once more,
 *           to half.  Apart from the errors of the functions
 *           (kernels/numeric/bounds.h), results are equal on every machine
 * Notes:    1) bits do not depend on the number of threads
 *           2) unusual cells: see struct fx8_quicklook_counts; autos are not
 *              checked for |rho| > 1
 *           3) the average takes unflagged cells, in the order of dumps and
 *              channels; flagged cells keep their values
 */
void fx8_quicklook_process(struct fx8_quicklook *quicklook,
                           const struct fx8_result *visibilities,
                           const float *gain,
                           const struct fx8_quicklook_dump *results);

/**
 * fx8_quicklook_process_on -- process the next dump, with an engine evaluating
 * its cells.
 *
 * Given:    consume, engine  evaluates cells; see struct fx8_quicklook_work
 * Returned: as fx8_quicklook_process()
 * Status:   as consume()
 * Notes:    the host computes levels and scales of the inputs (N, against
 *           N (N + 1) / 2 baselines): rho is equal to the bit on every engine
 */
enum fx8_status fx8_quicklook_process_on(
    struct fx8_quicklook *quicklook, fx8_engine_consume *consume,
    struct fx8_engine *engine, const struct fx8_result *visibilities,
    const float *gain, const struct fx8_quicklook_dump *results,
    struct fx8_error *error);

/**
 * fx8_quicklook_averages -- Fisher averages over all dumps so far.
 *
 * Given:    inflation  see fx8_fisher_average()
 * Returned: averages   [n_baselines][n_products]
 */
void fx8_quicklook_averages(const struct fx8_quicklook *quicklook,
                            double inflation,
                            struct fx8_quicklook_average *averages);

/** Counts and differences over all dumps so far. */
void fx8_quicklook_report(const struct fx8_quicklook *quicklook,
                          struct fx8_quicklook_counts *counts,
                          struct fx8_quicklook_differences *differences);

/** Release and null the handle; a NULL handle is legal. */
void fx8_quicklook_close(struct fx8_quicklook **quicklook);

#endif
