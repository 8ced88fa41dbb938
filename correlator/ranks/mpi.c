/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi.c -- the plug-in fx8-mpi.so, and the one file that knows MPI.
 *
 * Only calls of the MPI 3 standard.  Threads call in turn, under a lock that is
 * released while a call waits; waiting sleeps, since most MPIs would spin and
 * take a processor from the rank that is waited for.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config/base/try.h"
#include "config/base/write_back.h"
#include "correlator/ranks/ranks.h"

/* Counts are int in MPI 3: longer messages go in pieces; so do writes, between
 * which other threads can call. */
#define MOST_BYTES    ((size_t)1 << 30)
#define MOST_TO_WRITE ((size_t)16 << 20)

/* Sleep between two looks whether a call has ended: doubled up to the most. */
#define LEAST_SLEEP_NS 20000L
#define MOST_SLEEP_NS  2000000L

struct fx8_ranks_file {
    MPI_File file;
    int descriptor; /* of the same file: MPI gives none; negative: none */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* MPI's text for a code that is not MPI_SUCCESS; a name of a file may be NULL.
 */
static enum fx8_status report(int code, const char *path, const char *what,
                              struct fx8_error *error)
{
    char reason[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS)
        return FX8_OK;
    MPI_Error_string(code, reason, &length);
    return fx8_fail(error, FX8_ERR_SYSTEM, "%s%s%s: %s",
                    path == NULL ? "" : path, path == NULL ? "mpi: " : ": ",
                    what, reason);
}

/* Wait for a request, which the caller has begun under the lock. */
static int await(MPI_Request *request)
{
    long sleep_ns = LEAST_SLEEP_NS;
    for (;;) {
        int is_done = 0;
        pthread_mutex_lock(&lock);
        const int code = MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(&lock);
        if (code != MPI_SUCCESS || is_done)
            return code;
        nanosleep(&(struct timespec){.tv_nsec = sleep_ns}, NULL);
        if (sleep_ns < MOST_SLEEP_NS)
            sleep_ns *= 2;
    }
}

/* Begin a request under the lock, and wait for it. */
#define CARRY_OUT(code, request, call)                                         \
    do {                                                                       \
        pthread_mutex_lock(&lock);                                             \
        (code) = (call);                                                       \
        pthread_mutex_unlock(&lock);                                           \
        if ((code) == MPI_SUCCESS)                                             \
            (code) = await(&(request));                                        \
    } while (0)

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* --- beginning and end ---------------------------------------------------- */

/* Which rank of the node this is, and which one is the node's first. */
static int find_node(struct fx8_ranks *ranks)
{
    MPI_Comm node;
    int code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED,
                                   ranks->rank, MPI_INFO_NULL, &node);
    if (code != MPI_SUCCESS)
        return code;
    MPI_Comm_rank(node, &ranks->local);
    MPI_Comm_size(node, &ranks->n_local);
    ranks->node = ranks->rank;
    code = MPI_Bcast(&ranks->node, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
    return code;
}

/* If all ranks are on one node, have Open MPI use shared memory: by default it
 * tries every kind of network first, which takes half of its start-up. */
static void stay_on_node(void)
{
    const char *all = getenv("OMPI_COMM_WORLD_SIZE");
    const char *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (all != NULL && here != NULL && strcmp(all, here) == 0)
        setenv("OMPI_MCA_pml", "ob1", 0);
}

static enum fx8_status start(struct fx8_ranks *ranks, struct fx8_error *error)
{
    int provided = 0;
    stay_on_node();
    /* on NFS, Open MPI and the ROMIO of MPICH would lock the file for each
     * write, and wait for ever for rank 0's lock on the .part; no two ranks
     * write the same bytes */
    setenv("OMPI_MCA_fs_ufs_lock_algorithm", "1", 1);
    setenv("ROMIO_FSTYPE_FORCE", "ufs:", 1);
    FX8_TRY(
        report(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided),
               NULL, "start", error));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks->n);
    if (provided < MPI_THREAD_SERIALIZED)
        return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                        "mpi: only one thread may call it: expected an MPI "
                        "built for several threads");
    return report(find_node(ranks), NULL, "nodes", error);
}

static void finish(void)
{
    MPI_Finalize();
}

/* --- bytes ---------------------------------------------------------------- */

/* Begins to move bytes to or from another rank. */
typedef int begin(void *bytes, int n, int other, int tag, MPI_Request *request);

static int begin_broadcast(void *bytes, int n, int other, int tag,
                           MPI_Request *request)
{
    (void)tag;
    return MPI_Ibcast(bytes, n, MPI_BYTE, other, MPI_COMM_WORLD, request);
}

static int begin_send(void *bytes, int n, int other, int tag,
                      MPI_Request *request)
{
    return MPI_Isend(bytes, n, MPI_BYTE, other, tag, MPI_COMM_WORLD, request);
}

static int begin_receive(void *bytes, int n, int other, int tag,
                         MPI_Request *request)
{
    return MPI_Irecv(bytes, n, MPI_BYTE, other, tag, MPI_COMM_WORLD, request);
}

static enum fx8_status move(begin *start_one, const char *what, char *bytes,
                            size_t n, int other, int tag,
                            struct fx8_error *error)
{
    for (size_t piece; n > 0; bytes += piece, n -= piece) {
        MPI_Request request;
        int code;
        piece = least(n, MOST_BYTES);
        CARRY_OUT(code, request,
                  start_one(bytes, (int)piece, other, tag, &request));
        FX8_TRY(report(code, NULL, what, error));
    }
    return FX8_OK;
}

