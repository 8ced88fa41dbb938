/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * validity.h -- which spectra of a simulated recording have all their samples.
 */
#ifndef FX8_CORRELATOR_SIMULATE_VALIDITY_H
#define FX8_CORRELATOR_SIMULATE_VALIDITY_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/simulate/removed.h"
#include "correlator/simulate/simulator.h"

/** Bits of a segment of spectra, and what they follow from; owns nothing. */
struct fx8_validity {
    const struct fx8_simulator *simulator;
    struct fx8_removed *removed; /**< of the job: delays shift windows */
    const size_t *input_of;      /**< [recorded inputs] input of the job, or
                                      n_inputs: not correlated */
    uint64_t *valid;             /**< [n_inputs][n_words] */
    size_t n_words;
};

/** Set the bits of spectra first ... first + n - 1 of one dump, except where a
 *  sample of the window is missing or outside the recording. */
void fx8_validity_mark(const struct fx8_validity *validity, int64_t first,
                       int64_t n);

#endif
