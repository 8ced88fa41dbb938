/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_trial_private.h -- a trial under way, shared by engine_trial.c, which
 * makes the task, and engine_trial_checks.c, which compares. */
#ifndef FX8_KERNELS_ENGINE_TRIAL_PRIVATE_H
#define FX8_KERNELS_ENGINE_TRIAL_PRIVATE_H

#include "config/base/shape.h"
#include "kernels/engine_trial.h"

/** Arrays of a precision that is not planned are NULL. */
struct fx8_trial {
    const struct fx8_engine_operations *tried;
    struct fx8_engine_plan plan; /* of both engines, but for precisions */
    struct fx8_engine *engine, *cpu;
    size_t n_spectra, row_stride;
    size_t n_cells, n_gains, n_pairs, n_sums, n_results;
    int8_t *samples;                     /* [input][row_stride] */
    uint64_t *valid;                     /* [input][words] */
    float *gains;                        /* [input][channel] */
    struct fx8_ci8 *int8;                /* of the engine tried */
    struct fx8_cf32 *fp32, *wanted_fp32; /* of it, and of the CPU's */
    int64_t *least_clips, *most_clips;   /* [input][channel] */
    struct fx8_engine_dump got, wanted;  /* of the same spectra */
    struct fx8_product *products;        /* [baseline][product] */
    uint8_t *flag_channel, *flag_input, *flag_cell;
    /* by the engine, by the host */
    struct fx8_result made[FX8_N_RESULTS], again[FX8_N_RESULTS];
    /* all of these, of which eight are for each kind */
    struct fx8_array arrays[16 + 8 * FX8_N_RESULTS];
    size_t n_arrays;
};

/** "cuda: device 0 NAME, kernel NAME: not as the CPU computes: …": returns
 *  FX8_ERR_DEVICE. */
enum fx8_status fx8_trial_differs(const struct fx8_trial *trial,
                                  struct fx8_error *error, const char *format,
                                  ...) FX8_PRINTF(3, 4);

/** Spectra of the same samples, by both engines. */
enum fx8_status fx8_trial_spectra(struct fx8_trial *trial,
                                  struct fx8_error *error);

/** Then the sums of the spectra that the engine tried made. */
enum fx8_status fx8_trial_sums(struct fx8_trial *trial,
                               struct fx8_error *error);

/** Then the results of these sums, INT8's and FP32's. */
enum fx8_status fx8_trial_results(struct fx8_trial *trial,
                                  struct fx8_error *error);

#endif
