/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * line.h -- what keeps a message on one line.
 */
#ifndef FX8_CONFIG_BASE_LINE_H
#define FX8_CONFIG_BASE_LINE_H

/** A letter of a line that is printed: `c`, or '?' where it is a control
 *  character, since a file name may hold a newline. */
static inline char fx8_line_letter(char c)
{
    return (char)((unsigned char)c < 0x20 || c == 0x7f ? '?' : c);
}

/** What a number is of, for a line: `one` of exactly one, else `many`.  A
 * macro: numbers of things have many types. */
#define FX8_NOUN(n, one, many) ((n) == 1 ? (one) : (many))

#endif
