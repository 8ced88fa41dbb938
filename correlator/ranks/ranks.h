/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks.h -- the processes of one run, which mpirun or srun has started.
 *
 * MPI is in a plug-in of its own (mpi.c), opened only when ranks are asked for,
 * so that the program starts where no MPI is installed.  No type of MPI crosses
 * this border.  One process alone has the same table: its calls do nothing.
 *
 * Threads.  Any thread may call; calls that wait let other threads of the
 * process call, and leave the processor to others.  Broadcast and gather must
 * be called by all ranks in the same order.
 */
#ifndef FX8_CORRELATOR_RANKS_RANKS_H
#define FX8_CORRELATOR_RANKS_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/base/shared_object.h"
#include "correlator/fx8.h"

/** Changes with every declaration that the program and the plug-in share. */
#define FX8_RANKS_ABI 2u

/** Names of the symbol that the plug-in exports, and of the environment
 *  variable that names another plug-in. */
#define FX8_RANKS_SYMBOL   "fx8_ranks_plugin"
#define FX8_RANKS_VARIABLE "FX8_MPI_PLUGIN"

/** Tag of the messages of fx8_ranks_agree(); others are above. */
#define FX8_RANKS_TAG 0

struct fx8_ranks;

/** A file that several ranks write, as one of them has it open. */
struct fx8_ranks_file;

/** What ranks can do.  Calls that can fail return FX8_OK or FX8_ERR_SYSTEM with
 *  the reason of MPI. */
struct fx8_ranks_operations {
    /** Begin; fills all members of `ranks`. */
    enum fx8_status (*start)(struct fx8_ranks *ranks, struct fx8_error *error);
    /** Bytes of rank 0 to all. */
    enum fx8_status (*broadcast)(void *bytes, size_t n,
                                 struct fx8_error *error);
    /** n bytes of every rank to `all` [n ranks][n] of rank 0; elsewhere `all`
     *  is unused. */
    enum fx8_status (*gather)(const void *bytes, size_t n, void *all,
                              struct fx8_error *error);
    /** Send bytes; may wait for the receiver. */
    enum fx8_status (*send)(int to, int tag, const void *bytes, size_t n,
                            struct fx8_error *error);
    /** Whether bytes of a rank, or of any (-1), with this tag are waiting, and
     *  from whom; true after a failure too, which receive() then reports. */
    bool (*probe)(int of, int tag, int *from);
    /** Receive n bytes: as many as were sent. */
    enum fx8_status (*receive)(int from, int tag, void *bytes, size_t n,
                               struct fx8_error *error);
    /** Open an existing file to write to it; every rank by itself. */
    enum fx8_status (*open)(const char *path, struct fx8_ranks_file **file,
                            struct fx8_error *error);
    /** Write n bytes in their place. */
    enum fx8_status (*write_at)(struct fx8_ranks_file *file, uint64_t offset,
                                const void *bytes, size_t n,
                                struct fx8_error *error);
    /** Close and null the handle, NULL is legal; what was written is on disk
     *  when it returns. */
    enum fx8_status (*close)(struct fx8_ranks_file **file,
                             struct fx8_error *error);
    /** End; all ranks must call it. */
    void (*finish)(void);
};

/** The ranks as one of them sees them. */
struct fx8_ranks {
    int rank, n;        /**< of the run, rank 0 .. n - 1 */
    int node;           /**< lowest rank on the same node */
    int local, n_local; /**< of the ranks on the same node */
    const struct fx8_ranks_operations *operations;
};

/** What the plug-in exports. */
struct fx8_ranks_plugin {
    struct fx8_shared_object_head head;
    const struct fx8_ranks_operations *operations;
};

/** A process alone. */
extern const struct fx8_ranks fx8_ranks_alone;

/**
 * fx8_ranks_open -- find out which rank of how many this process is.
 *
 * Status: FX8_ERR_USAGE: no launcher has started it, or one has started copies
 *         that cannot find one another; FX8_ERR_UNSUPPORTED: as
 *         fx8_shared_object_open(); FX8_ERR_SYSTEM: MPI's reason
 * Notes:  MPI ends with the process, after its last words: a launcher no longer
 *         listens once a rank has ended with a code other than 0
 */
enum fx8_status fx8_ranks_open(struct fx8_ranks *ranks,
                               struct fx8_error *error);

/**
 * fx8_ranks_settle -- end a run on all ranks as it has ended on rank 0, which
 * is the one to report.
 *
 * Given:    status     of this rank
 *           is_paused  whether the run is to go on later
 * Returned: is_paused  that of rank 0
 *           error      elsewhere than on rank 0: an empty message
 * Status:   that of rank 0
 */
enum fx8_status fx8_ranks_settle(const struct fx8_ranks *ranks,
                                 enum fx8_status status, bool *is_paused,
                                 struct fx8_error *error);

/**
 * fx8_ranks_explain -- add to the message of a .part that another run writes
 * how many copies of this process a launcher has started, if there are several.
 */
void fx8_ranks_explain(struct fx8_error *error);

/** Whether a launcher has started this process as another than the first. */
bool fx8_ranks_is_copy(void);

/**
 * fx8_ranks_agree -- learn whether something has succeeded on all ranks.
 *
 * Given:    status, error  of this rank; error is never NULL
 * Returned: error          the first failing rank's: "rank 2: MESSAGE", unless
 *                          it is rank 0's own
 * Status:   FX8_OK if all succeeded, else that of the first failing rank;
 *           FX8_ERR_SYSTEM if they cannot reach one another
 */
enum fx8_status fx8_ranks_agree(const struct fx8_ranks *ranks,
                                enum fx8_status status,
                                struct fx8_error *error);

#endif
