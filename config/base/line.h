/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * line.h -- helpers for one-line messages.
 */
#ifndef FX8_CONFIG_BASE_LINE_H
#define FX8_CONFIG_BASE_LINE_H

/** `c`, or '?' for a control character: a file name may contain a newline. */
static inline char fx8_line_letter(char c)
{
    return (char)((unsigned char)c < 0x20 || c == 0x7f ? '?' : c);
}

/** Singular or plural noun for a count: `one` for exactly 1, else `many`.  A
 * macro because counts have many types. */
#define FX8_NOUN(n, one, many) ((n) == 1 ? (one) : (many))

/** A count and its noun: two arguments, for "%zu %s". */
#define FX8_COUNTED(n, one, many) (n), FX8_NOUN(n, one, many)

#endif
