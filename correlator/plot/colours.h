/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * colours.h -- colours of pages: maps whose equal steps look equal, and a
 * palette that colour-blind readers can tell apart.
 */
#ifndef FX8_CORRELATOR_PLOT_COLOURS_H
#define FX8_CORRELATOR_PLOT_COLOURS_H

#include <stddef.h>
#include <stdint.h>

/** Colours with a meaning. */
#define FX8_COLOUR_INK   0x222222
#define FX8_COLOUR_FAINT 0x6b6b6b
#define FX8_COLOUR_FRAME 0x9a9a9a
#define FX8_COLOUR_GRID  0xe4e4e4
#define FX8_COLOUR_BLANK 0xececec /**< cells without a value */
#define FX8_COLOUR_BAD   0xc1121f /**< what looks wrong */

/** A map from [0, 1] to colours; values beyond are clamped. */
enum fx8_colour_map {
    FX8_MAP_AMPLITUDE = 0, /**< dark blue, green, yellow */
    FX8_MAP_CYCLE,         /**< hues of one lightness; 0 and 1 are the same */
    FX8_MAP_SHARE          /**< as the first, but 0 is FX8_COLOUR_BLANK */
};

/**
 * fx8_colour_at -- a colour of a map; FX8_COLOUR_BLANK for NaN.
 *
 * Source: amplitude: viridis (S. van der Walt, N. Smith, CC0), as a polynomial
 *         of degree 6 in each colour, fitted by M. Zucker (public domain,
 *         shadertoy.com/view/WlfXRN), within 0.01.
 *         cycle: a circle in Oklab (B. Ottosson, 2020, public domain)
 */
uint32_t fx8_colour_at(enum fx8_colour_map map, double value);

/** Colour of the series `index` of `n`: of Okabe and Ito's palette, of six more
 *  that differ from it, or spread over a map if they are many. */
uint32_t fx8_colour_of(size_t index, size_t n);

#endif
