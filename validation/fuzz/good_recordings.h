/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * good_recordings.h -- one small good file of each format, to be damaged.
 */
#ifndef FX8_VALIDATION_FUZZ_GOOD_RECORDINGS_H
#define FX8_VALIDATION_FUZZ_GOOD_RECORDINGS_H

/* Every function puts its files into an existing empty folder. */

/** fx8's own format: three antennas of two polarisations with a table of them
 *  and one of missing samples, complex, labelled. */
void make_good_fx8(const char *folder);

/** TART: three antennas. */
void make_good_tart(const char *folder);

/** Digital RF: two channels of two files, complex, with frequencies noted. */
void make_good_digital_rf(const char *folder);

/** AAVS: two tiles of two antennas in two parts each, with a gap in one. */
void make_good_aavs(const char *folder);

/** UVH5 as fx8 writes it: two dumps of four antennas, with gains. */
void make_good_uvh5(const char *folder);

#endif
