/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.h -- values and lists of one file, compared with those of another, and
 * copied to an output as they are.
 */
#ifndef FX8_IO_H5_COPY_H
#define FX8_IO_H5_COPY_H

#include "io/h5/h5.h"
#include "io/h5/put.h"

/** Most bytes of a name in a group, with its end. */
#define FX8_H5_NAME_SIZE 256

/** Number of links in a group; 0 if HDF5 cannot say. */
size_t fx8_h5_count_links(hid_t group);

/** Name of a link by its place in the alphabet.  FX8_ERR_INPUT: too long. */
enum fx8_status fx8_h5_link_name(const struct fx8_h5_place *group, size_t index,
                                 char name[FX8_H5_NAME_SIZE],
                                 struct fx8_error *error);

/** Whether a link leads to a group. */
bool fx8_h5_is_group(const struct fx8_h5_place *place, const char *name);

/**
 * fx8_h5_match -- check that two files have the same value or list.
 *
 * Status: FX8_ERR_INPUT: "B: NAME[index]: value: expected value as in A";
 *         another class or shape
 * Notes:  texts are equal whatever their type; numbers may differ by 1e-8, or
 *         1e-12 of their size: 10 nm of a position, 2 mas of an angle in
 *         radians, 1 mm of a site in degrees, less than the rounding of a
 *         frequency to millihertz
 */
enum fx8_status fx8_h5_match(const struct fx8_h5_place *a,
                             const struct fx8_h5_place *b, const char *name,
                             struct fx8_error *error);

/** Copy a value or list: type, shape and contents. */
enum fx8_status fx8_h5_copy(const struct fx8_h5_place *from, const char *name,
                            const struct fx8_h5_target *to,
                            struct fx8_error *error);

#endif
