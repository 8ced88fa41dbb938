/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/json.h"
#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/ini.h"
#include "correlator/bench/bench.h"
#include "io/output.h"

static bool is_same_case(const struct fx8_bench_case *a,
                         const struct fx8_bench_case *b)
{
    return a->section == b->section && a->index == b->index;
}

/* --- reading ----------------------------------------------------- */

/* "FILE:LINE: [CASE]: KEY: expected ..." */
static enum fx8_status refuse(const struct fx8_ini_entry *entry,
                              struct fx8_error *error, const char *format, ...)
{
    char text[FX8_ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fx8_fail(error, FX8_ERR_USAGE, "%s:%zu: [%s]: %s%s%s", entry->path,
                    entry->line, entry->section,
                    entry->key != NULL ? entry->key : "",
                    entry->key != NULL ? ": " : "", text);
}

/* Whether this is a variant of operations, on any CPU. */
static bool is_variant(const char *name)
{
    const struct fx8_operations *operations;
    return strcmp(name, "auto") != 0 &&
           fx8_operations_select(name, &operations, NULL) != FX8_ERR_USAGE;
}

/* "correlate, align or whole" for a message. */
static void join_quantities(const char *const *quantities, size_t n, char *text,
                            size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t q = 0; q < n && used < size; q++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 q == 0       ? ""
                                 : q + 1 == n ? " or "
                                              : ", ",
                                 quantities[q]);
}

/* Variant and quantity of a key. */
static enum fx8_status find_quantity(const struct fx8_ini_entry *entry,
                                     struct fx8_bench_limit *limit,
                                     struct fx8_error *error)
{
    const bool has_variants = limit->which.section->has_variants;
    const char *quantities[FX8_BENCH_QUANTITIES + 1];
    const size_t n = fx8_bench_quantities(&limit->which, quantities);
    const char *rest = strchr(entry->key, ' ');
    for (size_t q = 0; q < n; q++) {
        limit->quantity = quantities[q];
        if (strcmp(entry->key, quantities[q]) == 0)
            return FX8_OK;
        if (rest == NULL || strcmp(rest + 1, quantities[q]) != 0)
            continue;
        snprintf(limit->variant, sizeof limit->variant, "%.*s",
                 (int)(rest - entry->key), entry->key);
        if (has_variants && is_variant(limit->variant))
            return FX8_OK;
    }
    if (n == 0)
        return refuse(entry, error,
                      "expected a case with shares: this one is a ruler");
    char known[400];
    join_quantities(quantities, n, known, sizeof known);
    return refuse(
        entry, error, "expected %s%s", known,
        has_variants ? ", alone or after reference, " FX8_VECTOR_KERNELS : "");
}

static enum fx8_status add_limit(struct fx8_bench_gate *gate,
                                 const struct fx8_ini_entry *entry,
                                 struct fx8_bench_limit *limit,
                                 struct fx8_error *error)
{
    if (!fx8_number_real(entry->value, &limit->least) || limit->least < 0.0)
        return refuse(entry, error, "%s: expected the least share, from 0 up",
                      entry->value);
    for (size_t k = 0; k < gate->n_limits; k++)
        if (is_same_case(&gate->limits[k].which, &limit->which) &&
            strcmp(gate->limits[k].variant, limit->variant) == 0 &&
            strcmp(gate->limits[k].quantity, limit->quantity) == 0)
            return refuse(entry, error, "expected it once: see line %zu",
                          gate->limits[k].line);
    FX8_TRY(fx8_grow(&gate->limits, gate->n_limits, sizeof *gate->limits,
                     entry->path, error));
    gate->limits[gate->n_limits++] = *limit;
    return FX8_OK;
}

static enum fx8_status take_entry(void *context,
                                  const struct fx8_ini_entry *entry,
                                  struct fx8_error *error)
{
    struct fx8_bench_limit limit = {.line = entry->line};
    if (!fx8_bench_find(entry->section, &limit.which)) {
        const bool is_near = limit.which.section != NULL;
        return refuse(entry, error,
                      "expected a case that fx8 bench --list names%s%s%s",
                      is_near ? ", such as [" : "",
                      is_near ? limit.which.name : "", is_near ? "]" : "");
    }
    if (entry->key == NULL)
        return FX8_OK;
    FX8_TRY(find_quantity(entry, &limit, error));
    return add_limit(context, entry, &limit, error);
}

enum fx8_status fx8_bench_gate_read(const char *path,
                                    struct fx8_bench_gate *gate,
                                    struct fx8_error *error)
{
    gate->path = path;
    const enum fx8_status status = fx8_ini_parse(path, take_entry, gate, error);
    if (status == FX8_OK && gate->n_limits == 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: no share: expected [CASE] and QUANTITY = SHARE",
                        path);
    return status;
}

