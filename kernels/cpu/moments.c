/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * moments.c -- sums of |X|^2 and |X|^4 of the spectra before rotation, gain and
 * quantiser, for the spectral kurtosis.
 *
 * An item of F work adds the groups of its time segment in their order; the
 * number of segments follows from the plan alone (engine_cpu.c), so the sums
 * depend neither on threads nor on the blocks pushed.
 */
#include <string.h>

#include "config/base/shape.h"
#include "kernels/cpu/engine_cpu.h"

/* Sums of an input: S1, then S2. */
static size_t count_sums(const struct fx8_engine *engine)
{
    return 2 * engine->n_channels;
}

double *fx8_cpu_moments(const struct fx8_engine *engine, size_t segment,
                        size_t input)
{
    if (engine->moments == NULL)
        return NULL;
    return engine->moments +
           (segment * engine->plan.n_inputs + input) * count_sums(engine);
}

void fx8_cpu_add_moments(const struct fx8_engine *engine,
                         const struct fx8_spectra_group *group, size_t first,
                         double *moments)
{
    double *power = moments + first;
    double *square = power + engine->n_channels;
    for (size_t t = 0; t < group->n_spectra; t++) {
        const struct fx8_cf32 *x = group->spectra + t * group->stride;
        if ((group->valid >> t & 1) == 0)
            continue;
        for (size_t c = 0; c < group->n_channels; c++) {
            const double p = (double)(x[c].re * x[c].re + x[c].im * x[c].im);
            power[c] += p;
            square[c] += p * p;
        }
    }
}

/* Spectra side by side, in registers of any machine. */
#define FOUR 4
typedef float four
    __attribute__((vector_size(FOUR * sizeof(float)), may_alias));

static float sum_lanes(four x)
{
    return (x[0] + x[2]) + (x[1] + x[3]);
}

void fx8_cpu_add_lane_moments(const struct fx8_engine *engine,
                              const struct fx8_lanes_group *group,
                              double *moments)
{
    for (size_t k = 0; k < group->n_channels; k++) {
        const struct fx8_lanes_channel *of = &group->channels[k];
        four power = {0.0f}, square = {0.0f};
        /* the transform of an invalid spectrum is zero */
        for (size_t h = 0; h < 2; h++) {
            if (group->halves[h] == NULL)
                continue;
            const four *re = (const void *)(group->halves[h] +
                                            (size_t)of->column * FX8_COLUMN);
            const four *im = re + FX8_LANES / FOUR;
            for (size_t l = 0; l < FX8_LANES / FOUR; l++) {
                const four p = re[l] * re[l] + im[l] * im[l];
                power += p;
                square += p * p;
            }
        }
        moments[of->channel] += (double)sum_lanes(power);
        moments[engine->n_channels + of->channel] += (double)sum_lanes(square);
    }
}

void fx8_cpu_add_integer_moments(size_t n, const struct fx8_ci8 *x,
                                 double *moments)
{
    int64_t power = 0, square = 0;
    for (size_t t = 0; t < n; t++) {
        const int64_t p = x[t].re * x[t].re + x[t].im * x[t].im;
        power += p;
        square += p * p;
    }
    moments[0] += (double)power;
    moments[1] += (double)square;
}

void fx8_cpu_fold_moments(struct fx8_engine *engine)
{
    const size_t n = engine->plan.n_inputs * count_sums(engine);
    double *sum = fx8_cpu_moments(engine, engine->n_segments, 0);
    for (size_t k = 0; sum != NULL && k < n; k++) {
        double more = 0.0;
        for (size_t s = 0; s < engine->n_segments; s++) {
            more += engine->moments[s * n + k];
            engine->moments[s * n + k] = 0.0;
        }
        sum[k] += more;
    }
}

void fx8_cpu_take_moments(struct fx8_engine *engine, double *moments)
{
    double *sum = fx8_cpu_moments(engine, engine->n_segments, 0);
    const size_t bytes =
        engine->plan.n_inputs * count_sums(engine) * sizeof *sum;
    if (sum == NULL)
        return;
    fx8_cpu_fold_moments(engine);
    memcpy(moments, sum, bytes);
    memset(sum, 0, bytes);
}
