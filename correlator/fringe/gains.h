/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gains.h -- fringes of antennas as gains of the next run, [array] gains.
 */
#ifndef FX8_CORRELATOR_FRINGE_GAINS_H
#define FX8_CORRELATOR_FRINGE_GAINS_H

#include "correlator/fringe/fringe.h"

/**
 * fx8_fringes_recall -- what a result already removed from its inputs.
 *
 * Given:    file    of the fringes; its datasets /fx8/calibration and
 *                   /fx8/cable_delay, and keyword DELAYMOD, may be absent
 * Returned: fringes->recorded
 * Status:   FX8_ERR_INPUT: a dataset of another shape, or with values that are
 *           no gains
 */
enum fx8_status fx8_fringes_recall(struct fx8_uvh5_file *file,
                                   const struct fx8_uvh5_header *header,
                                   struct fx8_fringes *fringes,
                                   struct fx8_error *error);

/**
 * fx8_fringes_gain -- the gain of a solved input as [array] gains takes it.
 *
 * Returned: gain  amplitude, phase_deg, delay_ns: E_recorded = amplitude
 *                 exp(i phase) exp(-2 pi i f delay) E_true at sky frequency f
 * Notes:    1) the gain that the result was divided by is part of it
 *           2) delay_ns comes on top of the table's cable delay, which modes
 *              cable and track remove: where the result did not (mode none), it
 *              is subtracted here
 */
void fx8_fringes_gain(const struct fx8_fringes *fringes, size_t antenna,
                      size_t polarization, double gain[3]);

/** Write the table that [array] gains reads: a row for every solved input. */
void fx8_fringes_print_gains(const struct fx8_fringes *fringes, FILE *stream);

#endif
