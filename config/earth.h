/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * earth.h -- orientation of the Earth: UT1 - UTC and polar motion, from a table
 * as the IERS publishes it.
 */
#ifndef FX8_CONFIG_EARTH_H
#define FX8_CONFIG_EARTH_H

#include <stdbool.h>

#include "config/observation.h"
#include "correlator/fx8.h"

/** Orientation at one instant. */
struct fx8_earth {
    double dut1_s; /**< UT1 - UTC */
    double polar_x_rad;
    double polar_y_rad;
};

/** A table, or one constant UT1 - UTC. */
struct fx8_earth_table;

/**
 * fx8_earth_open -- read a table, or take one constant, or nothing.
 *
 * Given:     path    of a table; "": none
 *            dut1_s  UT1 - UTC without a table; NaN: not known
 * Status:    FX8_ERR_USAGE: "FILE[:LINE]: ..." for a file that cannot be read,
 *            has no rows or a damaged one
 * Ownership: fx8_earth_close() releases the table; NULL after failure
 * Notes:     1) finals2000A (also .data and .daily): the fixed columns of
 *               Bulletin A, and where they are filled those of Bulletin B
 *            2) EOP C04 and Bulletin B: below a header, lines of year, month,
 *               day, hour (or none), MJD, x, y and UT1 - UTC, in arcsec and s,
 *               or in mas and ms if the header names the milliarcsecond; other
 *               columns are ignored
 *            3) rows are a day apart
 *            4) a constant UT1 - UTC comes without polar motion; without either
 *               UT1 is UTC
 * Source:    readme.finals2000A; headers of EOP C04 and Bulletin B
 */
enum fx8_status fx8_earth_open(const char *path, double dut1_s,
                               struct fx8_earth_table **table,
                               struct fx8_error *error);

/** Whether UT1 - UTC is known: false without table and constant. */
bool fx8_earth_is_known(const struct fx8_earth_table *table);

/**
 * fx8_earth_find -- orientation at an instant.
 *
 * Given:    time  UTC
 * Status:   FX8_ERR_USAGE: before the first row or not before the last
 * Numerics: linear between the rows, as in astropy; of UT1 - UTC without the
 *           leap second that a step of more than half a second is.  Off by at
 *           most 0.02 ms; the daily tides, which no table has, are as large.  A
 *           day that ends in a leap second is taken to have 86,400 s: 3e-8 s
 */
enum fx8_status fx8_earth_find(const struct fx8_earth_table *table,
                               struct fx8_time time, struct fx8_earth *earth,
                               struct fx8_error *error);

/** Release and null the handle; a NULL handle is legal. */
void fx8_earth_close(struct fx8_earth_table **table);

#endif
