/* SPDX-License-Identifier: BSD-3-Clause */
#include <erfam.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/number_list.h"
#include "correlator/image/data.h"
#include "correlator/image/frame.h"
#include "correlator/run/site.h"

/* Most cells along a side of the plane of baselines: 2 GiB. */
#define MOST_CELLS 16384.0

static const double radian = ERFA_DD2R; /* per degree */

void fx8_image_data_close(struct fx8_image_data *data)
{
    fx8_compare_sides_close(&data->sides);
    fx8_earth_close(&data->earth);
    fx8_image_nodes_close(&data->nodes);
    free(data->channels);
    free(data->times);
    free(data->channels_hz);
    free(data->density.cells);
    free(data->calibration);
    free(data->factors);
    free(data->uvw_m);
    free(data->sums);
}

/* --- what to image ------------------------------------------------ */

/* The products of the polarisation: of the feeds, or of one of them. */
static enum fx8_status find_terms(struct fx8_image_data *data,
                                  struct fx8_error *error)
{
    static const char *const names[2][2] = {{"XX", "YY"}, {"RR", "LL"}};
    const struct fx8_compare_shape *shape = &data->sides.shape;
    const char *const *name = names[shape->is_circular];
    const char wanted = data->request->polarization;
    const char *found = NULL; /* if it is refused, there is one at most */
    for (int feed = 0; feed < 2; feed++)
        for (size_t p = 0; p < shape->n_products; p++) {
            if (shape->feeds[p][0] != feed || shape->feeds[p][1] != feed)
                continue;
            found = name[feed];
            if (wanted == 0 || wanted == 'I' || wanted == "XY"[feed]) {
                data->polarization = name[feed];
                data->terms[data->n_terms++] = p;
            }
        }
    if (data->n_terms == 2)
        data->polarization = "I";
    if (data->n_terms == 0 || (wanted == 'I' && data->n_terms < 2))
        return fx8_fail(
            error, FX8_ERR_INPUT,
            "%s: polarization_array: has %s%s: expected %s%s%s for this image",
            data->request->path, found != NULL ? found : "no powers",
            found != NULL ? " only" : "", wanted == 'Y' ? "" : name[0],
            wanted == 'I' ? " and "
            : wanted == 0 ? " or "
                          : "",
            wanted == 'X' ? "" : name[1]);
    return FX8_OK;
}

/* Positions [n] of an axis of `n_all` that a list names. */
static enum fx8_status choose(const char *option, const char *text,
                              size_t n_all, size_t **items, size_t *n,
                              struct fx8_error *error)
{
    struct fx8_number_list list = {0};
    if (text != NULL && fx8_number_list_read(text, false, 0, (int64_t)n_all - 1,
                                             &list) != FX8_OK)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "--%s: %s: expected positions from 0 to %zu, as in "
                        "0-15,20",
                        option, text, n_all - 1);
    *n = text != NULL ? list.count : n_all;
    const enum fx8_status status =
        fx8_allocate(*n, sizeof **items, "positions", items, error);
    for (size_t k = 0; status == FX8_OK && k < *n; k++)
        (*items)[k] = text != NULL ? (size_t)list.items[k] : k;
    free(list.items);
    return status;
}

static enum fx8_status check_header(const struct fx8_image_data *data,
                                    struct fx8_error *error)
{
    const struct fx8_uvh5_header *header = &data->sides.side[0].header;
    const char *path = data->request->path;
    FX8_TRY(fx8_compare_side_check(&data->sides.side[0], error));
    if (fx8_uvh5_keyword(header, "POSFAKE") != NULL)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: antenna_positions: not known (POSFAKE): expected "
                        "positions",
                        path);
    if (header->is_phased && isnan(header->center_deg[0]))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: phased towards %s: expected an ICRS position",
                        path, header->object);
    return FX8_OK;
}

/* --- sizes -------------------------------------------------------- */

/* The longest baseline, m; 0: autos alone, or all antennas in one place. */
static double find_longest(const struct fx8_image_data *data)
{
    const double *r = data->sides.side[0].header.antenna_positions_m;
    double longest = 0.0;
    for (size_t b = 0; b < data->sides.shape.n_baselines; b++) {
        const double *i = r + 3 * data->sides.antennas[b][0];
        const double *j = r + 3 * data->sides.antennas[b][1];
        longest =
            fmax(longest, hypot(hypot(j[0] - i[0], j[1] - i[1]), j[2] - i[2]));
    }
    return longest;
}

