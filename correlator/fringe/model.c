/* SPDX-License-Identifier: BSD-3-Clause */
#include <erfam.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/fringe/model.h"
#include "correlator/run/site.h"

static bool is_given(const struct fx8_fringe_direction *direction)
{
    return direction->kind == FX8_FRINGE_FIXED ||
           direction->kind == FX8_FRINGE_SKY;
}

static enum fx8_status check_direction(
    const char *path, const struct fx8_uvh5_header *header,
    const struct fx8_fringe_direction *direction, struct fx8_error *error)
{
    if (!header->is_phased && direction->kind == FX8_FRINGE_CENTRE)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: not phased: expected --source, --az with --el, or "
                        "--blind",
                        path);
    if (header->is_phased && is_given(direction) &&
        isnan(header->center_deg[0]))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: phased towards %s, which is not an ICRS position: "
                        "expected no --source, --az and --el",
                        path, header->object);
    if (is_given(direction) && fx8_uvh5_keyword(header, "POSFAKE") != NULL)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: antenna_positions: not known (POSFAKE): expected "
                        "positions, or --blind",
                        path);
    return FX8_OK;
}

enum fx8_status fx8_fringe_model_open(
    const char *path, const struct fx8_uvh5_header *header,
    const struct fx8_compare_shape *shape,
    const struct fx8_fringe_direction *direction,
    struct fx8_fringe_model *model, struct fx8_error *error)
{
    *model = (struct fx8_fringe_model){
        .header = header, .shape = shape, .direction = *direction};
    const size_t n =
        fx8_product(fx8_compare_inputs(shape), shape->n_channels, 1, 1);
    const struct fx8_array arrays[] = {
        FX8_ITEMS(model->scale, n),
        {&model->factors, n, 2 * sizeof *model->factors}};
    FX8_TRY(check_direction(path, header, direction, error));
    /* polar motion, which a result does not have, moves a source by 3e-6 rad at
     * most */
    FX8_TRY(fx8_earth_open("", header->dut1_s, &model->earth, error));
    model->sky =
        (struct fx8_celestial){.site = header->site, .earth = model->earth};
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "a model of the source", error));
    for (size_t i = 0; i < n; i++)
        model->scale[i] = 1.0;
    return FX8_OK;
}

void fx8_fringe_model_close(struct fx8_fringe_model *model)
{
    fx8_earth_close(&model->earth);
    free(model->scale);
    free(model->factors);
    *model = (struct fx8_fringe_model){0};
}

/* Unit vector towards a position of the sky, in axes of the site. */
static enum fx8_status find_sky(struct fx8_fringe_model *model, size_t dump,
                                const double icrs_deg[2], double enu[3],
                                struct fx8_error *error)
{
    struct fx8_place place;
    FX8_TRY(fx8_celestial_place(
        &model->sky,
        fx8_time_from_julian_date(model->header->julian_dates[dump]), icrs_deg,
        &place, error));
    memcpy(enu, place.axes[2], sizeof place.axes[2]);
    return FX8_OK;
}

/* Unit vector towards the source in Earth-fixed axes, less that towards the
 * phase centre if the result has one; zeros if the visibilities stay as they
 * are. */
static enum fx8_status find_direction(struct fx8_fringe_model *model,
                                      size_t dump, double ecef[3],
                                      struct fx8_error *error)
{
    const struct fx8_uvh5_header *header = model->header;
    double source[3] = {0.0, 0.0, 0.0}, centre[3] = {0.0, 0.0, 0.0};
    if (model->direction.kind == FX8_FRINGE_FIXED)
        fx8_site_direction(model->direction.azimuth_deg,
                           model->direction.elevation_deg, source);
    if (model->direction.kind == FX8_FRINGE_SKY)
        FX8_TRY(
            find_sky(model, dump, model->direction.icrs_deg, source, error));
    if (header->is_phased && is_given(&model->direction))
        FX8_TRY(find_sky(model, dump, header->center_deg, centre, error));
    for (size_t k = 0; k < 3; k++)
        source[k] -= centre[k];
    fx8_site_rotate(&header->site, source, ecef);
    return FX8_OK;
}

/* V_ij turns by +2 pi f (r_j - r_i) . s / c, so E_i is turned back by r_i . s /
 * c. */
enum fx8_status fx8_fringe_model_set(struct fx8_fringe_model *model,
                                     size_t dump, struct fx8_error *error)
{
    const struct fx8_compare_shape *shape = model->shape;
    double direction[3];
    if (model->is_known)
        return FX8_OK;
    FX8_TRY(find_direction(model, dump, direction, error));
    for (size_t input = 0; input < fx8_compare_inputs(shape); input++) {
        const double *r = model->header->antenna_positions_m +
                          3 * (input / shape->n_polarizations);
        const double lead_s =
            (r[0] * direction[0] + r[1] * direction[1] + r[2] * direction[2]) /
            FX8_LIGHT_M_S;
        for (size_t c = 0; c < shape->n_channels; c++) {
            const size_t at = input * shape->n_channels + c;
            const double turns =
                remainder(model->header->frequencies_hz[c] * lead_s, 1.0);
            model->factors[2 * at] = model->scale[at] * cos(ERFA_D2PI * turns);
            model->factors[2 * at + 1] =
                -model->scale[at] * sin(ERFA_D2PI * turns);
        }
    }
    model->is_known =
        model->direction.kind != FX8_FRINGE_SKY &&
        !(model->header->is_phased && is_given(&model->direction));
    return FX8_OK;
}
