/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.h -- values and lists of one file, compared with those of another, and
 * copied to an output as they are.
 */
#ifndef FX8_IO_H5_COPY_H
#define FX8_IO_H5_COPY_H

#include "io/h5/h5.h"
#include "io/h5/put.h"

/** Whether a link leads to a group. */
bool fx8_h5_is_group(const struct fx8_h5_place *place, const char *name);

/** Numbers may differ by `absolute`, and by `relative` of the largest of their
 *  list, or of a block of 65,536 numbers of a long one. */
struct fx8_h5_tolerance {
    double absolute, relative;
};

/**
 * fx8_h5_match -- check that two files have the same value or list.
 *
 * Status: FX8_ERR_INPUT: "B: NAME[index]: value: expected value as in A";
 *         another class or shape
 * Notes:  texts are equal whatever their type
 */
enum fx8_status fx8_h5_match(const struct fx8_h5_place *a,
                             const struct fx8_h5_place *b, const char *name,
                             struct fx8_h5_tolerance tolerance,
                             struct fx8_error *error);

/** Copy a value or list: type, shape, contents, and its attribute
 *  `description`. */
enum fx8_status fx8_h5_copy(const struct fx8_h5_place *from, const char *name,
                            const struct fx8_h5_target *to,
                            struct fx8_error *error);

/** Copy the attribute `description` of an object of the file `path`, if there
 *  is one. */
enum fx8_status fx8_h5_copy_note(const char *path, hid_t from,
                                 const struct fx8_output *output, hid_t to,
                                 struct fx8_error *error);

#endif
