/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error records, exit codes, checked sizes, aligned memory.
 *
 * Shows: as test_timebase.c
 */
#include <stdio.h>

#include "config/base/shape.h"
#include "correlator/commands/command.h"
#include "correlator/fx8.h"
#include "validation/testing.h"

TEST(fail_fills_record_and_returns_status)
{
    struct fx8_error error;
    memset(&error, 0xa5, sizeof error);
    assert_int_equal(
        fx8_fail(&error, FX8_ERR_INPUT, "%s:%d: %s", "a.ini", 3, "wrong"),
        FX8_ERR_INPUT);
    assert_int_equal(error.status, FX8_ERR_INPUT);
    assert_string_equal(error.message, "a.ini:3: wrong");
}

TEST(fail_replaces_control_characters)
{
    struct fx8_error error;
    fx8_fail(&error, FX8_ERR_USAGE, "%s", "a\nb\tc\x1b[31m\x7f\xc3\xa9");
    assert_string_equal(error.message, "a?b?c?[31m?\xc3\xa9");
}

TEST(fail_cuts_long_messages)
{
    struct fx8_error error;
    char text[FX8_ERROR_MESSAGE_SIZE + 100];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    fx8_fail(&error, FX8_ERR_USAGE, "%s", text);
    assert_int_equal(strlen(error.message), FX8_ERROR_MESSAGE_SIZE - 1);
}

TEST(product_refuses_to_overflow)
{
    const size_t half = (size_t)1 << (sizeof(size_t) * 4);
    assert_true(fx8_product(2, 3, 5, 7) == 210);
    assert_true(fx8_product(1, 1, 1, SIZE_MAX - 1) == SIZE_MAX - 1);
    assert_true(fx8_product(half - 1, half + 1, 1, 1) == SIZE_MAX);
    assert_true(fx8_product(half, half, 1, 1) == SIZE_MAX);
    assert_true(fx8_product(half, 1, 1, half) == SIZE_MAX);
    assert_true(fx8_product(1, half, half, half) == SIZE_MAX);
    assert_true(fx8_product(SIZE_MAX, 2, 1, 1) == SIZE_MAX);
    assert_true(fx8_product(0, SIZE_MAX, 1, 1) == 0);
}

TEST(allocate_gives_zeroed_aligned_memory)
{
    const size_t sizes[] = {0, 1, 63, 64, 65, 4097};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        void *memory = NULL;
        struct fx8_error error;
        must(fx8_allocate(sizes[i], 3, "a test", &memory, &error), error);
        assert_non_null(memory);
        assert_true((uintptr_t)memory % FX8_ALIGNMENT == 0);
        for (size_t byte = 0; byte < sizes[i] * 3; byte++)
            assert_int_equal(((unsigned char *)memory)[byte], 0);
        free(memory);
    }
}

TEST(allocate_names_what_does_not_fit)
{
    struct fx8_error error;
    const size_t cases[][2] = {
        {SIZE_MAX, 1}, {SIZE_MAX / 2, 3}, {SIZE_MAX - 8, 1}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        void *memory = &error;
        char expected[FX8_ERROR_MESSAGE_SIZE];
        snprintf(expected, sizeof expected,
                 "out of memory: spectra: %zu items of %zu bytes are more than "
                 "this machine can address",
                 cases[i][0], cases[i][1]);
        must_fail(
            fx8_allocate(cases[i][0], cases[i][1], "spectra", &memory, &error),
            error, FX8_ERR_SYSTEM, expected);
        assert_null(memory);
    }
}

TEST(arrays_grow_by_doubling)
{
    struct fx8_error error = {FX8_OK, ""};
    int64_t *items = NULL;
    size_t n = 0;
    for (; n < 1000; n++) {
        must(fx8_grow(&items, n, sizeof *items, "items", &error), error);
        items[n] = (int64_t)n; /* the address checker watches */
    }
    for (size_t i = 0; i < n; i++)
        assert_int_equal(items[i], i);
    int64_t *before = items;
    must_fail(fx8_grow(&items, (size_t)1 << 62, sizeof *items, "items", &error),
              error, FX8_ERR_SYSTEM, "out of memory: items");
    assert_ptr_equal(items, before);
    free(items);
}
