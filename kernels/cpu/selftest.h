/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * selftest.h -- the test that a variant must pass before use.
 */
#ifndef FX8_KERNELS_CPU_SELFTEST_H
#define FX8_KERNELS_CPU_SELFTEST_H

#include "kernels/operations.h"

/**
 * fx8_operations_disagreement -- run every operation of a variant and of the
 * reference on one small block of full-range data, -128 included.
 *
 * Given:    reference, variant  whole tables
 * Returned: NULL when all results are equal bit for bit, else the name of the
 *           first operation that differs (static text)
 * Notes:    1) FP32 sums are tested on integers, where they are exact
 *           2) takes about a millisecond; safe on any thread
 */
const char *fx8_operations_disagreement(const struct fx8_operations *reference,
                                        const struct fx8_operations *variant);

#endif