static enum fx8_status open_nodes(struct fx8_image_data *data, double longest,
                                  struct fx8_error *error)
{
    const double corner =
        fmin(sqrt(2.0) * sin(0.5 * data->request->fov_deg * radian), 1.0);
    /* from the centre to the corner, in a straight line */
    const double chord = 2.0 * sin(0.5 * asin(corner));
    return fx8_image_nodes_open(data->n_channels, data->channels_hz,
                                longest * chord / FX8_LIGHT_M_S, &data->nodes,
                                error);
}

/* Cells as large as the field of view resolves. */
static enum fx8_status open_density(struct fx8_image_data *data, double longest,
                                    struct fx8_error *error)
{
    struct fx8_image_density *density = &data->density;
    double highest = 0.0;
    if (!data->request->is_uniform)
        return FX8_OK;
    for (size_t c = 0; c < data->n_channels; c++)
        highest = fmax(highest, data->channels_hz[c]);
    density->cell = 0.5 / sin(0.5 * data->request->fov_deg * radian);
    const double half =
        ceil(longest * highest / FX8_LIGHT_M_S / density->cell) + 1.0;
    if (half > MOST_CELLS / 2.0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "--weights: uniform: %.0f cells along a side: expected "
                        "at most %.0f: a smaller --fov",
                        2.0 * half, MOST_CELLS);
    density->half = (int64_t)half;
    const size_t side = 2 * (size_t)density->half + 1;
    return fx8_allocate(side * side, sizeof *density->cells, "weights",
                        &density->cells, error);
}

static enum fx8_status allocate(struct fx8_image_data *data,
                                struct fx8_error *error)
{
    const size_t n = data->sides.shape.n_antennas;
    const double longest = find_longest(data);
    if (!(longest > 0.0))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: Nbls: %zu: expected cross-correlations of "
                        "antennas in different places",
                        data->request->path, data->sides.shape.n_baselines);
    FX8_TRY(open_nodes(data, longest, error));
    FX8_TRY(open_density(data, longest, error));
    const struct fx8_array arrays[] = {
        {&data->factors, fx8_product(n, data->n_terms, data->n_channels, 2),
         sizeof(double)},
        {&data->uvw_m, n, 3 * sizeof(double)},
        {&data->sums, fx8_product(n * (n - 1) / 2, data->nodes.n, 2, 1),
         sizeof(double)}};
    return fx8_allocate_arrays(arrays, 3, "visibilities", error);
}

/* --- a dump ------------------------------------------------------- */

/* Unit vectors of l, m, n in Earth-fixed axes, and what is left to phase: the
 * vector to the centre, less that to the phase centre of the result. */
static enum fx8_status find_axes(struct fx8_image_data *data, size_t t,
                                 double ecef[3][3], double way[3],
                                 struct fx8_error *error)
{
    const struct fx8_uvh5_header *header = &data->sides.side[0].header;
    const struct fx8_time time = fx8_image_time(data, t);
    double axes[3][3], tracked[1][3] = {{0.0, 0.0, 0.0}}, left[3];
    FX8_TRY(fx8_image_axes(data->request, &data->sky, time, axes, error));
    if (header->is_phased)
        FX8_TRY(fx8_celestial_directions(&data->sky, time, 1,
                                         (const double(*)[2])header->center_deg,
                                         tracked, error));
    for (size_t k = 0; k < 3; k++) {
        fx8_site_rotate(&header->site, axes[k], ecef[k]);
        left[k] = axes[2][k] - tracked[0][k];
    }
    fx8_site_rotate(&header->site, left, way);
    return FX8_OK;
}

/* V_ij turns by +2 pi f (r_j - r_i) . s / c, so E_i is turned back by r_i . s /
 * c, and divided by its gain. */
static void set_factors(struct fx8_image_data *data, const double way[3])
{
    const struct fx8_uvh5_header *header = &data->sides.side[0].header;
    for (size_t i = 0; i < header->n_antennas; i++) {
        const double *r = header->antenna_positions_m + 3 * i;
        const double lead_s = fx8_image_dot(r, way) / FX8_LIGHT_M_S;
        for (size_t k = 0; k < data->n_terms * data->n_channels; k++) {
            const size_t at = 2 * (i * data->n_terms * data->n_channels + k);
            const double turns = remainder(
                data->channels_hz[k % data->n_channels] * lead_s, 1.0);
            const double re = cos(ERFA_D2PI * turns);
            const double im = -sin(ERFA_D2PI * turns);
            const double *g =
                data->calibration != NULL ? data->calibration + at : NULL;
            data->factors[at] = g != NULL ? re * g[0] - im * g[1] : re;
            data->factors[at + 1] = g != NULL ? re * g[1] + im * g[0] : im;
        }
    }
}

