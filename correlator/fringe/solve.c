/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * solve.c -- from baselines to antennas, robustly.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/median.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/fringe/fringe.h"
#include "correlator/fringe/linear.h"

#define TURN 6.283185307179586 /* rad */

/* Rounds of reweighting: it contracts by half or better. */
#define ROUNDS 40

/* Rounds of agreeing: one does, the others see that nothing changes. */
#define SETTLING 3

/* Residuals so many times larger than their errors are not noise. */
#define MUCH 2.0

/* The median of |x| of a normal variable, in standard deviations. */
#define MEDIAN_OF_NORMAL 0.6744897501960817

/* The system of one quantity in one polarisation. */
struct system {
    size_t n_antennas, n;
    const struct fx8_fringe *items;
    enum fx8_fringe_quantity quantity;
    size_t polarization, reference;
    bool *is_used;   /* [n] */
    bool *is_joined; /* [n_antennas] to the reference, by baselines in use */
    double *x;       /* [n_antennas] */
    double *weight;  /* [n] */
    double *scratch; /* [n] */
    double extra;    /* error besides that of the noise */
    struct fx8_linear linear;
};

static bool is_amplitude(const struct system *system)
{
    return system->quantity == FX8_FRINGE_AMPLITUDE;
}

/* Measured less expected. */
static double residual(const struct system *system, size_t k)
{
    const struct fx8_fringe *item = &system->items[k];
    const double first = system->x[item->antennas[0]];
    const double expected =
        system->x[item->antennas[1]] + (is_amplitude(system) ? first : -first);
    const double difference = item->value[system->quantity] - expected;
    return system->quantity == FX8_FRINGE_PHASE ? remainder(difference, TURN)
                                                : difference;
}

/*
 * With coherence rho, a baseline of two equal antennas has noise of the
 * receivers with each other, (1 - rho)^2, and that of either receiver with the
 * source, rho (1 - rho), of 1 - rho^2 in all; along the fringe 1 + rho^2, as
 * the source with itself adds 2 rho^2.  Only the first is independent from
 * baseline to baseline.  The second is the same on all baselines of the
 * antenna, which its solution follows; the third is common to all.
 */
static double whole_noise(const struct system *system, double coherence)
{
    const double square = coherence * coherence;
    return is_amplitude(system) ? 1.0 + square : 1.0 - square;
}

/* The error that is independent from baseline to baseline. */
static double sigma_of(const struct system *system, size_t k)
{
    const struct fx8_fringe *item = &system->items[k];
    return item->sigma[system->quantity] * (1.0 - item->coherence) /
           sqrt(whole_noise(system, item->coherence));
}

/* The error that residuals are judged by. */
static double error_of(const struct system *system, size_t k)
{
    return hypot(sigma_of(system, k), system->extra);
}

/* The variance that either antenna adds to all of its baselines. */
static double shared_variance(const struct system *system, size_t k)
{
    const struct fx8_fringe *item = &system->items[k];
    const double sigma = item->sigma[system->quantity];
    return sigma * sigma * item->coherence * (1.0 - item->coherence) /
           whole_noise(system, item->coherence);
}

/* --- what is connected ------------------------------------------- */

/* Join antennas to the reference by baselines in use, the highest signal to
 * noise first, and drop baselines without it.  To start from them, phases are
 * those along the way. */
static void join(struct system *system, bool is_start)
{
    memset(system->is_joined, 0, system->n_antennas);
    if (is_start)
        memset(system->x, 0, system->n_antennas * sizeof *system->x);
    system->is_joined[system->reference] = true;
    for (;;) {
        const struct fx8_fringe *best = NULL;
        for (size_t k = 0; k < system->n; k++) {
            const struct fx8_fringe *item = &system->items[k];
            if (system->is_used[k] &&
                system->is_joined[item->antennas[0]] !=
                    system->is_joined[item->antennas[1]] &&
                (best == NULL || item->snr > best->snr))
                best = item;
        }
        if (best == NULL)
            break;
        const size_t end = system->is_joined[best->antennas[0]] ? 1 : 0;
        const double step = best->value[system->quantity];
        system->is_joined[best->antennas[end]] = true;
        if (is_start && system->quantity == FX8_FRINGE_PHASE)
            system->x[best->antennas[end]] =
                system->x[best->antennas[1 - end]] + (end == 1 ? step : -step);
    }
    for (size_t k = 0; k < system->n; k++)
        system->is_used[k] = system->is_used[k] &&
                             system->is_joined[system->items[k].antennas[0]];
}

