/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * guards.h -- memory between two guards, so that a kernel that writes beside
 * its results is noticed.
 */
#ifndef FX8_VALIDATION_GUARDS_H
#define FX8_VALIDATION_GUARDS_H

#include <stdlib.h>
#include <string.h>

#include "validation/testing.h"

#define GUARD      ((size_t)16) /* items on either side */
#define GUARD_BYTE 0x5a

/** `n_items` zeroed items between two guards. */
static inline void *guarded(size_t n_items, size_t item_size)
{
    uint8_t *memory = malloc((n_items + 2 * GUARD) * item_size);
    assert_non_null(memory);
    memset(memory, GUARD_BYTE, (n_items + 2 * GUARD) * item_size);
    memset(memory + GUARD * item_size, 0, n_items * item_size);
    return memory + GUARD * item_size;
}

/** Check the guards and free. */
static inline void release(void *items, size_t n_items, size_t item_size)
{
    uint8_t *first = (uint8_t *)items - GUARD * item_size;
    uint8_t *last = (uint8_t *)items + n_items * item_size;
    for (size_t k = 0; k < GUARD * item_size; k++) {
        assert_int_equal(first[k], GUARD_BYTE);
        assert_int_equal(last[k], GUARD_BYTE);
    }
    free(first);
}

#endif
