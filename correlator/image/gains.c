/* SPDX-License-Identifier: BSD-3-Clause */
#include <erfam.h>
#include <math.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/gain_table.h"
#include "correlator/image/data.h"

/* Refuse a result whose gains were already divided out. */
static enum fx8_status check_recorded(const struct fx8_image_data *data,
                                      struct fx8_error *error)
{
    FX8_AUTO_FREE double *recorded = NULL;
    size_t shape[3];
    FX8_TRY(fx8_uvh5_get(data->sides.side[0].file, "calibration", shape,
                         &recorded, error));
    for (size_t i = 0; recorded != NULL && i < shape[0] * shape[1] * shape[2];
         i++)
        if (recorded[i] != (i % 3 == 0))
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s: --gains: expected none: the result is "
                            "already free of gains (/fx8/calibration)",
                            data->request->path);
    return FX8_OK;
}

/* 1 / gain of an input in all channels. */
static void invert(const struct fx8_image_data *data,
                   const struct fx8_gain *gain, double *inverse)
{
    for (size_t c = 0; c < data->n_channels; c++) {
        const double turns =
            gain->phase_deg / 360.0 -
            remainder(data->channels_hz[c] * gain->delay_s, 1.0);
        inverse[2 * c] = cos(ERFA_D2PI * turns) / gain->amplitude;
        inverse[2 * c + 1] = -sin(ERFA_D2PI * turns) / gain->amplitude;
    }
}

enum fx8_status fx8_image_load_gains(struct fx8_image_data *data,
                                     struct fx8_error *error)
{
    const struct fx8_compare_shape *shape = &data->sides.shape;
    const struct fx8_uvh5_header *header = &data->sides.side[0].header;
    const size_t n = shape->n_antennas;
    FX8_AUTO_FREE struct fx8_antenna *antennas = NULL;
    FX8_AUTO_FREE struct fx8_gain *gains = NULL;
    if (data->request->gains == NULL)
        return FX8_OK;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(antennas, n),
        FX8_ITEMS(gains, n * FX8_MAX_POLARIZATIONS),
        {&data->calibration, fx8_product(n, data->n_terms, data->n_channels, 2),
         sizeof(double)}};
    FX8_TRY(check_recorded(data, error));
    FX8_TRY(fx8_allocate_arrays(arrays, 3, "gains", error));
    for (size_t i = 0; i < n; i++)
        antennas[i].number = header->antenna_numbers[i];
    FX8_TRY(fx8_gain_table_load(data->request->gains, antennas, n, true, gains,
                                error));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < data->n_terms; k++) {
            const size_t feed = (size_t)shape->feeds[data->terms[k]][0];
            invert(data, &gains[i * FX8_MAX_POLARIZATIONS + feed],
                   data->calibration +
                       2 * (i * data->n_terms + k) * data->n_channels);
        }
    return FX8_OK;
}
