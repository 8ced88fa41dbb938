/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unscale_ref.c -- the reference has no vectors of pairs: see postprocess.c.
 */
#include "kernels/cpu/variants.h"

/* Nothing is streamed. */
static void settle(void)
{
}

void fx8_fill_unscale_reference(struct fx8_operations *operations)
{
    operations->unscale = NULL;
    operations->stream = NULL;
    operations->settle = settle;
}
