/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_celestial.c
 *
 * Shows: as python/test_moving_sky.py
 */
#include <erfa.h>
#include <erfam.h>

#include "correlator/run/celestial.h"
#include "validation/constant_earth.h"
#include "validation/earth_file.h"
#include "validation/testing.h"

/* 2019-08-29T15:00:00.25 UTC */
static const struct fx8_time summer = {1567090800, INT64_C(250000000000)};

/* In the south and the north, at a pole, in the west. */
static const struct fx8_site sites[] = {
    {-26.7, 116.67, 377.8}, {78.2, -15.5, 0}, {90, 0, 2800}, {19.8, -155.5, 0}};

/* Also at the poles, at zero, in the Sun's direction, and next to a pole. */
static const double icrs_deg[][2] = {
    {0, 0},    {83.633, 22.0145}, {201.365, -43.019}, {299.868, 40.734},
    {40, -90}, {250, 90},         {157.3, 9.4},       {359.9, 89.99}};

enum { PLACES = LENGTH(icrs_deg) };

static struct fx8_celestial look_from(const struct fx8_site *site,
                                      const struct fx8_earth_table *earth)
{
    return (struct fx8_celestial){.site = *site, .earth = earth};
}

static struct fx8_place place_of(struct fx8_celestial *sky,
                                 struct fx8_time time, const double icrs[2])
{
    struct fx8_place place;
    struct fx8_error error;
    memset(&place, GARBAGE, sizeof place);
    must(fx8_celestial_place(sky, time, icrs, &place, &error), error);
    return place;
}

