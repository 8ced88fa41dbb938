/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine_trial.h -- test a device engine against the CPU engine before use.
 */
#ifndef FX8_KERNELS_ENGINE_TRIAL_H
#define FX8_KERNELS_ENGINE_TRIAL_H

#include "correlator/fx8.h"
#include "kernels/engine.h"

/** Deadline in seconds of each step of a trial.  A step takes milliseconds, but
 *  others may be using the device. */
#define FX8_ENGINE_TRIAL_SECONDS 10.0

/** When set: the deadline in milliseconds; 0: no trial.  For tests. */
#define FX8_ENGINE_TRIAL_VARIABLE "FX8_CUDA_TRIAL_MS"

/** That deadline in seconds; 0: no trial. */
double fx8_engine_trial_deadline(void);

/**
 * fx8_engine_trial -- process a small block of random samples, some of whose
 * spectra are invalid, with both engines; compare spectra, sums and results.
 *
 * Given:    tried  operations of the engine under test
 *           plan   the intended plan; the trial has the same filter bank and
 *                  precisions, each device in turn, and fewer inputs and
 *                  spectra: together a few MiB
 * Status:   FX8_ERR_DEVICE: wrong output, and where; any status of the engine's
 *           calls; FX8_ERR_SYSTEM: host memory
 * Numerics: float spectra differ by at most the errors of two transforms;
 *           quantised spectra must come from float spectra that close; sums of
 *           the same spectra equal, floats within the bounds of struct
 *           fx8_correlate_fp32; results of the same sums equal to the bit
 * Notes:    the quick-look is not tested
 */
enum fx8_status fx8_engine_trial(const struct fx8_engine_operations *tried,
                                 const struct fx8_engine_plan *plan,
                                 struct fx8_error *error);

#endif
