/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/compare/rigorous.h"
#include "correlator/compare/sides.h"
#include "correlator/run/results.h"

/* The files, in the order of the command line. */
enum { X, DOWN, UP, N_SIDES };

/* --- the test ---------------------------------------------------- */

struct walk {
    struct fx8_enclosure *enclosure;
    struct fx8_compare_sides sides;
    double *power; /* [n_inputs][n_channels] of X, of this dump */
};

static void close_walk(struct walk *walk)
{
    fx8_compare_sides_close(&walk->sides);
    free(walk->power);
}

/* One number, and its files' values. */
struct number {
    size_t dump, baseline, channel, product;
    bool is_imaginary;
    double value[N_SIDES];
    double scale; /* sqrt(P_i P_j), 0 if unknown */
};

static void test_number(struct walk *walk, const struct number *number)
{
    const double *value = number->value;
    struct fx8_enclosure *e = walk->enclosure;
    const double width = value[UP] - value[DOWN];
    fx8_compare_spread_add(&e->absolute, width);
    if (number->scale > 0.0)
        fx8_compare_spread_add(&e->relative, width / number->scale);
    if (value[DOWN] <= value[X] && value[X] <= value[UP])
        return;
    const double excess = fmax(value[DOWN] - value[X], value[X] - value[UP]);
    if (e->n_outside++ > 0 && excess <= e->worst.excess)
        return;
    const struct fx8_uvh5_header *header = &walk->sides.side[X].header;
    e->worst = (struct fx8_compare_outlier){
        .antenna_1 = header->ant_1[number->baseline],
        .antenna_2 = header->ant_2[number->baseline],
        .dump = number->dump,
        .channel = number->channel,
        .product = number->product,
        .is_imaginary = number->is_imaginary,
        .value = value[X],
        .down = value[DOWN],
        .up = value[UP],
        .excess = excess,
    };
    e->worst_julian_date = header->julian_dates[number->dump];
    e->worst_frequency_hz = header->frequencies_hz[number->channel];
}

/* sqrt(P_i P_j) of a cell, 0 if unknown. */
static double scale_of(const struct walk *walk, size_t baseline, size_t channel,
                       size_t product)
{
    const struct fx8_compare_shape *shape = &walk->enclosure->shape;
    double power[2];
    for (size_t end = 0; end < 2; end++) {
        const size_t input =
            walk->sides.antennas[baseline][end] * shape->n_polarizations +
            (size_t)shape->feeds[product][end];
        power[end] = walk->power[input * shape->n_channels + channel];
    }
    return power[0] > 0.0 && power[1] > 0.0 ? sqrt(power[0] * power[1]) : 0.0;
}

static enum fx8_status test_rows(struct walk *walk, size_t dump,
                                 size_t baseline,
                                 const struct fx8_compare_row *rows,
                                 struct fx8_error *error)
{
    struct fx8_enclosure *e = walk->enclosure;
    const size_t n_products = e->shape.n_products;
    for (size_t cell = 0; cell < e->shape.n_channels * n_products; cell++) {
        const size_t channel = cell / n_products, product = cell % n_products;
        const float weight = rows[X].nsamples[cell];
        for (size_t side = DOWN; side < N_SIDES; side++)
            if (rows[side].nsamples[cell] != weight)
                return fx8_fail(error, FX8_ERR_INPUT,
                                "%s: Data/nsamples[%zu, %zu, %zu]: %g: "
                                "expected %g as in %s",
                                walk->sides.side[side].path,
                                dump * e->shape.n_baselines + baseline, channel,
                                product, (double)rows[side].nsamples[cell],
                                (double)weight, walk->sides.side[X].path);
        if (!(weight > 0.0f)) {
            e->n_without_data++;
            continue;
        }
        e->n_cells++;
        struct number number = {
            .dump = dump,
            .baseline = baseline,
            .channel = channel,
            .product = product,
            .scale = scale_of(walk, baseline, channel, product),
        };
        for (size_t part = 0; part < 2; part++) {
            number.is_imaginary = part == 1;
            for (size_t side = 0; side < N_SIDES; side++)
                number.value[side] = rows[side].visibilities[2 * cell + part];
            test_number(walk, &number);
        }
    }
    return FX8_OK;
}

