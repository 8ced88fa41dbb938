/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipeline_private.h -- the state of a run, shared by pipeline.c (its course),
 * pipeline_compute.c (samples to dumps), pipeline_parts.c (dumps that ranks
 * share), pipeline_resume.c (results of an earlier run) and pipeline_ranks.c
 * (what its ranks do together).
 */
#ifndef FX8_CORRELATOR_RUN_PIPELINE_PRIVATE_H
#define FX8_CORRELATOR_RUN_PIPELINE_PRIVATE_H

#include "correlator/run/pipeline.h"
#include "correlator/run/share.h"
#include "correlator/run/sink.h"
#include "correlator/run/source.h"
#include "correlator/run/talk.h"
#include "correlator/run/tally.h"

struct fx8_run;

/* What a run does for one phase centre. */
struct fx8_branch {
    const struct fx8_run *run;
    struct fx8_run_report *report;
    struct fx8_session *session;
    struct fx8_sink *sink;
    struct fx8_tally tally; /* of rank 0 at the end: of all ranks */
    /* of dumps that an earlier run has finished, over rows */
    int64_t n_spectra, n_valid, n_clipped;
    bool is_complete; /* every dump of the range has been taken */
    /* [fx8_part_size()] where ranks share dumps: a part, and of rank 0 the sum
     * of those before it */
    void *part, *sum;
};

struct fx8_run {
    const struct fx8_run_request *request;
    const struct fx8_ranks *ranks;
    struct fx8_talk talk;
    uint8_t *finished;      /* [n_dumps of the job] by an earlier run */
    int64_t block_dumps;    /* see fx8_averages_block_dumps() */
    struct fx8_share share; /* of this rank */
    int64_t share_spectra;  /* that it has to compute */
    int64_t all_spectra;    /* that all ranks have to */
    enum fx8_backend backend;
    struct fx8_source *source;
    double *input_gain;             /* [inputs of the job] */
    struct fx8_run_report *reports; /* [n] */
    struct fx8_branch *branches;    /* [n] */
    size_t n;
    int64_t end_dump;    /* of the range that is computed */
    bool is_in_part;     /* it is a part of a dump */
    int64_t n_before;    /* spectra computed before it */
    int64_t range_first; /* its first spectrum, counted from the run's */
    int64_t n_segments;  /* of shared dumps, computed by this rank */
    bool has_begun;      /* fx8_run_begin() was called */
    bool is_under_way;   /* and has succeeded, on all ranks */
    int64_t at_sample;   /* behind the last one pushed, absolute */
    double compute_s;    /* in the session */
    double start_s;      /* when all was open */
};

/* Open the session of a phase centre. */
enum fx8_status fx8_run_open_session(struct fx8_run *run, size_t index,
                                     struct fx8_error *error);

/* Open the reader of the recording for the sessions. */
enum fx8_status fx8_run_open_source(struct fx8_run *run,
                                    struct fx8_error *error);

/* --- pipeline_resume.c --- */

/* Create the outputs, or take up those of an earlier run if it was the same
 * one; of complete ones, only see whether it was.  Rank 0 does. */
enum fx8_status fx8_run_begin_outputs(struct fx8_run *run,
                                      struct fx8_error *error);

/* --- pipeline_compute.c --- */

/* Hand the dump that is ready, or the slice of it, to the sink. */
enum fx8_status fx8_run_take_dump(struct fx8_run *run,
                                  struct fx8_branch *branch,
                                  struct fx8_error *error);

/* Callback of a session: read again the samples that set its gains. */
enum fx8_status fx8_run_reread(void *branch, int64_t first_sample,
                               struct fx8_block *block,
                               struct fx8_error *error);

/* First sample that no spectrum before `end` of the run needs. */
int64_t fx8_run_sample_behind(const struct fx8_job *job, int64_t end);

/* Push the samples of spectra [first, end) of the run, a range that the
 * sessions have sought. */
enum fx8_status fx8_run_push_range(struct fx8_run *run, int64_t first,
                                   int64_t end, int64_t first_sample,
                                   struct fx8_error *error);

/* Fail if an interrupt has asked for the end of the run. */
enum fx8_status fx8_run_end_if_interrupted(const struct fx8_run *run,
                                           struct fx8_error *error);

/* Compute what an earlier run has not finished of the share. */
enum fx8_status fx8_run_compute(struct fx8_run *run, struct fx8_error *error);

/* --- pipeline_parts.c --- */

/* Allocate what a rank needs to share dumps, if it does. */
enum fx8_status fx8_run_open_parts(struct fx8_run *run,
                                   struct fx8_error *error);

/* Bytes of that. */
size_t fx8_run_parts_memory(const struct fx8_run *run);

void fx8_run_close_parts(struct fx8_run *run);

/* As fx8_run_compute(), where ranks share dumps. */
enum fx8_status fx8_run_compute_parts(struct fx8_run *run,
                                      struct fx8_error *error);

/* Rank 0: take parts that are waiting, for nothing: whoever sends them would
 * wait for ever. */
enum fx8_status fx8_run_discard_parts(struct fx8_run *run,
                                      struct fx8_error *error);

/* --- pipeline_ranks.c --- */

/* As request->interrupted and request->is_paused, of any rank. */
int fx8_run_interrupted(const struct fx8_run *run);
bool fx8_run_is_paused(const struct fx8_run *run);

/* Refuse CPU kernels, or backends, that differ between ranks, as on unlike
 * processors: so do the last bits of floats.  All ranks must call it. */
enum fx8_status fx8_run_compare_kernels(const struct fx8_run *run,
                                        struct fx8_error *error);

/* Learn from rank 0 what an earlier run has finished, and divide the rest; all
 * ranks must call it. */
enum fx8_status fx8_run_divide(struct fx8_run *run, struct fx8_error *error);

/* Listen to the other ranks, and tell them of an interruption and how far this
 * rank is. */
enum fx8_status fx8_run_talk(struct fx8_run *run, struct fx8_error *error);

/* Show the progress of all ranks; rank 0 does. */
void fx8_run_show_progress(struct fx8_run *run);

/* Whether rank 0 knows the gains that the others wait for. */
bool fx8_run_has_gains(const struct fx8_run *run);

/* Give the gains of rank 0 to all, let all write; every rank must call it,
 * once, with its status so far.  Fails on all ranks if one has failed. */
enum fx8_status fx8_run_begin(struct fx8_run *run, enum fx8_status status,
                              struct fx8_error *error);

/* After the last sample: wait for the writers, and on rank 0 for all others,
 * whose counts are added to its own.  `status` is this rank's so far; that of
 * rank 0 becomes the run's. */
enum fx8_status fx8_run_gather(struct fx8_run *run, enum fx8_status status,
                               struct fx8_error *error);

#endif
