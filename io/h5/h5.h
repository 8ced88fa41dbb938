/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h5.h -- HDF5 helpers for all of io/: handles, values read with type and shape
 * checks, HDF5's error as a one-line message.
 */
#ifndef FX8_IO_H5_H5_H
#define FX8_IO_H5_H5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hdf5.h>

#include "config/base/try.h"
#include "correlator/fx8.h"
#include "io/refuse.h"

/** No handle. */
#define FX8_H5_NONE ((hid_t)-1)

/** Where to look for values: the attributes of an object, or the datasets of a
 *  group.  Handles and text belong to the caller. */
struct fx8_h5_place {
    const char *path; /**< file, for messages */
    hid_t object;
    bool attributes; /**< attributes of `object`, else datasets below it */
};

/** Rows [first, first + n) of an array that must have `total` rows of `columns`
 *  values.  One column: one axis (or a scalar if total is 1); more: two
 *  axes. */
struct fx8_h5_rows {
    size_t total;
    size_t columns;
    size_t first;
    size_t n;
};

/** All of an array. */
static inline struct fx8_h5_rows fx8_h5_all(size_t total, size_t columns)
{
    const struct fx8_h5_rows rows = {total, columns, 0, total};
    return rows;
}

/** Stop HDF5 from printing errors.  Error stacks are per thread, so every entry
 *  point that a new thread may call does this first. */
void fx8_h5_quiet(void);

/** Close a handle of any kind and forget it; FX8_H5_NONE and 0 are legal. */
void fx8_h5_close(hid_t *id);

/** Declares handles that are closed where their scope ends. */
#define FX8_H5_AUTO FX8_AUTO(fx8_h5_close) hid_t

/**
 * fx8_h5_fail -- report the HDF5 call that has just failed.
 *
 * Given: what   dataset or attribute; the message becomes
 *               "PATH: WHAT: innermost reason of HDF5"
 */
enum fx8_status fx8_h5_fail(struct fx8_error *error, enum fx8_status status,
                            const char *path, const char *what);

/** Open for reading without file locks (a recording may be on a read-only disk,
 *  or still being written).  FX8_ERR_INPUT with the reason. */
enum fx8_status fx8_h5_open_file(const char *path, hid_t *file,
                                 struct fx8_error *error);

/** The same with the caller's access properties. */
enum fx8_status fx8_h5_open_as(const char *path, hid_t access_list, hid_t *file,
                               struct fx8_error *error);

/** Whether the root attribute `format` of an HDF5 file equals `format`. */
bool fx8_h5_has_format(hid_t file, const char *format);

/** Whether `path` is an HDF5 file with that format attribute. */
bool fx8_h5_is_format(const char *path, const char *format);

/** Open a dataset; FX8_ERR_INPUT if it is missing or not a dataset. */
enum fx8_status fx8_h5_open_dataset(const char *path, hid_t group,
                                    const char *name, hid_t access,
                                    hid_t *dataset, struct fx8_error *error);

/** Read or write elements [start, start + count) of a dataset, one entry per
 *  axis; packed in memory, as `type`.  Negative: HDF5 has failed. */
herr_t fx8_h5_read_part(hid_t dataset, hid_t type, const hsize_t *start,
                        const hsize_t *count, void *values);
herr_t fx8_h5_write_part(hid_t dataset, hid_t type, const hsize_t *start,
                         const hsize_t *count, const void *values);

/** Compound of two parts side by side, such as {r, i}, or FX8_H5_NONE; the
 *  caller closes it. */
hid_t fx8_h5_pair_type(hid_t part, const char *const members[2]);

/** Whether the attribute or link exists. */
bool fx8_h5_has(const struct fx8_h5_place *place, const char *name);

/** Type in words: "int8", "compound {r: int16, i: int16}", "string". */
void fx8_h5_type_name(hid_t type, char *text, size_t size);

/** Whether `type` is a signed integer of one byte. */
bool fx8_h5_is_int8(hid_t type);

/**
 * fx8_h5_get_integers -- read integers of any width that fit int64; an
 * enumeration (HDF5's booleans) is read as its numbers.
 *
 * Returned: values  [rows.n][rows.columns]
 * Status:   FX8_ERR_INPUT: missing, other type, other shape, above INT64_MAX,
 *           more values than the file can hold
 */
enum fx8_status fx8_h5_get_integers(const struct fx8_h5_place *place,
                                    const char *name, struct fx8_h5_rows rows,
                                    int64_t *values, struct fx8_error *error);

/** The same for real numbers; whole numbers are converted. */
enum fx8_status fx8_h5_get_reals(const struct fx8_h5_place *place,
                                 const char *name, struct fx8_h5_rows rows,
                                 double *values, struct fx8_error *error);