/* --- the files --------------------------------------------------- */

static enum fx8_status check_roles(const struct fx8_compare_side *sides,
                                   struct fx8_error *error)
{
    static const char *const expected[N_SIDES] = {
        [DOWN] = FX8_PRECISN_DOWN, [UP] = FX8_PRECISN_UP};
    for (size_t side = DOWN; side < N_SIDES; side++) {
        const char *found = fx8_compare_side_precision(&sides[side]);
        if (strcmp(found, expected[side]) != 0)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: PRECISN: %s: expected %s, as files are given "
                            "in the order X DOWN UP",
                            sides[side].path,
                            found[0] == '\0' ? "(none)" : found,
                            expected[side]);
        if (strcmp(fx8_compare_side_precision(&sides[X]), expected[side]) == 0)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: PRECISN: %s: expected visibilities to be "
                            "tested, as files are given in the order X DOWN UP",
                            sides[X].path, expected[side]);
    }
    return FX8_OK;
}

static enum fx8_status test(const char *const *paths,
                            struct fx8_progress_display *progress,
                            struct walk *walk, struct fx8_error *error)
{
    struct fx8_enclosure *enclosure = walk->enclosure;
    struct fx8_compare_sides *sides = &walk->sides;
    FX8_TRY(fx8_compare_sides_open(paths, N_SIDES, sides, error));
    sides->progress = progress;
    FX8_TRY(check_roles(sides->side, error));
    enclosure->shape = sides->shape;
    enclosure->n_dumps = (int64_t)sides->side[X].header.n_times;
    snprintf(enclosure->precision, sizeof enclosure->precision, "%s",
             fx8_compare_side_precision(&sides->side[X]));
    for (size_t side = 0; side < N_SIDES; side++)
        snprintf(enclosure->name[side], sizeof enclosure->name[side], "%s",
                 paths[side]);
    FX8_TRY(fx8_allocate(fx8_product(fx8_compare_inputs(&sides->shape),
                                     sides->shape.n_channels, 1, 1),
                         sizeof *walk->power, "powers", &walk->power, error));
    FX8_TRY(fx8_compare_spread_open(&enclosure->absolute, "widths", error));
    FX8_TRY(fx8_compare_spread_open(&enclosure->relative, "widths", error));
    for (size_t dump = 0; dump < sides->side[X].header.n_times; dump++) {
        FX8_TRY(
            fx8_compare_sides_powers(sides, X, dump, walk->power, NULL, error));
        for (size_t b = 0; b < sides->shape.n_baselines; b++) {
            struct fx8_compare_row rows[N_SIDES];
            FX8_TRY(fx8_compare_sides_read(sides, dump, b, rows, NULL, error));
            FX8_TRY(test_rows(walk, dump, b, rows, error));
        }
    }
    return FX8_OK;
}

enum fx8_status fx8_enclosure_test(const char *const paths[3],
                                   struct fx8_progress_display *progress,
                                   struct fx8_enclosure *enclosure,
                                   struct fx8_error *error)
{
    FX8_AUTO(close_walk) struct walk walk = {.enclosure = enclosure};
    *enclosure = (struct fx8_enclosure){.n_dumps = 0};
    const enum fx8_status status = test(paths, progress, &walk, error);
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
    const char *feeds = enclosure->shape.is_circular ? "RL" : "XY";
    const struct fx8_compare_outlier *worst = &enclosure->worst;
    const int *product = enclosure->shape.feeds[worst->product];
    fprintf(stream,
            "worst      baseline %" PRId64 "-%" PRId64 " %c%c, channel %zu "
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
    fx8_compare_print_sizes(enclosure->n_dumps, shape, stream);
    fprintf(stream,
            "\n\ntested     %" PRId64 " %s, real and imaginary part; %" PRId64
            " without data\n"
            "outside    %" PRId64 " of %" PRId64 " numbers\n",
            FX8_COUNTED(enclosure->n_cells, "cell", "cells"),
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
