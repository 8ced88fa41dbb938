/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * earth_file.h -- tables in the formats of the IERS, with made-up values.
 */
#ifndef FX8_VALIDATION_EARTH_FILE_H
#define FX8_VALIDATION_EARTH_FILE_H

#include <stdio.h>

#include "config/earth.h"
#include "validation/scratch.h"
#include "validation/testing.h"

/** MJD of 2019-08-28, a day before the dates of the tests. */
#define EARTH_MJD 58723

/** Values of a day, of the sizes that they really have. */
static inline struct fx8_earth earth_of_day(int mjd)
{
    const double day = mjd - EARTH_MJD;
    return (struct fx8_earth){
        .dut1_s = -0.1711111 - 7e-4 * day + 3e-5 * day * day,
        .polar_x_rad = 0.211111 - 1.3e-3 * day, /* arcsec in files */
        .polar_y_rad = 0.333333 + 2e-5 * day * day,
    };
}

/** A table of C04 of six days, opened once. */
static inline const struct fx8_earth_table *earth_of_file(void)
{
    static struct fx8_earth_table *table;
    if (table != NULL)
        return table;
    char text[2000] = "# YR  MM  DD  HH  MJD  x(\")  y(\")  UT1-UTC(s)\n";
    for (int mjd = EARTH_MJD; mjd < EARTH_MJD + 6; mjd++) {
        const struct fx8_earth of = earth_of_day(mjd);
        char *end = text + strlen(text);
        snprintf(end, (size_t)(text + sizeof text - end),
                 "2019   8   1   0  %d.00 %11.6f %11.6f %11.7f  0.0\n", mjd,
                 of.polar_x_rad, of.polar_y_rad, of.dut1_s);
    }
    char path[SCRATCH_PATH_SIZE];
    snprintf(path, sizeof path, "%s", scratch_text("eopc04", text));
    struct fx8_error error;
    must(fx8_earth_open(path, NAN, &table, &error), error);
    return table;
}

#endif
