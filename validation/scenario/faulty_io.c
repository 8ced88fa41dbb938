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
 *                    full     writes fail: no space is left
 *                    broken   writes fail: input/output error
 *                    part     writes take half of what they are given
 *                    nolock   the file cannot be locked
 *                    tomorrow the clock is a day ahead
 *                    swap     before it is renamed, FILE becomes FILE.ours, and
 *                             another file takes its place
 *   FX8_FAULT_AT     the read or write from which on, from 0
 *   FX8_FAULT_COUNT  file that takes the number of reads or writes there were
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

/* Whether the descriptor is of the file; its path then. */
static bool is_meant(int descriptor, char path[PATH_MAX])
{
    const char *wanted = getenv("FX8_FAULT_FILE");
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (wanted == NULL || length < (ssize_t)strlen(wanted))
        return false;
    path[length] = '\0';
    return strcmp(path + length - strlen(wanted), wanted) == 0;
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
    return is_fault("kill") || is_fault("full") || is_fault("broken") ||
           is_fault("part");
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
    return real(descriptor, to, size, offset);
}

SHOWN ssize_t pwrite(int descriptor, const void *from, size_t size,
                     off_t offset)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "pwrite");
    char path[PATH_MAX];
    if (is_of_writes() && is_meant(descriptor, path)) {
        const long behind = next_call();
        if (behind == 0 && is_fault("kill"))
            raise(SIGKILL);
        if (behind >= 0 && (is_fault("full") || is_fault("broken"))) {
            errno = is_fault("full") ? ENOSPC : EIO;
            return -1;
        }
        if (behind >= 0 && is_fault("part") && size > 1)
            size /= 2;
    }
    return real(descriptor, from, size, offset);
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

__attribute__((destructor)) static void tell_count(void)
{
    const char *path = getenv("FX8_FAULT_COUNT");
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    if (file == NULL)
        return;
    fprintf(file, "%ld\n", atomic_load(&count));
    fclose(file);
}
