/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/number.h"
#include "config/base/try.h"
#include "correlator/ranks/ranks.h"

/* --- a process alone ------------------------------------------------------ */

static enum fx8_status keep(void *bytes, size_t n, struct fx8_error *error)
{
    (void)bytes;
    (void)n;
    (void)error;
    return FX8_OK;
}

static enum fx8_status gather_own(const void *bytes, size_t n, void *all,
                                  struct fx8_error *error)
{
    (void)error;
    memcpy(all, bytes, n);
    return FX8_OK;
}

static bool probe_nobody(int of, int tag, int *from)
{
    (void)of;
    (void)tag;
    (void)from;
    return false;
}

/* No messages and no shared files: there is nobody to share with. */
static const struct fx8_ranks_operations alone = {
    .broadcast = keep,
    .gather = gather_own,
    .probe = probe_nobody,
};

const struct fx8_ranks fx8_ranks_alone = {
    .n = 1, .n_local = 1, .operations = &alone};

/* --- the launcher --------------------------------------------------------- */

/* Number of processes that a launcher has started together, by the variables
 * that it leaves; 0: none.  In this order: within a batch job, SLURM_* describe
 * the helpers of an mpirun.  SLURM_NTASKS alone shows no launcher: a batch
 * script has it too.  `can_meet`: the launcher lets MPI find the others. */
static int64_t count_launched(bool *can_meet)
{
    static const char *const counts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                         "MPI_LOCALNRANKS"};
    int64_t n = 0;
    *can_meet = true;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const char *text = getenv(counts[i]);
        if (text != NULL && fx8_number_integer(text, &n) && n > 0)
            return n;
    }
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    *can_meet = getenv("PMIX_RANK") != NULL;
    if (tasks != NULL && fx8_number_integer(tasks, &n) && n > 0)
        return n;
    return *can_meet ? 1 : 0;
}

void fx8_ranks_explain(struct fx8_error *error)
{
    bool can_meet;
    const int64_t n = count_launched(&can_meet);
    const size_t length = strlen(error->message);
    if (n > 1 && strstr(error->message, ".part: locked: ") != NULL)
        snprintf(error->message + length, sizeof error->message - length,
                 "; mpirun or srun has started this %lld times: --mpi divides "
                 "one run among them",
                 (long long)n);
}

bool fx8_ranks_is_copy(void)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                        "PMIX_RANK", "SLURM_PROCID"};
    int64_t rank = 0;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        const char *text = getenv(ranks[i]);
        if (text != NULL && fx8_number_integer(text, &rank))
            return rank > 0;
    }
    return false;
}

static enum fx8_status check_launcher(struct fx8_error *error)
{
    bool can_meet;
    const int64_t n = count_launched(&can_meet);
    if (n == 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "no launcher has started this process: "
                        "expected mpirun fx8 ... or srun fx8 ...");
    if (can_meet)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_USAGE,
                    "srun has started %lld processes that cannot "
                    "find one another: expected srun --mpi=pmix (or pmi2; "
                    "srun --mpi=list shows what there is)",
                    (long long)n);
}

enum fx8_status fx8_ranks_open(struct fx8_ranks *ranks, struct fx8_error *error)
{
    static const struct fx8_shared_object plugin = {
        .name = "mpi",
        .file = "fx8-mpi.so",
        .symbol = FX8_RANKS_SYMBOL,
        .variable = FX8_RANKS_VARIABLE,
        .abi = FX8_RANKS_ABI,
        .hint = ": expected fx8 built with MPI (mpicc; Debian package "
                "libopenmpi-dev)",
    };
    const struct fx8_shared_object_head *head;
    FX8_TRY(check_launcher(error));
    FX8_TRY(fx8_shared_object_open(&plugin, &head, error));
    *ranks = (struct fx8_ranks){
        .operations = ((const struct fx8_ranks_plugin *)head)->operations};
    const enum fx8_status status = ranks->operations->start(ranks, error);
    if (ranks->n == 0) /* MPI has not started */
        *ranks = fx8_ranks_alone;
    else if (atexit(ranks->operations->finish) != 0)
        return fx8_fail(error, FX8_ERR_SYSTEM, "cannot prepare the end of MPI");
    return status;
}

/* --- agreement ------------------------------------------------------------ */

/* Rank 0 takes the messages of the others one by one: with memory for all of
 * them it could fail to get it while the others wait. */
enum fx8_status fx8_ranks_agree(const struct fx8_ranks *ranks,
                                enum fx8_status status, struct fx8_error *error)
{
    const struct fx8_ranks_operations *operations = ranks->operations;
    if (ranks->n == 1)
        return status;
    struct fx8_error first = {FX8_OK, ""}, other;
    if (status != FX8_OK && ranks->rank == 0)
        first = *error;
    else if (status != FX8_OK)
        fx8_fail(&first, status, "rank %d: %s", ranks->rank, error->message);
    if (ranks->rank > 0)
        FX8_TRY(
            operations->send(0, FX8_RANKS_TAG, &first, sizeof first, error));
    for (int rank = 1; ranks->rank == 0 && rank < ranks->n; rank++) {
        FX8_TRY(operations->receive(rank, FX8_RANKS_TAG, &other, sizeof other,
                                    error));
        if (first.status == FX8_OK)
            first = other;
    }
    FX8_TRY(operations->broadcast(&first, sizeof first, error));
    if (first.status != FX8_OK)
        *error = first;
    return first.status;
}

enum fx8_status fx8_ranks_settle(const struct fx8_ranks *ranks,
                                 enum fx8_status status, bool *is_paused,
                                 struct fx8_error *error)
{
    struct {
        enum fx8_status status;
        bool is_paused;
    } end = {status, *is_paused};
    if (ranks->n == 1)
        return status;
    FX8_TRY(ranks->operations->broadcast(&end, sizeof end, error));
    *is_paused = end.is_paused;
    if (ranks->rank > 0) {
        error->message[0] = '\0';
        error->status = end.status; /* launchers report any rank's code */
    }
    return end.status;
}
