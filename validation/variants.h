/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * variants.h -- a loop over the variants of the kernels.
 */
#ifndef FX8_VALIDATION_VARIANTS_H
#define FX8_VALIDATION_VARIANTS_H

#include "kernels/operations.h"

/** FOR_EACH_VARIANT(variant) { ... }: every variant that this CPU runs, the
 *  reference first. */
#define FOR_EACH_VARIANT(variant)                                              \
    for (size_t at_##variant = 0; at_##variant < fx8_operations_variants();    \
         at_##variant++)                                                       \
        for (const struct fx8_operations *variant =                            \
                 fx8_operations_variant(at_##variant);                         \
             variant != NULL; variant = NULL)

#endif
