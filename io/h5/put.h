/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * put.h -- writing attributes and small datasets into an output file.
 */
#ifndef FX8_IO_H5_PUT_H
#define FX8_IO_H5_PUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hdf5.h>

#include "correlator/fx8.h"
#include "io/h5/h5.h"
#include "io/output.h"

/** Where to write values: attributes of an object or datasets of a group.  All
 *  functions below return FX8_ERR_SYSTEM with the reason. */
struct fx8_h5_target {
    const struct fx8_output *output;
    hid_t object;
    bool attributes;
};

/** A value to write; every kind is stored little-endian with its width, but
 *  FX8_H5_INT, whose lists are stored as int64. */
struct fx8_h5_value {
    const char *name;
    enum fx8_h5_kind kind;
    const char *text; /**< scalar: stored at its length, ASCII, padded with NUL,
                           at least one byte; NULL: nothing is written */
    int64_t integer;  /**< scalar of any kind of whole number */
    double real;      /**< scalar */
    int rank;         /**< of `list` */
    hsize_t extent[3];
    size_t width;     /**< bytes of each text in `list` */
    const void *list; /**< [extent...] of that kind, in place of a scalar */
};

/** Members of a value in a table: scalars, and lists of one axis. */
#define FX8_PUT_TEXT(as, value) .name = as, .kind = FX8_H5_TEXT, .text = value
#define FX8_PUT_INTEGER(as, value)                                             \
    .name = as, .kind = FX8_H5_INTEGER, .integer = (int64_t)(value)
#define FX8_PUT_UNSIGNED(as, value)                                            \
    .name = as, .kind = FX8_H5_UNSIGNED, .integer = value
#define FX8_PUT_REAL(as, value) .name = as, .kind = FX8_H5_REAL, .real = value
#define FX8_PUT_BOOL(as, value)                                                \
    .name = as, .kind = FX8_H5_BOOL, .integer = value
#define FX8_PUT_LIST(as, of, n, values)                                        \
    .name = as, .kind = of, .rank = 1, .extent = {n}, .list = values

/** Write values in order; stops at the first failure. */
enum fx8_status fx8_h5_put_values(const struct fx8_h5_target *target,
                                  const struct fx8_h5_value *values, size_t n,
                                  struct fx8_error *error);

/** Write a value as a dataset with an attribute `description`. */
enum fx8_status fx8_h5_put_described(const struct fx8_h5_target *target,
                                     const struct fx8_h5_value *value,
                                     const char *text, struct fx8_error *error);

/** Write one line as an attribute. */
enum fx8_status fx8_h5_put_note(const struct fx8_output *output, hid_t object,
                                const char *name, const char *text,
                                struct fx8_error *error);

/** Strings of variable length, [n]. */
enum fx8_status fx8_h5_put_variable_texts(const struct fx8_h5_target *target,
                                          const char *name, size_t n,
                                          const char *const *texts,
                                          struct fx8_error *error);

/** Write a table: members [n_members] of rows [n_rows] of row_bytes, packed in
 *  the file. */
enum fx8_status fx8_h5_put_table(const struct fx8_h5_target *target,
                                 const char *name,
                                 const struct fx8_h5_member *members,
                                 size_t n_members, size_t row_bytes,
                                 size_t n_rows, const void *rows,
                                 struct fx8_error *error);

/** A dataset to create. */
struct fx8_h5_layout {
    const char *name;
    hid_t type; /**< in the file */
    int rank;
    const hsize_t *extent; /**< [rank] at first */
    const hsize_t *most;   /**< [rank] that it can grow to; NULL: extent */
    const hsize_t *chunk;  /**< [rank]; NULL: contiguous */
    bool shuffle;
    unsigned deflate; /**< level; 0: none */
    bool bitshuffle;  /**< with LZ4 */
    bool is_reserved; /**< HDF5 gives every chunk its place when the dataset
                           grows; it writes the fill value there, but no
                           zeros: without one the place stays a hole */
    const void *fill; /**< an element of `type`; NULL: zeros */
    size_t n_slots;   /**< of a cache for chunks; 0: HDF5's default */
    size_t cache_bytes;
};

/** Create an empty dataset, or open the one of an earlier run, whatever its
 *  extent; the caller closes it. */
enum fx8_status fx8_h5_create(const struct fx8_output *output, hid_t group,
                              const struct fx8_h5_layout *layout,
                              hid_t *dataset, struct fx8_error *error);

/** Enumeration over int8 with FALSE = 0 and TRUE = 1, or FX8_H5_NONE. */
hid_t fx8_h5_bool_type(void);

/** Open a group, create it if needed; the caller closes it. */
enum fx8_status fx8_h5_put_group(const struct fx8_h5_target *target,
                                 const char *name, hid_t *group,
                                 struct fx8_error *error);

#endif
