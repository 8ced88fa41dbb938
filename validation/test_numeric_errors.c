/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_numeric_errors.c -- every form of every function stays within its bound
 * in kernels/numeric/bounds.h and gives the same bits in every variant: over a
 * sample, around the arguments where exhaustive runs found the largest errors,
 * and over all floats in the long version.
 *
 * Shows (kernels, errors of the functions): every form stays within its bound
 *     in kernels/numeric/bounds.h, every bound is reached, variants are equal;
 *     over a sample of all exponents and around the arguments of the largest
 *     errors, with `FX8_LONG=1` over all 2³² floats; the measurement itself
 *     works on known errors (`make numerics` and `make numerics-gpu` write
 *     `results/numerics-*.md`)
 * Within: the bounds themselves, each at most 2 % above what an exhaustive run
 *     measured
 * Because: the references are in double, within 2⁻⁴⁵ of long double (2⁻²¹ of an
 *     ulp; 2⁻⁵¹ seen)
 */
#include <math.h>
#include <stdio.h>

#include "config/base/parallel.h"
#include "validation/numerics/sample.h"
#include "validation/numerics/survey.h"
#include "validation/numerics/table.h"
#include "validation/numerics/worst_arguments.h"
#include "validation/testing.h"

/* Floats and pairs tried: all exponents with many mantissas.  Fewer under the
 * checkers, which test the code, not its errors. */
#if FX8_CHECKED
#define N_SHORT (UINT64_C(1) << 18)
#define N_LONG  (UINT64_C(1) << 24)
#else
#define N_SHORT (UINT64_C(1) << 22)
#define N_LONG  ALL_FLOATS
#endif

/* Floats tried on either side of a worst argument. */
#define NEIGHBOURS 256

/* --- forms and bounds --------------------------------------------------------
 */

static bool is_listed(const struct subject *subjects, size_t n,
                      const char *function, const char *form)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(subjects[i].function->name, function) == 0 &&
            strcmp(subjects[i].form, form) == 0)
            return true;
    return false;
}

TEST(test_forms_and_bounds_belong_together)
{
    struct subject subjects[MAX_SUBJECTS];
    const size_t n = list_subjects(subjects);
    assert_true(n > 0);
    size_t missing = 0;
    for (size_t i = 0; i < n; i++)
        if (!subjects[i].is_library && !subjects[i].has_bound) {
            print_error("%s %s has no bound\n", subjects[i].function->name,
                        subjects[i].form);
            missing++;
        }
    for (size_t i = 0; i < bound_count(); i++) {
        const char *device, *function, *form;
        bound_names(i, &device, &function, &form);
        if (strcmp(device, "host") == 0 &&
            !is_listed(subjects, n, function, form)) {
            print_error("there is no %s %s\n", function, form);
            missing++;
        }
    }
    assert_int_equal(missing, 0);
}

/* --- errors ------------------------------------------------------------------
 */

static size_t count_faults(const struct subject *subject,
                           const struct finding *finding, bool is_tight)
{
    const struct table_row row = {subject->function->name, subject->form,
                                  subject->has_bound ? &subject->bound : NULL,
                                  &finding->measured};
    size_t faults = judge_row(&row, is_tight, stderr);
    for (size_t variant = 1; variant < subject->n_variants; variant++) {
        char text[TABLE_TEXT];
        if (finding->n_differing[variant] == 0)
            continue;
        print_error("%s %s: %s and %s differ, first at %s\n", row.function,
                    row.form, subject->variant[0], subject->variant[variant],
                    argument_text(&finding->differing[variant],
                                  subject->function->binary != NULL, text));
        faults++;
    }
    return faults;
}

