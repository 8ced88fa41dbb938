/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/variants.h"

#if defined(__x86_64__)

#include "kernels/cpu/functions_loops.h"

void fx8_fill_functions_avx512(struct fx8_operations *operations)
{
    fill_functions(operations);
}

#else

void fx8_fill_functions_avx512(struct fx8_operations *operations)
{
    (void)operations;
}

#endif
