/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>

#include "config/base/median.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/sample_sums.h"

/* Components summed in 32 bits: 2^16 squares of 2^14 stay below 2^31. */
#define MOST_COMPONENTS ((size_t)1 << 16)

/* The mean of n noise samples has 1/n of their power; up to five sigma is
 * still chance. */
#define OFFSET_CHANCE 25.0

const char *const fx8_remark_names[FX8_N_REMARKS] = {
    "absent", "dead", "clipped", "weak", "strong", "DC offset", "-128"};

/* Sums of at most MOST_COMPONENTS components, none missing; inline, so that
 * each of the two strides is vectorised separately. */
static inline void add_part(struct fx8_sample_sums *sums, const int8_t *samples,
                            size_t n_samples, size_t components)
{
    int32_t sum[2] = {0, 0};
    int32_t square = 0, n_clipped = 0, n_most = 0, n_least = 0, n_zero = 0;
    for (size_t part = 0; part < components; part++)
        for (size_t t = 0; t < n_samples; t++)
            sum[part] += samples[t * components + part];
    for (size_t k = 0; k < n_samples * components; k++) {
        const int32_t x = samples[k];
        square += x * x;
        n_clipped += x >= FX8_CLIP_LIMIT || x <= -FX8_CLIP_LIMIT;
        n_most += x == INT8_MAX;
        n_least += x == INT8_MIN;
    }
    for (size_t t = 0; t < n_samples; t++)
        n_zero += (samples[t * components] |
                   samples[t * components + components - 1]) == 0;
    sums->n_samples += (int64_t)n_samples;
    sums->sum[0] += sum[0];
    sums->sum[1] += sum[1];
    sums->square += square;
    sums->n_clipped += n_clipped;
    sums->n_most += n_most;
    sums->n_least += n_least;
    sums->n_zero += n_zero;
}

/* First sample from `from` on whose bit is not `bit`, or n. */
static size_t run_end(const uint64_t *valid, size_t from, size_t n, bool bit)
{
    const uint64_t whole = bit ? UINT64_MAX : 0;
    size_t t = from;
    while (t < n && fx8_bit_get(valid, t) == bit)
        t += t % 64 == 0 && valid[t / 64] == whole ? 64 : 1;
    return t < n ? t : n;
}

void fx8_sample_sums_add(struct fx8_sample_sums *sums, const int8_t *samples,
                         size_t n_samples, size_t components,
                         const uint64_t *valid)
{
    const size_t most = MOST_COMPONENTS / components;
    for (size_t t = 0; t < n_samples;) {
        const size_t first = run_end(valid, t, n_samples, false);
        const size_t end = run_end(valid, first, n_samples, true);
        sums->n_missing += (int64_t)(first - t);
        for (size_t at = first; at < end; at += most) {
            const size_t n = end - at < most ? end - at : most;
            if (components == 1)
                add_part(sums, samples + at, n, 1);
            else
                add_part(sums, samples + 2 * at, n, 2);
        }
        t = end;
    }
}

struct fx8_sample_figures fx8_sample_sums_figures(
    const struct fx8_sample_sums *sums, size_t components)
{
    const double n = (double)sums->n_samples;
    const double n_components = n * (double)components;
    const double looked_at = n + (double)sums->n_missing;
    /* 0 / 0: NaN, no samples */
    return (struct fx8_sample_figures){
        .rms_lsb = sqrt((double)sums->square / n_components),
        .mean_lsb = {(double)sums->sum[0] / n, (double)sums->sum[1] / n},
        .clipped_share = (double)sums->n_clipped / n_components,
        .least_share = (double)sums->n_least / n_components,
        .zero_share = (double)sums->n_zero / n,
        .missing_share = (double)sums->n_missing / looked_at,
    };
}

/* Whether an input has a level to compare. */
static bool is_live(const struct fx8_sample_sums *sums)
{
    return sums->square > 0;
}

static double recorded_rms(const struct fx8_sample_sums *sums,
                           size_t components, double gain)
{
    return fx8_sample_sums_figures(sums, components).rms_lsb / gain;
}

/* Remarks that depend on this input alone. */
static unsigned judge_alone(const struct fx8_sample_sums *sums,
                            size_t components)
{
    if (sums->n_samples == 0)
        return sums->n_missing > 0 ? FX8_REMARK_ABSENT : 0;
    if (!is_live(sums))
        return FX8_REMARK_DEAD;
    const struct fx8_sample_figures f =
        fx8_sample_sums_figures(sums, components);
    const double offset =
        (f.mean_lsb[0] * f.mean_lsb[0] + f.mean_lsb[1] * f.mean_lsb[1]) /
        (double)components;
    const double chance = OFFSET_CHANCE / (double)sums->n_samples;
    unsigned remarks = 0;
    if (f.clipped_share > FX8_MOST_CLIPPED)
        remarks |= FX8_REMARK_CLIPPED;
    if (offset > fmax(FX8_MOST_OFFSET, chance) * f.rms_lsb * f.rms_lsb)
        remarks |= FX8_REMARK_OFFSET;
    if (f.least_share > FX8_MOST_LEAST && sums->n_least > 2 * sums->n_most)
        remarks |= FX8_REMARK_MARKERS;
    return remarks;
}

/* Compare the live inputs of a band with their median; `levels` has room for
 * all inputs. */
static void compare_levels(const struct fx8_sample_sums *sums,
                           const double *gain, size_t n_inputs,
                           size_t components, double *levels, unsigned *remarks)
{
    size_t n_live = 0;
    for (size_t i = 0; i < n_inputs; i++)
        if (is_live(&sums[i]))
            levels[n_live++] = recorded_rms(&sums[i], components,
                                            gain == NULL ? 1.0 : gain[i]);
    if (n_live == 0)
        return;
    const double median = fx8_median(levels, n_live);
    for (size_t i = 0; i < n_inputs; i++) {
        if (!is_live(&sums[i]))
            continue;
        const double rms =
            recorded_rms(&sums[i], components, gain == NULL ? 1.0 : gain[i]);
        if (rms * FX8_MOST_RATIO < median)
            remarks[i] |= FX8_REMARK_WEAK;
        if (rms > median * FX8_MOST_RATIO)
            remarks[i] |= FX8_REMARK_STRONG;
    }
}

enum fx8_status fx8_sample_sums_judge(const struct fx8_sample_sums *sums,
                                      const double *gain, size_t n_inputs,
                                      size_t n_bands, size_t components,
                                      unsigned *remarks,
                                      struct fx8_error *error)
{
    const size_t n = n_inputs / n_bands;
    FX8_AUTO_FREE double *levels = NULL;
    FX8_TRY(fx8_allocate(n, sizeof(double), "levels", &levels, error));
    for (size_t i = 0; i < n_inputs; i++)
        remarks[i] = judge_alone(&sums[i], components);
    for (size_t first = 0; first < n_inputs; first += n)
        compare_levels(sums + first, gain == NULL ? NULL : gain + first, n,
                       components, levels, remarks + first);
    return FX8_OK;
}
