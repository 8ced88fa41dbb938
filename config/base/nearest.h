/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nearest.h -- what a misspelt word was meant to be.
 */
#ifndef FX8_CONFIG_BASE_NEAREST_H
#define FX8_CONFIG_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A misspelt word, and the nearest of those offered so far; set `name` and
 *  zero the rest. */
struct fx8_nearest {
    const char *name;
    const char *word; /**< NULL: none was near enough */
    size_t distance;
};

/**
 * fx8_nearest_offer -- one more word that may have been meant.
 *
 * Given:    extra  edits besides those between `name` and `word`
 * Returned: bool   `word` is the nearest so far: at most half of the letters
 *                  of `name` are wrong
 */
bool fx8_nearest_offer(struct fx8_nearest *nearest, const char *word,
                       size_t extra);

/** Edits that turn `a` into `b`: insertions, deletions, substitutions and swaps
 *  of neighbours.  Words of more than 40 letters are far from any other. */
size_t fx8_word_distance(const char *a, const char *b);

#ifdef __cplusplus
}
#endif

#endif
