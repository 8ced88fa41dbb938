/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * channelize.h -- the F stage on the device: int8 samples in, spectra in the
 * layout of the correlators (layout.h) out.
 *
 *     fx8_cuda_fir or fx8_cuda_fir_int16    samples -> folded
 *     cuFFT, batched                        folded -> bins
 *     fx8_cuda_moments, if planned          bins -> moments
 *     fx8_cuda_corner_turn                  bins -> spectra
 *
 * fx8_cuda_gather replaces the others if the recorded integers are the spectra
 * (method none).
 *
 * Notes: 1) every function queues on `stream` of the current device and
 *           returns; arrays are in that device's memory
 *        2) a job of size zero is legal and does nothing
 *        3) a block may be processed in parts, by inputs and by spectra: a job
 *           points to the samples and bins of its part; first_input and
 *           first_time are its place in the block
 *        4) results equal the CPU's (kernels/operations.h) bit for bit, given
 *           the same input
 * Status: of all functions: the error of the launch; cudaErrorInvalidValue for
 *         a job that breaks a rule stated at its struct
 */
#ifndef FX8_KERNELS_CUDA_CHANNELIZE_H
#define FX8_KERNELS_CUDA_CHANNELIZE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/launch.h"
#include "kernels/engine.h"

/** Most numbers of a row, and most spectra of a job; inputs: 65535. */
#define FX8_CUDA_MOST_ITEMS ((size_t)1 << 30)

/**
 * The FIR of n_inputs inputs.
 *
 * samples:  int8, input i at samples + i * row_stride (bytes), each
 *           (n_spectra + n_taps - 1) * row of them; any alignment
 * rotation: [n_inputs][rotation_stride], item g for spectra g * FX8_GROUP on:
 *           they begin `shift` samples later.  Up to FX8_CUDA_FIR_BEYOND bytes
 *           after the last sample are read.  NULL: no shifts
 * folded:   float [n_inputs][n_spectra][folded_stride], of which the first
 *           `row` numbers of each row are written: the output of the operation
 *           fir or fir_int16
 *
 * Notes: fastest if samples, row_stride and row are multiples of 4, folded of
 *        16 bytes, folded_stride of 4 floats
 */
struct fx8_cuda_fir_job {
    const int8_t *samples;
    size_t row_stride;
    size_t n_inputs;
    size_t n_spectra;
    size_t n_taps; /**< 1 .. FX8_MAX_TAPS */
    size_t row;    /**< fx8_filterbank_row() */
    float *folded;
    size_t folded_stride; /**< at least row */
    const struct fx8_rotation *rotation;
    size_t rotation_stride;
    size_t sample_size; /**< bytes: 1 real, 2 complex; for shifts */
};

/** Bytes after shifted samples that must be readable. */
#define FX8_CUDA_FIR_BEYOND 4

/** The operation fir; coefficients: float [n_taps][row]. */
cudaError_t fx8_cuda_fir(const struct fx8_cuda_fir_job *job,
                         const float *coefficients, cudaStream_t stream);

/** The operation fir_int16: exact integers by DP2A, one scale; coefficients:
 *  int16 [n_taps][row]. */
cudaError_t fx8_cuda_fir_int16(const struct fx8_cuda_fir_job *job,
                               const int16_t *coefficients, float scale,
                               cudaStream_t stream);

/**
 * The spectra of a block in the layout of layout.h, or of a call, starting at
 * one of its blocks.
 *
 * int8, fp32: the arrays, each may be NULL; aligned to 16 bytes
 */
struct fx8_cuda_spectra {
    int8_t *int8;
    float *fp32;
    size_t n_inputs;   /**< of the block */
    size_t n_channels; /**< of the block */
    size_t n_times;    /**< of the whole array, from fx8_cuda_times() */
};

/**
 * Place and validity of a part of a block.
 *
 * valid: uint64 [inputs of the block][valid_words], bit t: time t of the block
 *        is valid; others become zero.  NULL: all are valid
 *
 * Notes: time first_time + s is spectrum s of the part; times from
 *        first_time + n_spectra to end_time become zero
 */
struct fx8_cuda_part {
    size_t first_input;
    size_t n_inputs;
    size_t first_time; /**< a multiple of FX8_CUDA_TIMES_INT8 */
    size_t n_spectra;
    size_t end_time; /**< likewise; at least first_time + n_spectra */
    const uint64_t *valid;
    size_t valid_words; /**< at least fx8_bit_words(end of the spectra) */
};

