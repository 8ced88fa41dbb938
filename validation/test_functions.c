/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_functions.c -- the functions of post-processing over arrays: every
 * variant equals the reference bit for bit, at any length and place; special
 * and exact values are as the headers of kernels/numeric/ state; angles are
 * reduced exactly. test_numeric_errors.c measures the errors elsewhere.
 *
 * Shows (kernels, functions): every variant equals the reference at any length
 *     and place; special values, whole powers and quarter turns are correct
 * Within: to the bit; angles 2⁻²¹
 * Because: one definition serves all variants; the limit is twice the bound of
 *     the angle functions, compared with the C library
 */
#include <float.h>

#include "kernels/numeric/target.h"
#include "kernels/operations.h"
#include "validation/testing.h"

#define N_BITS    4096 /* arguments compared between variants */
#define N_RAGGED  40   /* longest ragged array */
#define N_OFFSETS 4    /* places within 16 bytes */
#define N_GUARD   16   /* floats of garbage after a result */

/** Equal bit for bit, any NaN to any NaN. */
static bool is_same(float a, float b)
{
    return fx8_float_bits(a) == fx8_float_bits(b) || (a != a && b != b);
}

/** Apply a form to n arguments, of which b is for those that take two. */
static void apply(const struct fx8_function_form *form, size_t n,
                  const float *a, const float *b, float *y)
{
    if (form->unary != NULL)
        form->unary(n, a, y);
    else
        form->binary(n, a, b, y);
}

/** The form of a variant; NULL where it has none of these names. */
static const struct fx8_function_form *find_form(
    const struct fx8_operations *operations, const char *function,
    const char *form)
{
    for (size_t i = 0; i < operations->n_forms; i++)
        if (strcmp(operations->forms[i].function, function) == 0 &&
            strcmp(operations->forms[i].form, form) == 0)
            return &operations->forms[i];
    return NULL;
}

static const char *const mode_names[FX8_N_FUNCTIONS_MODES] = {"ieee", "fast"};

/* --- variants against the reference ----------------------------------- */

/** Arguments of every exponent and sign: the ends and the middle of each, and
 *  random ones; the second operand near the first, far from it, or equal. */
static void fill_arguments(float *a, float *b, struct generator *g)
{
    static const uint32_t mantissas[] = {0,        1,        0x3504f2,
                                         0x3504f3, 0x400000, 0x7fffff};
    size_t n = 0;
    for (uint32_t top = 0; top < 512; top++)
        for (size_t i = 0; i < 6; i++)
            a[n++] = fx8_bits_float(top << 23 | mantissas[i]);
    while (n < N_BITS)
        a[n++] = fx8_bits_float((uint32_t)random_bits(g));
    for (size_t k = 0; k < N_BITS; k++) {
        const uint64_t bits = random_bits(g);
        const uint32_t near = fx8_float_bits(a[k]) ^ (uint32_t)(bits >> 40);
        b[k] = bits % 4 == 0   ? a[k]
               : bits % 4 == 1 ? fx8_bits_float((uint32_t)(bits >> 32))
                               : fx8_bits_float(near ^ (uint32_t)bits << 31);
    }
}

/** A call of a form at any place, whole or in place of an operand. */
struct call {
    const struct fx8_function_form *form;
    size_t n, offset;
    const float *a, *b, *expected;
};

/** The call into garbage, or over its operand 1 or 2: n results, and nothing
 *  beyond them. */
static void check_call(const struct call *call, int over)
{
    const size_t n = call->n;
    float *memory = exact((call->offset + n + N_GUARD) * sizeof(float));
    float *y = memory + call->offset;
    if (over > 0)
        memcpy(y, over == 1 ? call->a : call->b, n * sizeof(float));
    apply(call->form, n, over == 1 ? y : call->a, over == 2 ? y : call->b, y);
    for (size_t k = 0; k < n; k++)
        if (!is_same(y[k], call->expected[k]))
            fail_msg("%s %s (%a, %a) at %zu of %zu: %a, expected %a",
                     call->form->function, call->form->form, (double)call->a[k],
                     (double)call->b[k], k, n, (double)y[k],
                     (double)call->expected[k]);
    for (size_t i = 0; i < N_GUARD * sizeof(float); i++)
        assert_int_equal(((uint8_t *)(y + n))[i], GARBAGE);
    free(memory);
}

/** Each form of `variant` that the reference has, at `offset` within 16 bytes.
 */
