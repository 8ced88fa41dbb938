/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nearest.h -- suggest the word that a misspelt one was meant to be.
 */
#ifndef FX8_CONFIG_BASE_NEAREST_H
#define FX8_CONFIG_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/** A misspelt word and the nearest candidate so far; set `name` and zero the
 *  rest. */
struct fx8_nearest {
    const char *name;
    const char *word; /**< NULL: none was near enough */
    size_t distance;
};

/**
 * fx8_nearest_offer -- offer one more candidate.
 *
 * Given:    extra  edits to add to those between `name` and `word`
 * Returned: bool   true if `word` is now the nearest: at most half of the
 *                  letters of `name` are wrong
 */
bool fx8_nearest_offer(struct fx8_nearest *nearest, const char *word,
                       size_t extra);

/** Edits that turn `a` into `b`: insertions, deletions, substitutions and swaps
 *  of neighbours.  Words of more than 40 letters match nothing. */
size_t fx8_word_distance(const char *a, const char *b);

#endif
