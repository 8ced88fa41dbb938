/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sink_private.h -- the state of a sink, shared by sink_open.c (its outputs),
 * sink_averages.c (dumps that are averaged), sink_ranks.c (outputs that several
 * ranks write) and sink.c (the dumps, and the end).
 */
#ifndef FX8_CORRELATOR_RUN_SINK_PRIVATE_H
#define FX8_CORRELATOR_RUN_SINK_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/base/dump_arrays.h"
#include "correlator/fx8.h"
#include "correlator/run/averages.h"
#include "correlator/run/consumer.h"
#include "correlator/run/pipeline.h"
#include "correlator/run/queue.h"
#include "correlator/run/resume.h"
#include "correlator/run/sink.h"
#include "correlator/run/tally.h"
#include "io/uvh5/uvh5.h"

/** Dumps in flight: one being written, one waiting. */
#define FX8_SINK_COPIES 2

struct fx8_sink_copy {
    struct fx8_dump dump;
    struct fx8_uvh5_gains gains; /* NULL pointers: none */
    struct fx8_uvh5_counted counts;
    bool is_kept; /* it is in the visibility files already */
};

/** Arrays of a dump. */
enum {
    FX8_SINK_ARRAYS = FX8_RESULT_ARRAYS * FX8_N_RESULTS + FX8_QUICKLOOK_ARRAYS
};

/** An output that several ranks write. */
struct fx8_sink_shared {
    struct fx8_uvh5_places *places;
    struct fx8_ranks_file *file;
    int64_t checksums[FX8_UVH5_BLOCK_DUMPS]; /* of the block in progress */
};

struct fx8_sink {
    const struct fx8_ranks *ranks;
    const struct fx8_job *job;
    size_t center; /* index of the phase centre */
    struct fx8_session *session;
    struct fx8_run_report *report;
    const struct fx8_run_output *output;          /* of the phase centre */
    struct fx8_uvh5_writer *files[FX8_N_RESULTS]; /* of rank 0 */
    struct fx8_sink_shared shared[FX8_N_RESULTS];
    struct fx8_run_quicklook *quicklook;  /* NULL: not wanted */
    struct fx8_consumer_thread *consumer; /* NULL: not wanted */
    struct fx8_sink_copy copies[FX8_SINK_COPIES];
    struct fx8_sink_copy received;  /* of rank 0: from another rank */
    int64_t *valid_spectra, *clips; /* the session's, up to the last dump */
    uint8_t *is_set;                /* [n_rows] whose gains are in the file */
    bool has_gains;                 /* they are in the file */
    struct fx8_uvh5_header headers[FX8_N_RESULTS];
    struct fx8_uvh5_rows rows; /* of the files */
    struct fx8_averages averages[FX8_N_RESULTS];
    int64_t block_dumps;       /* of all sinks: see fx8_sink_keep_blocks() */
    int64_t most_left;         /* of all sinks: see fx8_sink_leave_at_most() */
    bool has_slices;           /* dumps come in slices: see fx8_sink_put() */
    char input[FX8_TEXT_SIZE]; /* of an earlier run, if spelled another way */
    bool has_moved;            /* and it is another file */
    bool can_resume;  /* every file is an earlier run's, with its gains */
    bool is_complete; /* and has all dumps, under its final name */
    struct fx8_sink_set set;
    struct fx8_earlier earlier;
    struct fx8_queue empty, full;
    pthread_t thread;
    bool has_thread;
    /* written by the thread; read after it has ended or closed `empty` */
    int64_t n_dumps;
    double seconds;
    enum fx8_status status;
    struct fx8_error error;
    atomic_bool has_failed;
};

/** Whether the quick-look takes each dump as it is written: of several ranks
 *  they come in no order, and it is made at the end. */
static inline bool fx8_sink_looks_at_each(const struct fx8_sink *sink)
{
    return sink->output->path_quicklook != NULL && sink->ranks->n == 1;
}

/** Whether dumps are averaged before they are written. */
static inline bool fx8_sink_has_averages(const struct fx8_sink *sink)
{
    return sink->rows.n_levels > 1;
}

