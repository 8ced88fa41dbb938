/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "config/base/shape.h"
#include "correlator/run/gaps.h"

/* First index after a gap. */
static int64_t end_of(const struct fx8_missing *gap)
{
    return gap->first_sample + gap->n_samples;
}

static bool is_of_all(const struct fx8_missing *gap)
{
    return gap->antenna < 0 && gap->polarization < 0 && gap->band < 0;
}

/* Positions [first, end) that `at` selects on an axis of n. */
struct extent {
    size_t first, end;
};

static struct extent positions(int32_t at, size_t n)
{
    return at < 0 ? (struct extent){0, n}
                  : (struct extent){(size_t)at, (size_t)at + 1};
}

/* Call `take` for every input of a gap; it returns false to stop. */
static bool for_inputs(const struct fx8_reader *reader,
                       const struct fx8_missing *gap,
                       bool (*take)(void *context, size_t input,
                                    const struct fx8_missing *gap),
                       void *context)
{
    const struct fx8_observation *o = &reader->observation;
    const struct extent bands = positions(gap->band, o->n_bands);
    const struct extent antennas = positions(gap->antenna, o->n_antennas);
    const struct extent slots =
        positions(gap->polarization, o->n_polarizations);
    for (size_t b = bands.first; b < bands.end; b++)
        for (size_t a = antennas.first; a < antennas.end; a++)
            for (size_t p = slots.first; p < slots.end; p++)
                if (!take(context,
                          (b * o->n_antennas + a) * o->n_polarizations + p,
                          gap))
                    return false;
    return true;
}

/* --- blocks ------------------------------------------------------ */

static bool add_gap(struct fx8_gaps *gaps, const struct fx8_missing *gap,
                    int64_t input)
{
    if (fx8_grow(&gaps->items, gaps->n, sizeof *gaps->items, "", NULL) !=
        FX8_OK)
        return false;
    gaps->items[gaps->n++] =
        (struct fx8_gap){gap->first_sample, gap->n_samples, input};
    return true;
}

static bool add_input_run(void *context, size_t input,
                          const struct fx8_missing *gap)
{
    return add_gap(context, gap, (int64_t)input);
}

static bool open_gap(struct fx8_gaps *gaps, size_t gap)
{
    if (fx8_grow(&gaps->open, gaps->n_open, sizeof *gaps->open, "", NULL) !=
        FX8_OK)
        return false;
    gaps->open[gaps->n_open++] = gap;
    return true;
}

/* Drop the gaps that end before the block; open those that begin before its
 * end. */
static bool move_to(struct fx8_gaps *gaps, const struct fx8_reader *reader,
                    int64_t first, int64_t end)
{
    if (first < gaps->first_sample)
        gaps->next = gaps->n_open = 0;
    gaps->first_sample = first;
    size_t kept = 0;
    for (size_t i = 0; i < gaps->n_open; i++)
        if (end_of(&reader->missing[gaps->open[i]]) > first)
            gaps->open[kept++] = gaps->open[i];
    gaps->n_open = kept;
    for (; gaps->next < reader->n_missing; gaps->next++) {
        const struct fx8_missing *gap = &reader->missing[gaps->next];
        if (gap->first_sample >= end)
            break; /* ascending */
        if (end_of(gap) > first && !open_gap(gaps, gaps->next))
            return false;
    }
    return true;
}

static bool add_runs(struct fx8_gaps *gaps, const struct fx8_reader *reader,
                     const struct fx8_missing *gap)
{
    return is_of_all(gap) ? add_gap(gaps, gap, -1)
                          : for_inputs(reader, gap, add_input_run, gaps);
}

enum fx8_status fx8_gaps_list(struct fx8_gaps *gaps,
                              const struct fx8_reader *reader,
                              int64_t first_sample, int64_t n_samples,
                              struct fx8_error *error)
{
    gaps->n = 0;
    bool good = move_to(gaps, reader, first_sample, first_sample + n_samples);
    for (size_t i = 0; i < gaps->n_open && good; i++)
        good = add_runs(gaps, reader, &reader->missing[gaps->open[i]]);
    for (size_t i = 0; i < reader->n_found && good; i++)
        good = add_runs(gaps, reader, &reader->found[i]);
    return good ? FX8_OK : fx8_no_memory("missing stretches", error);
}

