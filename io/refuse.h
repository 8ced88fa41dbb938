/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refuse.h -- reports of what a file holds.
 */
#ifndef FX8_IO_REFUSE_H
#define FX8_IO_REFUSE_H

#include "correlator/fx8.h"

/**
 * fx8_refuse -- report a value in a file: FX8_ERR_INPUT "PATH: NAME: ...".
 *
 * Given: name    dataset, attribute, column or key
 *        format  as for printf(): the value and what was expected
 */
enum fx8_status fx8_refuse(struct fx8_error *error, const char *path,
                           const char *name, const char *format, ...)
    FX8_PRINTF(4, 5);

#endif
