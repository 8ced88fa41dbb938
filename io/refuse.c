/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>

#include "io/refuse.h"

enum fx8_status fx8_refuse(struct fx8_error *error, const char *path,
                           const char *name, const char *format, ...)
{
    char text[FX8_ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fx8_fail(error, FX8_ERR_INPUT, "%s: %s: %s", path, name, text);
}