/* --- least squares ----------------------------------------------- */

/* One solution with the weights as they are; false if it is singular. */
static bool solve_once(struct system *system)
{
    struct fx8_linear *linear = &system->linear;
    const double sign = is_amplitude(system) ? 1.0 : -1.0;
    fx8_linear_clear(linear);
    for (size_t a = 0; a < system->n_antennas; a++)
        if (!system->is_joined[a] ||
            (a == system->reference && !is_amplitude(system)))
            fx8_linear_fix(linear, a);
    for (size_t k = 0; k < system->n; k++)
        if (system->is_used[k])
            fx8_linear_add(linear, system->items[k].antennas, sign,
                           system->weight[k], residual(system, k));
    if (!fx8_linear_solve(linear))
        return false;
    for (size_t a = 0; a < system->n_antennas; a++)
        system->x[a] += linear->right[a];
    return true;
}

/* Median of the errors of the baselines in use; 0 without any. */
static double median_sigma(struct system *system)
{
    size_t n = 0;
    for (size_t k = 0; k < system->n; k++)
        if (system->is_used[k])
            system->scratch[n++] = sigma_of(system, k);
    return n > 0 ? fx8_median(system->scratch, n) : 0.0;
}

/* Median of |residual| / error, in units of what noise leaves to the fit; 0 if
 * it leaves nothing. */
static double median_off(struct system *system)
{
    size_t n = 0, n_unknown = 0;
    for (size_t k = 0; k < system->n; k++)
        if (system->is_used[k])
            system->scratch[n++] =
                fabs(residual(system, k)) / error_of(system, k);
    for (size_t a = 0; a < system->n_antennas; a++)
        n_unknown += system->is_joined[a];
    n_unknown -= !is_amplitude(system);
    if (n <= n_unknown)
        return 0.0;
    const double left = sqrt((double)(n - n_unknown) / (double)n);
    return fx8_median(system->scratch, n) / (MEDIAN_OF_NORMAL * left);
}

/* Where most residuals are larger than noise makes them (more than one source,
 * say), the error that explains them. */
static double find_extra(struct system *system)
{
    system->extra = 0.0;
    if (median_off(system) < MUCH)
        return 0.0;
    double low = 0.0, high = median_sigma(system);
    for (system->extra = high; median_off(system) > 1.0;
         system->extra = high *= 2.0)
        ;
    for (size_t k = 0; k < 20; k++) {
        system->extra = 0.5 * (low + high);
        *(median_off(system) > 1.0 ? &low : &high) = system->extra;
    }
    return high;
}

/* Means of unit phasors: an angle has no least squares until its turns are
 * known, and a phasor pulls no harder for being wrong. */
static void average_phasors(struct system *system)
{
    double *re = system->linear.right, *im = system->linear.diagonal;
    for (size_t round = 0; round < ROUNDS; round++) {
        memset(re, 0, system->n_antennas * sizeof *re);
        memset(im, 0, system->n_antennas * sizeof *im);
        for (size_t k = 0; k < system->n; k++) {
            const size_t *ends = system->items[k].antennas;
            if (!system->is_used[k])
                continue;
            const double weight = 1.0 / error_of(system, k);
            const double step = system->items[k].value[FX8_FRINGE_PHASE];
            re[ends[1]] += weight * cos(system->x[ends[0]] + step);
            im[ends[1]] += weight * sin(system->x[ends[0]] + step);
            re[ends[0]] += weight * cos(system->x[ends[1]] - step);
            im[ends[0]] += weight * sin(system->x[ends[1]] - step);
        }
        /* half of the way: all antennas move at once, and must not swap */
        const size_t reference = system->reference;
        const double turn = atan2(im[reference], re[reference]);
        for (size_t a = 0; a < system->n_antennas; a++)
            if (system->is_joined[a] && a != reference)
                system->x[a] +=
                    0.5 *
                    remainder(atan2(im[a], re[a]) - turn - system->x[a], TURN);
    }
}

