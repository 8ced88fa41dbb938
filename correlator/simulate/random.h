/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * random.h -- random numbers by address: a stream and an index always give the
 * same number, whatever was drawn before, on any thread.
 */
#ifndef FX8_CORRELATOR_SIMULATE_RANDOM_H
#define FX8_CORRELATOR_SIMULATE_RANDOM_H

#include <stdint.h>

/** A stream: the purpose of the numbers (`kind`) and its `item`. */
struct fx8_random {
    uint64_t seed;
    uint32_t kind;
    uint32_t item;
};

/**
 * fx8_random_words -- 128 random bits at `index` of a stream.
 *
 * Source: Philox4x32-10, Salmon et al. (2011), Parallel random numbers: as
 *         easy as 1, 2, 3; seed is the key; index, kind, item the counter
 */
void fx8_random_words(struct fx8_random stream, uint64_t index,
                      uint32_t words[4]);

/** A uniform number in (0, 1). */
double fx8_random_uniform(struct fx8_random stream, uint64_t index);

#endif