static enum fx8_status broadcast(void *bytes, size_t n, struct fx8_error *error)
{
    return move(begin_broadcast, "broadcast", bytes, n, 0, 0, error);
}

static enum fx8_status gather(const void *bytes, size_t n, void *all,
                              struct fx8_error *error)
{
    MPI_Request request;
    int code;
    if (n > MOST_BYTES)
        return fx8_fail(error, FX8_ERR_SYSTEM,
                        "mpi: gather: %zu bytes: expected fewer", n);
    CARRY_OUT(code, request,
              MPI_Igather(bytes, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, 0,
                          MPI_COMM_WORLD, &request));
    return report(code, NULL, "gather", error);
}

static enum fx8_status send(int to, int tag, const void *bytes, size_t n,
                            struct fx8_error *error)
{
    /* MPI only reads what it sends */
    return move(begin_send, "send", (char *)(uintptr_t)bytes, n, to, tag,
                error);
}

/* What a probe has failed with, for receive(). */
static _Atomic int probed = MPI_SUCCESS;

static bool probe(int of, int tag, int *from)
{
    int is_there = 0;
    MPI_Status status;
    *from = of < 0 ? 0 : of;
    pthread_mutex_lock(&lock);
    const int code = MPI_Iprobe(of < 0 ? MPI_ANY_SOURCE : of, tag,
                                MPI_COMM_WORLD, &is_there, &status);
    pthread_mutex_unlock(&lock);
    if (code != MPI_SUCCESS)
        probed = code;
    if (code == MPI_SUCCESS && is_there)
        *from = status.MPI_SOURCE;
    return code != MPI_SUCCESS || is_there;
}

static enum fx8_status receive(int from, int tag, void *bytes, size_t n,
                               struct fx8_error *error)
{
    FX8_TRY(report(probed, NULL, "probe", error));
    return move(begin_receive, "receive", bytes, n, from, tag, error);
}

/* --- files ---------------------------------------------------------------- */

static enum fx8_status open_file(const char *path, struct fx8_ranks_file **file,
                                 struct fx8_error *error)
{
    struct fx8_ranks_file *new = calloc(1, sizeof *new);
    if (new == NULL)
        return fx8_fail(error, FX8_ERR_SYSTEM, "%s: out of memory", path);
    pthread_mutex_lock(&lock);
    /* each rank by itself: none waits for one that has failed */
    const int code = MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_WRONLY,
                                   MPI_INFO_NULL, &new->file);
    pthread_mutex_unlock(&lock);
    if (code == MPI_SUCCESS) {
        new->descriptor = open(path, O_WRONLY | O_CLOEXEC);
        *file = new;
    } else {
        free(new);
    }
    return report(code, path, "cannot be opened by MPI", error);
}

/* Write n bytes or fewer, but not none. */
static enum fx8_status write_some(struct fx8_ranks_file *file, uint64_t offset,
                                  const char *bytes, size_t n,
                                  size_t *n_written, struct fx8_error *error)
{
    MPI_Status status;
    int written = 0;
    pthread_mutex_lock(&lock);
    errno = 0;
    int code = MPI_File_write_at(file->file, (MPI_Offset)offset, bytes, (int)n,
                                 MPI_BYTE, &status);
    /* all that MPI says of a failed write may be the count alone, or a class of
     * errors, but errno has the system's reason */
    const int reason = errno;
    if (code == MPI_SUCCESS)
        code = MPI_Get_count(&status, MPI_BYTE, &written);
    pthread_mutex_unlock(&lock);
    *n_written = (size_t)written;
    if (code == MPI_SUCCESS && written > 0)
        return FX8_OK;
    if (reason == 0)
        return report(code == MPI_SUCCESS ? MPI_ERR_IO : code, NULL, "write",
                      error);
    return fx8_fail(error, FX8_ERR_SYSTEM,
                    "cannot write %zu bytes at offset %" PRIu64 ": %s", n,
                    offset, strerror(reason));
}

static enum fx8_status write_at(struct fx8_ranks_file *file, uint64_t offset,
                                const void *bytes, size_t n,
                                struct fx8_error *error)
{
    const char *at = bytes;
    for (size_t some; n > 0; at += some, offset += some, n -= some) {
        FX8_TRY(write_some(file, offset, at, least(n, MOST_TO_WRITE), &some,
                           error));
        fx8_write_back(file->descriptor, offset, some);
    }
    return FX8_OK;
}

static enum fx8_status close_file(struct fx8_ranks_file **file,
                                  struct fx8_error *error)
{
    if (*file == NULL)
        return FX8_OK;
    pthread_mutex_lock(&lock);
    const int synced = MPI_File_sync((*file)->file);
    const int closed = MPI_File_close(&(*file)->file);
    pthread_mutex_unlock(&lock);
    if ((*file)->descriptor >= 0)
        close((*file)->descriptor);
    free(*file);
    *file = NULL;
    return report(synced == MPI_SUCCESS ? closed : synced, NULL, "sync", error);
}

static const struct fx8_ranks_operations operations = {
    .start = start,
    .broadcast = broadcast,
    .gather = gather,
    .send = send,
    .probe = probe,
    .receive = receive,
    .open = open_file,
    .write_at = write_at,
    .close = close_file,
    .finish = finish,
};

extern const struct fx8_ranks_plugin fx8_ranks_plugin;
__attribute__((visibility("default")))
const struct fx8_ranks_plugin fx8_ranks_plugin = {{FX8_RANKS_ABI, FX8_VERSION},
                                                  &operations};