static enum fx8_status set_dump(struct fx8_image_data *data, size_t t,
                                struct fx8_error *error)
{
    const struct fx8_uvh5_header *header = &data->sides.side[0].header;
    double axes[3][3], way[3];
    FX8_TRY(find_axes(data, t, axes, way, error));
    for (size_t i = 0; i < header->n_antennas; i++)
        for (size_t k = 0; k < 3; k++)
            data->uvw_m[3 * i + k] =
                fx8_image_dot(header->antenna_positions_m + 3 * i, axes[k]);
    if (!data->sides.has_no_values)
        set_factors(data, way);
    return FX8_OK;
}

/* A baseline of a dump. */
struct baseline {
    size_t antennas[2];
    double uvw_m[3];
    double length_s;
    struct fx8_compare_row row;
};

/* Weight of a channel, in seconds: of I, that of the mean of two; 0:
 * flagged. */
static double weigh(const struct fx8_image_data *data,
                    const struct baseline *baseline, size_t c)
{
    const size_t first = data->channels[c] * data->sides.shape.n_products;
    double inverse = 0.0;
    for (size_t k = 0; k < data->n_terms; k++) {
        const size_t at = first + data->terms[k];
        const double weight =
            baseline->length_s * (double)baseline->row.nsamples[at];
        if (baseline->row.flags[at] != 0 || !(weight > 0.0))
            return 0.0;
        inverse += 1.0 / weight;
    }
    return (double)data->n_terms / inverse;
}

/* The visibility, phased and free of gains: of I, the mean of two. */
static void phase(const struct fx8_image_data *data,
                  const struct baseline *baseline, size_t c, double value[2])
{
    const size_t first = data->channels[c] * data->sides.shape.n_products;
    value[0] = value[1] = 0.0;
    for (size_t k = 0; k < data->n_terms; k++) {
        const double *v =
            baseline->row.visibilities + 2 * (first + data->terms[k]);
        const double *factor[2];
        for (size_t end = 0; end < 2; end++)
            factor[end] = data->factors +
                          2 * ((baseline->antennas[end] * data->n_terms + k) *
                                   data->n_channels +
                               c);
        const double *f = factor[0], *g = factor[1];
        const double re = f[0] * g[0] + f[1] * g[1];
        const double im = f[0] * g[1] - f[1] * g[0];
        value[0] += (v[0] * re - v[1] * im) / (double)data->n_terms;
        value[1] += (v[0] * im + v[1] * re) / (double)data->n_terms;
    }
}

/* The cell of a baseline in a channel.  That of -u, -v is as far from the last
 * cell as this one from the first. */
static size_t find_cell(const struct fx8_image_density *density,
                        const double uvw_m[3], double waves)
{
    const int64_t x = llround(uvw_m[0] * waves / density->cell) + density->half;
    const int64_t y = llround(uvw_m[1] * waves / density->cell) + density->half;
    return (size_t)(y * (2 * density->half + 1) + x);
}

static void add_density(struct fx8_image_data *data,
                        const struct baseline *baseline)
{
    struct fx8_image_density *density = &data->density;
    const size_t side = 2 * (size_t)density->half + 1;
    for (size_t c = 0; c < data->n_channels; c++) {
        const size_t cell = find_cell(density, baseline->uvw_m,
                                      data->channels_hz[c] / FX8_LIGHT_M_S);
        const double weight = weigh(data, baseline, c);
        density->cells[cell] += weight;
        density->cells[side * side - 1 - cell] += weight;
    }
}

/* Weight of a channel in the image. */
static double weigh_in_image(const struct fx8_image_data *data,
                             const struct baseline *baseline, size_t c)
{
    const struct fx8_image_density *density = &data->density;
    const double weight = weigh(data, baseline, c);
    if (weight == 0.0 || density->cells == NULL)
        return weight;
    return weight /
           density->cells[find_cell(density, baseline->uvw_m,
                                    data->channels_hz[c] / FX8_LIGHT_M_S)];
}

static void add_weights(struct fx8_image_data *data,
                        const struct baseline *baseline)
{
    for (size_t c = 0; c < data->n_channels; c++)
        data->weight += weigh_in_image(data, baseline, c);
}

