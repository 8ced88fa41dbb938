/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>

#include "config/base/line.h"
#include "correlator/fx8.h"

enum fx8_status fx8_fail(struct fx8_error *error, enum fx8_status status,
                         const char *format, ...)
{
    if (error == NULL)
        return status;
    error->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    for (char *c = error->message; *c != '\0'; c++)
        *c = fx8_line_letter(*c);
    return status;
}
