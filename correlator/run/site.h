/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * site.h -- directions and positions at a site on the WGS84 ellipsoid.
 */
#ifndef FX8_CORRELATOR_RUN_SITE_H
#define FX8_CORRELATOR_RUN_SITE_H

#include "config/observation.h"
#include "correlator/fx8.h"

/** Speed of light in vacuum, m/s (exact). */
#define FX8_LIGHT_M_S 299792458.0

/** Rotation of the Earth relative to the stars, rad/s. */
#define FX8_EARTH_RAD_S 7.2921159e-5

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

#endif
