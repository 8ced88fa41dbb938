/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * divisor.h -- what brings a fraction to lowest terms.
 */
#ifndef FX8_CONFIG_BASE_DIVISOR_H
#define FX8_CONFIG_BASE_DIVISOR_H

/** __extension__: 128-bit integers are in gcc and clang, not in C17. */
__extension__ typedef __int128 fx8_wide;

/** Greatest common divisor of two integers from 0 on; 0 and 0 have 0. */
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
