/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arrays.h -- many arrays of one owner at once.
 */
#ifndef FX8_CORRELATOR_ARRAYS_H
#define FX8_CORRELATOR_ARRAYS_H

#include <stddef.h>

#include "config/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An array to be allocated: where its pointer stands, and its size. */
struct fx8_array {
    void *pointer; /**< address of a pointer to objects of any type */
    size_t n_items;
    size_t item_size;
};

/**
 * fx8_allocate_arrays -- fx8_allocate() for each of a list.
 *
 * Given:     arrays  [n_arrays]
 *            what    owner, named in the message
 * Status:    FX8_ERR_SYSTEM: as fx8_allocate()
 * Ownership: the caller releases each with free(), also after a failure: the
 *            arrays from the failing one on are NULL
 */
enum fx8_status fx8_allocate_arrays(const struct fx8_array *arrays,
                                    size_t n_arrays, const char *what,
                                    struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
