/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * alike.h -- whether all ranks of a run have the same task before them.
 */
#ifndef FX8_CORRELATOR_RUN_ALIKE_H
#define FX8_CORRELATOR_RUN_ALIKE_H

#include "correlator/run/pipeline.h"

/**
 * fx8_alike_check -- compare recording, configuration, options and name of the
 * result with those of rank 0: of the samples a few.
 *
 * Given:  request  with its job, reader and outputs
 * Status: FX8_ERR_INPUT on all ranks: the first rank that differs, in what, and
 *         both values; FX8_ERR_SYSTEM
 * Notes:  all ranks must call it; it selects inputs of its own
 */
enum fx8_status fx8_alike_check(const struct fx8_run_request *request,
                                struct fx8_error *error);

#endif
