/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * judge.c -- the scores of cells and their bounds.
 *
 * Chance.  Given the spectra, the difference of a cell is a sum of rounding
 * errors with known weights.  If rounding is independent of the signal, the
 * errors are uniform, and independent between inputs, spectra and channels,
 * even between channels whose spectra overlap.  The tails of such a sum lie
 * within those of a Gaussian of the same variance, however few spectra there
 * are (it is strictly sub-Gaussian), so |delta|^2 over the variance falls off
 * like exp(-x).  With dither, errors are sums of two such ones.  Only pairs
 * with a common input are correlated; verdict.c allows for that.
 *
 * The variance can exceed the prediction of compare.h for two reasons:
 *  - a mean over channels with different steps: the coarsest is used;
 *  - missing data: the power of an input in the spectra it has in common with
 *    another is at most its whole power, w_i / w_ij times its mean.
 *
 * Rounding depends on the signal if what dithers it is below one step: the
 * level itself; the noise of a channel with a tone or pulses far above the
 * other channels, taken to be as in those; or the difference of two inputs that
 * are nearly alike.  From one step up the correlation is at most
 * exp(-2 pi^2) = 3e-9 (Widrow and Kollar, Quantization Noise, 2008, ch. 5, 9).
 * All this follows from the gains and the powers of the reference, not from the
 * visibilities under test.
 *
 * A lattice.  Without a window, the transform of integers at multiples of a
 * quarter of the sample rate gives integers again, times a step s.  If a
 * multiple of 1 / s is close to an integer k, the rounding of these few values
 * is periodic and scales the signal by at most 0.2 / sigma: the largest sum
 * over the harmonics m k of 2 delta / k exp(-2 pi^2 m^2 sigma^2 delta^2) with
 * their signs, where delta is the distance from k.  No file says which channels
 * these are, but their autos show twice the change of scale.
 *
 * Bounds.  A rounding error is at most half a step per component, |e|^2 <=
 * 1/2: m = 3 times its mean; with dither a step, |e|^2 <= 2: m = 6 times.  By
 * Cauchy and Schwarz
 *     |delta| <= sqrt(m) (sqrt(eps_i) + sqrt(eps_j) + sqrt(m eps_i eps_j)).
 *
 * Clips.  A component clamped from x to 127 reduces the power by x^2 - 127^2
 * >= 254 u, where u = |x| - 127 is lost.  If an auto has lost the share L, a
 * sum of u |Y| with |Y| <= 127 sqrt(2) is at most L_i sigma_i / (sqrt(2)
 * sigma_j) of sqrt(P_i P_j), and a sum of u_i u_j at most sqrt(L_i L_j).
 */
#include <math.h>

#include "config/base/median.h"
#include "correlator/compare/figures.h"

/* Standard deviations by which an auto may be off: probability 2e-9. */
#define AUTO_SIGMAS 6.0

/* FP32 is good to a few 1e-7 of sqrt(P_i P_j), and visibilities are stored as
 * floats. */
#define FLOAT_ERROR 1e-6

/* Largest change of scale, times sigma.  It is allowed for only if the auto is
 * off by this much: a smaller one adds no more to a cell than chance does. */
#define LATTICE_ERROR  0.2
#define LATTICE_SIGMAS 3.0

/* Weights are floats. */
#define WEIGHT_ERROR 1e-6

static double squared(double value)
{
    return value * value;
}

/* --- levels ------------------------------------------------------ */

/* Mean |e|^2 of a rounding error, in steps squared. */
static double rounding_noise(const struct fx8_comparison *comparison)
{
    return comparison->has_dither ? 1.0 / 3.0 : 1.0 / 6.0;
}

/* Largest change of a coherence by rounding. */
static double rounding_bound(const struct fx8_comparison *comparison,
                             double noise_1, double noise_2)
{
    const double most = comparison->has_dither ? 6.0 : 3.0;
    return sqrt(most * noise_1) + sqrt(most * noise_2) +
           most * sqrt(noise_1 * noise_2);
}

/* Derive from the auto the change of scale and the power lost to clips, beyond
 * chance and a bias of eps, removed or not. */
static void read_auto(const struct fx8_comparison *comparison, size_t at,
                      struct fx8_compare_level *level)
{
    const double n = comparison->dump_spectra * comparison->dump.weight[at];
    const double noise = level->noise_most;
    const double change =
        comparison->dump.subject[at] / comparison->dump.reference[at] - 1.0;
    const double beside =
        noise + (level->is_dithered ? AUTO_SIGMAS * sqrt(2.0 * noise / n)
                                    : rounding_bound(comparison, noise, noise));
    /* at too low a level the bias is not removed */
    const double left =
        comparison->dump.subject[at] / (2.0 * comparison->finest_2[at]);
    const bool is_biased = comparison->has_bias || left < 1.0;
    const double off = fabs(change - (is_biased ? level->noise : 0.0));
    level->gain_error = off > LATTICE_SIGMAS * sqrt(2.0 * noise / n)
                            ? fmin(LATTICE_ERROR / sqrt(level->level_2),
                                   0.5 * (fabs(change) + beside))
                            : 0.0;
    level->clip_loss = comparison->dump_clips[at] > 0.0
                           ? fmin(1.0, fmax(0.0, -change) + beside)
                           : 0.0;
}

