/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rotate.h -- the phases by which delay and fringe turn the spectra of an
 * input.
 *
 * A phase is an integer in units of 2^-64 turn: whole turns overflow, so sums
 * and products with counts are reduced exactly.
 *
 * The factor of a channel is the product of two.  Channels form tiles of
 * FX8_ROTATION_TILE.  Each spectrum has a factor for the middle of each tile,
 * from its own slope; a group of spectra shares the factors of the places in a
 * tile, from the slope of its middle.  If the slope changes by d from spectrum
 * to spectrum, this adds an error of at most 256 d: 6e-6 turn for an array of
 * 100 km.
 *
 * Only fx8_fma(), fx8_mul() and fx8_add() round: every engine gets the same
 * bits.
 */
#ifndef FX8_KERNELS_NUMERIC_ROTATE_H
#define FX8_KERNELS_NUMERIC_ROTATE_H

#include <stddef.h>

#include "kernels/numeric/turns.h"

/** Channels that share a factor of their spectrum. */
#define FX8_ROTATION_TILE 32

/**
 * Delay of one input in one group of spectra.
 *
 * Notes: 1) samples: those of every spectrum begin `shift` samples later
 *        2) channel c of spectrum t of the group is multiplied by
 *           exp(2 pi i (phase + t rate + t (t - 1) / 2 bend
 *                       + c (slope + t drift)))
 */
struct fx8_rotation {
    uint64_t phase, rate, bend;
    uint64_t slope, drift;
    int64_t shift;
};

/** Turns in units of 2^-64, without the whole ones; on the host. */
static inline uint64_t fx8_rotation_fixed(double turns)
{
    return (uint64_t)(int64_t)((turns - rint(turns)) * 0x1p63) << 1;
}

/** Slope of spectrum t. */
FX8_NUMERIC uint64_t fx8_rotation_slope(const struct fx8_rotation *rotation,
                                        size_t t)
{
    return rotation->slope + t * rotation->drift;
}

/** Phase of channel c of spectrum t. */
FX8_NUMERIC uint64_t fx8_rotation_phase(const struct fx8_rotation *rotation,
                                        size_t t, size_t c)
{
    const uint64_t pairs = t * (t - 1) / 2; /* t even or odd, also 0 */
    return rotation->phase + t * rotation->rate + pairs * rotation->bend +
           c * fx8_rotation_slope(rotation, t);
}

/** Channels from the first one of its tile to its middle. */
FX8_NUMERIC size_t fx8_rotation_middle(size_t channel)
{
    return channel / FX8_ROTATION_TILE * FX8_ROTATION_TILE +
           FX8_ROTATION_TILE / 2;
}

/** Phase of `channel` relative to the middle of its tile. */
FX8_NUMERIC uint64_t fx8_rotation_place(uint64_t slope, size_t channel)
{
    return (channel % FX8_ROTATION_TILE) * slope -
           FX8_ROTATION_TILE / 2 * slope;
}

/** Signed turns, in [-1/2, 1/2], of the upper 32 bits. */
FX8_NUMERIC float fx8_rotation_turns(uint64_t phase)
{
    return fx8_mul((float)(int32_t)(uint32_t)(phase >> 32), 0x1p-32f);
}

/** Real part of exp(2 pi i turns), |turns| <= 1/2; within 2^-22, as the
 *  imaginary part. */
FX8_NUMERIC float fx8_rotation_re(float turns)
{
    return fx8_sin_quarter(fx8_add(0.25f, -fabsf(turns)));
}

/** Imaginary part. */
FX8_NUMERIC float fx8_rotation_im(float turns)
{
    const float a = fabsf(turns), rest = fx8_add(0.5f, -a);
    return copysignf(fx8_sin_quarter(fx8_select(rest < a, rest, a)), turns);
}

#endif
