/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * variants.h -- trials of one operation, shared by the files of section
 * "variants".
 */
#ifndef FX8_CORRELATOR_BENCH_VARIANTS_H
#define FX8_CORRELATOR_BENCH_VARIANTS_H

#include <stddef.h>

#include "correlator/fx8.h"
#include "kernels/operations.h"

struct fx8_trial_kind;
struct fx8_trial_look;

/** The ruler of an operation. */
enum fx8_ruler {
    FX8_RULER_COPY, /**< memcpy() of as many bytes, between the same areas */
    FX8_RULER_INT8, /**< instructions, as enum fx8_ceiling_work */
    FX8_RULER_INT16,
    FX8_RULER_FLOAT,
    FX8_RULER_TWO_FLOATS, /**< two float operations each: both directions */
};

/** An operation under test; open() fills what it needs. */
struct fx8_trial {
    const struct fx8_trial_kind *kind;
    const struct fx8_operations *operations;
    size_t size;    /**< inputs or channels */
    size_t variety; /**< align: bytes of a sample; quantise and turn: whether
                       rotated; quick-look: mode of functions */
    /** set by open() */
    double work;     /**< per step, in the kind's unit */
    double bytes;    /**< per copy, read plus written; for FX8_RULER_COPY */
    size_t n_copies; /**< copies that equal a step; 0: one */
    void *from, *to, *extra;      /**< memory of the trial, or NULL */
    size_t from_size, to_size;    /**< bytes */
    struct fx8_trial_look *state; /**< of a quick-look, or NULL */
};

/** A kind of trial. */
struct fx8_trial_kind {
    const char *unit;
    enum fx8_ruler ruler;
    size_t item_size; /**< bytes of a value of a spectrum, or of a weight */
    enum fx8_status (*open)(struct fx8_trial *trial, struct fx8_error *error);
    /** Run step k. */
    void (*step)(struct fx8_trial *trial, size_t k);
};

/** Allocate `from`, `to` and `extra` of a trial, of so many bytes. */
enum fx8_status fx8_trial_allocate(struct fx8_trial *trial, size_t from,
                                   size_t to, size_t extra,
                                   struct fx8_error *error);

/** Post-processing of INT8 dumps of 64 channels. */
enum fx8_status fx8_trial_open_postprocess(struct fx8_trial *trial,
                                           struct fx8_error *error);
void fx8_trial_step_postprocess(struct fx8_trial *trial, size_t k);

/** An image of one channel. */
enum fx8_status fx8_trial_open_image(struct fx8_trial *trial,
                                     struct fx8_error *error);
void fx8_trial_step_image(struct fx8_trial *trial, size_t k);

/** A quick-look: dumps of 64 channels. */
enum fx8_status fx8_trial_open_look(struct fx8_trial *trial,
                                    struct fx8_error *error);
void fx8_trial_step_look(struct fx8_trial *trial, size_t k);
void fx8_trial_close_look(struct fx8_trial *trial);

#endif
