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
 * Because: the references are in double: 2⁻²⁷ of a float's ulp
 */
#include <math.h>
#include <stdio.h>

#include "validation/numerics/sample.h"
#include "validation/numerics/survey.h"
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

/* Forms and bounds belong together: each has the other. */
static size_t list_all(struct subject *subjects)
{
    const size_t n = list_subjects(subjects);
    assert_int_not_equal(n, 0);
    return n;
}

TEST(test_all_forms)
{
    struct subject subjects[FX8_MAX_FUNCTION_FORMS];
    const size_t n = list_all(subjects);
    const uint64_t n_floats = is_long() ? N_LONG : N_SHORT;
    size_t n_faults = 0;
    survey(subjects, n, n_floats,
           n_floats < MOST_PAIRS ? n_floats : MOST_PAIRS);
    for (size_t i = 0; i < n; i++)
        n_faults += judge_subject(&subjects[i], false);
    assert_int_equal(n_faults, 0);
}

/* --- the arguments of the largest errors ------------------------------ */

/* Arguments of the largest error in ulps and of the largest relative one, from
 * the columns "at" of `make numerics`. */
static const struct {
    const char *function, *form;
    float ulp[2], relative[2];
} worst[] = {
    {"reciprocal", "ieee", {0x1.f8646ep-126f}, {0x1.fffffep-126f}},
    {"reciprocal", "fast", {0x1.f8646ep-126f}, {0x1.fffffep-126f}},
    {"rsqrt", "ieee", {0x1.7431c6p-125f}, {0x1.fffffcp-127f}},
    {"rsqrt", "fast", {0x1.019566p-126f}, {0x1.fffffep-125f}},
    {"sin_turns", "ieee", {0x1.fafebp-5f}, {0x1.45f54p-20f}},
    {"sin_turns", "fast", {0x1.feffp-3f}, {0x1.476af4p-10f}},
    {"cos_turns", "ieee", {0x1.814054p-3f}, {0x1.555494p-3f}},
    {"cos_turns", "fast", {0x1.16fb24p-5f}, {0x1.fd215ep-4f}},
    {"exp2", "ieee", {-0x1.4795f8p-7f}, {0x1.715476p-24f}},
    {"exp2", "fast", {-0x1.f9fc6ap6f}, {-0x1.ff2c82p-2f}},
    {"log2", "ieee", {0x1.0057f8p0f}, {0x1.06021p0f}},
    {"log2", "fast", {0x1.697732p0f}, {0x1.69bdfep-1f}},
    {"log10", "ieee", {0x1.f6e9d6p-1f}, {0x1.f6d316p-1f}},
    {"log10", "fast", {0x1.55122ep0f}, {0x1.55868ap0f}},
    {"tanh", "ieee", {0x1.ddca18p-3f}, {0x1.2755fap-3f}},
    {"tanh", "fast", {0x1.405e0ap-1f}, {0x1.382696p-1f}},
    {"tanh", "ex2", {0x1.47ae12p-8f}, {0x1.47ae12p-8f}},
    {"atanh", "ieee", {0x1.ec2dd8p-4f}, {0x1.da4d7ep-2f}},
    {"atanh", "fast", {0x1.5e7ef6p-1f}, {0x1.34f3e6p-1f}},
    {"divide", "ieee", {0x1p-149f, -0x1p1f}, {0x1p-149f, 0x1.fffffep-126f}},
    {"divide", "fast", {0x1p-149f, -0x1p1f}, {0x1p-149f, 0x1.fffffep-126f}},
    {"divide",
     "markstein",
     {0x1p-149f, -0x1p1f},
     {0x1p-149f, 0x1.fffffep-126f}},
    {"atan2",
     "ieee",
     {0x1.000d74p117f, 0x1.fffffep121f},
     {0x1.11f5fap116f, -0x1.fa4fe8p114f}},
    {"atan2",
     "fast",
     {-0x1.6633dp-74f, 0x1.660efap-74f},
     {-0x1.6633dp-74f, 0x1.660efap-74f}},
};
#define N_WORST (sizeof worst / sizeof *worst)

static void add_neighbours(struct subject *subject, const float at[2])
{
    uint32_t a[2 * NEIGHBOURS + 1], b[2 * NEIGHBOURS + 1];
    for (uint32_t k = 0; k < 2 * NEIGHBOURS + 1; k++) {
        a[k] = fx8_float_bits(at[0]) + k - NEIGHBOURS;
        b[k] = fx8_float_bits(at[1]);
    }
    survey_arguments(subject, 2 * NEIGHBOURS + 1, a, b);
}

