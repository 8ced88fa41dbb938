/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loops.h -- the inner loops of the simulator, compiled for each kind of vector
 * (see kernels/cpu/variants.h).  Contraction is off and nothing is summed
 * across lanes, so every variant gives the same bits.
 */
#ifndef FX8_CORRELATOR_SIMULATE_LOOPS_H
#define FX8_CORRELATOR_SIMULATE_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/simulate/random.h"

/** Bins of a spectrum, or samples, that share a factor. */
#define FX8_LOOPS_TILE 32

/** How a signal is turned: in bin or sample k by tile[k / FX8_LOOPS_TILE]
 *  times place[k % FX8_LOOPS_TILE], real and imaginary parts apart. */
struct fx8_turning {
    const float *tile_re, *tile_im;
    const float *place_re, *place_im;
};

/** The loops of one variant. */
struct fx8_loops {
    const char *name;
    /** normals [4 n]: four independent normal numbers, mean 0 and variance 1,
     *  of the words at each of [index, index + n), at most 6.8 in magnitude
     *  (Box and Muller, from 32 bits each). */
    void (*normals)(struct fx8_random stream, uint64_t index, size_t n,
                    float *normals);
    /** exp(2 pi i (base + k step)), k in [0, n), phases in units of 2^-64
     *  turn; within 2^-20. */
    void (*rotate)(uint64_t base, uint64_t step, size_t n, float *re,
                   float *im);
    /** Add a turned signal to a spectrum of n_tiles tiles. */
    void (*add_signal)(const struct fx8_turning *turning, size_t n_tiles,
                       const float *signal_re, const float *signal_im,
                       float *re, float *im);
    /** data [n][re, im] = re + i im sign. */
    void (*join)(size_t n, const float *re, const float *im, float sign,
                 float *data);
    /** sum [n] += Re((a + i b) (re + i im)). */
    void (*add_turned_real)(size_t n, const float *a, const float *b,
                            const float *re, const float *im, float *sum);
    /** sum [n][2] += a (re + i im), a [n][2]. */
    void (*add_turned_complex)(size_t n, const float *a, const float *re,
                               const float *im, float *sum);
    /** sum [n_tiles of samples][n_parts] += a signal of 1, turned; only its
     *  real part if n_parts is 1. */
    void (*add_tone)(const struct fx8_turning *turning, size_t n_tiles,
                     size_t n_parts, float *sum);
    /** sum [n] += window data. */
    void (*fade_in)(size_t n, const float *window, const float *data,
                    float *sum);
    /** sum [n] = window data. */
    void (*fade_out)(size_t n, const float *window, const float *data,
                     float *sum);
    /** Round gain (sky + rms noise), gain [2] for even and odd numbers, to the
     *  nearest, half to even, clamped to +-127; returns how many were clamped.
     */
    int64_t (*quantise)(size_t n, const float *sky, const float *noise,
                        float rms, const float gain[2], int8_t *samples);
};

/** The fastest one for this CPU. */
const struct fx8_loops *fx8_loops_find(void);

/** Variants [fx8_loops_count()] from slow to fast; NULL: not for this CPU. */
const struct fx8_loops *fx8_loops_variant(size_t k);
size_t fx8_loops_count(void);

extern const struct fx8_loops fx8_loops_reference;
extern const struct fx8_loops fx8_loops_avx2, fx8_loops_avx512;

#endif
