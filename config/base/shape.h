/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shape.h -- overflow-checked sizes, which may come from a hostile file, and
 * memory aligned for vector code.
 */
#ifndef FX8_CONFIG_BASE_SHAPE_H
#define FX8_CONFIG_BASE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Alignment in bytes of every buffer that vector code touches: one cache
 *  line, which is also one AVX-512 register. */
#define FX8_ALIGNMENT 64

/** Smallest multiple of `step` >= `value`.  No overflow check: only for sizes
 *  known to be small. */
static inline size_t fx8_round_up(size_t value, size_t step)
{
    return (value + step - 1) / step * step;
}

/** Number of 64-bit words for `bits` bits. */
static inline size_t fx8_bit_words(size_t bits)
{
    return (bits + 63) / 64;
}

/** Bit `index` of a packed row of bits, least significant bit first. */
static inline bool fx8_bit_get(const uint64_t *words, size_t index)
{
    return (words[index / 64] >> (index % 64) & 1) != 0;
}

/** Set bit `index` of a packed row of bits. */
static inline void fx8_bit_set(uint64_t *words, size_t index)
{
    words[index / 64] |= (uint64_t)1 << (index % 64);
}

/** Clear bit `index` of a packed row of bits. */
static inline void fx8_bit_clear(uint64_t *words, size_t index)
{
    words[index / 64] &= ~((uint64_t)1 << (index % 64));
}

/** First set bit in [from, n) of a packed row of bits, each word exclusive-or
 *  `flip`, or n.  Skips zero words at once. */
static inline size_t fx8_bit_find(const uint64_t *words, uint64_t flip,
                                  size_t from, size_t n)
{
    size_t bit = from;
    while (bit < n) {
        const uint64_t rest = (words[bit / 64] ^ flip) >> (bit % 64);
        if (rest != 0) {
            bit += (size_t)__builtin_ctzll(rest);
            return bit < n ? bit : n;
        }
        bit += 64 - bit % 64;
    }
    return n;
}

/** First set bit in [from, n) of a packed row of bits, or n. */
static inline size_t fx8_bit_next(const uint64_t *words, size_t from, size_t n)
{
    return fx8_bit_find(words, 0, from, n);
}

/** First clear bit in [from, n) of a packed row of bits, or n. */
static inline size_t fx8_bit_next_clear(const uint64_t *words, size_t from,
                                        size_t n)
{
    return fx8_bit_find(words, UINT64_MAX, from, n);
}

/**
 * fx8_product -- product of up to four sizes, or SIZE_MAX on overflow.
 *
 * Notes: fx8_allocate() rejects SIZE_MAX with a message, so callers need no
 *        check of their own.
 */
size_t fx8_product(size_t a, size_t b, size_t c, size_t d);

/** FX8_ERR_SYSTEM "out of memory: WHAT". */
enum fx8_status fx8_no_memory(const char *what, struct fx8_error *error);

/**
 * fx8_allocate -- zeroed memory for `n_items` items, aligned to
 * FX8_ALIGNMENT.
 *
 * Given:     what     what the memory is for, named in the message
 *            pointer  address of a pointer to objects of any type
 * Returned:  *pointer NULL on failure; allocates at least one byte, so NULL
 *                     always means failure
 * Status:    FX8_ERR_SYSTEM when the size overflows or memory is short
 * Ownership: the caller releases it with free()
 */
enum fx8_status fx8_allocate(size_t n_items, size_t item_size, const char *what,
                             void *pointer, struct fx8_error *error);

/** An array to allocate: address of its pointer, and its size. */
struct fx8_array {
    void *pointer; /**< address of a pointer to objects of any type */
    size_t n_items;
    size_t item_size; /**< 0: not wanted, the pointer becomes NULL */
};

/** An array of `n` items of the type that `pointer` points to. */
#define FX8_ITEMS(pointer, n)                                                  \
    {                                                                          \
        &(pointer), (n), sizeof *(pointer)                                     \
    }

/** Total bytes of the wanted arrays, or SIZE_MAX on overflow. */
size_t fx8_arrays_size(const struct fx8_array *arrays, size_t n_arrays);

/** The same, as fx8_allocate() rounds them: large ones up to whole large pages,
 *  of 2 MiB. */
size_t fx8_arrays_taken(const struct fx8_array *arrays, size_t n_arrays);

/**
 * fx8_allocate_arrays -- fx8_allocate() for each array of a list.
 *
 * Given:     arrays  [n_arrays]
 *            what    owner, named in the message
 * Status:    FX8_ERR_SYSTEM: as fx8_allocate()
 * Ownership: the caller releases each with free(); all are NULL after a failure
 */
enum fx8_status fx8_allocate_arrays(const struct fx8_array *arrays,
                                    size_t n_arrays, const char *what,
                                    struct fx8_error *error);

/**
 * fx8_grow -- make room for one more item at the end of an array; the array
 * doubles when its length reaches a power of two.
 *
 * Given:     array      address of a pointer to objects of any type; the
 *                       pointer starts as NULL and only this function may
 *                       allocate it
 *            n          items in it
 *            what       owner, named in the message
 * Status:    FX8_ERR_SYSTEM when memory is short; the array is unchanged
 * Ownership: the caller releases the array with free()
 */
enum fx8_status fx8_grow(void *array, size_t n, size_t item_size,
                         const char *what, struct fx8_error *error);

/** Release arrays from fx8_allocate_arrays() and null the pointers. */
void fx8_free_arrays(const struct fx8_array *arrays, size_t n_arrays);

/** Copy the arrays of list `from` to those of `to`, with the sizes of `to`. */
void fx8_copy_arrays(const struct fx8_array *to, const struct fx8_array *from,
                     size_t n_arrays);

#ifdef __cplusplus
}
#endif

#endif
