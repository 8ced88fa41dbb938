/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * line.h -- what keeps a message on one line.
 */
#ifndef FX8_CONFIG_LINE_H
#define FX8_CONFIG_LINE_H

/** A letter of a line that is printed: `c`, or '?' where it is a control
 *  character, since a file name may hold a newline. */
static inline char fx8_line_letter(char c)
{
    return (char)((unsigned char)c < 0x20 || c == 0x7f ? '?' : c);
}

#endif
