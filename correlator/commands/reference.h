/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reference.h -- the program described for man and for a shell, both made of
 * the tables of commands and keys: what is not there cannot be told, and what
 * is there is told.
 */
#ifndef FX8_CORRELATOR_COMMANDS_REFERENCE_H
#define FX8_CORRELATOR_COMMANDS_REFERENCE_H

#include <stdbool.h>
#include <stdio.h>

#include "correlator/commands/command.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a line of a command's help says of an option; texts that point into
 *  the help, with their lengths. */
struct fx8_reference_item {
    const char *letter;   /**< "-o"; length 0: none */
    const char *name;     /**< "--output"; length 0: no option but a file */
    const char *argument; /**< "OUT.uvh5", "a|b"; length 0: takes none */
    const char *text;     /**< what it does, its first line */
    int letter_length, name_length, argument_length, text_length;
};

/**
 * fx8_reference_next -- take the next line off the items of a help text.
 *
 * Given:     help  where to read, moved on by one line
 * Returned:  item  what the line tells; a line that goes on with the item
 *                  before has a text alone
 *            true; false at the line that ends the items, empty or the last
 */
bool fx8_reference_next(const char **help, struct fx8_reference_item *item);

/** Print the manual page fx8(1), in the macros of man(7). */
void fx8_reference_man(FILE *stream);

/** Print a script that bash sources: it completes commands, options, what
 *  options take, names and values of keys, and files. */
void fx8_reference_completion(FILE *stream);

#ifdef __cplusplus
}
#endif

#endif
