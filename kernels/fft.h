/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fft.h -- forward FFTs of the filter bank and of the simulator.
 */
#ifndef FX8_KERNELS_FFT_H
#define FX8_KERNELS_FFT_H

#include <stdbool.h>
#include <stddef.h>

#include "correlator/fx8.h"
#include "kernels/operations.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One plan: fixed length, batch, alignment and padding, so that a spectrum's
 *  bits depend on its samples and its place in the batch alone. */
struct fx8_fft;

enum fx8_fft_kind {
    FX8_FFT_COMPLEX = 0,     /**< cf32 -> cf32, exp(-2 pi i k n / N), apart */
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

/** The same of a transform that is not open. */
size_t fx8_fft_stride_of(enum fx8_fft_kind kind, size_t length);

/** Floats that the memory of fx8_fft_execute() must have: batch * stride, twice
 *  that where the results are apart. */
size_t fx8_fft_size(const struct fx8_fft *fft);

/** The same of a batch that is not open; SIZE_MAX on overflow. */
size_t fx8_fft_size_of(enum fx8_fft_kind kind, size_t length, size_t batch);

/** Execute on data [batch][stride], 64-byte aligned, the beginning of
 *  fx8_fft_size() floats.  Returns where the results [batch][stride] are: at
 *  data itself or, apart, behind it; which depends on the kind alone. */
float *fx8_fft_execute(const struct fx8_fft *fft, float *data);

/** Release a plan and null the handle; a NULL handle is legal. */
void fx8_fft_close(struct fx8_fft **fft);

/** Spectra per FFT batch for a length: a power of two in [1, FX8_GROUP], a
 *  function of the length alone (work of at most about 2 MiB). */
size_t fx8_fft_batch(size_t length);

#ifdef __cplusplus
}
#endif

#endif