static void add_values(struct fx8_image_data *data,
                       const struct baseline *baseline)
{
    const struct fx8_image_nodes *nodes = &data->nodes;
    const bool is_swapped = baseline->antennas[0] > baseline->antennas[1];
    const size_t i = baseline->antennas[is_swapped];
    const size_t j = baseline->antennas[!is_swapped];
    double *sums = data->sums + 2 * nodes->n * (j * (j - 1) / 2 + i);
    for (size_t c = 0; c < data->n_channels; c++) {
        const double waves = data->channels_hz[c] / FX8_LIGHT_M_S;
        const double u = waves * baseline->uvw_m[0];
        const double v = waves * baseline->uvw_m[1];
        const double weight = weigh_in_image(data, baseline, c);
        double value[2];
        if (weight == 0.0)
            continue;
        phase(data, baseline, c, value);
        const double re = weight * value[0];
        const double im = weight * (is_swapped ? -value[1] : value[1]);
        for (size_t k = 0; k < nodes->n; k++) {
            sums[2 * k] += nodes->share[c * nodes->n + k] * re;
            sums[2 * k + 1] += nodes->share[c * nodes->n + k] * im;
        }
        data->weight += weight;
        data->frequency += weight * data->channels_hz[c];
        data->moments[0] += weight * u * u;
        data->moments[1] += weight * u * v;
        data->moments[2] += weight * v * v;
    }
}

typedef void add_baseline(struct fx8_image_data *data,
                          const struct baseline *baseline);

static enum fx8_status add_dump(struct fx8_image_data *data, size_t t,
                                add_baseline *add, struct fx8_error *error)
{
    FX8_TRY(set_dump(data, t, error));
    for (size_t b = 0; b < data->sides.shape.n_baselines; b++) {
        struct baseline baseline = {
            .length_s =
                data->sides.side[0].header.integration_s[data->times[t]]};
        memcpy(baseline.antennas, data->sides.antennas[b],
               sizeof baseline.antennas);
        FX8_TRY(fx8_compare_sides_read(&data->sides, data->times[t], b,
                                       &baseline.row, NULL, error));
        if (baseline.antennas[0] == baseline.antennas[1])
            continue;
        for (size_t k = 0; k < 3; k++)
            baseline.uvw_m[k] = data->uvw_m[3 * baseline.antennas[1] + k] -
                                data->uvw_m[3 * baseline.antennas[0] + k];
        add(data, &baseline);
    }
    return FX8_OK;
}

enum fx8_status fx8_image_data_add(struct fx8_image_data *data, size_t t,
                                   struct fx8_error *error)
{
    return add_dump(data, t, add_values, error);
}

/* --- open --------------------------------------------------------- */

/* The dumps with data: the rest of a recording may have been lost, or a killed
 * run has not written it. */
static enum fx8_status find_dumps(struct fx8_image_data *data,
                                  struct fx8_error *error)
{
    const double *dates = data->sides.side[0].header.julian_dates;
    double weight = 0.0, days = 0.0;
    size_t n = 0;
    data->sides.has_no_values = true;
    for (size_t t = 0; t < data->n_times && data->density.cells != NULL; t++)
        FX8_TRY(add_dump(data, t, add_density, error));
    for (size_t t = 0; t < data->n_times; t++) {
        data->weight = 0.0;
        FX8_TRY(add_dump(data, t, add_weights, error));
        weight += data->weight;
        days += data->weight * (dates[data->times[t]] - dates[0]);
        if (data->weight > 0.0)
            data->times[n++] = data->times[t];
    }
    data->sides.has_no_values = false;
    data->weight = 0.0;
    data->n_times = n;
    data->julian_date = dates[0] + days / weight;
    return n > 0 ? FX8_OK
                 : fx8_fail(error, FX8_ERR_INPUT,
                            "%s: flags: all: expected cross-correlations with "
                            "data",
                            data->request->path);
}

enum fx8_status fx8_image_data_open(const struct fx8_image_request *request,
                                    struct fx8_image_data *data,
                                    struct fx8_error *error)
{
    *data = (struct fx8_image_data){.request = request};
    FX8_TRY(fx8_compare_sides_open((const char *const[]){request->path}, 1,
                                   &data->sides, error));
    const struct fx8_uvh5_header *header = &data->sides.side[0].header;
    FX8_TRY(check_header(data, error));
    FX8_TRY(find_terms(data, error));
    FX8_TRY(choose("channels", request->channels, header->n_channels,
                   &data->channels, &data->n_channels, error));
    FX8_TRY(choose("times", request->times, header->n_times, &data->times,
                   &data->n_times, error));
    FX8_TRY(fx8_allocate(data->n_channels, sizeof *data->channels_hz,
                         "channels", &data->channels_hz, error));
    for (size_t c = 0; c < data->n_channels; c++)
        data->channels_hz[c] = header->frequencies_hz[data->channels[c]];
    /* polar motion, which a result does not have, moves a source by 3e-6 rad at
     * most */
    FX8_TRY(fx8_earth_open("", header->dut1_s, &data->earth, error));
    data->sky =
        (struct fx8_celestial){.site = header->site, .earth = data->earth};
    FX8_TRY(allocate(data, error));
    FX8_TRY(fx8_image_load_gains(data, error));
    return find_dumps(data, error);
}
