/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * complex_value.h -- complex numbers for tests; CMPLX of C11, which the
 * headers of Debian 12 define for gcc only.
 */
#ifndef FX8_VALIDATION_COMPLEX_VALUE_H
#define FX8_VALIDATION_COMPLEX_VALUE_H

#include <complex.h>

#ifndef CMPLX
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

#endif
