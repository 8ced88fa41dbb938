/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report.c -- the figures: collected, printed as tables, and as JSON.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/json.h"
#include "config/base/median.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "correlator/fx8.h"

/* --- arithmetic -------------------------------------------------- */

/* Values are not changed. */
static double median_of(const double *values, size_t n)
{
    double sorted[FX8_BENCH_ROUNDS];
    memcpy(sorted, values, n * sizeof *values);
    return fx8_median(sorted, n);
}

double fx8_bench_harmonic(const double *rates, size_t n)
{
    double seconds = 0.0; /* per unit of work */
    for (size_t k = 0; k < n; k++)
        seconds += 1.0 / rates[k];
    return 1.0 / seconds;
}

double fx8_bench_share(const struct fx8_bench_figure *figure)
{
    return figure->ruler != NULL ? figure->value / figure->ceiling : NAN;
}

/* --- collecting -------------------------------------------------- */

/* The SI prefix for a figure: its letter and its size. */
static double find_prefix(const struct fx8_bench_figure *figure, char prefix[2])
{
    static const struct {
        double size;
        char letter[2];
    } prefixes[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
    for (size_t k = 0; k < sizeof prefixes / sizeof prefixes[0]; k++)
        if (figure->value >= prefixes[k].size) {
            memcpy(prefix, prefixes[k].letter, 2);
            return prefixes[k].size;
        }
    prefix[0] = '\0';
    return 1.0;
}

static void print_row(const struct fx8_bench_record *record, bool is_first)
{
    const struct fx8_bench_figure *figure = &record->figure;
    char prefix[2], unit[32];
    const double size = find_prefix(figure, prefix);
    snprintf(unit, sizeof unit, "%s%s", prefix, figure->unit);
    printf("%-35s %-9s %-16s %9.4g %-11s", is_first ? record->which.name : "",
           figure->variant != NULL ? figure->variant : "", figure->quantity,
           figure->value / size, unit);
    if (figure->ruler != NULL)
        printf(" %6.3f %6.3f %9.4g  %s", fx8_bench_share(figure),
               figure->lowest, figure->ceiling / size, figure->ruler);
    printf("\n");
    fflush(stdout);
}

static enum fx8_status keep(const struct fx8_bench_run *run,
                            const struct fx8_bench_figure *figure,
                            struct fx8_error *error)
{
    struct fx8_bench_report *report = run->report;
    const size_t n = report->n_records;
    FX8_TRY(fx8_grow(&report->records, n, sizeof *report->records, "figures",
                     error));
    const bool is_first = n == 0 || strcmp(report->records[n - 1].which.name,
                                           run->which->name) != 0;
    struct fx8_bench_record *record = &report->records[report->n_records++];
    *record = (struct fx8_bench_record){*run->which, run->n_rounds, *figure};
    if (record->figure.n_threads == 0)
        record->figure.n_threads = 1;
    fx8_progress_end(report->progress);
    if (!report->is_silent)
        print_row(record, is_first);
    return FX8_OK;
}

/* The value of a figure: of its best round, or the median of all. */
static double value_of(const struct fx8_bench_run *run, const char *unit,
                       const double *values)
{
    if (!run->which->section->is_best)
        return median_of(values, run->n_rounds);
    const bool is_time = strcmp(unit, "s") == 0;
    double best = values[0];
    for (size_t r = 1; r < run->n_rounds; r++)
        best = is_time ? fmin(best, values[r]) : fmax(best, values[r]);
    return best;
}

enum fx8_status fx8_bench_put(const struct fx8_bench_run *run,
                              struct fx8_bench_figure figure,
                              const double *values, const double *ceilings,
                              struct fx8_error *error)
{
    figure.value = value_of(run, figure.unit, values);
    if (figure.ruler != NULL) {
        figure.ceiling = median_of(ceilings, run->n_rounds);
        /* the two medians may come from different rounds */
        figure.lowest = fx8_bench_share(&figure);
        for (size_t r = 0; r < run->n_rounds; r++)
            figure.lowest = fmin(figure.lowest, values[r] / ceilings[r]);
    }
    return keep(run, &figure, error);
}

enum fx8_status fx8_bench_put_whole(const struct fx8_bench_run *run,
                                    struct fx8_bench_figure figure,
                                    const double *values,
                                    const double (*rates)[FX8_BENCH_ROUNDS],
                                    size_t n_stages, struct fx8_error *error)
{
    double stages[FX8_BENCH_QUANTITIES];
    for (size_t s = 0; s < n_stages; s++)
        stages[s] = median_of(rates[s], run->n_rounds);
    figure.value = median_of(values, run->n_rounds);
    figure.ceiling = fx8_bench_harmonic(stages, n_stages);
    figure.lowest = fx8_bench_share(&figure);
    for (size_t r = 0; r < run->n_rounds; r++) {
        for (size_t s = 0; s < n_stages; s++)
            stages[s] = rates[s][r];
        figure.lowest = fmin(figure.lowest,
                             values[r] / fx8_bench_harmonic(stages, n_stages));
    }
    return keep(run, &figure, error);
}

enum fx8_status fx8_bench_remark(const struct fx8_bench_run *run,
                                 const char *text, struct fx8_error *error)
{
    struct fx8_bench_report *report = run->report;
    FX8_TRY(fx8_grow(&report->texts, report->n_texts, sizeof *report->texts,
                     "figures", error));
    struct fx8_bench_text *entry = &report->texts[report->n_texts++];
    entry->which = *run->which;
    snprintf(entry->text, sizeof entry->text, "%s", text);
    fx8_progress_end(report->progress);
    if (!report->is_silent)
        printf("%-35s %s\n", entry->which.name, entry->text);
    return FX8_OK;
}

void fx8_bench_report_clear(struct fx8_bench_report *report)
{
    free(report->records);
    free(report->texts);
    *report = (struct fx8_bench_report){0};
}

/* --- printing ---------------------------------------------------- */

void fx8_bench_print_machine(const char *command)
{
    struct fx8_bench_machine machine;
    fx8_bench_machine_ask(&machine);
    printf("%s\nfx8 %s, %s, %s, %s\n%s, %zu CPUs", command, fx8_version(),
           machine.date, machine.compiler, machine.c_library, machine.cpu,
           machine.n_cpus);
    if (isfinite(machine.frequency_mhz))
        printf(" at %.0f MHz", machine.frequency_mhz);
    if (machine.governor[0] != '\0')
        printf(", governor %s", machine.governor);
    if (isfinite(machine.load))
        printf(", load %.2f before", machine.load);
    printf("\n");
}

void fx8_bench_print_heading(const struct fx8_bench_section *section)
{
    printf("\n%s: %s\n%-35s %-9s %-16s %9s %-11s", section->name,
           section->about, "case", "variant", "quantity", "value", "");
    printf(" %6s %6s %9s  %s\n", "share", "lowest", "of", "ruler");
}

void fx8_bench_print_rates(const struct fx8_bench_figure *figure, char *text,
                           size_t size)
{
    char prefix[2];
    const double step = find_prefix(figure, prefix);
    snprintf(text, size, "%.4g of %.4g %s%s, %s", figure->value / step,
             figure->ceiling / step, prefix, figure->unit, figure->ruler);
}

/* --- JSON -------------------------------------------------------- */

static const struct {
    const char *unit, *meaning;
} units[] = {
    {"CMAC/s", "complex multiply-accumulates, four real ones each, per "
               "second; of products i <= j alone"},
    {"sample/s", "samples per second, those of all inputs counted; complex "
                 "ones unless the case or the quantity says real"},
    {"flop/s", "nominal float operations per second: 4 for a tap of a complex "
               "sample, 5 log2(N) for its share of an FFT of N; half of both "
               "for a real sample"},
    {"byte/s", "bytes per second; copies: those read and those written"},
    {"result/s", "values of a function per second"},
    {"cell/s", "visibilities per second"},
    {"s", "seconds"},
    {"times", "a quotient of two times, or of two sizes"},
    {"power", "exponent of a power law"},
};

static void put_machine(struct fx8_json *json)
{
    struct fx8_bench_machine machine;
    fx8_bench_machine_ask(&machine);
    fx8_json_text(json, "date_utc", machine.date);
    fx8_json_object(json, "machine");
    fx8_json_text(json, "cpu", machine.cpu);
    fx8_json_integer(json, "n_cpus", (int64_t)machine.n_cpus);
    fx8_json_real(json, "frequency_mhz", machine.frequency_mhz);
    fx8_json_text(json, "governor", machine.governor);
    fx8_json_real(json, "load", machine.load);
    fx8_json_text(json, "compiler", machine.compiler);
    fx8_json_text(json, "c_library", machine.c_library);
    fx8_json_array(json, "levels");
    for (size_t k = 0; k < fx8_operations_variants(); k++)
        if (fx8_operations_variant(k) != NULL)
            fx8_json_text(json, NULL, fx8_operations_variant(k)->name);
    fx8_json_end(json);
    fx8_json_end(json);
}

static void put_record(struct fx8_json *json,
                       const struct fx8_bench_record *record)
{
    const struct fx8_bench_figure *figure = &record->figure;
    const bool has_ruler = figure->ruler != NULL;
    fx8_json_object(json, NULL);
    fx8_json_text(json, "section", record->which.section->name);
    fx8_json_text(json, "case", record->which.name);
    fx8_json_text(json, "variant", figure->variant);
    fx8_json_text(json, "quantity", figure->quantity);
    fx8_json_integer(json, "threads", (int64_t)figure->n_threads);
    fx8_json_integer(json, "rounds", (int64_t)record->n_rounds);
    fx8_json_real(json, "value", figure->value);
    fx8_json_text(json, "unit", figure->unit);
    fx8_json_text(json, "ruler", figure->ruler);
    fx8_json_real(json, "ceiling", has_ruler ? figure->ceiling : NAN);
    fx8_json_real(json, "share", fx8_bench_share(figure));
    fx8_json_real(json, "lowest_share", has_ruler ? figure->lowest : NAN);
    fx8_json_end(json);
}

void fx8_bench_print_json(const struct fx8_bench_report *report,
                          const struct fx8_bench_gate *gate, FILE *stream)
{
    struct fx8_json json = {.stream = stream};
    fx8_json_object(&json, NULL);
    fx8_json_text(&json, "fx8_version", fx8_version());
    fx8_json_text(&json, "command", report->command);
    fx8_json_integer(&json, "threads", (int64_t)report->n_threads);
    put_machine(&json);
    fx8_json_object(&json, "units");
    for (size_t k = 0; k < sizeof units / sizeof units[0]; k++)
        fx8_json_text(&json, units[k].unit, units[k].meaning);
    fx8_json_end(&json);
    fx8_json_array(&json, "records");
    for (size_t k = 0; k < report->n_records; k++)
        put_record(&json, &report->records[k]);
    fx8_json_end(&json);
    fx8_json_array(&json, "remarks");
    for (size_t k = 0; k < report->n_texts; k++) {
        fx8_json_object(&json, NULL);
        fx8_json_text(&json, "section", report->texts[k].which.section->name);
        fx8_json_text(&json, "case", report->texts[k].which.name);
        fx8_json_text(&json, "text", report->texts[k].text);
        fx8_json_end(&json);
    }
    fx8_json_end(&json);
    if (gate != NULL)
        fx8_bench_gate_put(gate, &json);
    fx8_json_end(&json);
}
