/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
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

/* The beginning or end of a gap. */
struct event {
    int64_t sample;
    int64_t step; /* 1: beginning, -1: end */
    const struct fx8_missing *gap;
};

/* A walk over all events in time order. */
struct walk {
    const struct event *at;
    int64_t *depth;              /* [n_inputs] gaps that it is in */
    int64_t n_inputs, n_lacking; /* lacking: in at least one gap */
    int64_t *missing;            /* [n_inputs] */
    struct fx8_gap_count *count, *whole, *single; /* count: the open one */
    int64_t since;                                /* when count last changed */
};

/* Ascending; beginnings first, so that no depth falls below 0. */
static int compare_events(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    return x->sample == y->sample  ? (int)(y->step - x->step)
           : x->sample < y->sample ? -1
                                   : 1;
}

/* The event of the walk is one of this input. */
static bool take_event(void *context, size_t input,
                       const struct fx8_missing *gap)
{
    struct walk *walk = context;
    const bool was_missing = walk->depth[input] > 0;
    (void)gap;
    walk->depth[input] += walk->at->step;
    if ((walk->depth[input] > 0) != was_missing) {
        walk->n_lacking += walk->at->step;
        walk->missing[input] -= walk->at->step * walk->at->sample;
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
        if (n > walk->count->longest_samples) {
            walk->count->longest_samples = n;
            walk->count->longest_first = walk->since;
        }
    }
    walk->count = count;
    walk->since = at;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

enum fx8_status fx8_gaps_count(const struct fx8_reader *reader,
                               int64_t first_sample, int64_t n_samples,
                               struct fx8_gap_count *whole,
                               struct fx8_gap_count *single, int64_t *missing,
                               struct fx8_error *error)
{
    const size_t n_inputs = fx8_observation_inputs(&reader->observation);
    const size_t most = fx8_product(reader->n_missing, 2, 1, 1);
    const int64_t end_sample = first_sample + n_samples;
    size_t n = 0;
    FX8_AUTO_FREE struct event *events = NULL;
    FX8_AUTO_FREE int64_t *depth = NULL;
    const struct fx8_array arrays[] = {FX8_ITEMS(events, most),
                                       FX8_ITEMS(depth, n_inputs)};
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "missing stretches", error));
    for (size_t i = 0; i < reader->n_missing; i++) {
        const struct fx8_missing *gap = &reader->missing[i];
        const int64_t first = greater(gap->first_sample, first_sample);
        const int64_t end = -greater(-end_of(gap), -end_sample);
        if (first >= end)
            continue;
        events[n++] = (struct event){first, 1, gap};
        events[n++] = (struct event){end, -1, gap};
    }
    qsort(events, n, sizeof *events, compare_events);
    memset(missing, 0, n_inputs * sizeof *missing);
    *whole = *single = (struct fx8_gap_count){0};
    struct walk walk = {.at = events,
                        .depth = depth,
                        .n_inputs = (int64_t)n_inputs,
                        .missing = missing,
                        .whole = whole,
                        .single = single};
    for (size_t i = 0; i < n; i++, walk.at++) {
        for_inputs(reader, walk.at->gap, take_event, &walk);
        if (i + 1 == n || walk.at[1].sample != walk.at->sample)
            step(&walk, walk.at->sample);
    }
    return FX8_OK;
}