/* The smallest sum of absolute residuals, by least squares with weights that
 * fall as residuals grow (Huber): no baseline pulls harder than the median one
 * does at its error. */
static bool solve_robustly(struct system *system)
{
    if (system->quantity == FX8_FRINGE_PHASE)
        average_phasors(system);
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t k = 0; k < system->n; k++) {
            const double scale = error_of(system, k);
            const double size =
                round == 0 && system->quantity != FX8_FRINGE_PHASE
                    ? 0.0
                    : fabs(residual(system, k));
            system->weight[k] = 1.0 / (scale * fmax(scale, size));
        }
        if (!solve_once(system))
            return false;
    }
    return true;
}

/* The number of errors that a residual may have. */
static double limit_of(struct system *system)
{
    return FX8_FRINGE_SIGMAS * fmax(1.0, median_off(system));
}

/* The change of an antenna that most of its baselines agree on, each wanting
 * `change` within `limit`: the least sum of squares that none enters with more
 * than 1. */
static double agree(size_t n, const double *change, const double *limit,
                    double period)
{
    double best = 0.0, least = INFINITY;
    for (size_t k = 0; k <= n; k++) {
        const double given = k < n ? change[k] : 0.0;
        double sum = 0.0;
        for (size_t l = 0; l < n; l++) {
            const double off = change[l] - given;
            const double ratio =
                (period > 0.0 ? remainder(off, period) : off) / limit[l];
            sum += fmin(1.0, ratio * ratio);
        }
        if (sum < least) {
            least = sum;
            best = given;
        }
    }
    return best;
}

/* Give every antenna the value that most of its baselines agree on: bad ones
 * differ from each other, so even half of them may be bad. */
static void settle(struct system *system)
{
    double *change = system->scratch, *limit = system->weight;
    const double factor = limit_of(system);
    for (size_t a = 0; a < system->n_antennas; a++) {
        size_t n = 0;
        for (size_t k = 0; k < system->n; k++) {
            const size_t *ends = system->items[k].antennas;
            if (!system->is_used[k] || (ends[0] != a && ends[1] != a))
                continue;
            const bool is_minus = ends[0] == a && !is_amplitude(system);
            change[n] = is_minus ? -residual(system, k) : residual(system, k);
            limit[n++] = factor * error_of(system, k);
        }
        if (system->is_joined[a] &&
            (a != system->reference || is_amplitude(system)))
            system->x[a] +=
                agree(n, change, limit,
                      system->quantity == FX8_FRINGE_PHASE ? TURN : 0.0);
    }
}

/* Reject what is too far off, the worst first; false if there is nothing. */
static bool reject(struct system *system)
{
    const double factor = limit_of(system);
    double worst = 0.0;
    for (size_t k = 0; k < system->n; k++) {
        system->scratch[k] =
            fabs(residual(system, k)) / error_of(system, k) / factor;
        if (system->is_used[k])
            worst = fmax(worst, system->scratch[k]);
    }
    for (size_t k = 0; k < system->n; k++)
        system->is_used[k] =
            system->is_used[k] && system->scratch[k] <= fmax(1.0, 0.5 * worst);
    return worst > 1.0;
}

/* Add what an antenna's baselines share, its mean over them, and that of the
 * reference. */
static void add_shared_variances(struct system *system)
{
    double *shared = system->linear.right, *n = system->linear.diagonal;
    memset(shared, 0, system->n_antennas * sizeof *shared);
    memset(n, 0, system->n_antennas * sizeof *n);
    for (size_t k = 0; k < system->n; k++)
        for (size_t end = 0; end < 2 && system->is_used[k]; end++) {
            shared[system->items[k].antennas[end]] +=
                shared_variance(system, k);
            n[system->items[k].antennas[end]] += 1.0;
        }
    const size_t reference = system->reference;
    const double given = is_amplitude(system) || !(n[reference] > 0.0)
                             ? 0.0
                             : shared[reference] / n[reference];
    for (size_t a = 0; a < system->n_antennas; a++)
        if (n[a] > 0.0)
            system->linear.variance[a] += shared[a] / n[a] + given;
}