static enum fx8_compare_reason reason_of(
    const struct fx8_comparison *comparison, size_t at, double noise)
{
    if (!(comparison->dump.reference[at] > 0.0))
        return FX8_COMPARE_NO_POWER;
    if (!comparison->has_theory)
        return FX8_COMPARE_N_REASONS;
    if (comparison->inverse_gain_2[at] == 0.0)
        return FX8_COMPARE_NO_GAIN;
    if (comparison->dump_clips[at] > FX8_COMPARE_CLIPS)
        return FX8_COMPARE_CLIPPED;
    return noise > rounding_noise(comparison) /
                       (2.0 * squared(FX8_COMPARE_LEVEL))
               ? FX8_COMPARE_LOW_LEVEL
               : FX8_COMPARE_N_REASONS;
}

void fx8_compare_level_input(struct fx8_comparison *comparison, size_t input)
{
    const size_t n_channels = comparison->shape.n_channels;
    const size_t first = input * n_channels;
    const double *power = comparison->dump.reference + first;
    const double noise = rounding_noise(comparison);
    size_t n = 0;
    for (size_t c = 0; c < n_channels && comparison->has_theory; c++)
        if (power[c] > 0.0)
            comparison->scratch[n++] = power[c];
    /* sorts them; the lower of two middle ones: the upper may be interference
     */
    fx8_median(comparison->scratch, n);
    const double usual = n > 0 ? comparison->scratch[(n - 1) / 2] : 0.0;
    for (size_t at = first; at < first + n_channels; at++) {
        struct fx8_compare_level *level = &comparison->levels[at];
        /* sigma^2 = g^2 P / 2 per real component; eps is the noise of both
         * over 2 sigma^2 */
        const double twice = 2.0 * comparison->coarsest_2[at];
        const double p = comparison->dump.reference[at];
        level->noise = noise * comparison->inverse_gain_2[at] / p;
        level->noise_most = noise * comparison->coarsest_2[at] / p;
        level->level_2 = p / twice;
        level->root_level = sqrt(level->level_2);
        level->finest_2 = p / (2.0 * comparison->finest_2[at]);
        level->is_dithered =
            fmin(p, usual) / twice >= squared(FX8_COMPARE_LEVEL);
        level->reason = (int)reason_of(comparison, at, level->noise);
        level->inverse_power = 1.0 / p;
        level->weight = comparison->dump.weight[at];
        level->has_unit_gain = comparison->has_unit_gain[at];
        read_auto(comparison, at, level);
    }
}

/* --- cells ------------------------------------------------------- */

static void take_bound(struct fx8_compare_part *part,
                       const struct fx8_compare_cell *cell, double ratio)
{
    struct fx8_compare_worst_of *worst = &part->worst[FX8_COMPARE_CHECK_BOUNDS];
    worst->n_judged++;
    worst->n_outside += ratio > 1.0;
    if (worst->n_judged == 1 || ratio > worst->ratio) {
        worst->ratio = ratio;
        worst->place = cell->place;
    }
}

static void take_cell(struct fx8_compare_part *part,
                      enum fx8_compare_check check,
                      const struct fx8_compare_cell *cell, double score)
{
    struct fx8_compare_worst_of *worst = &part->worst[check];
    if (worst->n_judged++ > 0 && score <= worst->high)
        return;
    worst->high = score;
    worst->low = 1.0; /* a single cell has no lower limit */
    worst->n_independent = 1.0;
    worst->place = cell->place;
}

static void add_score(struct fx8_compare_scores *scores, double high,
                      double low)
{
    scores->n++;
    scores->high += high;
    scores->low += low;
}

void fx8_compare_judge_mask(struct fx8_compare_part *part,
                            struct fx8_compare_cell *cell,
                            const struct fx8_compare_row *subject,
                            const struct fx8_compare_row *reference, size_t at)
{
    const bool flags[2] = {subject->flags[at] != 0, reference->flags[at] != 0};
    const double one = (double)subject->nsamples[at];
    const double other = (double)reference->nsamples[at];
    struct fx8_compare_worst_of *worst = &part->worst[FX8_COMPARE_CHECK_MASKS];
    worst->n_judged++;
    if (flags[0] == flags[1] &&
        (flags[0] || one == other ||
         fabs(one - other) <= WEIGHT_ERROR * fmax(one, other)))
        return;
    if (cell->levels[0]->has_unit_gain || cell->levels[1]->has_unit_gain) {
        /* only INT8 flags a level of zero or averages without it */
        cell->is_flagged = true;
        return;
    }
    if (worst->n_outside++ == 0) {
        worst->place = cell->place;
        worst->ratio = 1.0; /* worse than parts without any */
    }
}

/* Power of an input in the spectra that it has in common with the other, at
 * most, in means of all its spectra. */
static double beyond_common(double weight, double common)
{
    return weight > common ? weight / common : 1.0;
}

