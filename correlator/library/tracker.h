/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tracker.h -- the delays and constant phases of a plan as shifts of samples
 * and phases of channels, group by group of spectra.
 *
 * Groups of FX8_GROUP spectra are counted from the start of a dump.  The delay
 * callback is evaluated at fixed instants, 20 s apart, with a cubic polynomial
 * between four of them; in a group a parabola replaces the polynomial.  So the
 * rotation of a spectrum depends only on its absolute index.
 *
 * Phase errors for a source at the pole of a baseline of length b, frequency f,
 * rotation w = 7.3e-5/s: the cubic (b / c) f w^4 (20 s)^4 / 24, the parabola
 * (b / c) f w^3 T^3 / 6 at T = 31 spectra from the start of a group.  At 100
 * km, 350 MHz and 0.1 s per spectrum 2.2e-8 and 2.3e-7 turn.
 */
#ifndef FX8_CORRELATOR_LIBRARY_TRACKER_H
#define FX8_CORRELATOR_LIBRARY_TRACKER_H

#include "correlator/fx8.h"
#include "kernels/filterbank.h"
#include "kernels/operations.h"

struct fx8_tracker;

/** Bytes that fx8_tracker_open() allocates; SIZE_MAX on overflow. */
size_t fx8_tracker_size(const struct fx8_axes *axes);

/** Open a tracker; copies what it needs of its arguments. */
enum fx8_status fx8_tracker_open(const struct fx8_plan *plan,
                                 const struct fx8_axes *axes,
                                 const struct fx8_filterbank *bank,
                                 struct fx8_tracker **tracker,
                                 struct fx8_error *error);

/**
 * fx8_tracker_rotations -- rotations of consecutive spectra of one dump.
 *
 * Given:    spectrum   index of the first in the run; the start of a group
 *           n_spectra
 * Returned: rotations  [n_bands][n_inputs][fx8_groups(n_spectra)]
 * Status:   FX8_ERR_USAGE: a delay beyond most_s; any failure of the callback
 */
enum fx8_status fx8_tracker_rotations(struct fx8_tracker *tracker,
                                      int64_t spectrum, size_t n_spectra,
                                      struct fx8_rotation *rotations,
                                      struct fx8_error *error);

/** Shifts of any consecutive spectra, int32 [n_inputs][n_spectra], the same as
 *  in their rotations. */
enum fx8_status fx8_tracker_shifts(struct fx8_tracker *tracker,
                                   int64_t spectrum, size_t n_spectra,
                                   int32_t *shifts, struct fx8_error *error);

/** Release and null the handle; a NULL handle is legal. */
void fx8_tracker_close(struct fx8_tracker **tracker);

#endif