static void check_variant(const struct fx8_operations *variant, size_t n,
                          size_t offset, const float *a, const float *b)
{
    const struct fx8_operations *reference = fx8_operations_variant(0);
    float *expected = exact(n * sizeof(float));
    for (size_t i = 0; i < reference->n_forms; i++) {
        const struct fx8_function_form *definition = &reference->forms[i];
        const struct fx8_function_form *form =
            find_form(variant, definition->function, definition->form);
        for (size_t k = 0; k < n; k++)
            apply(definition, 1, a + k, b + k, expected + k);
        const struct call call = {form, n, offset, a, b, expected};
        const int n_operands = form->unary != NULL ? 1 : 2;
        for (int over = 0; over <= n_operands; over++)
            check_call(&call, over);
    }
    free(expected);
}

/* This includes the reference against itself, one value at a time: its loops
 * are vectors, too. */
TEST(levels_agree_to_the_bit)
{
    struct generator g = {71};
    float *a = temporary(N_BITS * sizeof(float)),
          *b = temporary(N_BITS * sizeof(float));
    fill_arguments(a, b, &g);
    for (size_t index = 0; index < fx8_operations_variants(); index++) {
        const struct fx8_operations *variant = fx8_operations_variant(index);
        if (variant == NULL)
            continue;
        check_variant(variant, N_BITS, 0, a, b);
        for (size_t n = 0; n <= N_RAGGED; n++) {
            const size_t first = random_below(&g, N_BITS - N_RAGGED);
            check_variant(variant, n, n % N_OFFSETS, a + first, b + first);
        }
    }
}

/* --- special and exact values ----------------------------------------------
 */

/** y = f(a) or f(a, b), in both modes and every other form; angles as IEEE 754
 *  says. */
