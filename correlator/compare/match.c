/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "correlator/compare/match.h"

/* One of the two files. */
struct side {
    const char *path;
    const struct fx8_uvh5_header *header;
};

static enum fx8_status check_size(const struct side *a, const struct side *b,
                                  const char *what, size_t of_a, size_t of_b,
                                  struct fx8_error *error)
{
    if (of_a == of_b)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_INPUT, "%s: %s: %zu: expected %zu as in %s",
                    b->path, what, of_b, of_a, a->path);
}

static enum fx8_status check_integers(const struct side *a,
                                      const struct side *b, const char *what,
                                      const int64_t *of_a, const int64_t *of_b,
                                      size_t n, struct fx8_error *error)
{
    for (size_t i = 0; i < n; i++)
        if (of_a[i] != of_b[i])
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s[%zu]: %lld: expected %lld as in %s",
                            b->path, what, i, (long long)of_b[i],
                            (long long)of_a[i], a->path);
    return FX8_OK;
}

static enum fx8_status check_reals(const struct side *a, const struct side *b,
                                   const char *what, const double *of_a,
                                   const double *of_b, size_t n,
                                   double tolerance, struct fx8_error *error)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(of_a[i] - of_b[i]) <= tolerance))
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s[%zu]: %.17g: expected %.17g as in %s",
                            b->path, what, i, of_b[i], of_a[i], a->path);
    return FX8_OK;
}

static enum fx8_status check_sizes(const struct side *a, const struct side *b,
                                   struct fx8_error *error)
{
    const struct fx8_uvh5_header *of_a = a->header, *of_b = b->header;
    const struct {
        const char *name;
        size_t of_a, of_b;
    } sizes[] = {
        {"Nants_data", of_a->n_antennas, of_b->n_antennas},
        {"Nbls", of_a->n_baselines, of_b->n_baselines},
        {"Ntimes", of_a->n_times, of_b->n_times},
        {"Nfreqs", of_a->n_channels, of_b->n_channels},
        {"Npols", of_a->n_products, of_b->n_products},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (check_size(a, b, sizes[i].name, sizes[i].of_a, sizes[i].of_b,
                       error) != FX8_OK)
            return FX8_ERR_INPUT;
    if (of_a->units[0] != '\0' && of_b->units[0] != '\0' &&
        strcmp(of_a->units, of_b->units) != 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: vis_units: %s: expected %s as in %s", b->path,
                        of_b->units, of_a->units, a->path);
    if (of_a->is_phased != of_b->is_phased) {
        const struct side *phased = of_a->is_phased ? a : b;
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: phased towards %s: expected visibilities that "
                        "are not, as in %s",
                        phased->path, phased->header->object,
                        of_a->is_phased ? b->path : a->path);
    }
    for (size_t p = 0; p < of_a->n_products; p++)
        if (of_a->products[p] != of_b->products[p])
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: polarization_array[%zu]: %d: expected %d as "
                            "in %s",
                            b->path, p, of_b->products[p], of_a->products[p],
                            a->path);
    return FX8_OK;
}

/*
 * Tolerances: a millionth of a channel in frequency, a thousandth of a dump in
 * time.  That is more than the rounding of a double (40 microseconds of a
 * Julian date, for dumps of at least 1 ms), and too little to move a
 * visibility.
 */
enum fx8_status fx8_compare_match(const char *path_a,
                                  const struct fx8_uvh5_header *of_a,
                                  const char *path_b,
                                  const struct fx8_uvh5_header *of_b,
                                  struct fx8_error *error)
{
    const struct side sides[2] = {{path_a, of_a}, {path_b, of_b}};
    const struct side *a = &sides[0], *b = &sides[1];
    enum fx8_status status = check_sizes(a, b, error);
    if (status == FX8_OK)
        status = check_integers(a, b, "antenna_numbers", of_a->antenna_numbers,
                                of_b->antenna_numbers, of_a->n_antennas, error);
    if (status == FX8_OK)
        status = check_integers(a, b, "ant_1_array", of_a->ant_1, of_b->ant_1,
                                of_a->n_baselines, error);
    if (status == FX8_OK)
        status = check_integers(a, b, "ant_2_array", of_a->ant_2, of_b->ant_2,
                                of_a->n_baselines, error);
    if (status == FX8_OK)
        status = check_reals(a, b, "freq_array", of_a->frequencies_hz,
                             of_b->frequencies_hz, of_a->n_channels,
                             1e-6 * of_a->channel_widths_hz[0], error);
    const double dump_days = of_a->integration_time_s / 86400.0;
    if (status == FX8_OK)
        status = check_reals(a, b, "time_array", of_a->julian_dates,
                             of_b->julian_dates, of_a->n_times,
                             fmax(1e-3 * dump_days, 50e-6 / 86400.0), error);
    if (status == FX8_OK)
        status =
            check_reals(a, b, "integration_time", &of_a->integration_time_s,
                        &of_b->integration_time_s, 1,
                        1e-6 * of_a->integration_time_s, error);
    return status;
}
