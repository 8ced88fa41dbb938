/* SPDX-License-Identifier: BSD-3-Clause */
#include "correlator/simulate/random.h"

void fx8_random_words(struct fx8_random stream, uint64_t index,
                      uint32_t words[4])
{
    const uint32_t multiplier_0 = 0xD2511F53u, multiplier_1 = 0xCD9E8D57u;
    uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32);
    uint32_t c2 = stream.kind, c3 = stream.item;
    uint32_t k0 = (uint32_t)stream.seed, k1 = (uint32_t)(stream.seed >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)multiplier_0 * c0;
        const uint64_t p1 = (uint64_t)multiplier_1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u; /* Weyl sequences of the paper */
        k1 += 0xBB67AE85u;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

double fx8_random_uniform(struct fx8_random stream, uint64_t index)
{
    uint32_t words[4];
    fx8_random_words(stream, index, words);
    return ((double)words[0] + 0.5) * 0x1p-32;
}