/* Every documented bound is nearly reached.  What "ieee" takes from the C
 * library may be better elsewhere. */
TEST(test_worst_arguments)
{
    struct subject subjects[FX8_MAX_FUNCTION_FORMS];
    const size_t n = list_all(subjects);
    size_t n_faults = 0;
    assert_int_equal(n, N_WORST);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(subjects[i].row.bound.function, worst[i].function);
        assert_string_equal(subjects[i].row.bound.form, worst[i].form);
        add_neighbours(&subjects[i], worst[i].ulp);
        add_neighbours(&subjects[i], worst[i].relative);
        n_faults +=
            judge_subject(&subjects[i], strcmp(worst[i].form, "ieee") != 0);
    }
    assert_int_equal(n_faults, 0);
}

/* --- the measurement itself ------------------------------------------- */

TEST(test_errors_are_seen)
{
    static const struct {
        double x; /* correct */
        float y;  /* the result */
        double ulp, relative;
        bool is_wrong;
    } cases[] = {
        {1.0, 1.0f, 0, 0, false},
        {1.0, 0x1.000002p0f, 1, 0x1p-23, false},
        {1.0, 0x1.fffffep-1f, 0.5, 0x1p-24, false},
        {0x1.0000008p0, 1.0f, 0.25, 0x1p-25 / 0x1.0000008p0, false},
        {-3.0, 3.0f, 0x1.8p24, 2, false},
        {0x1p-149, 0.0f, 1, 0, false},
        {0x1p-160, 0x1p-149f, 1 - 0x1p-11, 0, false},
        {0.0, -0.0f, 0, 0, true},
        {-0.0, 0x1p-126f, 0x1p23, HUGE_VAL, false},
        {0x1p128, 0x1.fffffep127f, 1, 0, false},
        {0x1p200, HUGE_VALF, 0, 0, false},
        {0x1p127, HUGE_VALF, 0x1p23, 1, false},
        {HUGE_VAL, HUGE_VALF, 0, 0, false},
        {HUGE_VAL, -HUGE_VALF, 0, 0, true},
        {HUGE_VAL, 0x1.fffffep127f, 0, 0, true},
        {NAN, NAN, 0, 0, false},
        {NAN, 0.0f, 0, 0, true},
        {0.5, NAN, 0, 0, true},
    };
    const struct bound bound = {.lowest = -HUGE_VAL, .highest = HUGE_VAL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct measured m = {0};
        measure(&m, &bound, 0x3f800000, 0, cases[i].x, cases[i].y);
        if (m.ulp.error != cases[i].ulp ||
            m.relative.error != cases[i].relative ||
            m.n_wrong != cases[i].is_wrong)
            fail_msg("%a instead of %a: %g ulp, %g relative, %d wrong",
                     (double)cases[i].y, cases[i].x, m.ulp.error,
                     m.relative.error, (int)m.n_wrong);
    }
}

/* A bound may be neither exceeded nor, over all arguments on the host, loose;
 * no result may be of another kind than the correct one, nor differ between
 * variants. */
TEST(test_faults_are_judged)
{
    static const struct {
        const char *device, *function, *form;
        double ulp;
        uint64_t n_wrong;
        bool differs;
        size_t n_faults, n_faults_if_tight;
    } cases[] = {{"host", "divide", "markstein", 0.5, 0, false, 0, 0},
                 {"host", "divide", "markstein", 0.51, 0, false, 1, 1},
                 {"host", "divide", "markstein", 0.48, 0, false, 0, 1},
                 {"host", "divide", "markstein", 0.5, 1, false, 1, 1},
                 {"host", "divide", "markstein", 0.5, 0, true, 1, 1},
                 {"cuda", "atanh", "ieee", 3.15, 0, false, 0, 0},
                 {"cuda", "atanh", "ieee", 3.51, 0, false, 1, 1}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct subject subject = {
            .row = {.bound = find_bound(cases[i].device, cases[i].function,
                                        cases[i].form),
                    .measured = {.ulp.error = cases[i].ulp,
                                 .relative.error = 0x1p-24,
                                 .n_wrong = cases[i].n_wrong}},
            .variant = {"one", "another"},
            .n_variants = 2,
            .differing[1].error = cases[i].differs};
        assert_int_equal(judge_subject(&subject, false), cases[i].n_faults);
        assert_int_equal(judge_subject(&subject, true),
                         cases[i].n_faults_if_tight);
    }
}
