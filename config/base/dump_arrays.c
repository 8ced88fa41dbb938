/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dump_arrays.c -- see dump_arrays.h.
 */
#include "config/base/dump_arrays.h"

#include <string.h>

void fx8_list_result(struct fx8_result *result, size_t n_cells, bool is_wanted,
                     struct fx8_array arrays[FX8_RESULT_ARRAYS])
{
    const struct fx8_array list[FX8_RESULT_ARRAYS] = {
        {&result->visibilities, n_cells, is_wanted * 2 * sizeof(float)},
        {&result->flags, n_cells, is_wanted},
        {&result->nsamples, n_cells, is_wanted * sizeof(float)},
    };
    memcpy(arrays, list, sizeof list);
}

void fx8_list_quicklook(struct fx8_quicklook_dump *dump, size_t n_cells,
                        size_t n_levels, bool is_wanted,
                        struct fx8_array arrays[FX8_QUICKLOOK_ARRAYS])
{
    const struct fx8_array list[FX8_QUICKLOOK_ARRAYS] = {
        {&dump->coherence, n_cells, is_wanted * 2 * sizeof(uint16_t)},
        {&dump->amplitude, n_cells, is_wanted * sizeof(uint16_t)},
        {&dump->phase, n_cells, is_wanted * sizeof(uint16_t)},
        {&dump->spectra_db, n_levels, is_wanted * sizeof(float)},
    };
    memcpy(arrays, list, sizeof list);
}
