/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * png.h -- a PNG image in memory.
 */
#ifndef FX8_CORRELATOR_PLOT_PNG_H
#define FX8_CORRELATOR_PLOT_PNG_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"

/**
 * fx8_png_encode -- write an image of 8-bit red, green, blue.
 *
 * Given:    pixels       [n_rows][n_columns][3], first row on top
 * Returned: bytes, size  the caller frees; NULL after failure
 * Status:   FX8_ERR_SYSTEM when memory is short
 * Source:   Portable Network Graphics, third edition, W3C 2025
 */
enum fx8_status fx8_png_encode(const uint8_t *pixels, size_t n_columns,
                               size_t n_rows, uint8_t **bytes, size_t *size,
                               struct fx8_error *error);

#endif
