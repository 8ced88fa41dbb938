/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_trial_private.h -- state of a trial, shared by engine_trial.c, which
 * sets it up, and engine_trial_checks.c, which compares. */
#ifndef FX8_KERNELS_ENGINE_TRIAL_PRIVATE_H
#define FX8_KERNELS_ENGINE_TRIAL_PRIVATE_H

#include "config/base/shape.h"
#include "kernels/engine_trial.h"

/** Arrays of a precision that is not planned are NULL. */
struct fx8_trial {
    const struct fx8_engine_operations *tried;
    struct fx8_engine_plan plan; /* of both engines, except precisions; moments
                                    are of the engine under test */
    struct fx8_engine *engine, *cpu;
    size_t n_spectra, row_stride;
    size_t margin_bytes; /* of samples before and after each row */
    size_t n_cells, n_gains, n_pairs, n_sums, n_results;
    int8_t *samples;                     /* [input][row_stride] */
    uint64_t *valid;                     /* [input][words] */
    float *gains;                        /* [input][channel] */
    struct fx8_ci8 *int8;                /* from the engine under test */
    struct fx8_cf32 *fp32, *wanted_fp32; /* from it, from the CPU engine */
    int64_t *least_clips, *most_clips;   /* [input][channel] */
    struct fx8_engine_dump got, wanted;  /* of the same spectra */
    struct fx8_product *products;        /* [baseline][product] */
    uint8_t *flag_channel, *flag_input, *flag_cell;
    /* computed by the engine, by the host */
    struct fx8_result made[FX8_N_RESULTS], again[FX8_N_RESULTS];
    /* all of the above; eight per kind */
    struct fx8_array arrays[17 + 8 * FX8_N_RESULTS];
    size_t n_arrays;
};

/** Fail with "cuda: device 0 NAME, kernel NAME: result differs from the CPU's:
 * …"; returns FX8_ERR_DEVICE. */
enum fx8_status fx8_trial_differs(const struct fx8_trial *trial,
                                  struct fx8_error *error, const char *format,
                                  ...) FX8_PRINTF(3, 4);

/** Compare both engines' spectra of the same samples. */
enum fx8_status fx8_trial_spectra(struct fx8_trial *trial,
                                  struct fx8_error *error);

/** Next, compare sums of the spectra from the engine under test. */
enum fx8_status fx8_trial_sums(struct fx8_trial *trial,
                               struct fx8_error *error);

/** Next, compare the INT8 and FP32 results of these sums. */
enum fx8_status fx8_trial_results(struct fx8_trial *trial,
                                  struct fx8_error *error);

#endif
