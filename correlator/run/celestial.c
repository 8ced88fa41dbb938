/* SPDX-License-Identifier: BSD-3-Clause */
#include <erfa.h>
#include <erfam.h>
#include <math.h>
#include <string.h>

#include "config/base/number.h"
#include "config/base/try.h"
#include "correlator/run/celestial.h"
#include "correlator/run/site.h"

static const double radian = ERFA_DD2R; /* per degree */

/* Seconds between nodes. */
#define NODE_S 60

/* Step in declination for the direction of ICRS north, rad: aberration bends it
 * by less than 1e-12, and rounding turns it by as much. */
#define NORTH_STEP 1e-4

/* The numbers of a node: celestial pole, locator and equation of the origins;
 * positions and velocity of the Earth. */
enum {
    POLE_X,
    POLE_Y,
    LOCATOR,
    ORIGINS,
    EARTH_PV,
    EARTH_SUN = EARTH_PV + 6,
    N_SLOW = EARTH_SUN + 3
};

/* --- time scales -------------------------------------------------- */

/* An instant in ERFA's two-part dates. */
struct scales {
    double utc[2], tt[2], ut1[2];
};

/* UTC as a quasi-Julian date, in which a day with a leap second is as long as
 * any other; negative status: no such date. */
static int find_utc(struct fx8_time time, double utc[2])
{
    const int64_t day_s = 86400;
    int64_t days = time.unix_s / day_s;
    if (time.unix_s % day_s < 0)
        days--;
    const int64_t second = time.unix_s - days * day_s;
    int year, month, day;
    double rest;
    const int status =
        eraJd2cal(2440587.5, (double)days, &year, &month, &day, &rest);
    if (status < 0)
        return status;
    return eraDtf2d("UTC", year, month, day, (int)(second / 3600),
                    (int)(second / 60 % 60),
                    (double)(second % 60) +
                        (double)time.picosecond / (double)FX8_PICOSECONDS,
                    &utc[0], &utc[1]);
}

/* A positive status of ERFA warns of a date before 1960 or after its table of
 * leap seconds: still the best there is. */
