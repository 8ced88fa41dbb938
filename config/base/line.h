/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * line.h -- helpers for one-line messages.
 */
#ifndef FX8_CONFIG_BASE_LINE_H
#define FX8_CONFIG_BASE_LINE_H

#include <stddef.h>
#include <string.h>

/** `c`, or '?' for a control character: a file name may contain a newline. */
static inline char fx8_line_letter(char c)
{
    return (char)((unsigned char)c < 0x20 || c == 0x7f ? '?' : c);
}

/** Length of a text that is cut after at most `most` bytes, not within a UTF-8
 *  character. */
static inline size_t fx8_line_cut(const char *text, size_t most)
{
    size_t n = strnlen(text, most);
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

/** Singular or plural noun for a count: `one` for exactly 1, else `many`.  A
 * macro because counts have many types. */
#define FX8_NOUN(n, one, many) ((n) == 1 ? (one) : (many))

/** A count and its noun: two arguments, for "%zu %s". */
#define FX8_COUNTED(n, one, many) (n), FX8_NOUN(n, one, many)

#endif
