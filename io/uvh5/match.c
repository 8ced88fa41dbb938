/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * match.c -- whether two files are of one observation.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/base/try.h"
#include "io/uvh5/uvh5.h"

/* Largest difference of two phase centres: more than the rounding of angles in
 * radians, and 2e-6 turn at 100 km and 350 MHz. */
#define TOLERANCE_DEG 1e-9

enum fx8_status fx8_uvh5_match_value(struct fx8_uvh5_named a,
                                     struct fx8_uvh5_named b, const char *name,
                                     size_t index, double of_a, double of_b,
                                     double tolerance, struct fx8_error *error)
{
    char place[32] = "";
    if (fabs(of_a - of_b) <= tolerance)
        return FX8_OK;
    if (index != SIZE_MAX)
        snprintf(place, sizeof place, "[%zu]", index);
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: %s%s: %.17g: expected %.17g as in %s", b.path, name,
                    place, of_b, of_a, a.path);
}

/* A value of both headers, with its name. */
struct pair {
    const char *name;
    size_t of_a, of_b;
};

static enum fx8_status match_counts(struct fx8_uvh5_named a,
                                    struct fx8_uvh5_named b,
                                    const struct pair *counts, size_t n,
                                    struct fx8_error *error)
{
    for (size_t i = 0; i < n; i++)
        FX8_TRY(fx8_uvh5_match_value(a, b, counts[i].name, SIZE_MAX,
                                     (double)counts[i].of_a,
                                     (double)counts[i].of_b, 0.0, error));
    return FX8_OK;
}

/* Units and phase centre. */
static enum fx8_status match_phasing(struct fx8_uvh5_named a,
                                     struct fx8_uvh5_named b,
                                     struct fx8_error *error)
{
    const struct fx8_uvh5_header *of_a = a.header, *of_b = b.header;
    if (of_a->units[0] != '\0' && of_b->units[0] != '\0' &&
        strcmp(of_a->units, of_b->units) != 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: vis_units: %s: expected %s as in %s", b.path,
                        of_b->units, of_a->units, a.path);
    if (of_a->is_phased != of_b->is_phased) {
        const struct fx8_uvh5_named phased = of_a->is_phased ? a : b;
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: phased towards %s: expected unprojected "
                        "visibilities, as in %s",
                        phased.path, phased.header->object,
                        of_a->is_phased ? b.path : a.path);
    }
    for (size_t axis = 0; axis < 2 && isfinite(of_a->center_deg[axis]); axis++)
        FX8_TRY(fx8_uvh5_match_value(
            a, b, "phase centre, deg", axis, of_a->center_deg[axis],
            of_b->center_deg[axis], TOLERANCE_DEG, error));
    return FX8_OK;
}

enum fx8_status fx8_uvh5_match_array(struct fx8_uvh5_named a,
                                     struct fx8_uvh5_named b,
                                     struct fx8_error *error)
{
    const struct fx8_uvh5_header *of_a = a.header, *of_b = b.header;
    const struct pair counts[] = {
        {"Nants_data", of_a->n_antennas, of_b->n_antennas},
        {"Nbls", of_a->n_baselines, of_b->n_baselines},
        {"Npols", of_a->n_products, of_b->n_products},
    };
    const struct {
        const char *name;
        const int64_t *of_a, *of_b;
        size_t n;
    } integers[] = {
        {"antenna_numbers", of_a->antenna_numbers, of_b->antenna_numbers,
         of_a->n_antennas},
        {"ant_1_array", of_a->ant_1, of_b->ant_1, of_a->n_baselines},
        {"ant_2_array", of_a->ant_2, of_b->ant_2, of_a->n_baselines},
    };
    FX8_TRY(match_counts(a, b, counts, 3, error));
    FX8_TRY(match_phasing(a, b, error));
    for (size_t p = 0; p < of_a->n_products; p++)
        FX8_TRY(fx8_uvh5_match_value(a, b, "polarization_array", p,
                                     of_a->products[p], of_b->products[p], 0.0,
                                     error));
    for (size_t k = 0; k < sizeof integers / sizeof *integers; k++)
        for (size_t i = 0; i < integers[k].n; i++)
            if (integers[k].of_a[i] != integers[k].of_b[i])
                return fx8_uvh5_match_value(
                    a, b, integers[k].name, i, (double)integers[k].of_a[i],
                    (double)integers[k].of_b[i], -1.0, error);
    return FX8_OK;
}

/* A millionth of a channel: more than the rounding of a double, too little to
 * move a visibility. */
enum fx8_status fx8_uvh5_match_channels(struct fx8_uvh5_named a,
                                        struct fx8_uvh5_named b,
                                        struct fx8_error *error)
{
    const struct fx8_uvh5_header *of_a = a.header, *of_b = b.header;
    const struct pair count = {"Nfreqs", of_a->n_channels, of_b->n_channels};
    FX8_TRY(match_counts(a, b, &count, 1, error));
    for (size_t c = 0; c < of_a->n_channels; c++)
        FX8_TRY(fx8_uvh5_match_value(
            a, b, "freq_array", c, of_a->frequencies_hz[c],
            of_b->frequencies_hz[c], 1e-6 * of_a->channel_widths_hz[0], error));
    return FX8_OK;
}

double fx8_uvh5_longest_s(const struct fx8_uvh5_header *header)
{
    double found = 0.0;
    for (size_t t = 0; t < header->n_times; t++)
        found = fmax(found, header->integration_s[t]);
    return found;
}

double fx8_uvh5_dates_tolerance_s(const struct fx8_uvh5_header *header)
{
    return fmax(1e-3 * header->integration_s[0], 50e-6);
}

enum fx8_status fx8_uvh5_match_dumps(struct fx8_uvh5_named a,
                                     struct fx8_uvh5_named b,
                                     struct fx8_error *error)
{
    const struct fx8_uvh5_header *of_a = a.header, *of_b = b.header;
    const struct pair count = {"Ntimes", of_a->n_times, of_b->n_times};
    FX8_TRY(match_counts(a, b, &count, 1, error));
    for (size_t t = 0; t < of_a->n_times; t++)
        FX8_TRY(fx8_uvh5_match_value(
            a, b, "time_array", t, of_a->julian_dates[t], of_b->julian_dates[t],
            fx8_uvh5_dates_tolerance_s(of_a) / 86400.0, error));
    for (size_t t = 0; t < of_a->n_times; t++)
        FX8_TRY(fx8_uvh5_match_value(
            a, b, "integration_time", t, of_a->integration_s[t],
            of_b->integration_s[t], 1e-6 * of_a->integration_s[0], error));
    return FX8_OK;
}
