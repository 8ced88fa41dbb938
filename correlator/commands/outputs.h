/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outputs.h -- results take the place of results, never of what a run reads.
 */
#ifndef FX8_CORRELATOR_COMMANDS_OUTPUTS_H
#define FX8_CORRELATOR_COMMANDS_OUTPUTS_H

#include <stddef.h>

#include "config/settings.h"
#include "config/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * fx8_outputs_spare_inputs -- refuse a result that would destroy an input.
 *
 * A file is told by device and inode, so that links do not hide it; and PATH
 * writes PATH.part first, which is emptied whether or not it may replace.
 *
 * Given:  outputs     [n_outputs] results to write; NULL: none
 *         recordings  [n_recordings] may be NULL when there are none
 *         config      the INI file
 *         settings    loaded from it; names the tables that are read
 * Status: FX8_ERR_USAGE: a result, or its .part, is one of these files;
 *         FX8_ERR_SYSTEM: memory
 */
enum fx8_status fx8_outputs_spare_inputs(
    const char *const *outputs, size_t n_outputs, char *const *recordings,
    size_t n_recordings, const char *config,
    const struct fx8_settings *settings, struct fx8_error *error);

/**
 * fx8_outputs_differ -- refuse results that would overwrite each other.
 *
 * Told by folder and name, since they need not exist, or by device and inode
 * where they do; PATH takes PATH.part too.
 *
 * Given:  outputs  [n_outputs] results to write; NULL: none
 * Status: FX8_ERR_USAGE: two are the same file; FX8_ERR_SYSTEM: memory
 */
enum fx8_status fx8_outputs_differ(const char *const *outputs, size_t n_outputs,
                                   struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
