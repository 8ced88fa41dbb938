/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/variants.h"

void fx8_fill_half_reference(struct fx8_operations *operations)
{
    (void)operations;
}
