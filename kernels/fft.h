/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fft.h -- FFTs of the filter bank and of the simulator.
 */
#ifndef FX8_KERNELS_FFT_H
#define FX8_KERNELS_FFT_H

#include <stdbool.h>
#include <stddef.h>

#include "correlator/fx8.h"
#include "kernels/operations.h"

/** One plan.  Length, batch, alignment and padding are fixed, so the bits of a
 *  spectrum depend only on its samples and its place in the batch. */
struct fx8_fft;

enum fx8_fft_kind {
    FX8_FFT_COMPLEX = 0,     /**< cf32, exp(-2 pi i k n / N), not in place */
    FX8_FFT_REAL,            /**< float -> cf32, bins 0 .. N/2, in place */
    FX8_FFT_INVERSE_COMPLEX, /**< exp(+...), unscaled, in place */
    FX8_FFT_INVERSE_REAL     /**< cf32 bins 0 .. N/2 -> float, unscaled */
};

/**
 * fx8_fft_open -- plan `batch` transforms of `length`.
 *
 * Given:    kind, length, batch
 *           measure  time several algorithms (FFTW_MEASURE) instead of
 *                    estimating (FFTW_ESTIMATE)
 * Returned: fft      fx8_fft_close() releases it
 * Status:   FX8_ERR_SYSTEM when memory is short, FX8_ERR_USAGE for a length
 *           or batch of 0 or beyond INT_MAX
 * Notes:    planning is serialised; executing is thread-safe on distinct data
 */
enum fx8_status fx8_fft_open(enum fx8_fft_kind kind, size_t length,
                             size_t batch, bool measure, struct fx8_fft **fft,
                             struct fx8_error *error);

/** Floats between the starts of two transforms of a batch: a multiple of 16 but
 *  not of 256, at least 2 * length (complex) or 2 * (length/2 + 1) (real). */
size_t fx8_fft_stride(const struct fx8_fft *fft);

/** fx8_fft_stride() without a plan. */
size_t fx8_fft_stride_of(enum fx8_fft_kind kind, size_t length);

/** Floats of memory that fx8_fft_execute() needs: batch * stride, twice that
 *  if not in place. */
size_t fx8_fft_size(const struct fx8_fft *fft);

/** fx8_fft_size() without a plan; SIZE_MAX on overflow. */
size_t fx8_fft_size_of(enum fx8_fft_kind kind, size_t length, size_t batch);

/** Execute on data [batch][stride], 64-byte aligned, at the start of
 *  fx8_fft_size() floats.  Returns the results [batch][stride]: data itself or,
 *  if not in place, the second half; only the kind decides. */
float *fx8_fft_execute(const struct fx8_fft *fft, float *data);

/** Release a plan and null the handle; a NULL handle is legal. */
void fx8_fft_close(struct fx8_fft **fft);

/** Spectra per FFT batch: a power of two in [1, FX8_GROUP], a function of the
 *  length alone (about 2 MiB of work memory at most). */
size_t fx8_fft_batch(size_t length);

#endif
