/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine_trial.h -- an engine on a device, tried beside the CPU's before it is
 * trusted.
 */
#ifndef FX8_KERNELS_ENGINE_TRIAL_H
#define FX8_KERNELS_ENGINE_TRIAL_H

#include "correlator/fx8.h"
#include "kernels/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Seconds that a device may take for anything of its trial, which it does in
 *  milliseconds; others may be using it. */
#define FX8_ENGINE_TRIAL_SECONDS 10.0

/** When set: milliseconds in place of these seconds, 0: no trial; for tests. */
#define FX8_ENGINE_TRIAL_VARIABLE "FX8_CUDA_TRIAL_MS"

/**
 * fx8_engine_trial -- a small block of random samples, some spectra of which
 * are invalid, by the engine and by the CPU's: spectra, sums and results.
 *
 * Given:    tried  operations of the engine
 *           plan   that it is wanted for; the trial has the same filter bank,
 *                  precisions and devices, one after the other, and fewer
 *                  inputs and spectra: together a few MiB
 * Status:   FX8_ERR_DEVICE: what it made is wrong, and where; what its calls
 *           return; FX8_ERR_SYSTEM: memory of the host
 * Numerics: float spectra within the error of two transforms of each other;
 *           quantised ones those of floats as near; sums of the same spectra
 *           equal, floats within the bounds of struct fx8_correlate_fp32;
 *           results of the same sums equal to the bit
 * Notes:    a quick-look is not tried
 */
enum fx8_status fx8_engine_trial(const struct fx8_engine_operations *tried,
                                 const struct fx8_engine_plan *plan,
                                 struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
