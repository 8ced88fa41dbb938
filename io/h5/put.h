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
#include "io/output.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where to write values: attributes of an object or datasets of a group.  All
 *  functions below return FX8_ERR_SYSTEM with the reason. */
struct fx8_h5_target {
    const struct fx8_output *output;
    hid_t object;
    bool attributes;
};

/** Array of any type; rank 0 is a scalar. */
enum fx8_status fx8_h5_put_array(const struct fx8_h5_target *target,
                                 const char *name, hid_t file_type,
                                 hid_t memory_type, int rank,
                                 const hsize_t *extent, const void *values,
                                 struct fx8_error *error);

/** Scalars: int64, uint64, float64, HDF5 boolean as h5py writes it. */
enum fx8_status fx8_h5_put_integer(const struct fx8_h5_target *target,
                                   const char *name, int64_t value,
                                   struct fx8_error *error);
enum fx8_status fx8_h5_put_unsigned(const struct fx8_h5_target *target,
                                    const char *name, uint64_t value,
                                    struct fx8_error *error);
enum fx8_status fx8_h5_put_real(const struct fx8_h5_target *target,
                                const char *name, double value,
                                struct fx8_error *error);
enum fx8_status fx8_h5_put_bool(const struct fx8_h5_target *target,
                                const char *name, bool value,
                                struct fx8_error *error);

/** One string of fixed length, ASCII, padded with NUL, at least one byte. */
enum fx8_status fx8_h5_put_text(const struct fx8_h5_target *target,
                                const char *name, const char *text,
                                struct fx8_error *error);

/** Strings [extent…][width], terminated in memory, stored in `width` bytes. */
enum fx8_status fx8_h5_put_texts(const struct fx8_h5_target *target,
                                 const char *name, int rank,
                                 const hsize_t *extent, size_t width,
                                 const char *texts, struct fx8_error *error);

/** Strings of variable length, [n]. */
enum fx8_status fx8_h5_put_variable_texts(const struct fx8_h5_target *target,
                                          const char *name, size_t n,
                                          const char *const *texts,
                                          struct fx8_error *error);

/** Enumeration over int8 with FALSE = 0 and TRUE = 1, or FX8_H5_NONE. */
hid_t fx8_h5_bool_type(void);

/** Create a group; the caller closes it. */
enum fx8_status fx8_h5_put_group(const struct fx8_h5_target *target,
                                 const char *name, hid_t *group,
                                 struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
