/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verdict.c -- compare the worst of every kind of group with the worst that
 * chance allows among so many, and give the verdict.
 *
 * The score of a group is a mean of n squares of complex Gaussians with some
 * correlation matrix: a sum of independent Exp(1) weighted by its eigenvalues.
 * For a given sum and no eigenvalue above n / m, m equal eigenvalues have the
 * heaviest tails, and
 *
 *     P(mean > x), P(mean < 1 / x) <= exp(-m (x - 1 - ln x))
 *
 * (Chernoff), each side with its own x.  Differences of pairs (i, j) and (i, k)
 * share half of their variance, the noise of i, if j and k are fully coherent:
 * the matrix is at most half of B B^T, where B says which input is in which
 * pair.  Its largest eigenvalue is n_inputs - 1 over all pairs, 2 over XX, XY,
 * YX and YY of two antennas, 1 if a baseline is one pair or XX and YY; dumps
 * and channels are independent.
 *
 * The worst of N groups fails if this is below FX8_COMPARE_CHANCE / N.  The
 * expectation itself is accurate to 10 %, DESIGN's limits of the median.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "config/base/line.h"
#include "correlator/compare/figures.h"

/* Below a hundredth of the predicted rms there was no rounding at all: the
 * channel was copied from the other file. */
#define LEAST_SCORE 1e-4

/* Groups with fewer cells are not tested for LEAST_SCORE: the few values of a
 * lattice may happen to be whole steps. */
#define LEAST_CELLS 10.0
#define TOLERANCE   (FX8_COMPARE_RATIO_HIGH * FX8_COMPARE_RATIO_HIGH)

const char *const fx8_compare_check_names[FX8_COMPARE_N_CHECKS] = {
    "weights and flags",
    "all pairs",
    "channels",
    "baselines",
    "dumps",
    "cells",
    "autos",
    "bounds",
};

/* --- groups ------------------------------------------------------ */

/* x - 1 - ln x */
static double surprise(double x)
{
    return x > 0.0 ? x - 1.0 - log(x) : INFINITY;
}

/* Solve surprise(x) = so_much above or below 1, by bisection. */
static double surprising(double so_much, bool is_above)
{
    double near = 1.0, far = is_above ? 2.0 + 2.0 * so_much : 0.0;
    for (int k = 0; k < 60; k++) {
        const double middle = 0.5 * (near + far);
        if (surprise(middle) < so_much)
            near = middle;
        else
            far = middle;
    }
    return far;
}

static double evidence_of(const struct fx8_compare_worst_of *group)
{
    const double high = group->high / TOLERANCE;
    const double n = group->n_independent;
    if (high > 1.0)
        return n * surprise(high);
    const bool is_none = group->low < LEAST_SCORE && n >= LEAST_CELLS;
    return is_none ? n * surprise(group->low) : 0.0;
}

/* The worst has the most evidence against chance, or else differs most. */
static void take_group(struct fx8_comparison *comparison,
                       enum fx8_compare_check check,
                       const struct fx8_compare_scores *scores,
                       double eigenvalue, struct fx8_compare_place place)
{
    if (scores->n == 0)
        return;
    struct fx8_compare_worst_of *worst = &comparison->worst[check];
    const double n = (double)scores->n;
    struct fx8_compare_worst_of group = {
        .n_judged = worst->n_judged + 1,
        .place = place,
        .n_independent = fmax(1.0, n / eigenvalue),
        .high = scores->high / n,
        .low = scores->low / n,
    };
    group.evidence = evidence_of(&group);
    const bool is_worse =
        group.evidence > worst->evidence ||
        (group.evidence == worst->evidence && group.high > worst->high);
    if (worst->n_judged++ == 0 || is_worse)
        *worst = group;
}

/* Largest eigenvalue over all pairs of inputs. */
static double of_all_pairs(const struct fx8_compare_shape *shape)
{
    return fmax(1.0, (double)fx8_compare_inputs(shape) - 1.0);
}

void fx8_compare_judge_dump(struct fx8_comparison *comparison,
                            const struct fx8_compare_scores *scores)
{
    take_group(
        comparison, FX8_COMPARE_CHECK_DUMPS, scores,
        of_all_pairs(&comparison->shape),
        (struct fx8_compare_place){.dump = (size_t)comparison->n_dumps - 1});
}

static void set_limits(struct fx8_compare_worst_of *worst)
{
    if (worst->n_judged == 0) {
        worst->ratio = worst->plain = NAN;
        worst->limits[0] = worst->limits[1] = NAN;
        return;
    }
    const double so_much = log((double)worst->n_judged / FX8_COMPARE_CHANCE) /
                           worst->n_independent;
    worst->evidence = evidence_of(worst);
    if (worst->n_independent >= LEAST_CELLS)
        worst->limits[0] = sqrt(fmin(LEAST_SCORE, surprising(so_much, false)));
    worst->limits[1] = sqrt(TOLERANCE * surprising(so_much, true));
    worst->ratio = sqrt(worst->high);
    worst->plain = sqrt(worst->low);
}