static const struct {
    const char *function;
    float a, b, y;
} special_values[] = {
    {"reciprocal", 0.0f, 0, INFINITY},
    {"reciprocal", -0.0f, 0, -INFINITY},
    {"reciprocal", INFINITY, 0, 0.0f},
    {"reciprocal", -INFINITY, 0, -0.0f},
    {"reciprocal", -4.0f, 0, -0.25f},
    {"reciprocal", 0x1p-149f, 0, INFINITY},
    {"reciprocal", 0x1p127f, 0, 0x1p-127f},
    {"rsqrt", 0.0f, 0, INFINITY},
    {"rsqrt", -0.0f, 0, -INFINITY},
    {"rsqrt", INFINITY, 0, 0.0f},
    {"rsqrt", -1.0f, 0, NAN},
    {"rsqrt", -INFINITY, 0, NAN},
    {"rsqrt", 16.0f, 0, 0.25f},
    {"rsqrt", 0x1p-148f, 0, 0x1p74f},
    {"sin_turns", INFINITY, 0, NAN},
    {"sin_turns", -INFINITY, 0, NAN},
    {"cos_turns", INFINITY, 0, NAN},
    {"cos_turns", -INFINITY, 0, NAN},
    {"exp2", INFINITY, 0, INFINITY},
    {"exp2", -INFINITY, 0, 0.0f},
    {"exp2", 0.0f, 0, 1.0f},
    {"exp2", -0.0f, 0, 1.0f},
    {"exp2", 128.0f, 0, INFINITY},
    {"exp2", FLT_MAX, 0, INFINITY},
    {"exp2", -FLT_MAX, 0, 0.0f},
    {"exp2", -150.0f, 0, 0.0f},
    {"exp2", 0x1p-149f, 0, 1.0f},
    {"log2", 0.0f, 0, -INFINITY},
    {"log2", -0.0f, 0, -INFINITY},
    {"log2", INFINITY, 0, INFINITY},
    {"log2", -INFINITY, 0, NAN},
    {"log2", -1.0f, 0, NAN},
    {"log2", -0x1p-149f, 0, NAN},
    {"log10", 0.0f, 0, -INFINITY},
    {"log10", -0.0f, 0, -INFINITY},
    {"log10", 1.0f, 0, 0.0f},
    {"log10", INFINITY, 0, INFINITY},
    {"log10", -INFINITY, 0, NAN},
    {"log10", -FLT_MIN, 0, NAN},
    {"tanh", 0.0f, 0, 0.0f},
    {"tanh", -0.0f, 0, -0.0f},
    {"tanh", 0x1p-149f, 0, 0x1p-149f},
    {"tanh", INFINITY, 0, 1.0f},
    {"tanh", -INFINITY, 0, -1.0f},
    {"tanh", FLT_MAX, 0, 1.0f},
    {"tanh", -20.0f, 0, -1.0f},
    {"atanh", 0.0f, 0, 0.0f},
    {"atanh", -0.0f, 0, -0.0f},
    {"atanh", -0x1p-149f, 0, -0x1p-149f},
    {"atanh", 1.0f, 0, INFINITY},
    {"atanh", -1.0f, 0, -INFINITY},
    {"atanh", 1.0f + FLT_EPSILON, 0, NAN},
    {"atanh", -FLT_MAX, 0, NAN},
    {"atanh", INFINITY, 0, NAN},
    {"atan2", 0.0f, 0.0f, 0.0f},
    {"atan2", -0.0f, 0.0f, -0.0f},
    {"atan2", 0.0f, -0.0f, (float)M_PI},
    {"atan2", -0.0f, -0.0f, -(float)M_PI},
    {"atan2", 0.0f, 1.0f, 0.0f},
    {"atan2", -0.0f, 0x1p-149f, -0.0f},
    {"atan2", 0.0f, -0x1p-149f, (float)M_PI},
    {"atan2", -0.0f, -FLT_MAX, -(float)M_PI},
    {"atan2", 0x1p-149f, 0.0f, (float)M_PI_2},
    {"atan2", -0x1p-149f, -0.0f, -(float)M_PI_2},
    {"atan2", 0x1p-149f, 0x1p-149f, (float)M_PI_4},
    {"atan2", FLT_MAX, FLT_MAX, (float)M_PI_4},
    {"atan2", -3.0f, 3.0f, -(float)M_PI_4},
    {"atan2", 3.0f, -3.0f, (float)(3 * M_PI_4)},
    {"atan2", INFINITY, INFINITY, (float)M_PI_4},
    {"atan2", -INFINITY, INFINITY, -(float)M_PI_4},
    {"atan2", INFINITY, -INFINITY, (float)(3 * M_PI_4)},
    {"atan2", -INFINITY, -INFINITY, -(float)(3 * M_PI_4)},
    {"atan2", INFINITY, -5.0f, (float)M_PI_2},
    {"atan2", -INFINITY, 0.0f, -(float)M_PI_2},
    {"atan2", 7.0f, INFINITY, 0.0f},
    {"atan2", -7.0f, -INFINITY, -(float)M_PI},
    {"atan2", NAN, 0.0f, NAN},
    {"atan2", INFINITY, NAN, NAN},
    {"atan2", 0.0f, NAN, NAN},
    {"atan2", NAN, NAN, NAN},
    {"divide", 6.0f, 3.0f, 2.0f},
    {"divide", 0.0f, 0.0f, NAN},
    {"divide", -1.0f, 0.0f, -INFINITY},
    {"divide", INFINITY, INFINITY, NAN},
    {"divide", 1.0f, -INFINITY, -0.0f},
    {"divide", FLT_MAX, FLT_MAX, 1.0f},
    {"divide", 0x1p127f, 0x1p127f, 1.0f},
    {"divide", INFINITY, 0x1p127f, INFINITY},
    {"divide", 0x1p-149f, 0x1p-149f, 1.0f},
};

/** Angles other than zero, relative: 4 spacings of floats at most, twice the
 *  bound of bounds.h. */
#define ANGLE_LIMIT 0x1p-21

static void check_value(const struct fx8_function_form *form, float a, float b,
                        float expected)
{
    float y = 0.5f;
    apply(form, 1, &a, &b, &y);
    const double limit = strcmp(form->function, "atan2") == 0
                             ? ANGLE_LIMIT * fabs((double)expected)
                             : 0;
    if (!is_same(y, expected) &&
        !(limit > 0 && fabs((double)y - (double)expected) <= limit))
        fail_msg("%s %s (%a, %a): %a, expected %a", form->function, form->form,
                 (double)a, (double)b, (double)y, (double)expected);
}

/* The other variants equal the reference. */
TEST(special_values_are_as_documented)
{
    const struct fx8_operations *variant = fx8_operations_variant(0);
    for (size_t i = 0; i < variant->n_forms; i++) {
        const struct fx8_function_form *form = &variant->forms[i];
        size_t n = 0;
        for (size_t k = 0; k < LENGTH(special_values); k++) {
            if (strcmp(special_values[k].function, form->function) != 0)
                continue;
            check_value(form, special_values[k].a, special_values[k].b,
                        special_values[k].y);
            n++;
        }
        assert_true(n > 0);
    }
}

