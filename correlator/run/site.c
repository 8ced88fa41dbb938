/* SPDX-License-Identifier: BSD-3-Clause */
#include <erfam.h>
#include <math.h>

#include "correlator/run/site.h"

static const double radian = ERFA_DD2R; /* per degree */

void fx8_site_rotate(const struct fx8_site *site, const double enu[3],
                     double ecef[3])
{
    const double sin_lat = sin(site->latitude_deg * radian);
    const double cos_lat = cos(site->latitude_deg * radian);
    const double sin_lon = sin(site->longitude_deg * radian);
    const double cos_lon = cos(site->longitude_deg * radian);
    /* away from the Earth's axis, in the site's meridian */
    const double outward = cos_lat * enu[2] - sin_lat * enu[1];
    ecef[0] = cos_lon * outward - sin_lon * enu[0];
    ecef[1] = sin_lon * outward + cos_lon * enu[0];
    ecef[2] = sin_lat * enu[2] + cos_lat * enu[1];
}

void fx8_site_direction(double azimuth_deg, double elevation_deg, double enu[3])
{
    const double azimuth = azimuth_deg * radian;
    const double elevation = elevation_deg * radian;
    enu[0] = cos(elevation) * sin(azimuth);
    enu[1] = cos(elevation) * cos(azimuth);
    enu[2] = sin(elevation);
}
