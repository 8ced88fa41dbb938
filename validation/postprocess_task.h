/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * postprocess_task.h -- random gains and flags by which sums become results,
 * for one of several bands side by side.  All memory lasts for the case.
 */
#ifndef FX8_VALIDATION_POSTPROCESS_TASK_H
#define FX8_VALIDATION_POSTPROCESS_TASK_H

#include "kernels/baseline.h"
#include "kernels/operations.h"
#include "kernels/postprocess.h"
#include "validation/testing.h"

struct scene {
    struct fx8_postprocess plan;
    double *input_gain;  /* [n_inputs] floats; not in the plan yet */
    double *ripple;      /* [n_channels] likewise */
    size_t n_row, first; /* channels of a row, and the first one of this band */
    size_t n_cells;      /* of all bands */
};

static inline uint8_t *random_flags(size_t n, size_t one_in,
                                    struct generator *g)
{
    uint8_t *flags = temporary(n);
    for (size_t i = 0; i < n; i++)
        flags[i] = random_below(g, one_in) == 0;
    return flags;
}

/* Gains, flags, a sideband and threads for the last of n_bands bands. */
static inline struct scene make_scene(size_t antennas, size_t pols,
                                      size_t channels, size_t average,
                                      size_t n_bands, struct generator *g)
{
    const size_t inputs = antennas * pols, n_row = n_bands * channels;
    const size_t n_products = fx8_baseline_products(pols);
    const size_t n = fx8_baseline_count(antennas) * n_products;
    struct fx8_product *products = temporary(n * sizeof *products);
    float *gain = temporary(inputs * n_row * sizeof *gain);
    struct scene s = {
        .input_gain = temporary(inputs * sizeof *s.input_gain),
        .ripple = temporary(channels * sizeof *s.ripple),
        .n_row = n_row,
        .first = n_row - channels,
        .n_cells = n * (n_row / average),
    };
    fx8_baseline_table(antennas, pols, products);
    for (size_t i = 0; i < inputs * n_row; i++)
        gain[i] = (float)random_in(g, 1, 3000) / 1000.0f;
    for (size_t i = 0; i < inputs; i++)
        s.input_gain[i] = (float)ldexp((double)random_in(g, 1, 3000),
                                       -(int)random_below(g, 9));
    for (size_t c = 0; c < channels; c++)
        s.ripple[c] = 0.3 + 0.7 * (double)(c * c % 11);
    s.plan = (struct fx8_postprocess){
        .n_antennas = antennas,
        .n_products = n_products,
        .n_inputs = inputs,
        .n_channels = channels,
        .row_channels = n_bands > 1 ? n_row : 0,
        .channel_average = average,
        .products = products,
        .spectra_per_dump = 100,
        .gain = gain + s.first,
        .flag_channel = random_flags(channels, 3, g),
        .flag_input = random_flags(inputs, 6, g),
        .flag_cell = random_flags(inputs * n_row, 8, g) + s.first,
        .flag_float_cell = random_flags(inputs * n_row, 8, g) + s.first,
        .remove_bias = true,
        .negate_imaginary = random_below(g, 2) == 1,
        .threads.count = 1 + random_below(g, 3),
    };
    return s;
}

/* Valid products of each pair, at most those of a dump. */
static inline int64_t *random_counts(const struct scene *s, struct generator *g)
{
    const size_t n = fx8_pair_count(s->plan.n_inputs);
    int64_t *counts = temporary(n * sizeof *counts);
    for (size_t i = 0; i < n; i++)
        counts[i] = random_below(g, 5) == 0
                        ? 0
                        : random_in(g, 1, s->plan.spectra_per_dump);
    return counts;
}

/* Results of all bands, full of garbage. */
static inline struct fx8_result make_results(size_t n_cells)
{
    return (struct fx8_result){temporary(2 * n_cells * sizeof(float)),
                               temporary(n_cells),
                               temporary(n_cells * sizeof(float))};
}

/* The band's results among those of all bands. */
static inline struct fx8_result band_of(const struct scene *s,
                                        const struct fx8_result *all)
{
    return fx8_result_from(all, s->first / s->plan.channel_average *
                                    s->plan.n_products);
}

/* Equal to the bit, including what lies between the rows. */
static inline void check_results(const struct fx8_result *wanted,
                                 const struct fx8_result *got, size_t n_cells)
{
    check_bytes(wanted->visibilities, got->visibilities,
                2 * n_cells * sizeof(float));
    check_bytes(wanted->flags, got->flags, n_cells);
    check_bytes(wanted->nsamples, got->nsamples, n_cells * sizeof(float));
}

#endif
