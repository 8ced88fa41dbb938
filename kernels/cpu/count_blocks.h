/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * count_blocks.h -- private to the fast variants of count(): which pairs need
 * to be counted at all.
 *
 * Most rows of most blocks miss nothing.  An input that is valid wherever any
 * input is (it equals the union of all rows) hides nothing of another: the
 * pair's count is the other one's own.  Such a pair costs one addition,
 * whatever the length of the rows; with all of 512 inputs full the whole is
 * seven times faster at 32 words than counting every pair.
 */
#ifndef FX8_KERNELS_CPU_COUNT_BLOCKS_H
#define FX8_KERNELS_CPU_COUNT_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/operations.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Inputs i whose own counts are kept at a time. */
#define FX8_COUNT_BLOCK 64

/** Bits set in both of two rows: what a variant brings. */
typedef int64_t fx8_count_pair(size_t n_words, const uint64_t *a,
                               const uint64_t *b);

/** Bits valid in any row, counted. */
static inline int64_t fx8_count_union(size_t n_inputs, size_t n_words,
                                      const uint64_t *valid,
                                      fx8_count_pair *count_pair)
{
    int64_t n = 0;

    for (size_t k = 0; k < n_words; k++) {
        uint64_t word = 0;

        for (size_t i = 0; i < n_inputs; i++)
            word |= valid[i * n_words + k];
        n += count_pair(1, &word, &word);
    }
    return n;
}

/** Pairs (i, j) of FX8_COUNT_BLOCK inputs from `first` on with one input j. */
static inline void fx8_count_row(size_t n_words, const uint64_t *valid,
                                 size_t first,
                                 const int64_t own[FX8_COUNT_BLOCK],
                                 int64_t full, size_t j, int64_t *counts,
                                 fx8_count_pair *count_pair)
{
    const uint64_t *row = valid + j * n_words;
    const int64_t own_j = count_pair(n_words, row, row);
    const size_t n =
        j - first < FX8_COUNT_BLOCK ? j - first + 1 : FX8_COUNT_BLOCK;
    int64_t *sum = counts + fx8_pair_index(first, j);

    for (size_t k = 0; k < n; k++) {
        if (own[k] == full)
            sum[k] += own_j;
        else if (own_j == full)
            sum[k] += own[k];
        else
            sum[k] += count_pair(n_words, valid + (first + k) * n_words, row);
    }
}

/**
 * fx8_count_blocks -- entry `count` of struct fx8_operations, with count_pair.
 *
 * Notes: a row is part of the union: it equals it when it has as many bits
 */
static inline void fx8_count_blocks(size_t n_inputs, size_t n_words,
                                    const uint64_t *valid, int64_t *counts,
                                    fx8_count_pair *count_pair)
{
    const int64_t full = fx8_count_union(n_inputs, n_words, valid, count_pair);

    for (size_t first = 0; first < n_inputs; first += FX8_COUNT_BLOCK) {
        int64_t own[FX8_COUNT_BLOCK];

        for (size_t k = 0; k < FX8_COUNT_BLOCK && first + k < n_inputs; k++) {
            const uint64_t *row = valid + (first + k) * n_words;

            own[k] = count_pair(n_words, row, row);
        }
        for (size_t j = first; j < n_inputs; j++)
            fx8_count_row(n_words, valid, first, own, full, j, counts,
                          count_pair);
    }
}

#ifdef __cplusplus
}
#endif

#endif