static double sidereal_time(double longitude_deg, struct fx8_time time,
                            double dut1_s)
{
    struct fx8_celestial sky = {.site = {0, longitude_deg, 0},
                                .earth = constant_earth(dut1_s)};
    struct fx8_error error;
    double lst_rad;
    must(fx8_celestial_sidereal_time(&sky, time, &lst_rad, &error), error);
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
    /* without s', -47 microarcseconds a century */
    assert_near(lst, 1.754166137675019159 - 1.37e-11, 1e-12);
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

TEST(no_utc_is_an_error)
{
    struct fx8_celestial sky = {.earth = constant_earth(0)};
    struct fx8_error error;
    /* before the year -4799, where ERFA's calendar begins */
    const struct fx8_time time = {INT64_C(-300000000000), 0};
    struct fx8_place place;
    double lst, enu[1][3];
    must_fail_with(fx8_celestial_place(&sky, time, icrs_deg[0], &place, &error),
                   error, FX8_ERR_USAGE, "expected a date that has a UTC");
    assert_int_equal(
        fx8_celestial_directions(&sky, time, 1, icrs_deg, enu, &error),
        FX8_ERR_USAGE);
    assert_int_equal(fx8_celestial_sidereal_time(&sky, time, &lst, &error),
                     FX8_ERR_USAGE);
}

/* ERFA's chain in one call, from catalogue to observed place, with polar motion
 * and at odd seconds: the nodes of a minute cost 2e-13, and a Julian date in
 * two doubles resolves 1e-11 s. */
TEST(places_are_those_of_erfa)
{
    const struct fx8_earth_table *earth = earth_of_file();
    for (size_t s = 0; s < LENGTH(sites); s++)
        for (size_t k = 0; k < PLACES; k++) {
            struct fx8_celestial sky = look_from(&sites[s], earth);
            const struct fx8_time time = {summer.unix_s + 7 * (int64_t)k,
                                          summer.picosecond};
            const struct fx8_place place = place_of(&sky, time, icrs_deg[k]);
            struct fx8_earth at;
            struct fx8_error error;
            must(fx8_earth_find(earth, time, &at, &error), error);
            assert_true(at.polar_x_rad != 0 && at.polar_y_rad != 0);
            double day, part, azimuth, zenith, hour_angle, dec, ra, origins;
            assert_int_equal(eraDtf2d("UTC", 2019, 8, 29, 15, 0,
                                      0.25 + 7 * (double)k, &day, &part),
                             0);
            assert_int_equal(
                eraAtco13(icrs_deg[k][0] * ERFA_DD2R,
                          icrs_deg[k][1] * ERFA_DD2R, 0, 0, 0, 0, day, part,
                          at.dut1_s, sites[s].longitude_deg * ERFA_DD2R,
                          sites[s].latitude_deg * ERFA_DD2R,
                          sites[s].altitude_m, at.polar_x_rad, at.polar_y_rad,
                          0, 0, 0, 1e6, &azimuth, &zenith, &hour_angle, &dec,
                          &ra, &origins),
                0);
            const double w[3] = {sin(zenith) * sin(azimuth),
                                 sin(zenith) * cos(azimuth), cos(zenith)};
            for (size_t axis = 0; axis < 3; axis++)
                assert_near(place.axes[2][axis], w[axis], 1e-12);
            assert_near(place.app_dec_rad, dec, 1e-12);
            assert_near(eraAnpm(place.app_ra_rad - (ra - origins)) * cos(dec),
                        0, 1e-11);
        }
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The axes by spherical trigonometry from hour angle, declination and position
 * angle, which is how readers of UVH5 find uvw. */
TEST(axes_are_those_of_the_apparent_place)
{
    for (size_t s = 0; s < LENGTH(sites); s++)
        for (size_t k = 0; k < PLACES; k++) {
            struct fx8_celestial sky = look_from(&sites[s], earth_of_file());
            const struct fx8_place place = place_of(&sky, summer, icrs_deg[k]);
            const double h = place.lst_rad - place.app_ra_rad;
            const double d = place.app_dec_rad, pa = place.frame_pa_rad;
            const double phi = sites[s].latitude_deg * ERFA_DD2R;
            const double to[3] = {
                -cos(d) * sin(h),
                sin(d) * cos(phi) - cos(d) * cos(h) * sin(phi),
                sin(d) * sin(phi) + cos(d) * cos(h) * cos(phi)};
            const double east[3] = {cos(h), -sin(h) * sin(phi),
                                    sin(h) * cos(phi)};
            const double north[3] = {
                sin(d) * sin(h), cos(d) * cos(phi) + sin(d) * cos(h) * sin(phi),
                cos(d) * sin(phi) - sin(d) * cos(h) * cos(phi)};
            for (size_t axis = 0; axis < 3; axis++) {
                const double e = east[axis], n = north[axis];
                assert_near(place.axes[0][axis], e * cos(pa) - n * sin(pa),
                            1e-11);
                assert_near(place.axes[1][axis], e * sin(pa) + n * cos(pa),
                            1e-11);
                assert_near(place.axes[2][axis], to[axis], 1e-12);
            }
        }
}

/* Steps of 10^-3 rad in right ascension and declination go along u and v, but
 * for aberration (10^-4 of them) and, in the direction of the Sun, deflection
 * (10^-3). */
TEST(axes_lie_as_right_ascension_and_declination_grow)
{
    const double step_deg = 1e-3 * ERFA_DR2D;
    struct fx8_celestial sky = look_from(&sites[0], earth_of_file());
    for (size_t k = 0; k < 4; k++) {
        const struct fx8_place place = place_of(&sky, summer, icrs_deg[k]);
        for (size_t axis = 0; axis < 2; axis++) {
            double from[2], to[2], step[3];
            for (size_t c = 0; c < 2; c++) {
                from[c] = icrs_deg[k][c] - (c == axis ? step_deg : 0);
                to[c] = icrs_deg[k][c] + (c == axis ? step_deg : 0);
            }
            const struct fx8_place before = place_of(&sky, summer, from);
            const struct fx8_place after = place_of(&sky, summer, to);
            for (size_t c = 0; c < 3; c++)
                step[c] = (after.axes[2][c] - before.axes[2][c]) / 2e-3;
            const double length =
                axis == 0 ? cos(icrs_deg[k][1] * ERFA_DD2R) : 1;
            assert_near(dot(step, place.axes[axis]), length, 2e-4);
            assert_near(dot(step, place.axes[1 - axis]), 0,
                        axis == 0 ? 2e-4 : 1e-9);
        }
    }
}

/* The pole of the sky is above north by the latitude, which polar motion
 * changes by x cos(longitude) - y sin(longitude); a place 2 mrad from the pole
 * shows it to 1/500. */
TEST(polar_motion_moves_the_pole)
{
    for (size_t s = 0; s < LENGTH(sites); s++) {
        const double pole[2] = {0, 90};
        const struct fx8_earth_table *earth = earth_of_file();
        struct fx8_earth at;
        struct fx8_error error;
        must(fx8_earth_find(earth, summer, &at, &error), error);
        struct fx8_celestial sky = look_from(&sites[s], earth);
        const struct fx8_place moved = place_of(&sky, summer, pole);
        sky = look_from(&sites[s], constant_earth(at.dut1_s));
        const struct fx8_place still = place_of(&sky, summer, pole);
        const double longitude = sites[s].longitude_deg * ERFA_DD2R;
        if (sites[s].latitude_deg == 90) /* no direction is north there */
            continue;
        assert_near(asin(moved.axes[2][2]) - asin(still.axes[2][2]),
                    at.polar_x_rad * cos(longitude) -
                        at.polar_y_rad * sin(longitude),
                    4e-9 + 2e-3 * fabs(at.polar_x_rad) /
                               cos(sites[s].latitude_deg * ERFA_DD2R));
    }
}

/* Whatever was asked before, to the bit; and directions are w. */
TEST(places_are_functions_of_time_alone)
{
    const int64_t steps[] = {0, 1, 59, 60, -60, 30, 3600, -3599, 61, -1, 0};
    struct fx8_celestial sky = look_from(&sites[0], earth_of_file());
    struct fx8_time time = summer;
    for (size_t t = 0; t < LENGTH(steps); t++) {
        struct fx8_celestial fresh = look_from(&sites[0], earth_of_file());
        struct fx8_error error;
        double enu[PLACES][3];
        time.unix_s += steps[t];
        must(
            fx8_celestial_directions(&sky, time, PLACES, icrs_deg, enu, &error),
            error);
        for (size_t k = 0; k < PLACES; k++) {
            const struct fx8_place again = place_of(&sky, time, icrs_deg[k]);
            const struct fx8_place first = place_of(&fresh, time, icrs_deg[k]);
            check_bytes(&again, &first, sizeof first);
            check_bytes(enu[k], first.axes[2], sizeof enu[k]);
        }
    }
}

TEST(a_date_outside_the_table_is_an_error)
{
    struct fx8_celestial sky = look_from(&sites[0], earth_of_file());
    struct fx8_error error;
    struct fx8_place place;
    const struct fx8_time late = {summer.unix_s + 5 * 86400, 0};
    must_fail_with(fx8_celestial_place(&sky, late, icrs_deg[0], &place, &error),
                   error, FX8_ERR_USAGE,
                   "expected a date from 2019-08-28 to before 2019-09-02");
}
