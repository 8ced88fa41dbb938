/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/gather_tiles.h"
#include "kernels/cpu/variants.h"

void fx8_fill_gather_avx512(struct fx8_operations *operations)
{
#if defined(__x86_64__)
    operations->gather = gather_tiles;
#else
    (void)operations;
#endif
}
