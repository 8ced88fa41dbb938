/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disk_limit.h -- a full disk, simulated by the limit on file sizes, which
 * needs no special rights: a write across it is cut short, one beyond it fails.
 */
#ifndef FX8_VALIDATION_DISK_LIMIT_H
#define FX8_VALIDATION_DISK_LIMIT_H

#include <sys/resource.h>

#include "validation/testing.h"

/** Limit files to `bytes`; RLIM_INFINITY lifts the limit. The program must
 *  ignore SIGXFSZ. */
static inline void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

#endif
