/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "kernels/cpu/variants.h"

void fx8_gather_reference(size_t n_inputs, size_t n_samples, size_t sample_size,
                          const int8_t *base, const ptrdiff_t *input_offset,
                          ptrdiff_t time_stride, int8_t *out, size_t row_stride)
{
    for (size_t input = 0; input < n_inputs; input++) {
        const int8_t *source = base + input_offset[input];
        int8_t *row = out + input * row_stride;
        for (size_t t = 0; t < n_samples; t++)
            memcpy(row + t * sample_size, source + (ptrdiff_t)t * time_stride,
                   sample_size);
    }
}

void fx8_fill_gather_reference(struct fx8_operations *operations)
{
    operations->gather = fx8_gather_reference;
}
