/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.h -- the cost of a run before it is made: what a node can do, as `fx8
 * bench --section node --json` has measured it; what a job takes of that; the
 * time on one node and on many.
 */
#ifndef FX8_CORRELATOR_PLAN_PLAN_H
#define FX8_CORRELATOR_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "correlator/fx8.h"
#include "correlator/run/job.h"

/* --- the node: machine.c ------------------------------------------------- */

/** A figure of section node. */
struct fx8_cost_figure {
    char name[48], quantity[16]; /**< "stages 16 x 1024 int8", "correlate" */
    size_t n_threads;
    double value;
};

/** A measured node; fx8_cost_machine_clear() releases it. */
struct fx8_cost_machine {
    const char *path; /**< for messages; the caller's */
    char cpu[96], date[48];
    size_t n_cpus, n_threads; /**< measured on one thread and on these */
    struct fx8_cost_figure *figures;
    size_t n_figures;
};

/**
 * fx8_cost_machine_parse -- take the figures out of a JSON document.
 *
 * Given:  path  for messages
 *         text  what `fx8 bench --json` prints
 * Status: FX8_ERR_USAGE "PATH: ...": not such a document, or without section
 *         node
 */
enum fx8_status fx8_cost_machine_parse(const char *path, const char *text,
                                       struct fx8_cost_machine *machine,
                                       struct fx8_error *error);

void fx8_cost_machine_clear(struct fx8_cost_machine *machine);

/* --- one node: stages.c -------------------------------------------------- */

/** What a run takes time for. */
enum fx8_cost_stage {
    FX8_COST_READ,
    FX8_COST_PCIE, /**< samples to a card */
    FX8_COST_CHANNELIZE,
    FX8_COST_CORRELATE,
    FX8_COST_DUMP, /**< sums to visibilities */
    FX8_COST_WRITE,
    FX8_COST_SYNC,  /**< until the disk has it */
    FX8_COST_LEVEL, /**< once per run, as is the next */
    FX8_COST_START,
    FX8_N_COST_STAGES
};

/** Work of a stage per dump, or per run if it has only that. */
struct fx8_cost_work {
    const char *name, *unit;
    double amount;  /**< in the unit: samples, CMAC, cells, bytes */
    double seconds; /**< wall-clock: reading and writing on one thread, if it
                         had the node to itself; else on the card, or on all
                         threads, beside reading, and writing without
                         compression */
};

/** Work of a job on a node. */
struct fx8_cost_job {
    struct fx8_cost_work stages[FX8_N_COST_STAGES]; /**< without a card, that
                                                        of PCIe has no name */
    bool has_card;             /**< a card computes, of each node */
    size_t n_threads, n_cores; /**< of a node */
    size_t n_packers;          /**< threads of it that compress results */
    double n_dumps;            /**< results written */
    double whole_dumps;        /**< the last one may be shorter */
    double block_dumps;        /**< of averages, which one node computes */
    double n_segments;         /**< of a dump, which nodes can share */
    bool is_exact;        /**< segments may be added before they are sent */
    double sums_bytes;    /**< of a dump */
    double plain_write_s; /**< of FX8_COST_WRITE, without compression */
    double stored_size;   /**< bytes stored per byte of the result */
    bool is_packed;       /**< results are compressed, by the first node */
    double recorded_s;
};

/**
 * fx8_cost_job_of -- what a job takes on a node.
 *
 * Given:  n_cores  CPUs of a node that a run may use; 0: all
 * Status: FX8_ERR_USAGE: more cores than were measured; several devices; a
 *         precision, backend or compression that has no figures, with the key
 *         or the file
 */
enum fx8_status fx8_cost_job_of(const struct fx8_job *job,
                                const struct fx8_cost_machine *machine,
                                size_t n_cores, struct fx8_cost_job *cost,
                                struct fx8_error *error);

/* --- many nodes: nodes.c ------------------------------------------------- */

/** What nodes share; bytes per second, watts; NaN: no power given. */
struct fx8_cost_site {
    double network_bytes_s; /**< into one node */
    double storage_bytes_s; /**< of all nodes together, both ways */
    double node_w;
};

/** Defaults of the first two: 10 Gbit/s; a small parallel file system. */
#define FX8_COST_NETWORK_BYTES_S 1.25e9
#define FX8_COST_STORAGE_BYTES_S 10e9

/** Starting MPI, in seconds. */
#define FX8_COST_MPI_S 0.5

/** Time of a run on some nodes, and what bounds it. */
struct fx8_cost_time {
    double seconds;
    const char *bound;
};

struct fx8_cost_time fx8_cost_time_on(const struct fx8_cost_job *cost,
                                      const struct fx8_cost_site *site,
                                      size_t n_nodes);

/** Fewest nodes, up to 2^20, that need no longer than the recording lasts;
 *  0: no number does. */
size_t fx8_cost_real_time_nodes(const struct fx8_cost_job *cost,
                                const struct fx8_cost_site *site);

/* --- what is printed: print.c -------------------------------------------- */

/** Everything that a page or a document is made of. */
struct fx8_cost_page {
    const struct fx8_job *job;
    const struct fx8_cost_machine *machine;
    const struct fx8_cost_job *cost;
    const struct fx8_cost_site *site;
    size_t n_nodes; /**< the only row of the table; 0: 1, 2, 4 ... 1024 */
};

void fx8_cost_print(const struct fx8_cost_page *page, FILE *stream);
void fx8_cost_print_json(const struct fx8_cost_page *page, FILE *stream);

#endif
