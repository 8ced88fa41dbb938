/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * solve.c -- from baselines to antennas, robustly.
 */
#include <erfam.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/median.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/fringe/fringe.h"

/* Most rounds of fitting and rejecting; few arrays need more than five. */
#define ROUNDS 20

/* The median of |x| of a normal variable, in standard deviations. */
#define MEDIAN_OF_NORMAL 0.6744897501960817

/* Residuals so many times larger than their errors are not noise. */
#define MUCH 2.0

/* A pivot below this share of its diagonal element is rounding error. */
#define SINGULAR 1e-12

/* The baselines and antennas of one polarisation. */
struct system {
    size_t n_antennas, n;
    struct fx8_fringe *items;
    size_t polarization, reference;
    struct fx8_fringe_antenna *antennas; /* amplitudes: logarithms */
    bool *is_candidate;                  /* [n] */
    bool *is_used;                       /* [n] */
    bool *is_joined; /* [n_antennas] to the reference, by baselines in use */
    double *trust;   /* [n] */
    double *scratch; /* [n] */
    size_t *item_of; /* [n_antennas][n_antennas] SIZE_MAX: no fringe */
    double *matrix;  /* [n_antennas][n_antennas + 1], the right side last */
    double extra[FX8_FRINGE_QUANTITIES]; /* variance besides noise */
    double *diagonal;                    /* [n_antennas] */
};

static double wrap(int q, double value)
{
    return q == FX8_FRINGE_PHASE ? remainder(value, ERFA_D2PI) : value;
}

/* Of the first antenna: logarithms of amplitudes add up, the rest differs. */
static double sign_of(int q)
{
    return q == FX8_FRINGE_AMPLITUDE ? 1.0 : -1.0;
}

/* Measured less expected. */
static double residual(const struct system *system, int q, size_t k)
{
    const struct fx8_fringe *item = &system->items[k];
    const double first = system->antennas[item->antennas[0]].value[q];
    const double second = system->antennas[item->antennas[1]].value[q];
    return wrap(q, item->value[q] - second - sign_of(q) * first);
}

/*
 * With coherence rho, a baseline of two equal antennas has noise of the
 * receivers with each other, (1 - rho)^2, and that of either receiver with the
 * source, rho (1 - rho), of 1 - rho^2 in all; along the fringe 1 + rho^2, as
 * the source with itself adds 2 rho^2.  Only the first is independent from
 * baseline to baseline.  The second is the same on all baselines of the
 * antenna, which its solution follows; the third is common to all.
 */
static double whole_variance(const struct fx8_fringe *item, int q)
{
    return item->sigma[q] * item->sigma[q] /
           (1.0 + sign_of(q) * item->coherence * item->coherence);
}

/* What is independent from baseline to baseline. */
static double own_variance(const struct fx8_fringe *item, int q)
{
    const double rest = 1.0 - item->coherence;
    return rest * rest * whole_variance(item, q);
}

/* What either antenna adds to all of its baselines. */
static double shared_variance(const struct fx8_fringe *item, int q)
{
    return item->coherence * (1.0 - item->coherence) * whole_variance(item, q);
}

/* What residuals are judged by. */
static double error_of(const struct system *system, int q, size_t k)
{
    return sqrt(own_variance(&system->items[k], q) + system->extra[q]);
}

/* --- a start ----------------------------------------------------- */

/* The baseline between two antennas: the residuals of `to` as `from` sees it;
 * NULL without a fringe. */
static const struct fx8_fringe *look(const struct system *system, size_t from,
                                     size_t to, double *off)
{
    const size_t k = system->item_of[from * system->n_antennas + to];
    if (k == SIZE_MAX)
        return NULL;
    const double sign = system->items[k].antennas[0] == from ? 1.0 : -1.0;
    for (int q = 0; q < FX8_FRINGE_AMPLITUDE; q++)
        off[q] = sign * residual(system, q, k);
    return &system->items[k];
}

/* From 1 to 0: how well baselines agree whose sum is off. */
static double agreement(size_t n, const struct fx8_fringe *const *items,
                        const double *off)
{
    double square = 1.0;
    for (int q = 0; q < FX8_FRINGE_AMPLITUDE; q++) {
        double variance = 0.0;
        for (size_t k = 0; k < n; k++)
            variance += own_variance(items[k], q);
        if (variance > 0.0)
            square += wrap(q, off[q]) * wrap(q, off[q]) / variance;
    }
    return 1.0 / square;
}

