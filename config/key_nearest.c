/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a misspelt key was meant to be.
 */
#include <stdlib.h>
#include <string.h>

#include "config/keys.h"

/* Longest name that is compared; longer ones resemble no key. */
#define NAME_MAX_LENGTH 40

static size_t minimum(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * Edits that turn `a` into `b`: insertions, deletions, substitutions and swaps
 * of neighbours (optimal string alignment distance).
 */
static size_t edit_distance(const char *a, const char *b)
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

/* Half of the letters wrong is no misspelling any more. */
static bool is_near(size_t distance, const char *name)
{
    return distance <= (strlen(name) + 1) / 2;
}

const struct fx8_key *fx8_key_nearest(const char *section, const char *name)
{
    const struct fx8_key *nearest = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < fx8_keys_count; i++) {
        const struct fx8_key *key = &fx8_keys[i];
        const size_t of_name = edit_distance(name, key->name);
        /* a right name in a wrong section is a small fault, however the
         * sections are spelt */
        const size_t of_section =
            minimum(edit_distance(section, key->section), 2);
        if (is_near(of_name, name) && of_name + of_section < least) {
            least = of_name + of_section;
            nearest = key;
        }
    }
    return nearest;
}

const char *fx8_section_nearest(const char *name)
{
    const char *nearest = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < fx8_sections_count; i++) {
        const size_t distance = edit_distance(name, fx8_sections[i].name);
        if (is_near(distance, name) && distance < least) {
            least = distance;
            nearest = fx8_sections[i].name;
        }
    }
    return nearest;
}
