/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame.h -- where the pixels of an image are on the sky.
 */
#ifndef FX8_CORRELATOR_IMAGE_FRAME_H
#define FX8_CORRELATOR_IMAGE_FRAME_H

#include "correlator/image/image.h"
#include "correlator/run/celestial.h"

/**
 * fx8_image_axes -- unit vectors of l, m, n in an image at an instant: east,
 * north and up, or those of the place at its centre.
 */
enum fx8_status fx8_image_axes(const struct fx8_image_request *request,
                               struct fx8_celestial *sky, struct fx8_time time,
                               double axes[3][3], struct fx8_error *error);

/** Lay out the pixels; `frame->time` is the middle of the dumps. */
enum fx8_status fx8_image_frame_open(const struct fx8_image_request *request,
                                     struct fx8_celestial *sky,
                                     struct fx8_image_frame *frame,
                                     struct fx8_error *error);

/** Direction cosines of a pixel, also between pixels; false: beyond the edge of
 *  the hemisphere, or below the horizon. */
bool fx8_image_direction(const struct fx8_image_frame *frame, double x,
                         double y, double lmn[3]);

/** Set x and y of `place` from place->enu; false: not in the image, or at an
 *  edge where the nearest pixel has no direction. */
bool fx8_image_find(const struct fx8_image_frame *frame,
                    struct fx8_image_place *place);

/** Scalar product; ERFA's takes no const. */
static inline double fx8_image_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/** Right ascension (0 to 360) and declination of a vector in ICRS axes; ERFA
 *  takes no const. */
void fx8_image_degrees(double vector[3], double icrs_deg[2]);

/** Right ascension and declination of a direction. */
enum fx8_status fx8_image_icrs(struct fx8_celestial *sky, struct fx8_time time,
                               const double enu[3], double icrs_deg[2],
                               struct fx8_error *error);

#endif
