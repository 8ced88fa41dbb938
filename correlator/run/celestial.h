/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * celestial.h -- celestial positions as seen from a site on the turning Earth,
 * and its sidereal time.
 */
#ifndef FX8_CORRELATOR_RUN_CELESTIAL_H
#define FX8_CORRELATOR_RUN_CELESTIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/earth.h"
#include "config/observation.h"
#include "correlator/fx8.h"

/** What changes slowly, at one of the instants between which it is
 *  interpolated. */
struct fx8_celestial_node {
    bool is_known;
    int64_t unix_s;
    double slow[13];
};

/**
 * A site and the orientation of the Earth under it.
 *
 * Notes: 1) {.site = ..., .earth = ...} is ready for use, and has nothing to
 *           release
 *        2) the nodes only save time: results do not depend on earlier calls
 *        3) not for several threads at once
 */
struct fx8_celestial {
    struct fx8_site site;
    const struct fx8_earth_table *earth;
    struct fx8_celestial_node nodes[2];
};

/**
 * fx8_celestial_place -- where a position of the ICRS is seen.
 *
 * Given:    time      UTC
 *           icrs_deg  right ascension and declination of a source at infinity
 *                     without proper motion
 * Returned: place     also below the horizon
 * Status:   FX8_ERR_USAGE: a date without a UTC, or outside the table
 * Numerics: within 1e-10 rad of the IAU's models: precession and nutation
 *           2006/2000A, annual and diurnal aberration, deflection by the Sun,
 *           polar motion as in the table.  Left out: refraction, and celestial
 *           pole offsets (below 2e-9 rad).  Nutation and the motion of the
 *           Earth are interpolated linearly between whole minutes of UTC, which
 *           adds 2e-13 rad
 * Notes:    0.2 ms, and 5 microseconds when the time is near the one before
 * Source:   ERFA eraPnm06a, eraEpv00, eraApco, eraAtciqz, eraAtioq
 */
enum fx8_status fx8_celestial_place(struct fx8_celestial *sky,
                                    struct fx8_time time,
                                    const double icrs_deg[2],
                                    struct fx8_place *place,
                                    struct fx8_error *error);

/**
 * fx8_celestial_directions -- the same of many positions, directions alone.
 *
 * Given:    icrs_deg  [n][ra, dec]
 * Returned: enu       [n][3]  as axes[2] of each place
 */
enum fx8_status fx8_celestial_directions(struct fx8_celestial *sky,
                                         struct fx8_time time, size_t n,
                                         const double (*icrs_deg)[2],
                                         double (*enu)[3],
                                         struct fx8_error *error);

/**
 * fx8_celestial_sidereal_time -- local apparent sidereal time.
 *
 * Returned: lst_rad  in [0, 2 pi): Greenwich apparent sidereal time (IAU
 *                    2006/2000A), TIO locator s' and east longitude
 * Status, cost: as fx8_celestial_place()
 */
enum fx8_status fx8_celestial_sidereal_time(struct fx8_celestial *sky,
                                            struct fx8_time time,
                                            double *lst_rad,
                                            struct fx8_error *error);

#endif
