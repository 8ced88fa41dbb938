/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "config/observation.h"

struct fx8_observation fx8_observation_unknown(void)
{
    return (struct fx8_observation){
        .dc_frequency_hz = NAN,
        .n_bands = 1,
        .site = {.latitude_deg = NAN, .longitude_deg = NAN, .altitude_m = NAN},
    };
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
