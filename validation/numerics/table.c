/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <string.h>

#include "validation/numerics/references.h"
#include "validation/numerics/table.h"

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

static bool is_pair(const struct table_row *row)
{
    return function_named(row->function)->binary != NULL;
}

void print_table_head(FILE *file)
{
    fputs("| function | form | arguments | max ulp | at | max relative | at "
          "| max absolute | not nearest | bound: ulp | relative | absolute "
          "| ok |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
          file);
}

static void print_error(FILE *file, const struct table_row *row,
                        const char *format, const struct error_at *at)
{
    char text[TABLE_TEXT];
    if (at->error == 0.0)
        fputs(" 0 | |", file);
    else {
        fprintf(file, format, at->error);
        fprintf(file, " %s |", argument_text(at, is_pair(row), text));
    }
}

void print_table_row(FILE *file, const struct table_row *row, bool is_tight)
{
    const struct measured *m = row->measured;
    fprintf(file, "| %s | %s | %" PRIu64 " |", row->function, row->form, m->n);
    print_error(file, row, " %.7g |", &m->ulp);
    print_error(file, row, " %.5g |", &m->relative);
    fprintf(file, " %.3g | %.3g %% |", m->absolute.error,
            100.0 * (double)m->n_not_nearest / (double)m->n);
    if (row->bound == NULL) {
        fputs(" | | | |\n", file);
        return;
    }
    fprintf(file, " %.6g | %.5g | %.5g | %s |\n", row->bound->max_ulp,
            row->bound->max_relative, row->bound->max_absolute,
            judge_row(row, is_tight, NULL) == 0 ? "yes" : "**no**");
}

void print_legend(FILE *file)
{
    fputs(
        "An ulp is the spacing of floats at the exact value, 2^-149 at least; "
        "an infinity\ncounts as 2^128.  \"Not nearest\": results other than "
        "the float nearest to the\nexact value.  Where a bound has an absolute "
        "part or a range\n(kernels/numeric/bounds.h), the errors are of "
        "results "
        "off by more than that and of\narguments in that range.\n",
        file);
}

/* --- judging -----------------------------------------------------------------
 */

/* One error against its bound. */
struct criterion {
    const char *name;
    double bound;
    const struct error_at *at;
};

static size_t judge(const struct table_row *row, const struct criterion *c,
                    bool is_tight, FILE *file)
{
    char text[TABLE_TEXT];
    const bool is_exceeded = c->at->error > c->bound;
    const bool is_loose = is_tight && c->bound > c->at->error * MOST_SLACK;
    if (file != NULL && (is_exceeded || is_loose))
        fprintf(file, "%s %s: %s error %.7g at %s, bound %.7g is %s\n",
                row->function, row->form, c->name, c->at->error,
                argument_text(c->at, is_pair(row), text), c->bound,
                is_exceeded ? "exceeded" : "loose");
    return is_exceeded || is_loose ? 1 : 0;
}

static size_t judge_count(const struct table_row *row, const char *name,
                          uint64_t count, const struct error_at *at, FILE *file)
{
    char text[TABLE_TEXT];
    if (file != NULL && count > 0)
        fprintf(file, "%s %s: %" PRIu64 " %s, first at %s\n", row->function,
                row->form, count, name, argument_text(at, is_pair(row), text));
    return count > 0 ? 1 : 0;
}

size_t judge_row(const struct table_row *row, bool is_tight, FILE *file)
{
    if (row->bound == NULL)
        return 0;
    const struct measured *m = row->measured;
    const struct criterion criteria[] = {
        {"ulp", row->bound->max_ulp, &m->ulp},
        {"relative", row->bound->max_relative, &m->relative},
        {"absolute", row->bound->max_absolute, &m->beyond},
    };
    size_t faults = 0;
    /* an error above both an absolute and a relative bound is in both figures:
     * the absolute one is judged only with an absolute bound */
    const size_t n = row->bound->max_absolute > 0.0 ? 3 : 2;
    for (size_t i = 0; i < n; i++)
        faults += judge(row, &criteria[i], is_tight, file);
    faults += judge_count(row, "wrong NaN or infinity", m->n_special,
                          &m->special, file);
    if (!function_named(row->function)->has_free_zeros)
        faults += judge_count(row, "zeros of the wrong sign", m->n_zero_sign,
                              &m->zero_sign, file);
    return faults;
}
