/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * data.h -- the visibilities of an image: what a result has, phased to the
 * centre and summed to the nodes.
 */
#ifndef FX8_CORRELATOR_IMAGE_DATA_H
#define FX8_CORRELATOR_IMAGE_DATA_H

#include "correlator/compare/sides.h"
#include "correlator/image/image.h"
#include "correlator/image/nodes.h"
#include "correlator/run/celestial.h"

/** Weight in the cells of the plane of baselines, for uniform weights. */
struct fx8_image_density {
    double *cells; /**< [2 half + 1][2 half + 1]; NULL: weights are natural */
    int64_t half;
    double cell; /**< wavelengths */
};

/** The visibilities of some dumps. */
struct fx8_image_data {
    const struct fx8_image_request *request;
    struct fx8_compare_sides sides;
    struct fx8_earth_table *earth;
    struct fx8_celestial sky;
    size_t n_terms; /**< products that make the polarisation */
    size_t terms[2];
    const char *polarization;
    size_t n_channels, n_times;
    size_t *channels, *times; /**< positions in the file, of dumps with data */
    double julian_date;       /**< their middle, by weight */
    double *channels_hz;      /**< [n_channels] */
    struct fx8_image_nodes nodes;
    struct fx8_image_density density;
    double *calibration; /**< 1 / gain [n_antennas][n_terms][n_channels][re,
                            im]; NULL: none */
    /* of the dump: what V_ij is to be multiplied by, conj(factor_i) factor_j,
     * and the antennas' coordinates along l, m, n */
    double *factors; /**< [n_antennas][n_terms][n_channels][re, im] */
    double *uvw_m;   /**< [n_antennas][3] */
    double *sums;    /**< [pair][node][re, im] of pairs i < j at j(j-1)/2 + i */
    /* of all dumps read */
    double weight;
    double frequency;  /**< sum of weight x Hz */
    double moments[3]; /**< of weight x uu, uv, vv in wavelengths */
};

/** Open a result for a request, and find the dumps with data.
 * fx8_image_data_close() releases, also after a failure. */
enum fx8_status fx8_image_data_open(const struct fx8_image_request *request,
                                    struct fx8_image_data *data,
                                    struct fx8_error *error);

void fx8_image_data_close(struct fx8_image_data *data);

/** Add the dump times[t] to the sums. */
enum fx8_status fx8_image_data_add(struct fx8_image_data *data, size_t t,
                                   struct fx8_error *error);

/** Load the gains of the request, if it has any. */
enum fx8_status fx8_image_load_gains(struct fx8_image_data *data,
                                     struct fx8_error *error);

/** The instant of the dump times[t]. */
static inline struct fx8_time fx8_image_time(const struct fx8_image_data *data,
                                             size_t t)
{
    return fx8_time_from_julian_date(
        data->sides.side[0].header.julian_dates[data->times[t]]);
}

#endif
