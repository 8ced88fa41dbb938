/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "correlator/compare/match.h"
#include "correlator/compare/rigorous.h"
#include "correlator/compare/side.h"
#include "correlator/run/results.h"

/* The files, in the order of the command line. */
enum { X, DOWN, UP, N_SIDES };

/* --- the test ---------------------------------------------------- */

/* The walk over three files. */
struct walk {
    struct fx8_enclosure *enclosure;
    struct fx8_compare_side sides[N_SIDES];
    size_t (*antennas)[2]; /* [n_baselines] positions */
    double *power;         /* [n_inputs][n_channels] of X, of this dump */
    size_t dump;
};

/* Test one number. */
static void test_number(struct walk *walk, size_t baseline, size_t channel,
                        size_t product, bool is_imaginary,
                        const double value[N_SIDES], double scale)
{
    struct fx8_enclosure *e = walk->enclosure;
    const double width = value[UP] - value[DOWN];
    fx8_compare_spread_add(&e->absolute, width);
    if (scale > 0.0)
        fx8_compare_spread_add(&e->relative, width / scale);
    if (value[DOWN] <= value[X] && value[X] <= value[UP])
        return;
    const double excess = fmax(value[DOWN] - value[X], value[X] - value[UP]);
    if (e->n_outside++ > 0 && excess <= e->worst.excess)
        return;
    const struct fx8_uvh5_header *header = &walk->sides[X].header;
    e->worst = (struct fx8_compare_outlier){header->ant_1[baseline],
                                            header->ant_2[baseline],
                                            walk->dump,
                                            channel,
                                            product,
                                            is_imaginary,
                                            value[X],
                                            value[DOWN],
                                            value[UP],
                                            excess};
    e->worst_julian_date = header->julian_dates[walk->dump];
    e->worst_frequency_hz = header->frequencies_hz[channel];
}

static enum fx8_status check_weight(const struct walk *walk, size_t row,
                                    size_t cell, float of_x, size_t side,
                                    float weight, struct fx8_error *error)
{
    if (weight == of_x)
        return FX8_OK;
    const size_t n_products = walk->enclosure->shape.n_products;
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: Data/nsamples[%zu, %zu, %zu]: %g: expected %g as in "
                    "%s",
                    walk->sides[side].path, row, cell / n_products,
                    cell % n_products, (double)weight, (double)of_x,
                    walk->sides[X].path);
}

/* sqrt(P_i P_j) of a cell, 0 if unknown. */
static double scale_of(const struct walk *walk, size_t baseline, size_t channel,
                       size_t product)
{
    const struct fx8_compare_shape *shape = &walk->enclosure->shape;
    double power[2];
    for (size_t end = 0; end < 2; end++) {
        const size_t input =
            walk->antennas[baseline][end] * shape->n_polarizations +
            (size_t)shape->feeds[product][end];
        power[end] = walk->power[input * shape->n_channels + channel];
    }
    return power[0] > 0.0 && power[1] > 0.0 ? sqrt(power[0] * power[1]) : 0.0;
}

/* Test one baseline of a dump, `row` of the rows read last. */
static enum fx8_status test_row(struct walk *walk, size_t row, size_t baseline,
                                struct fx8_error *error)
{
    struct fx8_enclosure *e = walk->enclosure;
    const size_t n_products = e->shape.n_products;
    struct fx8_compare_row rows[N_SIDES];
    for (size_t side = 0; side < N_SIDES; side++)
        rows[side] = fx8_compare_side_row(&walk->sides[side], row);
    for (size_t cell = 0; cell < e->shape.n_channels * n_products; cell++) {
        const float weight = rows[X].nsamples[cell];
        for (size_t side = DOWN; side < N_SIDES; side++)
            if (check_weight(walk, walk->dump * e->shape.n_baselines + baseline,
                             cell, weight, side, rows[side].nsamples[cell],
                             error) != FX8_OK)
                return FX8_ERR_INPUT;
        if (!(weight > 0.0f)) {
            e->n_without_data++;
            continue;
        }
        e->n_cells++;
        const size_t channel = cell / n_products, product = cell % n_products;
        const double scale = scale_of(walk, baseline, channel, product);
        for (size_t part = 0; part < 2; part++) {
            double value[N_SIDES];
            for (size_t side = 0; side < N_SIDES; side++)
                value[side] = rows[side].visibilities[2 * cell + part];
            test_number(walk, baseline, channel, product, part == 1, value,
                        scale);
        }
    }
    return FX8_OK;
}

