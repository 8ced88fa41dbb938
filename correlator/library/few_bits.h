/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * few_bits.h -- the correction of samples of a few bits (kernels/van_vleck.h):
 * counts the values of the samples of a dump, and corrects its visibilities.
 */
#ifndef FX8_CORRELATOR_LIBRARY_FEW_BITS_H
#define FX8_CORRELATOR_LIBRARY_FEW_BITS_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/library/stream.h"
#include "kernels/postprocess.h"
#include "kernels/van_vleck.h"

/** Counters of a row: of each value of the real and of the imaginary part. */
#define FX8_ROW_VALUES (2 * FX8_INT8_VALUES)

struct fx8_few_bits;

/** Bytes that fx8_few_bits_open() allocates, SIZE_MAX on overflow; 0 without
 *  the plan's van_vleck. */
size_t fx8_few_bits_size(const struct fx8_plan *plan, size_t n_rows);

/** Open for the plan's van_vleck, else NULL is returned; the plan's threads are
 *  counted.  FX8_ERR_SYSTEM: memory. */
enum fx8_status fx8_few_bits_open(const struct fx8_plan *plan, size_t n_rows,
                                  struct fx8_few_bits **few_bits,
                                  struct fx8_error *error);

/** Count the samples of the valid spectra among the first n_spectra of the
 *  stream.  `valid` [n_rows][words].  FX8_ERR_USAGE: an input has more values
 *  than 4 bits can have. */
enum fx8_status fx8_few_bits_count(struct fx8_few_bits *few_bits,
                                   const struct fx8_stream *stream,
                                   const uint64_t *valid, size_t n_spectra,
                                   struct fx8_error *error);

/** Counters since the last fx8_few_bits_measure(), [n_rows][FX8_ROW_VALUES]:
 *  those of the parts of a dump add up. */
int64_t *fx8_few_bits_counts(struct fx8_few_bits *few_bits);

/** A dump has ended: measure how its samples are quantised, and count anew.
 *  Status as for fx8_few_bits_count(). */
enum fx8_status fx8_few_bits_measure(struct fx8_few_bits *few_bits,
                                     struct fx8_error *error);

/** Correct results of a band, by what was measured.  `plan` and `result` are
 *  those of the band, or of a slice; first_row is the row of its first input.
 */
void fx8_few_bits_correct(const struct fx8_few_bits *few_bits, size_t first_row,
                          const struct fx8_postprocess *plan,
                          const struct fx8_result *result);

/** Release and null the handle; a NULL handle is legal. */
void fx8_few_bits_close(struct fx8_few_bits **few_bits);

#endif
