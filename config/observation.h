/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * observation.h -- description of a recording: times, rates, frequencies,
 * antennas.  Readers fill it, the configuration overrides it, the pipeline and
 * the writers use it.
 */
#ifndef FX8_CONFIG_OBSERVATION_H
#define FX8_CONFIG_OBSERVATION_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"

/** Longest text of an observation, terminator included. */
#define FX8_TEXT_SIZE 256

/** Most polarisations of an antenna: X and Y. */
#define FX8_MAX_POLARIZATIONS 2

/** Largest cable delay: one second is 200,000 km of fibre. */
#define FX8_MAX_CABLE_DELAY_S 1.0

/** Which side of dc_frequency_hz the band lies on as recorded. */
enum fx8_sideband {
    FX8_SIDEBAND_UNKNOWN = 0,
    FX8_SIDEBAND_UPPER,
    FX8_SIDEBAND_LOWER
};

/** One antenna. */
struct fx8_antenna {
    int64_t number;  /**< label in UVH5, >= 0 */
    char name[64];   /**< ASCII */
    double enu_m[3]; /**< east, north, up of the site; NaN: unknown */
    double cable_delay_s[FX8_MAX_POLARIZATIONS]; /**< positive: arrives late */
    size_t position; /**< 0-based antenna position in the recording */
};

/** Site on the WGS84 ellipsoid; NaN where unknown. */
struct fx8_site {
    double latitude_deg;
    double longitude_deg; /**< east positive */
    double altitude_m;
};

/** Apparent place of a celestial position, as a site sees it at one instant. */
struct fx8_place {
    double app_ra_rad;   /**< local apparent sidereal time less hour angle, in
                            [0, 2 pi) */
    double app_dec_rad;  /**< from the Earth's equator of date */
    double frame_pa_rad; /**< position angle of ICRS north at that place, from
                            apparent north through east */
    double lst_rad;      /**< local apparent sidereal time */
    double axes[3][3];   /**< unit vectors of u, v, w in east, north and up of
                            the site: w towards the place, v to ICRS north, u to
                            growing right ascension */
};

/**
 * Metadata of a recording, as far as they are recorded.
 *
 * Ownership: `antennas` and `band_offset_hz` are allocated with malloc and
 *            released by fx8_observation_clear()
 * Notes: 1) a rate with numerator 0, a NaN frequency, an unknown sideband, an
 *           empty text and has_start_time false mean "not recorded"
 *        2) dc_frequency_hz is the sky frequency of baseband zero
 */
struct fx8_observation {
    bool is_complex;   /**< samples are complex int8 pairs, else real int8 */
    size_t n_antennas; /**< antenna positions in the recording */
    size_t n_polarizations; /**< 1 or 2 */
    int64_t n_samples;      /**< samples per input */
    struct fx8_rate sample_rate;
    bool has_start_time;
    struct fx8_time start_time; /**< instant of sample 0 */
    double dc_frequency_hz;     /**< of the first band */
    size_t n_bands;             /**< coarse bands recorded side by side, >= 1 */
    double *band_offset_hz; /**< [n_bands] offsets of dc_frequency_hz from the
                               first band, ascending; NULL: one band */
    enum fx8_sideband sideband;
    char telescope[FX8_TEXT_SIZE];
    char instrument[FX8_TEXT_SIZE];
    char object[FX8_TEXT_SIZE];
    struct fx8_site site;
    struct fx8_antenna *antennas; /**< [n_table] or NULL: no table recorded */
    size_t n_table;
};

/** An observation with every field unknown. */
struct fx8_observation fx8_observation_unknown(void);

/** Inputs, all bands together; SIZE_MAX on overflow. */
size_t fx8_observation_inputs(const struct fx8_observation *observation);

/** Sky frequency of baseband zero of a band; NaN: not recorded. */
double fx8_observation_band_hz(const struct fx8_observation *observation,
                               size_t band);

/** Edges of all bands together, sky frequencies ascending; NaN if rate or
 *  frequency is not recorded. */
void fx8_observation_edges(const struct fx8_observation *observation,
                           double edges_hz[2]);

/** The table's row for an antenna position of the recording, or NULL. */
const struct fx8_antenna *fx8_observation_antenna(
    const struct fx8_observation *observation, size_t position);

/**
 * fx8_observation_doubt -- whether the frequency looks like it is not in Hz.
 *
 * Given:    observation  after overrides by the configuration
 * Returned: text         what is odd, and the question to ask; untouched if
 *                        nothing is
 * Notes:    0 Hz is accepted: bench recordings have it
 */
bool fx8_observation_doubt(const struct fx8_observation *observation,
                           char text[FX8_TEXT_SIZE]);

/** Release the tables; a zeroed or unknown observation is legal. */
void fx8_observation_clear(struct fx8_observation *observation);

#endif
