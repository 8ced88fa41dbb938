/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sink.h -- the writer's side of the pipeline: a thread that writes finished
 * dumps to one file per result.
 */
#ifndef FX8_CORRELATOR_RUN_SINK_H
#define FX8_CORRELATOR_RUN_SINK_H

#include <stddef.h>

#include "correlator/fx8.h"
#include "correlator/run/results.h"
#include "io/uvh5/uvh5.h"

struct fx8_sink;

/** What goes into the group /fx8 besides the dumps. */
struct fx8_sink_extras {
    size_t n_bands, n_inputs;     /* inputs of one band */
    size_t n_channels;            /* of all bands */
    const float *gains;           /* [n_inputs][n_channels], NULL: none */
    const int64_t *clips;         /* [n_inputs][n_channels] */
    const int64_t *valid_spectra; /* [n_bands][n_inputs] */
    int64_t spectra_per_dump;
};

/** Receives the dumps in addition to the visibility files; zeroed: none. */
struct fx8_consumer {
    void *context;
    /** A dump, its index, results and quick-look, on the writer thread. */
    enum fx8_status (*take)(void *context, const struct fx8_dump *dump,
                            struct fx8_error *error);
    /** All dumps have been taken: n_dumps of them are the result. */
    enum fx8_status (*finish)(void *context, size_t n_dumps,
                              struct fx8_error *error);
    /** Release the context; keep: the output is complete. */
    enum fx8_status (*close)(void *context, bool keep, struct fx8_error *error);
};

/** Close and clear. */
enum fx8_status fx8_consumer_close(struct fx8_consumer *consumer, bool keep,
                                   struct fx8_error *error);

/**
 * fx8_sink_open -- take over the files and start the writer thread.
 *
 * Given: files  [FX8_N_RESULTS] created files, NULL for results not written;
 *               the sink closes them; the handles are NULL on return, also
 *               after a failure
 *        consumer  treated the same way
 *        shape  a dump of the session, for its sizes
 */
enum fx8_status fx8_sink_open(struct fx8_uvh5_writer *files[FX8_N_RESULTS],
                              struct fx8_consumer *consumer,
                              const struct fx8_dump *shape,
                              const struct fx8_sink_extras *extras,
                              struct fx8_sink **sink, struct fx8_error *error);

/** Hand over a dump, which is copied.  Waits while two are in flight.  A
 * failure of the writer thread is returned by the next call. */
enum fx8_status fx8_sink_put(struct fx8_sink *sink, const struct fx8_dump *dump,
                             struct fx8_error *error);

/**
 * fx8_sink_close -- wait for the writer and finish the files; nulls the
 * handle, a NULL handle is legal.
 *
 * Given:  keep   the dumps written so far are the result; else the run has
 *                failed, and finished dumps stay as .part
 *         error  of the failed run: which files stay is added to its message;
 *                may be NULL
 * Returned: n_dumps  written; seconds  spent writing; either may be NULL
 */
enum fx8_status fx8_sink_close(struct fx8_sink **sink, bool keep,
                               int64_t *n_dumps, double *seconds,
                               struct fx8_error *error);

#endif
