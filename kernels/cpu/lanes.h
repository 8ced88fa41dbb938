/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanes.h -- the transform of the CPU engine: 16 consecutive spectra of one
 * input side by side, one in each lane of a vector register.
 *
 * All lanes do the same, so nothing is shuffled: a twiddle factor is one number
 * for all of them, and a spectrum has the same bits in every lane and with
 * every width of register.  The spectra are in the order of the correlator from
 * the start: time is the fastest axis, and no corner turn follows.
 *
 * Samples are columns: float [column][re, im][FX8_LANES].  Pass by pass, a
 * block of L columns becomes R blocks of L / R (decimation in frequency, in
 * place): column k of block m is
 *
 *     exp(-2 pi i k m / L) sum over j of exp(-2 pi i j m / R) x[k + j L / R],
 *
 * so the transform of block m holds bins m, m + R, m + 2 R, ... of the block.
 * Bins thus end in an order of reversed digits, which `place` undoes while they
 * are read.  After the first pass, which takes the columns as the filter makes
 * them, every block is finished and read on its own, from the nearest cache.
 *
 * Real samples x[0 .. 2 C) are transformed as the C complex ones z[n] = x[2 n]
 * + i x[2 n + 1].  A last step separates the even from the odd samples, whose
 * transforms Z holds as E = (Z[k] + conj Z[C - k]) / 2 and
 * O = (Z[k] - conj Z[C - k]) / 2i, and joins them:
 * X[k] = E + exp(-pi i k / C) O, X[C - k] = conj(E - exp(-pi i k / C) O).
 */
#ifndef FX8_KERNELS_CPU_LANES_H
#define FX8_KERNELS_CPU_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"

/** Spectra side by side. */
#define FX8_LANES 16

/** Floats of a column. */
#define FX8_COLUMN (2 * FX8_LANES)

/** Largest radix, and most passes of a transform. */
#define FX8_MOST_RADIX  8
#define FX8_MOST_PASSES 16

/** One pass: blocks of `length` columns become `radix` blocks each. */
struct fx8_lanes_pass {
    size_t radix, length;
    /** [length / radix][radix - 1][re, im]: factor m of column k is at
     *  [k][m - 1]; not read in the last pass. */
    const float *twiddles;
};

/** A transform. */
struct fx8_lanes_plan {
    size_t n_columns; /**< length of the complex transform */
    bool is_real;     /**< samples are real, 2 n_columns of them */
    size_t n_passes;
    struct fx8_lanes_pass passes[FX8_MOST_PASSES];
    size_t n_parts;  /**< blocks of the first pass; of real samples, pairs of
                          blocks that hold bins k and C - k */
    uint32_t *place; /**< [n_columns] column of a bin */
    /** Real samples: [n_columns / 2 + 1][re, im], exp(-pi i k / C) / 2i for bin
     * k; else NULL. */
    const float *joints;
    float *factors; /**< memory of twiddles and joints */
};

/** Part of the plan that finishes a bin. */
static inline size_t fx8_lanes_part(const struct fx8_lanes_plan *plan,
                                    size_t bin)
{
    const size_t radix = plan->passes[0].radix, block = bin % radix;
    return plan->is_real && block > radix / 2 ? radix - block : block;
}

/** Whether there is a transform for this many samples of a spectrum: 8 to 65536
 *  columns, without prime factors above 5. */
bool fx8_lanes_has(size_t length, bool is_complex);

/**
 * fx8_lanes_open -- plan a transform.
 *
 * Given:    length      samples of a spectrum, for which there is a transform
 *           is_complex  of the samples
 * Returned: plan        fx8_lanes_close() releases it
 * Status:   FX8_ERR_SYSTEM: memory
 */
enum fx8_status fx8_lanes_open(size_t length, bool is_complex,
                               struct fx8_lanes_plan *plan,
                               struct fx8_error *error);

/** Release a plan; one of zero bytes is legal. */
void fx8_lanes_close(struct fx8_lanes_plan *plan);

#endif
