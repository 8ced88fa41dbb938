/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/base/shape.h"
#include "correlator/simulate/validity.h"
#include "kernels/operations.h"

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Spectra of a segment: from ... to - 1, counted from its first. */
struct run {
    int64_t first, from, to;
};

/* Clear the spectra of a run whose window meets samples [begin, end). */
static void clear_windows(const struct fx8_validity *validity, size_t input,
                          const struct run *run, int64_t begin, int64_t end)
{
    const struct fx8_job *job = validity->removed->job;
    const int64_t step = (int64_t)job->axes.step;
    const int64_t window = (int64_t)job->axes.window;
    const int64_t start =
        job->plan.first_sample + validity->removed->shifts[input];
    int64_t from = floor_divide(begin - start - window, step) + 1 - run->first;
    int64_t to = floor_divide(end - start - 1, step) + 1 - run->first;
    from = from > run->from ? from : run->from;
    to = to < run->to ? to : run->to;
    for (int64_t t = from; t < to; t++)
        fx8_bit_clear(validity->valid + input * validity->n_words, (size_t)t);
}

/* Clear the spectra of a run without all samples: samples are missing, or
 * delays lead out of the recording. */
static void clear_missing(const struct fx8_validity *validity,
                          const struct run *run)
{
    const struct fx8_job *job = validity->removed->job;
    const int64_t far = INT64_MAX / 4,
                  end = fx8_simulator_plan(validity->simulator)->n_samples;
    const size_t n_slots =
        fx8_simulator_plan(validity->simulator)->n_polarizations;
    size_t n_missing;
    const struct fx8_missing *missing =
        fx8_simulator_missing(validity->simulator, &n_missing);
    for (size_t m = 0; m < n_missing; m++) {
        const size_t input =
            validity->input_of[(size_t)missing[m].antenna * n_slots +
                               (size_t)missing[m].polarization];
        if (input == job->n_inputs)
            continue;
        clear_windows(validity, input, run, missing[m].first_sample,
                      missing[m].first_sample + missing[m].n_samples);
    }
    for (size_t input = 0; input < job->n_inputs; input++) {
        clear_windows(validity, input, run, -far, 0);
        clear_windows(validity, input, run, end, far);
    }
}

void fx8_validity_mark(const struct fx8_validity *validity, int64_t first,
                       int64_t n)
{
    const struct fx8_job *job = validity->removed->job;
    const size_t n_words = fx8_bit_words((size_t)n);
    for (size_t i = 0; i < job->n_inputs; i++) {
        uint64_t *row = validity->valid + i * validity->n_words;
        memset(row, 0xff, n_words * sizeof *row);
        if (n % 64 != 0)
            row[n_words - 1] = ((uint64_t)1 << (n % 64)) - 1;
    }
    /* groups, in which delays are as many whole samples, begin with a dump */
    const struct fx8_plan *plan = &job->plan;
    const int64_t in_dump =
        first - fx8_dump_first(plan, fx8_dump_of(plan, first));
    struct run run = {.first = first};
    for (; run.from < n; run.from = run.to) {
        const int64_t in_group = (in_dump + run.from) % FX8_GROUP;
        run.to = validity->removed->center == NULL
                     ? n
                     : run.from + FX8_GROUP - in_group;
        run.to = run.to < n ? run.to : n;
        fx8_removed_shift(validity->removed, first + run.from - in_group);
        clear_missing(validity, &run);
    }
}
