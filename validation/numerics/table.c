/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/numeric/bounds.h"
#include "validation/numerics/sample.h"
#include "validation/numerics/table.h"

#define MOST_SLACK 1.02

#define BOUND(device, function, form, ulp, relative, absolute, low, high,      \
              note)                                                            \
    {device,   function,      form,           ulp,   relative,                 \
     absolute, (double)(low), (double)(high), false, false},
const struct bound numeric_bounds[] = {FX8_NUMERIC_BOUNDS(BOUND)};
const size_t n_numeric_bounds = sizeof numeric_bounds / sizeof *numeric_bounds;

struct bound find_bound(const char *device, const char *function,
                        const char *form)
{
    struct bound found = {.device = device,
                          .function = function,
                          .form = form,
                          .max_ulp = HUGE_VAL,
                          .max_relative = HUGE_VAL,
                          .max_absolute = (double)FLT_MIN,
                          .lowest = (double)FLT_MIN,
                          .highest = (double)FLT_MAX};
    for (size_t i = 0; i < n_numeric_bounds; i++)
        if (strcmp(numeric_bounds[i].device, device) == 0 &&
            strcmp(numeric_bounds[i].function, function) == 0 &&
            strcmp(numeric_bounds[i].form, form) == 0)
            found = numeric_bounds[i];
    found.is_pair =
        strcmp(function, "divide") == 0 || strcmp(function, "atan2") == 0;
    found.has_free_zeros = strstr(function, "_turns") != NULL;
    return found;
}

const char *argument_text(const struct error_at *at, bool is_pair, char *text)
{
    const double a = (double)fx8_bits_float(at->a);
    const double b = (double)fx8_bits_float(at->b);
    if (is_pair)
        snprintf(text, TABLE_TEXT, "%a, %a", a, b);
    else
        snprintf(text, TABLE_TEXT, "%a", a);
    return text;
}

static size_t judge(const struct bound *bound, const char *unit, double most,
                    const struct error_at *at, bool is_tight)
{
    char text[TABLE_TEXT];
    const bool is_exceeded = at->error > most;
    /* those of cards are published for all of them */
    const bool is_loose = is_tight && strcmp(bound->device, "cuda") != 0 &&
                          most > at->error * MOST_SLACK;
    if (is_exceeded || is_loose)
        fprintf(stderr, "%s %s: %s error %.7g at %s, bound %.7g is %s\n",
                bound->function, bound->form, unit, at->error,
                argument_text(at, bound->is_pair, text), most,
                is_exceeded ? "exceeded" : "loose");
    return is_exceeded || is_loose;
}

size_t judge_row(const struct table_row *row, bool is_tight)
{
    const struct bound *bound = &row->bound;
    const struct measured *m = &row->measured;
    char text[TABLE_TEXT];
    if (bound->max_ulp == HUGE_VAL)
        return 0;
    if (m->n_wrong > 0)
        fprintf(stderr,
                "%s %s: %" PRIu64
                " wrong NaNs, infinities or zeros, first at %s\n",
                bound->function, bound->form, m->n_wrong,
                argument_text(&m->wrong, bound->is_pair, text));
    return judge(bound, "ulp", bound->max_ulp, &m->ulp, is_tight) +
           judge(bound, "relative", bound->max_relative, &m->relative,
                 is_tight) +
           (m->n_wrong > 0);
}

static size_t print_row(FILE *file, const struct table_row *row, bool is_tight)
{
    const struct bound *bound = &row->bound;
    const struct measured *m = &row->measured;
    char ulp_at[TABLE_TEXT], relative_at[TABLE_TEXT];
    const size_t n_faults = judge_row(row, is_tight);
    fprintf(file,
            "| %s | %s | %" PRIu64 " | %.7g | %s | %.5g | %s | %.6g | %.5g | "
            "%s |\n",
            bound->function, bound->form, m->n, m->ulp.error,
            argument_text(&m->ulp, bound->is_pair, ulp_at), m->relative.error,
            argument_text(&m->relative, bound->is_pair, relative_at),
            bound->max_ulp, bound->max_relative,
            n_faults == 0 ? "yes" : "**no**");
    return n_faults;
}

size_t write_table(const char *path, const struct table *table)
{
    size_t n_faults = 0;
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    fprintf(file,
            "# %s\n\n%s\n\nAn ulp is the spacing of floats at the exact value, "
            "2^-149 at least; an infinity\ncounts as 2^128.  Where a bound has "
            "a range (kernels/numeric/bounds.h), the errors\nare of arguments "
            "in it.  Functions of one argument: %" PRIu64 " of 2^32; of\ntwo: "
            "%" PRIu64 " pairs at most, half of them over all pairs of "
            "exponents, half with\nexponents at most 16 apart, mantissas and "
            "signs random (seed %" PRIu64 ").\n\n"
            "| function | form | arguments | max ulp | at | max relative | at "
            "| bound: ulp | relative | ok |\n|---|---|---|---|---|---|---|---"
            "|---|---|\n",
            table->title, table->machine, table->n_floats, MOST_PAIRS,
            PAIR_SEED);
    for (size_t i = 0; i < table->n_rows; i++)
        n_faults +=
            print_row(file, &table->rows[i], table->n_floats == ALL_FLOATS);
    const bool is_written = ferror(file) == 0;
    if (fclose(file) != 0 || !is_written) {
        fprintf(stderr, "%s: cannot be written\n", path);
        return n_faults + 1;
    }
    fprintf(stderr, "%s\n", path);
    return n_faults;
}

uint64_t read_samples(int argc, char **argv)
{
    char *end;
    if (argc == 1)
        return ALL_FLOATS;
    if (argc == 3 && strcmp(argv[1], "--samples") == 0) {
        const uint64_t n = strtoull(argv[2], &end, 10);
        if (*end == '\0' && argv[2][0] != '-' && n <= ALL_FLOATS)
            return n;
    }
    fprintf(stderr,
            "usage: %s [--samples N]\n\n"
            "Measure every form of every function over all 2^32 floats, or N "
            "of them, and write\na table below validation/results/.  Exit "
            "status 1 when a bound of\nkernels/numeric/bounds.h is exceeded "
            "or, on a CPU over all floats, loose.\n",
            argv[0]);
    return 0;
}
