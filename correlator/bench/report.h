/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report.h -- the figures of one call of `fx8 bench`: collected, and printed as
 * tables while they come in, or at the end as one JSON document.
 */
#ifndef FX8_CORRELATOR_BENCH_REPORT_H
#define FX8_CORRELATOR_BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "correlator/bench/bench.h"
#include "correlator/bench/gate.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A figure with its section and case. */
struct fx8_bench_record {
    const char *section;
    char name[FX8_BENCH_NAME_SIZE]; /**< of the case */
    size_t n_rounds;
    struct fx8_bench_figure figure;
};

/** A remark with its section and case. */
struct fx8_bench_text {
    const char *section;
    char name[FX8_BENCH_NAME_SIZE];
    char text[160];
};

/** Zero it, then set is_silent, command and n_threads;
 *  fx8_bench_report_clear() frees. */
struct fx8_bench_report {
    bool is_silent; /**< collect only: JSON is printed at the end */
    const char *command;
    size_t n_threads; /**< of measurements on several threads */
    struct fx8_bench_record *records;
    size_t n_records;
    struct fx8_bench_text *texts;
    size_t n_texts;
};

/** value / ceiling, NaN without a ruler. */
double fx8_bench_share(const struct fx8_bench_figure *figure);

/** Describe this machine, in one or two lines before the tables. */
void fx8_bench_print_machine(const char *command);

/** Print the heading of a section's table. */
void fx8_bench_print_heading(const struct fx8_bench_section *section);

/** "105.2 of 130.1 GCMAC/s" with the unit's prefix only once; `text` is
 *  truncated. */
void fx8_bench_print_rates(const struct fx8_bench_figure *figure, char *text,
                           size_t size);

/** Print the JSON document on stdout; verdicts of `gate`, NULL: none. */
void fx8_bench_print_json(const struct fx8_bench_report *report,
                          const struct fx8_bench_gate *gate);

void fx8_bench_report_clear(struct fx8_bench_report *report);

#ifdef __cplusplus
}
#endif

#endif
