/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * selection.h -- the rows of a dataset that hold the chosen inputs, merged into
 * rectangles, so that one HDF5 read serves many inputs.
 */
#ifndef FX8_IO_SELECTION_H
#define FX8_IO_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "correlator/fx8.h"
#include "io/reader.h"

/** The axes of a voltage dataset, and their order. */
enum fx8_axis { FX8_AXIS_ANTENNA = 0, FX8_AXIS_POLARIZATION, FX8_AXIS_TIME };
struct fx8_axis_order {
    int place[3];     /**< [axis] position in the dataset, 0 slowest */
    size_t extent[3]; /**< [axis] antennas, polarisations; time is not used */
};

/** Places of three words in a list such as "channel,antenna,pol"; false if it
 * is no permutation of them. */
bool fx8_axes_parse(const char *list, const char *const words[3], int place[3]);

/** Rows [first, first + n) of the (at most) two axes before time; an absent
 *  axis is [0, 1).  Row (a, b) is buffer row row + (a - first[0]) * n[1] + b -
 *  first[1]. */
struct fx8_rectangle {
    size_t first[2];
    size_t n[2];
    size_t row;
};

/**
 * What to read, and where each input is afterwards.
 *
 * Notes: 1) only the chosen inputs are read along axes slower than time; axes
 *           faster than time are read whole: the buffer is
 *           [n_rows][time][n_after]
 *        2) each input has a row, and an element of n_after
 */
struct fx8_selection {
    size_t n_before; /**< axes slower than time, 0 .. 2 */
    int before[2];   /**< enum fx8_axis of each, slowest first */
    size_t n_after;  /**< elements of the axes faster than time */
    struct fx8_rectangle *rectangles;
    size_t n_rectangles;
    size_t n_rows;
};

/** Compute a selection and put it in place of another, which stays after
 *  failure; positions must be checked already.  Zeroed at first; the caller
 *  releases its rectangles.  Returned: places [n_inputs], for elements of
 *  element_bytes. */
enum fx8_status fx8_selection_replace(const struct fx8_axis_order *order,
                                      const struct fx8_input_position *inputs,
                                      size_t n_inputs, size_t element_bytes,
                                      struct fx8_selection *selection,
                                      struct fx8_input_place *places,
                                      struct fx8_error *error);

#endif
