/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c -- numerics: the error tables of this CPU and its C library.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/clock.h"
#include "config/base/parallel.h"
#include "kernels/operations.h"
#include "validation/numerics/machine.h"
#include "validation/numerics/sample.h"
#include "validation/numerics/survey.h"
#include "validation/numerics/table.h"

static const char usage[] =
    "usage: numerics [--samples N] [--output FILE] [--worst FILE]\n"
    "\n"
    "Measure every form of every function in every variant of this CPU, and\n"
    "the C library's functions, over all 2^32 floats (functions of two: 2^30\n"
    "pairs), write a table, and exit with 1 when a bound of\n"
    "kernels/numeric/bounds.h is exceeded, or is looser than what was "
    "measured,\n"
    "or variants differ.\n"
    "\n"
    "  --samples N    N floats and N pairs instead; looseness is not judged\n"
    "  --output FILE  default validation/results/numerics-cpu-MODEL.md\n"
    "  --worst FILE   also write the worst arguments, as\n"
    "                 validation/numerics/worst_arguments.h\n";

/** What the command line asks for. */
struct request {
    struct extent extent;
    bool is_exhaustive;
    const char *output; /* NULL: named after the CPU */
    const char *worst;  /* NULL: not written */
};

/** All findings. */
struct results {
    size_t n;
    struct subject subjects[MAX_SUBJECTS];
    struct finding findings[MAX_SUBJECTS];
    struct reference_check
        checks[MAX_SUBJECTS]; /* for the first form of a function */
};

static bool read_count(const char *text, uint64_t *count)
{
    char *end;
    errno = 0;
    *count = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *text != '-' &&
           *count >= 1 && *count <= ALL_FLOATS;
}

static bool read_request(int argc, char **argv, struct request *request)
{
    static const struct option options[] = {
        {"samples", required_argument, NULL, 's'},
        {"output", required_argument, NULL, 'o'},
        {"worst", required_argument, NULL, 'w'},
        {NULL, 0, NULL, 0},
    };
    *request = (struct request){
        .extent = {ALL_FLOATS, MOST_PAIRS, fx8_parallel_cpus(), true},
        .is_exhaustive = true,
    };
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 's') {
            if (!read_count(optarg, &request->extent.n_floats))
                return false;
            request->extent.n_pairs = request->extent.n_floats;
            request->is_exhaustive = request->extent.n_floats == ALL_FLOATS;
        } else if (c == 'o') {
            request->output = optarg;
        } else if (c == 'w') {
            request->worst = optarg;
        } else {
            return false;
        }
    }
    return optind == argc;
}

/** Measure function after function; the subjects of a function are neighbours.
 */
static bool measure_all(const struct request *request, struct results *results)
{
    results->n = list_subjects(results->subjects);
    if (results->n == 0) {
        fputs("numerics: a form is of a function without a reference\n",
              stderr);
        return false;
    }
    for (size_t first = 0, n; first < results->n; first += n) {
        for (n = 1;
             first + n < results->n && results->subjects[first + n].function ==
                                           results->subjects[first].function;)
            n++;
        const double begin = fx8_clock_seconds();
        if (!survey_function(&results->subjects[first], n, &request->extent,
                             &results->findings[first],
                             &results->checks[first])) {
            fputs("numerics: no memory\n", stderr);
            return false;
        }
        fprintf(stderr, "\r%-10s %zu forms, %.1f s\n",
                results->subjects[first].function->name, n,
                fx8_clock_seconds() - begin);
    }
    return true;
}

static struct table_row row_of(const struct results *results, size_t i)
{
    const struct subject *subject = &results->subjects[i];
    return (struct table_row){subject->function->name, subject->form,
                              subject->has_bound ? &subject->bound : NULL,
                              &results->findings[i].measured};
}

/* --- output ----------------------------------------------------------- */

static void print_variants(FILE *file, const struct results *results)
{
    uint64_t differing = 0;
    for (size_t i = 0; i < results->n; i++)
        for (size_t variant = 1; variant < results->subjects[i].n_variants;
             variant++)
            differing += results->findings[i].n_differing[variant];
    fputs("Variants of this CPU:", file);
    for (size_t at = 0; at < fx8_operations_variants(); at++)
        if (fx8_operations_variant(at) != NULL)
            fprintf(file, " %s", fx8_operations_variant(at)->name);
    fprintf(file,
            ".  The last was measured; results of the others unlike\nits own, "
            "any NaN being equal to any NaN: %" PRIu64 ".\n\n",
            differing);
}

static void print_checks(FILE *file, const struct results *results)
{
    fprintf(file,
            "Reference: the double functions of this C library; against its "
            "long double\nfunctions (%d bits), at one argument in 4,093 and "
            "at the worst ones, they deviate\nby at most (limit %.1e):\n\n",
            LDBL_MANT_DIG, REFERENCE_LIMIT);
    fputs("| reference | arguments | deviation | at |\n|---|---|---|---|\n",
          file);
    for (size_t i = 0; i < results->n; i++) {
        const struct reference_check *check = &results->checks[i];
        char text[TABLE_TEXT];
        if (check->n == 0)
            continue;
        const struct function *function = results->subjects[i].function;
        fprintf(
            file, "| %s | %" PRIu64 " | %.2g | %s |\n", function->name,
            check->n, check->deviation.error,
            argument_text(&check->deviation, function->binary != NULL, text));
    }
}

static void print_rows(FILE *file, const struct results *results,
                       bool is_library, bool is_tight)
{
    print_table_head(file);
    for (size_t i = 0; i < results->n; i++) {
        const struct table_row row = row_of(results, i);
        if (results->subjects[i].is_library == is_library)
            print_table_row(file, &row, is_tight);
    }
    fputs("\n", file);
}

