/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arrays.c -- the stages of a correlation on one thread, from samples in memory
 * to averaged visibilities, for four arrays.
 *
 * Each stage has a rate, and a ceiling that no stage of its kind can exceed on
 * this machine.  Every sample is aligned, channelised and correlated, one after
 * the other on one core, so the whole takes at least the sum of these times:
 * the harmonic limit, 1 / sum(1 / rate), given once for the measured stages and
 * once for their ceilings.  The whole falls short of it by post-processing,
 * once per dump, and by all work between the stages.
 *
 * Tracking a source is measured by a second correlation of the same samples,
 * round by round: the whole with delays against the whole without.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "correlator/bench/ceilings.h"
#include "correlator/bench/memory.h"
#include "correlator/fx8.h"
#include "kernels/baseline.h"

/* Spectra per round: two dumps, so that folding and averaging are included. */
#define SPECTRA_PER_DUMP 4096
#define DUMPS_PER_ROUND  2

const struct fx8_bench_array fx8_bench_array_shapes[FX8_N_BENCH_ARRAYS] = {
    {16, 1024, false},
    {64, 512, false},
    {256, 64, true},
    {512, 32, true},
};

/* What is made of an array.  With real samples only tracking is measured. */
struct kind {
    const char *name;
    enum fx8_precision precision;
    enum fx8_ceiling_work work; /* of the correlator */
    bool is_complex;
};

