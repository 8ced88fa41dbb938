/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * testing.h -- shared by the unit tests: cmocka with the headers it needs,
 * cases that register themselves, memory that lasts for a case, a generator
 * with a fixed seed, failures with messages.
 */
#ifndef FX8_VALIDATION_TESTING_H
#define FX8_VALIDATION_TESTING_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "correlator/fx8.h"
#include "validation/checkers.h"

/** A case; main() finds it by its name and file. */
struct test_case {
    struct CMUnitTest test;
    const char *file;
    struct test_case *next;
};

/** Functions that run before the cases of a file, and before each case. */
struct test_fixture {
    const char *file;
    CMFixtureFunction before_all, before_each;
    struct test_fixture *next;
};

void test_register(struct test_case *test);
void test_register_fixture(struct test_fixture *fixture);

/** A test case: TEST(what_must_hold) { ... }. */
#define TEST(name)                                                             \
    static void name(void **state);                                            \
    __attribute__((constructor)) static void name##_register(void)             \
    {                                                                          \
        static struct test_case test = {.test = cmocka_unit_test(name),        \
                                        .file = __FILE__};                     \
        test_register(&test);                                                  \
    }                                                                          \
    static void name(__attribute__((unused)) void **state)

/** Set the fixture of this file; either function may be NULL. */
#define FIXTURE(all, each)                                                     \
    __attribute__((constructor)) static void register_fixture(void)            \
    {                                                                          \
        static struct test_fixture fixture = {                                 \
            .file = __FILE__, .before_all = (all), .before_each = (each)};     \
        test_register_fixture(&fixture);                                       \
    }

/** Number of elements of an array. */
#define LENGTH(array) (sizeof(array) / sizeof *(array))

/** An array of texts that ends with NULL. */
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/** Results are filled with this byte before a call. */
#define GARBAGE 0xa5

/** A call that must return FX8_OK; otherwise its message is printed. `error` is
 *  the record given to the call. */
#define must(call, error)                                                      \
    do {                                                                       \
        (error).message[0] = '\0';                                             \
        const enum fx8_status must_status = (call);                            \
        if (must_status != FX8_OK)                                             \
            print_error("%s\n", (error).message);                              \
        assert_int_equal(must_status, FX8_OK);                                 \
    } while (0)

/** A call that must return `expected` with a message that contains `part`. */
#define must_fail_with(call, error, expected, part)                            \
    do {                                                                       \
        (error).message[0] = '\0';                                             \
        (error).status = FX8_OK;                                               \
        assert_int_equal((call), (expected));                                  \
        if (strstr((error).message, (part)) == NULL)                           \
            fail_msg("'%s' lacks '%s'", (error).message, (part));              \
        assert_int_equal((error).status, (expected));                          \
    } while (0)

/** The same with exactly the message `text`. */
#define must_fail(call, error, expected, text)                                 \
    do {                                                                       \
        must_fail_with(call, error, expected, text);                           \
        assert_string_equal((error).message, (text));                          \
    } while (0)

/** Memory of exactly `size` bytes, full of garbage, for the address checker;
 *  the caller frees it. */
static inline void *exact(size_t size)
{
    void *memory = malloc(size == 0 ? 1 : size);
    assert_non_null(memory);
    memset(memory, GARBAGE, size);
    return memory;
}

/** As exact(), but freed when the case ends, or earlier by these functions. */
void *temporary(size_t size);
void release_early(void *memory);
void release_all(void);

/** As temporary(), but zeros. */
static inline void *temporary_zeros(size_t size)
{
    return memset(temporary(size), 0, size);
}

/** Equal to the bit; both NULL also counts as equal. */
static inline void check_bytes(const void *a, const void *b, size_t size)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a != NULL && size > 0)
        assert_memory_equal(a, b, size);
}

static inline void assert_near(double value, double expected, double limit)
{
    if (!(fabs(value - expected) <= limit))
        fail_msg("%.17g: expected %.17g within %g", value, expected, limit);
}

/** State of a generator; any number is a valid seed. */
struct generator {
    uint64_t state;
};

/** 64 random bits (splitmix64, Steele, Lea and Flood 2014). */
static inline uint64_t random_bits(struct generator *generator)
{
    uint64_t z = generator->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/** A number in [0, n), n much smaller than 2^32. */
static inline size_t random_below(struct generator *generator, size_t n)
{
    return (size_t)((random_bits(generator) >> 32) * n >> 32);
}

/** A number in [low, high]. */
static inline int64_t random_in(struct generator *generator, int64_t low,
                                int64_t high)
{
    return low + (int64_t)random_below(generator, (size_t)(high - low + 1));
}

/** Uniform in (0, 1). */
static inline double random_uniform(struct generator *generator)
{
    return ((double)(random_bits(generator) >> 11) + 0.5) * 0x1p-53;
}

/** Standard normal (Box and Muller). */
static inline double random_normal(struct generator *generator)
{
    const double radius = sqrt(-2 * log(random_uniform(generator)));
    return radius * cos(6.283185307179586 * random_uniform(generator));
}

/** Noise of about `rms` LSB, clamped to int8: the sum of twelve uniform
 *  numbers is normal enough here. */
static inline int8_t random_noise(struct generator *generator, double rms)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++)
        sum += (double)(random_bits(generator) >> 40) * 0x1p-24;
    const double value = sum * rms;
    return (int8_t)(value > 127.0 ? 127.0 : value < -128.0 ? -128.0 : value);
}

#endif
