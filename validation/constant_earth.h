/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * constant_earth.h -- an Earth with a constant UT1 - UTC.
 */
#ifndef FX8_VALIDATION_CONSTANT_EARTH_H
#define FX8_VALIDATION_CONSTANT_EARTH_H

#include "config/earth.h"
#include "validation/testing.h"

/** The table; NaN: neither key given.  Valid until a call with another. */
static inline const struct fx8_earth_table *constant_earth(double dut1_s)
{
    static struct fx8_earth_table *table;
    static double is_for;
    if (table != NULL && memcmp(&is_for, &dut1_s, sizeof is_for) == 0)
        return table;
    is_for = dut1_s;
    struct fx8_error error;
    fx8_earth_close(&table);
    must(fx8_earth_open("", dut1_s, &table, &error), error);
    return table;
}

#endif