enum fx8_status fx8_bench_gate_check(const struct fx8_bench_gate *gate,
                                     const char *kernel,
                                     struct fx8_error *error)
{
    const struct fx8_operations *one, *named;
    FX8_TRY(fx8_operations_select(kernel, &one, error));
    for (size_t k = 0; k < gate->n_limits; k++) {
        const struct fx8_bench_limit *limit = &gate->limits[k];
        if (limit->variant[0] == '\0' ||
            (limit->which.section->is_every_variant &&
             strcmp(kernel, "auto") == 0) ||
            strcmp(limit->variant, one->name) == 0 ||
            fx8_operations_select(limit->variant, &named, NULL) != FX8_OK)
            continue;
        return fx8_fail(
            error, FX8_ERR_USAGE,
            "%s:%zu: [%s]: %s %s: expected %s, the one variant that "
            "is measured with --kernel %s",
            gate->path, limit->line, limit->which.name, limit->variant,
            limit->quantity, one->name, kernel);
    }
    return FX8_OK;
}

void fx8_bench_gate_clear(struct fx8_bench_gate *gate)
{
    free(gate->limits);
    *gate = (struct fx8_bench_gate){0};
}

bool fx8_bench_gate_names(const struct fx8_bench_gate *gate, const char *name)
{
    for (size_t k = 0; k < gate->n_limits; k++)
        if (strcmp(gate->limits[k].which.name, name) == 0)
            return true;
    return false;
}

/* --- judging ----------------------------------------------------- */

static bool speaks_of(const struct fx8_bench_limit *limit,
                      const struct fx8_bench_record *record)
{
    const char *variant = record->figure.variant;
    return is_same_case(&limit->which, &record->which) &&
           strcmp(limit->quantity, record->figure.quantity) == 0 &&
           (limit->variant[0] == '\0' ||
            (variant != NULL && strcmp(limit->variant, variant) == 0));
}

static void judge_limit(struct fx8_bench_limit *limit,
                        const struct fx8_bench_record *records, size_t n)
{
    double worst = INFINITY;
    for (size_t k = 0; k < n; k++) {
        if (!speaks_of(limit, &records[k]))
            continue;
        const double share = fx8_bench_share(&records[k].figure);
        if (limit->worst == NULL || !(share >= worst)) {
            limit->worst = &records[k];
            worst = share;
        }
    }
    if (limit->worst != NULL)
        limit->verdict =
            worst >= limit->least ? FX8_BENCH_KEPT : FX8_BENCH_BROKEN;
}

static size_t count_verdicts(const struct fx8_bench_gate *gate,
                             enum fx8_bench_verdict verdict)
{
    size_t n = 0;
    for (size_t k = 0; k < gate->n_limits; k++)
        n += gate->limits[k].verdict == verdict;
    return n;
}

enum fx8_status fx8_bench_gate_judge(struct fx8_bench_gate *gate,
                                     const struct fx8_bench_record *records,
                                     size_t n, struct fx8_error *error)
{
    for (size_t k = 0; k < gate->n_limits; k++)
        judge_limit(&gate->limits[k], records, n);
    const size_t n_broken = count_verdicts(gate, FX8_BENCH_BROKEN);
    if (n_broken > 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: %zu of %zu %s below the least", gate->path,
                        n_broken,
                        FX8_COUNTED(gate->n_limits, "share", "shares"));
    if (count_verdicts(gate, FX8_BENCH_KEPT) == 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: nothing was measured: this machine has none of "
                        "its shares",
                        gate->path);
    return FX8_OK;
}

void fx8_bench_gate_print(const struct fx8_bench_gate *gate)
{
    const size_t n_broken = count_verdicts(gate, FX8_BENCH_BROKEN);
    const size_t n_left_out = count_verdicts(gate, FX8_BENCH_LEFT_OUT);
    const size_t n_kept = count_verdicts(gate, FX8_BENCH_KEPT);
    printf("\n");
    for (size_t k = 0; k < gate->n_limits; k++) {
        const struct fx8_bench_limit *limit = &gate->limits[k];
        if (limit->verdict != FX8_BENCH_BROKEN)
            continue;
        const struct fx8_bench_figure *figure = &limit->worst->figure;
        char rates[128];
        fx8_bench_print_rates(figure, rates, sizeof rates);
        printf("%s:%zu: [%s] %s%s%s: share %.3f (%s): expected at least %g\n",
               gate->path, limit->line, limit->which.name,
               figure->variant != NULL ? figure->variant : "",
               figure->variant != NULL ? " " : "", limit->quantity,
               fx8_bench_share(figure), rates, limit->least);
    }
    printf("%s: %zu %s kept", gate->path,
           FX8_COUNTED(n_kept, "share", "shares"));
    if (n_broken > 0)
        printf(", %zu below", n_broken);
    if (n_left_out > 0)
        printf(", %zu left out: not measured here", n_left_out);
    printf("\n");
}

