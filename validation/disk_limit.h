/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disk_limit.h -- a full disk, played by the limit on file sizes, which needs
 * no special rights: a write across it is cut short, one beyond it fails.
 */
#ifndef FX8_VALIDATION_DISK_LIMIT_H
#define FX8_VALIDATION_DISK_LIMIT_H

#include <sys/resource.h>

#include "validation/testing.h"

/** Files may grow to `bytes`, RLIM_INFINITY lifts that; a program that uses it
 *  ignores SIGXFSZ. */
static inline void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

#endif
