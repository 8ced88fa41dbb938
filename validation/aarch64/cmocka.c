/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cmocka.c -- as much of cmocka and HDF5 as the tests of kernels need, for a
 * machine that has neither: a group ends with its first failure.
 */
#include "validation/testing.h"

#include <stdio.h>

#include "io/h5/h5.h"

void fx8_h5_quiet(void)
{
}

void print_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
}

void _fail(const char *file, int line)
{
    print_error("%s:%d: failed\n", file, line);
    exit(1);
}

void _assert_true(LargestIntegralType result, const char *expression,
                  const char *file, int line)
{
    if (result)
        return;
    print_error("%s\n", expression);
    _fail(file, line);
}

void _assert_int_equal(LargestIntegralType a, LargestIntegralType b,
                       const char *file, int line)
{
    if (a == b)
        return;
    print_error("%#llx != %#llx\n", (unsigned long long)a,
                (unsigned long long)b);
    _fail(file, line);
}

void _assert_string_equal(const char *a, const char *b, const char *file,
                          int line)
{
    if (strcmp(a, b) == 0)
        return;
    print_error("\"%s\" != \"%s\"\n", a, b);
    _fail(file, line);
}

void _assert_memory_equal(const void *a, const void *b, size_t size,
                          const char *file, int line)
{
    if (memcmp(a, b, size) != 0)
        _fail(file, line);
}

int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests,
                            size_t n, CMFixtureFunction before,
                            CMFixtureFunction after)
{
    void *state = NULL;
    (void)name;
    (void)after;
    if (before != NULL && before(&state) != 0)
        return 1;
    for (size_t k = 0; k < n; k++) {
        if (tests[k].setup_func != NULL && tests[k].setup_func(&state) != 0)
            return 1;
        tests[k].test_func(&state);
        tests[k].teardown_func(&state);
    }
    return 0;
}
