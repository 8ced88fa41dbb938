/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook_work.h -- one dump of a quick-look after the scales of its inputs
 * are known: the argument of an engine's consume().
 */
#ifndef FX8_KERNELS_QUICKLOOK_WORK_H
#define FX8_KERNELS_QUICKLOOK_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "kernels/fisher.h"
#include "kernels/functions.h"
#include "kernels/postprocess.h"
#include "kernels/quicklook_cell.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The cells of a dump and their results; the caller owns the memory.
 *
 * Given:    products   [n_baselines][n_products]
 *           is_real    [n_channels] whether the spectra of a channel are real:
 *                      such a channel is not averaged
 *           power, weight, steps, scale  float [n_inputs][n_channels]: P of the
 *                      auto; its nsamples; steps of struct fx8_fisher_cell or
 *                      FX8_QUICKLOOK_LOUD; rsqrt(P) in each mode, 0 without
 *                      power.  scale[FAST] in mode FAST only, both if
 *                      check_stride is not 0
 *           in         visibilities of the dump
 * Changed:  sums       [n_baselines][n_products], cells added in the order of
 *                      channels; pairs likewise, for baselines evaluated in
 *                      both modes; NULL if check_stride is 0
 *           counts     counts of cells are added; the caller counts spectra and
 *                      n_cells
 *           differences  maxima of coherence, amplitude and phase
 * Returned: out        coherence, amplitude, phase; not spectra_db
 * Numerics: amplitude, phase, root and atanh have the errors of the device's
 *           functions, in `bounds`; everything else is equal to the host to
 *           the bit
 */
struct fx8_quicklook_work {
    size_t n_products, n_inputs, n_baselines, n_channels;
    float products_per_cell;
    enum fx8_functions_mode mode;
    size_t check_stride; /**< stride of baselines evaluated in both modes; 0:
                              none */
    struct fx8_quicklook_bounds bounds;
    const struct fx8_product *products;
    const uint8_t *is_real;
    const float *power, *weight, *steps;
    const float *scale[FX8_N_FUNCTIONS_MODES];
    struct fx8_result in;
    struct fx8_quicklook_dump out;
    struct fx8_fisher_sums *sums;
    struct fx8_quicklook_pair *pairs;
    struct fx8_quicklook_counts *counts;
    struct fx8_quicklook_differences *differences;
};

#ifdef __cplusplus
}
#endif

#endif