/* A start that no bad baseline spoils: all errors count as at least the median
 * one. */
static bool start(struct system *system)
{
    join(system, true);
    system->extra = median_sigma(system);
    return solve_robustly(system);
}

/* Least squares with the errors as they are. */
static bool solve_simply(struct system *system)
{
    for (size_t k = 0; k < system->n; k++)
        system->weight[k] = 1.0 / (error_of(system, k) * error_of(system, k));
    return solve_once(system);
}

/* Find the baselines that are too far off, and the error of the others besides
 * noise. */
static bool sort_out(struct system *system, double *extra)
{
    if (!start(system))
        return false;
    const double least = system->extra;
    system->extra = fmax(least, find_extra(system));
    for (size_t round = 0; round < SETTLING; round++)
        settle(system);
    system->extra = fmax(least, find_extra(system));
    while (reject(system))
        ;
    do {
        join(system, false);
        system->extra = find_extra(system);
        if (!solve_simply(system))
            return false;
    } while (reject(system));
    *extra = system->extra;
    return true;
}

/* The solution with what is left, and its errors. */
static bool solve(struct system *system, double extra)
{
    if (!start(system))
        return false;
    system->extra = extra;
    if (!solve_simply(system))
        return false;
    fx8_linear_invert(&system->linear);
    add_shared_variances(system);
    return true;
}

/* --- the solution ------------------------------------------------ */

static void take_quantity(const struct system *system,
                          struct fx8_fringe_solution *solution)
{
    const enum fx8_fringe_quantity q = system->quantity;
    int64_t n_values = 0, n_unknown = is_amplitude(system) ? 0 : -1;
    double sum = 0.0;
    for (size_t k = 0; k < system->n; k++)
        if (system->is_used[k]) {
            const double off = residual(system, k) / sigma_of(system, k);
            sum += off * off;
            n_values++;
        }
    for (size_t a = 0; a < system->n_antennas; a++) {
        if (!system->is_joined[a])
            continue;
        struct fx8_fringe_antenna *antenna = &solution->antennas[a];
        const bool is_given = a == system->reference && !is_amplitude(system);
        n_unknown++;
        antenna->value[q] = system->x[a];
        if (q == FX8_FRINGE_PHASE)
            antenna->value[q] = remainder(antenna->value[q], TURN);
        antenna->sigma[q] = is_given ? 0.0 : sqrt(system->linear.variance[a]);
    }
    solution->chi_square[q] = sum;
    solution->freedom[q] = n_values - n_unknown;
}

/* Amplitudes of geometric mean 1, where they are good enough. */
static void take_amplitudes(const struct system *system,
                            struct fx8_fringe_solution *solution)
{
    double mean = 0.0, worst = 0.0;
    size_t n = 0;
    for (size_t a = 0; a < system->n_antennas; a++)
        if (system->is_joined[a]) {
            mean += system->x[a];
            worst = fmax(worst, sqrt(system->linear.variance[a]));
            n++;
        }
    for (size_t a = 0; a < system->n_antennas; a++)
        if (solution->antennas[a].is_solved && !system->is_joined[a])
            worst = INFINITY;
    if (worst > FX8_FRINGE_AMPLITUDE_ERROR)
        return;
    take_quantity(system, solution);
    solution->has_amplitudes = true;
    for (size_t a = 0; a < system->n_antennas; a++) {
        struct fx8_fringe_antenna *antenna = &solution->antennas[a];
        if (!system->is_joined[a])
            continue;
        antenna->value[FX8_FRINGE_AMPLITUDE] =
            exp(system->x[a] - mean / (double)n);
        antenna->sigma[FX8_FRINGE_AMPLITUDE] *=
            antenna->value[FX8_FRINGE_AMPLITUDE];
    }
}

/* How far phases are off, those of rejected baselines too. */
static double phase_off(struct system *system)
{
    size_t n = 0;
    for (size_t k = 0; k < system->n; k++) {
        const struct fx8_fringe *item = &system->items[k];
        if (item->is_found && item->polarization == system->polarization &&
            system->is_joined[item->antennas[0]] &&
            system->is_joined[item->antennas[1]])
            system->scratch[n++] = fabs(residual(system, k));
    }
    return n > 0 ? fx8_median(system->scratch, n) : 0.0;
}