static void print_machine(FILE *file, const char *command)
{
    fprintf(file, "`%s` (version %s), %s: %s, %s.\n\n", command, FX8_VERSION,
            machine_date(), machine_cpu(), machine_software());
}

static void print_results(FILE *file, const struct request *request,
                          const struct results *results, const char *command)
{
    fputs("# Errors of the functions on a CPU\n\n", file);
    print_machine(file, command);
    print_legend(file);
    fprintf(file,
            "\nFunctions of one argument: %s; of two: %" PRIu64
            " pairs, half of them\nover all pairs of exponents, half with "
            "exponents at most 16 apart, mantissas and signs\nrandom (seed "
            "%" PRIu64 ").\n\n",
            request->is_exhaustive ? "all 2^32" : "a sample",
            request->extent.n_pairs, PAIR_SEED);
    print_rows(file, results, false, request->is_exhaustive);
    fputs("## The C library's functions\n\n", file);
    print_rows(file, results, true, request->is_exhaustive);
    print_variants(file, results);
    print_checks(file, results);
}

static void print_worst(FILE *file, const struct results *results)
{
    fputs("/* SPDX-License-Identifier: BSD-3-Clause */\n"
          "/*\n"
          " * worst_arguments.h -- where the exhaustive run found the largest "
          "errors, in\n"
          " * ulps and relative; written by `numerics --worst FILE`.\n"
          " */\n"
          "#ifndef FX8_VALIDATION_NUMERICS_WORST_ARGUMENTS_H\n"
          "#define FX8_VALIDATION_NUMERICS_WORST_ARGUMENTS_H\n"
          "\n"
          "/** row(function, form, bits of the first argument, of the second) "
          "*/\n"
          "/* clang-format off */\n"
          "#define WORST_ARGUMENTS(row)",
          file);
    for (size_t i = 0; i < results->n; i++) {
        const struct subject *subject = &results->subjects[i];
        const struct measured *m = &results->findings[i].measured;
        const struct error_at *const worst[] = {&m->ulp, &m->relative};
        for (size_t k = 0; k < 2 && !subject->is_library; k++)
            fprintf(file,
                    " \\\n    row(\"%s\", \"%s\", 0x%08" PRIx32 ", 0x%08" PRIx32
                    ")",
                    subject->function->name, subject->form, worst[k]->a,
                    worst[k]->b);
    }
    fputs("\n/* clang-format on */\n\n#endif\n", file);
}

/* --- verdict
 * ------------------------------------------------------------------ */

static size_t count_faults(const struct request *request,
                           const struct results *results)
{
    size_t faults = 0;
    char text[TABLE_TEXT];
    for (size_t i = 0; i < results->n; i++) {
        const struct subject *subject = &results->subjects[i];
        const struct finding *finding = &results->findings[i];
        const struct table_row row = row_of(results, i);
        const bool is_pair = subject->function->binary != NULL;
        faults += judge_row(&row, request->is_exhaustive, stderr);
        if (!subject->has_bound && !subject->is_library) {
            fprintf(stderr, "%s %s: no bound\n", row.function, row.form);
            faults++;
        }
        for (size_t variant = 1; variant < subject->n_variants; variant++) {
            if (finding->n_differing[variant] == 0)
                continue;
            fprintf(stderr,
                    "%s %s: %s and %s differ %" PRIu64 " times, first at %s\n",
                    row.function, row.form, subject->variant[0],
                    subject->variant[variant], finding->n_differing[variant],
                    argument_text(&finding->differing[variant], is_pair, text));
            faults++;
        }
        if (results->checks[i].deviation.error > REFERENCE_LIMIT) {
            fprintf(
                stderr, "%s: the reference deviates by %g at %s\n",
                row.function, results->checks[i].deviation.error,
                argument_text(&results->checks[i].deviation, is_pair, text));
            faults++;
        }
    }
    return faults;
}

/* Whether a file can be written, asked before hours of work; an existing one
 * keeps its content. */
static bool is_writable(const char *path)
{
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    if (file != NULL)
        fclose(file);
    else if (path != NULL)
        fprintf(stderr, "numerics: %s: %s\n", path, strerror(errno));
    return path == NULL || file != NULL;
}

static bool write_file(const char *path, const struct request *request,
                       const struct results *results, const char *command)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "numerics: %s: %s\n", path, strerror(errno));
        return false;
    }
    if (command != NULL)
        print_results(file, request, results, command);
    else
        print_worst(file, results);
    const bool is_written = ferror(file) == 0;
    if (fclose(file) != 0 || !is_written) {
        fprintf(stderr, "numerics: %s: cannot be written\n", path);
        return false;
    }
    fprintf(stderr, "%s\n", path);
    return true;
}

int main(int argc, char **argv)
{
    static struct results results;
    struct request request;
    char command[256], path[256];
    if (!read_request(argc, argv, &request)) {
        fputs(usage, stderr);
        return 2;
    }
    join_command(argc, argv, command, sizeof command);
    result_path("cpu", machine_cpu(), path, sizeof path);
    if (request.output == NULL)
        request.output = path;
    if (!is_writable(request.output) || !is_writable(request.worst) ||
        !measure_all(&request, &results))
        return 1;
    if (!write_file(request.output, &request, &results, command))
        return 1;
    if (request.worst != NULL &&
        !write_file(request.worst, &request, &results, NULL))
        return 1;
    return count_faults(&request, &results) == 0 ? 0 : 1;
}
