/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * measure.c -- the table of sections, and the loop over their cases.
 */
#include "correlator/bench/measure.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "config/base/parallel.h"
#include "correlator/bench/ceilings.h"

/* --- ceilings ---------------------------------------------------- */

static void name_ceiling(size_t index, char name[FX8_BENCH_NAME_SIZE])
{
    snprintf(name, FX8_BENCH_NAME_SIZE, "%s",
             fx8_ceiling_describe((enum fx8_ceiling)index)->name);
}

static enum fx8_status measure_ceiling(const struct fx8_bench_run *run,
                                       size_t index, struct fx8_error *error)
{
    const enum fx8_ceiling ceiling = (enum fx8_ceiling)index;
    const struct fx8_ceiling_description *d = fx8_ceiling_describe(ceiling);
    double rates[FX8_BENCH_ROUNDS];
    for (size_t r = 0; r < run->n_rounds; r++)
        rates[r] = fx8_ceiling_measure(ceiling);
    if (rates[0] <= 0.0)
        return fx8_bench_remark(run, "left out: not on this machine", error);
    const struct fx8_bench_figure figure = {
        .quantity = "rate", .variant = d->level, .unit = d->unit};
    return fx8_bench_put_rounds(run, figure, rates, NULL, error);
}

static const struct fx8_bench_section ceilings = {
    .name = "ceilings",
    .about = "loops of one instruction on registers, a copy and a triad beyond "
             "the caches; one thread",
    .n_cases = FX8_N_CEILINGS,
    .n_rounds = 3,
    .name_case = name_ceiling,
    .measure = measure_ceiling,
};

const struct fx8_bench_section *const fx8_bench_sections[] = {
    &ceilings,          &fx8_bench_variants,  &fx8_bench_transforms,
    &fx8_bench_arrays,  &fx8_bench_functions, &fx8_bench_jobs,
    &fx8_bench_reading,
};
const size_t fx8_bench_sections_count =
    sizeof fx8_bench_sections / sizeof fx8_bench_sections[0];

/* --- cases ------------------------------------------------------- */

static bool is_wanted(const struct fx8_bench_wish *wish,
                      const struct fx8_bench_section *section, const char *name)
{
    return (wish->section == NULL ||
            strcmp(wish->section, section->name) == 0) &&
           (wish->pattern == NULL || fnmatch(wish->pattern, name, 0) == 0) &&
           (wish->gate == NULL || fx8_bench_gate_names(wish->gate, name));
}

/* Call `visit` for every requested case until it fails. */
static enum fx8_status walk(
    const struct fx8_bench_wish *wish,
    enum fx8_status (*visit)(void *context,
                             const struct fx8_bench_section *section,
                             size_t index, const char *name,
                             struct fx8_error *error),
    void *context, struct fx8_error *error)
{
    for (size_t s = 0; s < fx8_bench_sections_count; s++) {
        const struct fx8_bench_section *section = fx8_bench_sections[s];
        for (size_t k = 0; k < section->n_cases; k++) {
            char name[FX8_BENCH_NAME_SIZE];
            section->name_case(k, name);
            if (!is_wanted(wish, section, name))
                continue;
            const enum fx8_status status =
                visit(context, section, k, name, error);
            if (status != FX8_OK)
                return status;
        }
    }
    return FX8_OK;
}

static enum fx8_status count_case(void *context,
                                  const struct fx8_bench_section *section,
                                  size_t index, const char *name,
                                  struct fx8_error *error)
{
    (void)section, (void)index, (void)name, (void)error;
    ++*(size_t *)context;
    return FX8_OK;
}

size_t fx8_bench_count(const struct fx8_bench_wish *wish)
{
    size_t n = 0;
    (void)walk(wish, count_case, &n, NULL);
    return n;
}

static enum fx8_status list_case(void *context,
                                 const struct fx8_bench_section *section,
                                 size_t index, const char *name,
                                 struct fx8_error *error)
{
    (void)context, (void)error;
    const char *quantities[FX8_BENCH_QUANTITIES];
    const size_t n =
        section->list != NULL ? section->list(index, quantities) : 0;
    printf("%-11s %-*s", section->name, n > 0 ? 35 : 0, name);
    for (size_t q = 0; q < n; q++)
        printf("%s%s", q > 0 ? ", " : " ", quantities[q]);
    printf("\n");
    return FX8_OK;
}

void fx8_bench_list(const struct fx8_bench_wish *wish)
{
    printf("%-11s %-35s quantities with a share\n", "section", "case");
    (void)walk(wish, list_case, NULL, NULL);
}

/* Length of the common prefix of two names. */
static size_t count_common(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] != '\0' && a[n] == b[n])
        n++;
    return n;
}

const struct fx8_bench_section *fx8_bench_find(
    const char *name, size_t *index, char nearest[FX8_BENCH_NAME_SIZE])
{
    size_t longest = 0;
    for (size_t s = 0; s < fx8_bench_sections_count; s++) {
        const struct fx8_bench_section *section = fx8_bench_sections[s];
        for (size_t k = 0; k < section->n_cases; k++) {
            char known[FX8_BENCH_NAME_SIZE];
            section->name_case(k, known);
            const size_t common = count_common(name, known);
            if (strcmp(name, known) == 0) {
                *index = k;
                return section;
            }
            if (common >= longest) {
                longest = common;
                memcpy(nearest, known, sizeof known);
            }
        }
    }
    return NULL;
}

/* --- measuring --------------------------------------------------- */

struct walk_state {
    const struct fx8_bench_wish *wish;
    const struct fx8_operations *operations; /* of the requested kernel */
    const struct fx8_bench_section *section; /* of the case before */
    struct fx8_bench_report *report;
};

static enum fx8_status measure_case(void *context,
                                    const struct fx8_bench_section *section,
                                    size_t index, const char *name,
                                    struct fx8_error *error)
{
    struct walk_state *state = context;
    const struct fx8_bench_wish *wish = state->wish;
    struct fx8_bench_run run = {
        .section = section->name,
        .name = name,
        .operations = state->operations,
        .n_threads = state->report->n_threads,
        .n_rounds = wish->n_rounds != 0 ? wish->n_rounds : section->n_rounds,
        .report = state->report,
    };
    if (section != state->section && !state->report->is_silent)
        fx8_bench_print_heading(section);
    state->section = section;
    if (!section->is_every_level || strcmp(wish->kernel, "auto") != 0)
        return section->measure(&run, index, error);
    enum fx8_status status = FX8_OK;
    for (size_t k = 0; k < fx8_operations_levels() && status == FX8_OK; k++) {
        const struct fx8_operations *level = fx8_operations_level(k);
        /* measure only what agrees with the reference */
        if (level != NULL &&
            fx8_operations_select(level->name, &run.operations, NULL) == FX8_OK)
            status = section->measure(&run, index, error);
    }
    return status;
}

enum fx8_status fx8_bench_measure(const struct fx8_bench_wish *wish,
                                  struct fx8_bench_report *report,
                                  struct fx8_error *error)
{
    struct walk_state state = {.wish = wish, .report = report};
    report->n_threads =
        wish->n_threads != 0 ? wish->n_threads : fx8_parallel_cpus();
    const enum fx8_status status =
        fx8_operations_select(wish->kernel, &state.operations, error);
    return status == FX8_OK ? walk(wish, measure_case, &state, error) : status;
}
