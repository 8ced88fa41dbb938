/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reference.h -- the manual page and the shell's completion.  Generated from
 * the tables of commands and keys, so they cannot drift.
 */
#ifndef FX8_CORRELATOR_COMMANDS_REFERENCE_H
#define FX8_CORRELATOR_COMMANDS_REFERENCE_H

#include <stdio.h>

#include "correlator/commands/command.h"

/** Print the manual page fx8(1), in the macros of man(7). */
void fx8_reference_man(FILE *stream);

/** Print a script for bash to source: it completes commands, options, values of
 *  options, names and values of keys, and files. */
void fx8_reference_completion(FILE *stream);

#endif
