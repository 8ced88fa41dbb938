/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * positions_json.h -- antenna positions as TART publishes them; used by
 * antennas.c only.
 */
#ifndef FX8_CONFIG_POSITIONS_JSON_H
#define FX8_CONFIG_POSITIONS_JSON_H

#include <stddef.h>

#include "config/observation.h"
#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * fx8_positions_json_parse -- {"antenna_positions": [[e, n, u], ...]} or the
 * bare array; metres.
 *
 * Given:     path       for messages
 *            text       the whole file
 * Returned:  positions  [n_positions][3] east, north, up
 *            lines      [n_positions] where each stands, from 1
 * Status:    FX8_ERR_USAGE "FILE:LINE: ..." for anything but JSON of this
 *            shape; other members of the object are skipped, whatever they
 *            hold; FX8_ERR_SYSTEM when memory is short
 * Ownership: the caller releases both arrays with free(); NULL after failure
 */
enum fx8_status fx8_positions_json_parse(const char *path, const char *text,
                                         double (**positions)[3],
                                         size_t **lines, size_t *n_positions,
                                         struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
