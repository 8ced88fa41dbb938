/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sample.h -- which arguments are tried: bits from an index, the same on the
 * host and on a card.
 */
#ifndef FX8_VALIDATION_NUMERICS_SAMPLE_H
#define FX8_VALIDATION_NUMERICS_SAMPLE_H

#include "kernels/numeric/target.h"

/** Number of all floats. */
#define ALL_FLOATS (UINT64_C(1) << 32)

/** Pairs that represent all pairs: 2^14 and more of each pair of exponents. */
#define MOST_PAIRS (UINT64_C(1) << 30)

/** Index of the first pair. */
#define PAIR_SEED UINT64_C(20261120)

/** Step between the floats of a sample of n: odd, so that no float comes twice,
 *  and no multiple of a power of two, so that every exponent comes with all
 *  kinds of mantissas. */
FX8_NUMERIC uint32_t sample_stride(uint64_t n)
{
    return n >= ALL_FLOATS ? 1u : (uint32_t)(ALL_FLOATS / n) | 1u;
}

/** Scatter the bits of an index (splitmix64). */
FX8_NUMERIC uint64_t scatter(uint64_t index)
{
    uint64_t z = (index + PAIR_SEED) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/** A random mantissa, one in eight of a special kind. */
FX8_NUMERIC uint32_t sample_mantissa(uint32_t random)
{
    const uint32_t kind = random >> 23 & 31;
    return kind == 0   ? 0x000000u
           : kind == 1 ? 0x000001u
           : kind == 2 ? 0x7fffffu
           : kind == 3 ? 0x400000u
                       : random & 0x7fffffu;
}

/**
 * sample_pair -- the pair of floats of an index.
 *
 * Returned: a, b  bits.  Even indices go through all 65,536 pairs of
 *                 exponents, infinities and NaN included; odd ones have
 *                 exponents at most 16 apart, where quotients and angles are
 *                 neither huge nor tiny.  Signs and mantissas are random, one
 *                 mantissa in eight is 0, 1, a half or all ones.
 */
FX8_NUMERIC void sample_pair(uint64_t index, uint32_t *a, uint32_t *b)
{
    const uint64_t random = scatter(index);
    const uint32_t high = (uint32_t)(random >> 32), low = (uint32_t)random;
    const uint32_t pair = (uint32_t)(index >> 1) & 0xffffu;
    const uint32_t exponent_a = pair & 0xffu;
    const uint32_t near = (exponent_a + 240u + (pair >> 8) % 33u) & 0xffu;
    const uint32_t exponent_b = (index & 1) == 0 ? pair >> 8 : near;
    *a = (high & 0x80000000u) | exponent_a << 23 | sample_mantissa(high);
    *b = (low & 0x80000000u) | exponent_b << 23 | sample_mantissa(low);
}

#endif