void fx8_compare_judge_all(struct fx8_comparison *comparison)
{
    const struct fx8_compare_shape *shape = &comparison->shape;
    take_group(comparison, FX8_COMPARE_CHECK_ALL, &comparison->overall.scores,
               of_all_pairs(shape), (struct fx8_compare_place){0});
    for (size_t c = 0; c < shape->n_channels; c++)
        take_group(comparison, FX8_COMPARE_CHECK_CHANNELS,
                   &comparison->channels[c].scores, of_all_pairs(shape),
                   (struct fx8_compare_place){.channel = c});
    for (size_t b = 0; b < shape->n_baselines; b++)
        take_group(comparison, FX8_COMPARE_CHECK_BASELINES,
                   &comparison->baselines[b].scores,
                   shape->n_products > 2 ? 2.0 : 1.0,
                   (struct fx8_compare_place){.baseline = b});
    for (enum fx8_compare_check check = FX8_COMPARE_CHECK_ALL;
         check < FX8_COMPARE_CHECK_BOUNDS; check++)
        set_limits(&comparison->worst[check]);
    struct fx8_compare_worst_of *masks =
        &comparison->worst[FX8_COMPARE_CHECK_MASKS];
    masks->ratio = masks->n_judged > 0 ? (double)masks->n_outside : NAN;
    struct fx8_compare_worst_of *bounds =
        &comparison->worst[FX8_COMPARE_CHECK_BOUNDS];
    bounds->limits[1] = 1.0;
    if (bounds->n_judged == 0)
        bounds->ratio = NAN;
}

/* --- verdict ----------------------------------------------------- */

bool fx8_compare_is_within(const struct fx8_compare_worst_of *worst)
{
    return worst->n_judged == 0 || (worst->plain >= worst->limits[0] &&
                                    worst->ratio <= worst->limits[1]);
}

/* Masks come first: different spectra explain every other failure.  Of the
 * others, the one with the most evidence is the fault itself, not a group that
 * merely contains it. */
enum fx8_compare_check fx8_compare_failed(
    const struct fx8_comparison *comparison)
{
    const struct fx8_compare_worst_of *worst = comparison->worst;
    enum fx8_compare_check failed = FX8_COMPARE_N_CHECKS;
    if (!fx8_compare_is_within(&worst[FX8_COMPARE_CHECK_MASKS]))
        return FX8_COMPARE_CHECK_MASKS;
    for (enum fx8_compare_check check = FX8_COMPARE_CHECK_ALL;
         check < FX8_COMPARE_N_CHECKS; check++)
        if (!fx8_compare_is_within(&worst[check]) &&
            (failed == FX8_COMPARE_N_CHECKS ||
             worst[check].evidence > worst[failed].evidence))
            failed = check;
    return failed;
}

/* Channel, dump and pair: those that name a group of this kind. */
void fx8_compare_place_name(const struct fx8_comparison *comparison,
                            enum fx8_compare_check check,
                            char name[FX8_COMPARE_PLACE_SIZE])
{
    const struct fx8_compare_worst_of *worst = &comparison->worst[check];
    const struct fx8_compare_place *place = &worst->place;
    const struct fx8_compare_shape *shape = &comparison->shape;
    const bool is_there = check == FX8_COMPARE_CHECK_MASKS
                              ? worst->n_outside > 0
                              : worst->n_judged > 0;
    name[0] = '\0';
    if (!is_there || check == FX8_COMPARE_CHECK_ALL)
        return;
    const int *feeds = shape->feeds[place->product];
    const char *letters = shape->is_circular ? "RL" : "XY";
    char channel[64], baseline[FX8_COMPARE_NAME_SIZE];
    snprintf(channel, sizeof channel, "channel %zu (%.6f MHz)", place->channel,
             comparison->frequencies_hz[place->channel] * 1e-6);
    fx8_compare_baseline_name(comparison, place->baseline, baseline);
    if (check == FX8_COMPARE_CHECK_CHANNELS)
        snprintf(name, FX8_COMPARE_PLACE_SIZE, "%s", channel);
    else if (check == FX8_COMPARE_CHECK_BASELINES)
        snprintf(name, FX8_COMPARE_PLACE_SIZE, "baseline %s", baseline);
    else if (check == FX8_COMPARE_CHECK_DUMPS)
        snprintf(name, FX8_COMPARE_PLACE_SIZE, "dump %zu", place->dump);
    else
        snprintf(name, FX8_COMPARE_PLACE_SIZE, "baseline %s %c%c, %s, dump %zu",
                 baseline, letters[feeds[0]], letters[feeds[1]], channel,
                 place->dump);
}

