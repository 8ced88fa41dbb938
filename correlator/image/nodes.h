/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodes.h -- the few frequencies that replace all channels of an image.
 *
 * In a direction whose delay on a baseline is tau, channels enter as sum of
 * V(f) exp(-2 pi i f tau).  In f this exponential is smooth: with |tau| at most
 * T over a band B it equals its polynomial through the values at n Chebyshev
 * nodes, n little more than pi B T.  So sums of V over channels, weighted by
 * Lagrange's polynomials, at the nodes give the same image as all channels.
 */
#ifndef FX8_CORRELATOR_IMAGE_NODES_H
#define FX8_CORRELATOR_IMAGE_NODES_H

#include <stddef.h>

#include "correlator/fx8.h"

/** Largest error of the exponential. */
#define FX8_IMAGE_NODE_ERROR 1e-7

/** The nodes. */
struct fx8_image_nodes {
    size_t n;
    double *hz;    /**< [n] */
    double *share; /**< [n_channels][n] of a channel in each node */
};

/**
 * fx8_image_nodes_open -- choose nodes: the channels themselves, unless fewer
 * will do.
 *
 * Given:     channels_hz  [n_channels]
 *            delay_s      T
 * Ownership: fx8_image_nodes_close() releases them, also after a failure
 * Numerics:  interpolation of degree n - 1 errs by at most 2 (pi B T / 2)^n /
 *            n!, made less than FX8_IMAGE_NODE_ERROR
 */
enum fx8_status fx8_image_nodes_open(size_t n_channels,
                                     const double *channels_hz, double delay_s,
                                     struct fx8_image_nodes *nodes,
                                     struct fx8_error *error);

/** Release; zeroed nodes are legal. */
void fx8_image_nodes_close(struct fx8_image_nodes *nodes);

#endif
