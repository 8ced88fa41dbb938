/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * axes.h -- the axes of a fringe search: dumps or channels, gathered in cells
 * at equal steps as a Fourier transform needs them.
 */
#ifndef FX8_CORRELATOR_FRINGE_AXES_H
#define FX8_CORRELATOR_FRINGE_AXES_H

#include <stddef.h>

#include "correlator/fx8.h"

/** Most cells of a baseline. */
#define FX8_FRINGE_CELLS ((size_t)1 << 20)

/** Cells of time that are kept while channels could be averaged instead. */
#define FX8_FRINGE_TIMES 64

/** An axis. */
struct fx8_fringe_axis {
    size_t n_items;   /**< dumps or channels */
    size_t *cell;     /**< [n_items] where each goes */
    size_t n;         /**< cells; some may be empty */
    double step;      /**< from cell to cell */
    double centre;    /**< mean position of the items */
    double *position; /**< [n] mean of the items of a cell, less the centre; 0
                           for a cell without items */
};

/**
 * fx8_fringe_axes_open -- lay out both axes.
 *
 * Given:     n_times, times_s          in order
 *            n_channels, channels_hz   in order; gaps are legal
 * Status:    FX8_ERR_SYSTEM: memory
 * Ownership: fx8_fringe_axis_clear() releases each, also after a failure
 * Notes:     at most FX8_FRINGE_CELLS together: neighbours in time share a cell
 *            until FX8_FRINGE_TIMES are left, then those in frequency
 */
enum fx8_status fx8_fringe_axes_open(size_t n_times, const double *times_s,
                                     size_t n_channels,
                                     const double *channels_hz,
                                     struct fx8_fringe_axis *time,
                                     struct fx8_fringe_axis *frequency,
                                     struct fx8_error *error);

/** Release; a zeroed axis is legal. */
void fx8_fringe_axis_clear(struct fx8_fringe_axis *axis);

#endif
