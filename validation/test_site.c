/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_site.c
 *
 * Shows: as python/test_moving_sky.py
 */
#include <erfa.h>
#include <erfam.h>

#include "correlator/run/site.h"
#include "validation/testing.h"

/* Geocentric position of a site, which checks the rotation. */
static void reference(const struct fx8_site *site, double xyz_m[3])
{
    assert_int_equal(eraGd2gc(ERFA_WGS84, site->longitude_deg * ERFA_DD2R,
                              site->latitude_deg * ERFA_DD2R, site->altitude_m,
                              xyz_m),
                     0);
}

/* east, north and up are the directions in which the reference moves when
 * longitude, latitude and altitude grow: central differences, good to 1e-8 */
TEST(rotation_agrees_with_the_ellipsoid)
{
    static const struct fx8_site sites[] = {
        {-26.7, 116.67, 377.8}, {45, -170, 0}, {1e-3, 0, 5000}, {89, 200, -50}};
    static const double steps[3][3] = {{0, 1e-4, 0}, {1e-4, 0, 0}, {0, 0, 10}};
    for (size_t s = 0; s < LENGTH(sites); s++)
        for (size_t axis = 0; axis < 3; axis++) {
            struct fx8_site low = sites[s], high = sites[s];
            low.latitude_deg -= steps[axis][0];
            high.latitude_deg += steps[axis][0];
            low.longitude_deg -= steps[axis][1];
            high.longitude_deg += steps[axis][1];
            low.altitude_m -= steps[axis][2];
            high.altitude_m += steps[axis][2];
            double from[3], to[3], ecef[3], length = 0;
            reference(&low, from);
            reference(&high, to);
            for (size_t k = 0; k < 3; k++)
                length += (to[k] - from[k]) * (to[k] - from[k]);
            const double enu[3] = {axis == 0, axis == 1, axis == 2};
            fx8_site_rotate(&sites[s], enu, ecef);
            for (size_t k = 0; k < 3; k++)
                assert_near(ecef[k], (to[k] - from[k]) / sqrt(length), 1e-8);
        }
}

TEST(azimuth_runs_from_north_through_east)
{
    static const double cases[][5] = {
        {0, 0, 0, 1, 0},
        {90, 0, 1, 0, 0},
        {180, 0, 0, -1, 0},
        {270, 0, -1, 0, 0},
        {123, 90, 0, 0, 1},
        {30, 60, 0.25, 0.4330127018922193, 0.8660254037844386},
    };
    for (size_t c = 0; c < LENGTH(cases); c++) {
        double enu[3];
        fx8_site_direction(cases[c][0], cases[c][1], enu);
        for (size_t k = 0; k < 3; k++)
            assert_near(enu[k], cases[c][2 + k], 1e-15);
    }
}