/* How well the triangles of a baseline close; without any, its signal to
 * noise decides. */
static double find_trust(const struct system *system, size_t k)
{
    const size_t *ends = system->items[k].antennas;
    const struct fx8_fringe *items[3];
    double off[3][FX8_FRINGE_AMPLITUDE], sum = DBL_MIN * system->items[k].snr;
    items[0] = look(system, ends[0], ends[1], off[0]);
    for (size_t a = 0; a < system->n_antennas && items[0] != NULL; a++) {
        double closure[FX8_FRINGE_AMPLITUDE];
        items[1] = look(system, ends[1], a, off[1]);
        items[2] = look(system, a, ends[0], off[2]);
        if (items[1] == NULL || items[2] == NULL)
            continue;
        for (int q = 0; q < FX8_FRINGE_AMPLITUDE; q++)
            closure[q] = off[0][q] + off[1][q] + off[2][q];
        sum += agreement(3, items, closure);
    }
    return sum;
}

/* Join antennas to the reference by baselines in use, the most trusted first,
 * and drop baselines without it.  To start, values are those along the way. */
static void join(struct system *system, bool is_start)
{
    bool *is_joined = system->is_joined;
    memset(is_joined, 0, system->n_antennas * sizeof *is_joined);
    is_joined[system->reference] = true;
    for (;;) {
        size_t best = SIZE_MAX;
        for (size_t k = 0; k < system->n; k++) {
            const size_t *ends = system->items[k].antennas;
            if (system->is_used[k] &&
                is_joined[ends[0]] != is_joined[ends[1]] &&
                (best == SIZE_MAX || system->trust[k] > system->trust[best]))
                best = k;
        }
        if (best == SIZE_MAX)
            break;
        const struct fx8_fringe *item = &system->items[best];
        const size_t end = is_joined[item->antennas[0]] ? 1 : 0;
        struct fx8_fringe_antenna *near =
            &system->antennas[item->antennas[1 - end]];
        struct fx8_fringe_antenna *far = &system->antennas[item->antennas[end]];
        is_joined[item->antennas[end]] = true;
        for (int q = 0; q < FX8_FRINGE_AMPLITUDE && is_start; q++) {
            far->value[q] +=
                (end == 1 ? 1.0 : -1.0) * residual(system, q, best);
            far->sigma[q] = hypot(near->sigma[q], sqrt(own_variance(item, q)));
        }
    }
    for (size_t k = 0; k < system->n; k++)
        system->is_used[k] =
            system->is_used[k] && is_joined[system->items[k].antennas[0]];
}

/* Give an antenna the values that most of its baselines agree on: the one that
 * joined it may be bad. */
static void settle(struct system *system, size_t antenna)
{
    double most = 0.0, best[FX8_FRINGE_AMPLITUDE] = {0.0};
    for (size_t a = 0; a < system->n_antennas; a++) {
        double sum = 0.0, change[FX8_FRINGE_AMPLITUDE] = {0.0};
        const struct fx8_fringe *pair[2];
        pair[0] = look(system, a, antenna, change);
        for (size_t b = 0; b < system->n_antennas && pair[0] != NULL; b++) {
            double off[FX8_FRINGE_AMPLITUDE] = {0.0};
            pair[1] = look(system, b, antenna, off);
            if (b == a || pair[1] == NULL)
                continue;
            for (int q = 0; q < FX8_FRINGE_AMPLITUDE; q++)
                off[q] -= change[q];
            sum += agreement(2, pair, off);
        }
        if (sum > most) {
            most = sum;
            memcpy(best, change, sizeof best);
        }
    }
    for (int q = 0; q < FX8_FRINGE_AMPLITUDE; q++)
        system->antennas[antenna].value[q] += best[q];
}

