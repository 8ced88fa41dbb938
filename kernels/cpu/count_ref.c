/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * count_ref.c -- the number of valid products by definition.
 */
#include "kernels/cpu/variants.h"

/** Bits set in a word, one after the other. */
static int64_t bits_set(uint64_t word)
{
    int64_t n = 0;

    for (; word != 0; word >>= 1)
        n += (int64_t)(word & 1);
    return n;
}

static void count(size_t n_inputs, size_t n_words, const uint64_t *valid,
                  int64_t *counts)
{
    for (size_t j = 0; j < n_inputs; j++) {
        for (size_t i = 0; i <= j; i++) {
            int64_t *sum = counts + fx8_pair_index(i, j);

            for (size_t k = 0; k < n_words; k++)
                *sum +=
                    bits_set(valid[i * n_words + k] & valid[j * n_words + k]);
        }
    }
}

void fx8_fill_count_reference(struct fx8_operations *operations)
{
    operations->count = count;
}
