/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outputs.h -- checks that the results of one run have different names.
 */
#ifndef FX8_CORRELATOR_COMMANDS_OUTPUTS_H
#define FX8_CORRELATOR_COMMANDS_OUTPUTS_H

#include <stddef.h>

#include "correlator/fx8.h"

/**
 * fx8_outputs_differ -- refuse results that would overwrite each other.
 *
 * Files are compared by folder and name, since they need not exist, or by
 * device and inode if they do.  A result PATH also occupies PATH.part.
 *
 * Given:  outputs  [n_outputs] results to write; NULL: none
 * Status: FX8_ERR_USAGE: two are the same file; FX8_ERR_SYSTEM: memory
 */
enum fx8_status fx8_outputs_differ(const char *const *outputs, size_t n_outputs,
                                   struct fx8_error *error);

#endif
