/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * power.h -- |X|^2 of single spectra, for the level setting.  Levels are always
 * measured here, so the gains do not depend on the engine.
 *
 * The engine makes these spectra again: that costs less than to store them as
 * floats and read them back through the quantiser.
 */
#ifndef FX8_KERNELS_CPU_POWER_H
#define FX8_KERNELS_CPU_POWER_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "kernels/filterbank.h"
#include "kernels/operations.h"

struct fx8_power;

/**
 * fx8_power_open -- plan the transform of a single spectrum.
 *
 * Given:    bank, coefficients  as for an engine; coefficients are copied
 *           operations          their FIR is used; all give the same bits
 *           n_threads           threads that may measure at the same time
 * Status:   FX8_ERR_SYSTEM: memory
 */
enum fx8_status fx8_power_open(const struct fx8_filterbank *bank,
                               const float *coefficients,
                               const struct fx8_operations *operations,
                               size_t n_threads, struct fx8_power **power,
                               struct fx8_error *error);

/**
 * fx8_power_measure -- |X|^2 of one spectrum.
 *
 * Given:    samples  int8 [n_taps][row], the window of the spectrum
 *           thread   below n_threads; concurrent calls must differ in it
 * Returned: out      float [n_channels]
 *           the sum over all N bins, including bins that are not channels
 * Numerics: the rounding error of a spectrum is at most 16 times 2^-24 of its
 *           norm, the root of that sum
 */
float fx8_power_measure(const struct fx8_power *power, const int8_t *samples,
                        size_t thread, float *out);

/** Bytes that fx8_power_open() allocates for arrays; SIZE_MAX on overflow. */
size_t fx8_power_size(const struct fx8_filterbank *bank, size_t n_threads);

/** Release and null the handle; a NULL handle is legal. */
void fx8_power_close(struct fx8_power **power);

#endif
