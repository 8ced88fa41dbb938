/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model.h -- what an input contributes to a visibility besides its fringe: the
 * way to a known source, and its level.
 */
#ifndef FX8_CORRELATOR_FRINGE_MODEL_H
#define FX8_CORRELATOR_FRINGE_MODEL_H

#include "correlator/fringe/fringe.h"
#include "correlator/run/celestial.h"

/** Factors of the inputs in a dump: a visibility is to be multiplied by
 *  conj(factor_i) factor_j. */
struct fx8_fringe_model {
    const struct fx8_uvh5_header *header;
    const struct fx8_compare_shape *shape;
    struct fx8_fringe_direction direction;
    struct fx8_earth_table *earth; /**< with the result's UT1 - UTC */
    struct fx8_celestial sky;
    double *scale;   /**< [n_inputs][n_channels] 1 / root of power; 0: dead */
    double *factors; /**< [n_inputs][n_channels][re, im] */
    bool is_known;   /**< the factors are those of every dump */
};

/** Allocate, with every scale 1.  FX8_ERR_INPUT: a direction is needed and not
 *  given, or given without positions.  fx8_fringe_model_close() releases, also
 *  after a failure. */
enum fx8_status fx8_fringe_model_open(
    const char *path, const struct fx8_uvh5_header *header,
    const struct fx8_compare_shape *shape,
    const struct fx8_fringe_direction *direction,
    struct fx8_fringe_model *model, struct fx8_error *error);

/** Release; a zeroed model is legal. */
void fx8_fringe_model_close(struct fx8_fringe_model *model);

/** Compute the factors of a dump. */
enum fx8_status fx8_fringe_model_set(struct fx8_fringe_model *model,
                                     size_t dump, struct fx8_error *error);

#endif