static void start(struct system *system)
{
    const size_t n = system->n_antennas;
    for (size_t at = 0; at < n * n; at++)
        system->item_of[at] = SIZE_MAX;
    for (size_t k = 0; k < system->n; k++) {
        const struct fx8_fringe *item = &system->items[k];
        const size_t *ends = item->antennas;
        system->is_candidate[k] =
            item->is_found && item->polarization == system->polarization;
        system->is_used[k] = system->is_candidate[k];
        if (system->is_used[k])
            system->item_of[ends[0] * n + ends[1]] =
                system->item_of[ends[1] * n + ends[0]] = k;
    }
    for (size_t k = 0; k < system->n; k++)
        system->trust[k] = find_trust(system, k);
    join(system, true);
    for (size_t a = 0; a < n; a++)
        if (a != system->reference)
            settle(system, a);
}

/* --- least squares ----------------------------------------------- */

static bool is_free(const struct system *system, int q, size_t antenna)
{
    return system->is_joined[antenna] &&
           (q == FX8_FRINGE_AMPLITUDE || antenna != system->reference);
}

/* Normal equations of what is left to fit. */
static void set_equations(struct system *system, int q)
{
    const size_t n = system->n_antennas, width = n + 1;
    double *matrix = system->matrix;
    memset(matrix, 0, n * width * sizeof *matrix);
    for (size_t k = 0; k < system->n; k++) {
        if (!system->is_used[k])
            continue;
        const size_t *ends = system->items[k].antennas;
        const double weight = pow(error_of(system, q, k), -2.0);
        const double factors[2] = {sign_of(q), 1.0};
        for (size_t end = 0; end < 2; end++) {
            double *row = matrix + ends[end] * width;
            row[ends[end]] += weight;
            row[ends[1 - end]] += sign_of(q) * weight;
            row[n] += factors[end] * weight * residual(system, q, k);
        }
    }
    for (size_t a = 0; a < n; a++)
        system->diagonal[a] = matrix[a * width + a];
}

/* Solve for one unknown, by Gauss and Jordan in place: with all of them solved
 * for, the matrix is its inverse. */
static void eliminate(struct system *system, size_t unknown)
{
    const size_t n = system->n_antennas, width = n + 1;
    double *row = system->matrix + unknown * width;
    const double pivot = row[unknown];
    row[unknown] = 1.0;
    for (size_t c = 0; c < width; c++)
        row[c] /= pivot;
    for (size_t a = 0; a < n; a++) {
        double *other = system->matrix + a * width;
        const double factor = other[unknown];
        if (a == unknown)
            continue;
        other[unknown] = 0.0;
        for (size_t c = 0; c < width; c++)
            other[c] -= factor * row[c];
    }
}

/* Least squares of one quantity; false if it is singular. */
static bool fit(struct system *system, int q)
{
    const size_t n = system->n_antennas, width = n + 1;
    set_equations(system, q);
    for (size_t a = 0; a < n; a++) {
        if (!is_free(system, q, a))
            continue;
        if (!(system->matrix[a * width + a] > SINGULAR * system->diagonal[a]))
            return false;
        eliminate(system, a);
    }
    for (size_t a = 0; a < n; a++) {
        const double *row = system->matrix + a * width;
        struct fx8_fringe_antenna *antenna = &system->antennas[a];
        antenna->sigma[q] = is_free(system, q, a) ? sqrt(row[a]) : 0.0;
        if (is_free(system, q, a))
            antenna->value[q] = wrap(q, antenna->value[q] + row[n]);
    }
    return true;
}

/* A residual in errors of the baseline and its antennas. */
static double ratio(const struct system *system, int q, size_t k)
{
    const struct fx8_fringe *item = &system->items[k];
    const double *sigma[2] = {system->antennas[item->antennas[0]].sigma,
                              system->antennas[item->antennas[1]].sigma};
    return fabs(residual(system, q, k)) /
           sqrt(own_variance(item, q) + system->extra[q] +
                sigma[0][q] * sigma[0][q] + sigma[1][q] * sigma[1][q]);
}

/* A single dump has no rate. */
static bool is_measured(const struct system *system, int q)
{
    for (size_t k = 0; k < system->n; k++)
        if (system->is_used[k])
            return system->items[k].sigma[q] > 0.0;
    return false;
}

/* Median of |residual| / error, in units of what noise leaves to the fit; 0 if
 * it leaves nothing. */
