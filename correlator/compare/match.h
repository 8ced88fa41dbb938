/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * match.h -- whether two visibility files describe the same observation.
 */
#ifndef FX8_CORRELATOR_COMPARE_MATCH_H
#define FX8_CORRELATOR_COMPARE_MATCH_H

#include "correlator/fx8.h"
#include "io/uvh5/uvh5.h"

/**
 * fx8_compare_match -- check for the same antennas, baselines, products,
 * frequencies, times and dump lengths, in the same order; and the same unit if
 * both files name one.
 *
 * Status: FX8_ERR_INPUT: "PATH_B: ITEM: value: expected value as in PATH_A"
 */
enum fx8_status fx8_compare_match(const char *path_a,
                                  const struct fx8_uvh5_header *of_a,
                                  const char *path_b,
                                  const struct fx8_uvh5_header *of_b,
                                  struct fx8_error *error);

#endif
