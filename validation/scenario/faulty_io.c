/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * faulty_io.c -- loaded before the C library (LD_PRELOAD), makes reads of one
 * file fail or wait, a run end between two writes, or its clock run ahead, as
 * disks and people do.
 *
 * Environment:
 *   FX8_FAULT_FILE   end of the path of the file it is about
 *   FX8_FAULT        eio      reads fail
 *                    glitch   one read fails
 *                    cut      the file is cut to half its size, then read
 *                    gone     the file is emptied, then read
 *                    unlink   the file loses its name, then is read
 *                    slow     reads of 64 KiB or more take a second longer
 *                    short    reads give half of what was asked for
 *                    hold     reads of 4 KiB or more that go beyond byte
 *                             FX8_FAULT_AT wait while the file FX8_FAULT_HOLD
 *                             exists; none before FX8_FAULT_AFTER exists, if
 *                             that is given
 *                    kill     the process is killed before a write
 *                    tear     likewise, within one, between two pages
 *                    lose     likewise, or as the process ends, and power
 *                             fails: each page of the file, and of FILE.undo,
 *                             has the writes up to some moment since write
 *                             FX8_FAULT_FROM and the last fsync(), which
 *                             FX8_FAULT_SEED decides; if it is odd, the file is
 *                             as short as they leave it.  The machine has
 *                             another boot_id than later
 *                    full     writes fail: no space is left
 *                    broken   writes fail: input/output error
 *                    part     writes take half of what they are given
 *                    sync     fsync() fails: input/output error
 *                    memory   one allocation of the program fails, of any use
 *                    nolock   the file cannot be locked
 *                    tomorrow the clock is a day ahead
 *                    swap     before it is renamed, FILE becomes FILE.ours, and
 *                             another file takes its place
 *   FX8_FAULT_AT     the read, write or fsync() from which on, from 0; kill,
 *                    tear and lose count the writes of FILE.undo, too
 *   FX8_FAULT_TERM   the write, of those that kill, tear and lose count, before
 *                    which the process gets SIGTERM
 *   FX8_FAULT_COUNT  file that takes the number of reads or writes there were
 *   FX8_FAULT_CLOCK  how many times as fast a clock runs that is not of the day
 *   FX8_FAULT_TRACE  a crash shows its stack on stderr, a line per frame
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

ssize_t pread(int descriptor, void *to, size_t size, off_t offset);
ssize_t pwrite(int descriptor, const void *from, size_t size, off_t offset);

int rename(const char *from, const char *to);
int renameat2(int folder, const char *from, int to_folder, const char *to,
              unsigned flags);

#define SHOWN __attribute__((visibility("default")))

static atomic_long count;

/* Whether the path of the descriptor, which it gives, ends with a text. */
static bool ends_with(int descriptor, const char *wanted, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < (ssize_t)strlen(wanted))
        return false;
    path[length] = '\0';
    return strcmp(path + length - strlen(wanted), wanted) == 0;
}

/* Whether the descriptor is of the file; its path then. */
static bool is_meant(int descriptor, char path[PATH_MAX])
{
    const char *wanted = getenv("FX8_FAULT_FILE");
    return wanted != NULL && ends_with(descriptor, wanted, path);
}

/* The same of FILE.undo. */
static bool is_undo(int descriptor, char path[PATH_MAX])
{
    const char *file = getenv("FX8_FAULT_FILE");
    char wanted[PATH_MAX];
    snprintf(wanted, sizeof wanted, "%s.undo", file == NULL ? "" : file);
    return file != NULL && ends_with(descriptor, wanted, path);
}

static bool is_fault(const char *name)
{
    const char *fault = getenv("FX8_FAULT");
    return fault != NULL && strcmp(fault, name) == 0;
}

/* How far the next call is behind the one from which on; negative: before. */
static long next_call(void)
{
    const char *at = getenv("FX8_FAULT_AT");
    const long number = atomic_fetch_add(&count, 1);
    return at == NULL ? -1 : number - atol(at);
}

