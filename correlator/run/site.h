/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * site.h -- directions, positions and sidereal time at a site on the WGS84
 * ellipsoid.
 */
#ifndef FX8_CORRELATOR_RUN_SITE_H
#define FX8_CORRELATOR_RUN_SITE_H

#include "config/observation.h"
#include "correlator/fx8.h"

/** Speed of light in vacuum, m/s (exact). */
#define FX8_LIGHT_M_S 299792458.0

/**
 * fx8_site_rotate -- rotate a vector from the site's axes to ECEF axes.
 *
 * Given:    enu  double [3]  any unit; rotated only, not shifted
 * Returned: ecef double [3]  same unit
 */
void fx8_site_rotate(const struct fx8_site *site, const double enu[3],
                     double ecef[3]);

/**
 * fx8_site_direction -- unit vector towards an azimuth and elevation.
 *
 * Given:    azimuth_deg    from north through east
 *           elevation_deg  from the horizon up; no refraction
 * Returned: enu  double [3]
 */
void fx8_site_direction(double azimuth_deg, double elevation_deg,
                        double enu[3]);

/**
 * fx8_site_sidereal_times -- local apparent sidereal times.
 *
 * Given:    times   [n_times] UTC, ascending
 *           dut1_s  UT1 - UTC
 * Returned: lst_rad [n_times] in [0, 2 pi): Greenwich apparent sidereal time
 *           (IAU 2006/2000A), TIO locator s' and east longitude; no polar
 *           motion
 * Status:   FX8_ERR_USAGE: a date for which ERFA has no UTC
 * Numerics: 1e-9 rad against pyuvdata, and 2e-9 rad more because precession and
 *           nutation are updated once a minute; 30 microseconds per update
 * Source:   ERFA eraDtf2d, eraUtctai, eraTaitt, eraUtcut1, eraEra00,
 *           eraGst06a, eraSp00
 */
enum fx8_status fx8_site_sidereal_times(const struct fx8_site *site,
                                        size_t n_times,
                                        const struct fx8_time *times,
                                        double dut1_s, double *lst_rad,
                                        struct fx8_error *error);

/**
 * fx8_site_sky -- apparent places of celestial positions as seen from a site.
 *
 * Given:    time      UTC
 *           dut1_s    UT1 - UTC
 *           icrs_deg  double [n][2]  right ascension and declination, ICRS, of
 *                     sources at infinity without proper motion
 * Returned: enu       double [n][3]  unit vectors towards the apparent places;
 *                     up is negative below the horizon
 * Status:   FX8_ERR_USAGE: a date for which ERFA has no UTC
 * Numerics: 1e-9 rad against the IAU's models: precession and nutation
 *           2006/2000A, annual and diurnal aberration, deflection by the Sun.
 *           Left out: refraction, and polar motion, at most 3e-6 rad
 * Notes:    takes 0.1 ms plus a microsecond per place
 * Source:   ERFA eraApco13, eraAtciqz, eraAtioq
 */
enum fx8_status fx8_site_sky(const struct fx8_site *site, struct fx8_time time,
                             double dut1_s, size_t n,
                             const double (*icrs_deg)[2], double (*enu)[3],
                             struct fx8_error *error);

#endif