static void explain(const struct fx8_comparison *comparison,
                    enum fx8_compare_check check, char reason[FX8_TEXT_SIZE])
{
    const struct fx8_compare_worst_of *worst = &comparison->worst[check];
    char place[FX8_COMPARE_PLACE_SIZE];
    fx8_compare_place_name(comparison, check, place);
    if (check == FX8_COMPARE_CHECK_MASKS)
        snprintf(reason, FX8_TEXT_SIZE,
                 "flags or weights differ in %" PRId64 " %s, first %s",
                 FX8_COUNTED(worst->n_outside, "cell", "cells"), place);
    else if (isinf(worst->ratio))
        snprintf(reason, FX8_TEXT_SIZE,
                 "%s: INT8 is not zero, though an input has no power; %" PRId64
                 " such %s in all",
                 place, FX8_COUNTED(worst->n_outside, "cell", "cells"));
    else if (check == FX8_COMPARE_CHECK_BOUNDS)
        snprintf(reason, FX8_TEXT_SIZE,
                 "%s: INT8 loss is %.4g x the most that rounding and clips can "
                 "cause; %" PRId64 " such %s in all",
                 place, worst->ratio,
                 FX8_COUNTED(worst->n_outside, "cell", "cells"));
    else {
        const bool is_above = worst->ratio > worst->limits[1];
        const bool is_all = check == FX8_COMPARE_CHECK_ALL;
        char among[64] = "";
        if (!is_all)
            snprintf(among, sizeof among, " (worst of %" PRId64 " %s)",
                     worst->n_judged, fx8_compare_check_names[check]);
        snprintf(reason, FX8_TEXT_SIZE,
                 "%.120s: INT8 loss is %.4g x predicted, allowed %s %.4g%s",
                 is_all ? fx8_compare_check_names[check] : place,
                 is_above ? worst->ratio : worst->plain,
                 is_above ? "at most" : "at least", worst->limits[is_above],
                 among);
    }
}

/* The reason that left out every cell, if it is a single one. */
static const char *why_nothing_is_left(const struct fx8_comparison *comparison)
{
    int64_t total = 0;
    for (size_t reason = 0; reason < FX8_COMPARE_N_REASONS; reason++)
        total += comparison->left_out[reason];
    if (total == 0)
        return "there are no pairs of inputs";
    if (comparison->left_out[FX8_COMPARE_FLAGGED] == total)
        return "every cell is flagged or without data";
    return "every cell is left out";
}

bool fx8_compare_verdict(const struct fx8_comparison *comparison,
                         char reason[FX8_TEXT_SIZE])
{
    /* rounding would leave a difference */
    if (comparison->is_identical &&
        !(comparison->has_theory && comparison->n_channels_used > 0)) {
        snprintf(reason, FX8_TEXT_SIZE, "identical to the last bit");
        return true;
    }
    if (comparison->lacks_levels) {
        snprintf(reason, FX8_TEXT_SIZE,
                 "the files differ, and without %s nothing can be predicted",
                 comparison->is_absolute
                     ? "the auto-correlations of all antennas"
                     : "/fx8/gain");
        return false;
    }
    if (!comparison->has_theory && comparison->n_channels_used > 0) {
        snprintf(reason, FX8_TEXT_SIZE,
                 "the files differ, and nothing is predicted for them");
        return true;
    }
    if (comparison->n_channels_used == 0) {
        snprintf(reason, FX8_TEXT_SIZE, "%s: nothing to judge by",
                 why_nothing_is_left(comparison));
        return false;
    }
    const enum fx8_compare_check failed = fx8_compare_failed(comparison);
    if (failed != FX8_COMPARE_N_CHECKS) {
        explain(comparison, failed, reason);
        return false;
    }
    const double ratio = comparison->median_ratio;
    snprintf(reason, FX8_TEXT_SIZE,
             "INT8 loss is %.4f x predicted, allowed %.3f to %.3f (median over "
             "%zu %s)",
             ratio, comparison->low, comparison->high,
             FX8_COUNTED(comparison->n_channels_used, "channel", "channels"));
    return ratio >= comparison->low && ratio <= comparison->high;
}

const char *fx8_compare_verdict_word(const struct fx8_comparison *comparison)
{
    char reason[FX8_TEXT_SIZE];
    const bool is_inside = fx8_compare_verdict(comparison, reason);
    if (!comparison->is_identical &&
        (!comparison->has_theory || comparison->n_channels_used == 0))
        return "none";
    return is_inside ? "good" : "outside";
}
