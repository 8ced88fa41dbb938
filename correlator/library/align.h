/* SPDX-License-Identifier: BSD-3-Clause */
/* align.h -- samples of a block in the order of the filter. */
#ifndef FX8_CORRELATOR_LIBRARY_ALIGN_H
#define FX8_CORRELATOR_LIBRARY_ALIGN_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/library/stream.h"

/**
 * fx8_align -- copy the samples of a block into rows, one for each input, in
 * time order.
 *
 * Given:    shape       inputs, bytes of a sample, threads
 *           block       samples, their layout and number
 *           row_stride  bytes from row to row
 * Returned: rows        [n_inputs][n_samples], row_stride apart
 */
void fx8_align(const struct fx8_stream_shape *shape,
               const struct fx8_block *block, int8_t *rows, size_t row_stride);

#endif
