/* SPDX-License-Identifier: BSD-3-Clause */
#include <erfa.h>
#include <erfam.h>
#include <math.h>
#include <stdbool.h>

#include "config/base/number.h"
#include "config/base/try.h"
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

/* UTC as ERFA's two-part quasi-Julian date, which stretches days that hold a
 * leap second; negative status: no such date. */
static int quasi_julian_date(struct fx8_time time, double *day,
                             double *fraction)
{
    const int64_t day_s = 86400;
    int64_t days = time.unix_s / day_s;
    if (time.unix_s % day_s < 0)
        days--;
    const int64_t second = time.unix_s - days * day_s;
    int year, month, day_of_month;
    double rest;
    const int status =
        eraJd2cal(2440587.5, (double)days, &year, &month, &day_of_month, &rest);
    if (status < 0)
        return status;
    return eraDtf2d("UTC", year, month, day_of_month, (int)(second / 3600),
                    (int)(second / 60 % 60),
                    (double)(second % 60) +
                        (double)time.picosecond / (double)FX8_PICOSECONDS,
                    day, fraction);
}

static enum fx8_status fail_date(struct fx8_time time, struct fx8_error *error)
{
    char text[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_time(time, text);
    return fx8_fail(error, FX8_ERR_USAGE,
                    "start time: %s: expected a date that has a UTC", text);
}

/* Seconds for which precession and nutation are held constant: they move the
 * equinox by less than 2e-9 rad a minute. */
#define SLOW_S 60

/* The slowly changing part of sidereal time. */
struct slow {
    bool is_known;
    int64_t unix_s;   /* when it was computed */
    double angle_rad; /* of the equinox from the origin, with s' */
};

static enum fx8_status sidereal_time(const struct fx8_site *site,
                                     struct fx8_time time, double dut1_s,
                                     struct slow *slow, double *lst_rad,
                                     struct fx8_error *error)
{
    double utc[2], tai[2], tt[2], ut1[2];
    /* a positive status warns of a date before 1960 or after the table of leap
     * seconds: still the best available */
    if (quasi_julian_date(time, &utc[0], &utc[1]) < 0 ||
        eraUtctai(utc[0], utc[1], &tai[0], &tai[1]) < 0 ||
        eraTaitt(tai[0], tai[1], &tt[0], &tt[1]) < 0 ||
        eraUtcut1(utc[0], utc[1], dut1_s, &ut1[0], &ut1[1]) < 0)
        return fail_date(time, error);
    const double rotation = eraEra00(ut1[0], ut1[1]);
    if (!slow->is_known || time.unix_s - slow->unix_s >= SLOW_S) {
        const double greenwich = eraGst06a(ut1[0], ut1[1], tt[0], tt[1]);
        *slow = (struct slow){
            .is_known = true,
            .unix_s = time.unix_s,
            .angle_rad = eraAnpm(greenwich - rotation) + eraSp00(tt[0], tt[1]),
        };
    }
    *lst_rad =
        eraAnp(rotation + slow->angle_rad + site->longitude_deg * radian);
    return FX8_OK;
}

enum fx8_status fx8_site_sidereal_times(const struct fx8_site *site,
                                        size_t n_times,
                                        const struct fx8_time *times,
                                        double dut1_s, double *lst_rad,
                                        struct fx8_error *error)
{
    struct slow slow = {.is_known = false};
    for (size_t t = 0; t < n_times; t++)
        FX8_TRY(
            sidereal_time(site, times[t], dut1_s, &slow, &lst_rad[t], error));
    return FX8_OK;
}

enum fx8_status fx8_site_sky(const struct fx8_site *site, struct fx8_time time,
                             double dut1_s, size_t n,
                             const double (*icrs_deg)[2], double (*enu)[3],
                             struct fx8_error *error)
{
    double day, fraction, origins;
    eraASTROM astrom;
    /* no polar motion; no pressure, no refraction: the other arguments do not
     * matter */
    if (quasi_julian_date(time, &day, &fraction) < 0 ||
        eraApco13(day, fraction, dut1_s, site->longitude_deg * radian,
                  site->latitude_deg * radian, site->altitude_m, 0.0, 0.0, 0.0,
                  0.0, 0.0, 1e6, &astrom, &origins) < 0)
        return fail_date(time, error);
    for (size_t k = 0; k < n; k++) {
        double ra, dec, azimuth, zenith, hour_angle, seen_dec, seen_ra;
        eraAtciqz(icrs_deg[k][0] * radian, icrs_deg[k][1] * radian, &astrom,
                  &ra, &dec);
        eraAtioq(ra, dec, &astrom, &azimuth, &zenith, &hour_angle, &seen_dec,
                 &seen_ra);
        fx8_site_direction(azimuth / radian, 90.0 - zenith / radian, enu[k]);
    }
    return FX8_OK;
}