/* Whatever the payload of a NaN. */
TEST(nan_stays_nan)
{
    struct generator g = {74};
    const struct fx8_operations *variant = fx8_operations_variant(0);
    for (size_t i = 0; i < 500 * variant->n_forms; i++) {
        const struct fx8_function_form *form = &variant->forms[i / 500];
        const float nan = fx8_bits_float((uint32_t)random_in(&g, 1, 0x7fffff) |
                                         (i % 2 ? 0xff800000 : 0x7f800000));
        const float other = fx8_bits_float((uint32_t)random_bits(&g));
        check_value(form, nan, other, NAN);
        if (form->binary != NULL)
            check_value(form, other, nan, NAN);
    }
}

/* Whole powers of two, subnormal ones included, both ways; only fast mode
 * treats subnormal arguments of a logarithm as zero. */
TEST(powers_of_two_are_exact)
{
    const struct fx8_operations *variant = fx8_operations_variant(0);
    for (size_t mode = 0; mode < FX8_N_FUNCTIONS_MODES; mode++) {
        const struct fx8_function_form *exp2_form =
            find_form(variant, "exp2", mode_names[mode]);
        const struct fx8_function_form *log2_form =
            find_form(variant, "log2", mode_names[mode]);
        const struct fx8_function_form *log10_form =
            find_form(variant, "log10", mode_names[mode]);
        for (int k = -149; k < 128; k++) {
            const float power = ldexpf(1.0f, k);
            const bool is_zero = mode == FX8_FUNCTIONS_FAST && power < FLT_MIN;
            check_value(exp2_form, (float)k, 0.0f, power);
            check_value(log2_form, power, 0.0f, is_zero ? -INFINITY : (float)k);
            if (is_zero)
                check_value(log10_form, power, 0.0f, -INFINITY);
        }
    }
}

/* --- turns -------------------------------------------------------------------
 */

/** Sine and cosine of x in one mode of the reference. */
static void sine_and_cosine(size_t mode, float x, float *sine, float *cosine)
{
    const struct fx8_functions *f = &fx8_operations_variant(0)->functions[mode];
    f->sin_turns(1, &x, sine);
    f->cos_turns(1, &x, cosine);
}

/* Quarters of a turn up to 2^22 of either sign, and all floats from 2^23 up,
 * which are whole. */
TEST(quarters_are_exact)
{
    static const float sines[4] = {0.0f, 1.0f, 0.0f, -1.0f};
    struct generator g = {72};
    for (size_t mode = 0; mode < FX8_N_FUNCTIONS_MODES; mode++)
        for (int i = 0; i < 20000; i++) {
            const int64_t k =
                i < 100 ? i - 50 : random_in(&g, -(1 << 23), 1 << 23);
            float sine, cosine;
            sine_and_cosine(mode, (float)k * 0.25f, &sine, &cosine);
            assert_true(sine == sines[k & 3]);
            assert_true(cosine == sines[(k + 1) & 3]);
            const uint32_t huge =
                (uint32_t)random_in(&g, 0x4b000000, 0x7f7fffff);
            sine_and_cosine(mode,
                            fx8_bits_float(huge | (uint32_t)(i & 1) << 31),
                            &sine, &cosine);
            assert_true(sine == 0.0f);
            assert_true(cosine == 1.0f);
        }
}

/* A phase plus whole turns, where the sum is exact in float, has the same sine
 * and cosine as the phase itself. */
TEST(whole_turns_do_not_matter)
{
    struct generator g = {73};
    for (size_t mode = 0; mode < FX8_N_FUNCTIONS_MODES; mode++)
        for (int i = 0; i < 50000; i++) {
            const int bits = (int)random_below(&g, 23);
            const int64_t steps = random_in(&g, -(INT64_C(1) << bits) / 2,
                                            (INT64_C(1) << bits) / 2);
            const int64_t most = (INT64_C(1) << (23 - bits)) - 1;
            const float r = ldexpf((float)steps, -bits);
            const float x = r + (float)random_in(&g, -most, most);
            float sine, cosine, sine_r, cosine_r;
            sine_and_cosine(mode, r, &sine_r, &cosine_r);
            sine_and_cosine(mode, x, &sine, &cosine);
            assert_true(fabs((double)sine_r - sin(2 * M_PI * (double)r)) <
                        0x1p-22);
            assert_true(fabs((double)cosine_r - cos(2 * M_PI * (double)r)) <
                        0x1p-22);
            assert_true(fabsf(sine) == fabsf(sine_r));
            assert_true(sine * sine_r >= 0.0f || fabsf(r) == 0.5f);
            assert_true(cosine == cosine_r);
        }
}
