/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * print.c -- fringes as tables.
 */
#include <erfam.h>
#include <inttypes.h>
#include <math.h>

#include "config/base/line.h"
#include "config/base/text.h"
#include "correlator/fringe/fringe.h"

/* Most baselines listed. */
#define MAX_LISTED 8

static void print_heading(const struct fx8_fringes *fringes, FILE *stream)
{
    fx8_text_print(fringes->path, stream);
    fputs(": ", stream);
    fx8_compare_print_sizes((int64_t)fringes->time.n_items, &fringes->shape,
                            stream);
    fprintf(stream, "\nsearched: delays within %.4g us",
            0.5e6 / fringes->frequency.step);
    if (fringes->time.n > 1)
        fprintf(stream, ", rates within %.4g Hz", 0.5 / fringes->time.step);
    fprintf(stream,
            "; a fringe has a signal to noise above %.3g,\nwhich noise exceeds "
            "in one result of %.0f\n",
            fringes->threshold, 1.0 / FX8_FRINGE_FALSE_ALARM);
}

/* Baselines with a fringe that does not fit the antennas. */
static void print_rejected(const struct fx8_fringes *fringes,
                           size_t polarization, FILE *stream)
{
    const struct fx8_fringe_solution *solution =
        &fringes->solutions[polarization];
    size_t left = solution->n_found - solution->n_used, n = 0;
    for (size_t k = 0; k < fringes->n && n < MAX_LISTED && left > 0; k++) {
        const struct fx8_fringe *item = &fringes->items[k];
        if (item->polarization != polarization || !item->is_found ||
            item->is_used)
            continue;
        fprintf(stream, "%s%" PRId64 "-%" PRId64,
                n == 0 ? "; not used: " : ", ",
                fringes->antenna_numbers[item->antennas[0]],
                fringes->antenna_numbers[item->antennas[1]]);
        n++;
        left--;
    }
    fputs(n > 0 && left > 0 ? ", ...\n" : "\n", stream);
}

static void print_baselines(const struct fx8_fringes *fringes,
                            size_t polarization, FILE *stream)
{
    const struct fx8_fringe_solution *solution =
        &fringes->solutions[polarization];
    size_t n = 0;
    for (size_t k = 0; k < fringes->n; k++)
        n += fringes->items[k].polarization == polarization;
    if (n == 0)
        return;
    fprintf(stream,
            "%c: %zu of %zu %s with a fringe, %zu used; highest signal to "
            "noise %.1f",
            fx8_fringes_letter(fringes, polarization), solution->n_found,
            FX8_COUNTED(n, "baseline", "baselines"), solution->n_used,
            solution->best_snr);
    print_rejected(fringes, polarization, stream);
}

static void print_chi_squares(const struct fx8_fringes *fringes,
                              size_t polarization, FILE *stream)
{
    static const char *const names[FX8_FRINGE_QUANTITIES] = {
        "delay", "rate", "phase", "amplitude"};
    const struct fx8_fringe_solution *solution =
        &fringes->solutions[polarization];
    const char *comma = "";
    for (int q = 0; q < FX8_FRINGE_QUANTITIES; q++) {
        if (solution->freedom[q] <= 0)
            continue;
        if (comma[0] == '\0')
            fprintf(stream, "%c: chi-square per degree of freedom: ",
                    fx8_fringes_letter(fringes, polarization));
        const double mean =
            solution->chi_square[q] / (double)solution->freedom[q];
        fprintf(stream, "%s%s %.3g", comma, names[q], mean);
        comma = ", ";
    }
    if (comma[0] != '\0')
        fputc('\n', stream);
}

/* A value and its error, with two digits of the error. */
static void print_value(double value, double sigma, double unit, int width,
                        FILE *stream)
{
    int decimals = 3;
    if (sigma > 0.0)
        decimals = 1 - (int)floor(log10(sigma / unit));
    decimals = decimals < 0 ? 0 : decimals > 6 ? 6 : decimals;
    fprintf(stream, " %*.*f", width, decimals, value / unit);
    if (sigma > 0.0)
        fprintf(stream, " +-%-8.*f", decimals, sigma / unit);
    else
        fprintf(stream, " %10s", "");
}

static void print_antenna(const struct fx8_fringes *fringes, size_t antenna,
                          size_t polarization, FILE *stream)
{
    static const struct {
        double unit;
        int width;
    } columns[FX8_FRINGE_QUANTITIES] = {
        {1e-9, 12}, {1e-3, 10}, {ERFA_DD2R, 9}, {1.0, 8}};
    const struct fx8_fringe_antenna *found =
        &fringes->solutions[polarization].antennas[antenna];
    fprintf(stream, "%7" PRId64 " %3c", fringes->antenna_numbers[antenna],
            fx8_fringes_letter(fringes, polarization));
    if (!fx8_fringes_has(fringes, antenna, polarization)) {
        fputs(found->n_found == 0 ? "  no fringe on any baseline\n"
                                  : "  no fringe that joins the reference\n",
              stream);
        return;
    }
    for (int q = 0; q < FX8_FRINGE_QUANTITIES; q++)
        print_value(found->value[q], found->sigma[q], columns[q].unit,
                    columns[q].width, stream);
    fprintf(stream, " %8.1f %6zu%s\n", found->snr, found->n_used,
            antenna == fringes->reference ? "  reference"
            : found->n_used == 1          ? "  not checked"
                                          : "");
}

void fx8_fringes_print(const struct fx8_fringes *fringes, FILE *stream)
{
    print_heading(fringes, stream);
    for (size_t p = 0; p < fringes->shape.n_polarizations; p++)
        print_baselines(fringes, p, stream);
    fprintf(stream,
            "\nphases are those at %.6f MHz in the middle of the time\n"
            "%7s %3s %12s %10s %10s %10s %9s %10s %8s %10s %8s %6s\n",
            1e-6 * fringes->frequency.centre, "antenna", "pol", "delay/ns", "",
            "rate/mHz", "", "phase/deg", "", "amplitude", "", "S/N", "lines");
    for (size_t p = 0; p < fringes->shape.n_polarizations; p++)
        for (size_t a = 0;
             a < fringes->shape.n_antennas && fringes->solutions[p].n_found > 0;
             a++)
            print_antenna(fringes, a, p, stream);
    for (size_t p = 0; p < fringes->shape.n_polarizations; p++)
        print_chi_squares(fringes, p, stream);
}