/* All forms of all functions but the C library's. */
static size_t survey_all(const struct extent *extent)
{
    struct subject all[MAX_SUBJECTS], subjects[MAX_SUBJECTS];
    struct finding findings[MAX_SUBJECTS];
    struct reference_check check;
    const size_t n_all = list_subjects(all);
    size_t faults = 0;
    assert_true(n_all > 0);
    for (size_t f = 0; f < function_count(); f++) {
        size_t n = 0;
        for (size_t i = 0; i < n_all; i++)
            if (all[i].function == function_at(f) && !all[i].is_library)
                subjects[n++] = all[i];
        if (n == 0)
            continue;
        assert_true(survey_function(subjects, n, extent, findings, &check));
        for (size_t i = 0; i < n; i++)
            faults += count_faults(&subjects[i], &findings[i], false);
        assert_true(check.n > 0);
        if (check.deviation.error > REFERENCE_LIMIT) {
            print_error("%s: the reference deviates by %g\n",
                        function_at(f)->name, check.deviation.error);
            faults++;
        }
    }
    return faults;
}

TEST(test_all_forms)
{
    const struct extent extent = {is_long() ? N_LONG : N_SHORT,
                                  !is_long()            ? N_SHORT
                                  : N_LONG < MOST_PAIRS ? N_LONG
                                                        : MOST_PAIRS,
                                  fx8_parallel_cpus(), false};
    assert_int_equal(survey_all(&extent), 0);
}

/* --- the arguments of the largest errors ------------------------------ */

struct worst_row {
    const char *function, *form;
    uint32_t a, b;
};

#define ROW(function, form, a, b) {function, form, a, b},
static const struct worst_row worst[] = {WORST_ARGUMENTS(ROW)};
#define N_WORST (sizeof worst / sizeof *worst)

static void add_neighbours(const struct subject *subject,
                           const struct worst_row *row, struct finding *finding)
{
    uint32_t a[2 * NEIGHBOURS + 1], b[2 * NEIGHBOURS + 1];
    for (uint32_t k = 0; k < 2 * NEIGHBOURS + 1; k++) {
        a[k] = row->a + k - NEIGHBOURS;
        b[k] = row->b;
    }
    survey_arguments(subject, 2 * NEIGHBOURS + 1, a, b, finding);
}

/* Every documented bound is nearly reached.  The C library's functions have no
 * bound here. */
TEST(test_worst_arguments)
{
    struct subject subjects[MAX_SUBJECTS];
    const size_t n = list_subjects(subjects);
    size_t faults = 0;
    for (size_t i = 0; i < n; i++) {
        const struct subject *subject = &subjects[i];
        struct finding finding = {0};
        if (subject->is_library)
            continue;
        for (size_t k = 0; k < N_WORST; k++)
            if (strcmp(worst[k].function, subject->function->name) == 0 &&
                strcmp(worst[k].form, subject->form) == 0)
                add_neighbours(subject, &worst[k], &finding);
        if (finding.measured.n == 0) {
            print_error("%s %s has no worst argument\n",
                        subject->function->name, subject->form);
            faults++;
        }
        const bool is_ours = strcmp(subject->form, "ieee") != 0;
        faults += count_faults(subject, &finding, is_ours);
    }
    for (size_t k = 0; k < N_WORST; k++)
        faults += !is_listed(subjects, n, worst[k].function, worst[k].form);
    assert_int_equal(faults, 0);
}

/* --- the measurement itself ------------------------------------------- */

/* What measure() finds for a result y where x is correct, without a bound. */
static struct measured measured_of(double x, float y)
{
    const struct bound bound = {HUGE_VAL, HUGE_VAL, 0, -HUGE_VAL, HUGE_VAL};
    const struct argument argument = argument_of(&bound, 0x3f800000);
    const struct expected expected = expect(x);
    struct measured measured = {0};
    measure(&measured, &bound, &expected, &argument, y);
    return measured;
}

