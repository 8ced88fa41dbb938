/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <string.h>

#include "config/base/nearest.h"

/* Longest word compared. */
#define NAME_MAX_LENGTH 40

static size_t minimum(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment distance. */
size_t fx8_word_distance(const char *a, const char *b)
{
    const size_t n_a = strlen(a), n_b = strlen(b);
    if (n_a > NAME_MAX_LENGTH || n_b > NAME_MAX_LENGTH)
        return SIZE_MAX / 2;
    size_t d[NAME_MAX_LENGTH + 1][NAME_MAX_LENGTH + 1];
    for (size_t i = 0; i <= n_a; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= n_b; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= n_a; i++)
        for (size_t j = 1; j <= n_b; j++) {
            const size_t substitution = a[i - 1] != b[j - 1];
            d[i][j] = minimum(minimum(d[i - 1][j], d[i][j - 1]) + 1,
                              d[i - 1][j - 1] + substitution);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = minimum(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n_a][n_b];
}

bool fx8_nearest_offer(struct fx8_nearest *nearest, const char *word,
                       size_t extra)
{
    const size_t edits = fx8_word_distance(nearest->name, word);
    const bool is_near = edits <= (strlen(nearest->name) + 1) / 2;
    if (!is_near ||
        (nearest->word != NULL && edits + extra >= nearest->distance))
        return false;
    nearest->word = word;
    nearest->distance = edits + extra;
    return true;
}
