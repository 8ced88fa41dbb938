/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "config/base/shape.h"

/* A large page of x86-64; on other machines this alignment is harmless. */
#define LARGE_PAGE ((size_t)2 << 20)

size_t fx8_product(size_t a, size_t b, size_t c, size_t d)
{
    size_t product = a;
    const size_t factors[] = {b, c, d};
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        if (factors[i] != 0 && product > SIZE_MAX / factors[i])
            return SIZE_MAX;
        product *= factors[i];
    }
    return product;
}

enum fx8_status fx8_no_memory(const char *what, struct fx8_error *error)
{
    return fx8_fail(error, FX8_ERR_SYSTEM, "out of memory: %s", what);
}

/* Multiples in which memory of this size is allocated. */
static size_t step_of(size_t size)
{
    return size >= LARGE_PAGE ? LARGE_PAGE : FX8_ALIGNMENT;
}

enum fx8_status fx8_allocate(size_t n_items, size_t item_size, const char *what,
                             void *pointer, struct fx8_error *error)
{
    void *block = NULL;
    /* all object pointers look alike on supported machines */
    memcpy(pointer, &block, sizeof block);
    const size_t size = fx8_product(n_items, item_size, 1, 1);
    if (size > SIZE_MAX - LARGE_PAGE)
        return fx8_fail(error, FX8_ERR_SYSTEM,
                        "out of memory: %s: %zu items of %zu bytes are more "
                        "than this machine can address",
                        what, n_items, item_size);
    /* large arrays use large pages, because the corner turns touch more small
     * pages than the TLB holds; their zeros come from the kernel at the first
     * touch, near the thread that works on them */
    const size_t alignment = step_of(size);
    const size_t rounded = fx8_round_up(size == 0 ? 1 : size, alignment);
    block = aligned_alloc(alignment, rounded);
    if (block == NULL)
        return fx8_fail(error, FX8_ERR_SYSTEM, "out of memory: %s: %zu bytes",
                        what, size);
    const bool is_large = alignment == LARGE_PAGE;
    if (is_large)
        (void)madvise(block, rounded, MADV_HUGEPAGE); /* advice: may fail */
    if (!is_large || madvise(block, rounded, MADV_DONTNEED) != 0)
        memset(block, 0, rounded);
    memcpy(pointer, &block, sizeof block);
    return FX8_OK;
}

size_t fx8_arrays_size(const struct fx8_array *arrays, size_t n_arrays)
{
    size_t total = 0;
    for (size_t i = 0; i < n_arrays; i++) {
        const size_t size =
            fx8_product(arrays[i].n_items, arrays[i].item_size, 1, 1);
        if (size > SIZE_MAX - total)
            return SIZE_MAX;
        total += size;
    }
    return total;
}

size_t fx8_arrays_taken(const struct fx8_array *arrays, size_t n_arrays)
{
    size_t total = 0;
    for (size_t i = 0; i < n_arrays; i++) {
        const size_t size = fx8_arrays_size(&arrays[i], 1);
        if (size > SIZE_MAX - LARGE_PAGE - total)
            return SIZE_MAX;
        total += fx8_round_up(size, step_of(size));
    }
    return total;
}

enum fx8_status fx8_allocate_arrays(const struct fx8_array *arrays,
                                    size_t n_arrays, const char *what,
                                    struct fx8_error *error)
{
    enum fx8_status status = FX8_OK;
    for (size_t i = 0; i < n_arrays; i++) {
        void *const none = NULL;
        if (status == FX8_OK && arrays[i].item_size != 0)
            status = fx8_allocate(arrays[i].n_items, arrays[i].item_size, what,
                                  arrays[i].pointer, error);
        else
            memcpy(arrays[i].pointer, &none, sizeof none);
    }
    if (status != FX8_OK)
        fx8_free_arrays(arrays, n_arrays);
    return status;
}

enum fx8_status fx8_grow(void *array, size_t n, size_t item_size,
                         const char *what, struct fx8_error *error)
{
    if ((n & (n - 1)) != 0)
        return FX8_OK;
    void *items;
    memcpy(&items, array, sizeof items);
    const size_t size =
        fx8_product(n == 0 ? 1 : 2, n == 0 ? 1 : n, item_size, 1);
    items = size == SIZE_MAX ? NULL : realloc(items, size);
    if (items == NULL)
        return fx8_no_memory(what, error);
    memcpy(array, &items, sizeof items);
    return FX8_OK;
}

/* Memory of an array. */
static void *memory_of(const struct fx8_array *array)
{
    void *memory;
    memcpy(&memory, array->pointer, sizeof memory);
    return memory;
}

void fx8_free_arrays(const struct fx8_array *arrays, size_t n_arrays)
{
    for (size_t i = 0; i < n_arrays; i++) {
        void *memory = NULL;
        free(memory_of(&arrays[i]));
        memcpy(arrays[i].pointer, &memory, sizeof memory);
    }
}

void fx8_copy_arrays(const struct fx8_array *to, const struct fx8_array *from,
                     size_t n_arrays)
{
    for (size_t i = 0; i < n_arrays; i++)
        if (to[i].item_size > 0)
            memcpy(memory_of(&to[i]), memory_of(&from[i]),
                   to[i].n_items * to[i].item_size);
}
