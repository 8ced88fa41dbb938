/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_image.c -- what images are made of: the operation in every variant
 * against its definition, and the frequencies that stand for all channels.
 *
 * Shows (kernels, images): the operation is the sum of its definition, with the
 *     same bits in every variant; nodes give the sum over all channels in any
 *     direction, and are few
 * Within: sums: 2^-22 n of the sum of |V_ij|, n antennas; nodes: 1e-6 of the
 * sum of |V|; for 1024 channels and 5 turns across the band fewer than 40
 * Because: a phasor is within 2^-22, and a sum of n terms within n 2^-24; nodes
 *     are chosen for 1e-7 of each exponential, and Lagrange's polynomials sum
 *     rounding errors of doubles
 */
#include <complex.h>
#include <math.h>

#include "config/base/shape.h"
#include "correlator/image/nodes.h"
#include "validation/testing.h"
#include "validation/variants.h"

#define MOST 37

/* --- the operation ------------------------------------------------ */

struct case_of_image {
    size_t n;
    double turns[3 * MOST], directions[3 * FX8_IMAGE_LANES];
    struct fx8_cf32 matrix[(MOST + FX8_IMAGE_ROWS) * MOST];
};

static double uniform(struct generator *g)
{
    return ((double)random_below(g, 1 << 24) - 0x1p23) * 0x1p-23;
}

static void fill(struct case_of_image *c, size_t n, struct generator *g)
{
    c->n = n;
    for (size_t k = 0; k < 3 * n; k++)
        c->turns[k] = 3000.0 * uniform(g);
    for (size_t k = 0; k < 3 * FX8_IMAGE_LANES; k++)
        c->directions[k] = uniform(g);
    for (size_t i = 0; i < fx8_round_up(n, FX8_IMAGE_ROWS); i++)
        for (size_t j = 0; j < n; j++)
            c->matrix[fx8_image_cell(n, i, j)] =
                i < j ? (struct fx8_cf32){(float)uniform(g), (float)uniform(g)}
                      : (struct fx8_cf32){0.0f, 0.0f};
}

/* The sum by its definition, and that of magnitudes. */
static double define(const struct case_of_image *c, size_t lane,
                     double *magnitude)
{
    double sum = 0.0;
    *magnitude = 0.0;
    for (size_t i = 0; i < c->n; i++)
        for (size_t j = i + 1; j < c->n; j++) {
            const struct fx8_cf32 v =
                c->matrix[i / FX8_IMAGE_ROWS * FX8_IMAGE_ROWS * c->n +
                          j * FX8_IMAGE_ROWS + i % FX8_IMAGE_ROWS];
            double turns = 0.0;
            for (size_t k = 0; k < 3; k++)
                turns += (c->turns[3 * j + k] - c->turns[3 * i + k]) *
                         c->directions[k * FX8_IMAGE_LANES + lane];
            const double angle = 2.0 * acos(-1.0) * remainder(turns, 1.0);
            sum += (double)v.re * cos(angle) + (double)v.im * sin(angle);
            *magnitude += hypot((double)v.re, (double)v.im);
        }
    return sum;
}

TEST(every_variant_gives_the_sum)
{
    static struct case_of_image c;
    struct generator g = {17};
    for (size_t n = 1; n <= MOST; n += n < 10 ? 1 : 9) {
        float expected[FX8_IMAGE_LANES];
        fill(&c, n, &g);
        const struct fx8_image_channel channel = {n, c.turns, c.matrix};
        void *phasors;
        assert_int_equal(fx8_allocate(n, 2 * FX8_IMAGE_LANES * sizeof(float),
                                      "phasors", &phasors, NULL),
                         FX8_OK);
        FOR_EACH_VARIANT (variant) {
            float sums[FX8_IMAGE_LANES];
            for (size_t k = 0; k < FX8_IMAGE_LANES; k++)
                sums[k] = (float)k;
            variant->image(&channel, c.directions, phasors, sums);
            if (variant == fx8_operations_variant(0))
                memcpy(expected, sums, sizeof sums);
            assert_memory_equal(sums, expected, sizeof sums);
        }
        free(phasors);
        for (size_t k = 0; k < FX8_IMAGE_LANES; k++) {
            double magnitude;
            const double sum = define(&c, k, &magnitude);
            assert_true(fabs((double)expected[k] - (double)k - sum) <=
                        0x1p-22 * (double)n * (magnitude + (double)k));
        }
    }
}

/* --- nodes -------------------------------------------------------- */

/* Sum of V exp(-2 pi i f tau) over frequencies. */
static double complex transform(size_t n, const double *hz,
                                const double complex *v, double tau_s)
{
    double complex sum = 0.0;
    for (size_t k = 0; k < n; k++) {
        const double angle = -2.0 * acos(-1.0) * remainder(hz[k] * tau_s, 1.0);
        sum += v[k] * (cos(angle) + sin(angle) * I);
    }
    return sum;
}

static void check_nodes(size_t n, const double *hz, double delay_s, size_t most)
{
    struct generator g = {3};
    struct fx8_image_nodes nodes;
    double complex *v = calloc(n, sizeof *v), *at_nodes;
    double magnitude = 0.0;
    assert_int_equal(fx8_image_nodes_open(n, hz, delay_s, &nodes, NULL),
                     FX8_OK);
    assert_in_range(nodes.n, 1, most);
    at_nodes = calloc(nodes.n, sizeof *at_nodes);
    for (size_t c = 0; c < n; c++) {
        v[c] = uniform(&g) + uniform(&g) * I;
        magnitude += cabs(v[c]);
        for (size_t k = 0; k < nodes.n; k++)
            at_nodes[k] += nodes.share[c * nodes.n + k] * v[c];
    }
    for (int k = -20; k <= 20; k++) {
        const double tau_s = delay_s * k / 20.0;
        const double complex error =
            transform(n, hz, v, tau_s) -
            transform(nodes.n, nodes.hz, at_nodes, tau_s);
        assert_true(cabs(error) <= 1e-6 * magnitude);
    }
    free(v);
    free(at_nodes);
    fx8_image_nodes_close(&nodes);
}

TEST(nodes_stand_for_all_channels)
{
    static double hz[1024];
    for (size_t c = 0; c < 1024; c++)
        hz[c] = 150e6 + 1e4 * (double)c;
    check_nodes(1024, hz, 5.0 / 10.23e6, 40);
    check_nodes(1024, hz, 1e-12, 3);
    check_nodes(12, hz, 1e-3, 12); /* no fewer than the channels */
    check_nodes(1, hz, 1e-6, 1);
    /* on a node, of which the middle of the band is one if they are odd */
    hz[1] = hz[0] + 1e6;
    hz[2] = hz[0] + 2e6;
    check_nodes(3, hz, 3e-9, 3);
    /* two bands, in any order */
    for (size_t c = 0; c < 32; c++)
        hz[c] = (c % 2 == 0 ? 160e6 : 150e6) + 1e4 * (double)c;
    check_nodes(32, hz, 1e-7, 20);
}
