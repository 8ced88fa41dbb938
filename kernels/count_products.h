/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * count_products.h -- count the valid products of a dump, block by block.
 */
#ifndef FX8_KERNELS_COUNT_PRODUCTS_H
#define FX8_KERNELS_COUNT_PRODUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/base/shape.h"
#include "kernels/operations.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Counts of a dump so far. */
struct fx8_product_counts {
    int64_t *pairs; /**< [pair], from blocks with invalid spectra */
    int64_t all;    /**< spectra in blocks fully valid on every input */
};

/** How much of a block is valid. */
enum fx8_block_validity {
    FX8_BLOCK_EMPTY, /**< nothing to correlate */
    FX8_BLOCK_PARTLY,
    FX8_BLOCK_WHOLE
};

/**
 * fx8_count_products -- add the block's valid products.
 *
 * Given:    valid   uint64 [n_inputs][fx8_bit_words(n_spectra)]
 * Notes:    most blocks are whole: they cost one popcount a word
 */
static inline enum fx8_block_validity fx8_count_products(
    const struct fx8_operations *operations, size_t n_inputs, size_t n_spectra,
    const uint64_t *valid, struct fx8_product_counts *counts)
{
    const size_t n_words = fx8_bit_words(n_spectra);
    size_t n_valid = 0;
    for (size_t word = 0; word < n_inputs * n_words; word++)
        n_valid += (size_t)__builtin_popcountll(valid[word]);
    if (n_valid == 0)
        return FX8_BLOCK_EMPTY;
    if (n_valid == n_inputs * n_spectra) {
        counts->all += (int64_t)n_spectra;
        return FX8_BLOCK_WHOLE;
    }
    operations->count(n_inputs, n_words, valid, counts->pairs);
    return FX8_BLOCK_PARTLY;
}

/** Write the counts of a strip, int64 [pair], and reset them: strips as for
 *  fold(). */
static inline void fx8_take_counts(size_t n_inputs, struct fx8_strip strip,
                                   struct fx8_product_counts *counts,
                                   int64_t *out)
{
    for (size_t j = strip.begin; j < n_inputs; j++) {
        int64_t *pairs = counts->pairs + fx8_pair_index(strip.begin, j);
        for (size_t k = 0; k < fx8_strip_row(strip, j); k++) {
            *out++ = pairs[k] + counts->all;
            pairs[k] = 0;
        }
    }
    if (strip.end == n_inputs)
        counts->all = 0;
}

#ifdef __cplusplus
}
#endif

#endif