static double median_off(struct system *system, int q)
{
    size_t n = 0, n_free = 0;
    for (size_t k = 0; k < system->n; k++)
        if (system->is_used[k])
            system->scratch[n++] =
                fabs(residual(system, q, k)) / error_of(system, q, k);
    for (size_t a = 0; a < system->n_antennas; a++)
        n_free += is_free(system, q, a);
    if (n <= n_free)
        return 0.0;
    const double left = sqrt((double)(n - n_free) / (double)n);
    return fx8_median(system->scratch, n) / (MEDIAN_OF_NORMAL * left);
}

/* Where most residuals are larger than noise makes them (more than one source,
 * say), find the variance that explains them. */
static void find_extra(struct system *system, int q)
{
    double *extra = &system->extra[q], low = 0.0, high = DBL_MIN;
    *extra = 0.0;
    if (median_off(system, q) < MUCH)
        return;
    for (size_t k = 0; k < system->n; k++)
        if (system->is_used[k])
            high = fmax(high, pow(residual(system, q, k), 2.0));
    high *= 4.0 * (double)system->n;
    for (size_t k = 0; k < 60; k++) {
        *extra = 0.5 * (low + high);
        *(median_off(system, q) > 1.0 ? &low : &high) = *extra;
    }
}

/* Use the good baselines; false if they are the same as before. */
static bool choose(struct system *system, int first, int last)
{
    bool has[FX8_FRINGE_QUANTITIES], is_new = false;
    for (int q = first; q <= last; q++)
        if ((has[q] = is_measured(system, q))) {
            const double before = system->extra[q];
            find_extra(system, q);
            is_new = is_new || fabs(system->extra[q] - before) > 0.01 * before;
        }
    for (size_t k = 0; k < system->n; k++) {
        const size_t *ends = system->items[k].antennas;
        bool is_used = system->is_candidate[k] && system->is_joined[ends[0]] &&
                       system->is_joined[ends[1]];
        for (int q = first; q <= last && is_used; q++)
            is_used = !has[q] || ratio(system, q, k) <= FX8_FRINGE_SIGMAS;
        is_new = is_new || is_used != system->is_used[k];
        system->is_used[k] = is_used;
    }
    return is_new;
}

/* Fit quantities and choose baselines until both agree: one that is bad in any
 * quantity is used in none.  False if a fit is singular. */
static bool solve(struct system *system, int first, int last)
{
    for (size_t round = 0; round < ROUNDS; round++) {
        join(system, false);
        for (int q = first; q <= last; q++)
            if (is_measured(system, q) && !fit(system, q))
                return false;
        if (!choose(system, first, last))
            break;
    }
    return is_measured(system, last);
}

/* --- the solution ------------------------------------------------ */

/* Add what an antenna's baselines share, its mean over them, and that of the
 * reference; judge the fit. */
static void judge(struct system *system, int q,
                  struct fx8_fringe_solution *solution)
{
    double *shared = system->matrix, *n = system->diagonal;
    memset(shared, 0, system->n_antennas * sizeof *shared);
    memset(n, 0, system->n_antennas * sizeof *n);
    for (size_t k = 0; k < system->n; k++) {
        if (!system->is_used[k])
            continue;
        const struct fx8_fringe *item = &system->items[k];
        const double off = residual(system, q, k);
        solution->chi_square[q] += off * off / own_variance(item, q);
        solution->freedom[q]++;
        for (size_t end = 0; end < 2; end++) {
            shared[item->antennas[end]] += shared_variance(item, q);
            n[item->antennas[end]] += 1.0;
        }
    }
    const size_t reference = system->reference;
    const double given =
        is_free(system, q, reference) ? 0.0 : shared[reference] / n[reference];
    for (size_t a = 0; a < system->n_antennas; a++)
        if (is_free(system, q, a)) {
            double *sigma = &system->antennas[a].sigma[q];
            *sigma = sqrt(*sigma * *sigma + shared[a] / n[a] + given);
            solution->freedom[q]--;
        }
}