static enum fx8_status find_scales(struct fx8_time time, double dut1_s,
                                   struct scales *scales,
                                   struct fx8_error *error)
{
    double *utc = scales->utc, *tt = scales->tt, tai[2];
    if (find_utc(time, utc) >= 0 &&
        eraUtctai(utc[0], utc[1], &tai[0], &tai[1]) >= 0 &&
        eraTaitt(tai[0], tai[1], &tt[0], &tt[1]) >= 0 &&
        eraUtcut1(utc[0], utc[1], dut1_s, &scales->ut1[0], &scales->ut1[1]) >=
            0)
        return FX8_OK;
    char text[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_time(time, text);
    return fx8_fail(error, FX8_ERR_USAGE,
                    "start time: %s: expected a date that has a UTC", text);
}

/* --- what changes slowly ------------------------------------------ */

static enum fx8_status load_node(struct fx8_celestial_node *node,
                                 int64_t unix_s, struct fx8_error *error)
{
    struct scales at;
    double matrix[3][3], heliocentric[2][3], *slow = node->slow;
    double barycentric[2][3];
    node->is_known = false;
    FX8_TRY(find_scales((struct fx8_time){unix_s, 0}, 0.0, &at, error));
    eraPnm06a(at.tt[0], at.tt[1], matrix);
    eraBpn2xy(matrix, &slow[POLE_X], &slow[POLE_Y]);
    slow[LOCATOR] = eraS06(at.tt[0], at.tt[1], slow[POLE_X], slow[POLE_Y]);
    slow[ORIGINS] = eraEors(matrix, slow[LOCATOR]);
    /* outside 1900 to 2100 it warns of a loss of accuracy; TT serves as TDB */
    (void)eraEpv00(at.tt[0], at.tt[1], heliocentric, barycentric);
    memcpy(&slow[EARTH_PV], barycentric, sizeof barycentric);
    memcpy(&slow[EARTH_SUN], heliocentric[0], sizeof heliocentric[0]);
    node->unix_s = unix_s;
    node->is_known = true;
    return FX8_OK;
}

/* Interpolate between the nodes around an instant. */
static enum fx8_status find_slow(struct fx8_celestial *sky,
                                 struct fx8_time time, double slow[N_SLOW],
                                 struct fx8_error *error)
{
    struct fx8_celestial_node *nodes = sky->nodes;
    const int64_t rest = (time.unix_s % NODE_S + NODE_S) % NODE_S;
    const int64_t begin = time.unix_s - rest;
    if (nodes[1].is_known && nodes[1].unix_s == begin) {
        const struct fx8_celestial_node kept = nodes[1];
        nodes[1] = nodes[0];
        nodes[0] = kept;
    }
    for (int64_t k = 0; k < 2; k++)
        if (!nodes[k].is_known || nodes[k].unix_s != begin + k * NODE_S)
            FX8_TRY(load_node(&nodes[k], begin + k * NODE_S, error));
    const double share =
        ((double)rest + (double)time.picosecond / (double)FX8_PICOSECONDS) /
        NODE_S;
    for (size_t k = 0; k < N_SLOW; k++)
        slow[k] = (1.0 - share) * nodes[0].slow[k] + share * nodes[1].slow[k];
    return FX8_OK;
}

/* --- places ------------------------------------------------------- */

/* The sky at an instant. */
struct view {
    eraASTROM astrom;
    double lst_rad;
};

static enum fx8_status look(struct fx8_celestial *sky, struct fx8_time time,
                            struct view *view, struct fx8_error *error)
{
    const double longitude = sky->site.longitude_deg * radian;
    struct fx8_earth earth;
    struct scales at;
    double slow[N_SLOW], barycentric[2][3];
    FX8_TRY(fx8_earth_find(sky->earth, time, &earth, error));
    FX8_TRY(find_scales(time, earth.dut1_s, &at, error));
    FX8_TRY(find_slow(sky, time, slow, error));
    memcpy(barycentric, &slow[EARTH_PV], sizeof barycentric);
    const double rotation = eraEra00(at.ut1[0], at.ut1[1]);
    const double tio = eraSp00(at.tt[0], at.tt[1]);
    view->lst_rad = eraAnp(rotation - slow[ORIGINS] + tio + longitude);
    /* as eraApco13() without refraction */
    eraApco(at.tt[0], at.tt[1], barycentric, &slow[EARTH_SUN], slow[POLE_X],
            slow[POLE_Y], slow[LOCATOR], rotation, longitude,
            sky->site.latitude_deg * radian, sky->site.altitude_m,
            earth.polar_x_rad, earth.polar_y_rad, tio, 0.0, 0.0, &view->astrom);
    return FX8_OK;
}

/* Where a position is seen; also its hour angle and declination. */
static void find_direction(struct view *view, double ra, double dec,
                           double enu[3], double *hour_angle, double *app_dec)
{
    double azimuth, zenith, unused;
    eraAtciqz(ra, dec, &view->astrom, &ra, &dec);
    eraAtioq(ra, dec, &view->astrom, &azimuth, &zenith, hour_angle, app_dec,
             &unused);
    enu[0] = sin(zenith) * sin(azimuth);
    enu[1] = sin(zenith) * cos(azimuth);
    enu[2] = cos(zenith);
}

/* The part of a vector across a unit vector, to length 1. */
static void project(double vector[3], const double unit[3])
{
    double along[3], length;
    eraSxp(eraPdp(vector, (double *)unit), (double *)unit, along);
    eraPmp(vector, along, vector);
    eraPn(vector, &length, vector);
}

enum fx8_status fx8_celestial_place(struct fx8_celestial *sky,
                                    struct fx8_time time,
                                    const double icrs_deg[2],
                                    struct fx8_place *place,
                                    struct fx8_error *error)
{
    const double ra = icrs_deg[0] * radian, dec = icrs_deg[1] * radian;
    const double latitude = sky->site.latitude_deg * radian;
    double *u = place->axes[0], *v = place->axes[1], *w = place->axes[2];
    double north[3] = {0.0, cos(latitude), sin(latitude)}, east[3];
    double below[3], above[3], hour_angle, unused;
    struct view view;
    FX8_TRY(look(sky, time, &view, error));
    find_direction(&view, ra, dec - NORTH_STEP, below, &unused, &unused);
    find_direction(&view, ra, dec + NORTH_STEP, above, &unused, &unused);
    find_direction(&view, ra, dec, w, &hour_angle, &place->app_dec_rad);
    eraPmp(above, below, v);
    project(v, w);
    eraPxp(v, w, u);
    project(north, w);
    eraPxp(north, w, east);
    place->frame_pa_rad = atan2(eraPdp(v, east), eraPdp(v, north));
    place->lst_rad = view.lst_rad;
    place->app_ra_rad = eraAnp(view.lst_rad - hour_angle);
    return FX8_OK;
}

enum fx8_status fx8_celestial_directions(struct fx8_celestial *sky,
                                         struct fx8_time time, size_t n,
                                         const double (*icrs_deg)[2],
                                         double (*enu)[3],
                                         struct fx8_error *error)
{
    struct view view;
    double unused;
    FX8_TRY(look(sky, time, &view, error));
    for (size_t k = 0; k < n; k++)
        find_direction(&view, icrs_deg[k][0] * radian, icrs_deg[k][1] * radian,
                       enu[k], &unused, &unused);
    return FX8_OK;
}

enum fx8_status fx8_celestial_sidereal_time(struct fx8_celestial *sky,
                                            struct fx8_time time,
                                            double *lst_rad,
                                            struct fx8_error *error)
{
    struct view view;
    FX8_TRY(look(sky, time, &view, error));
    *lst_rad = view.lst_rad;
    return FX8_OK;
}