static enum fx8_status test_dump(struct walk *walk, size_t rows_per_read,
                                 struct fx8_error *error)
{
    const struct fx8_compare_shape *shape = &walk->enclosure->shape;
    enum fx8_status status = fx8_compare_side_powers(
        &walk->sides[X], walk->dump, shape, (const size_t(*)[2])walk->antennas,
        walk->power, NULL, error);
    for (size_t b = 0; b < shape->n_baselines && status == FX8_OK;
         b += rows_per_read) {
        const size_t left = shape->n_baselines - b;
        const size_t n = left < rows_per_read ? left : rows_per_read;
        for (size_t side = 0; side < N_SIDES && status == FX8_OK; side++)
            status = fx8_compare_side_read(&walk->sides[side],
                                           walk->dump * shape->n_baselines + b,
                                           n, error);
        for (size_t row = 0; row < n && status == FX8_OK; row++)
            status = test_row(walk, row, b + row, error);
    }
    return status;
}

/* --- the files --------------------------------------------------- */

static enum fx8_status check_roles(const struct walk *walk,
                                   struct fx8_error *error)
{
    static const char *const expected[N_SIDES] = {
        [DOWN] = FX8_PRECISN_DOWN, [UP] = FX8_PRECISN_UP};
    for (size_t side = DOWN; side < N_SIDES; side++) {
        const char *found = fx8_compare_side_precision(&walk->sides[side]);
        if (strcmp(found, expected[side]) != 0)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: PRECISN: %s: expected %s, as files are given "
                            "in the order X DOWN UP",
                            walk->sides[side].path,
                            found[0] == '\0' ? "(none)" : found,
                            expected[side]);
        if (strcmp(fx8_compare_side_precision(&walk->sides[X]),
                   expected[side]) == 0)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: PRECISN: %s: expected visibilities to be "
                            "tested, as files are given in the order X DOWN UP",
                            walk->sides[X].path, expected[side]);
    }
    return FX8_OK;
}

static enum fx8_status allocate(struct walk *walk, size_t rows_per_read,
                                struct fx8_error *error)
{
    const struct fx8_compare_shape *shape = &walk->enclosure->shape;
    const struct fx8_array arrays[] = {
        {&walk->antennas, shape->n_baselines, sizeof *walk->antennas},
        {&walk->power,
         fx8_product(shape->n_antennas, shape->n_polarizations,
                     shape->n_channels, 1),
         sizeof *walk->power},
    };
    enum fx8_status status = fx8_allocate_arrays(
        arrays, sizeof arrays / sizeof *arrays, "the comparison", error);
    for (size_t side = 0; side < N_SIDES && status == FX8_OK; side++)
        status =
            fx8_compare_side_allocate(&walk->sides[side], rows_per_read, error);
    if (status == FX8_OK)
        status = fx8_compare_spread_open(&walk->enclosure->absolute, "widths",
                                         error);
    if (status == FX8_OK)
        status = fx8_compare_spread_open(&walk->enclosure->relative, "widths",
                                         error);
    return status;
}

static enum fx8_status open_sides(const char *const paths[N_SIDES],
                                  struct walk *walk, struct fx8_error *error)
{
    struct fx8_compare_side *sides = walk->sides;
    enum fx8_status status = FX8_OK;
    for (size_t side = 0; side < N_SIDES && status == FX8_OK; side++) {
        status = fx8_compare_side_open(paths[side], &sides[side], error);
        if (status == FX8_OK && side > X)
            status = fx8_compare_match(paths[X], &sides[X].header, paths[side],
                                       &sides[side].header, error);
    }
    return status == FX8_OK ? check_roles(walk, error) : status;
}

