/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image.h -- the dirty image of the sky: in direction s,
 *
 *     I(s) = sum of w_ij(c) Re V_ij(c) exp(-2 pi i f_c (r_j - r_i) . s / c)
 *            / sum of w_ij(c)
 *
 * over cross baselines i < j, channels c and dumps.  Every term is summed, with
 * its w: nothing is gridded.  Autos are left out.
 *
 * Pixels are directions (l, m) of an orthographic (SIN) projection, l east and
 * m north of the centre: the zenith, where each dump is added in its own
 * horizon, or a place on the sky, where dumps turn with it.
 */
#ifndef FX8_CORRELATOR_IMAGE_IMAGE_H
#define FX8_CORRELATOR_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "config/observation.h"
#include "correlator/fx8.h"
#include "correlator/plot/draw.h"
#include "correlator/run/progress.h"

/** Most pixels of a side. */
#define FX8_IMAGE_MOST_SIZE 16384

/** What to image. */
struct fx8_image_request {
    const char *path;  /**< UVH5 */
    char polarization; /**< X, Y or I; 0: I if there are two, else the one */
    bool has_center;
    double center_deg[2];         /**< right ascension and declination, ICRS */
    double fov_deg;               /**< of a side; 180: everything */
    size_t size;                  /**< pixels of a side */
    bool is_uniform;              /**< weights, else natural */
    const char *channels, *times; /**< lists of positions; NULL: all */
    const char *gains;            /**< as [array] gains; NULL: none */
    const char *catalogue;        /**< of sources to name; NULL: none */
    enum fx8_backend backend;     /**< where to compute */
    bool is_backend_given;        /**< the user asked for it */
    struct fx8_progress_display *progress; /**< may be NULL */
};

/** A place in the image. */
struct fx8_image_place {
    double x, y;        /**< pixels from 0, to the west and to the north */
    double enu[3];      /**< direction at the middle of the dumps */
    double icrs_deg[2]; /**< right ascension, declination */
    double value;       /**< of the nearest pixel */
};

/** A source that has a name. */
struct fx8_image_source {
    char name[64]; /**< cut after whole characters */
    struct fx8_image_place place;
};

/** Where the pixels are, at the middle of the dumps with data, by their
 *  weights in the image. */
struct fx8_image_frame {
    struct fx8_time time;
    double lst_rad;     /**< apparent */
    double axes[3][3];  /**< unit vectors of l, m, n in east, north, up */
    double icrs_deg[2]; /**< the centre */
    double turn[2][2];  /**< from (l, m) to east and north on the sky */
    size_t size;
    double step; /**< direction cosines from pixel to pixel */
};

/** The image. */
struct fx8_image {
    char telescope[FX8_TEXT_SIZE];
    char units[FX8_TEXT_SIZE];
    struct fx8_time start;    /**< of the first dump with data */
    const char *polarization; /**< XX, YY, RR, LL or I */
    struct fx8_site site;
    struct fx8_image_frame frame;
    size_t n_antennas, n_baselines, n_channels, n_dumps; /**< with data */
    double frequency_hz; /**< mean of what was summed, by weight */
    double bandwidth_hz; /**< of the channels */
    double duration_s;   /**< from the start of the first dump to the end of
                              the last */
    float *pixels;       /**< [y][x], row 0 south, column 0 east; NaN: below
                              the horizon */
    struct fx8_image_place peak;
    double noise;          /**< robust standard deviation of all pixels; NaN:
                                0, or the image has too few beams */
    double beam_deg[2];    /**< full widths at half maximum of the Gaussian
                                that bends like the dirty beam at its centre;
                                0: none */
    double beam_angle_deg; /**< of the longer one, from north through east */
    char backend[128], kernel[32]; /**< imager and device; its kernel */
    char reason[512];              /**< why this one, one line; "": nothing to
                                        tell */
    bool is_spare; /**< the CPU in place of a GPU that failed for that reason */
    size_t n_sources;
    struct fx8_image_source *sources; /**< [n_sources] above the horizon and in
                                           the image */
};

/**
 * fx8_image_make -- read a result and image it, on a GPU or all CPUs.
 *
 * Status:    FX8_ERR_INPUT: no UVH5, nothing to image in it, positions that are
 *            not known; FX8_ERR_USAGE: a request that it does not allow;
 *            FX8_ERR_SYSTEM: memory; FX8_ERR_UNSUPPORTED: there is no GPU for
 *            CUDA; FX8_ERR_DEVICE: it failed, with AUTO once it had been chosen
 * Ownership: fx8_image_clear() releases the image, also after a failure
 * Numerics:  within 1e-5 of the mean |V|: channels are first interpolated to
 *            the frequencies of correlator/image/nodes.h, phases are exact to
 *            2^-25 turn, sums are floats
 */
enum fx8_status fx8_image_make(const struct fx8_image_request *request,
                               struct fx8_image *image,
                               struct fx8_error *error);

/** Release; a zeroed image is legal. */
void fx8_image_clear(struct fx8_image *image);

/** The image as a picture: horizon, elevations of 30 and 60 degrees,
 * directions, sources and colours of values.  As fx8_draw_finish(). */
enum fx8_status fx8_image_draw(const struct fx8_image *image,
                               const struct fx8_surface *surface, char **bytes,
                               size_t *size, struct fx8_error *error);

/** The image as FITS, float32 with its place on the sky.  The caller frees
 *  `bytes`. */
enum fx8_status fx8_image_fits(const struct fx8_image *image,
                               const char *history, char **bytes, size_t *size,
                               struct fx8_error *error);

/** FX8_ERR_USAGE if this program was built without CFITSIO. */
enum fx8_status fx8_image_can_fits(struct fx8_error *error);

/** Figures of the image as JSON. */
void fx8_image_print_json(const struct fx8_image *image, const char *path,
                          FILE *stream);

/** Figures of the image for people. */
void fx8_image_print(const struct fx8_image *image, FILE *stream);

#endif
