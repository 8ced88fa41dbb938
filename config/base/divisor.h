/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * divisor.h -- greatest common divisor, to reduce fractions.
 */
#ifndef FX8_CONFIG_BASE_DIVISOR_H
#define FX8_CONFIG_BASE_DIVISOR_H

/** __extension__: gcc and clang have 128-bit integers, C17 does not. */
__extension__ typedef __int128 fx8_wide;

/** Greatest common divisor of two integers >= 0; 0 for two zeros. */
static inline fx8_wide fx8_greatest_divisor(fx8_wide a, fx8_wide b)
{
    while (b != 0) {
        const fx8_wide rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
