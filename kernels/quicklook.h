/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook.h -- what people look at, from the visibilities of a dump:
 * coherences, amplitudes and phases in half precision, spectra in dB, and the
 * Fisher-averaged coherence of every baseline over the whole run.
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

#ifdef __cplusplus
extern "C" {
#endif

/** In fast mode the first dump and every 16th are evaluated in IEEE mode
 *  too … */
#define FX8_QUICKLOOK_CHECK_DUMPS 16

/** … all spectra of it, and every baseline or, where there are more than
 *  twice this many, evenly spaced ones, at least this many. */
#define FX8_QUICKLOOK_CHECK_BASELINES 64

/** Sizes and choices; arrays and tables belong to the caller, who keeps them
 *  until the quick-look is closed. */
struct fx8_quicklook_plan {
    size_t n_products, n_inputs, n_baselines;
    size_t n_channels;                  /**< of the visibilities */
    const struct fx8_product *products; /**< [n_baselines][n_products] */
    /** Independent products in a cell of weight 1: spectra per dump x channels
     *  averaged / fx8_filterbank_overlap(). */
    double products_per_cell;
    size_t band_channels; /**< of one band of the visibilities; 0: all */
    /** The channel of a band whose spectra are real, the first of real samples:
     *  it is not averaged; n_channels: none. */
    size_t real_channel;
    size_t channel_average; /**< channels of the gains in one */
    enum fx8_functions_mode mode;
    const struct fx8_functions *functions; /**< [FX8_N_FUNCTIONS_MODES] */
    const struct fx8_half_functions *half;
    size_t n_threads;
    bool pin_threads;
    bool is_on_device; /**< fx8_quicklook_process_on(): whose functions the
                            differences of the modes are judged by */
};

struct fx8_quicklook;

/**
 * fx8_quicklook_open -- memory for tables and sums.
 *
 * Returned: quicklook  fx8_quicklook_close() releases it
 * Status:   FX8_ERR_SYSTEM: memory; FX8_ERR_USAGE: an input without an auto,
 *           more than 4 products
 */
enum fx8_status fx8_quicklook_open(const struct fx8_quicklook_plan *plan,
                                   struct fx8_quicklook **quicklook,
                                   struct fx8_error *error);

/** Bytes that fx8_quicklook_open() allocates, SIZE_MAX where they overflow. */
size_t fx8_quicklook_size(const struct fx8_quicklook_plan *plan);

/**
 * fx8_quicklook_process -- the next dump.
 *
 * Given:    visibilities  results of fx8_postprocess_*()
 *           gain          [n_inputs][n_channels * channel_average] of the
 *                         quantiser behind them, or NULL
 * Returned: results       all elements set; see fx8.h
 * Numerics: rho is V rsqrt(P_1) rsqrt(P_2), each product rounded to float; the
 *           amplitude sqrt(re^2 + im^2), in fast mode p rsqrt(p), 0 where p is
 *           below the least normal float; stored values are rounded once more,
 *           to half.  Everything but the functions' own errors
 *           (kernels/numeric/bounds.h) is equal on every machine
 * Notes:    1) independent of threads to the last bit
 *           2) cells out of the ordinary: see struct fx8_quicklook_counts; an
 *              input times itself is not judged for |rho| > 1
 *           3) averaged are cells that are not flagged, in the order of dumps
 *              and channels; flagged ones keep their values
 */
void fx8_quicklook_process(struct fx8_quicklook *quicklook,
                           const struct fx8_result *visibilities,
                           const float *gain,
                           const struct fx8_quicklook_dump *results);

/**
 * fx8_quicklook_process_on -- the next dump, its cells evaluated by an engine.
 *
 * Given:    consume, engine  evaluates cells; see struct fx8_quicklook_work
 * Returned: as fx8_quicklook_process()
 * Status:   that of consume()
 * Notes:    levels and scales of the N inputs, beside N (N + 1) / 2 baselines,
 *           are the host's: rho is the same to the bit on every engine
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

#ifdef __cplusplus
}
#endif

#endif
