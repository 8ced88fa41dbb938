/* SPDX-License-Identifier: BSD-3-Clause */
#include <erfa.h>
#include <erfam.h>
#include <math.h>
#include <string.h>

#include "config/base/try.h"
#include "correlator/image/frame.h"

static const double radian = ERFA_DD2R; /* per degree */

enum fx8_status fx8_image_axes(const struct fx8_image_request *request,
                               struct fx8_celestial *sky, struct fx8_time time,
                               double axes[3][3], struct fx8_error *error)
{
    struct fx8_place place;
    if (!request->has_center) {
        eraIr(axes);
        return FX8_OK;
    }
    FX8_TRY(fx8_celestial_place(sky, time, request->center_deg, &place, error));
    memcpy(axes, place.axes, sizeof place.axes);
    return FX8_OK;
}

void fx8_image_degrees(double vector[3], double icrs_deg[2])
{
    double ra, dec;
    eraC2s(vector, &ra, &dec);
    icrs_deg[0] = eraAnp(ra) / radian;
    icrs_deg[1] = dec / radian;
}

/* Aberration moves places by 20 arcseconds, which a rotation cannot: two steps
 * of Newton's method after it leave less than 1e-10 rad. */
enum fx8_status fx8_image_icrs(struct fx8_celestial *sky, struct fx8_time time,
                               const double enu[3], double icrs_deg[2],
                               struct fx8_error *error)
{
    static const double poles_deg[3][2] = {{0, 0}, {90, 0}, {0, 90}};
    double axes[3][3], vector[3];
    FX8_TRY(fx8_celestial_directions(sky, time, 3, poles_deg, axes, error));
    for (size_t k = 0; k < 3; k++)
        vector[k] = fx8_image_dot(axes[k], enu);
    for (int step = 0; step < 2; step++) {
        double seen[1][3];
        fx8_image_degrees(vector, icrs_deg);
        FX8_TRY(fx8_celestial_directions(
            sky, time, 1, (const double(*)[2])icrs_deg, seen, error));
        for (size_t k = 0; k < 3; k++)
            vector[k] +=
                fx8_image_dot(axes[k], enu) - fx8_image_dot(axes[k], seen[0]);
    }
    fx8_image_degrees(vector, icrs_deg);
    return FX8_OK;
}

enum fx8_status fx8_image_frame_open(const struct fx8_image_request *request,
                                     struct fx8_celestial *sky,
                                     struct fx8_image_frame *frame,
                                     struct fx8_error *error)
{
    struct fx8_place place;
    frame->size = request->size;
    frame->step =
        2.0 * sin(0.5 * request->fov_deg * radian) / (double)request->size;
    FX8_TRY(fx8_image_axes(request, sky, frame->time, frame->axes, error));
    FX8_TRY(fx8_image_icrs(sky, frame->time, frame->axes[2], frame->icrs_deg,
                           error));
    FX8_TRY(
        fx8_celestial_place(sky, frame->time, frame->icrs_deg, &place, error));
    frame->lst_rad = place.lst_rad;
    for (size_t row = 0; row < 2; row++)
        for (size_t column = 0; column < 2; column++)
            frame->turn[row][column] =
                fx8_image_dot(place.axes[row], frame->axes[column]);
    return FX8_OK;
}

bool fx8_image_direction(const struct fx8_image_frame *frame, double x,
                         double y, double lmn[3])
{
    const double middle = (double)(frame->size / 2);
    const double l = (middle - x) * frame->step;
    const double m = (y - middle) * frame->step;
    const double rest = 1.0 - l * l - m * m;
    if (rest < 0.0)
        return false;
    lmn[0] = l;
    lmn[1] = m;
    lmn[2] = sqrt(rest);
    return l * frame->axes[0][2] + m * frame->axes[1][2] +
               lmn[2] * frame->axes[2][2] >=
           0.0;
}

bool fx8_image_find(const struct fx8_image_frame *frame,
                    struct fx8_image_place *place)
{
    const double middle = (double)(frame->size / 2);
    const double last = (double)frame->size - 1.0;
    double lmn[3];
    place->x = middle - fx8_image_dot(frame->axes[0], place->enu) / frame->step;
    place->y = middle + fx8_image_dot(frame->axes[1], place->enu) / frame->step;
    return place->enu[2] >= 0.0 &&
           fx8_image_dot(frame->axes[2], place->enu) >= 0.0 &&
           place->x > -0.5 && place->x < last + 0.5 && place->y > -0.5 &&
           place->y < last + 0.5 &&
           fx8_image_direction(frame, round(place->x), round(place->y), lmn);
}
