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

static double sidereal_time(double longitude_deg, struct fx8_time time,
                            double dut1_s)
{
    const struct fx8_site site = {0, longitude_deg, 0};
    struct fx8_error error;
    double lst_rad;
    must(fx8_site_sidereal_times(&site, 1, &time, dut1_s, &lst_rad, &error),
         error);
    return lst_rad;
}

/*
 * ERFA's own test value of eraGst06a at TT = UT1 = MJD 53736.0.  That TT is
 * 2005-12-31T23:58:55.816 UTC (32 leap seconds and 32.184 s before), on a day
 * with a leap second; and dut1 is what makes UT1 equal to TT then.
 */
TEST(sidereal_time_is_that_of_erfa)
{
    const struct fx8_time time = {1136073535, INT64_C(816000000000)};
    const double lst = sidereal_time(0, time, 64.184);
    assert_near(lst, 1.754166137675019159, 1e-9);
    assert_near(sidereal_time(90, time, 64.184) - lst, 1.5707963267948966,
                1e-14);
    /* the Earth turns by 7.292116e-5 rad a second */
    assert_near(sidereal_time(0, time, 65.184) - lst, 7.292116e-5, 1e-10);
    /* and in a day gains a 365.2422nd of a turn on the Sun; as UT1 - UTC is
     * given, the leap second in between has no effect */
    const struct fx8_time next = {time.unix_s + 86400, time.picosecond};
    assert_near(sidereal_time(0, next, 64.184) - lst,
                6.283185307179586 / 365.2422, 1e-5);
}

/* Many times at once equal each time alone, to the 2e-9 rad of the updated
 * model. */
TEST(many_times_are_each_alone)
{
    enum { N_TIMES = 200 };
    const struct fx8_site site = {0, 116.67, 0};
    struct fx8_time times[N_TIMES];
    double together[N_TIMES];
    struct fx8_error error;
    for (int64_t t = 0; t < N_TIMES; t++)
        times[t] = (struct fx8_time){1600000000 + 17 * t, t * 1000000000};
    must(fx8_site_sidereal_times(&site, N_TIMES, times, -0.2, together, &error),
         error);
    for (size_t t = 0; t < N_TIMES; t++)
        assert_near(together[t], sidereal_time(116.67, times[t], -0.2), 2e-9);
}

TEST(no_utc_is_an_error)
{
    const struct fx8_site site = {0, 0, 0};
    struct fx8_error error;
    const struct fx8_time time = {INT64_C(-300000000000), 0};
    double lst;
    /* before the year -4799, where ERFA's calendar begins */
    const double icrs_deg[1][2] = {{0, 0}};
    double enu[1][3];
    assert_int_equal(fx8_site_sky(&site, time, 0, 1, icrs_deg, enu, &error),
                     FX8_ERR_USAGE);
    assert_int_equal(fx8_site_sidereal_times(&site, 1, &time, 0, &lst, &error),
                     FX8_ERR_USAGE);
}

/* ERFA's chain in one call, from catalogue to observed place: equal to the last
 * bits of an azimuth. */
TEST(sky_is_that_of_erfa)
{
    const struct fx8_site sites[] = {{-26.7, 116.67, 377.8}, {78.2, -15.5, 0}};
    static const double icrs_deg[][2] = {
        {0, 0}, {83.633, 22.0145}, {201.365, -43.019}, {299.868, 40.734}};
    enum { PLACES = LENGTH(icrs_deg) };
    /* 2019-08-29T15:00:00.25 UTC */
    const struct fx8_time time = {1567090800, INT64_C(250000000000)};
    double day, fraction;
    assert_int_equal(eraDtf2d("UTC", 2019, 8, 29, 15, 0, 0.25, &day, &fraction),
                     0);
    for (size_t s = 0; s < LENGTH(sites); s++) {
        double enu[PLACES][3];
        struct fx8_error error;
        must(
            fx8_site_sky(&sites[s], time, -0.15, PLACES, icrs_deg, enu, &error),
            error);
        for (size_t k = 0; k < PLACES; k++) {
            double azimuth, zenith, hour_angle, dec, ra, origins;
            assert_int_equal(
                eraAtco13(icrs_deg[k][0] * ERFA_DD2R,
                          icrs_deg[k][1] * ERFA_DD2R, 0, 0, 0, 0, day, fraction,
                          -0.15, sites[s].longitude_deg * ERFA_DD2R,
                          sites[s].latitude_deg * ERFA_DD2R,
                          sites[s].altitude_m, 0, 0, 0, 0, 0, 1e6, &azimuth,
                          &zenith, &hour_angle, &dec, &ra, &origins),
                0);
            assert_near(enu[k][0], sin(zenith) * sin(azimuth), 1e-12);
            assert_near(enu[k][1], sin(zenith) * cos(azimuth), 1e-12);
            assert_near(enu[k][2], cos(zenith), 1e-12);
        }
    }
}