void fx8_bench_gate_put(const struct fx8_bench_gate *gate,
                        struct fx8_json *json)
{
    static const char *const words[] = {[FX8_BENCH_LEFT_OUT] = "left out",
                                        [FX8_BENCH_KEPT] = "kept",
                                        [FX8_BENCH_BROKEN] = "below"};
    fx8_json_object(json, "gate");
    fx8_json_text(json, "path", gate->path);
    fx8_json_array(json, "shares");
    for (size_t k = 0; k < gate->n_limits; k++) {
        const struct fx8_bench_limit *limit = &gate->limits[k];
        const struct fx8_bench_record *worst = limit->worst;
        fx8_json_object(json, NULL);
        fx8_json_integer(json, "line", (int64_t)limit->line);
        fx8_json_text(json, "case", limit->which.name);
        fx8_json_text(json, "variant",
                      worst != NULL ? worst->figure.variant : limit->variant);
        fx8_json_text(json, "quantity", limit->quantity);
        fx8_json_real(json, "least", limit->least);
        fx8_json_real(json, "share",
                      worst != NULL ? fx8_bench_share(&worst->figure) : NAN);
        fx8_json_text(json, "verdict", words[limit->verdict]);
        fx8_json_end(json);
    }
    fx8_json_end(json);
    fx8_json_end(json);
}

/* --- writing ----------------------------------------------------- */

/* Whether a gate can demand a share of this. */
static bool is_listed(const struct fx8_bench_record *record)
{
    const char *quantities[FX8_BENCH_QUANTITIES + 1];
    const size_t n = fx8_bench_quantities(&record->which, quantities);
    for (size_t q = 0; q < n; q++)
        if (strcmp(record->figure.quantity, quantities[q]) == 0)
            return true;
    return false;
}

/* Whether these are the same quantity of a case, of two variants. */
static bool are_variants(const struct fx8_bench_record *a,
                         const struct fx8_bench_record *b)
{
    return is_same_case(&a->which, &b->which) &&
           strcmp(a->figure.quantity, b->figure.quantity) == 0;
}

/* Three significant digits, rounded down; value from 0 up. */
static void round_down(double value, char text[32])
{
    const double unit =
        value > 0.0 ? pow(10.0, floor(log10(value)) - 2.0) : 1.0;
    snprintf(text, 32, "%.3g", floor(value / unit) * unit);
}

static size_t write_lines(FILE *stream, const struct fx8_bench_record *records,
                          size_t n)
{
    const struct fx8_bench_record *before = NULL;
    size_t n_lines = 0;
    for (size_t k = 0; k < n; k++) {
        const struct fx8_bench_record *record = &records[k];
        const struct fx8_bench_figure *figure = &record->figure;
        if (!is_listed(record))
            continue;
        const double share = fx8_bench_share(figure);
        /* demand at least half of a small share */
        const double margin =
            fmin(fmax(share - figure->lowest, 0.02), 0.5 * figure->lowest);
        char least[32];
        round_down(fmax(figure->lowest - margin, 0.0), least);
        if (before == NULL || !is_same_case(&before->which, &record->which))
            fprintf(stream, "\n[%s]\n", record->which.name);
        /* name the variant if there are others */
        const bool has_others = (k > 0 && are_variants(record, record - 1)) ||
                                (k + 1 < n && are_variants(record, record + 1));
        fprintf(stream, "%s%s%s = %s\n", has_others ? figure->variant : "",
                has_others ? " " : "", figure->quantity, least);
        before = record;
        n_lines++;
    }
    return n_lines;
}

enum fx8_status fx8_bench_gate_write(const char *path,
                                     const struct fx8_bench_record *records,
                                     size_t n, const char *machine, bool force,
                                     struct fx8_error *error)
{
    FX8_AUTO_FREE char *text = NULL;
    size_t size = 0;
    FX8_AUTO(fx8_output_abandon) struct fx8_output *output = NULL;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return fx8_no_memory(path, error);
    fprintf(stream, "; Least shares, from %s\n", machine);
    const size_t n_lines = write_lines(stream, records, n);
    if (fclose(stream) != 0)
        return fx8_no_memory(path, error);
    if (n_lines == 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: nothing measured has a share; fx8 bench "
                        "--list names the cases that do",
                        path);
    FX8_TRY(fx8_output_open(path, force, 0, NULL, &output, error));
    return fx8_output_finish(&output, text, size, error);
}
