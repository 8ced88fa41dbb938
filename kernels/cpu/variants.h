/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * variants.h -- where each file of kernel variants hands over its functions.
 *
 * A file holds one family of operations at one level (fir_avx2.c: the FIR,
 * compiled with AVX2).  Its fill function overrides the family's entries of a
 * table and touches nothing else; operations.c applies reference, avx2 and
 * avx512 in that order, so that a level inherits what it does not do faster.
 *
 * Notes: 1) a fill function is compiled with the flags of its file:
 *           operations.c calls it only where CPU detection allows the level
 *        2) on other architectures the avx2 and avx512 fills do nothing
 */
#ifndef FX8_KERNELS_CPU_VARIANTS_H
#define FX8_KERNELS_CPU_VARIANTS_H

#include "kernels/operations.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Entry gather. */
void fx8_fill_gather_reference(struct fx8_operations *operations);
void fx8_fill_gather_avx2(struct fx8_operations *operations);
void fx8_fill_gather_avx512(struct fx8_operations *operations);

/** Entry fir. */
void fx8_fill_fir_reference(struct fx8_operations *operations);
void fx8_fill_fir_avx2(struct fx8_operations *operations);
void fx8_fill_fir_avx512(struct fx8_operations *operations);

/** Entry fir_int16. */
void fx8_fill_fir_int16_reference(struct fx8_operations *operations);
void fx8_fill_fir_int16_avx2(struct fx8_operations *operations);
void fx8_fill_fir_int16_avx512(struct fx8_operations *operations);

/** Entries quantise and turn. */
void fx8_fill_quantise_reference(struct fx8_operations *operations);
void fx8_fill_quantise_avx2(struct fx8_operations *operations);
void fx8_fill_quantise_avx512(struct fx8_operations *operations);

/** Entries int8 and fp32. */
void fx8_fill_correlate_reference(struct fx8_operations *operations);
void fx8_fill_correlate_avx2(struct fx8_operations *operations);
void fx8_fill_correlate_avx512(struct fx8_operations *operations);

/** Entry count. */
void fx8_fill_count_reference(struct fx8_operations *operations);
void fx8_fill_count_avx2(struct fx8_operations *operations);
void fx8_fill_count_avx512(struct fx8_operations *operations);

/** Entry interval. */
void fx8_fill_interval_reference(struct fx8_operations *operations);
void fx8_fill_interval_avx2(struct fx8_operations *operations);
void fx8_fill_interval_avx512(struct fx8_operations *operations);

/** Entries functions and forms. */
void fx8_fill_functions_reference(struct fx8_operations *operations);
void fx8_fill_functions_avx2(struct fx8_operations *operations);
void fx8_fill_functions_avx512(struct fx8_operations *operations);

/** Form markstein of divide, after the other functions. */
void fx8_fill_divide_reference(struct fx8_operations *operations);
void fx8_fill_divide_avx2(struct fx8_operations *operations);
void fx8_fill_divide_avx512(struct fx8_operations *operations);

/** Entry half. */
void fx8_fill_half_reference(struct fx8_operations *operations);
void fx8_fill_half_avx2(struct fx8_operations *operations);
void fx8_fill_half_avx512(struct fx8_operations *operations);

/** The reference itself, for the edges that a variant does not cover; as the
 *  entries of the same name. */
void fx8_gather_reference(size_t n_inputs, size_t n_samples, size_t sample_size,
                          const int8_t *base, const ptrdiff_t *input_offset,
                          ptrdiff_t time_stride, int8_t *out,
                          size_t row_stride);
void fx8_fir_int16_reference(size_t n_spectra, size_t n_taps, size_t row,
                             const int8_t *samples, const int16_t *coefficients,
                             float scale, float *folded, size_t folded_stride);
void fx8_turn_reference(size_t n_spectra, size_t n_channels,
                        const struct fx8_cf32 *spectra, size_t spectrum_stride,
                        uint32_t valid, struct fx8_cf32 *out,
                        size_t channel_stride);

#ifdef __cplusplus
}
#endif

#endif
