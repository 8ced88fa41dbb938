/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spoil_bytes.c -- changes to a plain file: numbers in its texts, bytes,
 * lengths, order.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "validation/fuzz/claims.h"
#include "validation/fuzz/spoil.h"

enum { MOST_BYTES = 1 << 17 };

/* Numbers that a header may hold but should not; as long as they fit. */
static const char *const numbers[] = {"0",   "-1", "9",    "1e9",  "0.5",
                                      "nan", "x",  "1e-9", "4e18", "99999"};

/* The start of the n-th number of a text from `at` on. */
static size_t find_number(const char *bytes, size_t size, size_t at)
{
    for (size_t i = 0; i < size; i++, at++)
        if (isdigit((unsigned char)bytes[at % size]) &&
            (at % size == 0 || bytes[at % size - 1] == ' '))
            return at % size;
    return at % size;
}

/* Put another number in place of one, with blanks behind it. */
static void change_number(char *bytes, size_t size, size_t at,
                          struct choices *choices)
{
    const char *number =
        numbers[choose(choices, sizeof numbers / sizeof numbers[0])];
    at = find_number(bytes, size, at);
    const size_t length = strlen(number);
    if (length > size - at)
        return;
    memcpy(bytes + at, number, length);
    for (size_t i = at + length;
         i < size && (isdigit((unsigned char)bytes[i]) || bytes[i] == '.'); i++)
        bytes[i] = ' ';
}

void spoil_bytes(const char *path, struct choices *choices)
{
    static char bytes[MOST_BYTES];
    FILE *file = fopen(path, "rb+");
    if (file == NULL)
        return; /* already removed */
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    const size_t place = (size_t)next_byte(choices) << 8 | next_byte(choices);
    size_t end = size;
    switch (size > 0 ? choose(choices, 5) : 0) {
    case 1: /* near the start, where headers are */
        bytes[place % (size < 64 ? size : 64)] = (char)next_byte(choices);
        break;
    case 2:
        bytes[place % size] = (char)next_byte(choices);
        break;
    case 3:
        change_number(bytes, size, place % size, choices);
        break;
    case 4:
        end = place % size;
        break;
    default:
        break;
    }
    rewind(file);
    claim(fwrite(bytes, 1, end, file) == end && fclose(file) == 0 &&
              truncate(path, (off_t)end) == 0,
          "%s", path);
}
