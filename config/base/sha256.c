/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config/base/sha256.h"

/* Bytes per block. */
#define BLOCK_SIZE 64

/* FIPS 180-4, 4.2.2: fractions of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word >> bits | word << (32 - bits);
}

/* Message schedule of one block, FIPS 180-4, 6.2.2 step 1. */
static void expand(const uint8_t *block, uint32_t schedule[64])
{
    for (size_t t = 0; t < 16; t++)
        schedule[t] = (uint32_t)block[4 * t] << 24 |
                      (uint32_t)block[4 * t + 1] << 16 |
                      (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
    for (size_t t = 16; t < 64; t++) {
        const uint32_t a = schedule[t - 15], b = schedule[t - 2];
        schedule[t] =
            (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10) + schedule[t - 7] +
            (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + schedule[t - 16];
    }
}

/* Steps 2 to 4; v holds the working variables a to h of the standard. */
static void compress(uint32_t state[8], const uint8_t *block)
{
    uint32_t schedule[64], v[8];
    expand(block, schedule);
    memcpy(v, state, sizeof v);
    for (size_t t = 0; t < 64; t++) {
        const uint32_t choose = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        const uint32_t t1 =
            v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) +
            choose + round_constants[t] + schedule[t];
        const uint32_t t2 =
            (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) + majority;
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += v[i];
}

void fx8_sha256(const void *data, size_t size, char text[FX8_SHA256_TEXT_SIZE])
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint8_t *bytes = data;
    const size_t whole = size / BLOCK_SIZE * BLOCK_SIZE;
    for (size_t i = 0; i < whole; i += BLOCK_SIZE)
        compress(state, bytes + i);
    /* the rest, a one bit, zeros, the length in bits as 64 bits */
    uint8_t tail[2 * BLOCK_SIZE] = {0};
    const size_t n_rest = size - whole;
    if (n_rest > 0)
        memcpy(tail, bytes + whole, n_rest);
    tail[n_rest] = 0x80;
    const size_t n_tail =
        n_rest + 9 <= BLOCK_SIZE ? BLOCK_SIZE : 2 * BLOCK_SIZE;
    const uint64_t n_bits = (uint64_t)size * 8;
    for (size_t i = 0; i < 8; i++)
        tail[n_tail - 1 - i] = (uint8_t)(n_bits >> (8 * i));
    for (size_t i = 0; i < n_tail; i += BLOCK_SIZE)
        compress(state, tail + i);
    for (size_t i = 0; i < 8; i++)
        snprintf(text + 8 * i, 9, "%08x", (unsigned)state[i]);
}
