/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text_output.h -- a text file that gets its final name only when complete.
 */
#ifndef FX8_IO_TEXT_OUTPUT_H
#define FX8_IO_TEXT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "correlator/fx8.h"

struct fx8_output;

/** Create an empty PATH.part and lock it; status as fx8_output_open(). */
enum fx8_status fx8_text_output_open(const char *path, bool force,
                                     struct fx8_output **output,
                                     struct fx8_error *error);

/** Write the text and rename the file to its final name; nulls the handle.
 *  Failures are as in fx8_output_commit(). */
enum fx8_status fx8_text_output_finish(struct fx8_output **output,
                                       const char *text, size_t size,
                                       struct fx8_error *error);

/** Remove the .part and release the output; a NULL handle is legal. */
void fx8_text_output_abandon(struct fx8_output **output);

#endif
