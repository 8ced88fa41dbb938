/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipeline.h -- one run: a reader thread, the correlation on the caller's
 * thread and a writer thread, connected by bounded queues.
 */
#ifndef FX8_CORRELATOR_RUN_PIPELINE_H
#define FX8_CORRELATOR_RUN_PIPELINE_H

#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/ranks/ranks.h"
#include "correlator/run/job.h"
#include "correlator/run/quicklook.h"
#include "correlator/run/results.h"
#include "io/reader.h"

/** Progress of a run. */
struct fx8_progress {
    const char *task;      /**< "verify"; NULL: that of the run */
    int64_t n_samples;     /**< done, per input */
    int64_t total_samples; /**< to do, per input */
    int64_t n_dumps;
    int64_t total_dumps;
    size_t n_inputs;
    double rate_hz; /**< samples per second of the recording */
};

/** A finished dump, and what was counted in it. */
struct fx8_run_dump {
    const struct fx8_dump *dump;  /**< results and quick-look as written */
    const double *gains;          /**< [n_inputs][n_fine] so far; NULL: none */
    const int64_t *valid_spectra; /**< [n_bands][n_inputs] */
    const int64_t *clips;         /**< [n_inputs][n_fine] */
};

/** Takes the dumps of a phase centre while they are written. */
struct fx8_run_consumer {
    /** Every dump in order, on one thread that is not the caller's; NULL: no
     *  consumer.  The run may fail after it has taken dumps. */
    void (*take)(void *context, const struct fx8_run_dump *dump);
    void *context;
    size_t memory; /**< bytes that it takes, for fx8_run_request.ready */
};

/** Where the results of one phase centre go. */
struct fx8_run_output {
    const char *paths[FX8_N_RESULTS]; /**< by enum fx8_result_kind, or NULL */
    const char *path_quicklook;       /**< or NULL */
    struct fx8_run_consumer consumer;
};

/** What one rank of a run has done; times in seconds. */
struct fx8_run_rank {
    int64_t n_dumps;                   /**< computed and written */
    int64_t n_written;                 /**< of these, by itself */
    int64_t n_segments;                /**< of shared dumps, computed */
    int64_t n_gain_rounds;             /**< as struct fx8_statistics */
    double read_s, compute_s, write_s; /**< side by side */
    double wait_s; /**< not computing: for samples, writers, other ranks */
};

/** What to run. */
struct fx8_run_request {
    const struct fx8_ranks *ranks; /**< with the same request on all of them */
    int n_ranks; /**< ranks->n, or of the run that a trial on one rank is for */
    const struct fx8_job *job;
    struct fx8_reader *reader;            /**< inputs not selected yet */
    const struct fx8_run_output *outputs; /**< [job->n_centers] */
    bool force;                           /**< replace existing outputs */
    bool resume; /**< go on with outputs of an earlier run, if there are any */
    bool is_trial; /**< compute for FX8_TRIAL_S at most, and write nothing */
    const char *command;     /**< for the history */
    const char *input;       /**< names of the recordings, one line */
    const char *input_brief; /**< the first, and how many more */
    int64_t block_samples; /**< samples per read; 0: chosen to suit the file */
    enum fx8_transform transform;
    /** 0: go on; 1: finish the current dump; 2: stop now. */
    int (*interrupted)(void);
    /** Whether an interrupted run is to be left for another to go on with; may
     *  be NULL: no. */
    bool (*is_paused)(void);
    /** Called regularly on the caller's thread; may be NULL. */
    void (*progress)(void *context, const struct fx8_progress *progress);
    void *progress_context;
    /** Called once, when all is open and nothing was computed yet, with the
     *  bytes of memory that the run will take, the number of slices in which
     *  each dump is written, and the number of dumps that an earlier run has
     *  finished; may be NULL. */
    void (*ready)(void *context, size_t memory, size_t n_slices,
                  int64_t n_earlier);
    void *ready_context;
    /** One line, on the caller's thread, of any rank; may be NULL. */
    void (*warn)(void *context, const char *message);
    void *warn_context;
};

/** Seconds after which a trial ends. */
#define FX8_TRIAL_S 1.0

/** The outcome for one phase centre; what a run has once is in all of them. */
struct fx8_run_report {
    struct fx8_statistics statistics;
    int64_t n_dumps;   /**< in the result, those of an earlier run included */
    int64_t n_earlier; /**< of an earlier run, not computed again */
    bool is_old;       /**< an earlier run had completed the result: nothing
                            was computed */
    bool was_interrupted;
    bool was_paused; /**< as request->is_paused, of any rank */
    double read_s, write_s, total_s;
    double start_s;    /**< of total_s, until all was open */
    double push_s;     /**< of total_s, what came after that */
    double sync_s;     /**< of total_s, closing results: until the disk has
                            them */
    int64_t n_samples; /**< pushed, per input */
    char backend[128]; /**< engine, device */
    char reason[512];  /**< why this engine was chosen */
    char kernel[64], fft_plan[64];
    double clipped_fraction;    /**< of valid spectra and channels */
    double valid_fraction;      /**< of spectra */
    int64_t n_clamped;          /**< real numbers read that were clamped to
                                     8 bits */
    size_t n_zero_level;        /**< inputs and channels with gain 1 because
                                     they had no power; dead inputs excluded */
    uint8_t *dead;              /**< [inputs of the job, band by band] 1: in
                                     some dump, 2: in every one; the caller
                                     frees */
    struct fx8_run_rank *ranks; /**< of rank 0: [n_ranks]; NULL for a process
                                     alone; the caller frees */
    int n_ranks;
    struct fx8_quicklook_figures
        quicklook; /**< where a quick-look was written */
};

/**
 * fx8_pipeline_run -- from recording to visibility files.
 *
 * Returned: reports  [job->n_centers]
 * Status: FX8_OK also when interrupted after at least one dump (the report
 *         says so); FX8_ERR_CANCELLED when interrupted before, or paused;
 *         otherwise the first failure of reading, correlating or writing
 * Notes:
 *
 * 1. After a failed computation no file exists under a final name; if one of
 *    several results cannot be completed, those before it stay complete.
 * 2. With automatic choice of the backend, if a GPU fails before it delivered a
 *    dump, the CPU redoes the run, after a warning.
 * 3. With several ranks, rank 0 reports for all; the results are those of a
 *    process alone.  If they are interrupted while dumps are missing between
 *    finished ones, these stay in the .part.  They share dumps if there are
 *    fewer than ranks.
 * 4. Each phase centre has a session of its own, which gets the same blocks:
 *    its results are those of a run of its own.
 */
enum fx8_status fx8_pipeline_run(const struct fx8_run_request *request,
                                 struct fx8_run_report *reports,
                                 struct fx8_error *error);

#endif