/**
 * The step after the FFT.
 *
 * bins:     cf32 [part.n_inputs][part.n_spectra][bins_stride], the bins of the
 *           FFT in its order
 * rotation: [inputs of the block][rotation_stride], by groups of the block;
 *           NULL: none
 * gain:     float [inputs of the block][n_channels]
 * clips:    uint64 [inputs of the block][n_channels]: the number of valid
 *           spectra with a component beyond +-127 is added; only int8 uses
 *           gain, clips and dither
 * dither:   of the block: its input is 0, its spectrum a multiple of
 *           FX8_DITHER_SPECTRA
 */
struct fx8_cuda_corner_turn_job {
    struct fx8_filterbank bank;
    struct fx8_cuda_part part;
    const struct fx8_cf32 *bins;
    size_t bins_stride; /**< in cf32, at least fx8_filterbank_bins() */
    const struct fx8_rotation *rotation;
    size_t rotation_stride;
    const float *gain;
    unsigned long long *clips;
    bool has_dither;
    struct fx8_dither dither;
};

/**
 * fx8_cuda_corner_turn -- choose channels, rotate, gain, dither, round half to
 * even, clamp to +-127, mask, corner turn.
 *
 * Returned: spectra  the times [first_time, end_time) of the part's inputs,
 *                    all channels; spectra.n_channels is bank.n_channels
 * Numerics: equal to the operations quantise and corner_turn bit for bit
 */
cudaError_t fx8_cuda_corner_turn(const struct fx8_cuda_corner_turn_job *job,
                                 const struct fx8_cuda_spectra *spectra,
                                 cudaStream_t stream);

/**
 * Moments of spectra, which are bins as in fx8_cuda_corner_turn_job or, if
 * bins is NULL, samples as for fx8_cuda_gather().
 *
 * moments: double [inputs of the block][2][n_channels]: the sums of |X|^2 and
 *          of |X|^4 of the valid spectra, X before rotation and gain, are
 *          added
 */
struct fx8_cuda_moments_job {
    struct fx8_cuda_part part;
    struct fx8_filterbank bank;
    const struct fx8_cf32 *bins;
    size_t bins_stride;
    const int8_t *samples;
    size_t row_stride;
    double *moments;
};

/**
 * fx8_cuda_moments -- add the moments of a part.
 *
 * Numerics: a power is rounded as the CPU rounds it, to float; sums are double.
 *           Parts of the same block, one after the other, give the same bits
 *           whatever their sizes
 */
cudaError_t fx8_cuda_moments(const struct fx8_cuda_moments_job *job,
                             cudaStream_t stream);

/**
 * fx8_cuda_gather -- recorded ci8 samples as the spectra of one channel.
 *
 * Given:    samples  int8 pairs, input i of the part at samples +
 *                    i * row_stride (bytes), n_spectra of them; any alignment
 * Returned: spectra  as fx8_cuda_corner_turn; n_channels is 1
 */
cudaError_t fx8_cuda_gather(const struct fx8_cuda_part *part,
                            const int8_t *samples, size_t row_stride,
                            const struct fx8_cuda_spectra *spectra,
                            cudaStream_t stream);

/**
 * fx8_cuda_import -- spectra in canonical order, of a whole block.
 *
 * Given:    part   first_input, first_time 0, n_inputs those of the block
 *           int8   ci8  [n_channels][n_spectra][n_inputs]; NULL: zeros
 *           fp32   cf32 [n_channels][n_spectra][n_inputs]; NULL: zeros
 * Returned: spectra  the times before end_time of each array that is not NULL
 */
cudaError_t fx8_cuda_import(const struct fx8_cuda_part *part,
                            const struct fx8_ci8 *int8,
                            const struct fx8_cf32 *fp32,
                            const struct fx8_cuda_spectra *spectra,
                            cudaStream_t stream);

/**
 * fx8_cuda_export -- the reverse.
 *
 * Given:    n_spectra  of the block, at most spectra.n_times
 * Returned: int8, fp32  shapes as for import; NULL: not exported, else the
 *                       array in spectra must not be NULL
 */
cudaError_t fx8_cuda_export(const struct fx8_cuda_spectra *spectra,
                            size_t n_spectra, struct fx8_ci8 *int8,
                            struct fx8_cf32 *fp32, cudaStream_t stream);

#endif
