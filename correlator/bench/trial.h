/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trial.h -- one operation alone, at one size and level, as measured by section
 * variants: steps of work, repeated until enough time has passed, and the
 * ruler to compare with.
 */
#ifndef FX8_CORRELATOR_BENCH_TRIAL_H
#define FX8_CORRELATOR_BENCH_TRIAL_H

#include <stdbool.h>
#include <stddef.h>

#include "correlator/fx8.h"
#include "kernels/operations.h"

/** The ruler of an operation. */
enum fx8_bench_ruler {
    FX8_BENCH_COPY, /**< memcpy() of the same number of bytes, between the same
                         areas of memory */
    FX8_BENCH_INT8, /**< instructions, as enum fx8_ceiling_work */
    FX8_BENCH_INT16,
    FX8_BENCH_FLOAT,
    FX8_BENCH_TWO_FLOATS, /**< two float operations each: both directions */
};

/** An operation under test; open() fills what it needs. */
struct fx8_bench_trial {
    const struct fx8_bench_kind *kind;
    const struct fx8_operations *operations;
    size_t size;    /**< inputs or channels */
    size_t variety; /**< meaning depends on the kind */
    /* set by open() */
    double work;     /**< per step, in the kind's unit */
    double bytes;    /**< per copy, read plus written; for FX8_BENCH_COPY */
    size_t n_copies; /**< copies that equal a step; 0: one */
    void *from, *to, *extra;   /**< memory of the trial, or NULL */
    size_t from_size, to_size; /**< bytes */
    void *state;               /**< private to the kind */
};

/** Allocate `from`, `to` and `extra`, of so many bytes. */
enum fx8_status fx8_bench_trial_allocate(struct fx8_bench_trial *trial,
                                         size_t from, size_t to, size_t extra,
                                         struct fx8_error *error);

/** Fill with floats from -50 to 50. */
void fx8_bench_fill_floats(float *values, size_t n);

/** A kind of trial. */
struct fx8_bench_kind {
    const char *unit;
    enum fx8_bench_ruler ruler;
    size_t item_size; /**< bytes of a value of a spectrum, or of a weight */
    enum fx8_status (*open)(struct fx8_bench_trial *trial,
                            struct fx8_error *error);
    /** Run step k. */
    void (*step)(struct fx8_bench_trial *trial, size_t k);
    void (*close)(struct fx8_bench_trial *trial); /**< `state`; may be NULL */
};

/** Transpose time-major samples into rows; variety: bytes of a sample. */
extern const struct fx8_bench_kind fx8_bench_align;

/** The filter of 8 taps in floats, and in 16-bit integers. */
extern const struct fx8_bench_kind fx8_bench_filter;
extern const struct fx8_bench_kind fx8_bench_filter_int16;

/** The corner turn, with and without the quantiser. */
extern const struct fx8_bench_kind fx8_bench_quantise;
extern const struct fx8_bench_kind fx8_bench_turn;

/** The correlators. */
extern const struct fx8_bench_kind fx8_bench_int8;
extern const struct fx8_bench_kind fx8_bench_fp32;
extern const struct fx8_bench_kind fx8_bench_interval;

/** The quick-look; variety: enum fx8_functions_mode. */
extern const struct fx8_bench_kind fx8_bench_look;

#endif
