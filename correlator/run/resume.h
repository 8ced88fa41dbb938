/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resume.h -- what an earlier run left of the results of this one.
 */
#ifndef FX8_CORRELATOR_RUN_RESUME_H
#define FX8_CORRELATOR_RUN_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/run/pipeline.h"
#include "io/uvh5/uvh5.h"

/** Dataset of /fx8: dumps of the whole run, also in a file that was ended
 *  early. */
#define FX8_PLANNED_DUMPS "planned_dumps"

/** What is kept of the finished dumps of a phase centre. */
struct fx8_earlier {
    uint8_t *finished; /**< [n_dumps of the job] */
    int64_t n_dumps, n_spectra;
    int64_t *valid_spectra; /**< [n_rows] */
    int64_t *dead_dumps;    /**< [n_rows] dumps in which the row was dead */
    int64_t *clips;         /**< [n_inputs][n_fine] */
};

/** Allocate for no finished dump; fx8_earlier_clear() releases. */
enum fx8_status fx8_earlier_open(const struct fx8_job *job,
                                 struct fx8_earlier *earlier,
                                 struct fx8_error *error);

/** Add the counts of a dump. */
void fx8_earlier_add(struct fx8_earlier *earlier, const struct fx8_job *job,
                     size_t dump, const struct fx8_uvh5_counted *counts);

void fx8_earlier_clear(struct fx8_earlier *earlier);

/** What was found of an earlier run. */
struct fx8_resumed {
    bool is_usable;            /**< its finished dumps can be kept */
    bool is_complete;          /**< it has all dumps, under its final name */
    size_t n_finished;         /**< its dumps that are marked as finished */
    char input[FX8_TEXT_SIZE]; /**< its INPUT, if spelled another way */
    bool has_moved;            /**< which is not the same file now */
};

/**
 * fx8_resume_open -- lock the file of an earlier run, and check that it is of
 * this one.
 *
 * Given:    header  what this run would write
 *           gains   the caller's arrays; NULL: the file has none
 * Returned: writer  NULL: nothing to go on with
 *           gains   of the file; if they are damaged, it is not usable
 * Status:   FX8_ERR_USAGE: names the differences, and counts those that do not
 *           fit; as fx8_uvh5_reopen()
 */
enum fx8_status fx8_resume_open(const struct fx8_run_request *request,
                                const char *path,
                                const struct fx8_uvh5_header *header,
                                const struct fx8_uvh5_gains *gains,
                                struct fx8_uvh5_writer **writer,
                                struct fx8_resumed *found,
                                struct fx8_error *error);

/**
 * fx8_resume_is_unfinished -- whether --resume can go on with a file: a .part
 * with finished dumps, or a result that lacks some; if it is of the same run.
 *
 * Returned: n_finished
 */
bool fx8_resume_is_unfinished(const char *path, size_t *n_finished);

/**
 * fx8_resume_explain -- add to the message of a file that is in the way how to
 * go on with it, if an earlier run has left it unfinished.
 *
 * Given:  command  the whole command line; NULL: not known.  One that does not
 *                  fit is left out: --resume alone is named then
 */
void fx8_resume_explain(const char *command, struct fx8_error *error);

#endif
