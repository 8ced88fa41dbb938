/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * banks.c -- the filter bank of the engine alone, 8 taps, to INT8: against the
 * same steps on the best plan of FFTW, and in nominal float operations against
 * the multiply-add.
 *
 * Four correlations of 16 inputs take turns, of complex and of real samples,
 * each as a user gets it and with a plan that FFTW has found by measuring;
 * their time in the filter bank counts.
 */
#include <math.h>
#include <stdio.h>

#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "correlator/bench/ceilings.h"
#include "correlator/bench/memory.h"

/* Powers of two, multiples of 3 and 5, odd ones. */
static const size_t channels[] = {64,  256, 1024, 4096, 60,  96,
                                  100, 243, 1000, 1536, 5120};

#define N_ANTENNAS 8

/* Samples and least spectra of a pass. */
#define PASS_SAMPLES  ((size_t)1 << 24)
#define LEAST_SPECTRA ((size_t)512)

enum engine { OURS, FFTW, N_ENGINES };

/* What is measured of complex or of real samples. */
struct side {
    const char *rate, *flops; /* quantities */
    bool is_complex;
    struct fx8_bench_samples samples;
    struct fx8_bench_correlation correlations[N_ENGINES];
    double rates[N_ENGINES][FX8_BENCH_ROUNDS];
    double flops_per_sample;
};

enum { COMPLEX, REAL, N_SIDES };

struct bank {
    struct side sides[N_SIDES];
    double fma[FX8_BENCH_ROUNDS]; /* flop/s */
};

static void close_bank(struct bank *bank)
{
    for (size_t s = 0; s < N_SIDES; s++) {
        for (size_t e = 0; e < N_ENGINES; e++)
            fx8_bench_correlation_close(&bank->sides[s].correlations[e]);
        fx8_bench_samples_clear(&bank->sides[s].samples);
    }
}

/* Nominal float operations per real number: multiply and add for each tap, and
 * its share of the 5 N log2(N) of an FFT. */
static double flops_per_number(const struct fx8_plan *plan)
{
    const double length =
        (double)plan->channelizer.n_channels * (plan->is_complex ? 1.0 : 2.0);
    return 2.0 * (double)plan->channelizer.n_taps + 2.5 * log2(length);
}

static enum fx8_status open_side(const struct fx8_bench_run *run,
                                 struct side *side, struct fx8_error *error)
{
    const size_t n_channels = channels[run->which->index];
    const size_t spectra = PASS_SAMPLES / (2 * N_ANTENNAS * n_channels);
    struct fx8_plan plan = fx8_bench_plan(run, N_ANTENNAS, 2, n_channels);
    plan.is_complex = side->is_complex;
    plan.spectra_per_dump =
        (int64_t)(spectra > LEAST_SPECTRA ? spectra : LEAST_SPECTRA);
    side->flops_per_sample =
        flops_per_number(&plan) * (side->is_complex ? 2.0 : 1.0);
    FX8_TRY(fx8_bench_samples_make(&plan, false, &side->samples, error));
    for (size_t e = 0; e < N_ENGINES; e++) {
        plan.machine.transform =
            e == FFTW ? FX8_TRANSFORM_MEASURE : FX8_TRANSFORM_AUTO;
        FX8_TRY(fx8_bench_correlation_open(&plan, &side->samples,
                                           &side->correlations[e], error));
    }
    return FX8_OK;
}

static enum fx8_status measure_round(struct bank *bank, size_t round,
                                     struct fx8_error *error)
{
    for (size_t k = 0; k < N_SIDES * N_ENGINES; k++) {
        struct side *side = &bank->sides[k / N_ENGINES];
        const size_t e = k % N_ENGINES;
        struct fx8_bench_rates rates;
        FX8_TRY(fx8_bench_correlation_pass(&side->correlations[e], 1, &rates,
                                           error));
        side->rates[e][round] = rates.stage[FX8_BENCH_CHANNELIZE];
    }
    return FX8_OK;
}

static enum fx8_status put_side(const struct fx8_bench_run *run,
                                const struct side *side, const double *fma,
                                const char *fma_name, struct fx8_error *error)
{
    struct fx8_bench_figure figure = {
        .quantity = side->rate,
        .variant = run->operations->name,
        .unit = "sample/s",
        .ruler = "the same on FFTW's best plan",
    };
    double flops[FX8_BENCH_ROUNDS];
    FX8_TRY(fx8_bench_put(run, figure, side->rates[OURS], side->rates[FFTW],
                          error));
    for (size_t r = 0; r < run->n_rounds; r++)
        flops[r] = side->rates[OURS][r] * side->flops_per_sample;
    figure.quantity = side->flops;
    figure.unit = "flop/s";
    figure.ruler = fma_name;
    return fx8_bench_put(run, figure, flops, fma, error);
}

/* --- the section ------------------------------------------------- */

static void name_case(size_t index, char name[FX8_BENCH_NAME_SIZE])
{
    snprintf(name, FX8_BENCH_NAME_SIZE, "bank %zu", channels[index]);
}

static enum fx8_status measure_case(const struct fx8_bench_run *run,
                                    struct fx8_error *error)
{
    FX8_AUTO(close_bank)
    struct bank bank = {
        .sides = {[COMPLEX] = {.rate = "complex",
                               .flops = "complex flops",
                               .is_complex = true},
                  [REAL] = {.rate = "real", .flops = "real flops"}},
    };
    const enum fx8_ceiling fma =
        fx8_ceiling_of(run->operations->name, FX8_CEILING_FLOAT);
    for (size_t s = 0; s < N_SIDES; s++)
        FX8_TRY(open_side(run, &bank.sides[s], error));
    for (size_t r = 0; r < run->n_rounds; r++) {
        /* a complex product is four real ones, of two operations each */
        bank.fma[r] = 8.0 * fx8_ceiling_measure(fma);
        FX8_TRY(measure_round(&bank, r, error));
    }
    for (size_t s = 0; s < N_SIDES; s++)
        FX8_TRY(put_side(run, &bank.sides[s], bank.fma,
                         fx8_ceiling_describe(fma)->name, error));
    const struct fx8_bench_figure figure = {
        .quantity = "real of complex",
        .variant = run->operations->name,
        .unit = "sample/s",
        .ruler = "complex samples",
    };
    return fx8_bench_put(run, figure, bank.sides[REAL].rates[OURS],
                         bank.sides[COMPLEX].rates[OURS], error);
}

const struct fx8_bench_section fx8_bench_banks = {
    .name = "banks",
    .about = "the engine's filter bank alone, channels, 16 inputs, 8 taps, to "
             "INT8; one thread",
    .n_cases = sizeof channels / sizeof channels[0],
    .n_rounds = 5,
    .has_variants = true,
    .quantities = {"complex", "complex flops", "real", "real flops",
                   "real of complex"},
    .name_case = name_case,
    .measure = measure_case,
};
