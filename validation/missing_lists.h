/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * missing_lists.h -- random lists of missing samples of a small recording,
 * searched sample by sample.
 */
#ifndef FX8_VALIDATION_MISSING_LISTS_H
#define FX8_VALIDATION_MISSING_LISTS_H

#include "io/reader.h"
#include "validation/testing.h"

/** The recording, and the limit on rows of a list. */
enum {
    N_BANDS = 2,
    N_ANTENNAS = 3,
    N_POLARIZATIONS = 2,
    N_INPUTS = N_BANDS * N_ANTENNAS * N_POLARIZATIONS,
    MOST_GAPS = 60
};

/** An input by its number: bands slowest, polarisations fastest. */
static inline struct fx8_input_position position_of(size_t input)
{
    const struct fx8_input_position at = {input / N_POLARIZATIONS % N_ANTENNAS,
                                          input % N_POLARIZATIONS,
                                          input / N_POLARIZATIONS / N_ANTENNAS};
    return at;
}

static inline bool is_of(int32_t listed, size_t index)
{
    return listed == -1 || (size_t)listed == index;
}

/** Whether one of n gaps covers a sample of an input. */
static inline bool is_listed(const struct fx8_missing *gaps, size_t n,
                             const struct fx8_input_position *at, int64_t t)
{
    for (size_t k = 0; k < n; k++)
        if (is_of(gaps[k].antenna, at->antenna) &&
            is_of(gaps[k].band, at->band) &&
            is_of(gaps[k].polarization, at->polarization) &&
            t >= gaps[k].first_sample &&
            t - gaps[k].first_sample < gaps[k].n_samples)
            return true;
    return false;
}

static inline int ascending(const void *a, const void *b)
{
    const struct fx8_missing *x = (const struct fx8_missing *)a;
    const struct fx8_missing *y = (const struct fx8_missing *)b;
    return (x->first_sample > y->first_sample) -
           (x->first_sample < y->first_sample);
}

/** Draw n gaps within n_samples samples, ascending: of all inputs, of some or
 *  of one, overlapping, some twice, most of them short. */
static inline void draw_gaps(struct generator *g, struct fx8_missing *gaps,
                             size_t n, int64_t n_samples)
{
    for (size_t k = 0; k < n; k++) {
        const int64_t first = random_in(g, 0, n_samples - 1);
        const int64_t most = random_below(g, 8) == 0 ? n_samples : 60;
        const int64_t rest = n_samples - first;
        const bool is_all = random_below(g, 3) == 0;
        gaps[k].first_sample = first;
        gaps[k].n_samples = random_in(g, 1, rest < most ? rest : most);
        gaps[k].antenna = is_all ? -1 : (int32_t)random_in(g, -1, 2);
        gaps[k].polarization = is_all ? -1 : (int32_t)random_in(g, -1, 1);
        gaps[k].band = is_all ? -1 : (int32_t)random_in(g, -1, 1);
        if (k > 0 && random_below(g, 4) == 0)
            gaps[k] = gaps[random_below(g, k)];
    }
    qsort(gaps, n, sizeof *gaps, ascending);
}

#endif
