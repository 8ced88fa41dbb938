/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disk_limit.h -- few open files; a full disk, simulated by the limit on file
 * sizes, which needs no special rights: a write across it is cut short, one
 * beyond it fails.
 */
#ifndef FX8_VALIDATION_DISK_LIMIT_H
#define FX8_VALIDATION_DISK_LIMIT_H

#include <sys/resource.h>

#include "validation/testing.h"

/* RLIM_INFINITY lifts a limit. */

static inline void limit_to(__rlimit_resource_t resource, rlim_t most)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(resource, &limit), 0);
    limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
    assert_int_equal(setrlimit(resource, &limit), 0);
}

/** Limit files to `bytes`.  The program must ignore SIGXFSZ. */
static inline void limit_files(rlim_t bytes)
{
    limit_to(RLIMIT_FSIZE, bytes);
}

/** Limit the number of open files. */
static inline void limit_open_files(rlim_t n)
{
    limit_to(RLIMIT_NOFILE, n);
}

#endif
