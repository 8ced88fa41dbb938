/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/functions_loops.h"
#include "kernels/cpu/variants.h"
#include "kernels/cpu/vector.h"

void FX8_VARIANT(fx8_fill_functions)(struct fx8_operations *operations)
{
    fill_functions(operations);
}
