/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choices.h -- the bytes of a fuzzer as choices.  Once they are used up every
 * choice is the first one, which is harmless: no bytes change nothing.
 */
#ifndef FX8_VALIDATION_FUZZ_CHOICES_H
#define FX8_VALIDATION_FUZZ_CHOICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The bytes that are left; they belong to the fuzzer. */
struct choices {
    const uint8_t *bytes;
    size_t n;
};

/** The next byte, 0 behind the last. */
static inline uint8_t next_byte(struct choices *choices)
{
    if (choices->n == 0)
        return 0;
    choices->n--;
    return *choices->bytes++;
}

/** A number in [0, n), n at most 256. */
static inline size_t choose(struct choices *choices, size_t n)
{
    return next_byte(choices) % n;
}

/** False unless the next byte says otherwise. */
static inline bool perhaps(struct choices *choices)
{
    return choose(choices, 4) == 1;
}

/** Any number of eight bytes. */
static inline uint64_t next_number(struct choices *choices)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number = number << 8 | next_byte(choices);
    return number;
}

#endif