/** One whole number within [least, most]. */
enum fx8_status fx8_h5_get_integer(const struct fx8_h5_place *place,
                                   const char *name, int64_t least,
                                   int64_t most, int64_t *value,
                                   struct fx8_error *error);

/** A whole number to read, and its destination. */
struct fx8_h5_integer {
    const char *name;
    int64_t least;
    int64_t most;
    int64_t *value;
};

/** Read [n] whole numbers of one place; stops at the first error. */
enum fx8_status fx8_h5_get_each(const struct fx8_h5_place *place,
                                const struct fx8_h5_integer *integers, size_t n,
                                struct fx8_error *error);

/** One real number; NaN and infinities are refused. */
enum fx8_status fx8_h5_get_real(const struct fx8_h5_place *place,
                                const char *name, double *value,
                                struct fx8_error *error);

/**
 * fx8_h5_get_texts -- read strings of fixed or variable length.
 *
 * Returned: texts  [n][width] terminated; a missing string of variable length
 *                  is empty
 * Status:   FX8_ERR_INPUT: also when a string does not fit `width`
 */
enum fx8_status fx8_h5_get_texts(const struct fx8_h5_place *place,
                                 const char *name, size_t n, size_t width,
                                 char *texts, struct fx8_error *error);

/** Make a text safe to show and to store: every byte that is not printable
 *  ASCII becomes '?', because a hostile file could contain terminal escapes. */
void fx8_h5_printable(char *text);

/** One string of any length; the caller frees it. */
enum fx8_status fx8_h5_get_long_text(const struct fx8_h5_place *place,
                                     const char *name, char **text,
                                     struct fx8_error *error);

/** Kinds of values in memory. */
enum fx8_h5_kind {
    FX8_H5_TEXT = 0, /**< terminated text */
    FX8_H5_INTEGER,  /**< int64_t */
    FX8_H5_UNSIGNED, /**< uint64_t */
    FX8_H5_INT,      /**< int32_t */
    FX8_H5_BYTE,     /**< uint8_t */
    FX8_H5_REAL,     /**< double */
    FX8_H5_BOOL      /**< bool of one byte, 0 or 1 */
};

/** HDF5's type of a number of that kind in memory; not to be closed. */
hid_t fx8_h5_native_type(enum fx8_h5_kind kind);

/** A member of a table, and its place in a row in memory. */
struct fx8_h5_member {
    const char *name;
    enum fx8_h5_kind kind; /**< text, or a signed or real number */
    size_t offset;
    size_t width;     /**< of a text, with its end; else 0 */
    bool is_optional; /**< may be absent */
};

/** An open attribute or dataset of at most three axes; a zeroed one is closed.
 */
struct fx8_h5_item {
    const char *path;
    const char *name;
    bool is_attribute;
    hid_t id;
    hid_t type;
    hid_t space;
    int rank;
    hsize_t extent[3]; /**< 1 beyond its axes */
};

/** Declares items that are closed where their scope ends. */
#define FX8_H5_AUTO_ITEM FX8_AUTO(fx8_h5_close_item) struct fx8_h5_item

/** Open an attribute or dataset; legal to close after failure. */
enum fx8_status fx8_h5_open_item(const struct fx8_h5_place *place,
                                 const char *name, struct fx8_h5_item *item,
                                 struct fx8_error *error);
void fx8_h5_close_item(struct fx8_h5_item *item);

/** Refuse a number of bytes that the file cannot hold, so that a tiny file
 *  cannot make us allocate gigabytes. */
enum fx8_status fx8_h5_check_claim(const struct fx8_h5_item *item,
                                   uint64_t bytes, struct fx8_error *error);

/** All strings of an open item, in any number of axes: texts [n][width]
 *  terminated; FX8_ERR_INPUT: one does not fit. */
enum fx8_status fx8_h5_read_texts(const struct fx8_h5_item *item, size_t n,
                                  size_t width, char *texts,
                                  struct fx8_error *error);

/** Open a table: a dataset of one axis with compound elements, with extent[0]
 *  rows. */
enum fx8_status fx8_h5_open_table(const struct fx8_h5_place *place,
                                  const char *name, struct fx8_h5_item *table,
                                  struct fx8_error *error);

/** Whether the table has a member of that name. */
bool fx8_h5_has_column(const struct fx8_h5_item *table, const char *member);

/**
 * fx8_h5_read_table -- read members [n] of all rows.
 *
 * Returned: rows    [n_rows] of row_bytes; other bytes and absent members are
 *                   undefined
 * Status:   FX8_ERR_INPUT: a member missing, of another class, a text that does
 *           not fit `width`
 */
enum fx8_status fx8_h5_read_table(const struct fx8_h5_item *table,
                                  const struct fx8_h5_member *members, size_t n,
                                  size_t row_bytes, void *rows,
                                  struct fx8_error *error);

#endif