enum fx8_status fx8_enclosure_test(const char *const paths[3],
                                   struct fx8_enclosure *enclosure,
                                   struct fx8_error *error)
{
    struct walk walk = {.enclosure = enclosure};
    *enclosure = (struct fx8_enclosure){.n_dumps = 0};
    enum fx8_status status = open_sides(paths, &walk, error);
    if (status == FX8_OK)
        status =
            fx8_compare_side_shape(&walk.sides[X], &enclosure->shape, error);
    const size_t rows_per_read = fx8_compare_side_rows(&enclosure->shape);
    if (status == FX8_OK)
        status = allocate(&walk, rows_per_read, error);
    if (status == FX8_OK)
        status =
            fx8_compare_side_antennas(&walk.sides[X], walk.antennas, error);
    while (status == FX8_OK && walk.dump < walk.sides[X].header.n_times) {
        status = test_dump(&walk, rows_per_read, error);
        walk.dump++;
    }
    enclosure->n_dumps = (int64_t)walk.dump;
    snprintf(enclosure->precision, sizeof enclosure->precision, "%s",
             fx8_compare_side_precision(&walk.sides[X]));
    for (size_t side = 0; side < N_SIDES; side++) {
        snprintf(enclosure->name[side], sizeof enclosure->name[side], "%s",
                 paths[side]);
        fx8_compare_side_close(&walk.sides[side]);
    }
    free(walk.antennas);
    free(walk.power);
    if (status != FX8_OK)
        fx8_enclosure_clear(enclosure);
    return status;
}

void fx8_enclosure_clear(struct fx8_enclosure *enclosure)
{
    fx8_compare_spread_clear(&enclosure->absolute);
    fx8_compare_spread_clear(&enclosure->relative);
    *enclosure = (struct fx8_enclosure){.n_dumps = 0};
}

/* --- the report -------------------------------------------------- */

static void print_worst(const struct fx8_enclosure *enclosure, FILE *stream)
{
    static const char *const feeds[] = {"X", "Y"};
    const struct fx8_compare_outlier *worst = &enclosure->worst;
    const int *product = enclosure->shape.feeds[worst->product];
    fprintf(stream,
            "worst      baseline %" PRId64 "-%" PRId64 " %s%s, channel %zu "
            "(%.6f MHz), dump %zu (JD %.8f),\n"
            "           %s part %.9g: expected %.9g to %.9g, %.3g outside\n",
            worst->antenna_1, worst->antenna_2, feeds[product[0]],
            feeds[product[1]], worst->channel,
            enclosure->worst_frequency_hz * 1e-6, worst->dump,
            enclosure->worst_julian_date,
            worst->is_imaginary ? "imaginary" : "real", worst->value,
            worst->down, worst->up, worst->excess);
}

void fx8_enclosure_print(const struct fx8_enclosure *enclosure, FILE *stream)
{
    const struct fx8_compare_shape *shape = &enclosure->shape;
    const struct fx8_compare_spread *absolute = &enclosure->absolute;
    const struct fx8_compare_spread *relative = &enclosure->relative;
    fprintf(stream, "%s%s%s%s between\n%s and\n%s\n", enclosure->name[X],
            enclosure->precision[0] == '\0' ? "" : " (", enclosure->precision,
            enclosure->precision[0] == '\0' ? "" : ")", enclosure->name[DOWN],
            enclosure->name[UP]);
    fx8_compare_side_print(enclosure->n_dumps, shape, stream);
    fprintf(stream,
            "\n\ntested     %" PRId64 " %s, real and imaginary part; %" PRId64
            " without data\n"
            "outside    %" PRId64 " of %" PRId64 " numbers\n",
            enclosure->n_cells, FX8_NOUN(enclosure->n_cells, "cell", "cells"),
            enclosure->n_without_data, enclosure->n_outside,
            2 * enclosure->n_cells);
    if (enclosure->n_outside > 0)
        print_worst(enclosure, stream);
    fprintf(stream,
            "width      median %.3g, largest %.3g, input counts squared\n",
            fx8_compare_spread_quantile(absolute, 0.5), absolute->largest);
    if (relative->n > 0)
        fprintf(stream,
                "           median %.3g, largest %.3g, of sqrt(P_i P_j)\n",
                fx8_compare_spread_quantile(relative, 0.5), relative->largest);
    char reason[FX8_TEXT_SIZE];
    const bool is_inside = fx8_enclosure_verdict(enclosure, reason);
    fprintf(stream, "verdict: %s: %s\n",
            is_inside                ? "inside"
            : enclosure->n_cells > 0 ? "outside"
                                     : "none",
            reason);
}

bool fx8_enclosure_verdict(const struct fx8_enclosure *enclosure,
                           char reason[FX8_TEXT_SIZE])
{
    if (enclosure->n_cells == 0) {
        snprintf(reason, FX8_TEXT_SIZE,
                 "no cell has data: nothing to judge by");
        return false;
    }
    snprintf(reason, FX8_TEXT_SIZE,
             "%" PRId64 " of %" PRId64 " numbers beyond their bounds",
             enclosure->n_outside, 2 * enclosure->n_cells);
    return enclosure->n_outside == 0;
}