/* Wait, if a read is to: smaller ones are of HDF5's own tables. */
static void hold(size_t size, off_t offset)
{
    const char *at = getenv("FX8_FAULT_AT");
    const char *file = getenv("FX8_FAULT_HOLD");
    const char *after = getenv("FX8_FAULT_AFTER");
    if (at == NULL || file == NULL || size < 4096 ||
        offset + (off_t)size <= atoll(at) ||
        (after != NULL && access(after, F_OK) != 0))
        return;
    while (access(file, F_OK) == 0)
        usleep(1000);
}

/* Whether the fault is one of writes; the others are of reads. */
static bool is_of_writes(void)
{
    return is_fault("kill") || is_fault("tear") || is_fault("full") ||
           is_fault("broken") || is_fault("part") || is_fault("lose");
}

/* Libraries have other ways to allocate. */
SHOWN void *aligned_alloc(size_t alignment, size_t size)
{
    static void *(*real)(size_t, size_t);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "aligned_alloc");
    if (!is_fault("memory") || next_call() != 0)
        return real(alignment, size);
    errno = ENOMEM;
    return NULL;
}

SHOWN ssize_t pread(int descriptor, void *to, size_t size, off_t offset)
{
    static ssize_t (*real)(int, void *, size_t, off_t);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "pread");
    char path[PATH_MAX];
    if (is_fault("hold") && is_meant(descriptor, path)) {
        hold(size, offset);
    } else if (!is_of_writes() && is_meant(descriptor, path)) {
        const long behind = next_call();
        struct stat status;
        if ((behind >= 0 && is_fault("eio")) ||
            (behind == 0 && is_fault("glitch"))) {
            errno = EIO;
            return -1;
        }
        if (behind >= 0 && is_fault("short") && size > 1)
            size /= 2;
        if (behind >= 0 && is_fault("slow") && size >= 65536)
            sleep(1);
        if (behind == 0 && is_fault("cut") && stat(path, &status) == 0 &&
            truncate(path, status.st_size / 2) != 0)
            abort();
        if (behind == 0 && is_fault("gone") && truncate(path, 0) != 0)
            abort();
        if (behind == 0 && is_fault("unlink") && unlink(path) != 0)
            abort();
    }
    const ssize_t n = real(descriptor, to, size, offset);
    if (is_fault("lose") && n > 0 && ends_with(descriptor, "/boot_id", path))
        *(char *)to ^= 1;
    return n;
}

/* --- power failures --------------------------------------------------------
 */

/* What a disk writes at once. */
#define PAGE ((off_t)4096)

/* Writes that a power failure may undo: one at a time, whatever the thread. */
struct lost {
    struct lost *before, *next;
    off_t offset;
    size_t size;
    char *old, *new;
};

/* Those of the file, and of FILE.undo. */
static struct {
    struct lost *last, *first;
    long n;
    off_t old_length;
    char path[PATH_MAX];
} files[2];

typedef ssize_t writer(int, const void *, size_t, off_t);

static writer *real_pwrite(void)
{
    static writer *real;
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "pwrite");
    return real;
}

static long number_of(const char *name)
{
    const char *text = getenv(name);
    return text == NULL ? 0 : atol(text);
}

static void remember(int k, int descriptor, const char *path, const void *from,
                     size_t size, off_t offset)
{
    struct lost *lost = calloc(1, sizeof *lost);
    struct stat status;
    if (lost == NULL || (lost->old = calloc(2, size)) == NULL ||
        pread(descriptor, lost->old, size, offset) < 0 ||
        fstat(descriptor, &status) != 0)
        abort();
    if (files[k].n == 0)
        files[k].old_length = status.st_size;
    strcpy(files[k].path, path);
    lost->new = memcpy(lost->old + size, from, size);
    lost->offset = offset;
    lost->size = size;
    lost->before = files[k].last;
    *(lost->before == NULL ? &files[k].first : &lost->before->next) = lost;
    files[k].last = lost;
    files[k].n++;
}

