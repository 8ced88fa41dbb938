/* SPDX-License-Identifier: BSD-3-Clause */
#include "correlator/fx8.h"
#include "kernels/baseline.h"
#include "kernels/operations.h"

const size_t fx8_baseline_feeds[4][2] = {{0, 0}, {1, 1}, {0, 1}, {1, 0}};

size_t fx8_baseline_count(size_t n_antennas)
{
    return n_antennas * (n_antennas + 1) / 2;
}

size_t fx8_baseline_products(size_t n_polarizations)
{
    return n_polarizations * n_polarizations;
}

void fx8_baseline_antennas(size_t n_antennas, size_t baseline,
                           size_t *antenna_1, size_t *antenna_2)
{
    size_t first = 0, row = n_antennas;
    while (baseline >= row) {
        baseline -= row;
        row--;
        first++;
    }
    *antenna_1 = first;
    *antenna_2 = first + baseline;
}

void fx8_baseline_strip(size_t n_antennas, size_t n_starts,
                        size_t n_polarizations, struct fx8_product *products)
{
    const size_t width = n_starts * n_polarizations;
    const size_t n_products = fx8_baseline_products(n_polarizations);
    for (size_t a1 = 0; a1 < n_starts; a1++)
        for (size_t a2 = a1; a2 < n_antennas; a2++)
            for (size_t p = 0; p < n_products; p++) {
                const size_t i =
                    a1 * n_polarizations + fx8_baseline_feeds[p][0];
                const size_t j =
                    a2 * n_polarizations + fx8_baseline_feeds[p][1];
                const size_t pair = i <= j ? fx8_strip_index(width, i, j)
                                           : fx8_strip_index(width, j, i);
                *products++ = (struct fx8_product){
                    .pair = (uint32_t)pair,
                    .input_1 = (uint32_t)i,
                    .input_2 = (uint32_t)j,
                    .conjugate = i > j,
                };
            }
}

void fx8_baseline_table(size_t n_antennas, size_t n_polarizations,
                        struct fx8_product *products)
{
    fx8_baseline_strip(n_antennas, n_antennas, n_polarizations, products);
}