TEST(test_errors_are_seen)
{
    static const struct {
        double x;
        float y;
        double ulp, relative;
        uint64_t special, zero_sign, not_nearest;
    } cases[] = {
        {1.0, 1.0f, 0, 0, 0, 0, 0},
        {1.0, 0x1.000002p0f, 1, 0x1p-23, 0, 0, 1},
        {1.0, 0x1.fffffep-1f, 0.5, 0x1p-24, 0, 0, 1},
        {0x1.0000008p0, 1.0f, 0.25, 0x1p-25 / 0x1.0000008p0, 0, 0, 0},
        {-3.0, 3.0f, 0x1.8p24, 2, 0, 0, 1},
        {0x1p-149, 0.0f, 1, 0, 0, 0, 1},
        {0x1p-160, 0x1p-149f, 1 - 0x1p-11, 0, 0, 0, 1},
        {0.0, -0.0f, 0, 0, 0, 1, 1},
        {-0.0, 0x1p-126f, 0x1p23, HUGE_VAL, 0, 0, 1},
        {0x1p128, 0x1.fffffep127f, 1, 0, 0, 0, 1},
        {0x1p200, HUGE_VALF, 0, 0, 0, 0, 0},
        {0x1p127, HUGE_VALF, 0x1p23, 1, 0, 0, 1},
        {HUGE_VAL, HUGE_VALF, 0, 0, 0, 0, 0},
        {HUGE_VAL, -HUGE_VALF, 0, 0, 1, 0, 1},
        {HUGE_VAL, 0x1.fffffep127f, 0, 0, 1, 0, 1},
        {NAN, NAN, 0, 0, 0, 0, 0},
        {NAN, 0.0f, 0, 0, 1, 0, 1},
        {0.5, NAN, 0, 0, 1, 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct measured m = measured_of(cases[i].x, cases[i].y);
        if (m.n != 1 || m.ulp.error != cases[i].ulp ||
            m.relative.error != cases[i].relative ||
            m.n_special != cases[i].special ||
            m.n_zero_sign != cases[i].zero_sign ||
            m.n_not_nearest != cases[i].not_nearest)
            fail_msg("%a instead of %a: %g ulp, %g relative, %d special, %d "
                     "signs, %d not nearest",
                     (double)cases[i].y, cases[i].x, m.ulp.error,
                     m.relative.error, (int)m.n_special, (int)m.n_zero_sign,
                     (int)m.n_not_nearest);
    }
}

/* A function that is wrong once in 2^32: the fast path of the survey must not
 * miss it. */
#define WRONG_AT 0x4048f5c3u /* 3.14 */

static void wrong_sqrt(size_t n, const float *x, float *y)
{
    for (size_t k = 0; k < n; k++)
        y[k] = fx8_float_bits(x[k]) == WRONG_AT ? 1.0f : sqrtf(x[k]);
}

static void right_sqrt(size_t n, const float *x, float *y)
{
    for (size_t k = 0; k < n; k++)
        y[k] = sqrtf(x[k]);
}

TEST(test_one_wrong_result_is_found)
{
    struct subject subject = {
        .function = function_named("sqrt"),
        .form = "wrong",
        .has_bound = true,
        .bound = {0.5, 0x1p-24, 0, -HUGE_VAL, HUGE_VAL},
        .unary = {wrong_sqrt, right_sqrt},
        .variant = {"first", "second"},
        .n_variants = 2,
    };
    uint32_t a[2048], b[2048] = {0};
    for (uint32_t k = 0; k < 2048; k++)
        a[k] = WRONG_AT - 1500 + k;
    struct finding finding = {0};
    survey_arguments(&subject, 2048, a, b, &finding);
    assert_int_equal(finding.measured.ulp.a, WRONG_AT);
    assert_int_equal(finding.measured.relative.a, WRONG_AT);
    assert_int_equal(finding.n_differing[1], 1);
    assert_int_equal(finding.differing[1].a, WRONG_AT);
    assert_int_equal(finding.measured.n, 2048);
    assert_int_equal(finding.measured.n_not_nearest, 1);

    /* at the neighbours the bound holds, and is reached */
    const struct table_row row = {"sqrt", "wrong", &subject.bound,
                                  &finding.measured};
    assert_int_equal(judge_row(&row, false, NULL), 2);
    subject.unary[0] = right_sqrt;
    finding = (struct finding){0};
    survey_arguments(&subject, 2048, a, b, &finding);
    assert_int_equal(judge_row(&row, false, NULL), 0);
    assert_int_equal(finding.n_differing[1], 0);
    subject.bound.max_ulp = 1.0;
    assert_int_equal(judge_row(&row, false, NULL), 0);
    assert_int_equal(judge_row(&row, true, NULL), 2);
}
