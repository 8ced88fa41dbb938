/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sources.h -- the named sources of an image.
 */
#ifndef FX8_CORRELATOR_IMAGE_SOURCES_H
#define FX8_CORRELATOR_IMAGE_SOURCES_H

#include "correlator/image/frame.h"

/**
 * fx8_image_find_sources -- the Sun, the Moon, Cas A, Cyg A, Vir A, Tau A and
 * the request's catalogue, as far as the frame shows them.
 *
 * Returned: image  sources, n_sources; their values are not set
 * Status:   FX8_ERR_USAGE: the catalogue cannot be read; the message names the
 *           line and the column
 * Numerics: the Sun within 1 arcsecond, the Moon (seen from the site) within
 *           30; no refraction
 * Source:   ERFA eraEpv00, eraMoon98 (Meeus)
 */
enum fx8_status fx8_image_find_sources(const struct fx8_image_request *request,
                                       struct fx8_celestial *sky,
                                       struct fx8_image *image,
                                       struct fx8_error *error);

#endif
