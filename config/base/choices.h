/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choices.h -- the alternatives that both the configuration and the library
 * offer, spelled once.
 */
#ifndef FX8_CONFIG_BASE_CHOICES_H
#define FX8_CONFIG_BASE_CHOICES_H

#ifdef __cplusplus
extern "C" {
#endif

/** How samples become channels. */
enum fx8_method {
    FX8_METHOD_PFB = 0, /**< polyphase filter bank: FIR and FFT */
    FX8_METHOD_FFT,     /**< plain FFT */
    FX8_METHOD_NONE     /**< one channel: the recorded integers */
};

/** Window of the prototype filter; AUTO: Hamming for PFB, else rectangular. */
enum fx8_window_shape {
    FX8_WINDOW_AUTO = 0,
    FX8_WINDOW_HAMMING,
    FX8_WINDOW_HANN,
    FX8_WINDOW_RECTANGULAR
};

/** Arithmetic of the FIR: floats, or integers with coefficients of 16 bits. */
enum fx8_fir { FX8_FIR_FP32 = 0, FX8_FIR_DP2A };

/** What one quantiser gain covers. */
enum fx8_level {
    FX8_LEVEL_CHANNEL = 0, /**< one gain per input and channel */
    FX8_LEVEL_INPUT        /**< one gain per input */
};

/** Precision of the correlation; bits, so that BOTH is INT8 | FP32.
 *  INTERVAL: bounds of what FP32 sums, by directed rounding. */
enum fx8_precision {
    FX8_PRECISION_INT8 = 1,
    FX8_PRECISION_FP32 = 2,
    FX8_PRECISION_BOTH = 3,
    FX8_PRECISION_INTERVAL = 4
};

/** Functions of the post-processing: those of the C library, or approximate
 *  ones of known error. */
enum fx8_math { FX8_MATH_IEEE = 0, FX8_MATH_FAST };

/** Which engine; AUTO: CUDA where a usable device is, else the CPU. */
enum fx8_backend { FX8_BACKEND_AUTO = 0, FX8_BACKEND_CPU, FX8_BACKEND_CUDA };

/** Whether a few sums of every dump are checked on the CPU; AUTO: where another
 *  machine computes. */
enum fx8_spot_check { FX8_SPOT_AUTO = 0, FX8_SPOT_YES, FX8_SPOT_NO };

#ifdef __cplusplus
}
#endif

#endif
