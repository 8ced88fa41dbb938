/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dump_arrays.h -- the arrays of a result and of a quick-look, as lists for
 * fx8_allocate_arrays(), fx8_copy_arrays() and fx8_free_arrays().
 */
#ifndef FX8_CONFIG_BASE_DUMP_ARRAYS_H
#define FX8_CONFIG_BASE_DUMP_ARRAYS_H

#include "config/base/shape.h"

/** Number of arrays in a result. */
#define FX8_RESULT_ARRAYS 3

/** List the arrays of a result of n_cells; all of size 0 if not wanted. */
void fx8_list_result(struct fx8_result *result, size_t n_cells, bool is_wanted,
                     struct fx8_array arrays[FX8_RESULT_ARRAYS]);

/** Number of arrays in the quick-look of a dump. */
#define FX8_QUICKLOOK_ARRAYS 4

/** The same for a quick-look of n_cells and n_levels spectral levels. */
void fx8_list_quicklook(struct fx8_quicklook_dump *dump, size_t n_cells,
                        size_t n_levels, bool is_wanted,
                        struct fx8_array arrays[FX8_QUICKLOOK_ARRAYS]);

#endif
