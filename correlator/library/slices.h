/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slices.h -- slices of a dump: the baselines that start on some neighbouring
 * antennas, which follow each other in the results.  All slices but the last
 * are as large as a given number of baselines allows.
 */
#ifndef FX8_CORRELATOR_LIBRARY_SLICES_H
#define FX8_CORRELATOR_LIBRARY_SLICES_H

#include <stddef.h>

/** Baselines that start on antennas [begin, end). */
struct fx8_slice {
    size_t begin, end;
};

/** Index of the first of these baselines, and their number. */
size_t fx8_slice_first(size_t n_antennas, struct fx8_slice slice);
size_t fx8_slice_baselines(size_t n_antennas, struct fx8_slice slice);

/** Baselines of the smallest slices worth having: of one antenna, or so many
 *  that 64 make a dump; smaller ones would take longer and save nothing. */
size_t fx8_slices_least(size_t n_antennas);

/** The slice that begins with an antenna and has at most so many baselines,
 *  which are at least n_antennas. */
struct fx8_slice fx8_slice_from(size_t n_antennas, size_t begin,
                                size_t most_baselines);

/** Number of such slices of a dump. */
size_t fx8_slices_count(size_t n_antennas, size_t most_baselines);

#endif
