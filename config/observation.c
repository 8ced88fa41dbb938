/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/observation.h"

struct fx8_observation fx8_observation_unknown(void)
{
    return (struct fx8_observation){
        .dc_frequency_hz = NAN,
        .n_bands = 1,
        .site = {.latitude_deg = NAN, .longitude_deg = NAN, .altitude_m = NAN},
    };
}

size_t fx8_observation_inputs(const struct fx8_observation *observation)
{
    return fx8_product(observation->n_bands, observation->n_antennas,
                       observation->n_polarizations, 1);
}

double fx8_observation_band_hz(const struct fx8_observation *observation,
                               size_t band)
{
    const double *offset_hz = observation->band_offset_hz;
    return observation->dc_frequency_hz +
           (offset_hz == NULL ? 0.0 : offset_hz[band]);
}

const struct fx8_antenna *fx8_observation_antenna(
    const struct fx8_observation *observation, size_t position)
{
    const struct fx8_antenna *rows = observation->antennas;
    /* usually in order */
    if (position < observation->n_table && rows[position].position == position)
        return &rows[position];
    for (size_t row = 0; row < observation->n_table; row++)
        if (rows[row].position == position)
            return &rows[row];
    return NULL;
}

static double rate_hz(const struct fx8_observation *observation)
{
    const struct fx8_rate rate = observation->sample_rate;
    return rate.numerator_hz > 0 ? fx8_rate_hz(rate) : NAN;
}

void fx8_observation_edges(const struct fx8_observation *observation,
                           double edges_hz[2])
{
    const double half_hz = 0.5 * rate_hz(observation);
    const bool is_complex = observation->is_complex;
    const bool is_lower = observation->sideband == FX8_SIDEBAND_LOWER;
    const size_t last = observation->n_bands - 1;
    /* dc is the centre of a complex band, an edge of a real one */
    edges_hz[0] = fx8_observation_band_hz(observation, 0) -
                  half_hz * (is_complex || is_lower);
    edges_hz[1] = fx8_observation_band_hz(observation, last) +
                  half_hz * (is_complex || !is_lower);
}

/* A real band that starts this close to 0 Hz, as a fraction of the sample rate,
 * was sampled directly from 0 Hz, without an oscillator. */
#define NEAR_ZERO 0.01

bool fx8_observation_doubt(const struct fx8_observation *observation,
                           char text[FX8_TEXT_SIZE])
{
    const double dc_hz = observation->dc_frequency_hz;
    const double rate = rate_hz(observation);
    /* coarse channels are numbered from 0 Hz, so test the highest band */
    const double highest_hz =
        fx8_observation_band_hz(observation, observation->n_bands - 1);
    double edges_hz[2];
    fx8_observation_edges(observation, edges_hz);
    const bool is_low =
        highest_hz <= rate * (observation->is_complex ? 1.0 : NEAR_ZERO);
    if (dc_hz == 0.0 || !(edges_hz[0] < 0.0 || is_low))
        return false;
    snprintf(text, FX8_TEXT_SIZE,
             "observation.dc_frequency_hz: %.12g: puts the band at %.9g to "
             "%.9g Hz: is it in MHz?",
             dc_hz, edges_hz[0], edges_hz[1]);
    return true;
}

void fx8_observation_clear(struct fx8_observation *observation)
{
    free(observation->antennas);
    observation->antennas = NULL;
    observation->n_table = 0;
    free(observation->band_offset_hz);
    observation->band_offset_hz = NULL;
    observation->n_bands = 1;
}
