/* SPDX-License-Identifier: BSD-3-Clause */
#include "io/output.h"
#include "io/text_output.h"

enum fx8_status fx8_text_output_open(const char *path, bool force,
                                     struct fx8_output **output,
                                     struct fx8_error *error)
{
    return fx8_output_open(path, force, 0, NULL, output, error);
}

enum fx8_status fx8_text_output_finish(struct fx8_output **output,
                                       const char *text, size_t size,
                                       struct fx8_error *error)
{
    const enum fx8_status status = fx8_output_write(*output, text, size, error);
    if (status == FX8_OK)
        return fx8_output_commit(output, error);
    fx8_output_abandon(output);
    return status;
}

void fx8_text_output_abandon(struct fx8_output **output)
{
    fx8_output_abandon(output);
}