/* Whether rounding of both inputs is independent of them and of each other. */
static bool is_dithered(const struct fx8_compare_cell *cell, double coherence)
{
    const struct fx8_compare_level *i = cell->levels[0], *j = cell->levels[1];
    return i->is_dithered && j->is_dithered &&
           i->level_2 + j->level_2 -
                   2.0 * coherence * i->root_level * j->root_level >=
               squared(FX8_COMPARE_LEVEL);
}

/* Largest change of a coherence by clips. */
static double clip_bound(const struct fx8_compare_cell *cell)
{
    const struct fx8_compare_level *i = cell->levels[0], *j = cell->levels[1];
    if (i->clip_loss == 0.0 && j->clip_loss == 0.0)
        return 0.0;
    return sqrt(0.5) * (i->clip_loss * sqrt(i->finest_2 / j->level_2) +
                        j->clip_loss * sqrt(j->finest_2 / i->level_2)) +
           sqrt(i->clip_loss * j->clip_loss);
}

void fx8_compare_judge_pair(struct fx8_comparison *comparison,
                            struct fx8_compare_part *part,
                            const struct fx8_compare_cell *cell,
                            enum fx8_compare_reason reason)
{
    if (reason == FX8_COMPARE_NO_POWER) {
        /* all zeros, which stay zeros */
        const bool is_zero =
            cell->subject[0] == 0.0 && cell->subject[1] == 0.0 &&
            cell->reference[0] == 0.0 && cell->reference[1] == 0.0;
        take_bound(part, cell, is_zero ? 0.0 : INFINITY);
        return;
    }
    const double w = cell->nsamples;
    const double of_i = beyond_common(cell->levels[0]->weight, w);
    const double of_j = beyond_common(cell->levels[1]->weight, w);
    const double difference = sqrt(cell->difference);
    if (reason == FX8_COMPARE_NO_GAIN) {
        /* nothing is known but that both are coherences */
        take_bound(part, cell, 0.5 * difference / sqrt(of_i * of_j));
        return;
    }
    const double noise_i = cell->levels[0]->noise_most;
    const double noise_j = cell->levels[1]->noise_most;
    const double larger = of_i > of_j ? of_i : of_j;
    const double clips = larger * clip_bound(cell) + FLOAT_ERROR;
    const double coherence = sqrt(cell->coherence);
    if ((reason != FX8_COMPARE_N_REASONS && reason != FX8_COMPARE_CLIPPED) ||
        !is_dithered(cell, coherence)) {
        take_bound(
            part, cell,
            difference /
                (sqrt(larger) * rounding_bound(comparison, noise_i, noise_j) +
                 clips));
        return;
    }
    const double scaled =
        coherence * (cell->levels[0]->gain_error + cell->levels[1]->gain_error);
    const double beyond = difference - clips - scaled;
    const double most = noise_i * of_j + noise_j * of_i + noise_i * noise_j;
    const double high =
        beyond > 0.0 ? squared(beyond) * (comparison->dump_spectra * w) / most
                     : 0.0;
    add_score(&comparison->channels[cell->place.channel].scores, high,
              cell->ratio);
    add_score(&part->row->scores, high, cell->ratio);
    take_cell(part, FX8_COMPARE_CHECK_CELLS, cell, high);
}

/*
 * An auto changes by 2 Re<x* e> + <|e|^2>: a standard deviation of
 * sqrt(2 eps / M), a bias of up to eps, removed or not, and twice the lattice's
 * change of scale.  The square of a real Gaussian exceeds 2 x its variance as
 * rarely as the square of a complex Gaussian exceeds x.
 */
void fx8_compare_judge_auto(const struct fx8_comparison *comparison,
                            struct fx8_compare_part *part,
                            const struct fx8_compare_cell *cell)
{
    const struct fx8_compare_level *level = cell->levels[0];
    const double one = cell->subject[0], other = cell->reference[0];
    const enum fx8_compare_reason reason =
        (enum fx8_compare_reason)level->reason;
    if (!comparison->has_theory || reason == FX8_COMPARE_NO_GAIN)
        return;
    if (reason == FX8_COMPARE_NO_POWER) {
        take_bound(part, cell, one == 0.0 && other == 0.0 ? 0.0 : INFINITY);
        return;
    }
    const bool is_clipped = level->clip_loss > 0.0;
    double change = one / other - 1.0;
    if (is_clipped && change < 0.0 && one > 0.0)
        change = 0.0;
    const double scaled = 2.0 * LATTICE_ERROR / sqrt(level->level_2);
    const double beyond =
        fmax(0.0, fabs(change) - scaled - level->noise_most - FLOAT_ERROR);
    if (!level->is_dithered || reason == FX8_COMPARE_LOW_LEVEL)
        take_bound(part, cell,
                   beyond / rounding_bound(comparison, level->noise_most,
                                           level->noise_most));
    else
        take_cell(part, FX8_COMPARE_CHECK_AUTOS, cell,
                  squared(beyond) * comparison->dump_spectra * cell->nsamples /
                      (4.0 * level->noise_most));
}
