/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text_output.h -- a page of text that appears under its name when it is whole.
 */
#ifndef FX8_IO_TEXT_OUTPUT_H
#define FX8_IO_TEXT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fx8_output;

/** Get an empty PATH.part and lock it; status as fx8_output_open() has it. */
enum fx8_status fx8_text_output_open(const char *path, bool force,
                                     struct fx8_output **output,
                                     struct fx8_error *error);

/** Write all of a text and give the file its name; nulls the handle.  After a
 *  failure as after fx8_output_commit(). */
enum fx8_status fx8_text_output_finish(struct fx8_output **output,
                                       const char *text, size_t size,
                                       struct fx8_error *error);

/** Remove the .part and forget it; a NULL handle is legal. */
void fx8_text_output_abandon(struct fx8_output **output);

#ifdef __cplusplus
}
#endif

#endif
