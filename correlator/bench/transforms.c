/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transforms.c -- FFTW, as the engine takes it for the lengths that its own
 * transform lacks.  The ruler is FFTW itself: the better of the engine's plan,
 * which is estimated so that results never depend on timing, and of the plan
 * that FFTW finds by measuring.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "kernels/fft.h"

/* Lengths of the arrays' filter banks, and a longer one. */
static const size_t lengths[] = {32, 64, 512, 1024, 4096};

#define N_LENGTHS (sizeof lengths / sizeof lengths[0])

/* Parts of a measurement, of both plans by turns, and the least time of each.
 */
#define N_PARTS 10
#define PART_S  1e-3

enum plan { USED, TRIED, N_PLANS };

struct fx8_bench_fft {
    size_t length, batch;
    struct fx8_fft *plans[N_PLANS];
    float *data;
};

enum fx8_status fx8_bench_fft_open(size_t length, struct fx8_bench_fft **fft,
                                   struct fx8_error *error)
{
    FX8_AUTO(fx8_bench_fft_close) struct fx8_bench_fft *f = NULL;
    FX8_TRY(fx8_allocate(1, sizeof *f, "FFT", &f, error));
    f->length = length;
    f->batch = fx8_fft_batch(length);
    for (int plan = 0; plan < N_PLANS; plan++)
        FX8_TRY(fx8_fft_open(FX8_FFT_COMPLEX, length, f->batch, plan == TRIED,
                             &f->plans[plan], error));
    /* zeros stay zeros in every transform */
    FX8_TRY(fx8_allocate(fx8_fft_size(f->plans[0]), sizeof(float), "FFT",
                         &f->data, error));
    *fft = f;
    f = NULL;
    return FX8_OK;
}

void fx8_bench_fft_close(struct fx8_bench_fft **fft)
{
    if (*fft == NULL)
        return;
    for (int plan = 0; plan < N_PLANS; plan++)
        fx8_fft_close(&(*fft)->plans[plan]);
    free((*fft)->data);
    free(*fft);
    *fft = NULL;
}

/* A plan of a transform. */
struct used {
    const struct fx8_bench_fft *fft;
    enum plan plan;
};

static void execute(void *context, size_t n)
{
    const struct used *used = context;
    for (size_t k = 0; k < n; k++)
        fx8_fft_execute(used->fft->plans[used->plan], used->fft->data);
}

void fx8_bench_fft_measure(const struct fx8_bench_fft *fft, double *as_used,
                           double *best)
{
    double rates[N_PLANS] = {0};
    for (size_t part = 0; part < N_PARTS; part++)
        for (enum plan plan = 0; plan < N_PLANS; plan++)
            rates[plan] =
                fmax(rates[plan],
                     (double)(fft->batch * fft->length) /
                         fx8_bench_time(execute, &(struct used){fft, plan},
                                        PART_S, 1));
    *as_used = rates[USED];
    *best = fmax(rates[TRIED], rates[USED]);
}

/* --- the section ------------------------------------------------- */

static void name_case(size_t index, char name[FX8_BENCH_NAME_SIZE])
{
    snprintf(name, FX8_BENCH_NAME_SIZE, "FFT %zu", lengths[index]);
}

static enum fx8_status measure_case(const struct fx8_bench_run *run,
                                    struct fx8_error *error)
{
    static const struct fx8_bench_figure figure = {
        .quantity = "rate",
        .unit = "sample/s",
        .ruler = "best plan of FFTW",
    };
    FX8_AUTO(fx8_bench_fft_close) struct fx8_bench_fft *fft = NULL;
    double values[FX8_BENCH_ROUNDS], ceilings[FX8_BENCH_ROUNDS];
    FX8_TRY(fx8_bench_fft_open(lengths[run->which->index], &fft, error));
    for (size_t r = 0; r < run->n_rounds; r++)
        fx8_bench_fft_measure(fft, &values[r], &ceilings[r]);
    return fx8_bench_put(run, figure, values, ceilings, error);
}

const struct fx8_bench_section fx8_bench_transforms = {
    .name = "transforms",
    .about = "FFTs of complex samples as the engine plans them; one thread",
    .n_cases = N_LENGTHS,
    .n_rounds = 5,
    .quantities = {"rate"},
    .name_case = name_case,
    .measure = measure_case,
};