/* How many of the writes a page has: none, all, or some. */
static long cut_of(int k, off_t page)
{
    uint64_t x = (uint64_t)(2 * page + k) * 0x9e3779b97f4a7c15u +
                 (uint64_t)number_of("FX8_FAULT_SEED");
    for (int round = 0; round < 3; round++)
        x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x >> 62 == 0   ? 0
           : x >> 62 == 1 ? files[k].n
                          : (long)((x >> 8) % (uint64_t)(files[k].n + 1));
}

static void write_all(writer *real, int descriptor, const char *from,
                      size_t size, off_t offset)
{
    if (real(descriptor, from, size, offset) != (ssize_t)size)
        abort();
}

/* Take all of these writes back, then write what reached the disk. */
static void fail_power_of(int k)
{
    writer *real = real_pwrite();
    long number = 0;
    off_t length = files[k].old_length;
    const int descriptor = open(files[k].path, O_RDWR);
    if (descriptor < 0)
        return; /* it has its final name */
    for (struct lost *w = files[k].last; w != NULL; w = w->before)
        write_all(real, descriptor, w->old, w->size, w->offset);
    for (struct lost *w = files[k].first; w != NULL; w = w->next, number++)
        for (off_t at = w->offset, next; at < w->offset + (off_t)w->size;
             at = next) {
            const off_t end = w->offset + (off_t)w->size;
            next =
                at / PAGE * PAGE + PAGE < end ? at / PAGE * PAGE + PAGE : end;
            if (number >= cut_of(k, at / PAGE))
                continue;
            write_all(real, descriptor, w->new + (at - w->offset),
                      (size_t)(next - at), at);
            length = next > length ? next : length;
        }
    if (number_of("FX8_FAULT_SEED") % 2 == 1 &&
        ftruncate(descriptor, length) != 0)
        abort();
    close(descriptor);
}

static void fail_power(void)
{
    for (int k = 0; k < 2; k++)
        if (files[k].n > 0)
            fail_power_of(k);
}

/* A kill can end a write between two of its pages. */
static void tear(writer *real, int descriptor, const char *from, size_t size,
                 off_t offset)
{
    const off_t middle = (offset + (off_t)size / 2) / PAGE * PAGE;
    if (middle > offset)
        write_all(real, descriptor, from, (size_t)(middle - offset), offset);
    raise(SIGKILL);
}

/* 0: the descriptor is of the file, 1: of FILE.undo, which only a kill or a
 * power failure is about; negative: of neither. */
static int find(int descriptor, char path[PATH_MAX])
{
    if (is_meant(descriptor, path))
        return 0;
    const bool is_death =
        is_fault("kill") || is_fault("tear") || is_fault("lose");
    return is_death && is_undo(descriptor, path) ? 1 : -1;
}

SHOWN ssize_t pwrite(int descriptor, const void *from, size_t size,
                     off_t offset)
{
    writer *real = real_pwrite();
    char path[PATH_MAX];
    const int k = is_of_writes() ? find(descriptor, path) : -1;
    if (k >= 0) {
        const long behind = next_call();
        if (getenv("FX8_FAULT_TERM") != NULL &&
            behind + number_of("FX8_FAULT_AT") == number_of("FX8_FAULT_TERM"))
            kill(getpid(), SIGTERM);
        if (behind == 0 && is_fault("lose"))
            fail_power();
        if (behind == 0 && is_fault("tear"))
            tear(real, descriptor, from, size, offset);
        if (behind == 0 && (is_fault("kill") || is_fault("lose")))
            raise(SIGKILL);
        if (is_fault("lose") &&
            behind + number_of("FX8_FAULT_AT") >= number_of("FX8_FAULT_FROM"))
            remember(k, descriptor, path, from, size, offset);
        if (behind >= 0 && (is_fault("full") || is_fault("broken"))) {
            errno = is_fault("full") ? ENOSPC : EIO;
            return -1;
        }
        if (behind >= 0 && is_fault("part") && size > 1)
            size /= 2;
    }
    return real(descriptor, from, size, offset);
}

