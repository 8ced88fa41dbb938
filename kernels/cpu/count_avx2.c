/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * count_avx2.c -- the number of valid products with the popcnt instruction,
 * which every CPU with AVX2 has.
 */
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/count_blocks.h"

static int64_t bits_set(uint64_t word)
{
    return (int64_t)_mm_popcnt_u64(word);
}

/** Valid products of two rows. */
static int64_t count_pair(size_t n_words, const uint64_t *a, const uint64_t *b)
{
    int64_t n = 0;

    for (size_t k = 0; k < n_words; k++)
        n += bits_set(a[k] & b[k]);
    return n;
}

static void count(size_t n_inputs, size_t n_words, const uint64_t *valid,
                  int64_t *counts)
{
    fx8_count_blocks(n_inputs, n_words, valid, counts, count_pair);
}

void fx8_fill_count_avx2(struct fx8_operations *operations)
{
    operations->count = count;
}

#endif