/* Amplitudes of geometric mean 1, where they are good enough. */
static void take_amplitudes(struct system *system,
                            struct fx8_fringe_solution *solution)
{
    const int q = FX8_FRINGE_AMPLITUDE;
    bool is_good = solve(system, q, q);
    double mean = 0.0;
    for (size_t a = 0; a < system->n_antennas; a++) {
        const struct fx8_fringe_antenna *antenna = &system->antennas[a];
        mean += antenna->value[q] / (double)solution->n_solved;
        is_good = is_good && system->is_joined[a] == antenna->is_solved &&
                  antenna->sigma[q] <= FX8_FRINGE_AMPLITUDE_ERROR;
    }
    if (is_good)
        judge(system, q, solution);
    solution->has_amplitudes = is_good;
    for (size_t a = 0; a < system->n_antennas; a++) {
        struct fx8_fringe_antenna *antenna = &system->antennas[a];
        const bool is_found = is_good && antenna->is_solved;
        antenna->value[q] = is_found ? exp(antenna->value[q] - mean) : 1.0;
        antenna->sigma[q] *= is_found ? antenna->value[q] : 0.0;
    }
}

/* How far phases are off, those of rejected baselines too. */
static double phase_off(struct system *system)
{
    size_t n = 0;
    for (size_t k = 0; k < system->n; k++)
        if (system->is_candidate[k] &&
            system->is_joined[system->items[k].antennas[0]] &&
            system->is_joined[system->items[k].antennas[1]])
            system->scratch[n++] = fabs(residual(system, FX8_FRINGE_PHASE, k));
    return n > 0 ? fx8_median(system->scratch, n) : 0.0;
}

static void count_baselines(struct system *system,
                            struct fx8_fringe_solution *solution)
{
    for (size_t k = 0; k < system->n; k++) {
        struct fx8_fringe *item = &system->items[k];
        if (item->polarization != system->polarization)
            continue;
        item->is_used = system->is_used[k];
        solution->best_snr = fmax(solution->best_snr, item->snr);
        solution->n_found += item->is_found;
        solution->n_used += item->is_used;
        for (size_t end = 0; end < 2; end++) {
            struct fx8_fringe_antenna *antenna =
                &system->antennas[item->antennas[end]];
            antenna->n_found += item->is_found;
            antenna->n_used += item->is_used;
            if (item->is_used)
                antenna->snr = hypot(antenna->snr, item->snr);
        }
    }
    for (size_t a = 0; a < system->n_antennas; a++) {
        struct fx8_fringe_antenna *antenna = &system->antennas[a];
        antenna->is_solved = antenna->n_used > 0;
        solution->n_solved += antenna->is_solved;
    }
}

/* Delay, rate and phase, then amplitudes on the same baselines or fewer. */
static void solve_all(struct system *system,
                      struct fx8_fringe_solution *solution)
{
    start(system);
    choose(system, FX8_FRINGE_DELAY, FX8_FRINGE_PHASE);
    if (!solve(system, FX8_FRINGE_DELAY, FX8_FRINGE_PHASE))
        memset(system->is_used, 0, system->n * sizeof *system->is_used);
    for (int q = FX8_FRINGE_DELAY; q <= FX8_FRINGE_PHASE; q++)
        if (is_measured(system, q))
            judge(system, q, solution);
    solution->phase_off = phase_off(system);
    count_baselines(system, solution);
    memcpy(system->is_candidate, system->is_used,
           system->n * sizeof *system->is_used);
    take_amplitudes(system, solution);
}

static void close_system(struct system *system)
{
    free(system->is_candidate);
    free(system->is_used);
    free(system->is_joined);
    free(system->trust);
    free(system->scratch);
    free(system->item_of);
    free(system->matrix);
    free(system->diagonal);
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
        .antennas = solution->antennas,
    };
    const struct fx8_array arrays[] = {
        FX8_ITEMS(system.is_candidate, n),
        FX8_ITEMS(system.is_used, n),
        FX8_ITEMS(system.is_joined, n_antennas),
        FX8_ITEMS(system.trust, n),
        FX8_ITEMS(system.scratch, n),
        FX8_ITEMS(system.item_of, fx8_product(n_antennas, n_antennas, 1, 1)),
        FX8_ITEMS(system.matrix, fx8_product(n_antennas, n_antennas + 1, 1, 1)),
        FX8_ITEMS(system.diagonal, n_antennas)};
    FX8_TRY(fx8_allocate_arrays(arrays, sizeof arrays / sizeof *arrays,
                                "antennas", error));
    solve_all(&system, solution);
    return FX8_OK;
}