static const struct kind kinds[] = {
    {"int8", FX8_PRECISION_INT8, FX8_CEILING_INT8, true},
    {"fp32", FX8_PRECISION_FP32, FX8_CEILING_FLOAT, true},
    {"real int8", FX8_PRECISION_INT8, FX8_CEILING_INT8, false},
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

/* Short names. */
enum {
    ALIGN = FX8_BENCH_ALIGN,
    CHANNELIZE = FX8_BENCH_CHANNELIZE,
    CORRELATE = FX8_BENCH_CORRELATE,
    POSTPROCESS = FX8_BENCH_POSTPROCESS,
    N_STAGES = FX8_N_BENCH_STAGES
};

/* The first of them, which set the harmonic limit. */
#define N_LIMITING 3

/* Results of the rounds; samples per second over all inputs. */
struct rounds {
    double rate[N_STAGES][FX8_BENCH_ROUNDS];
    double ceiling[N_STAGES][FX8_BENCH_ROUNDS];
    double whole[FX8_BENCH_ROUNDS];
};

/* --- delays ------------------------------------------------------ */

/* Length of the longest baseline in light seconds, 100 km; rotation of the
 * Earth in radians per second. */
#define LONGEST_S 3.34e-4
#define EARTH     7.292e-5

/* Delays of a source that moves, for antennas up to the longest baseline away
 * from the first, all in different directions.  The context is the plan. */
static enum fx8_status move_source(void *context, int64_t sample,
                                   double *delay_s, struct fx8_error *error)
{
    (void)error;
    const struct fx8_plan *plan = context;
    const double angle =
        EARTH * (double)sample / fx8_rate_hz(plan->sample_rate);
    for (size_t antenna = 0; antenna < plan->n_antennas; antenna++) {
        const double length_s =
            LONGEST_S * (double)antenna / (double)plan->n_antennas;
        for (size_t p = 0; p < plan->n_polarizations; p++)
            *delay_s++ = length_s * sin(angle + (double)antenna);
    }
    return FX8_OK;
}

/* --- rounds ------------------------------------------------------ */

/* A correlation, and what its rounds gave. */
struct correlation {
    struct fx8_bench_correlation one;
    struct rounds rounds;
};

static void close_correlation(struct correlation *correlation)
{
    fx8_bench_correlation_close(&correlation->one);
}

static enum fx8_status measure_round(struct correlation *correlation,
                                     size_t round, struct fx8_error *error)
{
    struct fx8_bench_rates rates;
    struct rounds *rounds = &correlation->rounds;
    FX8_TRY(fx8_bench_correlation_pass(&correlation->one, DUMPS_PER_ROUND,
                                       &rates, error));
    for (size_t s = 0; s < N_STAGES; s++)
        rounds->rate[s][round] = rates.stage[s];
    rounds->whole[round] = rates.whole;
    return FX8_OK;
}

/* --- ceilings ---------------------------------------------------- */

/* Rulers of a case. */
struct rulers {
    const struct fx8_bench_array *array;
    enum fx8_ceiling products; /* of the correlator */
    enum fx8_ceiling floats;   /* of the filter */
    struct fx8_bench_fft *fft;
    size_t n_taps;
};

/* Complex samples per visibility. */
static double samples_per_product(const struct fx8_bench_array *array)
{
    const double inputs = (double)array->n_inputs;
    const double baselines = (double)fx8_baseline_count(array->n_inputs / 2);
    return SPECTRA_PER_DUMP * inputs /
           (baselines * (double)fx8_baseline_products(2));
}

/* CMAC of the correlator per sample. */
static double products_per_sample(const struct fx8_bench_array *array)
{
    return ((double)array->n_inputs + 1.0) / 2.0;
}

static void measure_ceilings(const struct rulers *rulers, struct rounds *rounds,
                             size_t round)
{
    const double copy = fx8_ceiling_measure(FX8_CEILING_MEMCPY);
    double as_used, transform;
    fx8_bench_fft_measure(rulers->fft, &as_used, &transform);
    /* a tap of a complex sample is half a CMAC; the quantiser counts as free */
    const double channelize[] = {fx8_ceiling_measure(rulers->floats) /
                                     ((double)rulers->n_taps / 2.0),
                                 transform};
    /* two bytes read and written */
    rounds->ceiling[ALIGN][round] = copy / 4.0;
    rounds->ceiling[CHANNELIZE][round] = fx8_bench_harmonic(channelize, 2);
    rounds->ceiling[CORRELATE][round] = fx8_ceiling_measure(rulers->products) /
                                        products_per_sample(rulers->array);
    /* 16 bytes of sums read; value, flag and weight written */
    rounds->ceiling[POSTPROCESS][round] =
        copy / (16.0 + 13.0) * samples_per_product(rulers->array);
}

/* --- figures ----------------------------------------------------- */

/* The whole against the limit of its stages, and against that of their
 * ceilings. */
static enum fx8_status put_wholes(const struct fx8_bench_run *run,
                                  const struct rounds *rounds,
                                  struct fx8_error *error)
{
    struct fx8_bench_figure figure = {
        .quantity = "whole",
        .variant = run->operations->name,
        .unit = "sample/s",
        .ruler = "harmonic limit of the stages",
    };
    FX8_TRY(fx8_bench_put_whole(run, figure, rounds->whole, rounds->rate,
                                N_LIMITING, error));
    figure.quantity = "whole of machine";
    figure.ruler = "harmonic limit of the ceilings";
    return fx8_bench_put_whole(run, figure, rounds->whole, rounds->ceiling,
                               N_LIMITING, error);
}

static enum fx8_status put_stages(const struct fx8_bench_run *run,
                                  const struct rulers *rulers,
                                  const struct rounds *rounds,
                                  struct fx8_error *error)
{
    const char *const names[N_STAGES] = {
        [ALIGN] = "memcpy",
        [CHANNELIZE] = "FMA, then FFTW",
        [CORRELATE] = fx8_ceiling_describe(rulers->products)->name,
        [POSTPROCESS] = "memcpy",
    };
    for (size_t s = 0; s < N_STAGES; s++) {
        /* the correlator in its own unit */
        const double factor =
            s == CORRELATE ? products_per_sample(rulers->array) : 1.0;
        double values[FX8_BENCH_ROUNDS], ceilings[FX8_BENCH_ROUNDS];
        for (size_t r = 0; r < run->n_rounds; r++) {
            values[r] = factor * rounds->rate[s][r];
            ceilings[r] = factor * rounds->ceiling[s][r];
        }
        const struct fx8_bench_figure figure = {
            .quantity = fx8_bench_arrays.quantities[s],
            .variant = run->operations->name,
            .unit = s == CORRELATE ? "CMAC/s" : "sample/s",
            .ruler = names[s],
        };
        FX8_TRY(fx8_bench_put(run, figure, values, ceilings, error));
    }
    return FX8_OK;
}

/* The whole with delays against the whole without. */
static enum fx8_status put_tracked(const struct fx8_bench_run *run,
                                   const struct rounds *untracked,
                                   const struct rounds *tracked,
                                   struct fx8_error *error)
{
    const struct fx8_bench_figure figure = {
        .quantity = fx8_bench_arrays.quantities[N_STAGES + 2],
        .variant = run->operations->name,
        .unit = "sample/s",
        .ruler = "whole without delays",
    };
    return fx8_bench_put(run, figure, tracked->whole, untracked->whole, error);
}

/* --- the section ------------------------------------------------- */

static void name_case(size_t index, char name[FX8_BENCH_NAME_SIZE])
{
    const struct fx8_bench_array *array =
        &fx8_bench_array_shapes[index / N_KINDS];
    snprintf(name, FX8_BENCH_NAME_SIZE, "%zu x %zu %s", array->n_inputs,
             array->n_channels, kinds[index % N_KINDS].name);
}

static void list_quantities(size_t index, const char *quantities[])
{
    if (kinds[index % N_KINDS].is_complex)
        return;
    quantities[0] = quantities[N_STAGES + 2];
    quantities[1] = NULL;
}

static enum fx8_status measure_case(const struct fx8_bench_run *run,
                                    struct fx8_error *error)
{
    const struct fx8_bench_array *array =
        &fx8_bench_array_shapes[run->which->index / N_KINDS];
    const struct kind *kind = &kinds[run->which->index % N_KINDS];
    const char *variant = run->operations->name;
    struct fx8_plan plan =
        fx8_bench_plan(run, array->n_inputs / 2, 2, array->n_channels);
    plan.is_complex = kind->is_complex;
    plan.precision = kind->precision;
    plan.spectra_per_dump = SPECTRA_PER_DUMP;
    struct rulers rulers = {
        .array = array,
        .products = fx8_ceiling_of(variant, kind->work),
        .floats = fx8_ceiling_of(variant, FX8_CEILING_FLOAT),
        .n_taps = plan.channelizer.n_taps,
    };
    FX8_AUTO(fx8_bench_samples_clear) struct fx8_bench_samples samples = {0};
    FX8_AUTO(fx8_bench_fft_close) struct fx8_bench_fft *fft = NULL;
    FX8_AUTO(close_correlation) struct correlation untracked = {0};
    FX8_AUTO(close_correlation) struct correlation tracked = {0};
    FX8_TRY(
        fx8_bench_samples_make(&plan, array->is_time_major, &samples, error));
    FX8_TRY(fx8_bench_fft_open(array->n_channels, &fft, error));
    FX8_TRY(fx8_bench_correlation_open(&plan, &samples, &untracked.one, error));
    plan.delays = (struct fx8_delays){
        .delay = move_source, .context = &plan, .most_s = LONGEST_S};
    FX8_TRY(fx8_bench_correlation_open(&plan, &samples, &tracked.one, error));
    rulers.fft = fft;
    for (size_t r = 0; r < run->n_rounds; r++) {
        if (kind->is_complex)
            measure_ceilings(&rulers, &untracked.rounds, r);
        FX8_TRY(measure_round(&untracked, r, error));
        FX8_TRY(measure_round(&tracked, r, error));
    }
    if (kind->is_complex) {
        FX8_TRY(put_stages(run, &rulers, &untracked.rounds, error));
        FX8_TRY(put_wholes(run, &untracked.rounds, error));
    }
    return put_tracked(run, &untracked.rounds, &tracked.rounds, error);
}

const struct fx8_bench_section fx8_bench_arrays = {
    .name = "arrays",
    .about = "inputs x channels, from samples in memory to averaged "
             "visibilities, 8 taps; one thread",
    .n_cases = FX8_N_BENCH_ARRAYS * N_KINDS,
    .n_rounds = 5,
    .has_variants = true,
    .quantities =
        {
            [ALIGN] = "align",
            [CHANNELIZE] = "channelize",
            [CORRELATE] = "correlate",
            [POSTPROCESS] = "postprocess",
            [N_STAGES] = "whole",
            [N_STAGES + 1] = "whole of machine",
            [N_STAGES + 2] = "tracked",
        },
    .list = list_quantities,
    .name_case = name_case,
    .measure = measure_case,
};
