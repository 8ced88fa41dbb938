/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sources.c -- the named sources in an image: a few bright ones, the Sun, the
 * Moon, and those of a catalogue.
 */
#include <erfa.h>
#include <erfam.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/csv.h"
#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/catalogue.h"
#include "correlator/image/sources.h"
#include "correlator/run/site.h"

/* ICRS, SIMBAD. */
static const struct fx8_phase_center bright[] = {
    {"Cas A", {350.8500, 58.8150}},
    {"Cyg A", {299.8682, 40.7339}},
    {"Vir A", {187.7059, 12.3911}},
    {"Tau A", {83.6331, 22.0145}},
};

#define N_BRIGHT (sizeof bright / sizeof *bright)

/* Keep a source if the image has it. */
static enum fx8_status keep(struct fx8_image *image, const char *name,
                            const struct fx8_image_place *place,
                            struct fx8_error *error)
{
    struct fx8_image_source source = {.place = *place};
    memcpy(source.name, name, fx8_line_cut(name, sizeof source.name - 1));
    if (!fx8_image_find(&image->frame, &source.place))
        return FX8_OK;
    FX8_TRY(fx8_grow(&image->sources, image->n_sources, sizeof source,
                     "sources", error));
    image->sources[image->n_sources++] = source;
    return FX8_OK;
}

static enum fx8_status keep_bright(struct fx8_celestial *sky,
                                   struct fx8_image *image,
                                   struct fx8_error *error)
{
    for (size_t k = 0; k < N_BRIGHT; k++) {
        struct fx8_image_place place;
        memcpy(place.icrs_deg, bright[k].icrs_deg, sizeof place.icrs_deg);
        FX8_TRY(fx8_celestial_directions(
            sky, image->frame.time, 1, &bright[k].icrs_deg, &place.enu, error));
        FX8_TRY(keep(image, bright[k].name, &place, error));
    }
    return FX8_OK;
}

/* From the Earth's centre in ICRS axes, AU, to where the site sees it. */
static enum fx8_status keep_body(struct fx8_celestial *sky, const char *name,
                                 double vector[3], struct fx8_image *image,
                                 struct fx8_error *error)
{
    struct fx8_image_place place;
    double site[3], length;
    fx8_image_degrees(vector, place.icrs_deg);
    FX8_TRY(fx8_celestial_directions(sky, image->frame.time, 1,
                                     (const double(*)[2])place.icrs_deg,
                                     &place.enu, error));
    (void)eraGd2gc(ERFA_WGS84, sky->site.longitude_deg * ERFA_DD2R,
                   sky->site.latitude_deg * ERFA_DD2R, sky->site.altitude_m,
                   site);
    for (size_t k = 0; k < 3; k++) {
        double axis[3] = {k == 0, k == 1, k == 2}, ecef[3];
        fx8_site_rotate(&sky->site, axis, ecef);
        place.enu[k] =
            place.enu[k] * eraPm(vector) * ERFA_DAU - eraPdp(ecef, site);
    }
    eraPn(place.enu, &length, place.enu);
    return keep(image, name, &place, error);
}

/* The Moon's place has the aberration of a star too, 20 arcseconds. */
static enum fx8_status keep_bodies(struct fx8_celestial *sky,
                                   struct fx8_image *image,
                                   struct fx8_error *error)
{
    double tai[2], tt[2], sun[2][3], moon[2][3], barycentric[2][3];
    if (eraUtctai(fx8_time_julian_date(image->frame.time), 0.0, &tai[0],
                  &tai[1]) < 0 ||
        eraTaitt(tai[0], tai[1], &tt[0], &tt[1]) < 0)
        return FX8_OK;
    (void)eraEpv00(tt[0], tt[1], sun, barycentric);
    eraSxp(-1.0, sun[0], sun[0]);
    eraMoon98(tt[0], tt[1], moon);
    FX8_TRY(keep_body(sky, "Sun", sun[0], image, error));
    return keep_body(sky, "Moon", moon[0], image, error);
}

/* Columns of a catalogue.  A table of simulated sources has those from I on,
 * which are ignored. */
enum column { NAME, RIGHT_ASCENSION, DECLINATION, AZIMUTH, ELEVATION };
static const char *const columns[] = {
    "name", "ra_deg", "dec_deg", "az_deg", "el_deg",
    "I",    "Q",      "U",       "V",      "tone_hz",
};

#define N_COLUMNS (sizeof columns / sizeof *columns)

/* Where a row of a catalogue is: on the sky, or at the time of the image above
 * the horizon. */
static enum fx8_status read_place(const char *path, const struct fx8_csv *csv,
                                  const size_t *where, size_t row,
                                  struct fx8_celestial *sky,
                                  struct fx8_time time,
                                  struct fx8_image_place *place,
                                  struct fx8_error *error)
{
    char *const *fields = csv->fields + row * csv->n_columns;
    const bool is_on_sky = where[RIGHT_ASCENSION] < csv->n_columns &&
                           *fields[where[RIGHT_ASCENSION]] != '\0';
    const enum column first = is_on_sky ? RIGHT_ASCENSION : AZIMUTH;
    double angles_deg[1][2];
    for (size_t k = 0; k < 2; k++) {
        static const double least[] = {-360.0, -90.0}, most[] = {360.0, 90.0};
        if (where[first + k] == csv->n_columns)
            return fx8_csv_fail_column(path, csv, columns[first + k], error);
        FX8_TRY(fx8_csv_real(path, csv, row, where[first + k], least[k],
                             most[k], &angles_deg[0][k], error));
    }
    if (is_on_sky) {
        memcpy(place->icrs_deg, angles_deg[0], sizeof place->icrs_deg);
        return fx8_celestial_directions(
            sky, time, 1, (const double(*)[2])angles_deg, &place->enu, error);
    }
    fx8_site_direction(angles_deg[0][0], angles_deg[0][1], place->enu);
    return fx8_image_icrs(sky, time, place->enu, place->icrs_deg, error);
}

static enum fx8_status keep_catalogue(const char *path,
                                      struct fx8_celestial *sky,
                                      struct fx8_image *image,
                                      struct fx8_error *error)
{
    size_t where[N_COLUMNS];
    FX8_AUTO(fx8_csv_clear) struct fx8_csv csv = {0};
    FX8_TRY(fx8_csv_load(path, &csv, error));
    FX8_TRY(fx8_csv_find(path, &csv, columns, N_COLUMNS, where, error));
    if (where[NAME] == csv.n_columns)
        return fx8_csv_fail_column(path, &csv, columns[NAME], error);
    for (size_t row = 0; row < csv.n_rows; row++) {
        struct fx8_image_place place;
        FX8_TRY(read_place(path, &csv, where, row, sky, image->frame.time,
                           &place, error));
        FX8_TRY(keep(image, csv.fields[row * csv.n_columns + where[NAME]],
                     &place, error));
    }
    return FX8_OK;
}

enum fx8_status fx8_image_find_sources(const struct fx8_image_request *request,
                                       struct fx8_celestial *sky,
                                       struct fx8_image *image,
                                       struct fx8_error *error)
{
    FX8_TRY(keep_bodies(sky, image, error));
    FX8_TRY(keep_bright(sky, image, error));
    return request->catalogue == NULL
               ? FX8_OK
               : keep_catalogue(request->catalogue, sky, image, error);
}