static void count_baselines(struct fx8_fringe *items,
                            const struct system *system,
                            struct fx8_fringe_solution *solution)
{
    for (size_t k = 0; k < system->n; k++) {
        struct fx8_fringe *item = &items[k];
        if (item->polarization != system->polarization)
            continue;
        item->is_used = system->is_used[k];
        solution->best_snr = fmax(solution->best_snr, item->snr);
        solution->n_found += item->is_found;
        solution->n_used += item->is_used;
        for (size_t end = 0; end < 2; end++) {
            struct fx8_fringe_antenna *antenna =
                &solution->antennas[item->antennas[end]];
            antenna->n_found += item->is_found;
            antenna->n_used += item->is_used;
            if (item->is_used)
                antenna->snr = hypot(antenna->snr, item->snr);
        }
    }
    for (size_t a = 0; a < system->n_antennas; a++) {
        struct fx8_fringe_antenna *antenna = &solution->antennas[a];
        antenna->value[FX8_FRINGE_AMPLITUDE] = 1.0;
        antenna->is_solved = antenna->n_used > 0;
        solution->n_solved += antenna->is_solved;
    }
}

/* Whether any baseline has the quantity: a single dump has no rate. */
static bool is_measured(const struct system *system)
{
    for (size_t k = 0; k < system->n; k++)
        if (system->is_used[k])
            return sigma_of(system, k) > 0.0;
    return false;
}

/* A baseline that one quantity rejects is bad for all but amplitudes: find the
 * bad ones first, then solve each quantity on the same baselines. */
static void solve_all(struct system *system, struct fx8_fringe *items,
                      struct fx8_fringe_solution *solution)
{
    double extra[FX8_FRINGE_QUANTITIES] = {0.0};
    for (int q = FX8_FRINGE_DELAY; q <= FX8_FRINGE_PHASE; q++) {
        system->quantity = (enum fx8_fringe_quantity)q;
        if (is_measured(system))
            sort_out(system, &extra[q]);
    }
    for (int q = FX8_FRINGE_DELAY; q <= FX8_FRINGE_PHASE; q++) {
        system->quantity = (enum fx8_fringe_quantity)q;
        if (is_measured(system) && solve(system, extra[q]))
            take_quantity(system, solution);
    }
    solution->phase_off = phase_off(system);
    count_baselines(items, system, solution);
    system->quantity = FX8_FRINGE_AMPLITUDE;
    if (is_measured(system) && sort_out(system, &extra[FX8_FRINGE_AMPLITUDE]) &&
        solve(system, extra[FX8_FRINGE_AMPLITUDE]))
        take_amplitudes(system, solution);
}

static void close_system(struct system *system)
{
    fx8_linear_close(&system->linear);
    free(system->is_used);
    free(system->is_joined);
    free(system->x);
    free(system->weight);
    free(system->scratch);
}

enum fx8_status fx8_fringe_solve(size_t n_antennas, size_t n,
                                 struct fx8_fringe *items, size_t polarization,
                                 size_t reference,
                                 struct fx8_fringe_solution *solution,
                                 struct fx8_error *error)
{
    FX8_AUTO(close_system)
    struct system system = {
        .n_antennas = n_antennas,
        .n = n,
        .items = items,
        .polarization = polarization,
        .reference = reference,
    };
    const struct fx8_array arrays[] = {
        FX8_ITEMS(system.is_used, n), FX8_ITEMS(system.is_joined, n_antennas),
        FX8_ITEMS(system.x, n_antennas), FX8_ITEMS(system.weight, n),
        FX8_ITEMS(system.scratch, n)};
    FX8_TRY(fx8_allocate_arrays(arrays, 5, "antennas", error));
    FX8_TRY(fx8_linear_open(n_antennas, &system.linear, error));
    for (size_t k = 0; k < n; k++)
        system.is_used[k] =
            items[k].is_found && items[k].polarization == polarization;
    solve_all(&system, items, solution);
    return FX8_OK;
}
