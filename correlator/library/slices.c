/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slices.c -- see slices.h.
 */
#include "correlator/library/slices.h"

#include "kernels/baseline.h"

/* Most slices of a dump, about. */
#define MOST_SLICES 64

size_t fx8_slice_first(size_t n_antennas, struct fx8_slice slice)
{
    return fx8_baseline_count(n_antennas) -
           fx8_baseline_count(n_antennas - slice.begin);
}

size_t fx8_slice_baselines(size_t n_antennas, struct fx8_slice slice)
{
    return fx8_baseline_count(n_antennas - slice.begin) -
           fx8_baseline_count(n_antennas - slice.end);
}

size_t fx8_slices_least(size_t n_antennas)
{
    const size_t share = fx8_baseline_count(n_antennas) / MOST_SLICES;
    return share > n_antennas ? share : n_antennas;
}

struct fx8_slice fx8_slice_from(size_t n_antennas, size_t begin,
                                size_t most_baselines)
{
    struct fx8_slice slice = {begin, begin};
    size_t n = 0;
    while (slice.end < n_antennas &&
           (n += n_antennas - slice.end) <= most_baselines)
        slice.end++;
    return slice;
}

size_t fx8_slices_count(size_t n_antennas, size_t most_baselines)
{
    size_t n = 0;
    for (size_t begin = 0; begin < n_antennas; n++)
        begin = fx8_slice_from(n_antennas, begin, most_baselines).end;
    return n;
}
