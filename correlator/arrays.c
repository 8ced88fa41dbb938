/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/shape.h"
#include "correlator/arrays.h"

enum fx8_status fx8_allocate_arrays(const struct fx8_array *arrays,
                                    size_t n_arrays, const char *what,
                                    struct fx8_error *error)
{
    enum fx8_status status = FX8_OK;
    for (size_t i = 0; i < n_arrays; i++) {
        void *memory = NULL;
        if (status == FX8_OK)
            status = fx8_allocate(arrays[i].n_items, arrays[i].item_size, what,
                                  &memory, error);
        /* all pointers to objects look alike on the machines fx8 is for */
        memcpy(arrays[i].pointer, &memory, sizeof memory);
    }
    return status;
}
