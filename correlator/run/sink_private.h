/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sink_private.h -- the state of a sink, shared by sink_open.c (its outputs)
 * and sink.c (the dumps, and the end).
 */
#ifndef FX8_CORRELATOR_RUN_SINK_PRIVATE_H
#define FX8_CORRELATOR_RUN_SINK_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/run/consumer.h"
#include "correlator/run/pipeline.h"
#include "correlator/run/queue.h"
#include "correlator/run/resume.h"
#include "correlator/run/sink.h"
#include "io/uvh5/uvh5.h"

/** Dumps in flight: one being written, one waiting. */
#define FX8_SINK_COPIES 2

struct fx8_sink_copy {
    struct fx8_dump dump;
    struct fx8_uvh5_gains gains; /* NULL pointers: none */
    struct fx8_uvh5_counted counts;
    bool is_kept; /* it is in the visibility files already */
};

struct fx8_sink {
    const struct fx8_job *job;
    size_t center; /* index of the phase centre */
    struct fx8_session *session;
    struct fx8_run_report *report;
    const struct fx8_run_output *output; /* of the phase centre */
    struct fx8_uvh5_writer *files[FX8_N_RESULTS];
    struct fx8_run_quicklook *quicklook;  /* NULL: not wanted */
    struct fx8_consumer_thread *consumer; /* NULL: not wanted */
    struct fx8_sink_copy copies[FX8_SINK_COPIES];
    int64_t *valid_spectra, *clips; /* the session's, up to the last dump */
    uint8_t *is_set;                /* [n_rows] whose gains are in the file */
    bool has_gains;                 /* they are in the file */
    struct fx8_uvh5_header headers[FX8_N_RESULTS];
    bool can_resume;  /* every file is an earlier run's, with its gains */
    bool is_complete; /* and has all dumps, under its final name */
    struct fx8_earlier earlier;
    struct fx8_queue empty, full;
    pthread_t thread;
    bool has_thread;
    /* written by the thread; read after it has ended or closed `empty` */
    int64_t n_dumps;
    double seconds;
    enum fx8_status status;
    struct fx8_error error;
};

/** Cells with a gain; 0 without a quantiser. */
size_t fx8_sink_levels(const struct fx8_sink *sink);

enum fx8_status fx8_sink_allocate_copy(const struct fx8_sink *sink,
                                       struct fx8_sink_copy *copy,
                                       struct fx8_error *error);

/** Read a dump of the files into a copy: finished if it is in all of them. */
enum fx8_status fx8_sink_read_copy(struct fx8_sink *sink, size_t dump,
                                   struct fx8_sink_copy *copy,
                                   bool *is_finished, struct fx8_error *error);

/** Count the dumps that are kept. */
enum fx8_status fx8_sink_add_earlier(struct fx8_sink *sink,
                                     const uint8_t *finished,
                                     struct fx8_error *error);

#endif
