/* SPDX-License-Identifier: BSD-3-Clause */
#include <erfam.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/fringe/fringe.h"

char fx8_fringes_letter(const struct fx8_fringes *fringes, size_t polarization)
{
    return "XYRL"[(fringes->shape.is_circular ? 2 : 0) + polarization];
}

/* The antenna with the highest signal to noise in all, of baselines with a
 * fringe. */
static enum fx8_status choose_reference(struct fx8_fringes *fringes,
                                        struct fx8_error *error)
{
    FX8_AUTO_FREE double *power = NULL;
    FX8_TRY(fx8_allocate(fringes->shape.n_antennas, sizeof *power, "antennas",
                         &power, error));
    double best = 0.0;
    for (size_t k = 0; k < fringes->n; k++) {
        const struct fx8_fringe *item = &fringes->items[k];
        best = fmax(best, item->snr);
        for (size_t end = 0; end < 2 && item->is_found; end++)
            power[item->antennas[end]] += item->snr * item->snr;
    }
    for (size_t a = 0; a < fringes->shape.n_antennas; a++)
        if (power[a] > power[fringes->reference])
            fringes->reference = a;
    if (!(best > 0.0))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: flags: all: expected cross-correlations with data",
                        fringes->path);
    if (!(power[fringes->reference] > 0.0))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: no source is strong enough: the highest signal to "
                        "noise of a baseline is %.3g: expected more than %.3g",
                        fringes->path, best, fringes->threshold);
    return FX8_OK;
}

static enum fx8_status find_reference(struct fx8_fringes *fringes,
                                      int64_t number, struct fx8_error *error)
{
    for (size_t a = 0; a < fringes->shape.n_antennas; a++)
        if (fringes->antenna_numbers[a] == number) {
            fringes->reference = a;
            return FX8_OK;
        }
    return fx8_fail(error, FX8_ERR_USAGE,
                    "--reference: %" PRId64 ": expected the number of an "
                    "antenna of %s",
                    number, fringes->path);
}

enum fx8_status fx8_fringes_solve(struct fx8_fringes *fringes,
                                  const int64_t *reference,
                                  struct fx8_error *error)
{
    const size_t n_antennas = fringes->shape.n_antennas;
    size_t n_solved = 0;
    FX8_TRY(choose_reference(fringes, error));
    if (reference != NULL)
        FX8_TRY(find_reference(fringes, *reference, error));
    for (size_t p = 0; p < fringes->shape.n_polarizations; p++) {
        struct fx8_fringe_solution *solution = &fringes->solutions[p];
        FX8_TRY(fx8_allocate(n_antennas, sizeof *solution->antennas, "antennas",
                             &solution->antennas, error));
        FX8_TRY(fx8_fringe_solve(n_antennas, fringes->n, fringes->items, p,
                                 fringes->reference, solution, error));
        n_solved += solution->n_solved;
        if (solution->phase_off > FX8_FRINGE_PHASE_ERROR)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: no source dominates: %c: half of the phases "
                            "differ by %.0f degrees or more from those of "
                            "antennas: expected one strong source",
                            fringes->path, fx8_fringes_letter(fringes, p),
                            solution->phase_off * ERFA_DR2D);
    }
    if (n_solved == 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: antenna %" PRId64 ": no fringe on its baselines: "
                        "expected another --reference",
                        fringes->path,
                        fringes->antenna_numbers[fringes->reference]);
    return FX8_OK;
}
