/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loops_ref.c -- the loops without vectors of their own, and the choice.
 */
#include <string.h>

#include "correlator/simulate/loops_body.h"
#include "kernels/operations.h"

static void make_words(struct fx8_random stream, uint64_t index, size_t n,
                       uint32_t *radius, uint32_t *angle)
{
    for (size_t k = 0; k < n; k++) {
        uint32_t words[4];
        fx8_random_words(stream, index + k, words);
        for (size_t pair = 0; pair < 2; pair++) {
            radius[2 * k + pair] = words[2 * pair];
            angle[2 * k + pair] = words[2 * pair + 1];
        }
    }
}

static void normals(struct fx8_random stream, uint64_t index, size_t n,
                    float *to)
{
    draw_normals(make_words, stream, index, n, to);
}

const struct fx8_loops fx8_loops_reference = LOOPS_OF("reference");

/* --- the choice -------------------------------------------------- */

static const struct fx8_loops *const variants[] = {
    &fx8_loops_reference,
#if defined(__x86_64__)
    &fx8_loops_avx2,
    &fx8_loops_avx512,
#endif
};

size_t fx8_loops_count(void)
{
    return sizeof variants / sizeof *variants;
}

const struct fx8_loops *fx8_loops_variant(size_t k)
{
    for (size_t v = 0; v < fx8_operations_variants(); v++) {
        const struct fx8_operations *runs = fx8_operations_variant(v);
        if (runs != NULL && strcmp(runs->name, variants[k]->name) == 0)
            return variants[k];
    }
    return NULL;
}

const struct fx8_loops *fx8_loops_find(void)
{
    size_t k = fx8_loops_count() - 1;
    while (k > 0 && fx8_loops_variant(k) == NULL)
        k--;
    return variants[k];
}
