/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * measure.c -- the table of sections, and the loop over their cases.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "config/base/nearest.h"
#include "config/base/parallel.h"
#include "config/base/try.h"
#include "correlator/bench/ceilings.h"
#include "correlator/bench/bench.h"

/* --- ceilings ---------------------------------------------------- */

static void name_ceiling(size_t index, char name[FX8_BENCH_NAME_SIZE])
{
    snprintf(name, FX8_BENCH_NAME_SIZE, "%s",
             fx8_ceiling_describe((enum fx8_ceiling)index)->name);
}

static enum fx8_status measure_ceiling(const struct fx8_bench_run *run,
                                       struct fx8_error *error)
{
    const enum fx8_ceiling ceiling = (enum fx8_ceiling)run->which->index;
    const struct fx8_ceiling_description *d = fx8_ceiling_describe(ceiling);
    double rates[FX8_BENCH_ROUNDS];
    for (size_t r = 0; r < run->n_rounds; r++)
        rates[r] = fx8_ceiling_measure(ceiling);
    if (rates[0] <= 0.0)
        return fx8_bench_remark(run, "left out: not on this machine", error);
    const struct fx8_bench_figure figure = {
        .quantity = "rate", .variant = d->variant, .unit = d->unit};
    return fx8_bench_put(run, figure, rates, NULL, error);
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

/* In the order in which they are measured. */
static const struct fx8_bench_section *const sections[] = {
    &ceilings,          &fx8_bench_variants,  &fx8_bench_transforms,
    &fx8_bench_banks,   &fx8_bench_arrays,    &fx8_bench_shapes,
    &fx8_bench_growth,  &fx8_bench_functions, &fx8_bench_jobs,
    &fx8_bench_reading, &fx8_bench_node,
};

/* --- cases ------------------------------------------------------- */

/* Case `number` of all sections; false: no more. */
static bool get_case(size_t number, struct fx8_bench_case *found)
{
    for (size_t s = 0; s < sizeof sections / sizeof *sections; s++) {
        if (number < sections[s]->n_cases) {
            found->section = sections[s];
            found->index = number;
            sections[s]->name_case(number, found->name);
            return true;
        }
        number -= sections[s]->n_cases;
    }
    return false;
}

/* The first requested case from *number on, which becomes the number after it;
 * false: no more. */
static bool next_case(const struct fx8_bench_wish *wish, size_t *number,
                      struct fx8_bench_case *found)
{
    while (get_case((*number)++, found))
        if ((wish->on_request || !found->section->is_on_request) &&
            (wish->section == NULL ||
             strcmp(wish->section, found->section->name) == 0) &&
            (wish->pattern == NULL ||
             fnmatch(wish->pattern, found->name, 0) == 0) &&
            (wish->gate == NULL ||
             fx8_bench_gate_names(wish->gate, found->name)))
            return true;
    return false;
}

size_t fx8_bench_count(const struct fx8_bench_wish *wish)
{
    struct fx8_bench_case one;
    size_t n = 0;
    for (size_t k = 0; next_case(wish, &k, &one);)
        n++;
    return n;
}

size_t fx8_bench_quantities(const struct fx8_bench_case *which,
                            const char *quantities[FX8_BENCH_QUANTITIES + 1])
{
    const struct fx8_bench_section *section = which->section;
    memcpy(quantities, section->quantities, sizeof section->quantities);
    if (section->list != NULL)
        section->list(which->index, quantities);
    size_t n = 0;
    while (quantities[n] != NULL)
        n++;
    return n;
}

void fx8_bench_list(const struct fx8_bench_wish *wish)
{
    struct fx8_bench_case one;
    printf("%-11s %-35s quantities with a share\n", "section", "case");
    for (size_t k = 0; next_case(wish, &k, &one);) {
        const char *quantities[FX8_BENCH_QUANTITIES + 1];
        const size_t n = fx8_bench_quantities(&one, quantities);
        printf("%-11s %-*s", one.section->name, n > 0 ? 35 : 0, one.name);
        for (size_t q = 0; q < n; q++)
            printf("%s%s", q > 0 ? ", " : " ", quantities[q]);
        printf("\n");
    }
}

bool fx8_bench_find(const char *name, struct fx8_bench_case *found)
{
    struct fx8_nearest nearest = {.name = name};
    struct fx8_bench_case one;
    found->section = NULL;
    for (size_t k = 0; get_case(k, &one); k++) {
        if (fx8_nearest_offer(&nearest, one.name, 0))
            *found = one;
        if (strcmp(name, one.name) == 0) {
            *found = one; /* it may be too long to be compared by letters */
            return true;
        }
    }
    return false;
}

/* --- measuring --------------------------------------------------- */

/* Measure a case at the variant of `run`, or in every variant. */
static enum fx8_status measure_case(const struct fx8_bench_wish *wish,
                                    struct fx8_bench_run run,
                                    struct fx8_error *error)
{
    const struct fx8_bench_section *section = run.which->section;
    if (!section->is_every_variant || strcmp(wish->kernel, "auto") != 0)
        return section->measure(&run, error);
    for (size_t k = 0; k < fx8_operations_variants(); k++) {
        const struct fx8_operations *variant = fx8_operations_variant(k);
        /* measure only what agrees with the reference */
        if (variant != NULL &&
            fx8_operations_select(variant->name, &run.operations, NULL) ==
                FX8_OK)
            FX8_TRY(section->measure(&run, error));
    }
    return FX8_OK;
}

enum fx8_status fx8_bench_measure(const struct fx8_bench_wish *wish,
                                  struct fx8_bench_report *report,
                                  struct fx8_error *error)
{
    const struct fx8_bench_section *before = NULL;
    const int64_t n_cases = (int64_t)fx8_bench_count(wish);
    struct fx8_bench_case one;
    int64_t n_done = 0;
    report->n_threads =
        wish->n_threads != 0 ? wish->n_threads : fx8_parallel_cpus();
    struct fx8_bench_run run = {
        .which = &one, .n_threads = report->n_threads, .report = report};
    FX8_TRY(fx8_operations_select(wish->kernel, &run.operations, error));
    for (size_t k = 0; next_case(wish, &k, &one); before = one.section) {
        if (one.section != before && !report->is_silent)
            fx8_bench_print_heading(one.section);
        fx8_progress_count(report->progress, n_done++, n_cases);
        run.n_rounds =
            wish->n_rounds != 0 ? wish->n_rounds : one.section->n_rounds;
        FX8_TRY(measure_case(wish, run, error));
    }
    return FX8_OK;
}
