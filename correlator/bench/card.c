/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * card.c -- what a card takes for an array, in whole runs of one dump, by the
 * events of the engine: each stage has the card, or its bus, to itself while it
 * is timed, so that reading does not matter.
 */
#include <stdio.h>
#include <string.h>

#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "kernels/baseline.h"

/* Samples of a run over all inputs: a dump of 1 ms or more, up to 8192 spectra
 * of the arrays that have a filter bank. */
#define LEAST_SAMPLES ((int64_t)1 << 20)
#define MOST_SAMPLES  ((int64_t)1 << 27)

/* A card that takes this long is given no more samples. */
#define ENOUGH_S 0.1

enum { CHANNELIZE, CORRELATE, DUMP, COPY, START, N_QUANTITIES };

static const struct {
    const char *name, *unit;
} quantities[N_QUANTITIES] = {
    [CHANNELIZE] = {"channelize", "sample/s"},
    [CORRELATE] = {"correlate", "sample/s"},
    [DUMP] = {"dump", "cell/s"},
    [COPY] = {"PCIe", "byte/s"},
    [START] = {"start", "s"},
};

struct card {
    const struct fx8_bench_array *array;
    double values[N_QUANTITIES][FX8_BENCH_ROUNDS];
    double busy_s; /* of a round */
    char name[140];
};

/* fx8_bench_runs.keep */
static void keep_run(void *context, size_t job, size_t round,
                     const struct fx8_bench_outcome *outcome)
{
    struct card *card = context;
    const struct fx8_bench_array *array = card->array;
    const struct fx8_run_report *report = &outcome->report;
    const struct fx8_statistics *of = &report->statistics;
    const double n_channels = (double)array->n_channels;
    const double samples =
        (double)of->n_spectra * (double)array->n_inputs * n_channels;
    const double cells = (double)fx8_baseline_count(array->n_inputs / 2) *
                         (double)fx8_baseline_products(2) * n_channels;
    const double values[N_QUANTITIES] = {
        [CHANNELIZE] = samples / of->channelize_s,
        [CORRELATE] = samples / of->correlate_s,
        [DUMP] = cells / of->results_s,
        [COPY] = 2.0 * samples / of->copy_s,
        [START] =
            report->total_s - report->push_s - report->write_s - report->sync_s,
    };
    (void)job;
    for (size_t q = 0; q < N_QUANTITIES; q++)
        card->values[q][round] = values[q];
    card->busy_s = of->channelize_s + of->correlate_s;
    snprintf(card->name, sizeof card->name, "on %s", report->backend);
}

static enum fx8_status measure(struct fx8_bench_run run, struct card *card,
                               const char *precision, int64_t n_samples,
                               size_t n_rounds, struct fx8_error *error)
{
    const struct fx8_bench_job job = {
        .precision = precision, .n_threads = run.n_threads, .is_on_card = true};
    struct fx8_bench_runs runs = {.run = &run,
                                  .array = card->array,
                                  .n_samples = n_samples,
                                  .jobs = &job,
                                  .n_jobs = 1,
                                  .keep = keep_run,
                                  .context = card};
    run.n_rounds = n_rounds;
    return fx8_bench_measure_runs(&runs, error);
}

/* A remark, unless the one before says the same. */
static enum fx8_status remark(const struct fx8_bench_run *run, const char *text,
                              struct fx8_error *error)
{
    const struct fx8_bench_report *report = run->report;
    const size_t n = report->n_texts;
    return n > 0 && strcmp(report->texts[n - 1].text, text) == 0
               ? FX8_OK
               : fx8_bench_remark(run, text, error);
}

/* Whether a run failed for want of a card, or of memory there. */
static bool is_of_card(enum fx8_status status)
{
    return status == FX8_ERR_UNSUPPORTED || status == FX8_ERR_DEVICE ||
           status == FX8_ERR_SYSTEM;
}

enum fx8_status fx8_bench_measure_card(const struct fx8_bench_run *run,
                                       const struct fx8_bench_array *array,
                                       const char *precision,
                                       struct fx8_error *error)
{
    struct card card = {.array = array};
    struct fx8_error why;
    int64_t n_samples = LEAST_SAMPLES;
    enum fx8_status status =
        measure(*run, &card, precision, n_samples, 1, &why);
    for (; n_samples < MOST_SAMPLES && 2.0 * card.busy_s <= ENOUGH_S;
         card.busy_s *= 2.0)
        n_samples *= 2;
    if (status == FX8_OK)
        status =
            measure(*run, &card, precision, n_samples, run->n_rounds, &why);
    if (is_of_card(status)) {
        char text[160];
        snprintf(text, sizeof text, "left out: %.140s", why.message);
        return remark(run, text, error);
    }
    if (status != FX8_OK)
        return fx8_fail(error, status, "%s", why.message);
    for (size_t q = 0; q < N_QUANTITIES; q++) {
        const struct fx8_bench_figure figure = {.quantity = quantities[q].name,
                                                .unit = quantities[q].unit};
        FX8_TRY(fx8_bench_put(run, figure, card.values[q], NULL, error));
    }
    return remark(run, card.name, error);
}