/** Dumps that are in every file. */
static inline int64_t fx8_sink_n_finished(const struct fx8_sink *sink)
{
    return sink->earlier.n_dumps + sink->n_dumps;
}

/** Count dumps [first, end): every file has them. */
void fx8_sink_count_finished(struct fx8_sink *sink, int64_t first, int64_t end);

/** Cells with a gain; 0 without a quantiser. */
size_t fx8_sink_levels(const struct fx8_sink *sink);

enum fx8_status fx8_sink_allocate_copy(const struct fx8_sink *sink,
                                       struct fx8_sink_copy *copy,
                                       struct fx8_error *error);

/** Read a dump of the files into a copy, as fx8_uvh5_read_dump() does;
 *  *unfinished: NULL, or the name of a file where it is not finished. */
enum fx8_status fx8_sink_read_copy(struct fx8_sink *sink, size_t dump,
                                   bool trusts, struct fx8_sink_copy *copy,
                                   const char **unfinished,
                                   struct fx8_error *error);

/** List the arrays that are written or consumed. */
void fx8_sink_list(const struct fx8_sink *sink, struct fx8_dump *dump,
                   struct fx8_array arrays[FX8_SINK_ARRAYS]);

/** Wait for a copy to fill; NULL after a failure of the thread. */
struct fx8_sink_copy *fx8_sink_take_empty(struct fx8_sink *sink,
                                          struct fx8_error *error);

/* --- sink_look.c --- */

/** Make the quick-look of the first n_dumps from the files. */
enum fx8_status fx8_sink_look_at_all(struct fx8_sink *sink,
                                     struct fx8_session *looker, size_t n_dumps,
                                     struct fx8_error *error);

/* --- sink_averages.c --- */

/** Plan which dumps are averaged, and allocate for it. */
enum fx8_status fx8_sink_open_averages(struct fx8_sink *sink,
                                       struct fx8_error *error);

/** Bytes of the averages of all results. */
size_t fx8_sink_averages_memory(const struct fx8_sink *sink);

/** What is written of a result with this dump: the rows that end with it. */
const struct fx8_result *fx8_sink_rows(struct fx8_sink *sink,
                                       enum fx8_result_kind kind,
                                       const struct fx8_dump *dump,
                                       size_t *n_rows);

/** Let the averages of a run that is ended early end with its last dump. */
enum fx8_status fx8_sink_end_averages(struct fx8_sink *sink,
                                      struct fx8_error *error);

/* --- sink_ranks.c --- */

/** Whether several ranks write into the files themselves, or rank 0 does it for
 *  them. */
bool fx8_sink_is_shared(const struct fx8_sink *sink);
bool fx8_sink_is_through_rank_0(const struct fx8_sink *sink);

/** Let all ranks write into the files, which rank 0 has open.  All ranks must
 *  call it. */
enum fx8_status fx8_sink_share(struct fx8_sink *sink, struct fx8_error *error);

/** Write a dump into its places of the shared outputs; the last one of a block
 *  finishes all of them. */
enum fx8_status fx8_sink_write_shared(struct fx8_sink *sink,
                                      const struct fx8_sink_copy *copy,
                                      struct fx8_error *error);

/** Send a dump to rank 0; NULL: there are no more. */
enum fx8_status fx8_sink_send(const struct fx8_sink *sink,
                              const struct fx8_sink_copy *copy,
                              struct fx8_error *error);

/** Tell rank 0 that there are no more, if it writes them. */
void fx8_sink_send_end(const struct fx8_sink *sink);

/** Receive a dump that another rank has sent into sink->received, if one is
 *  waiting; *n_senders counts down as ranks send that they have no more. */
enum fx8_status fx8_sink_receive(struct fx8_sink *sink, int *n_senders,
                                 bool *is_there, struct fx8_error *error);

/** Close the shared outputs of this rank: all is on disk. */
enum fx8_status fx8_sink_end_shared(struct fx8_sink *sink,
                                    struct fx8_error *error);

#endif