/* What is on the disk stays there. */
static void forget(int k)
{
    while (files[k].first != NULL) {
        struct lost *next = files[k].first->next;
        free(files[k].first->old);
        free(files[k].first);
        files[k].first = next;
    }
    files[k].last = NULL;
    files[k].n = 0;
}

SHOWN int fsync(int descriptor)
{
    static atomic_long n_syncs;
    char path[PATH_MAX];
    const int k = is_fault("lose") ? find(descriptor, path) : -1;
    if (k >= 0)
        forget(k);
    if (is_fault("sync") && is_meant(descriptor, path) &&
        atomic_fetch_add(&n_syncs, 1) >= number_of("FX8_FAULT_AT")) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, descriptor);
}

SHOWN int fcntl(int descriptor, int command, ...)
{
    static int (*real)(int, int, void *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "fcntl");
    char path[PATH_MAX];
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (is_fault("nolock") &&
        (command == F_OFD_SETLK || command == F_OFD_GETLK) &&
        is_meant(descriptor, path)) {
        errno = ENOLCK;
        return -1;
    }
    return real(descriptor, command, argument);
}

/* Once, as the wrong moment comes. */
static void swap(const char *path)
{
    static atomic_bool is_done;
    const char *wanted = getenv("FX8_FAULT_FILE");
    const size_t length = strlen(path);
    char ours[PATH_MAX];
    if (!is_fault("swap") || wanted == NULL || length < strlen(wanted) ||
        strcmp(path + length - strlen(wanted), wanted) != 0 ||
        atomic_exchange(&is_done, true))
        return;
    snprintf(ours, sizeof ours, "%s.ours", path);
    FILE *theirs =
        syscall(SYS_rename, path, ours) == 0 ? fopen(path, "w") : NULL;
    if (theirs == NULL || fputs("theirs", theirs) < 0 || fclose(theirs) != 0)
        abort();
}

SHOWN int rename(const char *from, const char *to)
{
    swap(from);
    return (int)syscall(SYS_rename, from, to);
}

SHOWN int renameat2(int folder, const char *from, int to_folder, const char *to,
                    unsigned flags)
{
    swap(from);
    return (int)syscall(SYS_renameat2, folder, from, to_folder, to, flags);
}

SHOWN time_t time(time_t *seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (is_fault("tomorrow"))
        now.tv_sec += 86400;
    if (seconds != NULL)
        *seconds = now.tv_sec;
    return now.tv_sec;
}

SHOWN int clock_gettime(clockid_t clock, struct timespec *now)
{
    const int outcome = (int)syscall(SYS_clock_gettime, clock, now);
    const long rate = number_of("FX8_FAULT_CLOCK");
    if (rate > 0 && clock == CLOCK_MONOTONIC && outcome == 0) {
        const long nanoseconds = now->tv_nsec * rate;
        now->tv_sec = now->tv_sec * rate + nanoseconds / 1000000000;
        now->tv_nsec = nanoseconds % 1000000000;
    }
    return outcome;
}

static void show_stack(int number)
{
    void *frames[64];
    backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
    _exit(128 + number);
}

__attribute__((constructor)) static void watch_for_crashes(void)
{
    if (getenv("FX8_FAULT_TRACE") == NULL)
        return;
    void *frames[1];
    backtrace(frames, 1); /* what it loads is not to be had in a crash */
    signal(SIGSEGV, show_stack);
    signal(SIGABRT, show_stack);
    signal(SIGBUS, show_stack);
}

__attribute__((destructor)) static void fail_power_at_end(void)
{
    if (is_fault("lose"))
        fail_power();
}

__attribute__((destructor)) static void tell_count(void)
{
    const char *path = getenv("FX8_FAULT_COUNT");
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    if (file == NULL)
        return;
    fprintf(file, "%ld\n", atomic_load(&count));
    fclose(file);
}