void fx8_gaps_clear(struct fx8_gaps *gaps)
{
    free(gaps->open);
    free(gaps->items);
    *gaps = (struct fx8_gaps){0};
}

/* --- sums -------------------------------------------------------- */

/* A walk over all gaps in time order. */
struct walk {
    size_t n_inputs;
    const struct fx8_missing **ends; /* [n_missing] ascending ends */
    size_t *depth;                   /* [n_inputs] gaps that it is in */
    size_t n_lacking;                /* inputs in at least one gap */
    int64_t *missing;                /* [n_inputs] */
    struct fx8_gap_count *count, *whole, *single; /* count: the open one */
    int64_t since;                                /* when count last changed */
};

static int ascending_ends(const void *a, const void *b)
{
    const int64_t x = end_of(*(const struct fx8_missing *const *)a);
    const int64_t y = end_of(*(const struct fx8_missing *const *)b);
    return (x > y) - (x < y);
}

static bool begin_input(void *context, size_t input,
                        const struct fx8_missing *gap)
{
    struct walk *walk = context;
    if (walk->depth[input]++ == 0) {
        walk->n_lacking++;
        walk->missing[input] -= gap->first_sample;
    }
    return true;
}

static bool end_input(void *context, size_t input,
                      const struct fx8_missing *gap)
{
    struct walk *walk = context;
    if (--walk->depth[input] == 0) {
        walk->n_lacking--;
        walk->missing[input] += end_of(gap);
    }
    return true;
}

/* All gaps that begin or end at sample `at` have been applied: close the
 * stretch counted so far, and open one of the kind that now holds. */
static void step(struct walk *walk, int64_t at)
{
    struct fx8_gap_count *count = walk->single;
    if (walk->n_lacking == 0)
        count = NULL;
    else if (walk->n_lacking == walk->n_inputs)
        count = walk->whole;
    if (count == walk->count)
        return;
    if (walk->count != NULL) {
        const int64_t n = at - walk->since;
        walk->count->n_stretches++;
        walk->count->n_samples += n;
        if (n > walk->count->longest_samples)
            walk->count->longest_samples = n;
    }
    walk->count = count;
    walk->since = at;
}

static void go_along(struct walk *walk, const struct fx8_reader *reader)
{
    const size_t n = reader->n_missing;
    size_t begun = 0, ended = 0;
    while (ended < n) {
        int64_t at = end_of(walk->ends[ended]);
        if (begun < n && reader->missing[begun].first_sample < at)
            at = reader->missing[begun].first_sample;
        for (; begun < n && reader->missing[begun].first_sample == at; begun++)
            for_inputs(reader, &reader->missing[begun], begin_input, walk);
        for (; ended < n && end_of(walk->ends[ended]) == at; ended++)
            for_inputs(reader, walk->ends[ended], end_input, walk);
        step(walk, at);
    }
}

enum fx8_status fx8_gaps_count(const struct fx8_reader *reader,
                               struct fx8_gap_count *whole,
                               struct fx8_gap_count *single, int64_t *missing,
                               struct fx8_error *error)
{
    const size_t n_inputs = fx8_observation_inputs(&reader->observation);
    struct walk walk = {.n_inputs = n_inputs,
                        .missing = missing,
                        .whole = whole,
                        .single = single};
    const struct fx8_array arrays[] = {
        {&walk.ends, reader->n_missing, sizeof *walk.ends},
        {&walk.depth, n_inputs, sizeof *walk.depth},
    };
    const enum fx8_status status = fx8_allocate_arrays(
        arrays, sizeof arrays / sizeof *arrays, "missing stretches", error);
    if (status == FX8_OK) {
        for (size_t i = 0; i < reader->n_missing; i++)
            walk.ends[i] = &reader->missing[i];
        qsort(walk.ends, reader->n_missing, sizeof *walk.ends, ascending_ends);
        for (size_t i = 0; i < n_inputs; i++)
            missing[i] = 0;
        *whole = *single = (struct fx8_gap_count){0};
        go_along(&walk, reader);
    }
    free(walk.ends);
    free(walk.depth);
    return status;
}
