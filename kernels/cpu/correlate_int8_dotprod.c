/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate_int8_dotprod.c -- correlate_int8_neon.h with SDOT.
 */
#include "kernels/cpu/variants.h"

#if defined(__aarch64__)

#include "kernels/cpu/correlate_int8_neon.h"

void fx8_fill_correlate_int8_dotprod(struct fx8_operations *operations)
{
    operations->int8 = correlate_int8;
}

#endif
